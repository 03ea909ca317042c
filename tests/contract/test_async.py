"""`AsyncMemory` is the same verbs, awaited."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from memgraph import AsyncMemory, Memory
from memgraph.errors import ConflictError, NotFoundError
from memgraph.models import Filters, Selector
from tests.conftest import FrozenClock

pytestmark = pytest.mark.usefixtures("local_only")
PLAIN = {"namespace", "backend", "from_env", "open"}


def verbs(of: type) -> dict[str, inspect.Signature]:
    """The public methods with their signatures."""
    return {
        name: inspect.signature(found)
        for name, found in inspect.getmembers(of, callable)
        if not name.startswith("_") and name not in PLAIN
    }


def test_signatures_are_equal() -> None:
    """Both have the same verbs with the same arguments, defaults and answers; here each is a coroutine."""
    sync, awaited = verbs(Memory), verbs(AsyncMemory)
    assert set(sync) == set(awaited)
    for name, signature in sync.items():
        other = awaited[name]
        assert [str(p) for p in signature.parameters.values()] == [str(p) for p in other.parameters.values()], name
        assert str(signature.return_annotation) == str(other.return_annotation), name
        assert inspect.iscoroutinefunction(getattr(AsyncMemory, name)), name


def test_a_life_awaited(tmp_path: Path, clock: FrozenClock) -> None:
    """The same calls give the same answers and errors."""

    async def live() -> None:
        async with AsyncMemory.open(tmp_path / "a.db", clock=clock) as memory:
            old = await memory.remember("Porto", key="city")
            new = await memory.remember("Berlin", key="city", relates_to=[old.id])
            assert await memory.current("city") == new
            assert [hit.entry.id for hit in await memory.search("Berlin")] == [new.id]
            assert [e.id for e in await memory.history("city")] == [old.id, new.id]
            assert (await memory.neighbours(new.id)).entries == ()
            with pytest.raises(NotFoundError):
                await memory.get("no-such-id")
            with pytest.raises(ConflictError):
                await memory.remember("x", key="city", if_absent=True)
            view = memory.namespace("acme")
            await view.remember("below")
            assert await view.count() == 1
            await memory.purge(Selector(everything=True), subtree=True)
            assert await memory.count(Filters(status="any"), subtree=True) == 0

    asyncio.run(live())


def test_many_at_once_and_many_loops(tmp_path: Path) -> None:
    """Hundreds of tasks share one store, and one file serves one event loop after another."""

    async def live(turn: int) -> int:
        async with AsyncMemory.open(tmp_path / "a.db") as memory:
            await asyncio.gather(*(memory.remember(f"n{n}", key=f"k{n % 10}", session=f"s{turn}") for n in range(100)))
            heads = await asyncio.gather(*(memory.current(f"k{n}") for n in range(10)))
            assert all(head is not None for head in heads)
            return await memory.count(Filters(status="any"))

    assert [asyncio.run(live(turn)) for turn in range(3)] == [100, 200, 300]


def test_cancelling_does_not_undo_a_write(tmp_path: Path) -> None:
    """A cancelled call may or may not have begun; the store stays whole and goes on."""

    async def live() -> None:
        async with AsyncMemory.open(tmp_path / "a.db") as memory:
            tasks = [asyncio.create_task(memory.remember(f"n{n}", key="k")) for n in range(50)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            kept = [found.id for found in done if not isinstance(found, BaseException)]
            assert len(kept) >= 25
            there = {entry.id for entry in await memory.list(Filters(status="any"), limit=1000)}
            assert set(kept) <= there
            assert (await memory.check()).ok
            await memory.remember("after", key="k")
            assert (await memory.current("k")).content == "after"

    asyncio.run(live())


def test_the_sync_store_inside_a_loop(memory: Memory) -> None:
    """B036: the sync calls work inside a running loop and from its worker threads."""

    async def live() -> None:
        memory.remember("a", key="k")
        assert (await asyncio.to_thread(memory.current, "k")).content == "a"

    for _ in range(3):
        asyncio.run(live())
