"""What a restored store is to hold: the backup, less what was purged since, and what the store still owes its primary.

`old` is the store that is restored, read only; `new` is a copy of the backup, which becomes the store's contents.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memgraph.backends.base import Scope
from memgraph.backends.local import dump, index, journal, tombs
from memgraph.backends.local.apply import EDGES, Applier
from memgraph.checks import LEDGER
from memgraph.operations import Remember

__all__ = ["Outcome", "bury", "complete"]

_SOME: Final = 5  # ids of each namespace that are named
_MEMORIES: Final = "select path, id from memory join namespace using(ns) where version is not null"
_SPACES: Final = f"select distinct path from ({_MEMORIES}) where path not glob '{LEDGER}/*'"
_EVENTS: Final = (
    "select path, count(*) from (select seq, version from life union all select a, version from relation"
    " union all select seq, version from feedback) e join memory m on m.seq = e.seq join namespace using(ns)"
    " where e.version > ? group by path order by path"
)
_KNOWS: Final = (
    "select 1 from memory join namespace using(ns) where path glob ? and kind = 'act' and instr(content, ?) > 0 limit 1"
)
_WAITING: Final = "n, unit, namespace, version, a, b, payload"
_DEAD: Final = f"{_WAITING}, reason, at"


@dataclass(frozen=True)
class Outcome:
    """What changes for a store by its new contents; the fields are those of RestoreReport."""

    held: int
    newer: dict[str, int]
    newer_ids: dict[str, tuple[str, ...]]
    changed: dict[str, int]
    tombstones: int
    unsent: int
    coupled: bool


def bury(old: sqlite3.Connection, new: sqlite3.Connection) -> dict[str, int]:
    """Apply the store's ledger to the backup. Returns how much that removed, by kind of record; the second time nothing."""
    for (name,) in new.execute("select name from meta where name glob 'purge:*'").fetchall():
        receipt = name.removeprefix("purge:").partition(" ")[0]
        if old.execute(_KNOWS, (f"{LEDGER}/*", receipt)).fetchone() is not None:
            new.execute("delete from meta where name = ?", (name,))  # the store knows better whether it still waits
    new.executemany(
        "insert or replace into meta values(?, ?)",
        old.execute(
            "select name, value from meta where name in ('secret', 'coupled', 'pushed', 'pulled', 'cleared')"
            " or name glob 'purge:*'"
        ).fetchall(),
    )
    if not tombs.carry(old, new):
        return {}
    applier = Applier(new)
    applier.sweep()
    applier.finish()
    return {name: count for name, count in applier.removed.items() if count}


def complete(
    old: sqlite3.Connection, new: sqlite3.Connection, newest: str, act: Callable[[str, int], Remember]
) -> Outcome:
    """Make the new contents a successor of the old ones, once the ledger was applied.

    newest: the backup's greatest version. act: what is written down in a namespace of which so many memories are gone.
    """
    if index.is_stale(new):
        index.rebuild(new)
    applier = Applier(new)
    waiting = [journal.read_item(payload) for (payload,) in old.execute("select payload from outbox order by n")]
    for item in waiting:
        if not isinstance(item, dict):  # tombstones are there already
            applier.apply(item)
    for item in dump.operations(old, Scope(LEDGER, subtree=True)):  # holds, and who did what: no restore undoes these
        if not isinstance(item, dict):
            applier.apply(item)
    newer, newer_ids = _missing(old, new)
    for path in sorted({path for side in (old, new) for (path,) in side.execute(_SPACES)}):
        applier.apply(act(path, newer.get(path, 0)))
    applier.finish()
    _owe(old, new)
    _outnumber(old, new)
    new.execute("delete from meta where name = 'backup'")
    new.executemany(
        "insert into meta values(?, ?) on conflict(name) do update set value = excluded.value"
        " where excluded.value > value",
        [*old.execute("select name, value from meta where name = 'version'"), ("scrub", 1)],
    )
    return Outcome(
        held=old.execute(
            f"select count(*) from memory join namespace using(ns) where version is not null and path not glob '{LEDGER}/*'"
        ).fetchone()[0],
        newer=newer,
        newer_ids=newer_ids,
        changed=dict(old.execute(_EVENTS, (newest,)).fetchall()),
        tombstones=new.execute("select count(*) from tombstone").fetchone()[0],
        unsent=len(waiting),
        coupled=_coupled(new),
    )


def _owe(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """What the store owes its primary stays queued under its numbers, as another process may be sending it.

    What the backup knows is pushed whole and everything pulled again, so its own queue is not needed; what was refused is kept.
    """
    if not _coupled(new):
        return
    known = new.execute("select path from namespace").fetchall()
    known += old.execute("select path from namespace union select namespace from cursor").fetchall()
    if not _coupled(old):
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


def _coupled(connection: sqlite3.Connection) -> bool:
    """Whether the store has, or once had, a primary."""
    return connection.execute("select 1 from meta where name = 'coupled'").fetchone() is not None


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
