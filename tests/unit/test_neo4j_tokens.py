"""What is handed to the full-text index of Neo4j: tokens without blanks, and queries in which no character has a meaning."""

from __future__ import annotations

import re

import pytest

from memgraph.backends.neo4j.statistics import Statistics
from memgraph.backends.neo4j.tokens import any_term, sample_clause, scope_clauses, tokens
from memgraph.models import Filters
from tests.operation_sets import remember, version


def test_each_scope_is_one_token() -> None:
    """The same name under another field, or in another namespace, is another token."""
    found = tokens(remember(1, "a/b", "id", kind="x", subject="x", session="x", tags=("x", "two words")))
    scope = [token for token in found["scope"].split(" ") if token[0] != "z"]
    assert len(scope) == len(set(scope)) == 6
    assert all(re.fullmatch(r"[nkset][0-9a-f]{16}", token) for token in scope)
    filters = Filters(kinds=["x", "y"], subject="x", session="x", tags=["x"])
    asked = re.findall(r"[nkset][0-9a-f]{16}", scope_clauses("a/b", filters))
    assert len(asked) == 6
    assert len(set(asked) - set(scope)) == 1, "all but the kind that it is not"
    assert not set(re.findall(r"[nkset][0-9a-f]{16}", scope_clauses("a", Filters()))) & set(scope)


def test_each_sample_is_half_of_the_one_before() -> None:
    """A memory in a sample is in all larger ones; which it is in depends on its id alone."""
    levels = []
    for number in range(4000):
        scope = tokens(remember(1, "a", f"id{number}"))["scope"].split(" ")
        found = [token for token in scope if re.fullmatch(r"z\d+", token)]
        assert found == [f"z{level}" for level in range(1, len(found) + 1)]
        levels.append(len(found))
    for level in range(1, 5):
        assert sum(each >= level for each in levels) / 4000 == pytest.approx(0.5**level, rel=0.15)
    assert sample_clause(0) == ""
    assert sample_clause(3) == "+scope:z3^0"


@pytest.mark.parametrize("term", ["c++", "a/b", "x*", "what?", '"', "a:b", "\\", "a~1", "部署", "👩‍🚀", "'the"])
def test_no_character_of_a_term_has_a_meaning(term: str) -> None:
    """What the index's query language could read as an operator is escaped; letters are left as they are."""
    clause = any_term([term])
    inner = clause.removeprefix("+terms:(").removesuffix(")")
    assert re.sub(r"\\(.)", r"\1", inner) == term
    assert not re.search(r"(?<!\\)(?:\\\\)*[+*?:/~^\"()\[\]{}!&|-]", inner)


def test_places_between_known_versions_are_estimated() -> None:
    """Of many versions some are known; the others lie between them, in order, and never outside of the namespace."""
    known = [version(step) for step in range(0, 1001, 100)]
    row = {
        "documents": 1001,
        "length": 0,
        "active": 0,
        "active_length": 0,
        "sessions": 0,
        "last_valid": None,
        "versions": known,
    }
    statistics = Statistics.of(1001, row)
    places = [statistics.rank(version(step)) for step in range(1001)]
    assert places == sorted(places)
    assert max(abs(place - step) for step, place in enumerate(places)) <= 1
    assert statistics.rank(version(2000)) == 1001
    assert statistics.serves(1051)
    assert not statistics.serves(1060)
