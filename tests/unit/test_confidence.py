"""Confidence is a pure function of the start value, the feedback and the age."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.errors import InvalidInputError
from memgraph.rules.confidence import effective, weight


@pytest.mark.parametrize(
    ("days", "wanted"), [(0, 0.80), (30, 0.775), (182, 0.650), (365, 0.500), (730, 0.500), (-5, 0.80)]
)
def test_age_takes_what_it_takes_in_the_seed(days: float, wanted: float) -> None:
    assert effective(0.8, 0.0, days) == pytest.approx(wanted, abs=0.0005)


def test_pinned_memories_do_not_fade() -> None:
    assert effective(0.8, 0.0, 3650, pinned=True) == 0.8


def test_a_tenth_for_each_signal_and_never_outside_0_to_1() -> None:
    assert effective(0.5, 2.0, 0) == pytest.approx(0.7)
    assert effective(0.8, -20.0, 0) == 0.0  # the seed went to -1.1 here
    assert effective(0.8, 1e9, 0) == 1.0
    assert effective(0.0, 0.0, 365) == 0.0


def test_verified_feedback_counts_twice() -> None:
    assert weight(0.5) == 0.5
    assert weight(-1, verified=True) == -2.0


@pytest.mark.parametrize("signal", [1.01, -1.01, math.nan, math.inf, True, "1", None])
def test_a_signal_outside_its_range_is_refused_b002(signal: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        weight(signal)  # type: ignore[arg-type]
    assert error.value.field == "signal"


@given(st.floats(0, 1), st.floats(-50, 50), st.floats(0, 5000), st.floats(0, 5000))
def test_older_is_never_worth_more_and_better_feedback_never_less(
    start: float, total: float, a: float, b: float
) -> None:
    younger, older = sorted((a, b))
    assert 0.0 <= effective(start, total, older) <= effective(start, total, younger) <= 1.0
    assert effective(start, total, a) <= effective(start, total + 1.0, a)
