"""Group commit: of the writers that wait, one leads and runs the work of all in one transaction."""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

__all__ = ["GroupCommit"]

_LOOK: Final = 1.0  # seconds after which one who waits looks whether anybody leads at all

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class _Unit(Generic[T]):
    """One caller's part. `wake` is released when it is done, or when its caller is to lead."""

    __slots__ = ("done", "error", "leads", "value", "wake", "work")

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.wake = threading.Lock()
        self.wake.acquire()
        self.leads = False
        self.done = False
        self.error: BaseException | None = None
        self.value: T | None = None


class GroupCommit:
    """Runs work on one connection: what waits together is committed together, each caller's in a savepoint of its own.

    A signal may raise anywhere in the main thread: it runs nobody else's work, and whoever waits notices when nobody leads.

    connection: gives the connection to write on; called with the lock held, and may refuse by raising.
    lock: what a leader holds while it writes.
    """

    def __init__(self, connection: Callable[[], sqlite3.Connection], lock: Any) -> None:
        self._connection = connection
        self._lock = lock
        self._queue: deque[_Unit[Any]] = deque()
        self._queue_lock = threading.Lock()
        self._led = False

    def run(self, work: Work[T]) -> T:
        """Run `work` in a write transaction and return when that is committed. Work may be run more than once."""
        unit = _Unit(work)
        with self._queue_lock:
            self._queue.append(unit)
            if not self._led:
                self._led = unit.leads = True
        if not unit.leads:
            self._wait(unit)
        if unit.leads:
            try:
                with self._lock:
                    self._drain(self._connection(), unit)
            finally:
                with self._queue_lock:
                    if unit in self._queue:  # it was not run: nobody else is to run it
                        self._queue.remove(unit)
                self._pass_on()
        if unit.error is not None:
            raise unit.error
        return unit.value  # type: ignore[return-value]

    def _wait(self, unit: _Unit[Any]) -> None:
        """Until a leader has done the unit, or its caller is to lead. Interrupted, it takes the unit back, or passes on."""
        try:
            while not unit.wake.acquire(timeout=_LOOK):
                if self._lock.acquire(blocking=False):  # nobody writes: an interrupted leader did not pass on
                    self._lock.release()
                    with self._queue_lock:
                        unit.leads = unit in self._queue
                    if unit.leads:
                        return
        except BaseException:
            with self._queue_lock:
                if unit in self._queue:
                    self._queue.remove(unit)
            if unit.leads:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Let the first that waits lead, or nobody."""
        with self._queue_lock:
            if self._queue:
                self._queue[0].leads = True
                if self._queue[0].wake.locked():
                    self._queue[0].wake.release()
            else:
                self._led = False

    def _drain(self, connection: sqlite3.Connection, mine: _Unit[Any]) -> None:
        if connection.in_transaction:  # of a leader who was interrupted between two lines
            connection.execute("rollback")
        with self._queue_lock:
            if mine not in self._queue:
                return  # somebody who found no leader has taken it
            if threading.current_thread() is threading.main_thread():
                self._queue.remove(mine)
                batch = [mine]
            else:
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), 256))]
        try:
            if len(batch) == 1 or not _together(connection, batch):
                for unit in batch:
                    _alone(connection, unit)
        finally:  # after a KeyboardInterrupt in here the others run their work themselves
            with self._queue_lock:
                self._queue.extendleft(reversed([unit for unit in batch if not unit.done]))
            for unit in batch:
                if unit.done and not unit.leads and unit.wake.locked():
                    unit.wake.release()


def _alone(connection: sqlite3.Connection, unit: _Unit[Any]) -> None:
    try:
        connection.execute("begin immediate")
        value = unit.work(connection)
        connection.execute("commit")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("rollback")
        unit.error, unit.done = error, True
        if not isinstance(error, Exception):
            raise
    else:
        unit.value, unit.done = value, True


def _together(connection: sqlite3.Connection, batch: list[_Unit[Any]]) -> bool:
    """Run a batch in one transaction. False, and nothing written, if the transaction itself failed."""
    results: list[tuple[Any, Exception | None]] = []
    try:
        connection.execute("begin immediate")
    except sqlite3.OperationalError as error:  # another process holds the lock: all have waited their time
        for unit in batch:
            unit.error, unit.done = error, True
        return True
    try:
        for unit in batch:
            connection.execute("savepoint unit")
            try:
                results.append((unit.work(connection), None))
            except sqlite3.Error:
                raise
            except Exception as error:  # noqa: BLE001 - a refusal is handed to the caller whose it is
                connection.execute("rollback to unit")
                results.append((None, error))
            connection.execute("release unit")
        connection.execute("commit")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("rollback")
        return False
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    for unit, (value, failure) in zip(batch, results, strict=True):
        unit.value, unit.error, unit.done = value, failure, True
    return True
