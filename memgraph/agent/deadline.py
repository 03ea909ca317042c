"""Calls that the agent's turn does not wait for longer than it wants to: whatever they do, the turn goes on."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["Runner", "aside", "attempt", "on_loop", "settled"]

T = TypeVar("T")
Runner = Callable[[Coroutine[Any, Any, Any]], Any]


def aside(call: Callable[[], T]) -> Future[T]:
    """Begin a call in a thread of its own, which does not keep the process alive."""
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who asks the future for it
            future.set_exception(error)

    threading.Thread(target=work, name="memgraph-agent", daemon=True).start()
    return future


def attempt(call: Callable[[], T], seconds: float) -> tuple[T | None, BaseException | None]:
    """What a call returns and None, or None and what it raised; after so many seconds that is a TimeoutError.

    A call that is late goes on in its thread; nobody hears of its end.
    """
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
