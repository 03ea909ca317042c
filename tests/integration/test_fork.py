"""A store survives fork: a new process opens its own handles."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
from pathlib import Path

import pytest

from memgraph import AsyncMemory, Memory
from memgraph.models import Filters

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
ANY = Filters(status="any")


def in_child(work: object) -> int:
    """Fork, run `work` in the child and leave it at once; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()  # type: ignore[operator]
    except BaseException as error:
        print(f"child: {error!r}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def join(pids: list[int]) -> None:
    """Wait for children; all must have ended well."""
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * len(pids)


def test_children_write_and_read_and_the_parent_goes_on(tmp_path: Path) -> None:
    """B041: three children each write and read thirty values of their own through a store opened before the fork."""
    memory = Memory.open(tmp_path / "memory.db")
    root = memory.remember("before the fork zebra", id="root", key="root")
    assert len(memory.search("zebra")) == 1
    assert memory.graph().number_of_nodes() == 1

    def work(name: int) -> None:
        for n in range(30):
            entry = memory.remember(f"value {n} of {name} lion", id=f"c{name}-{n}", key=f"child{name}")
            assert memory.current(f"child{name}") == entry
            assert memory.get("root") == root
        memory.relate("root", entry.id)
        assert entry.id in {found.id for found in memory.neighbours("root").entries}
        assert entry.id in {hit.entry.id for hit in memory.search(f"of {name} lion")}
        assert len(memory.history(f"child{name}")) == 30

    pids = [in_child(lambda name=name: work(name)) for name in range(3)]
    for n in range(30):
        memory.remember(f"parent {n}", key="parent")
        assert memory.current("parent").content == f"parent {n}"
    join(pids)
    assert memory.count(ANY) == 1 + 4 * 30
    assert memory.count() == 5
    assert len(memory.neighbours("root").entries) == 3
    assert len({entry.version for entry in memory.list(ANY, limit=1000)}) == 121
    assert memory.check().ok
    memory.close()


def test_a_child_that_closes_leaves_the_parent_open(tmp_path: Path) -> None:
    """Closing in a child, or its end, takes nothing from the parent."""
    memory = Memory.open(tmp_path / "memory.db")
    memory.remember("a", key="k")
    join([in_child(memory.close)])
    memory.remember("b", key="k")
    join([in_child(lambda: memory.remember("c", key="k") and memory.close())])
    assert [entry.content for entry in memory.history("k")] == ["a", "b", "c"]
    memory.close()
    with Memory.open(tmp_path / "memory.db") as again:
        assert again.current("k").content == "c"


def test_memory_in_memory_after_a_fork(tmp_path: Path) -> None:
    """A private store is a copy in the child: both go on by themselves."""
    memory = Memory.open(":memory:")
    memory.remember("a", key="k")

    def work() -> None:
        memory.remember("child", key="k")
        assert memory.current("k").content == "child"

    join([in_child(work)])
    assert memory.current("k").content == "a"
    memory.close()


@pytest.mark.parametrize("opens_its_own", [False, True])
def test_a_child_outlives_its_parents_store(tmp_path: Path, opens_its_own: bool) -> None:
    """What a child acknowledges while and after the parent closes is there: SQLite's locks do not reach over a fork."""
    path = tmp_path / "memory.db"
    memory = Memory.open(path)
    memory.remember("from the parent")
    closed, written = os.pipe(), os.pipe()

    def work() -> None:
        mine = Memory.open(path) if opens_its_own else memory
        mine.remember("before the parent closed")
        os.write(written[1], b"x")
        os.read(closed[0], 1)
        for number in range(5):
            mine.remember(f"after it closed {number}")
        assert mine.count() == 7
        os._exit(0)  # no close: as if killed

    pid = in_child(work)
    os.read(written[0], 1)
    memory.close()
    os.write(closed[1], b"x")
    join([pid])
    with Memory.open(path) as again:
        assert again.count() == 7
        assert again.check().ok
    for end in (*closed, *written):
        os.close(end)


def test_a_child_of_a_store_just_opened_can_read_its_graph(tmp_path: Path) -> None:
    """Forking while the graph loads in the background leaves no half-imported module to the child."""
    for _ in range(3):
        memory = Memory.open(tmp_path / "memory.db")
        memory.remember("a", key="k")
        join([in_child(functools.partial(memory.lineage, "k"))])
        memory.close()


def test_a_child_awaits_what_its_parent_has_awaited(tmp_path: Path) -> None:
    """A pool of threads believes that those of the parent are there."""
    memory = AsyncMemory(Memory.open(tmp_path / "memory.db"))
    below = memory.namespace("below")

    async def use(space: AsyncMemory, text: str) -> int:
        await space.remember(text)
        return await space.count()

    assert asyncio.run(use(memory, "by the parent")) == 1

    def work() -> None:
        signal.alarm(60)
        assert asyncio.run(use(memory, "by the child")) == 2
        assert asyncio.run(use(below, "by the child")) == 1

    join([in_child(work)])
    assert asyncio.run(use(memory, "by the parent again")) == 3
    asyncio.run(memory.close())
