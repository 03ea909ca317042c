"""What a key promises: one current value, the latest written, with a condition if the caller wants one."""

from __future__ import annotations

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError
from tests.conftest import FrozenClock


def test_the_latest_write_wins(memory: Memory) -> None:
    """A keyed write supersedes the one before; reads show only the newest."""
    old = memory.remember("Porto", key="ada/city")
    new = memory.remember("Berlin", key="ada/city")
    assert memory.current("ada/city") == memory.get(new.id) == new
    assert memory.get(old.id).status == "superseded"
    assert memory.get(old.id).superseded_by == new.id
    assert [e.id for e in memory.list()] == [new.id]


def test_an_unknown_key_has_no_current_value(memory: Memory) -> None:
    """`current` of a key nobody wrote is None."""
    assert memory.current("nobody") is None


def test_memories_without_a_key_never_replace_each_other(memory: Memory) -> None:
    """Supersession is by key or by explicit call, never by similarity."""
    for _ in range(3):
        memory.remember("Ada lives in Porto")
    assert memory.count() == 3


def test_same_instant_same_order(memory: Memory, clock: FrozenClock) -> None:
    """Writes within one tick of the clock stay in their order."""
    for n in range(5):
        memory.remember(f"v{n}", key="k")
    assert memory.current("k").content == "v4"
    assert [e.content for e in memory.history("k")] == [f"v{n}" for n in range(5)]


def test_expected_version(memory: Memory) -> None:
    """`expected_version` writes only over the version named; else a conflict, and nothing written."""
    first = memory.remember("one", key="k")
    second = memory.remember("two", key="k", expected_version=first.version)
    with pytest.raises(ConflictError):
        memory.remember("three", key="k", expected_version=first.version)
    with pytest.raises(ConflictError):
        memory.remember("three", key="fresh", expected_version=first.version)
    assert memory.current("k") == second
    assert len(memory.history("k")) == 2


def test_if_absent(memory: Memory, clock: FrozenClock) -> None:
    """`if_absent` writes only where the key has no current value: never written, forgotten or expired."""
    memory.remember("one", key="k", if_absent=True, ttl=60)
    with pytest.raises(ConflictError):
        memory.remember("two", key="k", if_absent=True)
    clock.advance(60)
    memory.remember("three", key="k", if_absent=True)
    memory.forget(key="k")
    memory.remember("four", key="k", if_absent=True)
    assert memory.current("k").content == "four"


def test_a_condition_needs_a_key(memory: Memory) -> None:
    """Conditions are about a key's current value, so they need a key."""
    for condition in ({"expected_version": "000000000001-0000-00000000"}, {"if_absent": True}):
        with pytest.raises(InvalidInputError):
            memory.remember("x", **condition)


def test_a_condition_in_a_batch_refuses_the_whole_batch(memory: Memory) -> None:
    """A condition that does not hold leaves nothing of the batch behind."""
    memory.remember("one", key="k")
    with pytest.raises(ConflictError):
        memory.remember_many([{"content": "a", "key": "j"}, {"content": "b", "key": "k", "if_absent": True}])
    assert memory.current("j") is None


def test_a_write_about_the_past_never_becomes_current(memory: Memory, clock: FrozenClock) -> None:
    """A keyed write that was over before it was recorded joins the history, without an edge, and replaces nothing."""
    now = memory.remember("Berlin", key="city")
    clock.advance()
    past = memory.remember("Porto", key="city", valid_to=clock.now)
    assert past.status == "superseded"
    assert memory.current("city") == now
    assert [e.id for e in memory.history("city")] == [now.id, past.id]
    assert memory.lineage("city").edges == ()
    only = memory.remember("long ago", key="empty", valid_to=clock.now)
    assert only.status == "superseded"
    assert memory.current("empty") is None


def test_keys_are_as_typed(memory: Memory) -> None:
    """Keys differ by case, blanks and punctuation; only composed and decomposed letters are the same."""
    for key in ("k", "K", "k ", " k", "k/", "../k", "-k", "k.k", "null", "0"):
        memory.remember(f"value of {key}", key=key)
    assert [memory.current(key).content for key in ("k ", "K")] == ["value of k ", "value of K"]
    memory.remember("composed", key="caf\u00e9")
    assert memory.current("cafe\u0301").content == "composed"
