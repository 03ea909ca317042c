"""Filters as parameters of the read statements: the same choice that `memgraph.rules.selection` makes on values."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, Literal

from memgraph.clock import EPOCH, version_floor
from memgraph.models import Filters
from memgraph.rules import cursor
from memgraph.rules.selection import wanted_status

__all__ = ["ABOVE", "BEGIN", "parameters", "place"]

ABOVE: Final = "g"
"""Greater than every version."""

BEGIN: Final = {"version": ABOVE, "path": "", "id": ""}
"""The place from which a list begins."""

_TICK: Final = timedelta(microseconds=1)


def parameters(filters: Filters, now: datetime, default: Literal["active", "any"] = "active") -> dict[str, Any]:
    """The filter parameters of `read/list` and `read/count`, exact for all but `where`, and a selector's `text`: these are left to
    the caller.

    now: an active memory whose `expires_at` is not after it is expired. default: the statuses that pass where none is named.
    """
    statuses = wanted_status(filters, default)
    since, until = filters.since, filters.until
    return {
        "now": now,
        "since": version_floor(since - _TICK) if since is not None and since > EPOCH else "",
        "until": ABOVE if until is None else version_floor(until) if until >= EPOCH else "",
        "kinds": list(filters.kinds) or None,
        "trust": [trust.value for trust in filters.trust] or None,
        "statuses": None if statuses is None else sorted(status.value for status in statuses),
        "subject": filters.subject,
        "session": filters.session,
        "actor": filters.actor,
        "source": filters.source,
        "pinned": filters.pinned,
        "tags": list(filters.tags),
        "text": text.casefold() if isinstance(text := getattr(filters, "text", None), str) else None,
    }


def place(after: str | None) -> dict[str, Any]:
    """The place that a page ended at, from its `next`; where a list begins for None."""
    if after is None:
        return BEGIN
    version, path, id = cursor.place(after)
    return {"version": version, "path": path, "id": id}
