"""What `consolidate`, `check`, `stats` and `status` promise."""

from __future__ import annotations

import pytest

from memgraph import Memory
from memgraph.errors import ClosedError
from memgraph.models import Filters
from tests.conftest import FrozenClock


def test_prunes_what_is_worth_nothing(memory: Memory) -> None:
    """Memories below the threshold are pruned, as a change-set; a dry run only says so."""
    keep = memory.remember("good", confidence=0.9)
    drop = memory.remember("worthless", confidence=0.01)
    plan = memory.consolidate(dry_run=True)
    assert (plan.pruned, memory.count()) == ((drop.id,), 2)
    report = memory.consolidate()
    assert (report.before, report.after, report.pruned) == (2, 1, (drop.id,))
    assert [e.id for e in memory.list()] == [keep.id]
    assert memory.get(drop.id).status == "pruned"
    memory.undo(report.changeset)
    assert memory.get(drop.id).status == "active"


def test_pinned_and_vouched_for_are_never_pruned(memory: Memory, clock: FrozenClock) -> None:
    """Pinned memories and those of a user or the system stay, however old and weak, and are not touched."""
    kept = [
        memory.remember("pinned", confidence=0.0, pinned=True),
        memory.remember("user", confidence=0.0, trust="user"),
        memory.remember("system", confidence=0.0, trust="system"),
    ]
    memory.remember("external", confidence=0.0, trust="external")
    clock.advance(3 * 365 * 86400)
    assert len(memory.consolidate().pruned) == 1
    assert [memory.get(entry.id) for entry in kept] == kept


def test_age_wears_confidence_down(memory: Memory, clock: FrozenClock) -> None:
    """A weak memory is kept while it is fresh and pruned when it is old; decay is never written."""
    entry = memory.remember("weak", confidence=0.2)
    assert memory.consolidate().pruned == ()
    clock.advance(365 * 86400)
    assert memory.get(entry.id) == entry
    assert memory.consolidate().pruned == (entry.id,)


def test_twenty_runs_equal_one(memory: Memory) -> None:
    """Consolidating again at the same instant changes nothing."""
    for n in range(10):
        memory.remember(f"note number {n}", confidence=n / 10)
    memory.consolidate()
    before = memory.list(Filters(status="any")).items
    for _ in range(19):
        again = memory.consolidate()
        assert (again.pruned, again.expired, again.before, again.after) == ((), 0, again.before, again.before)
    assert memory.list(Filters(status="any")).items == before


def test_expired_ones_are_counted(memory: Memory, clock: FrozenClock) -> None:
    """Expired memories are counted and stay readable by id; they are not pruned."""
    entry = memory.remember("short", ttl=1, confidence=0.01)
    clock.advance()
    report = memory.consolidate()
    assert (report.expired, report.pruned) == (1, ())
    assert memory.get(entry.id).status == "expired"


def test_near_duplicates_are_reported_only(memory: Memory) -> None:
    """Memories that say nearly the same are named with their similarity, and both stay."""
    a = memory.remember("Ada lives in the city of Porto in Portugal")
    b = memory.remember("Ada lives in the city of Porto in sunny Portugal")
    memory.remember("Quite another matter altogether")
    (pair,) = memory.consolidate().duplicates
    assert {pair.a, pair.b} == {a.id, b.id}
    assert 0.6 <= pair.similarity <= 1
    assert memory.count() == 3


def test_check_and_stats_tell_the_truth(memory: Memory, backend_name: str) -> None:
    """A healthy store checks out; its counts are those of the reads."""
    a, b = memory.remember("a", key="k"), memory.remember("b", key="k")
    memory.relate(a.id, b.id)
    memory.namespace("below").remember("c")
    report = memory.check()
    assert (report.ok, report.problems) == (True, ())
    stats = memory.stats()
    assert (stats.entries, stats.keys, stats.relations) == (2, 1, 1)
    assert {str(status): n for status, n in stats.by_status.items() if n} == {"active": 1, "superseded": 1}
    if backend_name == "local":  # a server holds what other tests have written, too
        assert (stats.store_entries, stats.store_namespaces) == (3, 2)
    assert (stats.store_entries >= 3, stats.store_namespaces >= 2) == (True, True)
    assert memory.status().degraded is None


def test_repair_and_reindex_of_a_healthy_store_change_nothing(memory: Memory) -> None:
    """Mending what is whole leaves every memory, and what searches find, as it was."""
    memory.remember_many([{"content": f"zebra number {n}", "key": f"k{n % 7}"} for n in range(30)])
    before = memory.list(Filters(status="any")).items, memory.search("zebra number 29")
    assert memory.check(repair=True, reindex=True).ok
    assert (memory.list(Filters(status="any")).items, memory.search("zebra number 29")) == before


def test_a_closed_store_says_so(memory: Memory) -> None:
    """After `close` every call raises; closing twice is fine."""
    memory.remember("a")
    memory.close()
    memory.close()
    for call in (lambda: memory.get("a"), lambda: memory.remember("b"), memory.list, lambda: memory.search("a")):
        with pytest.raises(ClosedError):
            call()
