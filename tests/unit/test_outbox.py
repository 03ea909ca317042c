"""The outbox: in the file of the write itself, in order, whole units, without what was purged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.backends.composite.breaker import Breaker, Patience
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, UNPUSHED, set_cursor
from memgraph.backends.local.outbox import Outbox, refuse
from memgraph.checks import LEDGER
from memgraph.errors import ConflictError
from memgraph.operations import Relate, Remember


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    found = LocalBackend(tmp_path / "memory.db")
    found.couple("bolt://primary")
    yield found
    found.close()


@pytest.fixture
def memory(local: LocalBackend) -> Memory:
    return Memory(local, namespace="acme")


def names(outbox: Outbox, rows: int = 1000) -> list[list[str]]:
    return [
        [each.id if isinstance(each, Remember) else type(each).__name__ for each in unit.operations]
        for unit in outbox.units(rows)
        if not any(each.namespace.startswith(LEDGER) for each in unit.operations)
    ]


def test_a_write_is_queued_with_itself_and_a_refused_one_is_not(memory: Memory, local: LocalBackend) -> None:
    memory.remember("one", id="a", key="k")
    with pytest.raises(ConflictError):
        memory.remember("other", id="a")
    with pytest.raises(ConflictError):
        memory.remember("two", key="k", if_absent=True)
    assert names(Outbox(local)) == [["a"]]
    memory.remember("one", id="a", key="k")  # the same write: nothing new to send
    assert names(Outbox(local)) == [["a"]]


def test_what_is_queued_is_what_was_written(memory: Memory, local: LocalBackend) -> None:
    entry = memory.remember(
        "tea ☕",
        key="drink",
        tags=["a"],
        metadata={"n": None, "deep": [1, {"x": None}]},
        actor="bob",
        reason="asked",
        ttl=60,
    )
    ((operation,),) = [unit.operations for unit in Outbox(local).units(10)]
    assert isinstance(operation, Remember)
    assert (operation.content, operation.metadata, operation.version) == (entry.content, entry.metadata, entry.version)
    assert operation == next(iter(local.operations(Scope("acme")))).model_copy(update={"op_id": operation.op_id})  # type: ignore[union-attr]


def test_units_are_never_split(memory: Memory, local: LocalBackend) -> None:
    memory.remember_many([{"content": "one", "id": "a"}, {"content": "two", "id": "b", "relates_to": ["a"]}])
    memory.remember("three", id="c")
    outbox = Outbox(local)
    assert names(outbox, rows=1) == [["a", "b", Relate.__name__]]
    outbox.done(outbox.units(1), {})
    assert names(outbox, rows=1) == [["c"]]


def test_a_process_that_names_no_primary_queues_too(memory: Memory, tmp_path: Path) -> None:
    memory.remember("one", id="a")
    with Memory.open(tmp_path / "memory.db", namespace="acme") as other:
        other.remember("two", id="b")
    assert names(Outbox(memory.backend)) == [["a"], ["b"]]  # type: ignore[arg-type]


def test_a_store_without_a_primary_queues_nothing_and_all_of_it_is_due_when_it_gets_one(tmp_path: Path) -> None:
    store = LocalBackend(tmp_path / "alone.db")
    Memory(store, namespace="acme").remember("one")
    outbox = Outbox(store)
    assert outbox.newest() == 0
    store.couple("bolt://primary")
    assert outbox.cursors() == {"acme": UNPUSHED}
    outbox.enqueue_all("acme", store.operations(Scope("acme")))
    store.couple("bolt://primary")
    assert (outbox.depth().queued, outbox.cursors()) == (1, {"acme": ALL})
    store.close()


def test_another_primary_is_told_everything(memory: Memory, local: LocalBackend) -> None:
    memory.remember("one")
    outbox = Outbox(local)
    local.meet([{"secret": "aaaaaaaa", "value": "00" * 32}])
    local.database.write(lambda connection: set_cursor(connection, "acme", 4))
    local.meet([{"secret": "aaaaaaaa", "value": "00" * 32}])
    assert outbox.cursors() == {"acme": 4}
    local.meet([{"secret": "bbbbbbbb", "value": "11" * 32}])
    assert outbox.cursors() == {"acme": UNPUSHED}


def test_the_queue_outlives_its_process(memory: Memory, local: LocalBackend, tmp_path: Path) -> None:
    memory.remember("one", id="a")
    local.close()
    again = LocalBackend(tmp_path / "memory.db")
    assert names(Outbox(again)) == [["a"]]
    again.close()


def test_scopes_tell_what_waits(memory: Memory, local: LocalBackend) -> None:
    outbox = Outbox(local)
    assert outbox.newest() == 0
    memory.remember("one")
    first = outbox.newest(Scope("acme"))
    memory.namespace("below").remember("two")
    assert outbox.newest(Scope("acme")) == first
    assert outbox.newest(Scope("acme", subtree=True)) == outbox.newest() > first
    assert outbox.newest(Scope("acm")) == outbox.newest(Scope("acme0", subtree=True)) == 0
    assert outbox.waits(first, Scope("acme"))
    outbox.done(outbox.units(1), {})
    assert not outbox.waits(first, Scope("acme"))
    assert outbox.waits(outbox.newest())


def test_a_purge_takes_what_it_kills_out_of_the_queue(memory: Memory, local: LocalBackend, tmp_path: Path) -> None:
    memory.remember("the canary sings", id="a", key="k")
    memory.remember("kept", id="b")
    memory.relate("b", "a", note="the canary again")
    outbox = Outbox(local)
    unit = outbox.units(1)[0]
    local.database.write(lambda connection: refuse(connection, unit.number, "some reason"))
    memory.purge({"key": "k"})
    assert outbox.dead_letters() == []
    assert names(outbox) == [["b"], ["Purge"]]
    local.close()
    assert b"canary" not in (tmp_path / "memory.db").read_bytes()


def test_dead_letters_are_kept_shown_and_queued_again(memory: Memory, local: LocalBackend) -> None:
    memory.remember("one", id="a")
    memory.remember("two", id="b")
    outbox = Outbox(local)
    first = outbox.units(1)[0]
    local.database.write(lambda connection: refuse(connection, first.number, "the id names another memory"))
    assert names(outbox) == [["b"]]
    assert outbox.refused("acme", [first.version]) == "the id names another memory"
    (letter,) = outbox.dead_letters()
    assert (letter.op, letter.namespace, letter.reason) == ("remember", "acme", "the id names another memory")
    assert outbox.retry() == 1
    assert names(outbox) == [["b"], ["a"]]
    assert outbox.dead_letters() == []


def test_numbers_are_never_used_twice(memory: Memory, local: LocalBackend) -> None:
    outbox = Outbox(local)
    memory.remember("one")
    first = outbox.newest()
    outbox.done(outbox.units(1), {})
    memory.remember("two")
    assert outbox.newest() > first


def test_a_cursor_moves_with_our_own_write_only_if_nothing_else_came_between(
    memory: Memory, local: LocalBackend
) -> None:
    outbox = Outbox(local)
    local.database.write(lambda connection: set_cursor(connection, "acme", 4))
    memory.remember("one")
    outbox.done(outbox.units(1), {"acme": 5})
    assert outbox.cursors() == {"acme": 5}
    memory.remember("two")
    outbox.done(outbox.units(1), {"acme": 7})
    assert outbox.cursors() == {"acme": 5}


def test_the_breaker_closes_when_what_waited_at_the_probe_is_pushed() -> None:
    breaker = Breaker()
    assert breaker.closed
    breaker.fail("gone")
    assert (breaker.state, breaker.error) == ("open", "gone")
    assert not breaker.closed
    breaker.answered(mark=7)
    assert breaker.state == "half_open"
    breaker.pushed(waits=True)
    assert breaker.state == "half_open"
    breaker.pushed(waits=False)
    assert breaker.closed
    assert breaker.error is None


def test_the_breaker_waits_longer_each_time_and_never_in_step() -> None:
    breaker = Breaker()
    longest = []
    for _ in range(12):
        breaker.fail("gone")
        delays = [breaker.delay() for _ in range(50)]
        assert len(set(delays)) > 1
        longest.append(max(delays))
    assert longest[0] <= 0.2
    assert longest[3] > longest[0]
    assert max(longest) <= 30.0


def test_patience_is_lost_for_a_while_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience()
    assert patience.lost is None
    pauses = []
    for _ in range(5):
        patience.lose("slow")
        patience.lose("slow")  # who waited at the same time
        began = now
        while patience.lost == "slow":
            now += 0.25
        pauses.append(now - began)
    assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0]
    patience.lose("slow")
    patience.renew()
    assert patience.lost is None
