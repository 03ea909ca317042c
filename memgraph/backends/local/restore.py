"""Putting a backup in place of what a store holds: what was purged since stays so, and what is owed to a primary is kept.

The new contents are made in a copy beside, while the store's write lock is held, and then take the place of the old ones in
one commit: a crash leaves the one or the other, whole.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memgraph.backends.local import backup, index, journal, tombs
from memgraph.backends.local.apply import EDGES, Applier
from memgraph.errors import InvalidInputError, StoreCorruptError, UnsupportedError
from memgraph.models import BackupReport, RestoreReport
from memgraph.storage.sqlite import copy as files
from memgraph.storage.sqlite import repair
from memgraph.storage.sqlite.database import translate
from memgraph.storage.sqlite.schema import migrate

if TYPE_CHECKING:
    from memgraph.backends.local.backend import LocalBackend

__all__ = ["restore"]

_SOME: Final = 5  # ids of each namespace that are named
_MEMORIES: Final = "select path, id from memory join namespace using(ns) where version is not null"
_EVENTS: Final = (
    "select path, count(*) from (select seq, version from life union all select a, version from relation"
    " union all select seq, version from feedback) e join memory m on m.seq = e.seq join namespace using(ns)"
    " where e.version > ? group by path order by path"
)
_WAITING: Final = "n, unit, namespace, version, a, b, payload"
_DEAD: Final = f"{_WAITING}, reason, at"


@dataclass(frozen=True)
class _Outcome:
    """What is known once the new contents are made."""

    held: int
    newer: dict[str, int]
    newer_ids: dict[str, tuple[str, ...]]
    changed: dict[str, int]
    purged: dict[str, int]
    tombstones: int
    unsent: int
    coupled: bool


def restore(store: LocalBackend, path: Path, dry_run: bool) -> RestoreReport:
    """Check a backup, and put it in place of what the store holds; or only find out what that would do.

    Raises StoreCorruptError if either is damaged, InvalidInputError if the file is no backup, StoreLockedError, StoreFullError,
    ReadOnlyError; then the store is as it was.
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
        with source.database.read(snapshot=False) as connection:
            copy = files.staged(connection)
    with closing(copy):
        if dry_run or own is None:
            return _report(store, held, _prepared(store, held, copy), dry_run=True)
        _require_same_pages(store, copy)
        done: list[_Outcome] = []
        rollback: list[Path] = []

        def prepare() -> None:
            rollback.extend(_keep(store, own))
            done.append(_prepared(store, held, copy))

        try:
            store.database.overwrite(copy, prepare)
        except BaseException:
            for kept in rollback:
                kept.unlink(missing_ok=True)
            raise
        return _report(store, held, done[0], dry_run=False, rollback=str(rollback[0]) if rollback else None)


def _report(
    store: LocalBackend, held: BackupReport, outcome: _Outcome, dry_run: bool, rollback: str | None = None
) -> RestoreReport:
    return RestoreReport(
        store=store.database.where, backup=held, dry_run=dry_run, rollback=rollback, **outcome.__dict__
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
            hint="Run `memgraph doctor --repair` first. If that saves nothing, move the file away: a restore to a new file"
            " brings back what was purged since the backup.",
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
    """A backup of what the store holds, beside it; none of a store that holds nothing."""
    with store.database.read() as connection:
        tables = ("memory", "tombstone", "outbox", "dead_letter", "foreign_operation")
        if not any(connection.execute(f"select 1 from {table} limit 1").fetchone() for table in tables):
            return
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    path = own.with_name(f"{own.name}.before-restore-{stamp}")
    backup.create(store, path, force=False)
    yield path


def _prepared(store: LocalBackend, held: BackupReport, copy: sqlite3.Connection) -> _Outcome:
    """Make the new contents of a backup's copy, for a store whose own contents do not change meanwhile."""
    try:
        migrate(copy, held.file)
        with store.database.read() as old:
            copy.execute("begin")
            outcome = _merge(old, copy, held)
            copy.execute("commit")
        copy.execute("vacuum")  # nothing of what the ledger removed may come along in an unused part of a page
    except sqlite3.Error as error:
        raise translate(error, "a temporary copy of the backup") from None
    return outcome


def _merge(old: sqlite3.Connection, new: sqlite3.Connection, held: BackupReport) -> _Outcome:
    if index.is_stale(new):
        index.rebuild(new)
    new.execute("delete from meta where name = 'backup'")
    tombs.carry(old, new)
    new.executemany(
        "insert or replace into meta values(?, ?)",
        old.execute(
            "select name, value from meta where name in ('secret', 'coupled', 'pushed', 'pulled', 'cleared')"
        ).fetchall(),
    )
    applier = Applier(new)
    applier.sweep()
    purged = {name: count for name, count in applier.removed.items() if count}
    unsent = 0
    for (payload,) in old.execute("select payload from outbox order by n"):
        item = journal.read_item(payload)
        if not isinstance(item, dict):  # tombstones are there already
            applier.apply(item)
        unsent += 1
    applier.finish()
    _owe(old, new)
    _outnumber(old, new)
    new.executemany(
        "insert into meta values(?, ?) on conflict(name) do update set value = excluded.value"
        " where excluded.value > value",
        [*old.execute("select name, value from meta where name = 'version'"), ("scrub", 1)],
    )
    newer, newer_ids = _missing(old, new)
    return _Outcome(
        held=old.execute("select count(*) from memory where version is not null").fetchone()[0],
        newer=newer,
        newer_ids=newer_ids,
        changed=dict(old.execute(_EVENTS, (held.newest,)).fetchall()),
        purged=purged,
        tombstones=new.execute("select count(*) from tombstone").fetchone()[0],
        unsent=unsent,
        coupled=new.execute("select 1 from meta where name = 'coupled'").fetchone() is not None,
    )


def _owe(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """What the store owes its primary stays queued under its numbers, as another process may be sending it.

    What the backup knows is pushed whole and everything pulled again, so its own queue is not needed; what was refused is kept.
    """
    if new.execute("select 1 from meta where name = 'coupled'").fetchone() is None:
        return
    known = (
        new.execute("select path from namespace").fetchall() + old.execute("select namespace from cursor").fetchall()
    )
    if old.execute("select 1 from meta where name = 'coupled'").fetchone() is None:
        known += new.execute("select namespace from cursor union select namespace from outbox").fetchall()
    new.execute("delete from cursor")
    for (path,) in set(known):
        journal.set_cursor(new, path, journal.UNPUSHED)
    new.execute("delete from outbox")
    refused = new.execute(f"select {_DEAD} from dead_letter order by n").fetchall()
    new.execute("delete from dead_letter")
    waiting = old.execute(f"select {_WAITING} from outbox").fetchall()
    mine = old.execute(f"select {_DEAD} from dead_letter").fetchall()
    top = max(_top(old, "outbox"), _top(new, "outbox"))
    have = {row[6] for row in mine}
    mine += [(row[0] + top, row[1] + top, *row[2:]) for row in refused if row[6] not in have]
    new.executemany(f"insert into outbox({_WAITING}) values(?, ?, ?, ?, ?, ?, ?)", waiting)
    new.executemany(f"insert into dead_letter({_DEAD}) values(?, ?, ?, ?, ?, ?, ?, ?, ?)", mine)
    if refused:
        _raise_to(new, "outbox", 2 * top)
    journal.drop_dead(new, {row[2] for row in (*waiting, *mine)})


def _outnumber(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """No number that a process has kept in mind may mean something else now: numbers go on from the greater of both.

    The change log begins anew beyond what anybody has read, so that who follows it reads the tables again. Parts of the text
    index are kept by their numbers alone, so they get new ones.
    """
    for name, number in old.execute("select name, seq from sqlite_sequence").fetchall():
        _raise_to(new, name, number)
    new.execute("delete from change")
    new.execute("insert into change(lsn, ns, what, a) values(?, 0, ?, 0)", (_top(new, "change") + 2, EDGES))
    top = _top(new, "post")
    new.execute("update post set id = id + ?", (top,))
    _raise_to(new, "post", 2 * top)


def _top(connection: sqlite3.Connection, table: str) -> int:
    """The greatest number that a table has given."""
    row = connection.execute("select seq from sqlite_sequence where name = ?", (table,)).fetchone()
    return row[0] if row else 0


def _raise_to(connection: sqlite3.Connection, table: str, number: int) -> None:
    """Have a table give only greater numbers than this."""
    done = connection.execute("update sqlite_sequence set seq = max(seq, ?2) where name = ?1", (table, number))
    if not done.rowcount:
        connection.execute("insert into sqlite_sequence(name, seq) values(?, ?)", (table, number))


def _missing(old: sqlite3.Connection, new: sqlite3.Connection) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """How many memories of each namespace are in the one and not in the other, and the ids of the newest."""
    there = set(new.execute(_MEMORIES))
    counts: Counter[str] = Counter()
    ids: dict[str, list[str]] = defaultdict(list)
    for path, id in old.execute(f"{_MEMORIES} order by path, version desc"):
        if (path, id) not in there:
            counts[path] += 1
            if counts[path] <= _SOME:
                ids[path].append(id)
    return dict(counts), {path: tuple(some) for path, some in ids.items()}
