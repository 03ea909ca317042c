"""Notices that a server stopped answering in the middle of a statement, and lets the caller know.

The driver waits for an answer as long as the connection stands, which a frozen server or a cut cable does not end. While
statements are under way, one thread asks the server for a Bolt handshake on a connection of its own; if that brings no
answer the connections of the waiting statements are shut down, and their callers wake up. If it does bring one while a
statement still waits for a connection, the idle one that was tried is dead and the server is not: `answered` says so.
A statement that is out of its own time is shut down in the same way, whatever the server says.
"""

from __future__ import annotations

import itertools
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from memgraph.errors import ClosedError, UnavailableError
from memgraph.threads import Event, is_alone

__all__ = ["Allowance", "Flight", "SlowError", "Watch", "answers"]

_HANDSHAKE: Final = b"\x60\x60\xb0\x17" + b"\x00\x00\x04\x04" + b"\x00" * 12
_STEP: Final = 0.05
_PATIENCE: Final = 0.2  # seconds in which statements may come to their end when all is closed
_LAST: Final = 1.0  # seconds in which they must, once they were shut down


def answers(address: tuple[str, int], timeout: float) -> bool:
    """Whether something at this address takes a connection and reacts to a Bolt handshake within `timeout` seconds."""
    until = time.monotonic() + timeout
    try:
        with socket.create_connection(address, timeout) as probe:
            probe.settimeout(max(0.01, until - time.monotonic()))
            probe.sendall(_HANDSHAKE)
            try:
                probe.recv(4)
            except ConnectionError:  # a TLS port hangs up on this: also a sign of life
                pass
            return True
    except OSError:
        return False


class SlowError(UnavailableError):
    """The server is there, and did not answer in the time that a statement had."""

    slow = True


class Allowance:
    """Until when somebody may ask, by the monotonic clock; whoever gives it may end it at any time."""

    def __init__(self, until: float = math.inf) -> None:
        self.until = until


class Flight:
    """A session in use, for at most `limit` seconds, and no longer than its allowance.

    answered: the server took a connection meanwhile. dead: it did not, and the session was ended. late: its time was over.
    closed: all was being closed.
    """

    def __init__(self, session: Any, limit: float, allowance: Allowance) -> None:
        self.session = session
        self.allowance = allowance
        self.alive_at = time.monotonic()
        self.until = self.alive_at + limit
        self.thread = threading.get_ident()
        self.late = False
        self.closed = False
        self.answered = False
        self.dead = False


class Watch:
    """Watches over the statements of one connection pool. timeout: seconds until silence is reported."""

    def __init__(self, timeout: float) -> None:
        self.failures = 0
        self.home: tuple[str, int] | None = None  # asked for those who still wait for a connection
        self._timeout = timeout
        self._flights: dict[int, Flight] = {}
        self._numbers = itertools.count()
        self._wake = Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def ground(self) -> None:
        """Let the statements of other threads come to an end, or end them: a driver must not be closed under its sessions."""
        self._wait(_PATIENCE)
        for flight in self._of_others():
            flight.closed = True
            _shut(flight.session)
        self._wait(_LAST)

    def _of_others(self) -> list[Flight]:
        return [flight for flight in list(self._flights.values()) if flight.thread != threading.get_ident()]

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._of_others() and time.monotonic() < until:
            time.sleep(_STEP / 10)

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        self._wake.set()

    @contextmanager
    def turn(self, slots: threading.BoundedSemaphore, where: str, allowance: Allowance) -> Iterator[None]:
        """Wait for a free connection; if the server is found dead meanwhile, do not wait for it a second time."""
        failures = self.failures
        while not slots.acquire(timeout=_STEP):
            if time.monotonic() > allowance.until:
                raise SlowError(f"{where} did not answer in time", hint="Try again later.")
            if self.failures != failures:
                raise UnavailableError(f"{where} does not answer", hint="Is the server running?")
        try:
            yield
        finally:
            slots.release()

    @contextmanager
    def over(self, session: Any, where: str, limit: float, allowance: Allowance) -> Iterator[Flight]:
        """Watch while a session is in use. Raises UnavailableError in place of what the driver makes of a shutdown."""
        flight = Flight(session, limit, allowance)
        number = next(self._numbers)
        self._flights[number] = flight
        if self._thread is None and not is_alone():
            self._start()
        self._wake.set()
        try:
            yield flight
        except BaseException:
            if flight.closed:
                raise ClosedError("the connection was closed", hint="Open the store again.") from None
            if flight.late:
                raise SlowError(f"{where} did not answer in time", hint="Try again later.") from None
            if flight.dead:
                raise UnavailableError(f"{where} does not answer", hint="Is the server running?") from None
            raise
        finally:
            del self._flights[number]

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="memgraph-watch", daemon=True)
                self._thread.start()

    def _loop(self) -> None:
        while not self._stopped:
            self._wake.wait()
            self._wake.clear()
            while self._flights and not self._stopped:
                self._look()
                time.sleep(_STEP)

    def _look(self) -> None:
        now = time.monotonic()
        for flight in list(self._flights.values()):
            if now > min(flight.until, flight.allowance.until):
                flight.late = True
                _shut(flight.session)
        silent = [flight for flight in list(self._flights.values()) if now - flight.alive_at > self._timeout / 2]
        places: dict[tuple[str, int], list[Flight]] = {}
        for flight in silent:
            address = _address(flight.session) or self.home
            if address is not None:
                places.setdefault(address, []).append(flight)
        for address, flights in places.items():
            alive = answers(address, self._timeout / 2)
            if not alive:
                self.failures += 1
            for flight in flights:
                if alive:
                    flight.answered = True
                    flight.alive_at = time.monotonic()
                else:
                    flight.dead = True
                    _shut(flight.session)


def _socket(session: Any) -> Any:
    """The socket under a session that has a connection; the driver offers no public way to it."""
    connection = getattr(session, "_connection", None)
    return getattr(getattr(connection, "socket", None), "_socket", None)


def _address(session: Any) -> tuple[str, int] | None:
    try:
        name = _socket(session).getpeername()
        return name[0], name[1]
    except (OSError, AttributeError):
        return None


def _shut(session: Any) -> None:
    try:
        _socket(session).shutdown(socket.SHUT_RDWR)
    except (OSError, AttributeError):
        pass  # it is closed already
