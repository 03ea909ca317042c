"""Stamping and applying what a caller writes: conditions, ids that are known already, versions; in one transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from memgraph.backends.base import Draft
from memgraph.backends.local import apply, journal, reads
from memgraph.backends.local.rows import COLUMNS, entry
from memgraph.checks import from_micros
from memgraph.clock import Clock
from memgraph.errors import ConflictError, PurgedError
from memgraph.models import Entry
from memgraph.operations import Remember, entry_of

__all__ = ["write"]

_log = logging.getLogger("memgraph")


def write(connection: sqlite3.Connection, drafts: Sequence[Draft], clock: Clock) -> list[Entry | str]:
    """Stamp and apply drafts in order; returns what was made of each. clock: past all that the store has seen.

    Raises ConflictError, PurgedError, ClockDriftError; the caller takes the transaction back then.
    """
    applier = apply.Applier(connection)
    results: list[Entry | str] = []
    written: list[journal.Item] = []
    repeated: set[str] = set()
    for draft in drafts:
        operation = draft.operation
        if draft.part_of in repeated:
            results.append("")
            continue
        if isinstance(operation, Remember):
            known = None if draft.fresh else _known(applier, operation, _now(clock))
            if known is not None:
                results.append(known)
                repeated.add(operation.id)
                continue
            if draft.if_absent or draft.expected_version is not None:
                _require(connection, operation, draft, _now(clock))
        stamped = operation.stamped(clock.tick())
        if isinstance(stamped, Remember):
            stamped = _past_what_was_purged(applier, stamped, clock)
        applier.apply(stamped, draft.fresh)
        written.append(stamped)
        results.append(entry_of(stamped, _now(clock), ("local",)) if isinstance(stamped, Remember) else stamped.version)
        _log.info("%s %s", operation.op, stamped.version)  # an id that a caller chose is data, and may be purged
    applier.finish()
    journal.note(connection, written)
    return results


def _past_what_was_purged(applier: apply.Applier, operation: Remember, clock: Clock) -> Remember:
    """The same under a version that no purge of its values takes; such a purge may come from a clock that is ahead.

    Raises ClockDriftError if it is so far ahead.
    """
    while (purged := applier.tombs.until(operation)) >= operation.version:
        clock.observe(purged)
        operation = operation.stamped(clock.tick())
    return operation


def _now(clock: Clock) -> datetime:
    return from_micros(int(clock.wall() * 1_000_000))


def _known(applier: apply.Applier, operation: Remember, now: datetime) -> Entry | None:
    """The stored entry, if this id was written before with the same content and key."""
    path, id = operation.namespace, operation.id
    if applier.tombs.buried(path, id):
        raise PurgedError("this id was purged and is dead for good", hint="Use another id.")
    row = applier.connection.execute(
        f"select {COLUMNS} from memory where ns = ? and id = ? and version is not null",
        (applier.namespace(path), id),
    ).fetchone()
    if row is None:
        return None
    found = entry(row, path, now)
    if (found.content, found.key) != (operation.content, operation.key):
        raise ConflictError(
            "this id already names a memory with other content or another key",
            hint="Leave the id out, or use supersede.",
        )
    return reads.by_seqs(applier.connection, [row[0]], now)[row[0]]


def _require(connection: sqlite3.Connection, operation: Remember, draft: Draft, now: datetime) -> None:
    assert operation.key is not None
    current = reads.current(connection, operation.namespace, operation.key, now)
    if draft.if_absent and current is not None:
        raise ConflictError("the key already has a current memory", hint="Read it, or write without if_absent.")
    if draft.expected_version is not None and (current is None or current.version != draft.expected_version):
        raise ConflictError(
            "the key's current memory has another version than expected", hint="Read it again and decide anew."
        )
