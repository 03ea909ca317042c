"""The two clocks: what was known at an instant, and what was true at one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memgraph import Memory
from memgraph.errors import ClockDriftError, InvalidInputError
from memgraph.models import Selector
from memgraph.operations import Remember
from tests.conftest import FrozenClock


def year(n: int) -> datetime:
    """The first instant of a year."""
    return datetime(n, 1, 1, tzinfo=UTC)


def said(memory: Memory, key: str = "k", **when: datetime) -> str | None:
    """What the key's value was."""
    entry = memory.current(key, **when)
    return entry and entry.content


def test_known_at_is_what_was_recorded_by_then(memory: Memory, clock: FrozenClock) -> None:
    """Each value counts from its own instant on, to the millisecond; a forget too."""
    start = clock.now
    memory.remember("A", key="k")
    second = clock.advance()
    memory.remember("B", key="k")
    third = clock.advance()
    memory.forget(key="k")
    ms, us = timedelta(milliseconds=1), timedelta(microseconds=1)
    assert said(memory, known_at=start - us) is None
    assert said(memory, known_at=start) == said(memory, known_at=second - us) == "A"
    assert said(memory, known_at=second) == said(memory, known_at=third - ms) == "B"
    assert said(memory, known_at=third) is said(memory) is None


def test_known_at_tells_writes_of_one_tick_apart(memory: Memory) -> None:
    """Two writes within one tick of the clock have instants of their own: each is known from its own on."""
    first = memory.remember("A", key="k")
    second = memory.remember("B", key="k")
    assert first.recorded_at < second.recorded_at
    assert said(memory, known_at=first.recorded_at) == "A"
    assert said(memory, known_at=second.recorded_at) == "B"


def test_known_at_counts_late_arrivals_from_their_own_stamp(memory: Memory, clock: FrozenClock) -> None:
    """A replayed write counts from when it was recorded, not from when it arrived."""
    clock.advance(10)
    new = memory.remember("new", key="k")
    stamp = new.recorded_at - timedelta(seconds=5)
    version = f"{int(stamp.timestamp() * 1000):012x}-0000-00000001"
    memory.backend.apply(
        [Remember(op_id="o", namespace=new.namespace, id="late", version=version, content="late", key="k")]
    )
    assert memory.current("k") == new
    assert said(memory, known_at=stamp) == "late"
    assert [e.content for e in memory.history("k")] == ["late", "new"]
    assert [(e.source_id, e.target_id) for e in memory.lineage("k").edges] == [(new.id, "late")]


def test_valid_at_reads_intervals(memory: Memory) -> None:
    """A value is true from valid_from to valid_to, else to the next later valid_from on the key."""
    memory.remember("Porto", key="k", valid_from=year(2010))
    memory.remember("Berlin", key="k", valid_from=year(2020))
    memory.remember("Oslo", key="k", valid_from=year(2022), valid_to=year(2023))
    us = timedelta(microseconds=1)
    want = {
        year(2009): None,
        year(2010): "Porto",
        year(2020) - us: "Porto",
        year(2020): "Berlin",
        year(2022): "Oslo",
        year(2023) - us: "Oslo",
        year(2023): None,
    }
    assert {at: said(memory, valid_at=at) for at in want} == want


def test_valid_at_prefers_the_latest_knowledge(memory: Memory, clock: FrozenClock) -> None:
    """Of values true at one instant the greatest version known counts; forgotten ones do not."""
    memory.remember("first", key="k", valid_from=year(2010))
    then = clock.now
    clock.advance()
    later = memory.remember("corrected", key="k", valid_from=year(2010))
    assert said(memory, valid_at=year(2015)) == "corrected"
    assert said(memory, valid_at=year(2015), known_at=then) == "first"
    clock.advance()
    memory.forget(later.id)
    assert said(memory, valid_at=year(2015)) == "first"


def test_valid_times_do_not_decide_what_is_current(memory: Memory) -> None:
    """The latest write is current even if it describes an earlier time than the one before."""
    memory.remember("since 2020", key="k", valid_from=year(2020))
    memory.remember("since 2010", key="k", valid_from=year(2010))
    assert said(memory) == "since 2010"
    assert said(memory, valid_at=year(2021)) == "since 2020"


def test_an_interval_that_ends_before_it_begins_is_refused(memory: Memory) -> None:
    """valid_to must be after valid_from."""
    for end in (year(2019), year(2020)):
        with pytest.raises(InvalidInputError):
            memory.remember("x", key="k", valid_from=year(2020), valid_to=end)


def test_a_purge_reaches_the_past(memory: Memory, clock: FrozenClock) -> None:
    """Purged things are absent at every instant."""
    then = clock.now
    memory.remember("secret", key="k", id="i", valid_from=year(2010))
    memory.purge(Selector(ids=["i"]))
    assert said(memory, known_at=then) is said(memory, valid_at=year(2020)) is None


def test_naive_times_are_refused_everywhere(memory: Memory) -> None:
    """Every argument that is a time needs a zone; anything but a datetime is refused."""
    memory.remember("a", key="k")
    for bad in (datetime(2026, 1, 1), "2026-01-01", 0, datetime(2026, 1, 1).date()):
        for call in (
            lambda bad=bad: memory.remember("x", valid_from=bad),
            lambda bad=bad: memory.remember("x", expires_at=bad),
            lambda bad=bad: memory.current("k", known_at=bad),
            lambda bad=bad: memory.current("k", valid_at=bad),
            lambda bad=bad: memory.search("a", known_at=bad),
            lambda bad=bad: memory.diff(bad, year(2026)),
        ):
            with pytest.raises(InvalidInputError):
                call()
    assert memory.count() == 1


def test_zones_and_folds_are_exact(memory: Memory) -> None:
    """Named zones and both folds of an autumn night become the right instants."""
    berlin = ZoneInfo("Europe/Berlin")
    first, second = (
        memory.remember("x", valid_from=datetime(2025, 10, 26, 2, 30, tzinfo=berlin, fold=fold)).valid_from
        for fold in (0, 1)
    )
    assert (first, second) == (datetime(2025, 10, 26, 0, 30, tzinfo=UTC), datetime(2025, 10, 26, 1, 30, tzinfo=UTC))
    assert first.tzinfo is UTC


def test_a_clock_that_runs_ahead_stops_the_door(make_memory: Callable[..., Memory], clock: FrozenClock) -> None:
    """A stamp more than `max_clock_drift` ahead of the wall clock is refused, unwritten; reads go on."""
    memory = make_memory()
    clock.advance(299)
    memory.remember("ahead", key="k")
    clock.advance(-299)
    memory.remember("still allowed", key="k")
    clock.advance(-60)
    with pytest.raises(ClockDriftError):
        memory.remember("too far", key="k")
    assert said(memory) == "still allowed"
    assert len(memory.history("k")) == 2
    clock.advance(60)
    memory.remember("again", key="k")
    assert said(memory) == "again"


def test_two_writes_of_one_instant_are_told_apart(memory: Memory) -> None:
    """However close two writes are, `known_at` the first one's recorded_at gives the first."""
    for number in range(50):
        old = memory.remember(f"old {number}", key=f"k{number}")
        memory.remember(f"new {number}", key=f"k{number}")
        known = memory.current(f"k{number}", known_at=old.recorded_at)
        assert known is not None
        assert known.id == old.id
