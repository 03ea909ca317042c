"""Whether the primary is asked: closed (in touch), open (away: nobody waits for it), half_open (back, catching up)."""

from __future__ import annotations

import random
import threading
import time
from typing import Final, Literal

__all__ = ["Breaker", "Patience"]

_FIRST: Final = 0.2  # seconds until the first probe; doubles with each that fails
_LONGEST: Final = 30.0
_PAUSES: Final = (1.0, 5.0)  # seconds that reads do not ask a slow primary: at first, and at most

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Opened by a failure, half-opened by a probe that succeeded, closed when what waited then was pushed. Safe for threads."""

    def __init__(self) -> None:
        self.state: State = "closed"
        self.error: str | None = None
        self._failures = 0
        self._mark = 0
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether callers may ask the primary."""
        return self.state == "closed"

    def fail(self, error: str) -> None:
        """The primary did not answer."""
        with self._lock:
            self.state = "open"
            self.error = error
            self._failures += 1

    def answered(self, mark: int) -> None:
        """A probe succeeded; `mark` is the last row that waited then."""
        with self._lock:
            self.state = "half_open"
            self._mark = mark

    def pushed(self, waits: bool) -> None:
        """A push succeeded; `waits` says whether anything up to the mark still waits."""
        with self._lock:
            self._failures = 0
            if not waits and self.state != "closed":
                self.state = "closed"
                self.error = None

    @property
    def failures(self) -> int:
        """How many there were since the last success."""
        return self._failures

    @property
    def mark(self) -> int:
        """The last row that waited when the probe succeeded."""
        return self._mark

    def delay(self) -> float:
        """Seconds until the next probe: exponential with full jitter, so that replicas do not come back in step.

        Formula: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015; at least a quarter of the span.
        """
        span = min(_LONGEST, _FIRST * 2 ** min(self._failures - 1, 10)) if self._failures else _FIRST
        return span * (0.25 + 0.75 * random.random())  # noqa: S311 - jitter


class Patience:
    """Whether reads still wait for a primary that is there but slow: each wait in vain is followed by a pause, which doubles."""

    def __init__(self) -> None:
        self._pause = self._until = 0.0
        self._reason: str | None = None

    @property
    def lost(self) -> str | None:
        """Why the primary is not to be waited for now; None if it is."""
        return self._reason if time.monotonic() < self._until else None

    def lose(self, reason: str) -> None:
        """A wait was in vain."""
        if self.lost is None:  # many that waited at once count as one
            self._pause = min(max(self._pause * 2, _PAUSES[0]), _PAUSES[1])
            self._until, self._reason = time.monotonic() + self._pause, reason

    def renew(self) -> None:
        """The primary answered in time."""
        self._pause = self._until = 0.0
