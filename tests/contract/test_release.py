"""What `release`, `undo` and `feedback` promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError, NotFoundError
from memgraph.models import Filters, Status
from tests.conftest import FrozenClock


def test_release_has_no_cap(memory: Memory) -> None:
    """Every active memory that holds every query term is released, and no other."""
    memory.remember_many([{"content": f"the secret project number {n}"} for n in range(150)])
    keep = memory.remember("a project without the other word")
    done = memory.release("secret project")
    assert len(done.changes) == 150
    assert all((c.before, c.after) == ("active", "released") for c in done.changes)
    assert [e.id for e in memory.list()] == [keep.id]
    assert memory.count(Filters(status="released")) == 150


def test_release_by_filters_and_dry_run(memory: Memory) -> None:
    """Filters narrow a release; a dry run says what it would do and does nothing; no argument at all is refused."""
    a = memory.remember("zebra one", tags=["x"])
    memory.remember("zebra two")
    plan = memory.release("zebra", Filters(tags=["x"]), dry_run=True)
    assert ([c.id for c in plan.changes], plan.dry_run) == ([a.id], True)
    assert memory.count() == 2
    assert [c.id for c in memory.release(filters=Filters(tags=["x"])).changes] == [a.id]
    for arguments in ({}, {"filters": Filters()}, {"query": "  "}):
        with pytest.raises(InvalidInputError):
            memory.release(**arguments)
    assert memory.count() == 1


def test_a_release_of_nothing(memory: Memory) -> None:
    """When nothing matches nothing changes, and the change-set says so."""
    memory.remember("a")
    assert memory.release("volcano").changes == ()
    assert memory.count() == 1


def test_undo_takes_a_release_back(memory: Memory) -> None:
    """`undo` makes active what the change-set retired: keyed memories as copies on top, others in place."""
    plain = memory.remember("zebra plain")
    keyed = memory.remember("zebra keyed", key="k")
    done = memory.release("zebra")
    undone = memory.undo(done.id)
    assert undone.undoes == done.id
    assert {c.id for c in undone.changes} == {plain.id, keyed.id}
    assert memory.get(plain.id).status == "active"
    copies = {c.id: c.restored_as for c in undone.changes if c.restored_as}
    assert memory.current("k").id == copies[keyed.id]
    assert len(memory.search("zebra")) == 2


def test_what_is_brought_back_together_keeps_its_order_and_its_relations(memory: Memory, clock: FrozenClock) -> None:
    """Copies that an undo makes follow one another as their originals did, and are related to each other as those were."""
    first = memory.remember("zebra one", key="one")
    clock.advance()
    second = memory.remember("zebra two", key="two")
    other = memory.remember("a lion")
    memory.relate(first.id, second.id, "knows", weight=0.5, note="of old")
    memory.relate(second.id, other.id, "fears")
    clock.advance()
    memory.undo(memory.release("zebra").id)
    one, two = memory.current("one"), memory.current("two")
    assert one is not None
    assert two is not None
    assert one.version < two.version
    relations = {
        (edge.source_id, edge.target_id, edge.type, edge.weight, edge.note)
        for entry in (one, two)
        for edge in memory.neighbours(entry.id).edges
    }
    assert relations == {(one.id, two.id, "knows", 0.5, "of old"), (two.id, other.id, "fears", 1.0, None)}


def test_undo_leaves_what_changed_since(memory: Memory) -> None:
    """What was written to a key after the release stays current; undo never overwrites it."""
    memory.remember("zebra old", key="k")
    done = memory.release("zebra")
    newer = memory.remember("lion new", key="k")
    memory.undo(done.id)
    assert memory.current("k").id == newer.id


def test_undo_leaves_what_expired_since(memory: Memory, clock: FrozenClock) -> None:
    """What would be over by now had it never been released stays out of use; `restore` still brings it back."""
    plain = memory.remember("zebra plain", ttl=60)
    keyed = memory.remember("zebra keyed", key="k", ttl=60)
    lasting = memory.remember("zebra lasting", ttl=6000)
    done = memory.release("zebra")
    clock.advance(61)
    assert {each.id for each in memory.undo(done.id, dry_run=True).changes} == {lasting.id}
    assert {each.id for each in memory.undo(done.id).changes} == {lasting.id}
    assert {hit.entry.id for hit in memory.search("zebra")} == {lasting.id}
    assert memory.current("k") is None
    assert memory.get(lasting.id).expires_at == lasting.expires_at
    for each in (plain, keyed):
        assert memory.restore(each.id).expires_at is None


def test_undo_of_a_restore_leaves_what_expired_since(memory: Memory, clock: FrozenClock) -> None:
    """The value that a restored copy had replaced does not come back when it would be over by now."""
    first = memory.remember("first", key="k")
    clock.advance()
    memory.remember("second", key="k", ttl=60)
    clock.advance()
    memory.restore(first.id)
    (changeset,) = [act.details["changeset"] for act in memory.audit()]
    clock.advance(61)
    assert [change.after for change in memory.undo(changeset).changes] == ["released"]
    assert memory.current("k") is None


def test_undo_twice_and_undo_of_nothing(memory: Memory) -> None:
    """Undoing twice changes nothing; an unknown change-set, or one of another namespace, is not found."""
    memory.remember("zebra", key="k")
    done = memory.release("zebra")
    undone = memory.undo(done.id)
    assert memory.undo(done.id) == undone
    assert len(memory.history("k")) == 2
    with pytest.raises(NotFoundError):
        memory.undo("no-such-changeset")
    with pytest.raises(NotFoundError):
        memory.namespace("elsewhere").undo(done.id)
    assert memory.count() == 1


def test_feedback_counts_and_weighs(memory: Memory) -> None:
    """Feedback is a set of signals that moves what a search trusts, never the confidence that was given."""
    a, b = memory.remember("zebra one", confidence=0.5), memory.remember("zebra two", confidence=0.5)
    first = memory.feedback([a.id, b.id], 1.0)
    assert [e.id for e in first] == [a.id, b.id]
    (entry,) = memory.feedback([a.id], -0.5)
    assert (entry.feedback_count, entry.feedback_sum, entry.confidence) == (2, 0.5, 0.5)
    verified = memory.feedback([b.id], 1.0, verified=True)[0]
    assert verified.feedback_sum > memory.get(a.id).feedback_sum
    assert memory.get(b.id) == verified


def test_feedback_ranks(memory: Memory) -> None:
    """Of two memories that match alike the one that helped comes before the one that harmed."""
    a, b = memory.remember("a zebra in the zoo"), memory.remember("the zebra in a zoo")
    rankings = ("memgraph", "aegis")
    assert [hit.entry.id for hit in memory.search("zebra zoo")] == [b.id, a.id]
    for good, bad, times in ((b, a, 5), (a, b, 12)):
        for _ in range(times):
            memory.feedback([bad.id], -1.0)
            memory.feedback([good.id], 1.0)
        for ranking in rankings:
            assert [hit.entry.id for hit in memory.search("zebra zoo", ranking=ranking)] == [good.id, bad.id]
    hit = memory.search("zebra zoo", explain=True)[0]
    assert hit.why is not None
    assert hit.why["feedback"] == 2.0
    assert sum(hit.why.values()) == pytest.approx(hit.score)


def test_what_feedback_refuses(memory: Memory) -> None:
    """What is no number, and unknown ids, are refused for all ids or none; a signal is cut to -1 to 1."""
    a, b = memory.remember("a"), memory.remember("b")
    assert [memory.feedback(b.id, signal)[0].feedback_sum for signal in (7, -7)] == [1.0, 0.0]
    for signal in (float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInputError):
            memory.feedback([a.id], signal)
    with pytest.raises(NotFoundError):
        memory.feedback([a.id, "no-such-id"], 1.0)
    assert memory.get(a.id).feedback_count == 0
    assert memory.feedback([], 1.0) == []


def test_undo_names_what_it_brought_back(memory: Memory) -> None:
    """An undo's changes name the memories that the change-set retired, what they were, and as what they came back."""
    root = memory.remember("zebra", key="k")
    memory.forget(key="k")
    copy = memory.restore(root.id)
    done = memory.release("zebra")
    assert [(c.id, c.before, c.after) for c in done.changes] == [(copy.id, "active", "released")]
    (change,) = memory.undo(done.id).changes
    assert (change.id, change.before, change.after) == (copy.id, "released", "active")
    assert memory.current("k").id == change.restored_as


def test_restore_of_a_keys_value(memory: Memory, clock: FrozenClock) -> None:
    """By its version, by an instant, or the newest that is not current; never two active ones on a key."""
    first = memory.remember("one", key="k")
    then = clock.now
    clock.advance()
    second = memory.remember("two", key="k")
    clock.advance()
    assert memory.restore(key="k").content == "one"
    assert memory.restore(key="k", to=second.version).content == "two"
    assert memory.restore(key="k", to=then).content == "one"
    assert memory.restorable(key="k", to=first.version).id == first.id
    for future in (clock.now + timedelta(seconds=1), datetime(2999, 1, 1, tzinfo=UTC)):
        for call in (memory.restore, memory.restorable):
            with pytest.raises(InvalidInputError, match="future"):
                call(key="k", to=future)
    now = memory.current("k")
    assert now is not None
    assert memory.restorable(key="k", to=now.recorded_at) == now, "its version may run ahead of the clock"
    assert sum(entry.status is Status.ACTIVE for entry in memory.history("k")) == 1
    memory.forget(key="k")
    assert memory.restore(key="k").content == "one"
    for wrong in ({"key": "k", "to": then - timedelta(days=9)}, {"key": "nothing"}, {"key": "k", "to": "x"}):
        with pytest.raises(NotFoundError):
            memory.restore(**wrong)
    for wrong in ({}, {"id": first.id, "key": "k"}, {"id": first.id, "to": then}):
        with pytest.raises(InvalidInputError):
            memory.restore(**wrong)


def test_the_undoing_of_a_restore_brings_back_what_it_had_replaced(memory: Memory, clock: FrozenClock) -> None:
    first = memory.remember("one", key="k")
    clock.advance()
    memory.remember("two", key="k")
    clock.advance()
    memory.restore(first.id)
    clock.advance()
    assert memory.current("k").content == "one"  # type: ignore[union-attr]
    (changeset,) = [act.details["changeset"] for act in memory.audit()]
    would = memory.undo(changeset, dry_run=True)
    assert [change.after for change in would.changes] == ["released", "active"]
    done = memory.undo(changeset)
    assert [(change.id, change.after) for change in done.changes] == [(each.id, each.after) for each in would.changes]
    assert memory.current("k").content == "two"  # type: ignore[union-attr]
    assert len(memory.list({"status": "active"}).items) == 1


def test_what_an_undo_would_do_is_what_it_does_to_a_copy(memory: Memory, clock: FrozenClock) -> None:
    """A restored copy that was released is told as itself, not as what it is a copy of."""
    memory.remember("one", id="origin", key="k")
    clock.advance()
    memory.forget("origin")
    copy = memory.restore("origin")
    clock.advance()
    released = memory.release("one")
    would, done = memory.undo(released.id, dry_run=True), memory.undo(released.id)
    for each in (would, done):
        assert [(change.id, change.before, change.after) for change in each.changes] == [
            (copy.id, "released", "active")
        ]
