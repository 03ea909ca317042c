"""The laws of the store, judged by the oracle over shuffled and duplicated operation sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.operations import Operation
from tests.conftest import FrozenClock
from tests.operation_sets import arrivals, instant, lines, moved, operation_sets, probes
from tests.oracle import Oracle
from tests.views import view_of

_fresh = itertools.count(1)


@pytest.fixture
def spare(make_memory: Callable[..., Memory]) -> Memory:
    """A second, empty store."""
    return make_memory(store="spare")


def fresh_names(memory: Memory) -> dict[str, str]:
    """Two namespaces that nothing was written to yet."""
    n = next(_fresh)
    return {name: f"{memory.path}/law{n}/{name}" for name in "xy"}


def apply_all(memory: Memory, operations: list[Operation], chunks: list[list[Operation]]) -> tuple[Oracle, list[str]]:
    """Apply chunks in two namespaces of their own; the oracle gets the same operations in version order."""
    names = fresh_names(memory)
    for chunk in chunks:
        memory.backend.apply(moved(chunk, names))
    return Oracle(moved(operations, names)), list(names.values())


def differences(got: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """What two views do not agree on, for a message that a person can read."""
    return {name: (got[name], want[name]) for name in want if got[name] != want[name]}


@given(data=st.data())
def test_any_arrival_gives_the_same_graph(data: st.DataObject, memory: Memory, clock: FrozenClock) -> None:
    """Operations shuffled, repeated and in any chunks end in the oracle's view, and bury the same late writes."""
    operations = data.draw(operation_sets())
    oracle, namespaces = apply_all(memory, operations, data.draw(arrivals(operations)))
    assert not differences(view_of(memory.backend, namespaces, clock.now), oracle.view())
    late = moved(probes(operations), dict(zip("xy", namespaces, strict=True)))
    memory.backend.apply(late)
    for op in late:
        oracle.apply(op)
    assert not differences(view_of(memory.backend, namespaces, clock.now), oracle.view())


@given(data=st.data())
def test_applying_again_changes_nothing(data: st.DataObject, memory: Memory, clock: FrozenClock) -> None:
    """Applying what is already there reports no change and makes none."""
    operations = data.draw(operation_sets())
    _, namespaces = apply_all(memory, operations, [operations])
    before = view_of(memory.backend, namespaces, clock.now)
    again = moved(operations, dict(zip("xy", namespaces, strict=True)))
    assert memory.backend.apply(again) == 0
    assert not differences(view_of(memory.backend, namespaces, clock.now), before)


@given(data=st.data())
def test_every_instant_is_remembered(data: st.DataObject, memory: Memory, clock: FrozenClock) -> None:
    """`current` now, known at any instant and valid at any instant, and `snapshot`, are the oracle's."""
    operations = data.draw(operation_sets())
    oracle, namespaces = apply_all(memory, operations, data.draw(arrivals(operations)))
    moments = [instant(n) for n in range(-8, 30, 3)]
    knowns = data.draw(st.lists(st.sampled_from(moments), min_size=3, max_size=3))

    def shown(namespace: str, key: str, known: datetime | None = None, valid: datetime | None = None) -> str | None:
        entry = memory.backend.current(namespace, key, clock.now, known_at=known, valid_at=valid)
        return entry and entry.id

    for ns, key in itertools.product(namespaces, ("k", "j")):
        assert shown(ns, key) == oracle.current(ns, key, clock.now)
        for moment in moments:
            assert shown(ns, key, known=moment) == oracle.current(ns, key, clock.now, known_at=moment)
            assert shown(ns, key, valid=moment) == oracle.valid_at(ns, key, moment)
            for known in knowns:
                assert shown(ns, key, known=known, valid=moment) == oracle.valid_at(ns, key, moment, known)
    for ns, moment in itertools.product(namespaces, [*knowns, moments[-1]]):
        want = sorted((op.version, op.id, status) for (n, _), (op, status) in oracle.entries(moment).items() if n == ns)
        assert [(e.version, e.id, str(e.status)) for e in memory.backend.snapshot(ns, moment)] == want


@given(data=st.data())
def test_a_line_is_true_at_every_instant(data: st.DataObject, memory: Memory, clock: FrozenClock) -> None:
    """What a key's value was in the world, at any instant and as known at any, is the oracle's."""
    ns, key = memory.path, f"line {next(_fresh)}"
    operations = data.draw(lines(ns, key))
    oracle = Oracle(operations)
    tag = key.replace(" ", "")
    renamed = [op.model_copy(update={"id": f"{tag}-{op.id}", "op_id": f"{tag}-{op.op_id}"}) for op in operations]
    memory.backend.apply(data.draw(st.permutations(renamed)))
    known = instant(data.draw(st.integers(0, 8)))
    for moment in (instant(n) for n in range(-8, 16)):
        for then in (None, known):
            entry = memory.backend.current(ns, key, clock.now, known_at=then, valid_at=moment)
            wanted = oracle.valid_at(ns, key, moment, then)
            assert (entry and entry.id) == (wanted and f"{tag}-{wanted}")


@given(data=st.data())
def test_the_laws_hold_at_every_moment(data: st.DataObject, memory: Memory, clock: FrozenClock) -> None:
    """After every chunk of an arrival, not only at its end, the store shows what the oracle makes of what came so far."""
    operations = data.draw(operation_sets(max_size=16))
    names = fresh_names(memory)
    oracle = Oracle()
    for chunk in data.draw(arrivals(operations)):
        memory.backend.apply(moved(chunk, names))
        for op in moved(chunk, names):
            oracle.apply(op)
        assert not differences(view_of(memory.backend, names.values(), clock.now), oracle.view())
        for ns, key in itertools.product(names.values(), ("k", "j")):
            current = memory.backend.current(ns, key, clock.now)
            assert (current and current.id) == oracle.current(ns, key, clock.now)


@given(data=st.data())
def test_a_store_can_be_told_to_another(data: st.DataObject, memory: Memory, spare: Memory, clock: FrozenClock) -> None:
    """What `operations` yields, buried and applied elsewhere in any order, gives an equal store, tombstones too."""
    operations = data.draw(operation_sets())
    oracle, namespaces = apply_all(memory, operations, [operations])
    told = [found for ns in namespaces for found in memory.backend.operations(Scope(ns))]
    spare.backend.bury(found for found in told if isinstance(found, dict))
    rest = [found for found in told if not isinstance(found, dict)]
    spare.backend.apply(data.draw(st.permutations(rest)))
    late = moved(probes(operations), dict(zip("xy", namespaces, strict=True)))
    spare.backend.apply(late)
    for op in late:
        oracle.apply(op)
    assert not differences(view_of(spare.backend, namespaces, clock.now), oracle.view())
