"""What `history`, `lineage` and `diff` promise."""

from __future__ import annotations

import pytest

from memgraph import Memory
from memgraph.errors import NotFoundError
from memgraph.models import Selector
from tests.conftest import FrozenClock


def test_history_is_oldest_first_and_stays(memory: Memory) -> None:
    """A key's history holds every value it had, oldest first, replaced and forgotten ones too."""
    written = [memory.remember(text, key="k") for text in ("A", "B", "C")]
    memory.forget(key="k")
    memory.remember("D", key="k")
    found = memory.history("k")
    assert [e.content for e in found] == ["A", "B", "C", "D"]
    assert [str(e.status) for e in found] == ["superseded", "superseded", "forgotten", "active"]
    assert [e.content for e in memory.history(written[1].id)] == ["A", "B", "C", "D"]


def test_history_of_an_unkeyed_memory_is_what_it_is_linked_to(memory: Memory) -> None:
    """Memories that replace each other by explicit call share a history; others have one of their own."""
    a, b, c = (memory.remember(text) for text in "abc")
    memory.supersede(a.id, b.id)
    assert [e.id for e in memory.history(a.id)] == [e.id for e in memory.history(b.id)] == [a.id, b.id]
    assert [e.id for e in memory.history(c.id)] == [c.id]


def test_unknown_names_are_not_found(memory: Memory) -> None:
    """`history` and `lineage` of what is not there raise; so do they in another namespace."""
    memory.remember("x", id="i", key="k")
    elsewhere = memory.namespace("elsewhere")
    for ask in (elsewhere.history, elsewhere.lineage):
        for name in ("i", "k", "nothing"):
            with pytest.raises(NotFoundError):
                ask(name)


def test_lineage_is_one_line_a_key(memory: Memory, clock: FrozenClock) -> None:
    """A key's edges run from each version to the one before, with the reason given; the current one is named."""
    entries = []
    for n, text in enumerate("abc"):
        clock.advance()
        entries.append(memory.remember(text, key="k", reason=f"reason {n}"))
    found = memory.lineage("k")
    assert (found.key, found.current) == ("k", entries[2].id)
    assert [e.id for e in found.entries] == [e.id for e in entries]
    assert {(e.source_id, e.target_id, e.via, e.label) for e in found.edges} == {
        (entries[1].id, entries[0].id, "key", "SUPERSEDES"),
        (entries[2].id, entries[1].id, "key", "SUPERSEDES"),
    }
    assert {e.reason for e in found.edges} == {"reason 1", "reason 2"}


def test_lineage_tells_what_happened(memory: Memory, clock: FrozenClock) -> None:
    """Events are in order, with their reasons and times."""
    entry = memory.remember("a")
    forgotten_at = clock.advance()
    memory.forget(entry.id, reason="wrong")
    restored_at = clock.advance()
    memory.restore(entry.id)
    events = memory.lineage(entry.id).events
    assert [(e.id, e.cause, e.at) for e in events] == [
        (entry.id, "forgotten", forgotten_at),
        (entry.id, "restored", restored_at),
    ]
    assert events[0].reason == "wrong"


def test_a_name_that_is_key_and_id_is_the_key(memory: Memory) -> None:
    """A text that names both a key and a memory is taken as the key."""
    memory.remember("by id", id="both")
    keyed = memory.remember("by key", key="both")
    assert [e.id for e in memory.lineage("both").entries] == [keyed.id]


def test_a_forgotten_key_is_not_cut_off(memory: Memory) -> None:
    """A write to a key whose head was forgotten continues its line."""
    a = memory.remember("a", key="k")
    memory.forget(key="k")
    b = memory.remember("b", key="k")
    assert [(e.source_id, e.target_id) for e in memory.lineage("k").edges] == [(b.id, a.id)]


def test_diff_names_what_became_known(memory: Memory, clock: FrozenClock) -> None:
    """`diff` of two instants: what was added, what went, and what came back between them."""
    memory.remember("stays", id="stays")
    memory.remember("old", id="old", key="k")
    back = memory.remember("back", id="back")
    memory.forget(back.id)
    before = clock.advance()
    clock.advance()
    memory.remember("new", id="new", key="k")
    memory.restore(back.id)
    after = clock.advance()
    found = memory.diff(before, after)
    names = [tuple(e.id for e in part) for part in (found.added, found.removed, found.restored)]
    assert names == [("new",), ("old",), ("back",)]
    memory.purge(Selector(ids=["new"]))
    assert memory.diff(before, after).added == ()
