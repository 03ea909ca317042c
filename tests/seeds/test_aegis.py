"""Cases 1 to 6 of aegis's own tests (aegis-agent-memory 1.0.7), and the holes of its semantics that are closed here."""

from __future__ import annotations

import math

import pytest

from memgraph import Memory
from memgraph.models import Filters
from tests.conftest import FrozenClock

RANKINGS = pytest.mark.parametrize("ranking", ["aegis", "memgraph"])


def found(memory: Memory, query: str, ranking: str, limit: int = 10) -> list[str]:
    """The contents a search finds, best first."""
    return [hit.entry.content for hit in memory.search(query, limit=limit, ranking=ranking)]


@RANKINGS
def test_1_some_words_are_enough(memory: Memory, ranking: str) -> None:
    memory.remember("user prefers PostgreSQL for the database")
    memory.remember("user likes dark mode")
    memory.remember("the deploy runs every Friday")
    assert found(memory, "backup postgresql database", ranking)[0] == "user prefers PostgreSQL for the database"


@RANKINGS
def test_2_more_words_rank_higher(memory: Memory, ranking: str) -> None:
    memory.remember("the server restarts at night")
    memory.remember("the nginx server listens on port 443")
    assert found(memory, "nginx server port", ranking)[0] == "the nginx server listens on port 443"


@RANKINGS
def test_3_question_words_do_not_count(memory: Memory, ranking: str) -> None:
    memory.remember("we do what we know about the weather")
    memory.remember("nginx proxies the api")
    assert found(memory, "what do we know about nginx", ranking)[0] == "nginx proxies the api"


@RANKINGS
def test_4_an_unrelated_query_finds_nothing(memory: Memory, ranking: str) -> None:
    memory.remember("user prefers PostgreSQL for the database")
    assert found(memory, "quantum chromodynamics", ranking) == []


@RANKINGS
def test_5_an_inactive_entry_is_never_found(memory: Memory, ranking: str) -> None:
    entry = memory.remember("rust is the language of choice")
    memory.forget(entry.id)
    assert found(memory, "rust language", ranking) == []


@RANKINGS
def test_6_insert_and_search(memory: Memory, ranking: str) -> None:
    memory.remember("rust is the language of choice", id="m1")
    assert [hit.entry.id for hit in memory.search("rust", ranking=ranking)] == ["m1"]


def test_the_score_is_the_originals(memory: Memory) -> None:
    """BM25-like sum over terms, 2 for the whole query, times 0.6 + 0.4 of the confidence."""
    memory.remember("alpha beta alpha", confidence=0.5, tags=["alpha"])
    memory.remember("gamma", confidence=1.0)
    (hit,) = memory.search("alpha beta", ranking="aegis")
    idf = math.log((2 - 1 + 0.5) / (1 + 0.5) + 1)
    lexical = idf * 3 * 2.5 / 4.5 + idf * 1 * 2.5 / 2.5 + 2.0
    assert hit.score == pytest.approx(lexical * (0.6 + 0.4 * 0.5))


def test_confidence_wears_down_over_a_year(memory: Memory, clock: FrozenClock) -> None:
    """0.8 fresh, 0.65 after half a year, 0.5 from a year on."""
    memory.remember("zebra", confidence=0.8)
    memory.remember("lion")
    scores = []
    for days in (0, 182, 365, 730):
        start = memory.search("zebra", ranking="aegis")[0].entry.recorded_at
        clock.advance(days * 86400 - (clock.now - start).total_seconds())
        scores.append(memory.search("zebra", ranking="aegis")[0].score)
    want = [0.6 + 0.4 * confidence for confidence in (0.8, 0.8 - 0.3 * 182 / 365, 0.5, 0.5)]
    assert [score / scores[0] for score in scores] == pytest.approx([each / want[0] for each in want])


def test_three_keyed_writes_leave_one_active(memory: Memory) -> None:
    """a, b, c on one key: a line of three, c active; after a restore still one (the original had two)."""
    a, b, c = (memory.remember(text, key="k") for text in ("a", "b", "c"))
    assert [memory.get(entry.id).superseded_by for entry in (a, b)] == [b.id, c.id]
    memory.restore(a.id)
    assert memory.count() == 1


def test_purge_reaches_what_search_does_not_show(memory: Memory) -> None:
    """More than fifty matches, replaced and released ones among them, all go (the original kept them)."""
    for n in range(60):
        memory.remember(f"private matter {n}", key="private" if n % 2 else None)
    memory.release("private matter 0")
    memory.purge({"text": "private matter"})
    assert memory.count(Filters(status="any")) == 0


def test_a_kind_stays_what_it_is(memory: Memory) -> None:
    """Kinds that the original folded into "fact" are kept."""
    for kind in ("identity", "decision", "constraint", "durable_fact"):
        assert memory.get(memory.remember("x", kind=kind).id).kind == kind
