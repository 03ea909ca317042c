"""What `search` promises on any backend. How well it ranks is measured elsewhere; here is what must never go wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError
from memgraph.models import Filters, Selector
from tests.conftest import FrozenClock


def found(memory: Memory, query: str, **options: object) -> list[str]:
    """The contents that a search finds, best first."""
    return [hit.entry.content for hit in memory.search(query, **options)]


def test_finds_by_word_stem_and_part_of_a_phrase(memory: Memory) -> None:
    """Words match whatever their case and ending; the memory with more of them comes first."""
    memory.remember("The user prefers PostgreSQL for the database")
    memory.remember("A database of songs")
    memory.remember("Ada likes running in the park")
    assert found(memory, "PREFERRING a postgresql database")[0] == "The user prefers PostgreSQL for the database"
    assert found(memory, "run") == ["Ada likes running in the park"]
    assert found(memory, "volcano") == []


@pytest.mark.parametrize(
    "text",
    [
        "user_id-42",
        "main.py",
        "v1.2.3-rc1",
        "C:\\repo\\src\\main.py",
        "a/b/c.txt",
        "ada@example.org",
        "C++",
        "getUserName",
    ],
)
def test_finds_what_was_typed(memory: Memory, text: str) -> None:
    """Identifiers, versions, paths and addresses are found as typed."""
    memory.remember(f"please look at {text} before noon")
    memory.remember("nothing of the kind")
    assert found(memory, text) == [f"please look at {text} before noon"]


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("今天讨论了部署方案", "部署"),
        ("오늘 끝말잇기 게임을 했다", "게임"),
        ("カレンダーを確認する", "カレンダー"),
        ("Straße in Köln", "KÖLN"),
    ],
)
def test_any_script(memory: Memory, content: str, query: str) -> None:
    """Two-character words of scripts without spaces are found, accents and case do not matter."""
    memory.remember(content)
    memory.remember("something else")
    assert found(memory, query) == [content]


def test_keys_tags_and_aliases_are_searched(memory: Memory) -> None:
    """A memory is found by its key, tags and aliases, not by its content alone."""
    memory.remember("port 22", key="ssh-port", tags=["infrastructure"], aliases=["remote shell"])
    memory.remember("nothing")
    for query in ("ssh port", "infrastructure", "shell"):
        assert found(memory, query) == ["port 22"]


def test_a_blank_query_is_refused(memory: Memory) -> None:
    """A search needs words: none, blanks and invisible characters are refused."""
    for query in ("", "  \n", "\u200b", None):
        with pytest.raises(InvalidInputError):
            memory.search(query)


def test_only_active_memories_unless_asked(memory: Memory) -> None:
    """Replaced, forgotten and released ones are never found, but with `include_inactive`, flagged by their status."""
    old = memory.remember("ssh listens on port 22", key="ssh-port")
    new = memory.remember("remote login moved to 49222", key="ssh-port")
    gone = memory.remember("ssh port of the old gate is 2222")
    memory.forget(gone.id)
    assert old.id not in {hit.entry.id for hit in memory.search("ssh port 22")}
    assert gone.id not in {hit.entry.id for hit in memory.search("ssh port 22")}
    every = {hit.entry.id: hit.entry for hit in memory.search("ssh port 22", include_inactive=True)}
    assert (every[old.id].status, every[old.id].superseded_by) == ("superseded", new.id)
    assert every[gone.id].status == "forgotten"


def test_limit_and_filters_act_before_the_cut(memory: Memory) -> None:
    """At most `limit` hits; a filter narrows what is ranked, so a rare match is not cut away."""
    for n in range(30):
        memory.remember(f"note {n} about testing testing testing")
    rare = memory.remember("one word on testing", tags=["rare"])
    assert len(memory.search("testing", limit=3)) == 3
    assert [hit.entry.id for hit in memory.search("testing", limit=3, filters=Filters(tags=["rare"]))] == [rare.id]
    for limit in (0, -1, 1.5, True):
        with pytest.raises(InvalidInputError):
            memory.search("testing", limit=limit)


def test_scores_fall_and_repeat(memory: Memory) -> None:
    """Scores never rise down the list, and the same search gives the same answer."""
    for n in range(20):
        memory.remember(f"note {n} about {'testing ' * (n % 4)}and cats")
    first, second = memory.search("testing cats", limit=20), memory.search("testing cats", limit=20)
    assert first == second
    scores = [hit.score for hit in first]
    assert scores == sorted(scores, reverse=True)


def test_min_score_cuts(memory: Memory) -> None:
    """`min_score` leaves out what matches less; out of reach, it leaves out everything."""
    memory.remember("red apples and green pears")
    memory.remember("red bricks")
    assert len(memory.search("red apples green pears", min_score=0.0)) == 2
    assert found(memory, "red apples green pears", min_score=1e9) == []


def test_feedback_moves_what_is_otherwise_equal(memory: Memory) -> None:
    """Of matches alike, what helped comes before the newer one and what harmed after the older; `explain` says by how much."""
    used, plain, harmful = (memory.remember(f"the gate code is {n}", id=f"m{n}").id for n in (1, 2, 3))
    assert [hit.entry.id for hit in memory.search("gate code")] == [harmful, plain, used]
    memory.feedback([used], 1.0, verified=True)
    memory.feedback([harmful], -1.0, verified=True)
    hits = memory.search("gate code", explain=True)
    assert [hit.entry.id for hit in hits] == [used, plain, harmful]
    said = [(hit.why or {}).get("feedback", 0.0) for hit in hits]
    assert said[0] > said[1] == 0.0 > said[2]
    assert said[0] == pytest.approx(-said[2])


def test_explain_names_the_parts(memory: Memory) -> None:
    """With `explain` each hit says what its score is the sum of; without, it does not."""
    memory.remember("red apples")
    (hit,) = memory.search("apples", explain=True)
    assert hit.why
    assert sum(hit.why.values()) == pytest.approx(hit.score)
    assert memory.search("apples")[0].why is None


def test_search_known_at(memory: Memory, clock: FrozenClock) -> None:
    """`known_at` finds what was current then; purged things stay absent."""
    memory.remember("Ada lives in Porto", key="city")
    then = clock.now
    clock.advance()
    memory.remember("Ada lives in Berlin", key="city")
    assert found(memory, "Where does Ada live?") == ["Ada lives in Berlin"]
    assert found(memory, "Where does Ada live?", known_at=then) == ["Ada lives in Porto"]
    memory.purge(Selector(text="Porto"))
    assert found(memory, "Where does Ada live?", known_at=then) == []


def test_search_valid_at(memory: Memory) -> None:
    """`valid_at` finds what was true in the world then."""
    memory.remember("Ada lives in Porto", key="city", valid_from=datetime(2019, 1, 1, tzinfo=UTC))
    memory.remember("Ada lives in Berlin", key="city", valid_from=datetime(2024, 1, 1, tzinfo=UTC))
    assert found(memory, "Ada lives", valid_at=datetime(2020, 1, 1, tzinfo=UTC)) == ["Ada lives in Porto"]
    assert found(memory, "Ada lives", valid_at=datetime(2025, 1, 1, tzinfo=UTC)) == ["Ada lives in Berlin"]
    assert found(memory, "Ada lives", valid_at=datetime(2018, 1, 1, tzinfo=UTC)) == []


def test_a_write_is_found_at_once(memory: Memory) -> None:
    """What was written is found by the next search, what was forgotten is not, and a restore brings it back."""
    entry = memory.remember("the zebra crossing")
    assert found(memory, "zebra") == ["the zebra crossing"]
    memory.forget(entry.id)
    assert found(memory, "zebra") == []
    memory.restore(entry.id)
    assert found(memory, "zebra") == ["the zebra crossing"]


def test_search_stays_in_its_namespace(make_memory: Callable[..., Memory]) -> None:
    """A search sees its own namespace; with `subtree` its descendants; never a sibling."""
    a, below, b = make_memory("a"), make_memory("a", "below"), make_memory("ab")
    for memory, text in ((a, "zebra in a"), (below, "zebra below a"), (b, "zebra in ab")):
        memory.remember(text)
    assert found(a, "zebra") == ["zebra in a"]
    assert sorted(found(a, "zebra", subtree=True)) == ["zebra below a", "zebra in a"]


def test_a_hit_is_the_whole_entry(memory: Memory) -> None:
    """A hit's entry is what `get` gives; a whole answer is not degraded."""
    memory.remember("zebra", key="k", tags=["t"], metadata={"n": 1})
    result = memory.search("zebra")
    assert result.degraded is None
    assert result[0].entry == memory.current("k")


def test_a_write_does_not_wait_for_the_index(memory: Memory) -> None:
    """Thousands of memories, written in batches, are all found: sealing parts of the index loses none."""
    for start in range(0, 5000, 1000):
        memory.remember_many([{"content": f"common word{n}"} for n in range(start, start + 1000)])
    for n in (0, 999, 1000, 2500, 4999):
        assert found(memory, f"word{n}", limit=3) == [f"common word{n}"]
    assert len(memory.search("common", limit=5000)) == 5000
