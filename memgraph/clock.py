"""Versions: readings of a hybrid logical clock that sort as text.

`<unix ms, 12 hex>-<counter, 4 hex>-<writer, 8 hex>`. The clock follows the wall clock, never goes back, and moves past every
version it is shown. A new millisecond's counter begins at the microseconds within it, so that versions are as fine as the
times that people compare them with. Source: Kulkarni, Demirbas, Madappa, Avva, Leone: Logical Physical Clocks (2014).
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from memgraph.errors import ClockDriftError, InvalidInputError

__all__ = [
    "EPOCH",
    "Clock",
    "millis",
    "new_id",
    "new_writer",
    "parse_version",
    "recorded_at",
    "recorded_micros",
    "version_floor",
]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_COUNTER: Final = 0xFFFF
_MAX_MS: Final = 253_402_300_799_999  # 9999-12-31, the last instant a datetime can show
_VERSION: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{8}\Z")


def parse_version(version: str) -> tuple[int, int, str]:
    """The parts of a version: Unix milliseconds, counter, writer. Raises InvalidInputError for any other text."""
    if not _VERSION.match(version) or int(version[:12], 16) > _MAX_MS:
        raise InvalidInputError("not a version (12 hex - 4 hex - 8 hex)", field="version")
    return int(version[:12], 16), int(version[13:17], 16), version[18:]


def millis(version: str) -> int:
    """Unix milliseconds of a version's clock."""
    return int(version[:12], 16)


def recorded_micros(version: str) -> int:
    """Unix microseconds of a version's clock; more than a thousand versions in one millisecond share its last."""
    return int(version[:12], 16) * 1000 + min(int(version[13:17], 16), 999)


def recorded_at(version: str) -> datetime:
    """When a version was written, in UTC, to the microsecond."""
    return EPOCH + timedelta(microseconds=recorded_micros(version))


def version_floor(instant: datetime) -> str:
    """The text that every version recorded after an instant is greater than, and every other one less.

    `version < version_floor(t)` is `recorded_at(version) <= t`.
    """
    ms, within = divmod((instant - EPOCH) // timedelta(microseconds=1), 1000)
    return f"{ms + 1:012x}" if within == 999 else f"{ms:012x}-{within + 1:04x}"


def new_writer() -> str:
    """A fresh writer name: 8 random hex digits."""
    return secrets.token_hex(4)


def new_id() -> str:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then random bits."""
    value = time.time_ns() // 1_000_000 << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Clock:
    """A hybrid logical clock of one writer. Not safe for threads: the store's write lock guards it.

    wall: Unix seconds, as `time.time`.
    max_drift: how many seconds the clock may run ahead of `wall` before it refuses to stamp.
    """

    def __init__(
        self, writer: str | None = None, wall: Callable[[], float] = time.time, max_drift: float = 300.0
    ) -> None:
        self.writer = writer or new_writer()
        self.wall = wall
        self.max_drift = max_drift
        self._fast_ms = 0
        self._ms = 0
        self._counter = 0

    def observe(self, version: str) -> None:
        """Move past a version that was seen. Raises ClockDriftError for one too far ahead; then nothing moved."""
        ms, counter = int(version[:12], 16), int(version[13:17], 16)
        if (ms, counter) > (self._ms, self._counter):
            self._judge(ms, int(self.wall() * 1000))
            self._ms, self._counter = ms, counter

    def is_ahead(self, seconds: float) -> None:
        """Take note of how far this machine's clock is ahead of a primary's, or behind it if negative, until told anew.

        Drift is counted from the primary's clock: what runs ahead of ours alone is in nobody's future.
        """
        self._fast_ms = int(seconds * 1000)

    def tick(self) -> str:
        """The next version, greater than all this clock gave or saw. Raises ClockDriftError; then nothing moved."""
        now, within = divmod(int(self.wall() * 1_000_000), 1000)
        ms, counter = max((now, within), (self._ms, self._counter + 1))
        if counter > _MAX_COUNTER:
            ms, counter = ms + 1, 0
        self._judge(ms, now)
        self._ms, self._counter = ms, counter
        return f"{ms:012x}-{counter:04x}-{self.writer}"

    def _judge(self, ms: int, now: int) -> None:
        if ms - now + self._fast_ms > self.max_drift * 1000:
            if self._fast_ms > ms - now:
                what = f"this machine's clock is {self._fast_ms / 1000:.0f} s ahead of the primary's"
            else:
                what = f"the store's newest version is {(ms - now) / 1000:.0f} s ahead of this machine's clock"
            raise ClockDriftError(
                f"{what} (at most {self.max_drift:.0f} s are allowed)",
                hint="Set the clock right; if it is, `memgraph doctor --repair` stamps anew what was written ahead of it.",
            )
