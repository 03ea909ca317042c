"""Threads: readers see whole states while somebody writes, and a refused write is its caller's alone."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, MemgraphError
from memgraph.models import Filters
from tests.integration.child import ROOT

ANY = Filters(status="any")
KEYS = [f"k{n}" for n in range(4)]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A store with a value on every key."""
    memory = Memory.open(tmp_path / "memory.db", durability="normal")
    memory.remember_many([{"content": "value 0 zebra", "key": key} for key in KEYS])
    return memory


def test_readers_see_whole_states(memory: Memory) -> None:
    """B057: while one thread writes, a key never has none or two current values in any kind of read."""
    done = threading.Event()

    def by_key() -> None:
        assert all(memory.current(key) is not None for key in KEYS)

    def by_list() -> None:
        assert sorted(entry.key for entry in memory.list() if entry.key) == KEYS

    def by_history() -> None:
        for key in KEYS:
            statuses = [str(entry.status) for entry in memory.history(key)]
            assert statuses == ["superseded"] * (len(statuses) - 1) + ["active"]
            found = memory.lineage(key)
            assert len(found.edges) == len(found.entries) - 1

    def by_search() -> None:
        assert sorted(hit.entry.key for hit in memory.search("zebra", limit=100) if hit.entry.key) == KEYS

    def by_graph() -> None:
        graph = memory.graph()
        heads = [data["key"] for _, data in graph.nodes(data=True) if data["status"] == "active" and data["key"]]
        assert sorted(heads) == KEYS

    def read(look: Callable[[], None]) -> int:
        turns = 0
        while not done.is_set() or turns == 0:
            look()
            turns += 1
        return turns

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, look) for look in (by_key, by_list, by_history, by_search, by_graph)]
        try:
            for n in range(1, 150):
                for key in KEYS:
                    entry = memory.remember(f"value {n} zebra", key=key)
                memory.relate(entry.id, memory.remember(f"loose {n}").id)
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    assert memory.count(ANY) == 4 * 150 + 149
    assert memory.check().ok
    memory.close()


def test_a_refusal_is_its_callers_alone(memory: Memory) -> None:
    """Writes that are committed together fail apart: every fourth is refused, all others are there."""
    taken = memory.remember("taken", id="taken")
    barrier = threading.Barrier(16)

    def write(n: int) -> list[str]:
        barrier.wait()
        kept = []
        for turn in range(40):
            id = f"t{n}-{turn}"
            if (n + turn) % 4 == 0:
                refused: dict[str, object]
                refused = {"id": taken.id} if turn % 2 else {"key": KEYS[0], "if_absent": True, "id": id}
                with pytest.raises(ConflictError):
                    memory.remember_many([{"content": "half of it"}, {"content": "refused", **refused}])
            else:
                assert memory.remember(f"kept {id}", id=id, key=KEYS[n % 4]).id == id
                kept.append(id)
        return kept

    with ThreadPoolExecutor(16) as pool:
        kept = {id for part in pool.map(write, range(16)) for id in part}
    there = {entry.id for entry in memory.list(ANY, limit=1000)}
    assert kept <= there
    assert len(there) == len(kept) + len(KEYS) + 1
    assert memory.get("taken") == taken
    assert memory.check().ok
    memory.close()


def test_the_same_write_from_many_threads_is_one_write(memory: Memory) -> None:
    """B003: retries that run at once, with one id, are one memory; with other content exactly one of them wins."""
    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(lambda _: memory.remember("once", id="same", key="once"), range(40)))
    assert len(set(entries)) == 1
    assert len(memory.history("once")) == 1

    def race(n: int) -> bool:
        try:
            return memory.remember(f"content {n}", id="race").content == f"content {n}"
        except ConflictError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(race, range(40))) == 1
    memory.close()


def test_a_compare_and_set_has_one_winner(memory: Memory) -> None:
    """Of many threads that write over one version, one does."""
    for _ in range(5):
        version = memory.current("k0").version
        barrier = threading.Barrier(8)

        def try_it(n: int, version: str = version, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            try:
                memory.remember(f"by {n}", key="k0", expected_version=version)
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(try_it, range(8))) == 1
    memory.close()


def test_relations_both_ways_from_many_threads(memory: Memory) -> None:
    """B038: eight threads relate the same pairs in both directions: no error, and each edge once."""
    ids = [memory.remember(f"end {n}", id=f"end{n}").id for n in range(4)]
    pairs = [(a, b) for a in ids for b in ids if a != b]

    def relate(n: int) -> None:
        for a, b in pairs if n % 2 else reversed(pairs):
            memory.relate(a, b, "knows", weight=0.5)
            memory.remember(f"note of {n}", key=KEYS[n % 2])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(relate, range(8)))
    graph = memory.graph()
    assert {(a, b) for a, b, key in graph.edges(keys=True) if key == "RELATES_TO:knows"} == set(pairs)
    assert sum(key == "RELATES_TO:knows" for *_, key in graph.edges(keys=True)) == len(pairs)
    memory.close()


def test_closing_under_load(memory: Memory, tmp_path: Path) -> None:
    """Closing while others read and write ends them with our own errors, and loses nothing acknowledged."""
    kept: list[str] = []

    def work(n: int) -> None:
        try:
            for turn in range(1000):
                kept.append(memory.remember(f"{n} {turn}").id)
                memory.current("k0")
        except MemgraphError:
            return

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while len(kept) < 50:
        assert any(thread.is_alive() for thread in threads)
    memory.close()
    for thread in threads:
        thread.join()
    with Memory.open(tmp_path / "memory.db") as again:
        assert set(kept) <= {entry.id for entry in again.list(limit=10_000)}


def test_signals_that_raise_in_the_main_thread_hurt_nobody_else(tmp_path: Path) -> None:
    """A time limit may strike between any two lines: no other writer hears of it, waits for ever or loses a write."""
    command = [sys.executable, "-m", "tests.integration.interrupted", str(tmp_path / "a.db"), "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(done.stdout)
    assert told.pop("interrupted") > 0
    assert told.pop("written") > 5
    assert told == {"errors": [], "stuck": [False] * 5, "lost": 0}
