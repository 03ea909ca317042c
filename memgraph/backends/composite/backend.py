"""The composite backend: writes are durable here at once and reach the primary in order; reads are answered by either side."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from memgraph.backends.base import ActOf, Backend, Draft, Preparable, Primary, Query, Scope
from memgraph.backends.composite import compare, conditional, purge, report
from memgraph.backends.composite.link import Link
from memgraph.backends.composite.pull import Progress
from memgraph.backends.composite.reading import Answer, Mode, Reading
from memgraph.backends.local.backend import LocalBackend
from memgraph.checks import LEDGER, few
from memgraph.errors import ClockDriftError, ConflictError, UnavailableError
from memgraph.models import (
    BackupReport,
    ChangeSet,
    CheckReport,
    Count,
    DeadLetter,
    Edge,
    Entry,
    Filters,
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
    SyncDiff,
    SyncReport,
    SyncSource,
)
from memgraph.operations import Operation, Remember, Unknown

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["CompositeBackend", "Mode", "WriteConcern", "over"]

WriteConcern = Literal["local", "primary"]
T = TypeVar("T")

DEADLINE: Final = 0.8  # seconds: connecting and reads
_NAMED: Final = 5  # ids that an error names
PUSH_TIMEOUT: Final = 30.0  # seconds: slow is not down
_PATIENT: Final = 3.0  # seconds for a first contact, and more for a sync over a slow way
_RETRY_TIME: Final = 5.0  # seconds: of what a caller waits for, such as a condition that others contend for


class CompositeBackend:
    """A local store and a primary. Safe for threads, processes and forks.

    local, primary: the two sides; both are closed with this. pusher: the primary again, with long deadlines, for the queue.
    mode: how reads are answered. failover: by the primary, and by the local store while it is away or behind our writes.
    merge: by the local store after it has pulled what others wrote, so that every law holds in what is shown.
    local_first: by the local store, and by both where it has too little.
    write_concern: "local" returns when a write is durable here, "primary" when the primary has it.
    deadline: seconds that a read waits. pull_every: seconds between pulls in the background; None for no thread: then the
    queue is pushed when something waits for it, and by `sync`.
    max_clock_drift: seconds that versions may run ahead of the primary's clock. patient: the primary once more, as for Link.
    """

    name = "composite"

    def __init__(
        self,
        local: LocalBackend,
        primary: Primary,
        pusher: Primary | None = None,
        *,
        mode: Mode = "failover",
        write_concern: WriteConcern = "local",
        deadline: float = DEADLINE,
        pull_every: float | None = 30.0,
        max_clock_drift: float = 300.0,
        patient: Primary | None = None,
    ) -> None:
        self.local, self.primary = local, primary
        self.mode, self.write_concern, self.deadline = mode, write_concern, deadline
        self.link = Link(local, primary, pusher or primary, pull_every, max_clock_drift, deadline, patient)
        self.here: Backend = local
        self.reading = Reading(self.link, deadline)
        self.near: Backend = self if mode == "local_first" else _Near(self)
        if self.link.outbox.newest() or self.link.outbox.selectors():
            self.link.wake()

    def __repr__(self) -> str:
        return f"<CompositeBackend {self.local.database.where} with {self.primary.where}>"

    def sides(self) -> Sequence[Backend]:
        """The stores by themselves, as far as they are within reach."""
        return (self.local, *self.reading.reachable(Scope(LEDGER, subtree=True)))

    @property
    def degraded(self) -> str | None:
        """Why a read now would be answered by the local store alone; None while the primary is in touch."""
        self.link.resume()
        return self.reading.doubt or self.reading.loss

    # ---- writing

    def write(self, drafts: Sequence[Draft]) -> builtins.list[Entry | str]:
        """Stamp and apply drafts in order, all or none; queue them for the primary, in the same transaction."""
        if any(draft.if_absent or draft.expected_version is not None for draft in drafts):
            return conditional.write(self, drafts)
        self.link.couple()
        try:
            results = self.local.write(drafts)
        except ClockDriftError:  # by this machine's clock alone, which may be behind
            if not self.link.asks_the_time():
                raise
            results = self.local.write(drafts)
        waits = self.write_concern == "primary" and not all(_is_act(draft.operation) for draft in drafts)
        self.link.wake(urgent=waits)
        if not waits or not results:
            return results
        self._await_primary(results, drafts[0].operation.namespace)
        return [self.on_both(result) for result in results]

    def on_both(self, result: Entry | str) -> Entry | str:
        """The result of a write that both sides have."""
        if isinstance(result, str):
            return result
        return result.model_copy(update={"stored_on": (self.local.name, self.primary.name)})

    def _await_primary(self, results: Sequence[Entry | str], namespace: str) -> None:
        """Wait until the primary has what was just written; what is not in time stays queued."""
        scope = Scope(namespace)
        number = self.link.outbox.newest(scope)
        if number and not self.link.wait(number, scope, PUSH_TIMEOUT):
            ids = [each.id for each in results if isinstance(each, Entry)]
            kept = "it is durable here and stays queued" + (f" (id {few(ids, _NAMED)})" if ids else "")
            problem = self.link.problem
            if problem is not None:
                raise type(problem)(f"{problem}; {kept}", hint=f"Do not write it again. {problem.hint or ''}".strip())
            raise UnavailableError(
                f"{self.primary.where} does not have the write yet; {kept}",
                hint="Nothing is lost: it is sent as soon as the primary answers. Do not write it again.",
            )
        versions = [result.version if isinstance(result, Entry) else result for result in results]
        reason = self.link.outbox.refused(namespace, versions)
        if reason is not None:
            raise ConflictError(f"the primary refused the write for good: {reason}", hint="See `memgraph sync status`.")

    def apply(self, operations: Iterable[Operation | Unknown]) -> int:
        """Apply stamped operations here and queue them."""
        self.link.couple()
        changed = self.local.apply(operations)
        self.link.wake()
        return changed

    def bury(self, tombstones: Iterable[dict[str, Any]]) -> int:
        """Take in tombstones and secrets here and queue them."""
        self.link.couple()
        changed = self.local.bury(tombstones)
        self.link.wake()
        return changed

    # ---- reading

    def _read(
        self,
        scope: Scope,
        ask: Callable[[Backend], T],
        enough: Callable[[T], bool] | None = None,
        endless: bool = False,
    ) -> Answer[T]:
        return self.reading.answer(self.mode, scope, ask, enough, endless)

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """The memories with these ids."""
        wanted = set(ids)
        found, reason = self._read(
            Scope(namespace), lambda side: side.get(namespace, ids, now), lambda have: wanted <= have.keys()
        )
        return {id: _flagged(entry, reason) for id, entry in found.items()}

    def current(
        self,
        namespace: str,
        key: str,
        now: datetime,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Entry | None:
        """A key's current memory, or as known, or as true, at an instant."""
        found, reason = self._read(
            Scope(namespace),
            lambda side: side.current(namespace, key, now, known_at, valid_at),
            lambda have: have is not None,
        )
        return None if found is None else _flagged(found, reason)

    def list(self, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
        """A page of matching memories, newest first."""
        found, reason = self._read(
            scope, lambda side: side.list(scope, filters, now, limit, after), lambda have: len(have) == limit
        )
        return replace(found, degraded=reason)

    def count(self, scope: Scope, filters: Filters, now: datetime) -> int:
        """How many memories match."""
        return Count.of(*self._read(scope, lambda side: side.count(scope, filters, now)))

    def search(self, scope: Scope, query: Query) -> SearchResult:
        """The best hits, best first."""
        found, reason = self._read(scope, lambda side: side.search(scope, query), lambda have: len(have) >= query.limit)
        return replace(found, degraded=reason)

    def lineage(self, namespace: str, key_or_id: str, now: datetime) -> Lineage | None:
        """The line of a key, or what is linked to an id."""
        found, reason = self._read(
            Scope(namespace), lambda side: side.lineage(namespace, key_or_id, now), lambda have: have is not None
        )
        return found and found.model_copy(update={"degraded": reason})

    def neighbours(self, namespace: str, id: str, depth: int, now: datetime) -> Neighbourhood | None:
        """What lies around a memory."""
        found, reason = self._read(
            Scope(namespace), lambda side: side.neighbours(namespace, id, depth, now), lambda have: have is not None
        )
        return found and found.model_copy(update={"degraded": reason})

    def graph(self, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
        """A frozen copy of the graph of a scope; its attribute `degraded` says why it may be incomplete."""
        found, reason = self._read(scope, lambda side: side.graph(scope, now), endless=True)
        found.graph["degraded"] = reason
        return found

    def relations(self, namespace: str, ids: Sequence[str]) -> builtins.list[Edge]:
        """The relations that begin or end at one of these ids."""
        return self._read(Scope(namespace), lambda side: side.relations(namespace, ids))[0]

    def namespaces(self, prefix: str | None) -> builtins.list[str]:
        """The namespaces that hold memories, on either side."""
        found = set(self.local.namespaces(prefix))
        self.link.complain()
        if self.link.breaker.closed and not self.link.in_doubt:
            try:
                found.update(self.primary.namespaces(prefix))
            except UnavailableError as error:
                self.reading.failed(error)
        return sorted(found)

    def snapshot(self, namespace: str, known_at: datetime) -> Iterator[Entry]:
        """Every memory recorded by an instant."""
        yield from self._read(
            Scope(namespace), lambda side: builtins.list(side.snapshot(namespace, known_at)), endless=True
        )[0]

    def changeset(self, namespace: str, id: str) -> ChangeSet | None:
        """A change-set."""
        return self._read(Scope(namespace), lambda side: side.changeset(namespace, id), lambda have: have is not None)[
            0
        ]

    def operations(self, scope: Scope) -> Iterator[Operation | Unknown | dict[str, Any]]:
        """Everything, as operations by version, of the local store after it has pulled; raises if it could not."""
        for path in self.link.puller.names(scope, self.reading.at_hand()):
            self.link.pull(path)
        yield from self.local.operations(scope)

    # ---- purging

    def select(self, scope: Scope, selector: Selector, now: datetime) -> Iterator[Entry]:
        """Every memory that a selector matches, on either side."""
        seen: set[tuple[str, str]] = set()
        for entry in self.local.select(scope, selector, now):
            seen.add((entry.namespace, entry.id))
            yield entry
        for primary in self.reading.reachable(scope):
            try:
                for entry in primary.select(scope, selector, now):
                    if (entry.namespace, entry.id) not in seen:
                        yield entry
            except (
                UnavailableError
            ) as error:  # as if it had been away before; a purge says in its receipt what it did not reach
                self.reading.failed(error)

    def files(self) -> builtins.list[Path]:
        """The files of the local store."""
        return self.local.files()

    def plan_purge(self, scope: Scope, selector: Selector, now: datetime) -> PurgePlan:
        """What a purge would remove on both sides, or here while the primary is away."""
        try:
            return purge.plan(self, scope, selector, now, self.reading.reachable(scope))
        except UnavailableError as error:
            self.reading.failed(error)
            return purge.plan(self, scope, selector, now, ())

    def purge(self, plan: PurgePlan, now: datetime) -> PurgeReceipt:
        """Remove for good what a plan names: on both sides at once, or here and later on the primary by itself."""
        try:
            return purge.purge(self, plan, now, self.reading.reachable(Scope(plan.namespace, plan.subtree)))
        except UnavailableError as error:  # before anything went
            self.reading.failed(error)
            return purge.purge(self, plan, now, ())

    # ---- sync

    def sync(self, scope: Scope, progress: Progress | None = None) -> SyncReport:
        """Push what waits, and pull what others wrote in a scope. Raises UnavailableError and others."""
        self.reading.sign_of_life(slowly=True)
        found = report.sync(self.link, scope, progress)
        self.reading.renew()
        return found

    def sync_diff(self, scope: Scope) -> SyncDiff:
        """Compare both sides, fact by fact. Writes that are on their way count as differences."""
        primary = self.reading.sign_of_life()
        return compare.diff(self.local, primary, self.link.puller.names(scope, primary))[0]

    def sync_repair(self, scope: Scope, source: SyncSource, dry_run: bool) -> SyncDiff:
        """Send each side what it lacks: "primary" to here, "local" to there, "newest" both ways."""
        primary = self.reading.sign_of_life()
        return compare.repair(self.local, self.link, self.link.puller.names(scope, primary), source, dry_run)

    def has_yet_to_purge(self, receipt: str) -> bool:
        """Whether the primary has yet to carry out a purge."""
        return self.local.has_yet_to_purge(receipt)

    def dead_letters(self) -> builtins.list[DeadLetter]:
        """What the primary refused for good."""
        return self.link.outbox.dead_letters()

    def retry_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Queue what was refused again."""
        found = self.link.outbox.retry(units)
        self.link.wake()
        return found

    def drop_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Delete what was refused."""
        return self.link.outbox.drop(units)

    # ---- administration

    def set_up(self) -> tuple[str, ...]:
        """Make what the primary needs and lacks."""
        primary = self.reading.sign_of_life(slowly=True)
        return primary.set_up() if isinstance(primary, Preparable) else ()

    def backup(self, path: Path, force: bool) -> BackupReport:
        """Write all that the local store holds to a file; what only the primary has is not in it."""
        return self.local.backup(path, force)

    def as_backup(self) -> BackupReport:
        """What the local store holds as a backup."""
        return self.local.as_backup()

    def restore_backup(self, path: Path, dry_run: bool, act: ActOf) -> RestoreReport:
        """Put a backup in place of what the local store holds; what the primary has is pulled again."""
        report = self.local.restore_backup(path, dry_run, act)
        self.link.wake()
        return report

    def check(self, repair: bool = False, reindex: bool = False) -> CheckReport:
        """Look for damage and broken laws on both sides."""
        return report.check(self, repair, reindex)

    def stats(self, namespace: str, now: datetime) -> Stats:
        """How much there is."""
        found, reason = self._read(Scope(namespace), lambda side: side.stats(namespace, now))
        return found.model_copy(update={"degraded": reason})

    def status(self, namespace: str) -> StoreStatus:
        """Which store this is and how both sides are doing, as far as the primary answers within the deadline."""
        return report.status(self, namespace)

    def close(self) -> None:
        """Push what can be pushed within the deadline, and close both sides; what waits stays in the file."""
        if self.local.database.closed:
            return
        self.link.close(self.deadline)
        for side in (self.primary, self.link.pusher, self.link.patient):
            if side is not None:
                side.close()
        self.link.join()
        self.local.close()


def over(
    local: LocalBackend,
    uri: str,
    auth: tuple[str, str] | None,
    database: str | None,
    *,
    mode: str,
    write_concern: str,
    max_clock_drift: float,
    clock: Callable[[], float],
) -> CompositeBackend:
    """A local store with a Neo4j over it. Does not wait for the server. Raises what the store raises that cannot be written."""
    from memgraph.backends.neo4j.backend import Neo4jBackend

    def connection(timeout: float, pool: int, retry_time: float, read_limit: float | None = None) -> Neo4jBackend:
        return Neo4jBackend(
            uri,
            auth=auth,
            database=database,
            timeout=timeout,
            read_limit=read_limit,
            retry_time=retry_time,
            pool=pool,
            max_clock_drift=max_clock_drift,
            clock=clock,
            connect=False,
        )

    try:
        local.database.require_writable()
        return CompositeBackend(
            local,
            connection(DEADLINE, 8, _RETRY_TIME, DEADLINE),
            connection(PUSH_TIMEOUT, 2, PUSH_TIMEOUT),
            patient=connection(_PATIENT, 1, _PATIENT, _PATIENT),
            mode=mode,  # type: ignore[arg-type]
            write_concern=write_concern,  # type: ignore[arg-type]
            max_clock_drift=max_clock_drift,
        )
    except BaseException:
        local.close()
        raise


def _is_act(operation: Operation) -> bool:
    """Whether this notes what an administrator does: that must not fail because the primary is away, or the act would."""
    return isinstance(operation, Remember) and operation.kind == "act" and operation.namespace.split("/")[0] == LEDGER


class _Near(CompositeBackend):
    """The same two sides read as `local_first`."""

    def __init__(self, whole: CompositeBackend) -> None:
        self.__dict__.update(whole.__dict__)
        self.mode, self.near = "local_first", self


def _flagged(entry: Entry, reason: str | None) -> Entry:
    return entry if reason is None else entry.model_copy(update={"degraded": reason})
