"""The place where a page of a list ends, as text: what `Page.next` holds and `after` takes."""

from __future__ import annotations

from memgraph import checks
from memgraph.clock import parse_version
from memgraph.errors import InvalidInputError
from memgraph.models import Entry

__all__ = ["cursor", "place"]


def cursor(entry: Entry) -> str:
    """The place right behind a memory."""
    return f"{entry.version}~{len(entry.namespace)}~{entry.namespace}{entry.id}"


def place(after: str) -> tuple[str, str, str]:
    """Version, namespace and id of the memory that a page ended with. Raises InvalidInputError for any other text."""
    version, _, rest = after.partition("~")
    length, _, names = rest.partition("~")
    try:
        parse_version(version)
        at = int(length)
        path, id = names[:at], names[at:]
        checks.name(id, "after")
        checks.namespace(path, ledger=True)
    except (InvalidInputError, ValueError):
        raise InvalidInputError("is not the `next` of a page", field="after") from None
    return version, path, id
