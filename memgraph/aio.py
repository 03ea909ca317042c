"""AsyncMemory: the verbs of Memory, awaited. They run on worker threads; cancelling an await does not undo a write."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from memgraph.errors import ClosedError
from memgraph.memory import Memory

__all__ = ["AsyncMemory"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(verb: Callable[P, T]) -> Any:
    """The async twin of a verb of Memory, with its signature and documentation."""

    @functools.wraps(verb)
    async def method(self: AsyncMemory, *args: Any, **kwargs: Any) -> T:
        call = functools.partial(verb, self.memory, *args, **kwargs)  # type: ignore[arg-type]
        try:
            running = asyncio.get_running_loop().run_in_executor(self._workers.pool(), call)
        except RuntimeError as error:
            raise ClosedError("the memory was closed", hint="Open it again.") from error
        return await running

    return method


class _Workers:
    """The threads that verbs run on. A forked child has none of its parent's, and gets its own."""

    def __init__(self) -> None:
        self._fresh()

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="memgraph")

    def pool(self) -> ThreadPoolExecutor:
        """The threads of this process."""
        if self._pid != os.getpid():
            self._fresh()
        return self._pool


class _Opening:
    """What `AsyncMemory.open(...)` gives: await it, or enter it with `async with`."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._memory: AsyncMemory | None = None

    async def _open(self) -> AsyncMemory:
        return AsyncMemory(await asyncio.to_thread(self._make))

    def __await__(self) -> Any:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._memory = await self._open()
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.close()


class AsyncMemory:
    """A Memory whose verbs are awaited. Works from any event loop, and from several one after another.

    `memory = await AsyncMemory.open("agent.db")`, or `async with AsyncMemory.open("agent.db") as memory:`.
    """

    def __init__(self, memory: Memory, workers: _Workers | None = None) -> None:
        self.memory = memory
        self._workers = workers or _Workers()

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> _Opening:
        """As `Memory.open`, without blocking the loop."""
        return _Opening(functools.partial(Memory.open, *args, **kwargs))

    @classmethod
    def from_env(cls) -> _Opening:
        """As `Memory.from_env`, without blocking the loop."""
        return _Opening(Memory.from_env)

    def namespace(self, *segments: str) -> AsyncMemory:
        """As `Memory.namespace`; nothing is awaited, as nothing is read."""
        return AsyncMemory(self.memory.namespace(*segments), self._workers)

    @property
    def path(self) -> str:
        """The namespace's path."""
        return self.memory.path

    @property
    def degraded(self) -> str | None:
        """As `Memory.degraded`."""
        return self.memory.degraded

    namespaces = _awaited(Memory.namespaces)
    remember = _awaited(Memory.remember)
    remember_many = _awaited(Memory.remember_many)
    supersede = _awaited(Memory.supersede)
    relate = _awaited(Memory.relate)
    unrelate = _awaited(Memory.unrelate)
    feedback = _awaited(Memory.feedback)
    get = _awaited(Memory.get)
    current = _awaited(Memory.current)
    lineage = _awaited(Memory.lineage)
    history = _awaited(Memory.history)
    neighbours = _awaited(Memory.neighbours)
    graph = _awaited(Memory.graph)
    list = _awaited(Memory.list)
    count = _awaited(Memory.count)
    search = _awaited(Memory.search)
    diff = _awaited(Memory.diff)
    forget = _awaited(Memory.forget)
    restore = _awaited(Memory.restore)
    restorable = _awaited(Memory.restorable)
    release = _awaited(Memory.release)
    rewind = _awaited(Memory.rewind)
    undo = _awaited(Memory.undo)
    verify_purge = _awaited(Memory.verify_purge)
    hold = _awaited(Memory.hold)
    lift_hold = _awaited(Memory.lift_hold)
    holds = _awaited(Memory.holds)
    audit = _awaited(Memory.audit)
    consolidate = _awaited(Memory.consolidate)
    plan_purge = _awaited(Memory.plan_purge)
    purge = _awaited(Memory.purge)
    export_to = _awaited(Memory.export_to)
    import_from = _awaited(Memory.import_from)
    plan_import = _awaited(Memory.plan_import)
    backup = _awaited(Memory.backup)
    check = _awaited(Memory.check)
    set_up = _awaited(Memory.set_up)
    stats = _awaited(Memory.stats)
    status = _awaited(Memory.status)
    sync = _awaited(Memory.sync)
    sync_diff = _awaited(Memory.sync_diff)
    sync_repair = _awaited(Memory.sync_repair)
    dead_letters = _awaited(Memory.dead_letters)
    retry_dead_letters = _awaited(Memory.retry_dead_letters)
    drop_dead_letters = _awaited(Memory.drop_dead_letters)

    async def close(self) -> None:
        """Close the store, for every view of it, and the worker threads."""
        await asyncio.to_thread(self.memory.close)
        self._workers.pool().shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
