"""Taking back what a run or a source wrote: which memories go out of use, and which become current again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from memgraph.clock import recorded_at
from memgraph.models import Entry, Status
from memgraph.rules.lineage import has_expired

__all__ = ["becomes_current", "goes"]


def goes(written: Iterable[Entry]) -> list[Entry]:
    """Those of the run's memories that are in use, pinned or not."""
    return [entry for entry in written if entry.status is Status.ACTIVE]


def becomes_current(
    written: Sequence[Entry], replaced: Iterable[Entry], now: datetime, line: Callable[[str], Sequence[Entry]]
) -> list[Entry]:
    """What the run had replaced, oldest first: of a key the newest value that is not the run's, if the run's is the newest of all.

    written: everything of the run, of any status. replaced: superseded memories, of the run or not. line: all values of a key,
    oldest first. What has expired since, or was taken out of use otherwise, stays so, and so does what stood before a value of
    the run that somebody forgot since.
    """
    run = {entry.id for entry in written}
    stands = {entry.id for entry in written if entry.status in (Status.ACTIVE, Status.SUPERSEDED)}
    of_keys: dict[str, Entry] = {}
    others: list[Entry] = []
    for entry in replaced:
        if entry.id in run or entry.superseded_by not in stands or has_expired(entry.expires_at, now):
            continue
        if entry.key is None:
            others.append(entry)
        elif entry.key not in of_keys or of_keys[entry.key].version < entry.version:
            of_keys[entry.key] = entry
    keyed = [entry for key, entry in of_keys.items() if _stands_last(line(key), run)]
    return sorted([*others, *keyed], key=lambda entry: entry.version)


def _stands_last(line: Sequence[Entry], run: set[str]) -> bool:
    """Whether the newest value, of those that were not over already when they were written, is the run's and in use."""
    newest = next(
        entry for entry in reversed(line) if entry.valid_to is None or entry.valid_to > recorded_at(entry.version)
    )
    return newest.id in run and newest.status is Status.ACTIVE
