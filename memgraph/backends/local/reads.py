"""Questions that the tables answer: entries, pages, a key as it is and as it was, snapshots."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from memgraph.backends.base import Scope
from memgraph.backends.local.rows import COLUMNS, STATUSES, entry
from memgraph.backends.local.tombs import Tombs
from memgraph.backends.local.where import clause
from memgraph.checks import from_micros
from memgraph.clock import version_floor
from memgraph.models import Entry, Filters, Page, Status
from memgraph.rules import lineage as laws
from memgraph.rules.cursor import cursor, place
from memgraph.rules.selection import conditions_match

__all__ = [
    "by_ids",
    "by_seqs",
    "count",
    "current",
    "namespace_number",
    "namespaces",
    "page",
    "snapshot",
    "visible_at",
]

_BY_ID = (
    f"select memory.ns, {COLUMNS} from namespace join memory on memory.ns = namespace.ns"
    " where namespace.path = ? and memory.id = ? and memory.version is not null"
)
_CURRENT = (
    f"select {COLUMNS} from namespace join memory on memory.ns = namespace.ns and memory.past = 0"
    " where namespace.path = ? and memory.key = ? order by memory.version desc limit 1"
)
_IN = 500  # values bound in one statement


def namespace_number(connection: sqlite3.Connection, path: str) -> int | None:
    """The number of a namespace, or None if nothing was ever written there."""
    row = connection.execute("select ns from namespace where path = ?", (path,)).fetchone()
    return row[0] if row else None


def namespaces(connection: sqlite3.Connection, scope: Scope) -> list[tuple[int, str]]:
    """(number, path) of the namespaces of a scope, by path."""
    if not scope.subtree:
        ns = namespace_number(connection, scope.namespace)
        return [] if ns is None else [(ns, scope.namespace)]
    rows = connection.execute(
        "select ns, path from namespace where path = ? or substr(path, 1, ?) = ? order by path",
        (scope.namespace, len(scope.namespace) + 1, scope.namespace + "/"),
    )
    return rows.fetchall()


def _successor(connection: sqlite3.Connection, ns: int, row: Sequence[Any]) -> str | None:
    """The id of what replaced a superseded memory: the next on its key's line, else what superseded it by call."""
    seq, version, key = row[0], row[2], row[4]
    found = None
    if key is not None:
        found = connection.execute(
            "select id from memory where ns = ? and key = ? and past = 0 and version > ?"
            " and (select past from memory where seq = ?) = 0 order by version limit 1",
            (ns, key, version, seq),
        ).fetchone()
    if found is None:
        found = connection.execute(
            "select memory.id from life join memory on memory.seq = life.superseding and memory.version is not null"
            " where life.seq = ? and life.cause = 'superseded' and life.old_version = ? order by life.version desc limit 1",
            (seq, version),
        ).fetchone()
    return found[0] if found else None


def _entry(connection: sqlite3.Connection, ns: int, path: str, row: Sequence[Any], now: datetime) -> Entry:
    return entry(tuple(row), path, now, _successor(connection, ns, row) if row[3] == 1 else None)


def by_ids(connection: sqlite3.Connection, path: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
    """The memories with these ids."""
    found: dict[str, Entry] = {}
    for id in ids:
        row = connection.execute(_BY_ID, (path, id)).fetchone()
        if row is not None:
            found[id] = _entry(connection, row[0], path, row[1:], now)
    return found


def by_seqs(connection: sqlite3.Connection, seqs: Iterable[int], now: datetime) -> dict[int, Entry]:
    """The memories with these numbers, of any namespace."""
    found: dict[int, Entry] = {}
    todo = list(seqs)
    for start in range(0, len(todo), _IN):
        part = todo[start : start + _IN]
        rows = connection.execute(
            f"select namespace.ns, namespace.path, {COLUMNS} from memory join namespace on namespace.ns = memory.ns"
            f" where seq in ({','.join('?' * len(part))}) and version is not null",
            part,
        ).fetchall()
        for ns, path, *row in rows:
            found[row[0]] = _entry(connection, ns, path, row, now)
    return found


def _rows(
    connection: sqlite3.Connection, scope: Scope, filters: Filters, now: datetime, after: str | None
) -> Iterator[tuple[Any, ...]]:
    where, values = clause(filters, now)
    spaces = namespaces(connection, scope)
    order = "memory.version desc, memory.id desc"
    if len(spaces) == 1:
        where, values = f"memory.ns = ? and {where}", [spaces[0][0], *values]
    else:
        order = "memory.version desc, namespace.path desc, memory.id desc"
        where = f"memory.ns in (select value from json_each(?)) and {where}"
        values = [str([ns for ns, _ in spaces]), *values]
    if after is not None:
        version, path, id = place(after)
        where += " and (memory.version, namespace.path, memory.id) < (?, ?, ?) and memory.version <= ?"
        values += [version, path, id, version]
    yield from connection.execute(
        f"select namespace.ns, namespace.path, {COLUMNS} from memory join namespace on namespace.ns = memory.ns"
        f" where memory.version is not null and {where} order by {order}",
        values,
    )


def page(
    connection: sqlite3.Connection, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None
) -> Page[Entry]:
    """A page of matching memories, newest version first."""
    items: list[Entry] = []
    following = None
    for ns, path, *row in _rows(connection, scope, filters, now, after):
        found = _entry(connection, ns, path, row, now)
        if filters.where and not conditions_match(found.metadata, filters.where):
            continue
        if len(items) == limit:
            following = cursor(items[-1]) if items else None
            break
        items.append(found)
    return Page(tuple(items), following)


def count(connection: sqlite3.Connection, scope: Scope, filters: Filters, now: datetime) -> int:
    """How many memories match."""
    if filters.where:
        return sum(
            conditions_match(entry(tuple(row), path, now).metadata, filters.where)
            for _, path, *row in _rows(connection, scope, filters, now, None)
        )
    where, values = clause(filters, now)
    spaces = str([ns for ns, _ in namespaces(connection, scope)])
    row = connection.execute(
        f"select count(*) from memory where ns in (select value from json_each(?)) and version is not null and {where}",
        (spaces, *values),
    ).fetchone()
    found: int = row[0]
    return found


# ---- a key, and what was known


def _events(connection: sqlite3.Connection, seq: int, version: str, floor: str) -> list[tuple[str, str]]:
    rows = connection.execute(
        "select version, cause, old_version from life where seq = ? and version < ?", (seq, floor)
    )
    return [(at, cause) for at, cause, old in rows if old is None or old == version]


def current(
    connection: sqlite3.Connection,
    path: str,
    key: str,
    now: datetime,
    known_at: datetime | None = None,
    valid_at: datetime | None = None,
) -> Entry | None:
    """A key's current memory; or as known, or as true in the world, at an instant."""
    if known_at is None and valid_at is None:
        row = connection.execute(_CURRENT, (path, key)).fetchone()
        if row is None or row[3] != 0:
            return None
        found = entry(row, path, now)
        return found if found.status is Status.ACTIVE else None
    ns = namespace_number(connection, path)
    if ns is None:
        return None
    floor = version_floor(known_at) if known_at is not None else "g"
    slot = Tombs(connection).slot(path, key)
    rows = connection.execute(
        "select seq, version, past, valid_from, valid_to, expires_at from memory"
        " where ns = ? and key = ? and version < ? order by version",
        (ns, key, floor),
    ).fetchall()
    newest = max((version for _, version, past, *_ in rows if not past), default="")
    facts: list[laws.Fact] = []
    for seq, version, past, valid_from, valid_to, expires_at in rows:
        status = laws.status(
            _events(connection, seq, version, floor), True, bool(past) or version < newest or version < slot
        )
        if status.value in laws.RETIRED:
            continue
        if valid_at is None and (
            status is not Status.ACTIVE or (expires_at is not None and from_micros(expires_at) <= (known_at or now))
        ):
            continue
        starts = None if valid_from is None else from_micros(valid_from)
        ends = None if valid_to is None else from_micros(valid_to)
        facts.append(laws.Fact(seq, version, key, bool(past), starts, ends))
    chosen = laws.valid_at(facts, valid_at) if valid_at is not None else (facts[-1] if facts else None)
    if chosen is None:
        return None
    assert isinstance(chosen.name, int)
    return by_seqs(connection, [chosen.name], now).get(chosen.name)


def visible_at(
    connection: sqlite3.Connection,
    path: str,
    seq: int,
    now: datetime,
    known_at: datetime | None,
    valid_at: datetime | None,
) -> bool:
    """Whether a memory was current as known at one instant, or true in the world at one."""
    found = by_seqs(connection, [seq], now).get(seq)
    if found is None:
        return False
    if found.key is not None:
        then = current(connection, path, found.key, now, known_at, valid_at)
        return then is not None and then.id == found.id
    floor = version_floor(known_at) if known_at is not None else "g"
    if found.version >= floor:
        return False
    status = laws.status(_events(connection, seq, found.version, floor), False, False)
    if status is not Status.ACTIVE:
        return False
    if valid_at is not None:
        start = found.valid_from or found.recorded_at
        return start <= valid_at and (found.valid_to is None or valid_at < found.valid_to)
    return not laws.has_expired(found.expires_at, known_at or now)


def snapshot(connection: sqlite3.Connection, path: str, known_at: datetime) -> Iterator[Entry]:
    """Every memory recorded by an instant with its status as known then, oldest first."""
    ns = namespace_number(connection, path)
    if ns is None:
        return
    floor = version_floor(known_at)
    tombs = Tombs(connection)
    newest: dict[str, str] = dict(
        connection.execute(
            "select key, max(version) from memory where ns = ? and key is not null and past = 0 and version < ? group by key",
            (ns, floor),
        ).fetchall()
    )
    rows = connection.execute(
        f"select past, {COLUMNS} from memory where ns = ? and version < ? order by version, id", (ns, floor)
    ).fetchall()
    for past, *row in rows:
        seq, version, key = row[0], row[2], row[4]
        replaced = bool(past) or (
            key is not None and (version < newest.get(key, "") or version < tombs.slot(path, key))
        )
        row[3] = STATUSES.index(laws.status(_events(connection, seq, version, floor), key is not None, replaced).value)
        yield entry(tuple(row), path, known_at)
