"""Several processes use one file: each sees the others' writes by its next call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.errors import StoreLockedError
from memgraph.models import Filters
from tests.integration.child import ask, start

ANY = Filters(status="any")
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file that all use."""
    return tmp_path / "memory.db"


@pytest.fixture
def other(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process on the file."""
    with start("serve", path, "shared", **PIPES) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == "ready"
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def test_each_sees_the_other_by_its_next_call(path: Path, other: subprocess.Popen[str]) -> None:
    """Every read of one process shows what another wrote just before: by key, by text, in the graph."""
    with Memory.open(path, namespace="shared") as memory:
        here = memory.remember("anchor", id="here")
        assert memory.neighbours("here").entries == ()
        for n in range(20):
            mine = memory.remember(f"mine {n} zebra", key="k")
            assert ask(other, "current", "k") == f"mine {n} zebra"
            assert mine.id in ask(other, "search", f"mine {n}")
            theirs = ask(other, "remember", f"theirs {n} lion", {"key": "k"})
            assert memory.current("k").content == f"theirs {n} lion"
            assert theirs in {hit.entry.id for hit in memory.search(f"theirs {n}")}
            assert [theirs, mine.id] in ask(other, "lineage", "k")
            assert (theirs, mine.id) in {(edge.source_id, edge.target_id) for edge in memory.lineage("k").edges}
            assert ask(other, "relate", "here", theirs) == "related"
            assert [entry.id for entry in memory.neighbours("here").entries] == [theirs]
            assert ask(other, "count") == memory.count(ANY) == 1 + 2 * (n + 1)
            assert ask(other, "nodes") == memory.graph().number_of_nodes()
        memory.forget(here.id)
        assert ask(other, "neighbours", theirs) == []
        assert ask(other, "purge", theirs) == 1
        assert memory.current("k") is None
        assert theirs not in memory.graph()
        assert memory.check().ok


def test_four_writers(path: Path) -> None:
    """Four processes write the same keys at once: nothing is lost, each key has one line and one current value."""
    children = [start("fill", path, "shared", f"w{n}", 50) for n in range(4)]
    assert [child.wait(120) for child in children] == [0] * 4
    with Memory.open(path, namespace="shared") as memory:
        assert memory.count(ANY) == 200
        assert memory.count() == 5
        for n in range(5):
            line = memory.history(f"k{n}")
            assert len(line) == 40
            assert [str(entry.status) for entry in line] == ["superseded"] * 39 + ["active"]
            assert len({entry.version for entry in line}) == 40
        assert memory.check().ok


def test_a_lock_held_too_long(path: Path) -> None:
    """A write waits for another process's lock as long as it was told, then says so; reads never wait."""
    with Memory.open(path, lock_timeout=0.3) as memory:
        memory.remember("before", key="k")
        with start("hold", path, **PIPES) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "holding\n"
            with pytest.raises(StoreLockedError) as caught:
                memory.remember("refused", key="k")
            assert caught.value.retryable
            assert isinstance(caught.value, TimeoutError)
            assert memory.current("k").content == "before"
            assert len(memory.search("before")) == 1
            assert len(memory.history("k")) == 1
            holder.communicate()
        memory.remember("after", key="k")
        assert [entry.content for entry in memory.history("k")] == ["before", "after"]


def test_a_lock_held_for_a_moment(path: Path) -> None:
    """A write that waits gets its turn when the other process lets go."""
    with Memory.open(path, lock_timeout=60) as memory:
        memory.remember("before", key="k")
        with start("hold", path, **PIPES) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "holding\n"
            assert holder.stdin is not None
            holder.stdin.close()
            memory.remember("after", key="k")
            assert holder.wait(30) == 0
        assert memory.current("k").content == "after"


def test_many_open_a_new_store_at_once(tmp_path: Path) -> None:
    """SQLite refuses at once where two make a file a store; an opener waits for the other instead."""
    script = "import sys; from memgraph import Memory; Memory.open(sys.argv[1], lock_timeout=30).remember('a')"
    for turn in range(4):
        path = tmp_path / f"memory-{turn}.db"
        command = [sys.executable, "-c", script, str(path)]
        children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        said = [child.communicate()[1] for child in children]
        assert [child.returncode for child in children] == [0] * 6, said
        with Memory.open(path) as memory:
            assert memory.count() == 6
