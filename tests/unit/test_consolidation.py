"""A clean-up prunes only what is worthless and nobody vouches for, and finds near-duplicates without comparing all pairs."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.clock import recorded_at
from memgraph.errors import InvalidInputError
from memgraph.models import Duplicate, Entry, Status, Trust
from memgraph.rules import consolidation
from memgraph.rules.consolidation import Plan, near_duplicates, plan

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
YEAR = 366.0


def an_entry(id: str, content: str = "", age_days: float = 0.0, **fields: Any) -> Entry:
    ms = int((NOW - timedelta(days=age_days)).timestamp() * 1000)
    version = f"{ms:012x}-0000-0badcafe"
    return Entry(
        **{
            "id": id,
            "namespace": "n",
            "content": content or id,
            "version": version,
            "recorded_at": recorded_at(version),
        }
        | fields
    )


def judged(entries: list[Entry], **options: Any) -> Plan:
    return plan(iter(entries), NOW, str.split, **options)


def test_prunes_what_is_below_the_threshold() -> None:
    found = judged([an_entry("good", confidence=0.9), an_entry("bad", confidence=0.01)])
    assert (found.before, found.prune, found.after) == (2, ("bad",), 1)


def test_pinned_user_and_system_memories_are_never_pruned_b025() -> None:
    worthless = {"confidence": 0.0, "feedback_sum": -9.0, "age_days": YEAR}
    entries = [
        an_entry("pinned", pinned=True, **worthless),
        an_entry("user", trust=Trust.USER, **worthless),
        an_entry("system", trust=Trust.SYSTEM, **worthless),
        an_entry("agent", trust=Trust.AGENT, **worthless),
        an_entry("external", trust=Trust.EXTERNAL, **worthless),
    ]
    assert judged(entries, threshold=1.0).prune == ("agent", "external")


def test_only_active_memories_count() -> None:
    entries = [
        an_entry(status.value, "the same words", confidence=0.0, status=status)
        for status in Status
        if status is not Status.ACTIVE
    ]
    late = an_entry("late", confidence=0.0, expires_at=NOW)
    found = judged([*entries, late])
    assert found == Plan(before=0, expired=("expired", "late"))


def test_twenty_runs_at_one_instant_equal_one_b025() -> None:
    rng = random.Random(7)
    words = [f"w{i}" for i in range(40)]
    store = {
        f"i{n}": an_entry(
            f"i{n}",
            " ".join(rng.choices(words, k=4)),
            age_days=rng.choice([0, 100, 400]),
            confidence=rng.choice([0.0, 0.2, 0.34, 0.36, 0.8]),
            expires_at=rng.choice([None, NOW]),
        )
        for n in range(300)
    }
    first = judged(list(store.values()))
    assert first.prune
    assert first.duplicates
    for _ in range(19):
        for name in judged(list(store.values())).prune:
            store[name] = store[name].model_copy(update={"status": Status.PRUNED})
        again = judged(list(store.values()))
        assert again.prune == ()
        assert (again.duplicates, again.expired, again.before) == (first.duplicates, first.expired, first.after)


@pytest.mark.parametrize("value", [math.nan, -1.0, 2.0, math.inf, None, "0.1"])
@pytest.mark.parametrize("name", ["threshold", "similarity"])
def test_a_bad_threshold_is_refused_and_destroys_nothing(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        judged([an_entry("a")], **{name: value})
    assert error.value.field == name


def test_a_change_of_one_word_is_a_duplicate_and_a_paraphrase_or_another_kind_is_not() -> None:
    entries = [
        an_entry("a", "the build runs on node twenty", age_days=3),
        an_entry("b", "the build runs on node eighteen", age_days=2),
        an_entry("c", "we compile with the twentieth node release", age_days=1),
        an_entry("d", "the build runs on node twenty", kind="preference"),
    ]
    assert judged(entries).duplicates == (Duplicate(a="a", b="b", similarity=round(5 / 7, 6)),)


def test_identical_texts_are_reported_against_the_oldest() -> None:
    entries = [an_entry(f"i{n}", "same words again", age_days=10 - n) for n in range(4)]
    assert [(d.a, d.b, d.similarity) for d in judged(entries[::-1]).duplicates] == [
        ("i0", "i1", 1.0),
        ("i0", "i2", 1.0),
        ("i0", "i3", 1.0),
    ]


def greedy(documents: list[tuple[str, frozenset[str]]], similarity: float) -> list[tuple[str, str, float]]:
    """All pairs, one by one."""
    kept: list[tuple[str, frozenset[str]]] = []
    found = []
    for name, terms in documents:
        if not terms:
            continue
        scores = [(len(terms & other) / len(terms | other), earlier) for earlier, other in kept]
        best = max((score for score, _ in scores), default=0.0)
        if best >= similarity:
            found.append((next(earlier for score, earlier in scores if score == best), name, round(best, 6)))
        else:
            kept.append((name, terms))
    return found


@pytest.mark.parametrize("common", [0, 3, 64])
@given(
    texts=st.lists(st.frozensets(st.sampled_from("abcdefghij"), max_size=8), max_size=25),
    similarity=st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.75, 0.8, 1.0]),
)
def test_finds_what_comparing_all_pairs_finds(common: int, texts: list[frozenset[str]], similarity: float) -> None:
    documents = [(f"i{n}", terms) for n, terms in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidation, "_COMMON", common)
        found = near_duplicates(documents, similarity)
    assert [(d.a, d.b, d.similarity) for d in found] == greedy(documents, similarity)


def test_compares_far_fewer_than_all_pairs() -> None:
    rng = random.Random(3)
    words = [f"w{i}" for i in range(400)]
    compared = 0

    class Counted(frozenset):  # type: ignore[type-arg]
        def __and__(self, other: Any) -> Any:
            nonlocal compared
            compared += 1
            return super().__and__(other)

    documents = [(str(n), frozenset(rng.sample(words, 12))) for n in range(2000)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidation, "frozenset", Counted, raising=False)
        near_duplicates(documents)
    assert compared < 2000 * 1999 / 2 / 100
