"""What `forget` and `restore` promise."""

from __future__ import annotations

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError, NotFoundError
from memgraph.models import Filters, Selector, Status
from tests.conftest import FrozenClock


def test_forget_takes_out_of_use_and_keeps(memory: Memory) -> None:
    """A forgotten memory is neither current, listed nor found, but can be read by its id and in its history."""
    entry = memory.remember("the blue door", key="k")
    gone = memory.forget(entry.id, reason="moved")
    assert (gone.id, gone.status) == (entry.id, "forgotten")
    assert memory.current("k") is None
    assert memory.list().items == ()
    assert len(memory.search("blue door")) == 0
    assert memory.get(entry.id).content == "the blue door"
    assert [e.id for e in memory.history("k")] == [entry.id]


def test_forget_by_key_is_the_current_value(memory: Memory) -> None:
    """`forget(key=...)` retires the current value; no older one takes its place."""
    memory.remember("a", key="k")
    b = memory.remember("b", key="k")
    assert memory.forget(key="k").id == b.id
    assert memory.current("k") is None
    assert memory.list().items == ()


def test_forgetting_an_old_version_leaves_the_current_one(memory: Memory) -> None:
    """Retiring what was already replaced changes nothing about what is current."""
    a, b = memory.remember("a", key="k"), memory.remember("b", key="k")
    assert memory.forget(a.id).status == "forgotten"
    assert memory.current("k").id == b.id


def test_unknown_names_are_not_found(memory: Memory) -> None:
    """Forgetting or restoring what is not there is not found, never a silent success."""
    memory.remember("x", id="i", key="k")
    elsewhere = memory.namespace("elsewhere")
    for call in (
        lambda: memory.forget("no-such-id"),
        lambda: memory.forget(key="no-such-key"),
        lambda: memory.restore("no-such-id"),
        lambda: elsewhere.forget("i"),
        lambda: elsewhere.forget(key="k"),
        lambda: elsewhere.restore("i"),
    ):
        with pytest.raises(NotFoundError):
            call()
    for arguments in ({}, {"id": "i", "key": "k"}):
        with pytest.raises(InvalidInputError):
            memory.forget(**arguments)
    assert memory.current("k").id == "i"


def test_restore_unkeyed_is_in_place(memory: Memory) -> None:
    """A memory without a key becomes active again itself, in the same instant even; it is found again."""
    entry = memory.remember("the zebra")
    memory.forget(entry.id)
    assert memory.restore(entry.id) == entry
    assert memory.list().items == (entry,)
    assert len(memory.search("zebra")) == 1


def test_restore_keyed_is_a_copy_on_top(memory: Memory, clock: FrozenClock) -> None:
    """A keyed memory comes back as the key's newest version: a copy with its attributes and relations."""
    other = memory.remember("other")
    old = memory.remember("Porto", key="city", tags=["t"], metadata={"n": 1}, subject="ada", confidence=0.5)
    memory.relate(old.id, other.id, "knows", weight=0.5, note="n")
    memory.relate(other.id, old.id, "of")
    new = memory.remember("Berlin", key="city")
    clock.advance()
    back = memory.restore(old.id)
    assert back.id not in (old.id, new.id)
    assert (back.restores, back.content, back.tags, back.metadata, back.subject, back.confidence) == (
        *(old.id, "Porto", ("t",), {"n": 1}, "ada", 0.5),
    )
    assert memory.current("city").id == back.id
    assert [str(e.status) for e in memory.history("city")] == ["superseded", "superseded", "active"]
    edges = {(e.source_id, e.target_id, e.type, e.weight, e.note) for e in memory.neighbours(back.id).edges}
    assert edges == {(back.id, other.id, "knows", 0.5, "n"), (other.id, back.id, "of", 1.0, None)}
    found = memory.lineage("city")
    assert (back.id, old.id) in {(e.source_id, e.target_id) for e in found.edges if e.label == "RESTORES"}
    line = [(e.source_id, e.target_id) for e in found.edges if e.via == "key"]
    assert sorted(line) == sorted([(new.id, old.id), (back.id, new.id)])


def test_restore_of_a_forgotten_head(memory: Memory) -> None:
    """Forget and restore within one instant: exactly one active value, and it is found."""
    memory.remember("the zebra", key="k")
    memory.forget(key="k")
    back = memory.restore(memory.history("k")[0].id)
    assert memory.current("k") == back
    assert [hit.entry.id for hit in memory.search("zebra")] == [back.id]
    assert memory.count() == 1


def test_a_copy_of_a_copy_goes_back_to_the_root(memory: Memory) -> None:
    """`restores` names the root of a chain of copies."""
    root = memory.remember("a", key="k")
    memory.forget(key="k")
    copy = memory.restore(root.id)
    memory.forget(key="k")
    assert memory.restore(copy.id).restores == root.id


def test_restoring_what_is_active_changes_nothing(memory: Memory) -> None:
    """An active memory, keyed or not, comes back as it is."""
    for key in (None, "k"):
        entry = memory.remember("a", key=key)
        before = memory.count(Filters(status="any"))
        assert memory.restore(entry.id) == entry
        assert memory.count(Filters(status="any")) == before


def test_a_restored_copy_has_no_past_expiry(memory: Memory, clock: FrozenClock) -> None:
    """An expired keyed memory is restored without the expiry that has passed; one to come is kept."""
    old = memory.remember("a", key="k", ttl=60)
    clock.advance(60)
    back = memory.restore(old.id)
    assert (back.expires_at, memory.current("k").id) == (None, back.id)
    later = memory.remember("b", key="j", ttl=60)
    memory.forget(key="j")
    assert memory.restore(later.id).expires_at == later.expires_at


def test_an_expired_memory_without_a_key_is_restored_once(memory: Memory, clock: FrozenClock) -> None:
    """As a copy that does not expire; while that is active there is nothing to restore. Its relations are no copies of it."""
    other = memory.remember("other")
    old = memory.remember("a", ttl=60, relates_to=[other.id])
    assert memory.restore(old.id) == old, "not expired yet"
    clock.advance(60)
    assert memory.restorable(old.id).id == old.id
    back = memory.restore(old.id)
    assert (back.restores, back.status, back.expires_at) == (old.id, Status.ACTIVE, None)
    assert memory.restorable(old.id).id == back.id
    clock.advance()
    acts = len(memory.audit())
    assert memory.restore(old.id).id == back.id
    assert memory.restore(back.id).id == back.id
    assert sorted(entry.content for entry in memory.list()) == ["a", "other"]
    assert len(memory.audit()) == acts, "nothing was done"
    clock.advance()
    memory.forget(back.id)
    clock.advance()
    again = memory.restore(old.id)
    assert (again.restores, again.status) == (old.id, Status.ACTIVE)
    assert memory.restore(old.id).id == again.id
    assert memory.count() == 2


def test_a_purged_memory_does_not_come_back(memory: Memory) -> None:
    """Restoring a purged id is not found."""
    entry = memory.remember("secret", key="k")
    memory.purge(Selector(ids=[entry.id]))
    with pytest.raises(NotFoundError):
        memory.restore(entry.id)


def test_an_explicitly_replaced_memory_can_come_back(memory: Memory) -> None:
    """Restoring an unkeyed memory that another replaced makes it active again; both stand."""
    old, new = memory.remember("old"), memory.remember("new")
    memory.supersede(old.id, new.id)
    assert memory.restore(old.id).status == "active"
    assert memory.count() == 2
