"""Calls that the agent's turn does not wait for longer than it wants to: whatever they do, the turn goes on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from memgraph.threads import aside

__all__ = ["Runner", "attempt", "on_loop", "settled"]

T = TypeVar("T")
Runner = Callable[[Coroutine[Any, Any, Any]], Any]


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
    begun = aside(call)
    if not begun.wait(seconds):
        return None, TimeoutError()
    return (None, begun.error) if begun.error is not None else (begun.result(), None)


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
