"""Calls that the agent's turn does not wait for longer than it wants to: whatever they do, the turn goes on."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

__all__ = ["Runner", "aside", "attempt", "on_loop", "settled"]

T = TypeVar("T")
_Job = tuple[Future[Any], contextvars.Context, Callable[[], Any]]
_IDLE_SECONDS: Final = 10.0
_idle: list[SimpleQueue[_Job]] = []  # the inboxes of threads that wait for a call
Runner = Callable[[Coroutine[Any, Any, Any]], Any]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads


def aside(call: Callable[[], T]) -> Future[T]:
    """Begin a call in a thread that does not keep the process alive: an idle one if there is one, else a new one."""
    future: Future[T] = Future()
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), name="memgraph-agent", daemon=True).start()
    inbox.put((future, contextvars.copy_context(), call))
    return future


def _serve(inbox: SimpleQueue[_Job]) -> None:
    """Do one call after the other. A thread is kept for the next, as in a new one all memory that a search takes is cold."""
    while True:
        try:
            future, context, call = inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # taken in this moment, so that a call is on its way
                continue
            return
        try:
            found, failure = context.run(call), None
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who asks the future for it
            found, failure = None, error
        _idle.append(inbox)  # before the caller goes on, who finds it for its next call
        if failure is None:
            future.set_result(found)
        else:
            future.set_exception(failure)
        del future, context, call, found, failure  # nothing of a call is kept while waiting for the next


def attempt(call: Callable[[], T], seconds: float | None) -> tuple[T | None, BaseException | None]:
    """What a call returns and None, or None and what it raised; after so many seconds that is a TimeoutError.

    A call that is late goes on in its thread; nobody hears of its end. seconds: None for a call that waits for nobody, which is
    done in this thread.
    """
    if seconds is None:
        try:
            return call(), None
        except Exception as failure:  # noqa: BLE001 - it is the caller's, as from a thread
            return None, failure
    future = aside(call)
    try:
        error = future.exception(seconds)
    except TimeoutError as late:
        return None, late
    return (None, error) if error is not None else (future.result(), None)


def settled(value: T | Awaitable[T], seconds: float, run: Runner = asyncio.run) -> T:
    """What was returned, or what was promised: that is awaited for so many seconds. run: where a coroutine runs."""
    if not inspect.isawaitable(value):
        return value

    async def wait() -> T:
        return await asyncio.wait_for(value, seconds)

    found: T = run(wait())
    return found


def on_loop(loop: asyncio.AbstractEventLoop) -> Runner:
    """Runs coroutines on a loop that runs in another thread, where what they use was made."""
    return lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result()
