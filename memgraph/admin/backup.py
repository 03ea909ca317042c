"""Verifying a backup, and restoring it. `Memory.backup` makes one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memgraph.backends.base import DAMAGED, Archivable, Backend, Scope, tombstones_of
from memgraph.errors import InvalidInputError, LegalHoldError, NotFoundError, StoreCorruptError, UnsupportedError
from memgraph.ledger import holds_of
from memgraph.memory import Memory
from memgraph.models import BackupReport, Entry, Hold, RestoreReport
from memgraph.operations import Remember
from memgraph.rules.lineage import RETIRED
from memgraph.rules.tombstones import naming

__all__ = ["restore", "verify"]


def verify(path: str | Path) -> BackupReport:
    """Look at all of a backup, as the doctor does, compare it with what was written, and say what it holds. It is only read.

    Raises NotFoundError, StoreCorruptError for damage of any kind, StoreVersionError, and InvalidInputError for a store that
    is no backup, or an empty file.
    """
    _require(path)
    with Memory.open(path, read_only=True, preload=False) as memory:
        return _files(memory).as_backup()


def restore(
    store: str | Path,
    backup: str | Path,
    *,
    dry_run: bool = False,
    lock_timeout: float = 10.0,
    durability: str = "full",
    max_clock_drift: float = 300.0,
    clock: Callable[[], float] = time.time,
    by: str | None = None,
) -> RestoreReport:
    """Put a backup, after it was verified, in place of what a store's file holds; returns what that changed.

    Processes that have the store open go on, and see the new contents. What the store held is kept in a backup beside it, whose
    name the report gives. What was purged in the store stays purged: its ledger is applied before anything is replaced. A store
    with a primary keeps what it has not sent yet, and pushes and pulls everything anew. All of it happens in one commit, or not.

    store: made if it is not there. dry_run: change nothing, and report what would happen. lock_timeout: seconds to wait for
    another process's write. durability, max_clock_drift (seconds), clock: as for `Memory.open`. by: who does it, for the audit of
    each namespace; by default the operating system's user.

    Raises what `verify` raises, LegalHoldError if what is under a hold would be taken away,
    StoreCorruptError for a damaged store, ClockDriftError, StoreLockedError, StoreFullError,
    ReadOnlyError, and UnsupportedError for pages of another size; then the store is as it was.
    """
    _require(backup)
    options: dict[str, Any] = {
        "lock_timeout": lock_timeout,
        "durability": durability,
        "max_clock_drift": max_clock_drift,
        "clock": clock,
    }
    there = Path(store).exists() and Path(store).stat().st_size > 0
    if there:
        try:
            _require_held(store, backup)
        except StoreCorruptError as error:
            if not str(error).startswith(str(store)):
                raise  # it is the backup
            raise StoreCorruptError(str(error), hint=DAMAGED) from None
    if not there and not dry_run:
        restore(store, backup, dry_run=True, **options)  # what is refused makes no file
    with Memory.open(store if there or not dry_run else ":memory:", **options, preload=False) as memory:
        who = memory._operator(by)

        def act(path: str, details: dict[str, Any]) -> Remember:
            operation = memory.namespace(path)._ledger.draft("backup restored", who, details).operation
            assert isinstance(operation, Remember)
            return operation

        report = _files(memory).restore_backup(Path(backup), dry_run, act)
    return report.model_copy(update={"store": str(store)})


def _require_held(store: str | Path, backup: str | Path) -> None:
    """Raise LegalHoldError if the backup lacks what is under a legal hold in the store: a restore would take it away."""
    with (
        Memory.open(store, read_only=True, preload=False) as memory,
        Memory.open(backup, read_only=True, preload=False) as other,
    ):
        missing: set[str] = set()
        now = memory._now()
        for hold in holds_of(memory.backend, now):
            for path in _reached(hold, (memory.backend, other.backend)):
                named = naming(tombstones_of(other.backend, Scope(path)), path, hold.selector)
                if named and named - {item.get("tombstone") for item in tombstones_of(memory.backend, Scope(path))}:
                    missing.add(hold.id)
                held = list(memory.backend.select(Scope(path), hold.selector, now))
                there = other.backend.get(path, [entry.id for entry in held], now)
                if any(_is_lost(entry, there.get(entry.id)) for entry in held):
                    missing.add(hold.id)
    if missing:
        raise LegalHoldError(
            f"the backup does not hold all that is under a legal hold in the store ({', '.join(sorted(missing))})",
            hint="Take a newer backup, or lift the hold: `memgraph hold list`, `memgraph hold lift ID`.",
        )


def _reached(hold: Hold, sides: Sequence[Backend]) -> set[str]:
    """The namespaces that a hold covers: its own, which may be empty, and those below that either side knows."""
    below = (path for side in sides for path in side.namespaces(hold.namespace))
    return {hold.namespace, *below} if hold.subtree else {hold.namespace}


def _is_lost(held: Entry, there: Entry | None) -> bool:
    """Whether a backup lacks a memory, or has it out of use where it is not so in the store."""
    return there is None or (there.status.value in RETIRED and held.status.value not in RETIRED)


def _require(backup: str | Path) -> None:
    if not Path(backup).exists():
        raise NotFoundError(f"there is no backup at {backup}", hint="Check the path.")
    if Path(backup).is_file() and not Path(backup).stat().st_size:
        raise InvalidInputError(f"{backup} is empty, and no backup", field="path", hint="Use another backup.")


def _files(memory: Memory) -> Archivable:
    if not isinstance(memory.backend, Archivable):
        raise UnsupportedError(
            f"a backup is of a store's file, and {memory.backend.name} has none", hint="Use export and import."
        )
    return memory.backend
