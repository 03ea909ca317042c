"""How soon a caller hears that a server is away, with default settings: python -m tests.bench.neo4j_reaction [VERSION]

Starts a server of its own (Maven artifacts) and lets it die, freeze and be cut off; seconds of wall time, of several tries.
"""

from __future__ import annotations

import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import AuthError, UnavailableError
from tests.neo4j_server import Server, maven
from tests.proxy import Proxy

TRIES = 10
Auth = tuple[str, str] | None


def told(call: Callable[[], object]) -> float:
    """Seconds until a call says that the server is away."""
    began = time.perf_counter()
    try:
        call()
    except UnavailableError:
        return time.perf_counter() - began
    raise SystemExit("nothing was said")


def report(what: str, seconds: list[float]) -> None:
    print(f"{what:58} median {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s")


def opening(uri: str, auth: Auth) -> Callable[[], object]:
    return lambda: Neo4jBackend(uri, auth=auth).close()


@contextmanager
def in_touch(uri: str, auth: Auth) -> Iterator[Memory]:
    """A memory that has used the server."""
    backend = Neo4jBackend(uri, auth=auth)
    memory = Memory(backend, namespace="reaction")
    memory.remember("a first memory", key="k")
    try:
        yield memory
    finally:
        backend.close()


@contextmanager
def unanswered() -> Iterator[str]:
    """An address where connecting is never answered, as where no route leads: a listener whose queue is full."""
    waiting: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        while True:
            each = socket.socket()
            waiting.append(each)
            each.settimeout(0.5)
            try:
                each.connect(listener.getsockname())
            except TimeoutError:
                break
        try:
            yield f"bolt://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for each in waiting:
                each.close()


def each_time(uri: str, auth: Auth, trouble: Callable[[], None], over: Callable[[], None]) -> dict[str, list[float]]:
    """What a read, a write and a new connection take to be told, each from a state of health."""
    found: dict[str, list[float]] = {"a read": [], "a write": [], "opening": []}
    for _ in range(TRIES):
        for name in found:
            with in_touch(uri, auth) as memory:
                calls = {
                    "a read": lambda memory=memory: memory.current("k"),
                    "a write": lambda memory=memory: memory.remember("x"),
                    "opening": opening(uri, auth),
                }
                trouble()
                try:
                    found[name].append(told(calls[name]))
                finally:
                    over()
    return found


def main(version: str) -> None:
    with maven(version) as server:
        print(server.how)
        proxy = Proxy(server.port)
        for what, trouble in (
            ("dead (connections refused)", proxy.refuse),
            ("black hole (packets vanish)", proxy.black_hole),
        ):
            for name, seconds in each_time(proxy.uri, server.auth, trouble, proxy.heal).items():
                report(f"{what}: {name}", seconds)
        proxy.close()
        for name, seconds in each_time(server.uri, server.auth, server.freeze, lambda: _thawed(server)).items():
            report(f"frozen (the process is stopped): {name}", seconds)
        with unanswered() as uri:
            report(
                "an address from which nothing comes back: opening", [told(opening(uri, None)) for _ in range(TRIES)]
            )


def _thawed(server: Server) -> None:
    server.thaw()
    until = time.monotonic() + 60
    while True:
        try:
            Neo4jBackend(server.uri, auth=server.auth, timeout=20).close()
            return
        except (UnavailableError, AuthError):
            if time.monotonic() > until:
                raise


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "5.26")
