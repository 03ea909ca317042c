"""Putting a backup in place of what a store holds.

The new contents are made in a copy beside, and take the place of the old ones in one commit while nobody else can write: a
crash leaves the one or the other, whole.
"""

from __future__ import annotations

import glob
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from memgraph.backends.base import DAMAGED
from memgraph.backends.local import backup, merge
from memgraph.backends.local.apply import newest_version
from memgraph.clock import Clock, millis
from memgraph.errors import ClockDriftError, InvalidInputError, StoreCorruptError, UnsupportedError
from memgraph.models import RestoreReport
from memgraph.storage.sqlite import copy as files
from memgraph.storage.sqlite import repair
from memgraph.storage.sqlite.database import translate
from memgraph.storage.sqlite.schema import migrate

if TYPE_CHECKING:
    from memgraph.backends.base import ActOf
    from memgraph.backends.local.backend import LocalBackend

__all__ = ["restore"]

T = TypeVar("T")
_ANY: Final = 1e11  # seconds: more than versions have room for
_KEPT: Final = ".before-restore-"  # in the names of rollback copies


def restore(store: LocalBackend, path: Path, dry_run: bool, act: ActOf) -> RestoreReport:
    """Check a backup, and put it in place of what the store holds; or only find out what that would do.

    act: what is written down of it in each namespace that there is or was.

    Raises StoreCorruptError if either is damaged, InvalidInputError if the file is no backup, ClockDriftError,
    StoreLockedError, StoreFullError, ReadOnlyError; then the store is as it was.
    """
    from memgraph.backends.local.backend import LocalBackend

    _require_sound(store)
    own = store.database.path
    if own is None and not dry_run:
        raise UnsupportedError(
            "memories that are in no file cannot be replaced by a backup", hint="Open the backup itself, or a file."
        )
    if own is not None and path.exists() and path.samefile(own):
        raise InvalidInputError("is the store itself", field="path", hint="Name a backup.")
    with closing(LocalBackend(path, read_only=True)) as source:
        held = backup.describe(source)
        _require_present(store, held.newest)
        with source.database.read(snapshot=False) as connection:
            copy = files.staged(connection)
    with closing(copy):
        migrate(copy, held.file)
        purged = Counter(_change(store, copy, merge.bury))  # what takes long, before anybody has to wait for it
        outcome: list[merge.Outcome] = []
        rollback: list[Path] = []

        def complete(old: sqlite3.Connection, new: sqlite3.Connection) -> merge.Outcome:
            clock = Clock(wall=store.wall, max_drift=_ANY)  # a store that runs ahead is what may have to be restored
            for version in (held.newest, newest_version(old)):
                if version:
                    clock.observe(version)
            return merge.complete(
                old,
                new,
                held.newest,
                lambda path, gone: act(path, {"backup of": held.made_at.isoformat(), "gone": gone}).stamped(
                    clock.tick()
                ),
            )

        def finish() -> None:
            purged.update(_change(store, copy, merge.bury))  # what was purged while the first one ran
            outcome.append(_change(store, copy, complete))

        def prepare() -> None:
            if own is not None:
                rollback.extend(_keep(store, own))
            finish()

        if dry_run:
            finish()
        else:
            _require_same_pages(store, copy)
            try:
                store.database.overwrite(copy, prepare)
            except Exception:  # not if it was interrupted: that may have been after the commit
                for kept in rollback:
                    kept.unlink(missing_ok=True)
                raise
        return RestoreReport(
            store=store.database.where,
            backup=held,
            dry_run=dry_run,
            purged=dict(purged),
            rollback=str(rollback[0]) if rollback else None,
            **asdict(outcome[0]),
        )


def _require_sound(store: LocalBackend) -> None:
    """The purge ledger of a damaged store cannot be trusted: what it has lost would let the dead come back."""
    database = store.database
    database.require_writable()
    with database.read() as connection:
        broken = repair.damage(connection)
    if broken:
        raise StoreCorruptError(
            f"{database.where} is damaged ({broken[0]}), and with it perhaps its list of what was purged",
            hint=DAMAGED,
        )


def _require_present(store: LocalBackend, newest: str) -> None:
    """A backup from the future would leave a store that cannot be written to; unless it is there already."""
    with store.database.read(snapshot=False) as connection:
        known = newest_version(connection)
    if newest > known and millis(newest) > (store.wall() + store.max_clock_drift) * 1000:
        raise ClockDriftError(
            "the backup holds versions further ahead of this machine's clock than max_clock_drift allows",
            hint="Set the clock right, or raise max_clock_drift.",
        )


def _require_same_pages(store: LocalBackend, copy: sqlite3.Connection) -> None:
    with store.database.read(snapshot=False) as connection:
        sizes = [each.execute("pragma page_size").fetchone()[0] for each in (connection, copy)]
    if sizes[0] != sizes[1]:
        raise UnsupportedError(
            f"the store has pages of {sizes[0]} bytes, the backup of {sizes[1]}",
            hint="Restore it to a new file, or export it and import that.",
        )


def _keep(store: LocalBackend, own: Path) -> Iterator[Path]:
    """A backup of what the store holds, beside it; none of a store that holds nothing. Called with the write lock held.

    So whatever another restore has left unfinished beside the store is of one that was killed.
    """
    for left in own.parent.glob(f".{glob.escape(own.name)}{_KEPT}*.tmp"):
        left.unlink(missing_ok=True)
    with store.database.read() as connection:
        tables = ("memory", "tombstone", "outbox", "dead_letter", "foreign_operation")
        if not any(connection.execute(f"select 1 from {table} limit 1").fetchone() for table in tables):
            return
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    path = own.with_name(f"{own.name}{_KEPT}{stamp}")
    backup.create(store, path, force=False)
    yield path


def _change(
    store: LocalBackend, copy: sqlite3.Connection, work: Callable[[sqlite3.Connection, sqlite3.Connection], T]
) -> T:
    """Change the copy in one transaction, then pack it: what was removed may not come along in an unused part of a page."""
    with store.database.read() as old:
        try:
            copy.execute("begin")
            found = work(old, copy)
            copy.execute("commit")
            copy.execute("vacuum")
        except sqlite3.Error as error:
            raise translate(error, "a temporary copy of the backup") from None
    return found
