"""How fast the local store is. Figures are process CPU time unless they say wall; run on an idle machine, by hand.

    python -m tests.bench.speed [--sizes 1000,10000,100000] [--folder DIR]

Facts of 10 to 24 words over a Zipf vocabulary of 16,000, 60 % keyed with about three versions a key. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import platform
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_random = random.Random(7)
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
_WORDS = list(
    dict.fromkeys("".join(_random.choices(_SYLLABLES, k=_random.choice((2, 2, 3, 3, 4)))) for _ in range(40_000))
)[:16_000]
_WEIGHTS = list(itertools.accumulate(1.0 / (i + 1) ** 0.9 for i in range(len(_WORDS))))


def words(source: random.Random, count: int) -> str:
    """Words by their frequency."""
    return " ".join(source.choices(_WORDS, cum_weights=_WEIGHTS, k=count))


def facts(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Arguments of `remember`."""
    source = random.Random(seed)
    keys = max(1, count // 5)
    for _ in range(count):
        key = f"user/{source.randrange(keys)}" if source.random() < 0.6 else None
        yield {"content": words(source, source.randint(10, 24)), "key": key}


def measure(call: Callable[[Any], object], arguments: list[Any]) -> tuple[float, float, float]:
    """(median CPU, median wall, 95th percentile of wall) in milliseconds."""
    cpu, wall = [], []
    for argument in arguments:
        a, b = time.process_time(), time.perf_counter()
        call(argument)
        cpu.append(time.process_time() - a)
        wall.append(time.perf_counter() - b)
    wall.sort()
    return statistics.median(cpu) * 1e3, statistics.median(wall) * 1e3, wall[int(len(wall) * 0.95)] * 1e3


def resident() -> float:
    """Resident memory in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def row(what: str, value: str) -> None:
    """A line of the table."""
    print(f"| {what} | {value} |", flush=True)


def bare_commits(folder: Path, count: int) -> float:
    """The wall milliseconds (median) of a bare one-row commit, WAL and synchronous=FULL."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("create table t(id integer primary key, text text)")
    times = []
    for _ in range(count):
        start = time.perf_counter()
        connection.execute("begin immediate")
        connection.execute("insert into t(text) values(?)", ("x" * 120,))
        connection.execute("commit")
        times.append(time.perf_counter() - start)
    connection.close()
    return statistics.median(times) * 1e3


def build(path: Path, size: int) -> None:
    """Fill a store; run in a process of its own so that its memory does not count."""
    from memgraph import Memory

    start = time.process_time()
    with Memory.open(path, durability="normal", preload=False) as memory:
        batch: list[dict[str, Any]] = []
        ids: list[str] = []
        source = random.Random(3)
        for number, fact in enumerate(facts(size)):
            fact["id"] = f"mem-{number}"
            if ids and source.random() < 0.5:
                fact["relates_to"] = [source.choice(ids)]
            batch.append(fact)
            if len(batch) == 1000 or number == size - 1:
                memory.remember_many(batch)
                ids += [each["id"] for each in batch]
                batch = []
    row(
        f"{size:,}: filling it, half of the facts with a relation, imports included",
        f"{size / (time.process_time() - start):,.0f} memories per CPU second",
    )


def run(path: Path, folder: Path, size: int) -> None:
    """Measure one store."""
    import memgraph.backends.local.backend
    import memgraph.backends.local.search  # noqa: F401 - so that memory counts from after the imports
    from memgraph import Memory

    imports = resident()
    wall, cpu = time.perf_counter(), time.process_time()
    memory = Memory.open(path, preload=False)
    memory.get("mem-7")
    row(
        f"{size:,}: open to first get",
        f"{(time.process_time() - cpu) * 1e3:.1f} ms, wall {(time.perf_counter() - wall) * 1e3:.1f} ms",
    )
    source = random.Random(12)
    row(
        f"{size:,}: get by id",
        f"{measure(memory.get, [f'mem-{source.randrange(size)}' for _ in range(2000)])[0] * 1e3:.0f} µs",
    )
    keys = [f"user/{source.randrange(max(1, size // 5))}" for _ in range(2000)]
    row(f"{size:,}: current by key", f"{measure(memory.current, keys)[0] * 1e3:.0f} µs")
    cpu = time.process_time()
    memory.search(words(source, 4))
    row(f"{size:,}: first search (loads the columns)", f"{(time.process_time() - cpu) * 1e3:.0f} ms")
    queries = [words(source, source.randint(3, 6)) for _ in range(300)]
    for query in queries[:50]:
        memory.search(query)
    median, _, high = measure(memory.search, queries)
    row(f"{size:,}: search, whole recipe", f"{median:.2f} ms (wall p95 {high:.1f} ms)")
    row(f"{size:,}: memory over the imports, before the graph", f"{resident() - imports:.0f} MB")
    cpu = time.process_time()
    memory.lineage("mem-7")
    row(f"{size:,}: graph ready", f"{time.process_time() - cpu:.2f} s")
    gc.collect()
    row(f"{size:,}: memory over the imports, with the graph", f"{resident() - imports:.0f} MB")
    batches(memory, size)
    writes(memory, path, folder, size)
    busy_search(memory, size, queries)
    memory.close()


def batches(memory: Any, size: int) -> None:
    """Batches of 1,000 into the store as it is, keys and index included."""
    todo = list(facts(11_000, 21))
    memory.remember_many(todo[:1000])
    start = time.process_time()
    for low in range(1000, 11_000, 1000):
        memory.remember_many(todo[low : low + 1000])
    spent = time.process_time() - start
    row(f"{size:,}: batch of 1,000, index included", f"{10_000 / spent:,.0f} memories per CPU second")


def writes(memory: Any, path: Path, folder: Path, size: int) -> None:
    """Single writes: one thread, 16 threads, normal durability, beside a bare commit."""
    from memgraph import Memory

    source = random.Random(5)

    def one(_: Any = None) -> None:
        memory.remember(words(source, 17), key=f"user/{source.randrange(max(1, size // 5))}")

    bare = bare_commits(folder, 400)
    cpu, wall, high = measure(one, [None] * 600)
    row(
        f"{size:,}: keyed write, synchronous=FULL",
        f"{cpu:.2f} ms, wall {wall:.2f} ms (p95 {high:.2f}), {wall / bare:.1f} times a bare commit ({bare:.2f} ms)",
    )
    single, many = rate(one, 1), rate(one, 16)
    row(
        f"{size:,}: the same from 16 threads",
        f"{many:,.0f}/s against {single:,.0f}/s from one, {many / single:.1f} times",
    )
    memory.close()
    with Memory.open(path, durability="normal", preload=False) as fast:
        keys = [f"user/{source.randrange(max(1, size // 5))}" for _ in range(1000)]
        cpu, _, _ = measure(lambda key: fast.remember(words(source, 17), key=key), keys)
        row(f"{size:,}: keyed write, durability=normal", f"{cpu:.2f} ms")
    memory._backend.reopen()


def rate(work: Callable[[], None], threads: int, seconds: float = 3.0) -> float:
    """Calls a second (wall) from so many threads."""
    counts = [0] * threads
    end = time.perf_counter() + seconds

    def loop(number: int) -> None:
        while time.perf_counter() < end:
            work()
            counts[number] += 1

    runners = [threading.Thread(target=loop, args=(number,)) for number in range(threads)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    return sum(counts) / seconds


def busy_search(memory: Any, size: int, queries: list[str]) -> None:
    """Search while another process writes, so that CPU time is the search's own."""
    for query in queries[:20]:
        memory.search(query)
    script = (
        "import sys, time; from memgraph import Memory; from tests.bench.speed import facts\n"
        "memory = Memory.open(sys.argv[1], durability='normal', preload=False); end = time.time() + 8\n"
        "[memory.remember(**fact) for fact in facts(10**6, 9) if time.time() < end or sys.exit()]"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, memory.status().store])
    time.sleep(1)
    median, _, high = measure(memory.search, queries[:200])
    writer.terminate()
    writer.wait()
    row(f"{size:,}: search while a writer runs", f"{median:.2f} ms (wall p95 {high:.1f} ms)")


def main() -> None:
    """Build and measure stores of several sizes, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--part", choices=("build", "run"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        size = int(asked.sizes)
        path = asked.folder / f"{size}.db"
        return build(path, size) if asked.part == "build" else run(path, asked.folder, size)
    print(f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}\n")
    print("| what | figure |\n|---|---|", flush=True)
    for size in asked.sizes.split(","):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            for part in ("build", "run"):
                command = [
                    sys.executable,
                    "-m",
                    "tests.bench.speed",
                    "--sizes",
                    size,
                    "--folder",
                    folder,
                    "--part",
                    part,
                ]
                subprocess.run(command, check=True)
    return None


if __name__ == "__main__":
    main()
