"""kill -9 at the commits of what takes away or brings much back: the same call once more finishes it, on every backend."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.models import Filters
from tests.integration.child import do, start
from tests.integration.replicas import fresh_namespace, synced
from tests.neo4j_server import Server

ANY = Filters(status="any")
BACKENDS = ["local", pytest.param("neo4j", marks=pytest.mark.neo4j), pytest.param("composite", marks=pytest.mark.neo4j)]
MOST = 40  # places to die at: before and after each commit
SOME = {
    "local": range(2, MOST, 3),
    "neo4j": (3, 6),
    "composite": (4, 9),
}  # that are tried each time; all in the long form
VERBS = ["purge subject", "purge text", "rewind", "undo", "consolidate", "import"]


class Store:
    """Where a child works: the arguments that open it."""

    def __init__(self, backend: str, folder: Path, server: Server | None) -> None:
        self.backend = backend
        self.path = "" if backend == "neo4j" else str(folder / "a.db")
        self.uri, self.auth = ("", None) if server is None else (server.uri, server.auth)
        self.namespace = fresh_namespace()

    def open(self) -> Memory:
        return Memory.open(
            self.path or None, primary=self.uri or None, auth=self.auth, namespace=self.namespace, preload=False
        )


def fill(memory: Memory) -> None:
    memory.remember_many(
        [{"content": f"kept {n}", "id": f"kept{n}", "subject": "eve", "key": f"k{n}"} for n in range(5)]
    )
    memory.remember_many(
        [
            {"content": f"the secret {n}", "id": f"gone{n}", "subject": "bob", "key": f"k{n}", "session": "bad"}
            for n in range(5)
        ]
    )
    memory.relate("kept0", "gone1")


def prepared(verb: str, memory: Memory, folder: Path) -> str:
    """Whatever the verb needs; returns its argument."""
    if verb == "import":
        file = folder / "export.jsonl"
        with Memory.open(":memory:", namespace="elsewhere") as source:
            fill(source)
            source.purge({"ids": ["gone4"]})
            source.export_to(file)
        return str(file)
    fill(memory)
    if verb == "undo":
        return memory.release(filters={"session": "bad"}).id
    return {
        "purge subject": json.dumps({"subject": "bob"}),
        "purge text": json.dumps({"text": "secret"}),
        "rewind": json.dumps({"session": "bad"}),
        "consolidate": "0.99",
    }[verb]


def seen(memory: Memory) -> dict[str, tuple[Any, ...]]:
    """Every memory but for when, as a caller sees it; and the relations."""
    found: dict[str, tuple[Any, ...]] = {}
    for entry in memory.list(ANY, limit=1000):
        name = entry.id if entry.restores is None else f"copy of {entry.restores}"
        found[name] = (entry.content, entry.key, str(entry.status))
    names = {
        entry.id: f"copy of {entry.restores}" for entry in memory.list(ANY, limit=1000) if entry.restores is not None
    }
    edges = [
        (names.get(a, a), names.get(b, b), edge["type"])
        for a, b, edge in memory.graph().edges(data=True)
        if edge.get("type")
    ]
    return found | {"relations": tuple(sorted(edges))}


@pytest.fixture
def wanted(verb: str, tmp_path: Path) -> dict[str, tuple[Any, ...]]:
    """What comes of it where nobody is killed."""
    with Memory.open(":memory:", namespace="wanted") as memory:
        do(memory, verb.split()[0], prepared(verb, memory, tmp_path))
        return seen(memory)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.timeout(300)
def test_the_same_call_once_more_finishes_what_was_killed(
    backend: str, verb: str, wanted: dict[str, tuple[Any, ...]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = None if backend == "local" else request.getfixturevalue("neo4j_server")
    kills(backend, verb, wanted, tmp_path, server, SOME[backend])


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.timeout(1200)
def test_wherever_it_was_killed(
    backend: str, verb: str, wanted: dict[str, tuple[Any, ...]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = None if backend == "local" else request.getfixturevalue("neo4j_server")
    assert kills(backend, verb, wanted, tmp_path, server, range(1, MOST)), "more commits than points"


def kills(
    backend: str,
    verb: str,
    wanted: dict[str, tuple[Any, ...]],
    folder: Path,
    server: Server | None,
    points: Iterable[int],
) -> bool:
    """Kill the call at these points, each time in a store of its own; whether it ended before it got to one of them."""
    for point in points:
        place = folder / str(point)
        place.mkdir()
        store = Store(backend, place, server)
        with store.open() as memory:
            argument = prepared(verb, memory, place)
            if backend == "composite":
                synced(memory)
        arguments = (point, store.path, store.uri, json.dumps(store.auth), store.namespace, verb.split()[0], argument)
        child = start("die_at", *arguments, stdout=subprocess.PIPE)
        said, _ = child.communicate(timeout=120)
        ended = said == "done\n"
        assert ended or child.returncode == -9
        with store.open() as memory:
            do(memory, verb.split()[0], argument)
            if backend == "composite":
                synced(memory)
                assert memory.sync_diff().equal
            assert seen(memory) == wanted, f"killed at {point}"
            ours = [each for each in memory.check().problems if any(store.namespace in name for name in each.examples)]
            assert ours == [], f"killed at {point}"
        if ended:
            return True
    return False
