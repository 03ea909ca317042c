"""What purging much costs: python -m tests.bench.purge [URI] [--memories 100000]

26 of 100 memories hold a text and are purged by it; then the whole namespace. On a file, and with a URI on that Neo4j too, where it
is compared with one transaction a memory. Seconds of wall time, and the process's peak of resident memory in MB.
Credentials come from MEMGRAPH_TEST_NEO4J_USERNAME and _PASSWORD, if the server asks for any.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.models import PurgeReceipt
from memgraph.receipts import count_in_file
from tests.bench.speed import facts, resident, row

WORD = "zyzzyva"
_ONE_BY_ONE = 200  # memories that are purged in a transaction each


def fill(memory: Memory, count: int) -> int:
    """Write so many memories; returns how many of them hold the word."""
    batch: list[dict[str, Any]] = []
    marked = 0
    for n, fact in enumerate(facts(count)):
        if n % 100 < 26:
            fact["content"] += f" {WORD}"
            marked += 1
        batch.append(fact)
        if len(batch) == 1000:
            memory.remember_many(batch)
            batch = []
    if batch:
        memory.remember_many(batch)
    return marked


@contextmanager
def peak() -> Iterator[list[float]]:
    """The greatest resident memory while this runs, beyond what there was before, in MB."""
    before, found, done = resident(), [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            found[0] = max(found[0], resident() - before)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def timed(what: str, purge: Callable[[], PurgeReceipt], expected: int) -> float:
    """Purge, and see that all of it went."""
    with peak() as most:
        began = time.perf_counter()
        receipt = purge()
        took = time.perf_counter() - began
    removed = receipt.removed["memories"]
    if removed != expected:
        raise SystemExit(f"{removed} of {expected} were removed")
    row(what, f"{removed} memories in {took:.1f} s, {removed / took:,.0f} a second, {most[0]:.0f} MB more memory")
    return took


def whole(where: str, memory: Memory, count: int) -> float:
    """Purge by the text, then everything; returns seconds a memory of the first."""
    marked = fill(memory, count)
    took = timed(f"{where}: by text", lambda: memory.purge({"text": WORD}), marked)
    left = memory.count({"status": "any"})
    if memory.search(WORD, include_inactive=True) or left != count - marked:
        raise SystemExit("some of it is left")
    timed(f"{where}: the whole namespace", lambda: memory.purge({"everything": True}), left)
    return took / marked


def one_by_one(memory: Memory) -> float:
    """Seconds a memory where each is purged in a transaction of its own."""
    ids = [entry.id for entry in memory.remember_many([{"content": f"{WORD} {n}"} for n in range(_ONE_BY_ONE)])]
    backend = memory.backend
    began = time.perf_counter()
    for id in ids:
        now = memory._now()
        plan = memory.plan_purge({"ids": [id]})
        backend.purge(plan, now)
    return (time.perf_counter() - began) / len(ids)


def main(uri: str | None, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Memory.open(path, namespace="purge") as memory:
            whole("file", memory, count)
            left = sum(count_in_file(each, [WORD]) for each in Path(folder).iterdir())
            row("file: the word in any byte of it afterwards", str(left))
    if uri is not None:
        user = os.environ.get("MEMGRAPH_TEST_NEO4J_USERNAME")
        auth = (user, os.environ["MEMGRAPH_TEST_NEO4J_PASSWORD"]) if user else None
        with Memory(Neo4jBackend(uri, auth=auth, timeout=60), namespace=f"purge{secrets.token_hex(3)}") as memory:
            each = whole("Neo4j", memory, count)
            single = one_by_one(memory)
        row(
            "Neo4j: one transaction a memory",
            f"{1 / single:,.0f} a second; pages are {single / each:.1f} times as fast",
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("uri", nargs="?")
    parser.add_argument("--memories", type=int, default=100_000)
    chosen = parser.parse_args()
    main(chosen.uri, chosen.memories)
