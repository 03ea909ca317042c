"""Whether the primary is asked: closed (in touch), open (away: nobody waits for it), half_open (back, catching up)."""

from __future__ import annotations

import random
import threading
import time
from typing import Final, Literal

__all__ = ["Breaker"]

_FIRST: Final = 0.2  # seconds until the first probe; doubles with each that fails
_LONGEST: Final = 30.0

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Opened by a failure, half-opened by a probe that succeeded, closed when what waited then was pushed. Safe for threads."""

    def __init__(self) -> None:
        self.state: State = "closed"
        self.error: str | None = None
        self._failures = 0
        self._mark = 0
        self._changed = threading.Condition()

    @property
    def closed(self) -> bool:
        """Whether callers may ask the primary."""
        return self.state == "closed"

    def fail(self, error: str) -> None:
        """The primary did not answer."""
        with self._changed:
            self.state = "open"
            self.error = error
            self._failures += 1
            self._changed.notify_all()

    def answered(self, mark: int) -> None:
        """A probe succeeded; `mark` is the last row that waited then."""
        with self._changed:
            self.state = "half_open"
            self._mark = mark

    def pushed(self, waits: bool) -> None:
        """A push succeeded; `waits` says whether anything up to the mark still waits."""
        with self._changed:
            self._failures = 0
            if not waits and self.state != "closed":
                self.state = "closed"
                self.error = None
                self._changed.notify_all()

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

    def wait_closed(self, seconds: float) -> bool:
        """Wait until it is closed; False if that takes longer."""
        until = time.monotonic() + seconds
        with self._changed:
            while self.state != "closed":
                rest = until - time.monotonic()
                if rest <= 0:
                    return False
                self._changed.wait(rest)
            return True
