"""Filters and selectors as SQL over table `memory`: the same choice that `memgraph.rules.selection` makes on values."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from memgraph import checks
from memgraph.clock import EPOCH, version_floor
from memgraph.models import Filters, Selector, Status
from memgraph.rules.selection import is_empty, wanted_status

__all__ = ["clause", "selector_clause"]

_CODES: Final = {name: code for code, name in enumerate(("active", "superseded", "forgotten", "released", "pruned"))}
_TICK: Final = timedelta(microseconds=1)


def clause(filters: Filters, now: datetime, default: Literal["active", "any"] = "active") -> tuple[str, list[Any]]:
    """A boolean expression over `memory` and its bound values, exact for all but `where`, which is left to the caller.

    now: an active memory whose `expires_at` is not after it is expired. default: the statuses that pass where none
    is named. Places, rows without a version, never match.
    """
    parts = ["memory.version is not null"]
    values: list[Any] = []

    def add(part: str, *bound: Any) -> None:
        parts.append(part)
        values.extend(bound)

    _add_status(add, wanted_status(filters, default), checks.micros(now))
    for column, wanted in (("kind", filters.kinds), ("trust", filters.trust)):
        if wanted:
            add(f"memory.{column} in ({','.join('?' * len(wanted))})", *map(str, wanted))
    for column in ("subject", "session", "actor", "source"):
        value = getattr(filters, column)
        if value is not None:
            add(f"memory.{column} = ?", value)
    for tag in filters.tags:
        add("exists (select 1 from json_each(memory.tags) where json_each.value = ?)", tag)
    if filters.pinned is not None:
        add("memory.pinned = ?", int(filters.pinned))
    if filters.since is not None and filters.since > EPOCH:
        add("memory.version >= ?", version_floor(filters.since - _TICK))
    if filters.until is not None:
        add("memory.version < ?", version_floor(filters.until))
    return " and ".join(parts), values


def _add_status(add: Any, statuses: frozenset[Status] | None, now: int) -> None:
    if statuses is None:
        return
    fresh = "memory.status = 0 and (memory.expires_at is null or memory.expires_at > ?)"
    gone = "memory.status = 0 and memory.expires_at <= ?"
    choices, bound = [], []
    if {Status.ACTIVE, Status.EXPIRED} <= statuses:
        choices.append("memory.status = 0")
    elif Status.ACTIVE in statuses or Status.EXPIRED in statuses:
        choices.append(fresh if Status.ACTIVE in statuses else gone)
        bound.append(now)
    codes = sorted(_CODES[status] for status in statuses if status in _CODES and status is not Status.ACTIVE)
    if codes:
        choices.append(f"memory.status in ({','.join(map(str, codes))})")
    add(" or ".join(choices) if len(choices) == 1 else f"({' or '.join(f'({c})' for c in choices)})", *bound)


def selector_clause(selector: Selector, now: datetime) -> tuple[str, list[Any]]:
    """A boolean expression over `memory` that every memory matched by the selector passes, and its bound values.

    It is exact for all but `text` and `where`, which are left to the caller. An empty selector passes nothing.
    """
    if is_empty(selector):
        return "0", []
    sql, values = clause(selector, now, "any")
    if selector.ids:
        sql += " and memory.id in (select value from json_each(?))"
        values.append(json.dumps(selector.ids))
    if selector.key is not None:
        sql += " and memory.key = ?"
        values.append(selector.key)
    return sql, values
