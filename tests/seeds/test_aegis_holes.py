"""Cases 9 to 12 of aegis's own tests, and the holes of its memory, each shown closed.

What test_aegis.py has is not here again: three keyed writes and a restore, a purge beyond the cap, kinds. Those of its
composites are in test_aegis_composites.py, those of its mutation hook in tests/unit/test_agent_judge.py, and that one failure
does not end recall for good in tests/unit/test_agent_trouble.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError, NotFoundError, StoreCorruptError
from memgraph.models import Filters, Selector, Status
from tests.conftest import FrozenClock

ANY = Filters(status="any")
BLANK = pytest.mark.parametrize("blank", ["", "  "])


def test_9_forget_by_a_query(memory: Memory) -> None:
    memory.remember("the password is in the vault")
    memory.remember("the vault is blue")
    assert len(memory.release("password").changes) == 1
    assert memory.search("password").hits == ()
    assert memory.count() == 1


def test_10_update_by_key(memory: Memory) -> None:
    memory.remember("the password is in the vault", key="password/place")
    memory.remember("the password is in the drawer", key="password/place")
    assert [hit.entry.content for hit in memory.search("password")] == ["the password is in the drawer"]


@pytest.mark.usefixtures("local_only")
def test_11_what_was_written_is_read_back(make_memory: Callable[..., Memory]) -> None:
    """One line and five; a file that is not there is an empty store. Nothing waits for the session's end to be saved."""
    assert make_memory(store="missing").list(ANY).items == ()
    for count in (1, 5):
        memory = make_memory(store=f"wal{count}")
        for n in range(count):
            memory.remember(f"line {n}")
        memory.close()
        assert [entry.content for entry in make_memory(store=f"wal{count}").list()][::-1] == [
            f"line {n}" for n in range(count)
        ]


def test_12_a_drawer(memory: Memory, clock: FrozenClock) -> None:
    """Use raises what a memory is worth, nothing takes it below 0, and a link made twice is one."""
    memory.remember("zebra", id="a", confidence=0.7)
    memory.remember("zebra", id="b", confidence=0.7)
    memory.feedback("b", 1)
    assert [hit.entry.id for hit in memory.search("zebra", ranking="aegis")] == ["b", "a"]
    memory.relate("a", "b")
    memory.relate("a", "b")
    assert len(memory.neighbours("a").edges) == 1


def test_no_signal_takes_confidence_outside_of_0_to_1(memory: Memory) -> None:
    """A signal of -20 made it -1.1, and recall with context more than 1."""
    for signal in (-20, 20):
        entry = memory.remember("zebra", confidence=0.8)
        for _ in range(15):
            memory.feedback(entry.id, signal)
        (hit,) = memory.search("zebra", ranking="aegis", explain=True, context="zebra stripes", limit=1)
        worth = memory.search("zebra", ranking="loopctl", limit=10)
        assert all(0.1 + 0.4 <= found.score <= 1.0 for found in worth)
        assert 0 <= hit.entry.confidence <= 1
        memory.forget(entry.id)


def test_an_id_that_is_taken_overwrites_nothing(memory: Memory) -> None:
    """Ids of nanoseconds collided, and the later write replaced the earlier."""
    memory.remember("first", id="mem-1")
    with pytest.raises(ConflictError):
        memory.remember("second", id="mem-1")
    assert memory.get("mem-1").content == "first"
    assert len({entry.id for entry in memory.remember_many(["x"] * 500)}) == 500


@BLANK
def test_a_blank_query_is_an_error_and_listing_is_a_verb(memory: Memory, blank: str) -> None:
    """Its list asked search for "", which finds nothing."""
    memory.remember("zebra")
    with pytest.raises(InvalidInputError):
        memory.search(blank)
    assert len(memory.list()) == 1


def test_words_of_the_conversation_nudge_and_do_not_decide(memory: Memory) -> None:
    """Its recall with context dropped the score of the text: what was trusted came before what was asked for."""
    memory.remember("the nginx server listens on port 443", confidence=0.3)
    memory.remember("the server room is cold", confidence=1.0)
    memory.remember("nginx was written in 2004", confidence=0.9)
    found = memory.search("nginx server port", context="we talked about a cold room and the year 2004")
    assert found[0].entry.content == "the nginx server listens on port 443"


def test_reading_changes_nothing(memory: Memory) -> None:
    """Its access counts were never raised and yet counted; here a read is a read, and worth comes from feedback."""
    entry = memory.remember("zebra")
    before = memory.search("zebra", explain=True)
    for _ in range(5):
        memory.search("zebra")
        memory.get(entry.id)
    assert memory.search("zebra", explain=True) == before
    assert memory.get(entry.id) == entry


def test_nothing_is_superseded_by_a_ghost(memory: Memory) -> None:
    """An unknown new one hid the old one, an unknown old one passed for done."""
    entry = memory.remember("zebra")
    for old, new in ((entry.id, "ghost"), ("ghost", entry.id), ("ghost", "spectre")):
        with pytest.raises(NotFoundError):
            memory.supersede(old, new)
    assert memory.get(entry.id) == entry


def test_every_replacement_is_linked(memory: Memory) -> None:
    """A keyed write left no link but the pointer of the old one."""
    a, b = memory.remember("a", key="k"), memory.remember("b", key="k")
    (edge,) = memory.lineage("k").edges
    assert (edge.source_id, edge.target_id, edge.via) == (b.id, a.id, "key")


def test_forgetting_leaves_no_pointer_to_nothing(memory: Memory) -> None:
    """It deleted for good, and what the entry had replaced pointed at nothing."""
    a, b = memory.remember("a", key="k"), memory.remember("b", key="k")
    memory.forget(b.id)
    successor = memory.get(a.id).superseded_by
    assert successor == b.id
    assert memory.get(successor).content == "b"
    assert memory.restore(b.id).content == "b"


def test_release_and_purge_do_not_stop_at_a_page(memory: Memory) -> None:
    """It released the first 20 and purged the first 50, active ones only."""
    memory.remember_many([f"private matter {n}" for n in range(75)])
    assert len(memory.release("private matter").changes) == 75
    assert memory.count() == 0
    assert memory.purge(Selector(text="private matter")).removed["memories"] == 75


def test_everything_can_be_listed(memory: Memory, clock: FrozenClock) -> None:
    """Newest first; what is over only where it is asked for, with its status."""
    memory.remember("expires", ttl=10)
    memory.remember("old", key="k")
    memory.remember("new", key="k")
    memory.forget(memory.remember("forgotten").id)
    clock.advance(11)
    assert [(entry.content, entry.status) for entry in memory.list(ANY)] == [
        ("forgotten", Status.FORGOTTEN),
        ("new", Status.ACTIVE),
        ("old", Status.SUPERSEDED),
        ("expires", Status.EXPIRED),
    ]
    assert [entry.content for entry in memory.list()] == ["new"]


def test_pruning_spares_what_is_pinned_and_vouched_for(memory: Memory) -> None:
    """Its prune looked at neither. A pin is a field here, not a source, and an automatic write is nobody's word."""
    memory.remember("pinned", confidence=0.01, pinned=True)
    memory.remember("the user said so", confidence=0.01, trust="user")
    memory.remember("sourced by the user", confidence=0.01, source="user")
    automatic = memory.remember("automatic")
    assert (automatic.trust, automatic.pinned) == ("agent", False)
    memory.consolidate()
    assert {entry.content for entry in memory.list()} == {"pinned", "the user said so", "automatic"}


def test_a_tag_finds_what_is_tagged(memory: Memory) -> None:
    """Its search by tag returned whatever was trusted."""
    memory.remember("tagged", tags=["rust"], trust="external")
    memory.remember("trusted", trust="user")
    assert [entry.content for entry in memory.list(Filters(tags=("rust",)))] == ["tagged"]


@pytest.mark.usefixtures("local_only")
def test_a_damaged_file_is_an_error_and_never_an_empty_store(
    make_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    make_memory(store="damaged").remember("zebra")
    path = tmp_path / "damaged" / "memory.db"
    make_memory(store="damaged").close()
    for side in path.parent.iterdir():
        side.write_bytes(b"{not a store of ours}" * 300)
    with pytest.raises(StoreCorruptError):
        Memory.open(path)
    assert path.read_bytes().startswith(b"{not"), "and it is left as it is"


@pytest.mark.usefixtures("local_only")
def test_nothing_is_dropped_at_a_cap(memory: Memory) -> None:
    """It held 5,000 at most, fewer on a full disk."""
    memory.remember_many([f"fact {n}" for n in range(5001)])
    assert memory.count() == 5001


def test_old_age_takes_three_tenths_at_most_and_a_use_makes_up_for_it(memory: Memory, clock: FrozenClock) -> None:
    """What stands against fading is feedback: a memory that proved useful outlives one that did not."""
    useful, useless = memory.remember("useful", confidence=0.3), memory.remember("useless", confidence=0.3)
    memory.feedback(useful.id, 1)
    clock.advance(timedelta(days=400).total_seconds())
    memory.consolidate()
    assert memory.get(useful.id).status is Status.ACTIVE
    assert memory.get(useless.id).status is Status.PRUNED
