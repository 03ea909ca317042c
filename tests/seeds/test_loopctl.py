"""Cases 1 to 10 of loopctl's own tests (0.1.0 and 0.2.0), through Memory: `store` is remember, `retrieve` is search.

Cases 11 to 13, those of its engine, are in tests/unit/test_agent_loop.py; those of later versions about clean-ups in
tests/unit/test_consolidation.py.
"""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from memgraph import AsyncMemory, Entry, Memory
from memgraph.errors import InvalidInputError
from memgraph.models import Filters

pytestmark = pytest.mark.usefixtures("local_only")


def store(memory: Memory, category: str, text: str, relevance: float = 1.0, tags: tuple[str, ...] = ()) -> Entry:
    """Loopctl's `store`: category is our kind, relevance our confidence."""
    return memory.remember(text, kind=category, confidence=relevance, tags=tags)


def retrieve(memory: Memory, query: str, limit: int) -> list[str]:
    """Loopctl's `retrieve`, with its own score."""
    return [hit.entry.content for hit in memory.search(query, limit=limit, ranking="loopctl")]


def test_1_the_best_match_comes_first(memory: Memory) -> None:
    store(memory, "insight", "Prefer Glob over manual file search")
    store(memory, "error_pattern", "Edits go stale when the file changed since it was read")
    assert retrieve(memory, "Glob manual file search", 5)[0] == "Prefer Glob over manual file search"
    assert memory.search("Glob manual file search")[0].entry.kind == "insight"


def test_2_the_limit_holds(memory: Memory) -> None:
    for n in range(10):
        store(memory, "fact", f"fact {n} about testing")
    assert len(retrieve(memory, "testing", 3)) == 3
    assert len(memory.search("testing", limit=3)) == 3


def test_3_an_empty_store_has_nothing(memory: Memory) -> None:
    assert retrieve(memory, "anything", 5) == []
    assert memory.search("anything").hits == ()


def test_4_a_new_store_is_empty(memory: Memory) -> None:
    assert memory.count(Filters(status="any")) == 0


def test_5_consolidation_prunes_the_irrelevant(memory: Memory) -> None:
    store(memory, "fact", "worth keeping", relevance=0.9)
    store(memory, "fact", "worth nothing", relevance=0.01)
    report = memory.consolidate()
    assert (report.before, len(report.pruned), memory.count()) == (2, 1, 1)


def test_6_many_at_once(memory: Memory) -> None:
    memory.remember_many(["one", "two"])
    assert memory.count() == 2


def test_7_a_tag_or_word_that_matches_ranks_first(memory: Memory) -> None:
    store(memory, "fact", "cache whatever is slow to make")
    store(memory, "insight", "use iterators for loops", tags=("rust",))
    assert retrieve(memory, "rust iterators", 2)[0] == "use iterators for loops"
    assert memory.search("rust iterators")[0].entry.content == "use iterators for loops"


def test_8_retrieve_beside_store(tmp_path: Path) -> None:
    async def live() -> None:
        async with AsyncMemory.open(tmp_path / "memory.db") as memory:
            await memory.remember_many([f"entry {n} about searching" for n in range(200)])
            found, _ = await asyncio.gather(
                memory.search("searching", limit=5, ranking="loopctl"), memory.remember("one more about searching")
            )
            assert len(found) <= 5
            assert await memory.count() == 201

    asyncio.run(live())


def test_9_relevance_and_words_order_together(memory: Memory) -> None:
    store(memory, "fact", "rust rust twice", relevance=0.1)
    store(memory, "fact", "rust rust rust rust four times", relevance=0.95)
    store(memory, "fact", "rust rust rust three times", relevance=0.5)
    found = memory.search("rust", limit=3, ranking="loopctl", explain=True)
    assert [hit.entry.confidence for hit in found] == [0.95, 0.5, 0.1]
    assert [hit.score for hit in found] == pytest.approx([0.475 + 0.5, 0.25 + 0.5, 0.05 + 0.5])


def test_9_every_entry_is_a_candidate(memory: Memory) -> None:
    store(memory, "fact", "nothing that was asked for", relevance=0.0)
    (hit,) = memory.search("zebra", ranking="loopctl")
    assert hit.score == pytest.approx(0.1)
    assert memory.search("zebra").hits == ()


def test_9_a_tag_that_holds_the_whole_query_adds_three_tenths(memory: Memory) -> None:
    store(memory, "fact", "no word of it", relevance=1.0, tags=("rust iterators and more",))
    (hit,) = memory.search("rust iterators", ranking="loopctl")
    assert hit.score == pytest.approx(0.5 + 0.3 + 0.1)


def test_10_behind_an_interface(memory: Memory) -> None:
    """Store, retrieve, consolidate and count work through whatever offers them."""
    for verb in ("remember", "search", "consolidate", "count"):
        assert inspect.iscoroutinefunction(getattr(AsyncMemory, verb))
    anything: object = memory
    assert anything.remember("behind an interface").content == "behind an interface"  # type: ignore[attr-defined]
    assert len(anything.search("interface")) == anything.count() == 1  # type: ignore[attr-defined]
    assert anything.consolidate().pruned == ()  # type: ignore[attr-defined]


def test_a_word_counts_once_however_often_it_is_there(memory: Memory) -> None:
    """Words are found as parts of the text, split at blanks; the query's own repetitions count in the whole."""
    store(memory, "fact", "English english", relevance=1.0)
    for query, share in (("eng", 1.0), ("eng french", 0.5), ("ENG eng french french", 0.5)):
        (hit,) = memory.search(query, ranking="loopctl")
        assert hit.score == pytest.approx(0.5 + 0.4 * share + 0.1)


@pytest.mark.parametrize("relevance", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_relevance_that_leaves_no_order_is_refused(memory: Memory, relevance: float) -> None:
    """There one NaN made the whole order undefined."""
    with pytest.raises(InvalidInputError):
        store(memory, "fact", "x", relevance=relevance)
    assert memory.count(Filters(status="any")) == 0


def test_pruning_can_be_taken_back(memory: Memory) -> None:
    """There it was for good."""
    entry = store(memory, "fact", "worth nothing", relevance=0.01)
    report = memory.consolidate()
    assert report.changeset is not None
    memory.undo(report.changeset)
    assert memory.get(entry.id) == entry
