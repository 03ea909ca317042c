"""Versions order writes, whatever the wall clocks do."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.clock import Clock, millis, new_id, new_writer, parse_version, recorded_at, version_floor
from memgraph.errors import ClockDriftError, InvalidInputError

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Wall:
    def __init__(self, seconds: float = NOON.timestamp()) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def test_versions_of_one_instant_keep_their_order_b013() -> None:
    clock = Clock("0badcafe", Wall())
    versions = [clock.tick() for _ in range(70_000)]
    assert versions == sorted(set(versions))
    assert {millis(version) for version in versions} == {int(NOON.timestamp() * 1000), int(NOON.timestamp() * 1000) + 1}


def test_a_clock_set_back_or_a_restart_never_goes_back_b051() -> None:
    wall = Wall()
    clock = Clock(wall=wall)
    first = clock.tick()
    wall.seconds -= 60
    second = clock.tick()
    restarted = Clock(wall=wall)
    restarted.observe(second)
    assert first < second < restarted.tick()


def test_what_was_seen_from_a_fast_clock_is_overtaken_b051() -> None:
    wall = Wall()
    fast = Clock("ffffffff", Wall(wall.seconds + 200))
    right = Clock("00000000", wall)
    seen = fast.tick()
    right.observe(seen)
    assert right.tick() > seen
    slow = Clock("00000000", Wall(wall.seconds - 90))
    slow.observe(right.tick())
    assert slow.tick() > seen


def test_what_the_wall_is_ahead_of_a_primary_counts_as_drift() -> None:
    wall = Wall()
    clock = Clock("0badcafe", wall, max_drift=300)
    clock.is_ahead(290)
    clock.observe(Clock("ffffffff", Wall(wall.seconds + 5)).tick())
    clock.tick()
    with pytest.raises(ClockDriftError, match="290 s ahead of the primary's"):
        clock.observe(Clock("ffffffff", Wall(wall.seconds + 15)).tick())
    clock.is_ahead(-3600)  # a primary that is ahead: its stamps are overtaken, and so are those of who goes by it
    seen = Clock("ffffffff", Wall(wall.seconds + 3600)).tick()
    clock.observe(seen)
    assert clock.tick() > seen
    with pytest.raises(ClockDriftError):
        clock.observe(Clock("ffffffff", Wall(wall.seconds + 3901)).tick())
    clock.is_ahead(0)
    clock = Clock("0badcafe", wall, max_drift=300)
    clock.is_ahead(301)
    with pytest.raises(ClockDriftError, match="301 s ahead of the primary's"):
        clock.tick()


def test_a_stamp_too_far_ahead_is_refused_and_nothing_moves_b051() -> None:
    wall = Wall()
    clock = Clock("0badcafe", wall)
    far = Clock("ffffffff", Wall(wall.seconds + 3600)).tick()
    for _ in range(2):
        with pytest.raises(ClockDriftError, match="3600 s ahead"):
            clock.observe(far)
    assert millis(clock.tick()) == int(NOON.timestamp() * 1000), "what was refused does not spoil other writes"
    wall.seconds += 3300
    clock.observe(far)
    assert parse_version(clock.tick()) == (int(NOON.timestamp() * 1000) + 3_600_000, 1, "0badcafe")
    wall.seconds -= 1
    with pytest.raises(ClockDriftError, match="301 s ahead"):
        clock.tick()


def test_an_older_stamp_does_not_move_the_clock() -> None:
    clock = Clock("0badcafe", Wall())
    first = clock.tick()
    clock.observe("000000000001-ffff-ffffffff")
    assert parse_version(clock.tick()) == (millis(first), 1, "0badcafe")


@given(
    st.lists(
        st.one_of(st.none(), st.floats(-250, 250), st.tuples(st.integers(-250_000, 250_000), st.integers(0, 0xFFFF))),
        max_size=30,
    )
)
def test_a_tick_is_greater_than_all_given_and_seen(
    steps: list[float | tuple[int, int] | None],
) -> None:
    wall = Wall()
    clock = Clock("88888888", wall, max_drift=1e9)
    greatest = ""
    for step in steps:
        if step is None:
            version = clock.tick()
            assert version > greatest
            parse_version(version)
            greatest = version
        elif isinstance(step, tuple):
            seen = f"{int(NOON.timestamp() * 1000) + step[0]:012x}-{step[1]:04x}-ffffffff"
            clock.observe(seen)
            greatest = max(greatest, seen)
        else:
            wall.seconds = NOON.timestamp() + step
    assert clock.tick() > greatest


@pytest.mark.parametrize(
    "text",
    ["", "0", "019ca98e7600-0000-0badcafe\n", "019CA98E7600-0000-0badcafe", "019ca98e7600_0000_0badcafe",
     "ffffffffffff-0000-0badcafe",  "019ca98e7600-0000-0badcafe0", "０19ca98e7600-0000-0badcafe"],
)  # fmt: skip
def test_other_text_is_no_version(text: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse_version(text)
    assert error.value.field == "version"


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)),
    st.timedeltas(timedelta(seconds=-2), timedelta(seconds=2)),
    st.integers(0, 0xFFFF),
)
def test_the_floor_parts_what_was_recorded_by_an_instant_from_the_rest(
    instant: datetime, away: timedelta, counter: int
) -> None:
    ms = (instant + away - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) if instant.year > 1970 else 5
    version = f"{ms:012x}-{counter:04x}-ffffffff"
    assert (version < version_floor(instant)) == (recorded_at(version) <= instant)


def test_nothing_was_recorded_before_1970() -> None:
    assert version_floor(datetime(1960, 1, 1, tzinfo=UTC)) <= "000000000000-0000-00000000"


def test_ids_are_time_ordered_uuids_and_writers_differ() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    found = uuid.UUID(ids[0])
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert ids[0][:8] <= ids[-1][:8]
    assert len({new_writer() for _ in range(100)}) > 95
