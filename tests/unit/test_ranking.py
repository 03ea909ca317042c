"""The weights of the ranking, one at a time, on columns made by hand; and the rankings of the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from memgraph.rules import ranking, seeds
from memgraph.rules.ranking import NEVER, Asked, Columns, Found, Scores
from memgraph.rules.text import ASKS, FIRST_PERSON, HAS_TIME


def columns(
    n: int,
    *,
    lengths: Sequence[int] | None = None,
    flags: dict[int, int] | None = None,
    sessions: Sequence[int] | None = None,
    actors: Sequence[int] | None = None,
    subjects: Sequence[int] | None = None,
    days: Sequence[int] | None = None,
    ranks: Sequence[int] | None = None,
    turns: bool = False,
) -> Columns:
    """Documents in version order; with `turns`, each session's are its turns."""
    session = np.array(sessions if sessions is not None else [-1] * n, np.int32)
    before, after = np.full(n, NEVER, np.int64), np.full(n, NEVER, np.int64)
    if turns:
        for number in set(session.tolist()):
            line = np.flatnonzero(session == number)
            before[line[1:]], after[line[:-1]] = line[:-1], line[1:]
    marks = np.zeros(n, np.uint8)
    for doc, value in (flags or {}).items():
        marks[doc] = value
    return Columns(
        np.array(lengths if lengths is not None else [4] * n, np.uint16),
        marks,
        session,
        np.array(actors if actors is not None else [-1] * n, np.int32),
        np.array(subjects if subjects is not None else [-1] * n, np.int32),
        before,
        after,
        np.array(days if days is not None else [0] * n, np.int32),
        None if ranks is None else np.array(ranks, np.int32),
        max([*session.tolist(), -1]) + 1,
        len(set(session.tolist()) - {-1}) > 1,
        turns,
    )


def term(*docs: int, counts: Sequence[int] | None = None, covers: bool = True) -> Found:
    return Found(np.array(docs, np.uint32), np.array(counts or [1] * len(docs), np.uint8), covers)


def scored(made: Columns, terms: Sequence[Found], asked: Asked | None = None) -> Scores:
    n = len(made.flags)
    return ranking.score(made, terms, asked or Asked(), None, n, float(made.lengths.mean()))


def idf(n: int, df: int) -> float:
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


class TestParts:
    def test_bm25_is_lucenes(self) -> None:
        found = scored(columns(10, lengths=[8, *[4] * 9]), [term(0, 3, counts=[2, 1])])
        average = 44 / 10
        assert found.parts(0)["bm25"] == pytest.approx(
            idf(10, 2) * 1.9 * 2 / (2 + 0.9 * (0.6 + 0.4 * 8 / average)), rel=1e-5
        )
        assert found.parts(3)["bm25"] == pytest.approx(
            idf(10, 2) * 1.9 / (1 + 0.9 * (0.6 + 0.4 * 4 / average)), rel=1e-5
        )

    def test_a_match_spreads_to_two_turns_on_each_side(self) -> None:
        found = scored(columns(7, sessions=[0] * 7, turns=True), [term(3)])
        hit = found.parts(3)["bm25"]
        spread = [found.parts(doc).get("spread", 0.0) / hit for doc in range(7)]
        assert spread == pytest.approx([0, 0.10, 0.20, 0, 0.35, 0.20, 0], abs=1e-6)

    def test_it_does_not_leave_the_session(self) -> None:
        found = scored(columns(4, sessions=[0, 0, 1, 1], turns=True), [term(1)])
        assert "spread" not in found.parts(2)
        assert "coverage" not in found.parts(2)

    def test_lone_facts_have_no_neighbours(self) -> None:
        found = scored(columns(3, sessions=[0, 0, 0]), [term(1)])
        assert found.best(9).tolist() == [1]

    def test_a_questions_match_belongs_to_its_answer(self) -> None:
        found = scored(columns(3, sessions=[0] * 3, flags={0: ASKS}, turns=True), [term(0)])
        assert found.parts(1)["answer"] == pytest.approx(0.5 * found.parts(0)["bm25"])
        assert "answer" not in scored(columns(3, sessions=[0] * 3, turns=True), [term(0)]).parts(1)

    def test_coverage_is_the_share_of_the_words_nearby(self) -> None:
        found = scored(columns(9, sessions=[0] * 9, turns=True), [term(0), term(3, 8)])
        rare, common = idf(9, 1), idf(9, 2)
        assert found.parts(1)["coverage"] == pytest.approx(7.0)
        assert found.parts(0)["coverage"] == pytest.approx(7 * rare / (rare + common))
        assert found.parts(5)["coverage"] == pytest.approx(7 * common / (rare + common))

    def test_words_of_names_and_unknown_words_do_not_count_in_it(self) -> None:
        found = scored(columns(4), [term(0), term(1, covers=False), term()])
        assert found.parts(0)["coverage"] == pytest.approx(7.0)
        assert "coverage" not in found.parts(1)

    @pytest.mark.parametrize("many", [8, 9, 20, 64])
    def test_coverage_of_long_queries(self, many: int) -> None:
        made = columns(many, sessions=[-1] * many)
        found = scored(made, [term(*range(at, many)) for at in range(many)])
        weights = [idf(many, many - at) for at in range(many)]
        for doc in range(many):
            assert found.parts(doc)["coverage"] == pytest.approx(7 * sum(weights[: doc + 1]) / sum(weights), rel=1e-4)

    def test_a_session_counts_its_five_best_hits(self) -> None:
        made = columns(10, sessions=[0] * 8 + [1, -1], lengths=[*range(2, 10), 4, 4])
        found = scored(made, [term(*range(7), 9)])
        hits = sorted((found.parts(doc)["bm25"] for doc in range(7)), reverse=True)
        assert found.parts(7)["session"] == pytest.approx(0.3 * sum(hits[:5]), rel=1e-5)
        assert "session" not in found.parts(9)
        assert 8 not in found.best(99)

    def test_one_session_alone_says_nothing(self) -> None:
        assert scored(columns(3, sessions=[0, 0, -1]), [term(0)]).best(9).tolist() == [0]

    def test_the_named_ones_own_memories_come_first(self) -> None:
        made = columns(
            4, actors=[0, 0, 1, -1], subjects=[-1, -1, -1, 0], flags={0: FIRST_PERSON, 2: FIRST_PERSON, 3: FIRST_PERSON}
        )
        found = scored(made, [term(0, 1, 2, 3)], Asked(name=0))
        named = [(found.parts(doc).get("actor"), found.parts(doc).get("first_person")) for doc in range(4)]
        assert named == [(5.0, 2.5), (5.0, None), (None, None), (5.0, None)]

    def test_times_for_those_who_ask_when(self) -> None:
        made = columns(2, flags={0: HAS_TIME})
        assert scored(made, [term(0, 1)], Asked(when=True)).parts(0)["when"] == 5.0
        assert "when" not in scored(made, [term(0, 1)], Asked(when=True)).parts(1)
        assert "when" not in scored(made, [term(0, 1)]).parts(0)

    def test_the_days_after_a_date(self) -> None:
        made = columns(4, days=[99, 100, 105, 110])
        found = scored(made, [term(0, 1, 2, 3)], Asked(day=100))
        assert [found.parts(doc).get("date") for doc in range(4)] == [None, 4.0, 2.0, None]

    def test_statements_before_questions_and_newer_before_older(self) -> None:
        found = scored(columns(4, flags={3: ASKS}), [term(0, 1, 2, 3)])
        assert [found.parts(doc).get("statement") for doc in range(4)] == [1.0, 1.0, 1.0, None]
        assert [found.parts(doc).get("recency") for doc in range(4)] == [None, 0.25, 0.5, 0.75]

    def test_recency_follows_versions_not_arrival(self) -> None:
        found = scored(columns(3, ranks=[2, 0, 1]), [term(0, 1, 2)])
        assert found.best(3).tolist() == [0, 2, 1]

    def test_a_vector_adds_to_what_the_words_say(self) -> None:
        made = columns(4)
        cosine = np.array([0.5, 0, 0.9, -0.2], np.float32)
        found = ranking.score(made, [term(0, 3)], Asked(), None, 4, 4.0, cosine)
        assert found.parts(0)["vector"] == pytest.approx(5.0)
        assert sorted(found.best(9).tolist()) == [0, 2, 3]

    def test_the_parts_sum_to_the_score(self) -> None:
        made = columns(
            6, sessions=[0, 0, 0, 1, 1, 1], actors=[0, 1] * 3, flags={0: ASKS, 1: FIRST_PERSON | HAS_TIME}, turns=True
        )
        found = scored(made, [term(0, 4), term(1, 2)], Asked(name=1, when=True, day=0))
        totals = [sum(found.parts(doc).values()) for doc in found.best(6).tolist()]
        assert totals == sorted(totals, reverse=True)
        assert found.best(1).tolist() == [1]


class TestBest:
    def test_of_equals_the_newer_first(self) -> None:
        made = columns(2000)
        found = ranking.score(made, [term(*range(2000))], Asked(), None, 2000, 4.0)
        assert found.best(3).tolist() == [1999, 1998, 1997]

    def test_only_what_is_searchable_counts(self) -> None:
        made = columns(6, sessions=[0] * 6, turns=True)
        mask = np.array([True, True, False, True, True, False])
        found = ranking.score(made, [term(1, 2, 5)], Asked(), mask, 4, 4.0)
        assert found.parts(1)["bm25"] == pytest.approx(idf(4, 1) * 1.9 / (1 + 0.9), rel=1e-5)
        assert sorted(found.best(10).tolist()) == [0, 1, 3]

    def test_filters_are_applied_before_the_cut(self) -> None:
        found = scored(columns(100), [term(*range(100))])
        mask = np.zeros(100, bool)
        mask[[3, 50]] = True
        assert found.best(5, mask).tolist() == [50, 3]

    def test_a_floor_is_about_the_words(self) -> None:
        made = columns(5, sessions=[0, 0, 0, 0, 1], flags={3: ASKS})
        found = scored(made, [term(0), term(0, 1, 3)])
        assert sorted(found.best(10).tolist()) == [0, 1, 2, 3]
        assert sorted(found.best(10, floor=0.0).tolist()) == [0, 1, 3]
        assert found.best(10, floor=8.0).tolist() == [0]
        assert found.best(10, floor=100.0).tolist() == []

    def test_nothing_found(self) -> None:
        assert scored(columns(3), []).best(3).tolist() == []


class TestQuestions:
    @pytest.mark.parametrize(
        ("query", "asks"),
        [("When did she go", True), (" how long is it", True), ("What year was it?", True), ("Who knows when", False)],
    )
    def test_asks_when(self, query: str, asks: bool) -> None:
        assert ranking.asks_when(query) is asks

    @pytest.mark.parametrize(
        ("query", "day"),
        [
            ("on 2024-05-08?", "2024-05-08"),
            ("on 8 May 2024", "2024-05-08"),
            ("the 8th of May, 2024", "2024-05-08"),
            ("May 8, 2024", "2024-05-08"),
            ("May 8th", "2023-05-08"),
            ("in May 2024", None),
            ("on 31 February", None),
            ("nothing", None),
        ],
    )
    def test_full_date(self, query: str, day: str | None) -> None:
        wanted = None if day is None else int(np.datetime64(day, "D").astype(int))
        assert ranking.full_date(query, 2023) == wanted


class TestContext:
    def test_a_tenth_a_word_and_three_tenths_at_most(self) -> None:
        words = ranking.context_words("In the garden The garden of Eden, by night")
        assert words == ["the", "garden", "eden,", "night"]
        assert ranking.context_boost(words, "A GARDEN") == pytest.approx(0.1)
        assert ranking.context_boost(words, "the gardens at night, eden, night") == pytest.approx(0.3)


class TestSeeds:
    def test_loopctl(self) -> None:
        found = seeds.loopctl(
            "Rust iterators",
            ["use iterators for loops", "Rust", "caching", "rust iterators"],
            [["rust"], [], ["my Rust Iterators"], []],
            [1.0, 0.5, 0.5, float("nan")],
        )
        assert found == pytest.approx([0.5 + 0.2 + 0.1, 0.25 + 0.2 + 0.1, 0.25 + 0.3 + 0.1, 0.4 + 0.1])

    def test_aegis(self) -> None:
        found = seeds.aegis(
            "backup PostgreSQL",
            ["user prefers PostgreSQL", "nightly backup postgresql postgresql", "english"],
            [[], ["db"], ["backups"]],
            [0.8, 0.5, 1.0],
        )
        common = math.log((3 - 2 + 0.5) / 2.5 + 1)
        assert found == pytest.approx(
            [
                common * (0.6 + 0.32),
                (common + common * 2 * 2.5 / 3.5 + 2.0) * (0.6 + 0.2),
                common,
            ]
        )

    def test_aegis_without_terms_and_without_matches(self) -> None:
        assert seeds.aegis("of", ["cup of tea", "tea"], [[], []], [0.7, 0.9]) == [0.7, 0.0]
        assert seeds.aegis("nginx", ["cup of tea"], [[]], [0.7]) == [0.0]
