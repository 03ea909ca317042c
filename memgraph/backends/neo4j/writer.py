"""Writing with versions given inside the transaction: conditions, ids that are known already, and group commit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import time as machine_time
from typing import Any, Final, cast

import memgraph.operations as ops
from memgraph.backends.base import Draft
from memgraph.backends.neo4j import reads
from memgraph.backends.neo4j.rows import STORED_ON
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.backends.neo4j.writes import Put, feed, parts_of, put
from memgraph.checks import from_micros
from memgraph.clock import Clock
from memgraph.errors import ConflictError, MemgraphError, NotFoundError, PurgedError, UnavailableError
from memgraph.models import Entry
from memgraph.rules.lineage import has_expired
from memgraph.storage.bolt import Again, Bolt, OutcomeUnknownError, Runner

__all__ = ["Writer"]

_log = logging.getLogger("memgraph")

Results = list[Entry | str | MemgraphError]
_GROUP: Final = 500  # single writes that share a transaction at most
_DEAD_TRIES: Final = 3
_PURGED: Final = "this id was purged and is dead for good"
_OTHER: Final = "this id already names a memory with other content or another key"


@dataclass
class _Slot:
    """A key's current memory, as this transaction sees it."""

    version: str | None
    expires_at: datetime | None


@dataclass
class _Plan:
    """What one transaction is about to write in one namespace."""

    numbers: list[int] = field(default_factory=list)
    operations: list[ops.Operation] = field(default_factory=list)
    there: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    slots: dict[str, _Slot] = field(default_factory=dict)


class _Ticket:
    """One caller's single write, waiting for the transaction that takes it along, or to lead one: then it is `called`."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.called = threading.Event()
        self.done = False
        self.result: Entry | str | BaseException = ""


class Writer:
    """Gives versions and writes. gone: called when the store is not there any more.

    `secrets` reads the store's secrets once and again when they have changed."""

    def __init__(self, bolt: Callable[[], Bolt], clock: Clock, gone: Callable[[], None]) -> None:
        self._bolt, self._gone = bolt, gone
        self.clock = clock
        self._secrets: Secrets | None = None
        self.after_fork()

    def after_fork(self) -> None:
        """Locks of the parent process are not ours."""
        self._ticking = threading.Lock()
        self._queueing = threading.Lock()
        self._tickets: list[_Ticket] = []
        self._led = False

    def now(self) -> datetime:
        """The wall clock as aware UTC."""
        return from_micros(int(self.clock.wall() * 1_000_000))

    def observe(self, version: str) -> None:
        """Move past a version that was seen."""
        if version:
            with self._ticking:
                self.clock.observe(version)

    def compare(self, milliseconds: int) -> None:
        """Take note of the server's clock, milliseconds since 1970; ours is the machine's, as an invented one may be anything."""
        with self._ticking:
            self.clock.is_ahead(machine_time() - milliseconds / 1000)

    def tick(self) -> str:
        """The next version."""
        with self._ticking:
            return self.clock.tick()

    def secrets(self, runner: Runner, count: int | None = None) -> Secrets:
        """The store's secrets now; whoever writes keeps to one reading. count: how many there are, where that is known."""
        if count is None:
            rows = runner.run("write/schema_version")
            count = rows[0]["secrets"] if rows else 0
        if not count:
            self._gone()
            raise NotFoundError(
                "the database holds no store any more; nothing was written",
                hint="If it was replaced on purpose, write again: the store is made anew. Else restore it from a backup.",
            )
        found = self._secrets
        if found is None or count != len(found):
            found = self._secrets = Secrets(runner.run("write/secrets"))
        return found

    # ---- one transaction

    def write(self, drafts: Sequence[Draft]) -> list[Entry | str]:
        """Stamp and apply drafts in order, all or none; an unconditional single one shares a transaction with others."""
        if len(drafts) == 1 and isinstance(drafts[0].operation, ops.Remember) and not _conditional(drafts[0]):
            return [self._shared(drafts[0])]
        return self._alone(drafts)

    def _alone(self, drafts: Sequence[Draft]) -> list[Entry | str]:
        results = self._transact(drafts)
        for result in results:
            if isinstance(result, MemgraphError):
                raise result
        return cast("list[Entry | str]", results)

    def _transact(self, drafts: Sequence[Draft], each: bool = False) -> Results:
        """Write in one transaction. each: a row that is refused gets its error as its result and the others are written."""
        written: list[ops.Operation] = []
        results: Results = []
        tries = 0

        def work(tx: Runner) -> None:
            nonlocal tries
            tries += 1
            written[:], results[:] = self._work(tx, drafts, each, tries)

        bolt = self._bolt()
        try:
            bolt.transaction(work)
        except OutcomeUnknownError:
            if any(_conditional(draft) for draft in drafts):  # judged anew, unless the ids show that it was written
                bolt.transaction(work)
            else:  # the same versions again: twice changes nothing
                bolt.transaction(lambda tx: self.put_all(tx, written))
        for operation in written:
            _log.info("%s %s", operation.op, operation.version)  # an id that a caller chose is data, and may be purged
        return results

    def _work(self, tx: Runner, drafts: Sequence[Draft], each: bool, tries: int) -> tuple[list[ops.Operation], Results]:
        """Write drafts; returns what was stamped, and the answers."""
        plans: dict[str, _Plan] = {}
        for number, draft in enumerate(drafts):
            plans.setdefault(draft.operation.namespace, _Plan()).numbers.append(number)
        results: Results = [""] * len(drafts)
        newest = {path: tx.run("write/newest", namespace=path)[0] for path in sorted(plans)}
        secrets = self.secrets(tx, max(found["secrets"] for found in newest.values()))
        for path in sorted(plans):
            self.compare(newest[path]["clock"])  # first: versions are of the server's time
            self.observe(newest[path]["version"])
            self._look(tx, secrets, path, plans[path], drafts)
        for path in sorted(plans):
            self._stamp(tx, path, plans[path], drafts, results, each)
        if not each:
            for result in results:
                if isinstance(result, MemgraphError):
                    raise result
        puts = {
            path: self._put(tx, secrets, path, plan, tries) for path, plan in sorted(plans.items()) if plan.operations
        }
        for path, done in puts.items():
            feed(tx, secrets, path, done)
        return [operation for plan in plans.values() for operation in plan.operations], results

    def _look(self, tx: Runner, secrets: Secrets, path: str, plan: _Plan, drafts: Sequence[Draft]) -> None:
        """Learn what is there, take the locks of the keys, and move the clock past what they have seen."""
        rows: list[dict[str, Any]] = []
        for number in plan.numbers:
            operation = drafts[number].operation
            if isinstance(operation, ops.Remember):
                ids = [operation.id] + ([operation.restores.id] if operation.restores else [])
                buried = [found for id in ids for found in secrets.all("id", path, id)]
                rows.append({"n": number, "id": operation.id, "buried": buried, "key": operation.key})
        rows.sort(key=lambda row: (row["key"] or "", row["id"]))
        by_number = {row["n"]: row for row in rows}
        for answers in tx.run_each("write/begin", ({"namespace": path, "rows": part} for part in parts_of(rows))):
            for found in answers:
                row = by_number[found["n"]]
                self.observe(found["latest"] or "")
                if found["there"]:
                    plan.there.add(row["id"])
                if found["dead"]:
                    plan.dead.add(row["id"])
                if row["key"] is not None:
                    plan.slots[row["key"]] = _Slot(found["current"], found["expires_at"])

    def _stamp(self, tx: Runner, path: str, plan: _Plan, drafts: Sequence[Draft], results: Results, each: bool) -> None:
        """Decide about each draft and give the versions of those that are written."""
        now = self.now()
        known = reads.by_ids(tx, path, sorted(plan.there), now) if plan.there else {}
        repeated: set[str] = set()
        for number in plan.numbers:
            draft = drafts[number]
            operation = draft.operation
            if draft.part_of in repeated:
                continue
            if isinstance(operation, ops.Remember):
                refused = self._refused(operation, draft, plan, known, now)
                if refused is not None:
                    results[number] = refused
                    if each:
                        continue
                    return
                if operation.id in known:
                    results[number] = known[operation.id]
                    repeated.add(operation.id)
                    continue
            stamped = operation.stamped(self.tick())
            plan.operations.append(stamped)
            results[number] = stamped.version
            if isinstance(stamped, ops.Remember):
                results[number] = known[stamped.id] = ops.entry_of(stamped, now, STORED_ON)
                if stamped.key is not None and not stamped.describes_past:
                    plan.slots[stamped.key] = _Slot(stamped.version, stamped.expires_at)

    def _refused(
        self, operation: ops.Remember, draft: Draft, plan: _Plan, known: dict[str, Entry], now: datetime
    ) -> MemgraphError | None:
        if operation.id in plan.dead:
            return PurgedError(_PURGED, hint="Use another id.")
        found = known.get(operation.id)
        if found is not None:
            if (found.content, found.key) == (operation.content, operation.key):
                return None
            return ConflictError(_OTHER, hint="Leave the id out, or use supersede.")
        if not _conditional(draft):
            return None
        assert operation.key is not None
        slot = plan.slots[operation.key]
        current = None if has_expired(slot.expires_at, now) else slot.version
        if draft.if_absent and current is not None:
            return ConflictError("the key already has a current memory", hint="Read it, or write without if_absent.")
        if draft.expected_version is not None and current != draft.expected_version:
            return ConflictError(
                "the key's current memory has another version than expected", hint="Read it again and decide anew."
            )
        return None

    def _put(self, tx: Runner, secrets: Secrets, path: str, plan: _Plan, tries: int) -> Put:
        """Write what was stamped; if somebody else came between, have the transaction run once more."""
        done = put(tx, secrets, path, plan.operations)
        mine = {each.id: each for each in plan.operations if isinstance(each, ops.Remember)}
        greatest: dict[str, str] = {}
        for operation in mine.values():
            if operation.key is not None and not operation.describes_past:
                greatest[operation.key] = max(operation.version, greatest.get(operation.key, ""))
        for row in done.remembered:
            operation = mine[row["id"]]
            dead = row["version"] is None
            if dead and tries > _DEAD_TRIES:
                raise PurgedError("what this repeats was purged", hint="Write it anew.")
            latest = row["latest"] or ""
            late = operation.key in greatest and latest > greatest[operation.key]
            self.observe(latest)
            if dead or row["version"] != operation.version or late:
                raise Again
        return done

    def put_all(self, tx: Runner, operations: Sequence[ops.Operation | ops.Unknown]) -> int:
        """Apply stamped operations of any namespaces, no purges; returns how many changed something."""
        spaces: dict[str, list[ops.Operation | ops.Unknown]] = {}
        for operation in operations:
            spaces.setdefault(operation.namespace, []).append(operation)
        secrets = self.secrets(tx)
        puts = {path: put(tx, secrets, path, mine) for path, mine in sorted(spaces.items())}
        for path, done in puts.items():
            feed(tx, secrets, path, done)
        return sum(done.changed for done in puts.values())

    # ---- group commit

    def _shared(self, draft: Draft) -> Entry | str:
        """Write with whoever waits meanwhile: the first in line writes for all, then hands the lead on.

        A signal may raise anywhere in the main thread, so it waits for nobody, and nobody for it.
        """
        if threading.current_thread() is threading.main_thread():
            return self._alone([draft])[0]
        ticket = _Ticket(draft)
        with self._queueing:
            self._tickets.append(ticket)
            leads, self._led = not self._led, True
        if not leads:
            ticket.called.wait()
        if not ticket.done:
            self._lead_once()
        if isinstance(ticket.result, BaseException):
            raise ticket.result
        return ticket.result

    def _lead_once(self) -> None:
        """Write for those that wait now, the caller as the first of them."""
        with self._queueing:
            group, self._tickets = self._tickets[:_GROUP], self._tickets[_GROUP:]
        try:
            self._lead(group)
        finally:
            with self._queueing:
                if self._tickets:
                    self._tickets[0].called.set()
                else:
                    self._led = False
            for each in group:
                each.called.set()

    def _lead(self, group: list[_Ticket]) -> None:
        try:
            for ticket, result in zip(group, self._transact([each.draft for each in group], each=True), strict=True):
                ticket.result = result
        except UnavailableError as error:
            for ticket in group:
                ticket.result = type(error)(str(error), hint=error.hint)
        except MemgraphError as error:
            self._one_by_one(group, error)
        except BaseException as error:
            for ticket in group:
                ticket.result = error
            raise
        finally:
            for ticket in group:
                ticket.done = True

    def _one_by_one(self, group: list[_Ticket], error: MemgraphError) -> None:
        """The transaction failed for good: each row once by itself, so that only those fail that must."""
        if len(group) == 1:
            group[0].result = error
            return
        for ticket in group:
            try:
                ticket.result = self._alone([ticket.draft])[0]
            except MemgraphError as own:
                ticket.result = own


def _conditional(draft: Draft) -> bool:
    return draft.if_absent or draft.expected_version is not None
