"""Two or three replicas and one real primary, with cuts, repeats, restarts and skewed clocks: healed and synced, all are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import Memory
from memgraph.backends.composite.backend import CompositeBackend
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import MemgraphError, UnavailableError
from tests.conftest import RUN
from tests.neo4j_server import Server
from tests.views import everything, view_of

pytestmark = pytest.mark.neo4j
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)
_count = iter(range(1, 1_000_000))
CALLS = ("push", "bury", "changes", "feeds", "ping", "plan_purge", "purge", "get", "write", "namespaces")


@pytest.fixture(scope="module")
def primary(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    yield found
    found.close()


class Wire:
    """The way to a real primary: it can be cut, break before or after the primary did what it was asked, or deliver twice."""

    def __init__(self, primary: Neo4jBackend) -> None:
        self._primary = primary
        self.cut = False
        self.fates: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._primary, name)
        return self._over(found) if name in CALLS else found

    def _over(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def over(*values: Any, **named: Any) -> Any:
            fate = "before" if self.cut else self.fates.pop() if self.fates else "well"
            if fate == "before":
                raise UnavailableError("the wire is cut")
            found = call(*values, **named)
            if fate == "after":
                raise UnavailableError("the wire broke before the answer came")
            return call(*values, **named) if fate == "twice" and call.__name__ == "push" else found

        return over

    def close(self) -> None:
        """The primary is everybody's."""


class Replica:
    """One agent's store, its clock and its wire."""

    def __init__(self, path: Path, namespace: str, primary: Neo4jBackend, skew: float) -> None:
        self.path, self.namespace, self.wire = path, namespace, Wire(primary)
        self.now = BEGIN + timedelta(seconds=skew)
        self.open()

    def clock(self) -> float:
        self.now += timedelta(milliseconds=7)
        return self.now.timestamp()

    def open(self) -> None:
        self.local = LocalBackend(self.path, clock=self.clock, durability="normal")
        backend = CompositeBackend(self.local, self.wire, mode="local_first", deadline=0, pull_every=None)  # type: ignore[arg-type]
        self.memory = Memory(backend, namespace=self.namespace, clock=self.clock)

    def ids(self) -> list[str]:
        """In the order in which they were written: that of the ids themselves would be another one every run."""
        return [entry.id for entry in sorted(self.local_list(), key=lambda entry: (entry.version, entry.id))]

    def local_list(self) -> list[Any]:
        return everything(self.local, self.namespace, LATER)


VERBS = ("remember",) * 5 + ("again", "forget", "restore", "relate", "unrelate", "feedback", "supersede", "purge")
VERBS += ("sync", "sync", "cut", "heal", "fates", "restart", "condition")


def act(replica: Replica, draw: Callable[[Any], Any], acknowledged: dict[str, str]) -> None:
    memory, verb = replica.memory, draw(st.sampled_from(VERBS))
    ids = replica.ids()

    def one() -> str:
        pick = draw(st.integers(0, 1 << 16))  # what is drawn must not depend on what the store holds
        return ids[pick % len(ids)] if ids else "nothing"

    match verb:
        case "remember" | "condition":
            key = draw(st.sampled_from(("k", "k", "j", None)))
            content = f"content {next(_count)}"
            absent = verb == "condition" and key is not None
            entry = memory.remember(content, key=key, subject=draw(st.sampled_from(("ann", None))), if_absent=absent)
            acknowledged[entry.id] = content
        case "again":  # an id that others use too, with the same content
            id = f"shared-{draw(st.integers(1, 2))}"
            acknowledged[memory.remember(f"content of {id}", id=id, tags=[replica.path.stem]).id] = f"content of {id}"
        case "forget":
            memory.forget(one())
        case "restore":
            back = memory.restore(one())
            acknowledged[back.id] = back.content
        case "relate":
            memory.relate(one(), one(), "knows", note=f"note {next(_count)}")
        case "unrelate":
            memory.unrelate(one(), one(), "knows")
        case "feedback":
            memory.feedback(one(), draw(st.sampled_from((-1.0, 0.5))))
        case "supersede":
            memory.supersede(one(), one())
        case "purge":
            selector = draw(st.sampled_from(({"key": "j"}, {"subject": "ann"}, {"ids": [one()]})))
            plan = memory.plan_purge(selector)
            gone = {id for found in plan.ids.values() for id in found}
            memory.purge(plan)
            for id in gone:
                acknowledged.pop(id, None)
        case "sync":
            memory.sync()
        case "cut":
            replica.wire.cut = True
        case "heal":
            replica.wire.cut = False
        case "fates":
            fates = st.lists(st.sampled_from(("well", "before", "after", "twice")), max_size=6)
            replica.wire.fates = draw(fates)
        case "restart":
            memory.close()
            replica.open()


@settings(max_examples=max(25, settings().max_examples // 2))
@given(data=st.data())
def test_healed_and_synced_all_graphs_are_equal(
    data: st.DataObject, primary: Neo4jBackend, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, namespace = tmp_path_factory.mktemp("replicas"), f"composite{RUN}-{next(_count)}"
    skews = data.draw(st.lists(st.sampled_from((-100.0, 0.0, 100.0)), min_size=2, max_size=3))
    replicas = [Replica(folder / f"r{n}.db", namespace, primary, skew) for n, skew in enumerate(skews)]
    acknowledged: dict[str, str] = {}
    for _ in range(data.draw(st.integers(5, 30))):
        replica = data.draw(st.sampled_from(replicas))
        try:
            act(replica, data.draw, acknowledged)
        except MemgraphError:
            pass  # a refusal, or a failure that says so: nothing was promised
    for replica in replicas:
        replica.wire.cut, replica.wire.fates = False, []
    for _ in range(3):
        for replica in replicas:
            report = replica.memory.sync()
            assert report.waiting == 0
            assert report.dead_letters == 0
    want = view_of(primary, [namespace], LATER)
    for replica in replicas:
        got = view_of(replica.local, [namespace], LATER)
        assert not {name: (got[name], want[name]) for name in want if got[name] != want[name]}
        assert replica.memory.sync_diff().equal
        assert replica.local.check().ok
        replica.memory.close()
    held = {entry.id: entry.content for entry in everything(primary, namespace, LATER)}
    missing = {id for id, content in acknowledged.items() if held.get(id) != content}
    for id in missing:
        assert not held.get(id)
        with pytest.raises(MemgraphError):  # only what was purged may be gone, and then its id is dead
            Memory(primary, namespace=namespace).remember("anew", id=id)
