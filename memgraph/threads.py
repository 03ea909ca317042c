"""Calls in other threads, and waiting for them, that a signal cannot break.

A signal's handler may raise between any two lines of the main thread. If that happens inside Python's own Event, Condition,
Semaphore or Future, its inner lock may stay taken for ever, and whoever wants to wake the others hangs with them. What is here
is made of locks that the interpreter takes and gives in one step.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

__all__ = ["Call", "Event", "aside", "is_alone"]

T = TypeVar("T")
_IDLE_SECONDS: Final = 10.0


class Event:
    """As threading.Event; who sets it never waits for anybody."""

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        self._waiting: deque[Any] = deque()  # of each who waits a lock that is taken

    def is_set(self) -> bool:
        """Whether nobody would wait."""
        return self._set

    def set(self) -> None:
        """Wake who waits, and let nobody wait from now on."""
        self._set = True
        self.pulse()

    def clear(self) -> None:
        """Let those who come wait again."""
        self._set = False

    def pulse(self) -> None:
        """Wake who waits now."""
        for _ in range(len(self._waiting)):
            try:
                lock = self._waiting.popleft()
            except IndexError:
                return
            lock.release()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, or woken by a pulse, for so many seconds at most; returns whether it is set."""
        if not self._set:
            lock = threading.Lock()
            lock.acquire()
            self._waiting.append(lock)
            try:
                if not self._set:  # meanwhile
                    lock.acquire(timeout=-1 if seconds is None else max(seconds, 0.0))
            finally:
                try:
                    self._waiting.remove(lock)
                except ValueError:
                    pass  # it was woken
        return self._set


class Call(Generic[T]):
    """A call that is made in another thread. error: what it raised, None while it runs and where it returned."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._context: contextvars.Context | None = contextvars.copy_context()
        self._done = Event()
        self._value: T | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return self._done.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has come to its end, for so many seconds at most; returns whether it has."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """Wait; return what the call returned, or raise what it raised."""
        self._done.wait()
        if self.error is None:
            return self._value  # type: ignore[return-value]
        try:
            raise self.error
        finally:
            del self  # which the error's traceback would hold, and it the error

    def make(self, before_done: Callable[[], None]) -> None:
        """Make the call, here and now. before_done: called before anybody is told of its end."""
        assert self._work is not None
        assert self._context is not None
        try:
            self._value = self._context.run(self._work)
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who asks for it
            self.error = error
        self._work = self._context = None
        before_done()
        self._done.set()


def is_alone() -> bool:
    """Whether the interpreter is ending: no other thread runs any more, and none that is waited for comes to its end."""
    return sys.is_finalizing()


_Inbox = SimpleQueue[Call[Any]]
_idle: list[_Inbox] = []  # of threads that wait for a call

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads


def aside(work: Callable[[], T]) -> Call[T]:
    """Begin a call in a thread that does not keep the process alive: an idle one if there is one, else a new one.

    Raises RuntimeError where the interpreter is ending and starts no thread any more.
    """
    call = Call(work)
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), name="memgraph-aside", daemon=True).start()
    inbox.put(call)
    return call


def _serve(inbox: _Inbox) -> None:
    """Make one call after the other. A thread is kept for the next, as in a new one all memory that a search takes is cold."""
    while True:
        try:
            call = inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # taken in this moment, so that a call is on its way
                continue
            return
        call.make(before_done=lambda: _idle.append(inbox))  # so that its caller finds this thread for its next one
        del call  # nothing of a call is kept while waiting for the next
