"""What the primary has not acknowledged yet, in the local store's own file: written in the transaction of the write itself."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import memgraph.operations as ops
from memgraph.backends.base import Scope
from memgraph.backends.local.apply import Applier
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, UNPUSHED, Item, append, append_each, read_item, set_cursor
from memgraph.backends.local.tombs import is_marked
from memgraph.checks import from_micros
from memgraph.clock import recorded_at
from memgraph.models import DeadLetter
from memgraph.storage.sqlite.database import Database

__all__ = ["Depth", "Outbox", "Unit", "note_time", "refuse", "refuse_what_names"]

_OF_EACH, _RECENT = 3, 2000  # memories of a writer that stand for all of them; among so many newest of all
_COLUMNS = "n, unit, namespace, version, a, b, payload"


@dataclass(frozen=True)
class Unit:
    """What one call wrote: it reaches the primary whole or not at all. last: the number of its last row."""

    number: int
    last: int
    items: tuple[Item, ...]

    @property
    def operations(self) -> list[ops.Operation | ops.Unknown]:
        """Its operations, without tombstones from elsewhere."""
        return [item for item in self.items if not isinstance(item, dict)]

    @property
    def tombstones(self) -> list[dict[str, Any]]:
        """Tombstones and secrets that came with an import."""
        return [item for item in self.items if isinstance(item, dict)]

    @property
    def version(self) -> str:
        """The greatest version in it."""
        return max((operation.version for operation in self.operations), default="")


def _is_there(connection: sqlite3.Connection, operation: ops.Remember) -> bool:
    """Whether this very write is what the store has under its id."""
    row = connection.execute(
        "select 1 from memory where ns = (select ns from namespace where path = ?) and id = ? and version = ?",
        (operation.namespace, operation.id, operation.version),
    )
    return row.fetchone() is not None


@dataclass(frozen=True)
class Depth:
    """How much waits, and when something last went to the primary and came from it."""

    queued: int
    oldest: datetime | None
    dead_letters: int
    cursors: int
    pushed_at: datetime | None
    pulled_at: datetime | None


def note_time(connection: sqlite3.Connection, name: str) -> None:
    """Note when something went to the primary ("pushed") or came from it ("pulled")."""
    connection.execute("insert or replace into meta values(?, ?)", (name, time.time_ns() // 1000))


def refuse(connection: sqlite3.Connection, unit: int, reason: str) -> None:
    """Set a unit aside with its reason."""
    connection.execute(
        f"insert into dead_letter select {_COLUMNS}, ?, ? from outbox where unit = ?",
        (reason, time.time_ns() // 1000, unit),
    )
    connection.execute("delete from outbox where unit = ?", (unit,))


def refuse_what_names(connection: sqlite3.Connection, namespace: str, ids: Sequence[str], reason: str) -> None:
    """Set aside what waits about memories that were refused: on the primary their ids name others, which it does not mean."""
    named = "namespace = ?1 and (a in (select value from json_each(?2)) or b in (select value from json_each(?2)))"
    connection.execute(
        f"insert into dead_letter select {_COLUMNS}, ?3, ?4 from outbox where {named}",
        (namespace, json.dumps(ids), reason, time.time_ns() // 1000),
    )
    connection.execute(f"delete from outbox where {named}", (namespace, json.dumps(ids)))


class Outbox:
    """The queue, the dead letters and the cursors of one store."""

    def __init__(self, local: LocalBackend) -> None:
        self._local = local

    @property
    def _database(self) -> Database:
        return self._local.database

    def newest(self, scope: Scope | None = None) -> int:
        """The number of the last row that waits, in a scope or at all; 0 if none does."""
        where, values = _inside(scope)
        with self._database.read(snapshot=False) as connection:
            found = connection.execute(f"select max(n) from outbox where {where}", values).fetchone()[0]
        return found or 0

    def waits(self, number: int, scope: Scope | None = None) -> bool:
        """Whether anything up to a number still waits, in a scope or at all."""
        where, values = _inside(scope)
        with self._database.read(snapshot=False) as connection:
            row = connection.execute(f"select 1 from outbox where ({where}) and n <= ? limit 1", [*values, number])
            return row.fetchone() is not None

    def set_aside(self, scope: Scope) -> bool:
        """Whether there are dead letters of a scope."""
        where, values = _inside(scope)
        with self._database.read(snapshot=False) as connection:
            row = connection.execute(f"select 1 from dead_letter where {where} limit 1", values)
            return row.fetchone() is not None

    def refused(self, namespace: str, versions: Sequence[str]) -> str | None:
        """Why one of these versions was refused for good, if one was."""
        with self._database.read(snapshot=False) as connection:
            row = connection.execute(
                "select reason from dead_letter where namespace = ? and version in (select value from json_each(?)) limit 1",
                (namespace, json.dumps(versions)),
            ).fetchone()
        return row[0] if row else None

    def was_refused(self, namespace: str, id: str) -> bool:
        """Whether this store's memory of that id was refused, or what purged it before it was sent."""
        with self._database.read(snapshot=False) as connection:
            row = connection.execute(
                "select 1 from dead_letter where namespace = ?1 and (a = ?2 or"
                " json_extract(payload, '$.op') = 'purge' and json_extract(payload, '$.value') = ?2) limit 1",
                (namespace, id),
            )
            return row.fetchone() is not None

    def units(self, rows: int) -> list[Unit]:
        """The oldest units, of about so many rows: at least one, and never a part of one."""
        with self._database.read(snapshot=False) as connection:
            found = connection.execute(
                f"select {_COLUMNS} from outbox where unit <= (select max(unit) from (select unit from outbox order by n limit ?))"
                " order by n",
                (rows,),
            ).fetchall()
        grouped: dict[int, list[tuple[Any, ...]]] = {}
        for row in found:
            grouped.setdefault(row[1], []).append(row)
        return [
            Unit(number, mine[-1][0], tuple(read_item(row[-1]) for row in mine)) for number, mine in grouped.items()
        ]

    def done(self, units: Sequence[Unit], feeds: dict[str, int]) -> None:
        """The primary has these. Cursors that stood right before a feed's number move along: there was nothing else to pull."""
        numbers = [(unit.number,) for unit in units]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany("delete from outbox where unit = ?", numbers)
            note_time(connection, "pushed")
            connection.executemany(
                "update cursor set n = ? where namespace = ? and n = ?",
                [(number, path, number - 1) for path, number in feeds.items()],
            )

        self._database.write(work)

    def dead_letters(self) -> list[DeadLetter]:
        """What was set aside."""
        with self._database.read(snapshot=False) as connection:
            rows = connection.execute(
                "select unit, namespace, version, payload, reason, at from dead_letter order by n"
            ).fetchall()
        return [
            DeadLetter(
                unit=unit,
                namespace=path,
                op=(found := json.loads(payload)).get("op", "tombstone"),
                version=version,
                reason=reason,
                at=from_micros(at),
                payload=found,
            )
            for unit, path, version, payload, reason, at in rows
        ]

    def retry(self, units: Sequence[int] | None = None) -> int:
        """Queue what was set aside again, all or these units; returns how many rows."""
        which, values = _of_units(units)

        def work(connection: sqlite3.Connection) -> int:
            rows = connection.execute(f"select {_COLUMNS} from dead_letter where {which} order by n", values).fetchall()
            connection.execute(f"delete from dead_letter where {which}", values)
            units: dict[int, list[Item]] = {}
            for row in rows:
                units.setdefault(row[1], []).append(read_item(row[-1]))
            for items in units.values():
                append(connection, items)
            return len(rows)

        return self._database.write(work)

    def drop(self, units: Sequence[int] | None = None) -> int:
        """Delete what was set aside, all or these units, so that no byte of it stays; returns how many rows.

        The memories that were written so, and that the primary never had, go with it.
        """
        which, values = _of_units(units)

        def work(connection: sqlite3.Connection) -> int:
            rows = connection.execute(f"select payload from dead_letter where {which}", values).fetchall()
            applier = Applier(connection)
            for item in (read_item(payload) for (payload,) in rows):
                if isinstance(item, ops.Remember) and _is_there(connection, item):
                    applier.withdraw(item.namespace, item.id)
            applier.finish()
            return connection.execute(f"delete from dead_letter where {which}", values).rowcount

        return self._local.erase(work)

    def depth(self) -> Depth:
        """How much waits."""
        with self._database.read() as connection:
            queued, oldest = connection.execute("select count(*), min(nullif(version, '')) from outbox").fetchone()
            dead = connection.execute("select count(*) from dead_letter").fetchone()[0]
            cursors = connection.execute("select count(*) from cursor").fetchone()[0]
            times = dict(
                connection.execute("select name, value from meta where name in ('pushed', 'pulled')").fetchall()
            )
        pushed, pulled = (from_micros(times[name]) if name in times else None for name in ("pushed", "pulled"))
        return Depth(queued, recorded_at(oldest) if oldest else None, dead, cursors, pushed, pulled)

    def secrets(self) -> list[dict[str, str]]:
        """The secrets of tombstones that this store knows."""
        with self._database.read(snapshot=False) as connection:
            rows = connection.execute("select name, value from secret").fetchall()
        return [{"secret": name, "value": value.hex()} for name, value in rows]

    def sendable(self, items: Iterable[Item]) -> Iterator[Item]:
        """These without what the primary refused for good, and what was purged so: that does not come to it in another way."""
        with self._database.read(snapshot=False) as connection:
            rows = connection.execute("select version, json_extract(payload, '$.receipt') from dead_letter").fetchall()
        versions = {version for version, _ in rows if version}
        receipts = {receipt for _, receipt in rows if receipt}
        for item in items:
            if isinstance(item, dict):
                refused = item.get("version") in versions or item.get("receipt") in receipts
            else:
                refused = item.version in versions
            if not refused:
                yield item

    def acknowledged(self, namespace: str, most: int) -> list[str]:
        """Of each writer the newest memories of a namespace that the primary has taken or given, at most so many in all.

        Who lacks one that a writer wrote lacks those after it too, but what was sent since: so the newest few tell of all.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "select id from (select id, version,"
                " row_number() over (partition by substr(version, -8) order by version desc) as place from"
                " (select id, version from memory where ns = (select ns from namespace where path = ?1) and version is not null"
                " and version < coalesce((select min(version) from outbox where namespace = ?1 and version <> ''), 'x')"
                " and id not in (select a from dead_letter where namespace = ?1 and a is not null)"
                " order by version desc limit ?4)) where place <= ?2 order by version desc limit ?3",
                (namespace, _OF_EACH, most, _RECENT),
            ).fetchall()
        return [id for (id,) in rows]

    def newest_spaces(self, most: int) -> list[str]:
        """The namespaces with the newest memories, at most so many."""
        with self._database.read(snapshot=False) as connection:
            rows = connection.execute(
                "select path from namespace join (select ns, max(version) as newest from memory where version is not null"
                " group by ns) using(ns) order by newest desc limit ?",
                (most,),
            ).fetchall()
        return [path for (path,) in rows]

    def cursor(self, namespace: str) -> int:
        """How far a namespace was pulled; UNPUSHED if it holds what no primary was told of, though it be what a purge left."""
        with self._database.read() as connection:
            row = connection.execute("select n from cursor where namespace = ?", (namespace,)).fetchone()
            if row is not None:
                return int(row[0])
            coupled = connection.execute("select value from meta where name = 'coupled'").fetchone()  # at which version
            there = connection.execute("select 1 from namespace where path = ?", (namespace,)).fetchone()
            unsent = coupled is None and there is not None
            return UNPUSHED if unsent or is_marked(connection, namespace, coupled[0] if coupled else "~") else ALL

    def is_unsent(self, namespace: str) -> bool:
        """Whether a namespace holds what was written before there was this primary, and was not queued for it yet."""
        return self.cursor(namespace) == UNPUSHED

    def cursors(self) -> dict[str, int]:
        """How far each namespace was pulled."""
        with self._database.read(snapshot=False) as connection:
            return dict(connection.execute("select namespace, n from cursor").fetchall())

    def put_selector(self, name: str, sealed: bytes) -> None:
        """Keep what a purge selects until the primary is back; encrypted by the caller."""
        self._database.write(
            lambda connection: connection.execute("insert or replace into meta values(?, ?)", (f"purge:{name}", sealed))
        )

    def selectors(self) -> list[tuple[str, bytes]]:
        """What waits so, by name."""
        with self._database.read(snapshot=False) as connection:
            rows = connection.execute(
                "select name, value from meta where name >= 'purge:' and name < 'purge;'"
            ).fetchall()
        return [(name.removeprefix("purge:"), bytes(sealed)) for name, sealed in rows]

    def drop_selector(self, name: str) -> None:
        """It was carried out."""
        self._database.write(
            lambda connection: connection.execute("delete from meta where name = ?", (f"purge:{name}",))
        )

    def enqueue_all(self, namespace: str, items: Iterable[Item], page: int = 1000) -> None:
        """Queue everything of a namespace, each operation by itself, and have it pulled from the beginning."""
        part: list[Item] = []

        def put(full: list[Item], last: bool) -> None:
            def work(connection: sqlite3.Connection) -> None:
                append_each(connection, full)
                if last:
                    set_cursor(connection, namespace, ALL)

            self._database.write(work)

        for item in items:
            part.append(item)
            if len(part) == page:
                put(part, last=False)
                part = []
        put(part, last=True)


def _of_units(units: Sequence[int] | None) -> tuple[str, list[str]]:
    return ("true", []) if units is None else ("unit in (select value from json_each(?))", [json.dumps(list(units))])


def _inside(scope: Scope | None) -> tuple[str, list[str]]:
    if scope is None:
        return "true", []
    if not scope.subtree:
        return "namespace = ?", [scope.namespace]
    path = scope.namespace
    return "namespace = ? or namespace >= ? and namespace < ?", [path, path + "/", path + "0"]  # "0" follows "/"
