"""The journal of a store that has a primary: what is written here is queued for there, in the transaction of the write itself.

It is kept from the moment that a store first got a primary, also by processes that open the file without naming one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import memgraph.operations as ops
from memgraph.backends.base import Scope
from memgraph.backends.local.tombs import Tombs
from memgraph.models import Selector
from memgraph.rules.selection import selector_test

__all__ = [
    "ALL",
    "UNPUSHED",
    "Item",
    "advance",
    "append",
    "append_each",
    "couple",
    "drop_dead",
    "drop_refused",
    "note",
    "own_all",
    "primary_of",
    "read_item",
    "refused",
    "rewrite",
    "set_cursor",
]

Item = ops.Operation | ops.Unknown | dict[str, Any]
ALL: Final = -1  # a cursor: nothing of the namespace was pulled yet
UNPUSHED: Final = -2  # a cursor: the namespace holds what was written before there was a primary


def couple(connection: sqlite3.Connection, primary: str) -> None:
    """Keep a journal from now on, and have what is there already pushed whole when the primary is met.

    primary: its address, for who opens the file alone.
    """
    connection.execute("insert or replace into meta values('primary', ?)", (primary,))
    newest = "coalesce((select value from meta where name = 'version'), '')"
    if connection.execute(f"insert or ignore into meta values('coupled', {newest})").rowcount:
        own_all(connection)


def own_all(connection: sqlite3.Connection) -> None:
    """Have everything pushed whole, of emptied namespaces what a purge left of them too."""
    connection.execute("update cursor set n = ?", (UNPUSHED,))
    connection.execute("insert or ignore into cursor select path, ? from namespace", (UNPUSHED,))


def primary_of(connection: sqlite3.Connection) -> str | None:
    """The address of the primary that this store had last, if it ever had one."""
    found = dict(connection.execute("select name, value from meta where name in ('primary', 'coupled')").fetchall())
    return str(found["primary"]) if found.keys() == {"primary", "coupled"} else None


def queued(connection: sqlite3.Connection) -> int:
    """How many operations wait for the primary."""
    found: int = connection.execute("select count(*) from outbox").fetchone()[0]
    return found


def note(connection: sqlite3.Connection, items: Sequence[Item]) -> None:
    """Queue what was written in this transaction, if the store has a primary."""
    if items and connection.execute("select 1 from meta where name = 'coupled'").fetchone() is not None:
        append(connection, items)


def holds_purge(connection: sqlite3.Connection, receipt: str) -> bool:
    """Whether a purge waits for the primary, or was refused by it: its operations, its tombstones, or what it selects."""
    row = connection.execute(
        "select 1 from outbox where json_extract(payload, '$.receipt') = ?1 union all"
        " select 1 from dead_letter where json_extract(payload, '$.receipt') = ?1 union all"
        " select 1 from meta where name >= 'purge:' || ?1 and name < 'purge:' || ?1 || '!' limit 1",
        (receipt,),
    )
    return row.fetchone() is not None


def append(connection: sqlite3.Connection, items: Sequence[Item]) -> None:
    """Queue operations as one unit. A purge takes what it kills out of the queue."""
    unit = connection.execute("select coalesce(max(seq), 0) + 1 from sqlite_sequence where name = 'outbox'").fetchone()[
        0
    ]
    connection.executemany(
        "insert into outbox(unit, namespace, version, a, b, payload) values(?, ?, ?, ?, ?, ?)",
        ((unit, *_row(item)) for item in items),
    )
    _take_out_dead(connection, items)


def append_each(connection: sqlite3.Connection, items: Sequence[Item]) -> None:
    """Queue operations as units of their own, so that one that is refused keeps no other back."""
    connection.executemany(
        "insert into outbox(unit, namespace, version, a, b, payload) values("
        "(select coalesce(max(seq), 0) + 1 from sqlite_sequence where name = 'outbox'), ?, ?, ?, ?, ?)",
        [_row(item) for item in items],
    )
    _take_out_dead(connection, items)


def _take_out_dead(connection: sqlite3.Connection, items: Sequence[Item]) -> None:
    purged = {item.namespace for item in items if isinstance(item, ops.Purge)}
    purged |= {item["namespace"] for item in items if isinstance(item, dict) and "namespace" in item}
    if purged:
        drop_dead(connection, purged)


def _row(item: Item) -> tuple[str, str, str | None, str | None, str]:
    if isinstance(item, dict):
        return item.get("namespace", ""), item.get("version", ""), None, None, json.dumps(item)
    if isinstance(item, ops.Unknown):
        payload = json.dumps(item.payload, ensure_ascii=False, sort_keys=True)
        return item.namespace, item.version, None, None, payload
    a, b = ops.names(item)
    nothing = {name for name, value in item.__dict__.items() if value is None}
    return item.namespace, item.version, a, b, item.model_dump_json(exclude=nothing)


def rewrite(connection: sqlite3.Connection, n: int, item: Item) -> None:
    """Put another operation in the place of a row of the queue."""
    connection.execute(
        "update outbox set namespace = ?, version = ?, a = ?, b = ?, payload = ? where n = ?", (*_row(item), n)
    )


def read_item(payload: str) -> Item:
    """What a row of the outbox holds."""
    found = json.loads(payload)
    return ops.parse(found) if "op" in found else found


def drop_dead(connection: sqlite3.Connection, namespaces: Iterable[str]) -> None:
    """Take what was purged out of the queue and out of the dead letters, which hold its content.

    The primary must learn that these ids are dead even where it never sees them: a purge of the id takes a memory's place.
    """
    tombs = Tombs(connection)
    for path in namespaces:
        for table in ("outbox", "dead_letter"):
            rows = connection.execute(
                f"select n, a, b, payload from {table} where namespace = ? and (a is not null or b is not null)",
                (path,),
            ).fetchall()
            for n, a, b, payload in rows:
                item = read_item(payload)
                dead = isinstance(item, ops.Remember) and tombs.dead(item)
                if dead and isinstance(item, ops.Remember) and table == "outbox":
                    names = {"op_id": item.op_id, "namespace": path, "version": item.version}
                    burial = _row(ops.Purge(**names, field="id", value=item.id))
                    connection.execute("update outbox set a = null, b = null, payload = ? where n = ?", (burial[-1], n))
                elif dead or any(tombs.buried(path, id) for id in (a, b) if id):
                    connection.execute(f"delete from {table} where n = ?", (n,))


def refused(connection: sqlite3.Connection, scope: Scope, selector: Selector, now: datetime) -> list[int]:
    """The rows of refused operations that a selector matches, or that are about such a memory: the store may hold it no more."""
    wanted = selector_test(selector, now)
    found: list[int] = []
    for (path,) in connection.execute("select distinct namespace from dead_letter").fetchall():
        if not scope.holds(path):
            continue
        rows = connection.execute("select n, a, b, payload from dead_letter where namespace = ?", (path,)).fetchall()
        items = {n: read_item(payload) for n, _, _, payload in rows}
        ids = {
            item.id for item in items.values() if isinstance(item, ops.Remember) and wanted(ops.entry_of(item, now, ()))
        }
        found += [n for n, a, b, _ in rows if a in ids or b in ids]
    return found


def drop_refused(connection: sqlite3.Connection, scope: Scope, selector: Selector, now: datetime) -> int:
    """Delete these; returns how many."""
    rows = [(n,) for n in refused(connection, scope, selector, now)]
    connection.executemany("delete from dead_letter where n = ?", rows)
    return len(rows)


def set_cursor(connection: sqlite3.Connection, namespace: str, number: int) -> None:
    """Note how far a namespace was pulled."""
    connection.execute("insert or replace into cursor values(?, ?)", (namespace, number))


def advance(connection: sqlite3.Connection, namespace: str, number: int) -> None:
    """Note how far a pull has come, unless the namespace is to be pushed whole: then the store was restored under the pull."""
    connection.execute(
        "insert into cursor values(?1, ?2) on conflict(namespace) do update set n = ?2 where n <> ?3",
        (namespace, number, UNPUSHED),
    )
