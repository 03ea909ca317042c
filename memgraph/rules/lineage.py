"""The laws of versions: status, current values, lines and the two clocks, as pure functions of what was written.

Nothing here depends on the order in which things arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memgraph.clock import recorded_at
from memgraph.models import Status

__all__ = ["RETIRED", "Fact", "has_expired", "line", "status", "valid_at"]

RETIRED = frozenset({"forgotten", "released", "pruned"})


@dataclass(frozen=True)
class Fact:
    """What the laws need to know of a memory. `events`: (version, cause) pairs; `name`: any hashable that names it."""

    name: object
    version: str
    key: str | None = None
    past: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    events: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> datetime:
        """From when it was true: `valid_from`, else when it was recorded."""
        return self.valid_from or recorded_at(self.version)


def status(events: Iterable[tuple[str, str]], keyed: bool, replaced: bool) -> Status:
    """A memory's status, expiry aside.

    events: (version, cause) of what happened to it. keyed: a key's line has no restore in place, so those are left out.
    replaced: its key has a greater version, it describes the past, or a purge took a greater version of its key.
    """
    last = max((event for event in events if not (keyed and event[1] == "restored")), default=None)
    if last is not None and last[1] in RETIRED:
        return Status(last[1])
    if replaced or (last is not None and last[1] == "superseded"):
        return Status.SUPERSEDED
    return Status.ACTIVE


def has_expired(expires_at: datetime | None, now: datetime) -> bool:
    """Whether what has this expiry, or none, is over at an instant: from the very instant of its expiry on."""
    return expires_at is not None and expires_at <= now


def line(facts: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """The (newer, older) pairs of one key's memories: one line in version order, without those that describe the past."""
    ordered = sorted((fact for fact in facts if not fact.past), key=lambda fact: fact.version)
    return list(zip(ordered[1:], ordered, strict=False))


def valid_at(facts: Sequence[Fact], instant: datetime) -> Fact | None:
    """What was true on a key at an instant: the greatest version, not retired, whose interval holds it.

    facts: the key's memories as known then, without retired ones. An interval runs from `start` to `valid_to`, else to the
    next later start on the key.
    """

    def end(fact: Fact) -> datetime | None:
        if fact.valid_to is not None:
            return fact.valid_to
        later = [
            other.start
            for other in facts
            if other.start > fact.start and (other.valid_from is not None or other.version > fact.version)
        ]
        return min(later, default=None)

    best: Fact | None = None
    for fact in facts:
        if fact.start <= instant and (best is None or fact.version > best.version):
            until = end(fact)
            if until is None or instant < until:
                best = fact
    return best
