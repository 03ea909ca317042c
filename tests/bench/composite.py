"""What a primary over a file costs its callers, as ratios in one run: python -m tests.bench.composite URI [N]

Credentials come from MEMGRAPH_TEST_NEO4J_USERNAME and _PASSWORD, if the server asks for any.
"""

from __future__ import annotations

import os
import secrets
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memgraph import Memory
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.outbox import Outbox
from memgraph.backends.neo4j.backend import Neo4jBackend

RUN = f"bench{secrets.token_hex(3)}"


def measured(call: Callable[[int], Any], number: int) -> tuple[float, float]:
    """The median wall time of a call, and the process's CPU time a call, in milliseconds."""
    walls = []
    cpu = time.process_time()
    for n in range(number):
        began = time.perf_counter()
        call(n)
        walls.append(time.perf_counter() - began)
    return statistics.median(walls) * 1000, (time.process_time() - cpu) / number * 1000


def drained(memory: Memory, seconds: float = 600) -> float:
    """Seconds until nothing waits any more."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if memory.backend.link.outbox.newest() == 0:  # type: ignore[attr-defined]
            return time.monotonic() - began
        time.sleep(0.01)
    raise SystemExit("it did not drain")


def main(uri: str, number: int) -> None:
    user = os.environ.get("MEMGRAPH_TEST_NEO4J_USERNAME")
    auth = (user, os.environ["MEMGRAPH_TEST_NEO4J_PASSWORD"]) if user else None
    folder = Path(tempfile.mkdtemp())

    def opened(name: str, primary: str | None, **options: Any) -> Memory:
        return Memory.open(folder / f"{name}.db", primary=primary, auth=auth, namespace=f"{RUN}/{name}", **options)

    def write(memory: Memory) -> Callable[[int], Any]:
        return lambda n: memory.remember(f"the value number {n} of a slot", key=f"k{n % 100}")

    alone = opened("alone", None)
    measured(write(alone), 200)
    base = measured(write(alone), number)
    print(f"local alone: p50 {base[0]:.2f} ms, cpu {base[1]:.2f} ms a write")

    with opened("up", uri) as up:
        up.remember("first")
        drained(up)
        wall, cpu = measured(write(up), number)
        began = time.process_time()
        seconds = drained(up)
        rest = (time.process_time() - began) / number * 1000
        print(
            f"primary up: p50 {wall:.2f} ms ({wall / base[0]:.2f} times), cpu {cpu:.2f} ms ({cpu / base[1]:.2f} times)"
        )
        print(f"  then {seconds:.1f} s and {rest:.2f} ms cpu a write more until all is pushed")

    again = measured(write(alone), number)
    hole = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    with opened("hole", f"bolt://127.0.0.1:{hole.getsockname()[1]}") as dead:
        began = time.perf_counter()
        dead.remember("first")
        dead.search("first")
        first = time.perf_counter() - began
        wall, cpu = measured(write(dead), number)
        found = measured(lambda _: dead.search("value number"), 100)
        here = measured(lambda _: alone.search("value number"), 100)
        print(
            f"black hole: the first write and search {first:.2f} s; then p50 {wall:.2f} ms ({wall / again[0]:.2f} times),"
        )
        print(f"  cpu {cpu / again[1]:.2f} times; search {found[0] / here[0]:.2f} times")
    hole.close()

    with opened("queue", "bolt://127.0.0.1:1") as queue:
        for at in range(0, 10_000, 500):
            for n in range(500):
                queue.remember(f"queued {at + n}", key=f"q{(at + n) % 1000}")
    with opened("queue", uri) as queue:
        seconds = drained(queue)
    with opened("single", "bolt://127.0.0.1:1") as single:
        for n in range(500):
            single.remember(f"queued {n}", key=f"q{n}")
    store, primary = LocalBackend(folder / "single.db"), Neo4jBackend(uri, auth=auth)
    units = Outbox(store).units(500)
    began = time.monotonic()
    for unit in units:
        primary.push(unit.operations)
    one = (time.monotonic() - began) / len(units)
    primary.close(), store.close()
    print(f"draining 10,000: {seconds:.1f} s, {10_000 / seconds:.0f} a second; singly {1 / one:.0f} a second:")
    print(f"  {one * 10_000 / seconds:.1f} times")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
