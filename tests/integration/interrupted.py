"""A process whose main thread is interrupted by signals while it writes and reads, among other threads that write.

    python -m tests.integration.interrupted STORE SECONDS [PRIMARY]        prints one line of JSON

STORE: a path, or the address of a server. PRIMARY: the address of the server behind a path. Credentials are those in
NEO4J_USERNAME and NEO4J_PASSWORD.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from pydantic_core import PydanticSerializationError

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import MemgraphError


class InterruptedWriteError(Exception):
    """Raised by a signal handler, as a time limit of a caller is."""


def main(store: str, seconds: float, primary: str | None = None) -> None:
    """Write from four threads and from this one, which reads too and is interrupted ever again; say what became of it."""
    password = os.environ.get("NEO4J_PASSWORD")
    auth = (os.environ["NEO4J_USERNAME"], password) if password else None
    space = f"interrupted{os.getpid()}"
    if "://" in store:
        memory = Memory(Neo4jBackend(store, auth=auth, timeout=20), namespace=space)
    else:
        memory = Memory.open(store, primary=primary, auth=auth, namespace=space)
    memory.remember("warm")
    memory.search("warm")  # models are built at their first use, which a signal in it would break
    written: list[set[str]] = [set() for _ in range(5)]
    errors: list[str] = []
    until = time.monotonic() + seconds

    def work(thread: int) -> None:
        while time.monotonic() < until:
            try:
                written[thread].add(memory.remember(f"{thread} {len(written[thread])}", key=f"k{thread}").id)
            except BaseException as error:
                errors.append(repr(error))
                return

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()

    armed = threading.Event()

    def interrupt(*_: Any) -> None:
        if armed.is_set():
            raise InterruptedWriteError

    signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    while time.monotonic() < until:
        try:
            armed.set()
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.02 * (interrupted % 7) / 7)
            written[4].add(memory.remember("main", key="main").id)
            memory.current("main")
            memory.search("main", limit=3)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except (InterruptedWriteError, MemgraphError):  # its own write may fail by it
            interrupted += 1
        except PydanticSerializationError as error:  # what is raised in pydantic's core comes out as this
            if InterruptedWriteError.__name__ not in str(error):
                raise
            interrupted += 1
        armed.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)
    for thread in threads:
        thread.join(30)
    last = threading.Thread(target=lambda: written[4].add(memory.remember("after all").id), daemon=True)
    last.start()
    last.join(30)
    if primary:
        asked = memory.sync()
        assert not asked.waiting, asked
    there = {entry.id for entry in memory.backend.snapshot(memory.path, memory._now())}
    told = {
        "errors": errors[:3],
        "stuck": [thread.is_alive() for thread in (*threads, last)],
        "lost": sum(len(mine - there) for mine in written),
        "written": sum(map(len, written)),
        "interrupted": interrupted,
    }
    print(json.dumps(told), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])
