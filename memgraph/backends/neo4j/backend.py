"""The Neo4j backend: the protocol over Bolt, by the statements in `cypher/`."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memgraph.backends.base import Changes, Draft, Facts, Pushed, Query, Scope
from memgraph.backends.neo4j import connect, dump, lines, purge, reads, replicas
from memgraph.backends.neo4j.rows import StoreClock, sound
from memgraph.backends.neo4j.writer import Writer
from memgraph.backends.neo4j.writes import add
from memgraph.clock import millis, new_id, new_writer
from memgraph.models import (
    ChangeSet,
    CheckReport,
    Edge,
    Entry,
    Filters,
    Lineage,
    Neighbourhood,
    Page,
    PurgePlan,
    PurgeReceipt,
    SearchResult,
    Selector,
    Stats,
    StoreStatus,
)
from memgraph.operations import Operation, Purge, Unknown
from memgraph.rules.reached import on_a_server
from memgraph.rules.selection import Purges, purged_spaces, purges, same_set
from memgraph.storage.bolt import Bolt, Runner

if TYPE_CHECKING:
    import networkx as nx

    from memgraph.backends.neo4j.search import SearchIndex

__all__ = ["Neo4jBackend"]

_PATIENCE: Final = 10.0  # seconds that an administrator waits for a busy server to react


class Neo4jBackend:
    """Memories in a Neo4j database. Safe for threads and forks.

    uri, auth, database, timeout, read_limit, retry_time (seconds), pool: as for Bolt. max_clock_drift: seconds.
    clock: Unix seconds. connect: connect now, instead of at the first call. create: set the schema up where there is none; else
    every call but `set_up` and `check` is NotFoundError there.
    """

    name = "neo4j"

    def __init__(
        self,
        uri: str,
        *,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        timeout: float = 0.8,
        read_limit: float | None = None,
        retry_time: float = 30.0,
        pool: int = 8,
        max_clock_drift: float = 300.0,
        clock: Callable[[], float] = time.time,
        connect: bool = True,
        create: bool = True,
    ) -> None:
        self.bolt = Bolt(uri, auth, database, timeout=timeout, read_limit=read_limit, retry_time=retry_time, pool=pool)
        self.bolt.on_fork(self._after_fork)
        self._patient = partial(
            Bolt, uri, auth, database, timeout=max(timeout, _PATIENCE), retry_time=retry_time, pool=2
        )
        self._writer = Writer(self._ready, StoreClock(wall=clock, max_drift=max_clock_drift), self._unprepared)
        self._preparing = threading.Lock()
        self._prepared = False
        self._create, self._max_clock_drift = create, max_clock_drift
        self._index: SearchIndex | None = None
        if connect:
            try:
                if create:
                    self._ready()
                else:
                    self.bolt.connect()
            except BaseException:
                self.bolt.close()
                raise

    def __repr__(self) -> str:
        return f"<Neo4jBackend {self.bolt.where}>"

    def _after_fork(self) -> None:
        self._writer.clock.writer = new_writer()
        self._writer.after_fork()
        self._preparing = threading.Lock()

    def _ready(self) -> Bolt:
        """The connection, to a database that is a store."""
        self.bolt.connect()
        if not self._prepared:
            with self._preparing:
                if not self._prepared:
                    connect.prepare(self.bolt, self._create)
                    self._prepared = True
        return self.bolt

    def _unprepared(self) -> None:
        """The database is no store any more: the next call looks anew."""
        self._prepared = False

    # ---- writing

    def write(self, drafts: Sequence[Draft]) -> builtins.list[Entry | str]:
        """Stamp and apply drafts in order, all or none."""
        self._ready()
        return self._writer.write(drafts) if drafts else []

    def apply(self, operations: Iterable[Operation | Unknown]) -> int:
        """Apply stamped operations. Purges are carried out after the others, each in transactions of its own."""
        bolt, todo = self._ready(), builtins.list(operations)
        purges = [operation for operation in todo if isinstance(operation, Purge)]
        others = [operation for operation in todo if not isinstance(operation, Purge)]
        changed = bolt.transaction(lambda tx: self._writer.put_all(tx, others)) if others else 0
        for operation in purges:
            counts = purge.apply(bolt, self._writer.secrets, operation)
            changed += any(counts.values())
        return changed

    # ---- what replicas need

    @property
    def where(self) -> str:
        """The address, without credentials."""
        return self.bolt.where

    def forget(self) -> None:
        """Wait no longer for what was seen of the server: it may have been restored from an older copy."""
        self.bolt.forget()

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Have all that this thread reads meanwhile take no longer than this."""
        return self.bolt.within(seconds)

    def ping(self) -> float:
        """Reach the server; returns its clock, Unix seconds."""
        milliseconds: int = self._ready().run("read/clock")[0]["clock"]
        return milliseconds / 1000

    def push(self, operations: Sequence[Operation | Unknown]) -> Pushed:
        """Apply operations, all or none, or ConflictError; purges after the others, each in transactions of its own."""
        bolt = self._ready()
        purges = [operation for operation in operations if isinstance(operation, Purge)]
        others = [operation for operation in operations if not isinstance(operation, Purge)]
        found = Pushed({}, {})
        if others:
            now = self._writer.now()
            found = bolt.transaction(lambda tx: replicas.push(tx, self._writer.secrets(tx), others, now))
        for operation in purges:
            purge.apply(bolt, self._writer.secrets, operation)
            found.feeds.pop(operation.namespace, None)
        return found

    def secrets(self) -> builtins.list[dict[str, Any]]:
        """The secrets that tombstones are made with; the first makes new ones."""
        rows = self._ready().run("write/secrets")
        if not rows:  # everything was deleted meanwhile
            self._unprepared()
            rows = self._ready().run("write/secrets")
        return [{"secret": row["name"], "value": row["value"]} for row in rows]

    def feeds(self, namespaces: Sequence[str]) -> dict[str, int]:
        """The number of each namespace's feed."""
        rows = self._ready().run("read/feeds", spaces=builtins.list(namespaces))
        return {row["namespace"]: row["n"] for row in rows}

    def changes(self, namespace: str, after: tuple[int, str], until: int | None = None) -> Changes:
        """A page of what was touched after a place in the feed."""
        return replicas.changes(self._ready(), namespace, after, until)

    def facts(self, namespace: str) -> Iterator[Facts]:
        """What is known of each memory, by id, without content."""
        return replicas.facts(self._ready(), namespace)

    def bury(self, tombstones: Iterable[dict[str, Any]]) -> int:
        """Take in tombstones and secrets, and remove what they say is dead."""
        bolt, todo = self._ready(), builtins.list(tombstones)
        changed, spaces = bolt.transaction(lambda tx: purge.take_in(tx, todo))
        if changed:
            purge.sweep(bolt, self._writer.secrets, spaces)
        return changed

    # ---- reading

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """The memories with these ids."""
        return reads.by_ids(self._ready(), namespace, ids, now)

    def current(
        self,
        namespace: str,
        key: str,
        now: datetime,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Entry | None:
        """A key's current memory, or as known, or as true, at an instant."""
        return reads.current(self._ready(), namespace, key, now, known_at, valid_at)

    def list(self, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
        """A page of matching memories, newest first."""
        return reads.page(self._ready(), scope, filters, now, limit, after)

    def count(self, scope: Scope, filters: Filters, now: datetime) -> int:
        """How many memories match."""
        return reads.count(self._ready(), scope, filters, now)

    def search(self, scope: Scope, query: Query) -> SearchResult:
        """The best hits, best first."""
        if self._index is None:
            from memgraph.backends.neo4j.search import SearchIndex

            self._index = SearchIndex()
        return SearchResult(tuple(self._index.search(self._ready(), scope, query)))

    def lineage(self, namespace: str, key_or_id: str, now: datetime) -> Lineage | None:
        """The line of a key, or what is linked to an id."""
        return lines.lineage(self._ready(), namespace, key_or_id, now)

    def neighbours(self, namespace: str, id: str, depth: int, now: datetime) -> Neighbourhood | None:
        """What lies around a memory."""
        return lines.neighbours(self._ready(), namespace, id, depth, now)

    def graph(self, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
        """A frozen copy of the graph of a scope."""
        return lines.graph(self._ready(), scope, now)

    def relations(self, namespace: str, ids: Sequence[str]) -> builtins.list[Edge]:
        """The relations that begin or end at one of these ids."""
        return lines.relations(self._ready(), namespace, ids)

    def namespaces(self, prefix: str | None) -> builtins.list[str]:
        """The namespaces that hold memories."""
        return reads.namespaces(self._ready(), prefix)

    def snapshot(self, namespace: str, known_at: datetime) -> Iterator[Entry]:
        """Every memory recorded by an instant."""
        return reads.snapshot(self._ready(), namespace, known_at)

    def changeset(self, namespace: str, id: str) -> ChangeSet | None:
        """A change-set."""
        return lines.changeset(self._ready(), namespace, id)

    def operations(self, scope: Scope) -> Iterator[Operation | Unknown | dict[str, Any]]:
        """Everything, as operations by version."""
        return dump.operations(self._ready(), scope)

    def select(self, scope: Scope, selector: Selector, now: datetime) -> Iterator[Entry]:
        """Every memory that a selector matches."""
        return lines.select(self._ready(), scope, selector, now)

    # ---- purging

    def plan_purge(self, scope: Scope, selector: Selector, now: datetime) -> PurgePlan:
        """What a purge would remove."""
        return purge.plan(self._ready(), scope, selector, now, self.bolt.where)

    def purge(self, plan: PurgePlan, now: datetime) -> PurgeReceipt:
        """Remove for good what a plan names."""
        bolt, scope = self._ready(), Scope(plan.namespace, plan.subtree)
        spaces = purged_spaces(plan, reads.namespaces(bolt, plan.namespace) if plan.subtree else ())
        feeds = {path: bolt.run("write/newest", namespace=path)[0] for path in spaces}
        for feed in feeds.values():
            self._writer.compare(feed["clock"])
            self._writer.observe(feed["version"])
        same_set(purge.plan(bolt, scope, plan.selector, plan.at, self.bolt.where), plan)
        receipt, version = new_id(), self._writer.tick()
        operations = {path: self._purges(bolt, plan, path, version, receipt) for path in spaces}

        def begin(tx: Runner) -> dict[str, int]:
            secrets, made, moved = self._writer.secrets(tx), dict[str, int](), False
            for path in sorted(operations):
                if operations[path]:
                    new, number = purge.first(tx, secrets, operations[path], version)
                    add(made, new)
                    moved = moved or number != feeds[path]["n"] + 1
            if moved:  # somebody wrote there since; nobody can now, as this holds the feeds
                same_set(purge.plan(tx, scope, plan.selector, plan.at, self.bolt.where), plan)
            return made

        counts = bolt.transaction(begin)
        for path in spaces:
            add(counts, purge.pages(bolt, self._writer.secrets, operations[path]))
        return PurgeReceipt(
            id=receipt,
            at=now,
            version=version,
            store=self.bolt.where,
            namespaces=tuple(plan.ids) or (plan.namespace,),
            selector_digest=plan.selector_digest,
            plan_digest=plan.digest,
            removed=purge.removed(counts),
            scrubbed=False,
            tombstones=counts.get("new", 0),
            not_reached=on_a_server(plan.selector),
            unknown_ids=len(set(plan.selector.ids) - {id for ids in plan.ids.values() for id in ids}),
        )

    def _purges(self, runner: Runner, plan: PurgePlan, path: str, version: str, receipt: str) -> Purges:
        ids, operations = plan.ids.get(path, ()), Purges(version, receipt)
        operations.add(path, purges(plan.selector, path, ids), purge.heads_of(runner, path, ids))
        return operations

    # ---- administration

    def set_up(self) -> tuple[str, ...]:
        """Make what is missing of the schema."""
        with self._administered() as bolt:
            return tuple(connect.set_up(bolt))

    def check(self, repair: bool = False, reindex: bool = False) -> CheckReport:
        """Look for broken laws in the graph, and at the server and its indexes."""
        from memgraph.backends.neo4j import check

        with self._administered() as bolt:
            return check.check(bolt, repair, reindex, self._max_clock_drift)

    @contextmanager
    def _administered(self) -> Iterator[Bolt]:
        """A connection for work that keeps a server busy: that is no reason to take it for dead. A dead one is told at once."""
        self.bolt.connect()
        bolt = self._patient()
        try:
            yield bolt
        finally:
            bolt.close()

    def stats(self, namespace: str, now: datetime) -> Stats:
        """How much there is."""
        return reads.stats(self._ready(), namespace, now)

    def status(self, namespace: str) -> StoreStatus:
        """Which store this is and how it is doing."""
        newest = self._ready().run("write/newest", namespace=namespace)[0]["version"]
        ahead = millis(sound(newest)) - int(self._writer.clock.wall() * 1000) if newest else 0
        return StoreStatus(
            store=self.bolt.where,
            backend=self.name,
            namespace=namespace,
            read_only=False,
            schema_version=connect.SCHEMA_VERSION,
            clock_ahead_ms=max(0, ahead),
        )

    def close(self) -> None:
        """Give the connections up."""
        self.bolt.close()
