"""How a receipt tells of what a purge has not reached yet, and what of that is over once the primary has carried it out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["NAMES_WAIT", "QUEUED", "SELECTOR_WAITS", "settled"]

QUEUED: Final = "is queued, and carried out there when it is"
"""Of a primary that has yet to carry a purge out."""
SELECTOR_WAITS: Final = "the selector: it waits for that, encrypted, in the file, and is erased when it was carried out"
NAMES_WAIT: Final = (
    "what names it: keys of what went, and the ids, key, subject or other value it went by, wait for that in the file in clear,"
    " and are erased when it was carried out"
)


def settled(places: Iterable[str]) -> tuple[str, ...]:
    """What a receipt names as not reached, once the primary has carried the purge out."""
    return tuple(place for place in places if QUEUED not in place and place not in (SELECTOR_WAITS, NAMES_WAIT))
