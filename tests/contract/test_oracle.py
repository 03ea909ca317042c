"""The model that judges the stores keeps the laws itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.operations import Operation
from tests.operation_sets import arrivals, operation_sets, probes
from tests.oracle import Oracle


@settings(max_examples=500)
@given(st.data())
def test_any_order_and_any_repetition_give_one_view(data: st.DataObject) -> None:
    operations: list[Operation] = data.draw(operation_sets(max_size=14))
    if not operations:
        return
    straight = Oracle(operations)
    shuffled = Oracle(op for chunk in data.draw(arrivals(operations)) for op in chunk)
    assert shuffled.view() == straight.view()
    for late in probes(operations):
        straight.apply(late)
        shuffled.apply(late)
    assert shuffled.view() == straight.view()
    assert (shuffled.tombs, shuffled.buried, shuffled.slots) == (straight.tombs, straight.buried, straight.slots)
    for namespace, key in straight.slots_used():
        heads = [
            op
            for op, status in straight.entries().values()
            if (op.namespace, op.key) == (namespace, key) and status == "active"
        ]
        assert len(heads) <= 1
        assert all(head.version >= straight.slots.get((namespace, key), "") for head in heads)
