"""The local backend: the protocol over one SQLite file, with the live graph and the text index beside it."""

from __future__ import annotations

import builtins
import functools
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memgraph.backends.base import ActOf, Draft, Facts, Query, Scope
from memgraph.backends.local import apply, dump, journal, lines, reads, report, tombs, writer
from memgraph.checks import from_micros
from memgraph.clock import Clock, millis, new_writer, version_floor
from memgraph.errors import MemgraphError
from memgraph.models import (
    BackupReport,
    ChangeSet,
    CheckReport,
    Edge,
    Entry,
    Filters,
    Hit,
    Lineage,
    Neighbourhood,
    Page,
    PurgePlan,
    PurgeReceipt,
    RestoreReport,
    SearchResult,
    Selector,
    Stats,
    StoreStatus,
)
from memgraph.operations import Operation, Unknown
from memgraph.rules.reached import COPIES, NAMES_WAIT, QUEUED, beside_a_primary, on_a_server
from memgraph.rules.selection import same_set
from memgraph.storage.sqlite.database import Database
from memgraph.storage.sqlite.schema import SCHEMA_VERSION
from memgraph.threads import is_alone

if TYPE_CHECKING:
    import networkx as nx

    from memgraph.backends.local.graph import LiveGraph
    from memgraph.backends.local.search import SearchIndex

__all__ = ["LocalBackend"]

Journal = Callable[[sqlite3.Connection, Sequence[journal.Item]], None]
"""Takes note of what is written, in the same transaction."""

_log = logging.getLogger("memgraph")
_PATIENT: Final = 1.0  # seconds that who deletes for good waits for a reader of what was there
SEAL_CHECK_EVERY = 64  # after so many writes, see whether documents wait to be sealed


class LocalBackend:
    """Memories in one file, or in this process's memory when `path` is None. Safe for threads, processes and forks.

    durability, lock_timeout (seconds), read_only: as for Database. max_clock_drift: seconds. clock: Unix seconds.
    preload: load the graph in the background now instead of at the first call that needs it.
    """

    name = "local"

    def __init__(
        self,
        path: Path | None,
        *,
        durability: str = "full",
        lock_timeout: float = 10.0,
        read_only: bool = False,
        max_clock_drift: float = 300.0,
        clock: Callable[[], float] = time.time,
        preload: bool = False,
    ) -> None:
        self._open = functools.partial(
            Database, path, durability=durability, lock_timeout=lock_timeout, read_only=read_only
        )
        self.database = self._open()
        self._clock = Clock(wall=clock, max_drift=max_clock_drift)
        self._seen = ""
        self._graph: LiveGraph | None = None
        self._index: SearchIndex | None = None
        self._making = threading.Lock()
        self._scrub_pending = False
        self._unchecked = SEAL_CHECK_EVERY
        self._preloading: threading.Thread | None = None
        self.database.on_fork(self.finish_loading, self._after_fork)
        if not self.database.read_only:
            self._recover()
        if preload:
            self._preloading = threading.Thread(target=self._preload, name="memgraph-graph", daemon=True)
            self._preloading.start()

    @property
    def is_ahead(self) -> Callable[[float], None]:
        """Takes note of how many seconds this machine's clock is ahead of a primary's: so much counts as drift."""
        return self._clock.is_ahead

    def saw(self, version: str) -> None:
        """A primary showed this version: what is written here from now on is newer, or refused if that is too far ahead."""
        self._seen = max(self._seen, version)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Move the clock past every version that the file holds or that was seen. Raises ClockDriftError."""
        newest = max(apply.newest_version(connection) or "", self._seen)
        if newest:
            self._clock.observe(newest)

    @property
    def wall(self) -> Callable[[], float]:
        """This machine's clock: Unix seconds."""
        return self._clock.wall

    @property
    def max_clock_drift(self) -> float:
        """Seconds that versions may run ahead of this machine's clock."""
        return self._clock.max_drift

    def finish_loading(self) -> None:
        """Let the thread that loads the graph finish: what it has half imported could not be imported in a forked child."""
        if self._preloading is not None and not is_alone():
            self._preloading.join(timeout=10)
            self._preloading = None

    def _after_fork(self) -> None:
        self._clock.writer = new_writer()
        self._making = threading.Lock()
        self._graph = self._index = None

    def _recover(self) -> None:
        """Finish what a crash interrupted: an unscrubbed purge, an index made by another tokenizer."""
        from memgraph.backends.local import index

        with self.database.read() as connection:
            pending = _waits_for_scrub(connection)
            stale = index.is_stale(connection)
        if pending:
            self._scrub_pending = True
            self._scrub(0.0)
        if stale:
            self.database.write(index.rebuild)

    def _preload(self) -> None:
        from memgraph.storage.sqlite import repair

        try:
            if self.database.unclean:
                with self.database.read() as connection:
                    found = repair.damage(connection, quick=True)
                if found:
                    self.database.injure(found[0])
            with self._live():
                pass
        except MemgraphError as error:
            _log.debug("the graph could not be loaded ahead: %s", type(error).__name__)

    def reopen(self) -> None:
        """Open the file anew, after it was replaced."""
        self.database = self._open()
        self.database.on_fork(self.finish_loading, self._after_fork)
        self._graph = self._index = None

    def graph_differences(self) -> int:
        """How far the live graph is from what the tables say; 0 is right."""
        with self._live() as (connection, graph):
            return graph.differences(connection)

    # ---- the structures beside the file

    @contextmanager
    def _live(self) -> Iterator[tuple[sqlite3.Connection, LiveGraph]]:
        """A snapshot, and the graph at the same instant. Writers never wait for this; other graph readers do."""
        if self._graph is None:
            from memgraph.backends.local.graph import LiveGraph

            with self._making:
                self._graph = self._graph or LiveGraph()
        graph = self._graph
        with graph.lock, self.database.read() as connection:
            graph.catch_up(connection)
            yield connection, graph

    def _search_index(self) -> SearchIndex:
        if self._index is None:
            from memgraph.backends.local.search import SearchIndex

            with self._making:
                self._index = self._index or SearchIndex()
        return self._index

    # ---- writing

    def write(self, drafts: Sequence[Draft]) -> builtins.list[Entry | str]:
        """Stamp and apply drafts in order, all or none."""

        def work(connection: sqlite3.Connection) -> builtins.list[Entry | str]:
            self._catch_up(connection)
            return writer.write(connection, drafts, self._clock)

        results = self.database.write(work)
        self._unchecked += len(drafts)
        self._tidy()
        return results

    def apply(self, operations: Iterable[Operation | Unknown]) -> int:
        """Apply stamped operations, all or none."""
        return self._take_in(builtins.list(operations), [], journal.note)[0]

    def bury(self, tombstones: Iterable[dict[str, Any]]) -> int:
        """Take in tombstones and secrets."""
        return self._take_in([], builtins.list(tombstones), journal.note)[1]

    def receive(
        self, operations: Sequence[Operation | Unknown], tombstones: Sequence[dict[str, Any]], then: Journal
    ) -> int:
        """What a primary has: applied and buried in one transaction with `then`. Returns how much of it was news."""
        return sum(self._take_in(operations, tombstones, then))

    def _take_in(
        self, operations: Sequence[Operation | Unknown], tombstones: Sequence[dict[str, Any]], then: Journal
    ) -> tuple[int, int]:
        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            buried = tombs.take_in(connection, tombstones)
            applier = apply.Applier(connection)
            if buried:
                applier.sweep()
                connection.execute("insert or replace into meta values('scrub', 1)")
            changed = sum(applier.apply(operation) for operation in operations)
            applier.finish()
            then(connection, [*tombstones, *operations])
            return changed, buried

        changed, buried = self.database.write(work)
        self._scrub_pending = self._scrub_pending or buried > 0
        self._unchecked += len(operations)
        self._tidy(_PATIENT)
        return changed, buried

    def couple(self, primary: str) -> None:
        """From now on keep a journal of what a primary is to be told. primary: its address, without credentials."""
        with self.database.read(snapshot=False) as connection:
            if journal.primary_of(connection) == primary:
                return
        self.database.write(lambda connection: journal.couple(connection, primary))

    def meet(self, secrets: Sequence[dict[str, Any]]) -> None:
        """Take a primary's secrets: its first, which makes tombstones from now on, says which primary it is.

        To another one than before, everything is to be pushed.
        """
        with self.database.read(snapshot=False) as connection:
            known = tombs.adopted(connection)
        if known == secrets[0]["secret"]:
            return

        def work(connection: sqlite3.Connection) -> None:
            tombs.adopt(connection, secrets)
            if known is not None:
                journal.own_all(connection)

        self.database.write(work)

    def withdraw(self, namespace: str, ids: Sequence[str], then: Journal) -> None:
        """Remove memories without burying them, because their ids name others on the primary, in one transaction with `then`."""

        def work(connection: sqlite3.Connection) -> None:
            applier = apply.Applier(connection)
            for id in ids:
                applier.withdraw(namespace, id)
            applier.finish()
            then(connection, [])

        self.database.write(work)

    def erase(self, work: Callable[[sqlite3.Connection], int]) -> int:
        """Delete rows so that no byte of them stays in the file or its log; returns how many `work` deleted."""

        def thoroughly(connection: sqlite3.Connection) -> int:
            gone = work(connection)
            if gone:
                connection.execute("insert or replace into meta values('scrub', 1)")
            return gone

        gone = self.database.write(thoroughly)
        self._scrub_pending = self._scrub_pending or gone > 0
        self._tidy(_PATIENT)
        return gone

    def _tidy(self, patience: float = 0.0) -> None:
        """After a commit: move documents into the index in short steps, and finish a scrub that had to wait.

        What cannot be done now is done later: it must not pass for a failure of the write that was committed.
        patience: seconds that a scrub waits for who is in the way.
        """
        try:
            if self._unchecked >= SEAL_CHECK_EVERY:
                self._unchecked = 0
                self._seal()
            if self._scrub_pending:
                self._scrub(patience)
        except MemgraphError as error:
            _log.warning("tidying up %s was put off: %s", self.database.where, type(error).__name__)

    def _seal(self) -> None:
        from memgraph.backends.local import index

        sealed = 0
        while done := self.database.write(index.seal):
            sealed += done
        if sealed:
            self.database.write(apply.trim)

    # ---- reading

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """The memories with these ids."""
        with self.database.read(snapshot=len(ids) > 1) as connection:
            return reads.by_ids(connection, namespace, ids, now)

    def current(
        self,
        namespace: str,
        key: str,
        now: datetime,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Entry | None:
        """A key's current memory, or as known, or as true, at an instant."""
        with self.database.read(snapshot=known_at is not None or valid_at is not None) as connection:
            return reads.current(connection, namespace, key, now, known_at, valid_at)

    def list(self, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
        """A page of matching memories, newest first."""
        with self.database.read() as connection:
            return reads.page(connection, scope, filters, now, limit, after)

    def count(self, scope: Scope, filters: Filters, now: datetime) -> int:
        """How many memories match."""
        with self.database.read() as connection:
            return reads.count(connection, scope, filters, now)

    def search(self, scope: Scope, query: Query) -> SearchResult:
        """The best hits, best first."""
        index = self._search_index()
        with self.database.read() as connection:
            spaces = reads.namespaces(connection, scope)
            paths = dict(spaces)
            visible: Callable[[int, int], bool] | None = None
            if query.known_at is not None or query.valid_at is not None:

                def visible(ns: int, seq: int) -> bool:
                    return reads.visible_at(connection, paths[ns], seq, query.now, query.known_at, query.valid_at)

            found = index.search(connection, spaces, query, visible)
            entries = reads.by_seqs(connection, [seq for seq, _, _ in found], query.now)
        return SearchResult(tuple(Hit(entries[seq], score, why) for seq, score, why in found if seq in entries))

    def lineage(self, namespace: str, key_or_id: str, now: datetime) -> Lineage | None:
        """The line of a key, or what is linked to an id."""
        with self._live() as (connection, graph):
            return lines.lineage(connection, graph, namespace, key_or_id, now)

    def neighbours(self, namespace: str, id: str, depth: int, now: datetime) -> Neighbourhood | None:
        """What lies around a memory."""
        with self._live() as (connection, graph):
            return lines.neighbours(connection, graph, namespace, id, depth, now)

    def graph(self, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
        """A frozen copy of the graph of a scope."""
        with self._live() as (connection, graph):
            return lines.copy(connection, graph, scope, now)

    def relations(self, namespace: str, ids: Sequence[str]) -> builtins.list[Edge]:
        """The relations that begin or end at one of these ids."""
        with self.database.read() as connection:
            return lines.relations(connection, namespace, ids)

    def namespaces(self, prefix: str | None) -> builtins.list[str]:
        """The namespaces that hold memories."""
        with self.database.read() as connection:
            rows = connection.execute(
                "select path from namespace where exists (select 1 from memory where memory.ns = namespace.ns"
                " and version is not null) order by path"
            ).fetchall()
        scope = None if prefix is None else Scope(prefix, subtree=True)
        return [path for (path,) in rows if scope is None or scope.holds(path)]

    def snapshot(self, namespace: str, known_at: datetime) -> Iterator[Entry]:
        """Every memory recorded by an instant."""
        with self.database.read() as connection:
            yield from reads.snapshot(connection, namespace, known_at)

    def changeset(self, namespace: str, id: str) -> ChangeSet | None:
        """A change-set."""
        with self.database.read() as connection:
            return lines.changeset(connection, namespace, id)

    def operations(self, scope: Scope) -> Iterator[Operation | Unknown | dict[str, Any]]:
        """Everything, as operations by version."""
        with self.database.read() as connection:
            yield from dump.operations(connection, scope)

    def facts(self, namespace: str) -> Iterator[Facts]:
        """What is known of each memory, by id, without content."""
        with self.database.read() as connection:
            yield from dump.facts(connection, namespace)

    # ---- purging

    def select(self, scope: Scope, selector: Selector, now: datetime) -> Iterator[Entry]:
        """Every memory that a selector matches."""
        from memgraph.backends.local import purge

        if selector.lineage:
            with self._live() as (connection, graph):
                yield from purge.select(connection, graph, scope, selector, now)
        else:
            with self.database.read() as connection:
                yield from purge.select(connection, None, scope, selector, now)

    def plan_purge(self, scope: Scope, selector: Selector, now: datetime) -> PurgePlan:
        """What a purge would remove."""
        from memgraph.backends.local import purge

        if selector.lineage:
            with self._live() as (connection, graph):
                return purge.plan(connection, graph, scope, selector, now, self.database.where)
        with self.database.read() as connection:
            return purge.plan(connection, None, scope, selector, now, self.database.where)

    def purge(self, plan: PurgePlan, now: datetime) -> PurgeReceipt:
        """Remove for good what a plan names. Where the store has a primary, it is queued for that."""
        receipt = self.purge_at(plan, now, None, journal.note)
        with self.database.read(snapshot=False) as connection:
            primary = journal.primary_of(connection)
        if primary is None:
            return receipt
        away = f"{primary}: the file was opened without it; the purge {QUEUED} opened with it"
        after = (*on_a_server(plan.selector), *beside_a_primary(plan.selector))
        told = dict.fromkeys((*receipt.not_reached, *after, away, NAMES_WAIT))
        return receipt.model_copy(update={"pending": True, "not_reached": tuple(told)})

    def purge_at(
        self, plan: PurgePlan, now: datetime, version: str | None, then: Journal, receipt: str | None = None
    ) -> PurgeReceipt:
        """Carry a plan out, if it still says what would go; or at the version, and by the receipt, that the primary gave
        its purge: then it is to be.
        """
        from memgraph.backends.local import purge
        from memgraph.backends.local.graph import LiveGraph

        scope = Scope(plan.namespace, plan.subtree)

        def work(connection: sqlite3.Connection) -> purge.Done:
            if version is None:
                graph = None
                if plan.selector.lineage:
                    graph = LiveGraph()
                    graph.catch_up(connection)
                same_set(purge.plan(connection, graph, scope, plan.selector, plan.at, self.database.where), plan)
            self._catch_up(connection)
            done = purge.purge(connection, plan, version or self._clock.tick(), receipt)
            refused = journal.drop_refused(connection, scope, plan.selector, plan.at)
            if refused:
                done.removed["refused operations"] = refused
            connection.execute("insert or replace into meta values('scrub', 1)")
            then(connection, done.operations)
            return done

        done = self.database.write(work)
        self._scrub_pending = True
        self._tidy(_PATIENT)
        return PurgeReceipt(
            id=done.receipt,
            at=now,
            version=done.version,
            store=self.database.where,
            namespaces=tuple(plan.ids) or (plan.namespace,),
            selector_digest=plan.selector_digest,
            plan_digest=plan.digest,
            removed=done.removed,
            scrubbed=not self._scrub_pending,
            tombstones=done.tombstones,
            not_reached=(COPIES, *self._copies_beside()),
            unknown_ids=len(set(plan.selector.ids) - {id for ids in plan.ids.values() for id in ids}),
        )

    def has_yet_to_purge(self, receipt: str) -> bool:
        """Whether a primary has yet to carry out a purge."""
        with self.database.read(snapshot=False) as connection:
            return journal.holds_purge(connection, receipt)

    def files(self) -> builtins.list[Path]:
        """The store's file and its write-ahead log."""
        path = self.database.path
        return [] if path is None else [each for each in (path, Path(f"{path}-wal")) if each.exists()]

    def _copies_beside(self) -> builtins.list[str]:
        """Files that a repair or a restore has kept beside the store."""
        path = self.database.path
        if path is None:
            return []
        kinds = (("damaged", ".damaged-"), ("rollback", ".before-restore-"))
        return sorted(
            f"the {kind} copy {each.name}"
            for kind, mark in kinds
            for each in path.parent.iterdir()
            if each.name.lstrip(".").startswith(f"{path.name.lstrip('.')}{mark}")  # hidden ones are of a killed restore
        )

    def _scrub(self, patience: float) -> None:
        """Empty the write-ahead log after a purge; until then the file remembers that it must be done."""
        if self.database.scrub(patience):
            self._scrub_pending = False
            self.database.write(lambda connection: connection.execute("delete from meta where name = 'scrub'"))

    # ---- administration

    def latest(self) -> str:
        """The text that every version too far ahead of this machine's clock is not less than."""
        return version_floor(from_micros(int((self._clock.wall() + self._clock.max_drift) * 1e6)))

    def restamp(self) -> int:
        """Give what is further ahead, and no other replica has, versions of now; returns how many there were."""
        from memgraph.backends.local import restamp

        with self.database.read() as connection:
            if not restamp.ahead(connection, self.latest()):
                return 0
        clock = Clock(wall=self._clock.wall, max_drift=self._clock.max_drift)
        done = self.database.write(lambda connection: restamp.restamp(connection, clock, self.latest()))
        self._clock, self._seen = clock, ""
        return done

    def check(self, repair: bool = False, reindex: bool = False) -> CheckReport:
        """Look for damage and broken laws."""
        from memgraph.backends.local import check

        return check.check(self, repair, reindex)

    def backup(self, path: Path, force: bool) -> BackupReport:
        """Write the whole store to a file that is a store by itself."""
        from memgraph.backends.local import backup

        return backup.create(self, path, force)

    def as_backup(self) -> BackupReport:
        """What this store holds as a backup, after a look at all of it."""
        from memgraph.backends.local import backup

        return backup.describe(self)

    def restore_backup(self, path: Path, dry_run: bool, act: ActOf) -> RestoreReport:
        """Put a backup in place of what the store holds; what was purged here stays so."""
        from memgraph.backends.local import restore

        done = restore.restore(self, path, dry_run, act)
        if not dry_run:
            self._scrub_pending = True
            self._tidy(_PATIENT)
        return done.model_copy(update={"scrubbed": not self._scrub_pending})

    def stats(self, namespace: str, now: datetime) -> Stats:
        """How much there is."""
        with self.database.read() as connection:
            return report.stats(connection, namespace, now, self.database.bytes_on_disk())

    def status(self, namespace: str) -> StoreStatus:
        """Which store this is and how it is doing."""
        with self.database.read() as connection:
            newest = apply.newest_version(connection)
            pending = _waits_for_scrub(connection)
            primary, queued = journal.primary_of(connection), journal.queued(connection)
        ahead = millis(newest) - int(self._clock.wall() * 1000) if newest else 0
        return StoreStatus(
            store=self.database.where,
            backend=self.name,
            namespace=namespace,
            read_only=self.database.read_only,
            durability=self.database.durability,
            schema_version=SCHEMA_VERSION,
            damage=self.database.damage,
            scrub_pending=pending,
            clock_ahead_ms=max(ahead, 0),
            graph_loaded=self._graph is not None and self._graph.loaded,
            opened_without=primary,
            queued=queued,
        )

    def close(self) -> None:
        """Close the file."""
        if self.database.closed:
            return
        if self._scrub_pending and not self.database.read_only:
            self._tidy(_PATIENT)
        self.database.close()


def _waits_for_scrub(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from meta where name = 'scrub'").fetchone() is not None
