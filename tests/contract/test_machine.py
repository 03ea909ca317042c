"""A state machine of verbs: two handles on one store, judged after every step by the oracle.

`Door` below says, independently of the code, which operations a verb stands for; the oracle says what they come to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError, NotFoundError
from memgraph.models import Entry, Filters, Selector
from memgraph.operations import (
    Origin,
    Purge,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unrelate,
)
from tests.conftest import FrozenClock
from tests.oracle import Oracle
from tests.views import view_of

_stores = itertools.count(1)
KEYS = st.sampled_from((None, "k", "k", "j"))
PICK = st.integers(0, 1 << 16)


class Door:
    """The verbs as operations in the oracle. Versions are its own, one second a verb, as the clock of the store."""

    def __init__(self, namespace: str, clock: FrozenClock) -> None:
        self.namespace = namespace
        self.clock = clock
        self.oracle = Oracle()
        self.counter = itertools.count()

    def stamp(self) -> dict[str, Any]:
        n = next(self.counter)
        return {
            "op_id": f"op{n}",
            "namespace": self.namespace,
            "version": f"{int(self.clock() * 1000):012x}-{n % 65536:04x}-00000000",
        }

    def entries(self) -> dict[str, tuple[Remember, str]]:
        return {id: found for (_, id), found in self.oracle.entries().items()}

    def remember(self, entry: Entry, **said: Any) -> None:
        self.oracle.apply(Remember(**self.stamp(), id=entry.id, title=entry.title, **said))

    def forget(self, id: str) -> None:
        if self.entries()[id][1] != "forgotten":
            self.oracle.apply(Retire(**self.stamp(), id=id, cause="forgotten"))

    def restore(self, brought: dict[str, str | None]) -> None:
        """Bring back ids, each in place or as a copy; what relates two that were copied relates the copies."""
        before = self.entries()
        copies: dict[str, str] = {}
        for id in sorted(brought, key=lambda each: before[each][0].version):
            memory, status = before[id]
            if status == "active":
                continue
            if memory.key is None:
                self.oracle.apply(Restore(**self.stamp(), id=id))
                continue
            as_id = brought[id]
            assert as_id is not None
            copies[id] = as_id
            root = memory.restores or Origin(id=memory.id, version=memory.version)
            over = memory.valid_to is not None and memory.valid_to <= self.clock.now
            live = {"valid_to": None if over else memory.valid_to}
            self.oracle.apply(memory.model_copy(update={**self.stamp(), "id": as_id, "restores": root, **live}))
        for op in list(self.oracle.relations.values()):
            if isinstance(op, Relate) and {op.a, op.b} <= set(before) and {op.a, op.b} & set(copies):
                ends = {"a": copies.get(op.a, op.a), "b": copies.get(op.b, op.b)}
                self.oracle.apply(op.model_copy(update={**self.stamp(), **ends}))

    def purge(self, ids: set[str]) -> set[str]:
        """Bury ids and the copies that came from them; no older version of a key takes the place of a purged one."""
        entries = self.entries()
        gone = set(ids)
        while copies := {
            id for id, (op, _) in entries.items() if id not in gone and op.restores and op.restores.id in gone
        }:
            gone |= copies
        heads = []
        for key in {entries[id][0].key for id in gone} - {None}:
            line = [op for op, _ in entries.values() if op.key == key and not op.describes_past]
            newest = max(line, key=lambda op: op.version, default=None)
            if newest and newest.id in gone:
                heads.append((key, newest.version))
        for id in gone:
            self.oracle.apply(Purge(**self.stamp(), field="id", value=id, heads=tuple(heads)))
        return gone


def timed(view: dict[str, Any]) -> dict[str, Any]:
    """A view with every version cut to its milliseconds."""
    entries = {at: ((values[0][:12], *values[1:]), status) for at, (values, status) in view["entries"].items()}
    relations = {at: (values[0][:12], *values[1:]) for at, values in view["relations"].items()}
    return {**view, "entries": entries, "relations": relations}


class Verbs(RuleBasedStateMachine):
    """Every verb in any order, now through one handle, now through another."""

    def __init__(self, make_memory: Callable[..., Memory], clock: FrozenClock) -> None:
        super().__init__()
        self.clock = clock
        self.open = lambda: make_memory(store=f"machine{number}", durability="normal")
        number = next(_stores)
        self.handles = [self.open(), self.open()]
        self.turn = 0
        self.moments = [clock.now]
        self.door = Door(self.handles[0].stats().namespace, clock)

    @property
    def memory(self) -> Memory:
        """The handle whose turn it is, one second later."""
        self.turn += 1
        self.moments.append(self.clock.advance(1))
        return self.handles[self.turn % 2]

    def one(self, pick: int, *, status: str | None = None) -> str | None:
        """One of the ids, in the order in which they were written: their own would be another one every run."""
        known = sorted((op.version, id) for id, (op, found) in self.door.entries().items() if status in (None, found))
        return known[pick % len(known)][1] if known else None

    @rule(key=KEYS, tag=st.sampled_from(("a", "b")), subject=st.sampled_from((None, "ann")), past=st.integers(0, 5))
    def remember(self, key: str | None, tag: str, subject: str | None, past: int) -> None:
        memory = self.memory
        said: dict[str, Any] = {
            "content": f"note {self.turn} about {tag}",
            "key": key,
            "tags": (tag,),
            "subject": subject,
        }
        if past == 0:
            said["valid_to"] = self.moments[0]
        elif past == 1:
            said["valid_from"] = self.moments[len(self.moments) // 2]
        entry = memory.remember(**said)
        self.door.remember(entry, **said)
        assert entry.status == self.door.entries()[entry.id][1]

    @rule(keys=st.lists(KEYS, min_size=1, max_size=3), pick=PICK)
    def remember_many(self, keys: list[str | None], pick: int) -> None:
        memory, other = self.memory, self.one(pick)
        said = [{"content": f"part {self.turn}.{n} about a", "key": key, "tags": ("a",)} for n, key in enumerate(keys)]
        relations = {"relates_to": [(other, "part-of")]} if other else {}
        for entry, values in zip(memory.remember_many([each | relations for each in said]), said, strict=True):
            self.door.remember(entry, **values)
            if other:
                self.door.oracle.apply(Relate(**self.door.stamp(), a=entry.id, b=other, type="part-of"))

    @precondition(lambda self: self.door.entries())
    @rule(pick=PICK)
    def remember_again(self, pick: int) -> None:
        op = self.door.entries()[self.one(pick)][0]
        memory = self.memory
        if op.restores is None:
            before = memory.get(op.id)
            assert memory.remember(op.content, key=op.key, id=op.id) == before
        with pytest.raises(ConflictError):
            memory.remember("something else", key=op.key, id=op.id)

    @precondition(lambda self: self.door.entries())
    @rule(pick=PICK)
    def forget(self, pick: int) -> None:
        id = self.one(pick)
        assert self.memory.forget(id).id == id
        self.door.forget(id)

    @rule(key=st.sampled_from(("k", "j")))
    def forget_key(self, key: str) -> None:
        of_key = [op for op, _ in self.door.entries().values() if op.key == key]
        memory = self.memory
        if not of_key:
            with pytest.raises(NotFoundError):
                memory.forget(key=key)
            return
        current = self.door.oracle.current(self.door.namespace, key, self.clock.now)
        wanted = current or max(of_key, key=lambda op: op.version).id
        assert memory.forget(key=key).id == wanted
        self.door.forget(wanted)

    @precondition(lambda self: self.door.entries())
    @rule(pick=PICK)
    def restore(self, pick: int) -> None:
        id = self.one(pick)
        entry = self.memory.restore(id)
        assert entry.status == "active"
        self.door.restore({id: entry.id})

    @precondition(lambda self: self.one(0, status="active"))
    @rule(new=PICK, old=PICK)
    def supersede(self, new: int, old: int) -> None:
        entries = self.door.entries()
        new_op, old_op = entries[self.one(new, status="active")][0], entries[self.one(old)][0]
        memory = self.memory
        if new_op.version <= old_op.version or (new_op.key and new_op.key == old_op.key):
            with pytest.raises((InvalidInputError, ConflictError)):
                memory.supersede(old_op.id, new_op.id)
            return
        edge = memory.supersede(old_op.id, new_op.id, reason="because")
        assert (edge.label, edge.source_id, edge.target_id) == ("SUPERSEDES", new_op.id, old_op.id)
        versions = {op.id: op.version for op in (new_op, old_op)}
        self.door.oracle.apply(
            Supersede(
                **self.door.stamp(),
                new_id=new_op.id,
                new_version=versions[new_op.id],
                old_id=old_op.id,
                old_version=versions[old_op.id],
            )
        )

    @precondition(lambda self: len(self.door.entries()) > 1)
    @rule(a=PICK, b=PICK, weight=st.sampled_from((0.5, 1.0)))
    def relate(self, a: int, b: int, weight: float) -> None:
        ids = self.one(a), self.one(b)
        memory = self.memory
        if ids[0] == ids[1]:
            with pytest.raises(InvalidInputError):
                memory.relate(*ids, "knows")
            return
        memory.relate(*ids, "knows", weight=weight)
        self.door.oracle.apply(Relate(**self.door.stamp(), a=ids[0], b=ids[1], type="knows", weight=weight))

    @precondition(lambda self: any(isinstance(op, Relate) for op in self.door.oracle.relations.values()))
    @rule(pick=PICK)
    def unrelate(self, pick: int) -> None:
        entries = self.door.entries()
        known = [op for op in self.door.oracle.relations.values() if isinstance(op, Relate) and op.type == "knows"]
        alive = sorted(
            (op for op in known if {op.a, op.b} <= set(entries)), key=lambda op: (op.version, entries[op.a][0].version)
        )
        if not alive:
            return
        op = alive[pick % len(alive)]
        self.memory.unrelate(op.a, op.b, "knows")
        self.door.oracle.apply(Unrelate(**self.door.stamp(), a=op.a, b=op.b, type="knows"))

    @precondition(lambda self: self.one(0, status="active"))
    @rule(pick=PICK, signal=st.sampled_from((-1.0, 0.5, 1.0)))
    def feedback(self, pick: int, signal: float) -> None:
        id = self.one(pick, status="active")
        (entry,) = self.memory.feedback([id], signal)
        stamp = self.door.stamp()
        self.door.oracle.apply(Reinforce(**stamp, id=id, feedback_id=stamp["op_id"], signal=signal))
        assert entry.id == id

    @rule(tag=st.sampled_from(("a", "b")), undo=st.booleans())
    def release(self, tag: str, undo: bool) -> None:
        entries = self.door.entries()
        want = {id for id, (op, status) in entries.items() if status == "active" and op.tags == (tag,)}
        assert {c.id for c in self.handles[0].release(filters=Filters(tags=[tag]), dry_run=True).changes} == want
        done = self.memory.release(f"about {tag}", Filters(tags=[tag]))
        assert {change.id for change in done.changes} == want
        for id in want:
            self.door.oracle.apply(Retire(**self.door.stamp(), id=id, cause="released"))
        if undo and want:
            undone = self.memory.undo(done.id)
            assert {change.id for change in undone.changes} == want
            self.door.restore({change.id: change.restored_as for change in undone.changes})

    @precondition(lambda self: self.door.entries())
    @rule(by=st.sampled_from(("ids", "key", "subject", "tags", "text")), pick=PICK)
    def purge(self, by: str, pick: int) -> None:
        entries = self.door.entries()
        op = entries[self.one(pick)][0]
        value = {"ids": op.id, "key": op.key, "subject": op.subject, "tags": op.tags[0], "text": op.content}[by]
        if value is None:
            return
        field = {"ids": "id", "text": "content"}.get(by, by)
        said = {id: getattr(found, field) for id, (found, _) in entries.items()}
        want = {id for id, found in said.items() if found == value or (by == "tags" and value in found)}
        plan = self.memory.plan_purge(Selector(**{by: value}))
        gone = self.door.purge(want)
        assert {id for ids in plan.ids.values() for id in ids} == gone
        self.memory.purge(plan)
        for id in gone:
            with pytest.raises(NotFoundError):
                self.handles[0].get(id)

    @rule()
    def open_again(self) -> None:
        self.handles[0].close()
        self.handles[0] = self.open()

    @invariant()
    def the_store_shows_the_oracles_view(self) -> None:
        got = timed(view_of(self.handles[self.turn % 2].backend, [self.door.namespace], self.clock.now))
        want = timed(self.door.oracle.view())
        assert {name: got[name] for name in want if got[name] != want[name]} == {
            name: want[name] for name in want if got[name] != want[name]
        }

    def teardown(self) -> None:
        memory, ns = self.handles[0], self.door.namespace
        between = [moment + timedelta(seconds=0.5) for moment in self.moments]
        for moment in between[:: max(1, len(between) // 8)]:
            want = {(op.id, status) for op, status in self.door.oracle.entries(moment).values()}
            assert {(e.id, str(e.status)) for e in memory.backend.snapshot(ns, moment)} == want
            for key in ("k", "j"):
                known = memory.current(key, known_at=moment)
                assert (known and known.id) == self.door.oracle.current(ns, key, self.clock.now, known_at=moment)
                true = memory.current(key, valid_at=moment)
                assert (true and true.id) == self.door.oracle.valid_at(ns, key, moment)
        report = memory.check()
        assert report.ok, report.problems
        for handle in self.handles:
            handle.close()


def test_any_verbs_in_any_order(make_memory: Callable[..., Memory], clock: FrozenClock) -> None:
    """Whatever agents do, the store shows what their operations come to."""
    run_state_machine_as_test(lambda: Verbs(make_memory, clock))
