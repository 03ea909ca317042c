"""Replicas for the tests of the composite: stores of their own over one real server, and what children of these tests run."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from memgraph import Memory
from memgraph.backends.composite.backend import PUSH_TIMEOUT, CompositeBackend
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import MemgraphError, UnavailableError
from memgraph.models import Entry
from tests.conftest import RUN
from tests.neo4j_server import Server
from tests.proxy import Proxy
from tests.views import everything

T = TypeVar("T")
LATER = datetime(2200, 1, 1, tzinfo=UTC)
_names = itertools.count(1)


def fresh_namespace() -> str:
    """A namespace that no other test uses."""
    return f"replicas{RUN}/{next(_names)}"


def replica(
    path: Path,
    namespace: str,
    server: Server,
    uri: str | None = None,
    *,
    timeout: float = 20.0,
    deadline: float = 20.0,
    clock: Callable[[], float] = time.time,
    **options: Any,
) -> Memory:
    """A store at `path` with the server as its primary, patient unless told otherwise: the machine of a test may be busy."""

    def connection(timeout: float) -> Neo4jBackend:
        return Neo4jBackend(uri or server.uri, auth=server.auth, timeout=timeout, clock=clock, connect=False)

    backend = CompositeBackend(
        LocalBackend(path, clock=clock, durability="normal"),
        connection(timeout),
        connection(PUSH_TIMEOUT),
        deadline=deadline,
        **options,
    )
    return Memory(backend, namespace, clock=clock)


def sides(memory: Memory) -> CompositeBackend:
    """The composite behind a memory."""
    assert isinstance(memory.backend, CompositeBackend)
    return memory.backend


def again(call: Callable[[], T], seconds: float = 60.0) -> T:
    """The answer of a call, once it works."""
    until = time.monotonic() + seconds
    while True:
        try:
            return call()
        except (UnavailableError, AssertionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def synced(memory: Memory) -> None:
    """Push and pull until nothing waits."""
    again(lambda: _all_sent(memory), 240)


def _all_sent(memory: Memory) -> None:
    assert memory.sync().waiting == 0


def in_touch(memory: Memory) -> None:
    """Wait until the primary is asked again, and everything was pushed: by itself, without `sync`."""
    again(lambda: _in_touch(memory))


def _in_touch(memory: Memory) -> None:
    link = sides(memory).link
    assert link.breaker.closed
    assert link.outbox.newest() == 0


def held(server: Server, namespace: str) -> dict[str, Entry]:
    """Every memory of a namespace on the server, asked directly; each id once."""
    backend = Neo4jBackend(server.uri, auth=server.auth, timeout=20)
    try:
        found = everything(backend, namespace, LATER)
    finally:
        backend.close()
    assert len({entry.id for entry in found}) == len(found)
    return {entry.id: entry for entry in found}


def nodes(server: Server, namespace: str) -> list[str]:
    """The ids of all memory nodes of a namespace, by a statement of its own: doubles would show."""
    return [
        row["id"] for row in cypher(server, "MATCH (m:Memory {namespace: $space}) RETURN m.id AS id", space=namespace)
    ]


def cypher(server: Server, text: str, **values: Any) -> list[dict[str, Any]]:
    """Run a statement on the server, past everything of ours."""
    import neo4j

    with neo4j.GraphDatabase.driver(server.uri, auth=server.auth) as driver, driver.session() as session:
        return [dict(row) for row in session.run(text, values)]  # type: ignore[arg-type]


def feed_number(server: Server, namespace: str) -> int:
    """How far the feed of a namespace is."""
    (row,) = cypher(server, "MATCH (f:Feed {namespace: $space}) RETURN f.n AS n", space=namespace)
    number: int = row["n"]
    return number


def set_back(server: Server, namespace: str, number: int, keeping: Sequence[str]) -> None:
    """Make of a namespace what a restore from an older copy leaves: these memories, and the feed at an older number."""
    cypher(
        server,
        "MATCH (m:Memory {namespace: $space}) WHERE NOT m.id IN $ids DETACH DELETE m",
        space=namespace,
        ids=list(keeping),
    )
    cypher(server, "MATCH (f:Feed {namespace: $space}) SET f.n = $n", space=namespace, n=number)


def nothing_lost(
    server: Server, memory: Memory, acknowledged: Mapping[str, str], maybe: Mapping[str, str] = {}
) -> None:
    """Everything acknowledged is on the server once, with its content, and both sides are equal.

    maybe: what was under way and never answered: it is there whole and right, or not at all.
    """
    found = held(server, memory.path)
    ids = nodes(server, memory.path)
    assert len(ids) == len(set(ids))
    wrong = {id for id, content in acknowledged.items() if id not in found or found[id].content != content}
    assert not wrong, f"{len(wrong)} of {len(acknowledged)} are not there"
    strange = {id for id, entry in found.items() if {**maybe, **acknowledged}.get(id) != entry.content}
    assert not strange
    assert memory.dead_letters() == []
    assert again(memory.sync_diff).equal
    here = {entry.id: entry.content for entry in everything(sides(memory).local, memory.path, LATER)}
    assert here == {id: entry.content for id, entry in found.items()}


# ---- what children run


def write_until_killed(path: str, namespace: str, server: Server, name: str, log: str) -> None:
    """Write through the composite, alone and in batches, noting each write before and after it, until somebody kills this."""
    parent, dice = os.getppid(), random.Random(name)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    memory = replica(Path(path), namespace, server)
    for n in itertools.count(1):
        id = f"{name}-{n}"
        os.write(out, f"doing {id}\n".encode())
        try:
            if dice.random() < 0.2:
                memory.remember_many(
                    [{"content": f"content of {id}.{part}", "id": f"{id}.{part}"} for part in range(3)]
                )
            else:
                memory.remember(f"content of {id}", id=id, key=dice.choice((None, f"k{dice.randrange(5)}")))
                if dice.random() < 0.1:
                    memory.get(id)
        except MemgraphError as error:
            os.write(out, f"failed {id} {type(error).__name__}\n".encode())
        else:
            os.write(out, f"done {id}\n".encode())
        if os.getppid() != parent:
            return


class Laptop:
    """A replica and its cable. Its queue is pushed when something waits for it, and by sync; with pull_every by itself."""

    def __init__(self, path: Path, namespace: str, server: Server, **options: Any) -> None:
        self.path, self.cable = path, Proxy(server.port)
        options = {"pull_every": None, **options}
        self.memory = replica(path, namespace, server, self.cable.uri, **options)
        self.local = sides(self.memory).local
        self.link = sides(self.memory).link

    def here(self, id: str) -> str | None:
        """What the local store holds under an id."""
        found = self.local.get(self.memory.path, [id], self.memory._now()).get(id)
        return found and found.content

    def close(self) -> None:
        self.cable.heal()
        self.memory.close()
        self.cable.close()
