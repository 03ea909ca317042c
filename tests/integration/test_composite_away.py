"""A primary that fails inside, dies while it is asked, or was there a moment ago: what is told, what goes on, what is kept."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.backends.base import Pushed, Scope
from memgraph.backends.composite.backend import CompositeBackend
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import ClockDriftError, LegalHoldError, UnavailableError
from memgraph.models import Entry, Selector
from memgraph.operations import Operation, Remember, Unknown
from memgraph.storage.bolt_errors import FaultError
from tests.integration.replicas import again, held, in_touch, replica, sides
from tests.neo4j_server import Server
from tests.proxy import Proxy

pytestmark = pytest.mark.neo4j


@pytest.fixture
def proxy(neo4j_server: Server) -> Iterator[Proxy]:
    found = Proxy(neo4j_server.port)
    yield found
    found.close()


class Failing(Neo4jBackend):
    """A real one that fails inside at whatever holds "poison", and at everything while `broken`."""

    broken = False

    def push(self, operations: Sequence[Operation | Unknown]) -> Pushed:
        poison = any(isinstance(each, Remember) and "poison" in each.content for each in operations)
        if self.broken or poison:
            raise FaultError("it failed inside (Neo.DatabaseError.Statement.ExecutionFailed)")
        return super().push(operations)


def test_what_the_server_fails_at_is_set_aside_only_if_it_takes_others(
    neo4j_server: Server, tmp_path: Path, namespace: str
) -> None:
    def connection() -> Failing:
        return Failing(neo4j_server.uri, auth=neo4j_server.auth, timeout=20, connect=False)

    pusher = connection()
    memory = Memory(CompositeBackend(LocalBackend(tmp_path / "a.db"), connection(), pusher), namespace)
    link = sides(memory).link
    pusher.broken = True
    memory.remember("poison", id="bad")
    memory.remember("one", id="one")
    again(lambda: _at_least(link._tries.get(1, 0), 5))
    assert memory.dead_letters() == [], "a server that takes nothing has nothing against this unit"
    assert link.outbox.depth().queued == 2
    pusher.broken = False
    again(lambda: _at_least(len(memory.dead_letters()), 1))
    for n in range(3):
        memory.remember(f"more {n}", id=f"more{n}")
    in_touch(memory)
    assert held(neo4j_server, namespace).keys() == {"one", "more0", "more1", "more2"}
    assert [letter.reason for letter in memory.dead_letters()] == [
        "it failed inside (Neo.DatabaseError.Statement.ExecutionFailed)"
    ]
    found = memory.get("bad")
    assert (found.content, found.degraded) == ("poison", None), (
        "what was acknowledged does not vanish from what is read"
    )
    assert len(memory.list()) == 5
    assert [hit.entry.id for hit in memory.search("poison")] == ["bad"]
    memory.close()


def _at_least(number: int, least: int) -> None:
    assert number >= least


def test_the_doctor_looks_at_what_is_here_and_says_who_is_away(
    neo4j_server: Server, proxy: Proxy, tmp_path: Path, namespace: str
) -> None:
    memory = Memory.open(
        tmp_path / "a.db", primary=proxy.uri, auth=neo4j_server.auth, namespace=namespace, preload=False
    )
    memory.remember("here")
    in_touch(memory)
    proxy.refuse()
    found = memory.check()
    assert not found.ok
    assert [problem.code for problem in found.problems] == ["away"]
    assert found.checked["memories"] == 1
    memory.close()


def test_a_primary_that_dies_while_a_purge_is_planned_is_away(
    neo4j_server: Server, proxy: Proxy, tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planned for here, and the receipt says what was not reached; it is done there later by itself."""
    memory = replica(tmp_path / "a.db", namespace, neo4j_server, proxy.uri, timeout=5, deadline=5)
    memory.remember("a secret", id="s", subject="ann")
    in_touch(memory)
    pusher = sides(memory).link.pusher
    plain = pusher.plan_purge

    def dying(*given: Any) -> Any:
        proxy.refuse()
        return plain(*given)

    monkeypatch.setattr(pusher, "plan_purge", dying)
    chosen: list[Entry] = []
    planned = memory.plan_purge({"subject": "ann"})
    assert planned.store.endswith("(away)")
    receipt = memory.purge(planned)
    assert receipt.removed["memories"] == 1
    assert any("away" in text for text in receipt.not_reached)
    chosen += sides(memory).select(Scope(namespace), Selector(subject="ann"), datetime.now(UTC))
    assert chosen == []
    monkeypatch.undo()
    proxy.heal()
    in_touch(memory)
    assert held(neo4j_server, namespace) == {}
    memory.close()


def test_who_only_reads_has_what_others_wrote_when_the_primary_goes(
    neo4j_server: Server, proxy: Proxy, tmp_path: Path, namespace: str
) -> None:
    writer = replica(tmp_path / "a.db", namespace, neo4j_server)
    writer.remember("written elsewhere", id="x")
    in_touch(writer)
    reader = replica(tmp_path / "b.db", namespace, neo4j_server, proxy.uri, timeout=5, deadline=5, pull_every=0.5)
    assert reader.get("x").degraded is None
    again(lambda: _at_least(sides(reader).local.count(Scope(namespace), _any(), datetime.now(UTC)), 1))
    proxy.refuse()
    assert reader.get("x").content == "written elsewhere"
    assert again(lambda: _degraded(reader)) is not None
    reader.close()
    writer.close()


def _any() -> Any:
    from memgraph.models import Filters

    return Filters(status="any")


def _degraded(memory: Memory) -> str:
    reason = memory.get("x").degraded
    assert reason is not None
    return reason


def test_a_machine_whose_clock_is_far_ahead_of_the_primarys_is_refused_at_the_door(
    neo4j_server: Server, tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the moment that the primary's clock was seen; what was written before waits, and nothing is lost."""
    fast: Callable[[], float] = lambda: time.time() + 900  # noqa: E731
    memory = replica(tmp_path / "a.db", namespace, neo4j_server, clock=fast, pull_every=None)
    memory.remember("before the primary was seen", id="before")
    monkeypatch.setattr("memgraph.backends.composite.link.machine_time", fast)
    assert memory.sync().waiting == 1
    with pytest.raises(ClockDriftError, match="900 s ahead of the primary's"):
        memory.remember("after it was seen")
    assert [entry.id for entry in memory.list()] == ["before"]
    monkeypatch.undo()
    sides(memory).link.look_at_clock()
    memory.remember("its clock was set right", id="after")
    memory.close()


def test_a_conditional_write_while_the_primary_dies_says_that_it_is_not_known(
    neo4j_server: Server, proxy: Proxy, tmp_path: Path, namespace: str
) -> None:
    memory = replica(tmp_path / "a.db", namespace, neo4j_server, proxy.uri, timeout=5, deadline=5)
    memory.remember("first", key="k")
    in_touch(memory)
    proxy.refuse()
    with pytest.raises(UnavailableError):
        memory.remember("second", key="k", if_absent=True)
    proxy.heal()
    in_touch(memory)
    current = memory.current("k")
    assert current is not None
    assert current.content == "first"
    memory.close()


def test_a_hold_that_others_put_is_kept_while_the_primary_is_away(
    neo4j_server: Server, proxy: Proxy, tmp_path: Path, namespace: str
) -> None:
    counsel = replica(tmp_path / "a.db", namespace, neo4j_server)
    counsel.remember("evidence", id="e", subject="bob")
    hold = counsel.hold({"subject": "bob"})
    in_touch(counsel)
    memory = replica(tmp_path / "b.db", namespace, neo4j_server, proxy.uri, timeout=5, deadline=5, pull_every=None)
    memory.sync()
    proxy.refuse()
    sides(memory).link.breaker.fail("it was cut")
    assert [each.id for each in memory.holds()] == [hold.id]
    with pytest.raises(LegalHoldError):
        memory.purge({"ids": ["e"]})
    memory.close()
    counsel.close()


def test_opening_and_looking_around_ask_the_primary_nothing(tmp_path: Path) -> None:
    """Who opens a store waits for no server, and tries no credentials."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        with Memory.open(tmp_path / "a.db", primary=f"bolt://127.0.0.1:{server.getsockname()[1]}") as memory:
            view = memory.namespace("acme", "u")
            assert (view.degraded, view.path) == (None, "acme/u")
            with pytest.raises(BlockingIOError):
                server.accept()


def test_a_slow_way_costs_a_read_one_deadline_and_is_synced_over(
    neo4j_server: Server, proxy: Proxy, namespace: str, tmp_path: Path
) -> None:
    """Each answer comes 0.3 s after it was asked for, and most calls ask for several."""
    with Memory.open(tmp_path / "a.db", primary="bolt://127.0.0.1:1", namespace=namespace) as memory:
        memory.remember("written on the road", id="a")
    proxy.drip(65536, 0.15)
    for mode in ("merge", "failover"):
        with Memory.open(
            tmp_path / "a.db", primary=proxy.uri, auth=neo4j_server.auth, namespace=namespace, mode=mode
        ) as memory:
            for read in (memory.list, lambda memory=memory: memory.search("road")):
                began = time.monotonic()
                assert len(read()) == 1
                assert time.monotonic() - began < 1.4, "0.8 s and what the machine takes"
            memory.sync()
    assert set(held(neo4j_server, namespace)) == {"a"}
