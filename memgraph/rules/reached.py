"""How a receipt tells of what a purge has not reached yet, and what of that is over once the primary has carried it out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memgraph.models import Selector
from memgraph.rules.selection import says_all

__all__ = ["COPIES", "NAMES_WAIT", "QUEUED", "SELECTOR_WAITS", "beside_a_primary", "on_a_server", "settled"]

COPIES: Final = "backups and exports made before"
_LOGS: Final = "the server's transaction logs until they rotate"
_FILES: Final = (
    "the server's store files, which keep what was deleted until something else is written over it: a copy of the database"
    " that is made anew (`neo4j-admin database copy`, or an import of an export into an empty one) holds nothing of it"
)
_UNSENT: Final = "what other replicas have not sent yet: purge again when they have synced"
_NAME: Final = "the name of the namespace, which its feed and tombstones bear on the server"
_FOLLOWED: Final = "the name of the namespace, which files that follow it on a primary bear"

QUEUED: Final = "is queued, and carried out there when it is"
"""Of a primary that has yet to carry a purge out."""
SELECTOR_WAITS: Final = "the selector: it waits for that, encrypted, in the file, and is erased when it was carried out"
NAMES_WAIT: Final = (
    "what names it: keys of what went, and the ids, key, subject or other value it went by, wait for that in the file in clear,"
    " and are erased when it was carried out"
)


def on_a_server(selector: Selector) -> tuple[str, ...]:
    """What may still hold a copy of what a purge by this selector removed from a server."""
    unsent = () if says_all(selector) else (_UNSENT,)
    return COPIES, _LOGS, _FILES, *unsent, *((_NAME,) if selector.everything else ())


def beside_a_primary(selector: Selector) -> tuple[str, ...]:
    """What a file that has a primary keeps of what a purge by this selector removed."""
    return (_FOLLOWED,) if selector.everything else ()


def settled(places: Iterable[str]) -> tuple[str, ...]:
    """What a receipt names as not reached, once the primary has carried the purge out."""
    return tuple(place for place in places if QUEUED not in place and place not in (SELECTOR_WAITS, NAMES_WAIT))
