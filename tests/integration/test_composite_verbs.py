"""What replicas of one real primary do for their callers: converge, refuse, wait, purge, mend, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memgraph import AsyncMemory, Memory
from memgraph.backends.base import Scope
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import AuthError, ConflictError, MemgraphError, NotFoundError, UnavailableError
from memgraph.models import Filters, Status
from tests.integration.conftest import OwnServer
from tests.integration.replicas import (
    again,
    cypher,
    fresh_namespace,
    held,
    in_touch,
    nodes,
    nothing_lost,
    replica,
    sides,
    synced,
)
from tests.neo4j_server import Server
from tests.proxy import Proxy

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
CANARY = "the canary sings"


@pytest.fixture
def namespace() -> str:
    return fresh_namespace()


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


@pytest.fixture
def laptop(neo4j_server: Server, tmp_path: Path, namespace: str) -> Iterator[Callable[..., Laptop]]:
    made: list[Laptop] = []

    def make(name: str, **options: Any) -> Laptop:
        made.append(Laptop(tmp_path / f"{name}.db", namespace, neo4j_server, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def contents(memory: Memory) -> dict[str, str]:
    return {entry.id: entry.content for entry in memory.list(ANY, limit=10_000)}


# ---- converging


def test_two_replicas_that_wrote_apart_converge(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a, b = laptop("a"), laptop("b")
    for each, name in ((a, "a"), (b, "b")):
        each.cable.refuse()
        each.memory.remember(f"{name} says tea", key="drink", id=f"{name}1")
        each.memory.remember(f"{name} alone", id=f"{name}2")
        each.memory.relate(f"{name}1", f"{name}2", note=f"noted by {name}")
    a.memory.forget("a2")
    b.memory.remember("b says coffee", key="drink", id="b3")
    for each in (a, b):
        each.cable.heal()
    for _ in range(2):
        for each in (a, b):
            assert each.memory.sync().waiting == 0
    for each in (a, b):
        assert set(contents(each.memory)) == {"a1", "a2", "b1", "b2", "b3"}
        assert [entry.id for entry in each.memory.history("drink")] == ["a1", "b1", "b3"]
        assert each.memory.get("a2").status == "forgotten"
        assert {edge.note for edge in each.memory.neighbours("a1").edges if edge.label == "RELATES_TO"} <= {
            "noted by a"
        }
        assert len(each.local.relations(each.memory.path, ["a1", "b1"])) == 2
        nothing_lost(neo4j_server, each.memory, contents(a.memory))


def test_a_long_pull_goes_on_where_it_was_interrupted(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a"), laptop("b")
    for part in range(4):
        a.memory.remember_many([{"content": f"note {part} {n}"} for n in range(200)])
        a.memory.sync()
    pages: list[int] = []

    def pull_the_plug(number: int) -> None:
        pages.append(number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        b.memory.sync(progress=pull_the_plug)
    assert (b.local.count(Scope(b.memory.path), ANY, b.memory._now()), pages) == (500, [500])
    b.memory.sync(progress=pages.append)
    assert sum(pages[1:]) == 400, "the two parts that were there whole were not pulled again"
    assert len(contents(b.memory)) == 800
    assert b.memory.sync_diff().equal


def test_an_id_used_twice_is_the_first_ones_and_a_dead_letter_of_the_other(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a, b = laptop("a"), laptop("b")
    a.cable.refuse()
    b.cable.refuse()
    a.memory.remember("written by a", id="x", key="k")
    b.memory.remember(CANARY, id="x", key="k")
    b.memory.remember("written after it", id="y")
    b.memory.remember_many([{"content": "another x", "id": "w"}, {"content": "and its batch", "id": "z"}])
    a.memory.remember("w of a", id="w")
    a.cable.heal()
    b.cable.heal()
    synced(a.memory)
    report = b.memory.sync()
    assert (report.waiting, report.dead_letters) == (0, 3), "the operations of two units"
    letters = b.memory.dead_letters()
    assert {letter.op for letter in letters} == {"remember"}
    assert not any(CANARY in repr(letter) for letter in letters)
    status = b.memory.status().sync
    assert status is not None
    assert status.dead_letters == 3
    assert {id: entry.content for id, entry in held(neo4j_server, a.memory.path).items()} == {
        "x": "written by a",
        "w": "w of a",
        "y": "written after it",
    }, "nothing was held up, and no batch was split"
    for each in (a, b):
        each.memory.sync()
        assert (each.here("x"), each.here("w"), each.here("y")) == ("written by a", "w of a", "written after it")
        assert each.memory.current("k").content == "written by a"
    assert b.memory.retry_dead_letters() == 3
    assert b.memory.sync().dead_letters == 3
    assert a.memory.sync_diff().equal


# ---- conditions


def test_conditions_hold_across_replicas(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a, b = laptop("a"), laptop("b")
    first = a.memory.remember("first", key="k", if_absent=True)
    assert first.stored_on == ("local", "neo4j")
    assert a.here(first.id) == "first"
    with pytest.raises(ConflictError):
        b.memory.remember("second", key="k", id="refused", if_absent=True)
    second = b.memory.remember("second", key="k", expected_version=first.version)
    with pytest.raises(ConflictError):
        a.memory.remember("third", key="k", id="late", expected_version=first.version)
    assert set(held(neo4j_server, a.memory.path)) == {first.id, second.id}
    assert (a.here("late"), b.here("refused")) == (None, None)
    assert a.link.outbox.newest() == b.link.outbox.newest() == 0
    for each in (a, b):
        each.memory.sync()
        assert each.memory.current("k") == second
        assert each.memory.sync_diff().equal


def test_a_condition_waits_for_what_was_written_before_it(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a")
    a.cable.refuse()
    with pytest.raises(UnavailableError):
        a.memory.remember("alone", key="k", id="nowhere", if_absent=True)
    queued = a.memory.remember("queued", key="k")
    with pytest.raises(UnavailableError):
        a.memory.remember("not judged", key="k", id="nowhere", expected_version=queued.version)
    assert a.here("nowhere") is None
    assert a.link.outbox.depth().queued == 1
    a.cable.heal()
    synced(a.memory)
    with pytest.raises(ConflictError):
        a.memory.remember("too late", key="k", if_absent=True)
    assert a.memory.remember("next", key="k", expected_version=queued.version).stored_on == ("local", "neo4j")


def test_a_condition_whose_outcome_is_unknown_is_repeated_by_its_id(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a = laptop("a", timeout=2.0)
    a.memory.remember("before", key="other", if_absent=True)
    a.cable.cut_at_commit("after", *["before"] * 20)
    with pytest.raises(UnavailableError, match="mine"):
        a.memory.remember("was it written?", key="k", id="mine", if_absent=True)
    assert a.here("mine") is None
    assert a.link.outbox.newest() == 0, "conditions are never queued"
    there = held(neo4j_server, a.memory.path)["mine"]
    a.cable.heal()
    synced(a.memory)
    found = a.memory.remember("was it written?", key="k", id="mine", if_absent=True)
    assert found == there
    assert a.here("mine") == "was it written?"
    assert sorted(nodes(neo4j_server, a.memory.path)).count("mine") == 1


def test_a_condition_that_a_broken_commit_left_open_is_judged_anew(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a = laptop("a")
    a.memory.remember("before", key="other", if_absent=True)
    others = Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), a.memory.path)
    a.cable.cut_at_commit("before", meanwhile=lambda: others.remember("somebody was faster", key="k", id="faster"))
    with pytest.raises((ConflictError, UnavailableError)):
        a.memory.remember("mine", key="k", id="mine", if_absent=True)
    assert a.cable.broken == 1
    assert set(nodes(neo4j_server, a.memory.path)) >= {"faster"}
    assert "mine" not in nodes(neo4j_server, a.memory.path)
    others.close()


# ---- waiting for the primary


def test_a_write_that_waits_for_the_primary(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a = laptop("a", write_concern="primary", pull_every=30.0)
    entry = a.memory.remember("on both", id="both")
    assert entry.stored_on == ("local", "neo4j")
    assert "both" in nodes(neo4j_server, a.memory.path)
    a.cable.refuse()
    for id in ("later", "later still"):
        with pytest.raises(UnavailableError):
            a.memory.remember("not there yet", id=id)
    assert a.here("later") == "not there yet"
    assert a.link.outbox.depth().queued == 2
    a.cable.heal()
    in_touch(a.memory)
    assert {"both", "later", "later still"} == set(nodes(neo4j_server, a.memory.path))
    others = Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), a.memory.path)
    others.remember("taken", id="taken")
    others.close()
    with pytest.raises(ConflictError):
        a.memory.remember("mine", id="taken")
    assert len(a.memory.dead_letters()) == 1


@pytest.mark.timeout(900)  # its server may start first
def test_wrong_credentials_are_shown_and_tried_once(own: OwnServer, tmp_path: Path, namespace: str) -> None:
    proxy = Proxy(own.server.port)
    memory = Memory.open(
        tmp_path / "a.db", primary=proxy.uri, auth=("neo4j", "not-the-password"), namespace=namespace, preload=False
    )
    for n in range(5):
        assert memory.remember(f"note {n}", id=str(n)).stored_on == ("local",)
    for ask in (lambda: memory.get("1"), memory.list, memory.count, lambda: memory.search("note"), memory.namespaces):
        with pytest.raises(AuthError):
            again(ask)  # connecting may take longer than a deadline on a busy machine
    with pytest.raises(AuthError):
        memory.remember("judged by nobody", key="k", if_absent=True)
    with pytest.raises(AuthError):
        memory.sync()
    status = memory.status().sync
    assert status is not None
    assert "credentials" in (status.error or "")
    assert (status.queued, proxy.logons) == (5, 1)
    memory.close()
    right = Memory.open(tmp_path / "a.db", primary=proxy.uri, auth=own.server.auth, namespace=namespace)
    synced(right)
    assert len(right.list()) == 5
    right.close()
    proxy.close()


# ---- comparing and mending


def test_a_primary_restored_from_nothing_is_filled_again(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a, b = laptop("a"), laptop("b")
    for n in range(4):
        a.memory.remember(f"value {n}", key="k", id=f"v{n}")
        a.memory.sync()
    a.memory.feedback("v3", 1.0)
    a.memory.forget("v1")
    b.memory.sync()
    b.memory.remember("by b", id="b1")
    for each in (b, a):
        synced(each.memory)
    before = contents(a.memory)
    for label in ("Memory", "MemoryKey", "Feed"):
        cypher(neo4j_server, f"MATCH (n:{label} {{namespace: $space}}) DETACH DELETE n", space=a.memory.path)
    cypher(neo4j_server, "MATCH (f:Feedback) WHERE NOT (f)--() DELETE f")
    assert nodes(neo4j_server, a.memory.path) == []
    synced(a.memory)
    synced(b.memory)
    for each in (a, b):
        nothing_lost(neo4j_server, each.memory, before)
        assert each.memory.get("v1").status == "forgotten"
        assert each.memory.get("v3").feedback_count == 1


def test_what_was_changed_by_hand_is_found_and_mended(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a = laptop("a")
    a.memory.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(20)])
    a.memory.relate("n1", "n2")
    a.memory.forget("n3")
    synced(a.memory)
    assert a.memory.sync_diff().equal
    space = a.memory.path
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n0'}) DETACH DELETE m", space=space)
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n3'}) SET m.life = []", space=space)
    a.local.withdraw(space, ["n9"], lambda *_: None)
    found = a.memory.sync_diff()
    assert not found.equal
    assert sum(bucket.missing_primary for bucket in found.buckets) == 1
    assert sum(bucket.missing_local for bucket in found.buckets) == 1
    assert sum(bucket.different for bucket in found.buckets) == 1
    assert {bucket.namespace for bucket in found.buckets} == {space}
    for source in ("local", "primary", "newest"):
        assert a.memory.sync_repair(source, dry_run=True).repaired is None  # type: ignore[arg-type]
    assert a.memory.sync_diff() == found, "a dry run changes nothing"
    assert "n0" not in nodes(neo4j_server, space)
    a.memory.sync_repair("primary")
    assert a.here("n9") == "note 9"
    assert "n0" not in nodes(neo4j_server, space)
    a.memory.sync_repair("local")
    assert a.memory.sync_diff().equal
    assert held(neo4j_server, space)["n0"].content == "note 0"
    assert held(neo4j_server, space)["n3"].status == "forgotten"
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n5'}) DETACH DELETE m", space=space)
    a.local.withdraw(space, ["n6"], lambda *_: None)
    a.memory.sync_repair("newest")
    assert a.memory.sync_diff().equal
    assert len(contents(a.memory)) == 20


def test_a_store_from_before_it_got_a_primary_is_pushed_whole(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path, namespace: str
) -> None:
    with Memory.open(tmp_path / "a.db", namespace=namespace, durability="normal") as alone:
        alone.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(1010)])
        alone.remember("one", key="k")
        alone.remember("two", key="k")
        alone.relate("n1", "n2", note="kept")
        alone.forget("n3")
        alone.purge({"ids": ["n4"]})
        before = contents(alone)
    a, b = laptop("a"), laptop("b")
    a.memory.remember("with a primary")
    synced(a.memory)
    b.memory.sync()
    for each in (a, b):
        assert contents(each.memory).items() >= before.items()
        assert each.here("n4") is None
        assert each.local.get(namespace, ["n3"], each.memory._now())["n3"].status == "forgotten"
        assert [edge.note for edge in each.local.relations(namespace, ["n1"])] == ["kept"]
        assert each.memory.sync_diff().equal
    nothing_lost(neo4j_server, b.memory, contents(a.memory))
    with pytest.raises(MemgraphError):
        b.memory.remember("note 4 again", id="n4")


# ---- reading by mode


def test_local_first_asks_nobody_when_it_has_enough(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a", mode="local_first")
    a.memory.remember_many([{"content": f"the tea of day {n}", "id": f"n{n}", "key": f"k{n}"} for n in range(30)])
    a.memory.relate("n1", "n2")
    synced(a.memory)
    before = (a.cable.connections, a.cable.received)
    for n in range(30):
        assert a.memory.get(f"n{n}").degraded is None
        assert a.memory.current(f"k{n}").id == f"n{n}"
    assert len(a.memory.search("tea day", limit=10)) == 10
    assert len(a.memory.list(limit=20)) == 20
    assert [entry.id for entry in a.memory.neighbours("n1").entries] == ["n2"]
    assert len(a.memory.history("k1")) == 1
    assert (a.cable.connections, a.cable.received) == before
    assert a.memory.count() == 30
    assert a.cable.received > before[1], "how many there are, only both know"


def test_local_first_is_topped_up_by_the_primary(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a", mode="local_first"), laptop("b")
    b.memory.remember("only b knows tea", id="b1", key="k")
    synced(b.memory)
    assert a.memory.get("b1").content == "only b knows tea"
    b.memory.remember("only b knows more tea", id="b2")
    synced(b.memory)
    assert {hit.entry.id for hit in a.memory.search("tea")} == {"b1", "b2"}
    a.cable.refuse()
    found = a.memory.search("tea", limit=10)
    assert {hit.entry.id for hit in found} == {"b1", "b2"}
    assert found.degraded


def test_merge_shows_what_either_side_knows_and_never_what_is_over(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a", mode="merge"), laptop("b")
    a.memory.remember("only a knows", id="a1")
    a.memory.remember("tea", id="a2", key="drink")
    b.memory.remember("only b knows", id="b1")
    b.memory.remember("soup", id="b2", key="food")
    synced(b.memory)
    page = a.memory.list()
    assert ({entry.id for entry in page}, page.degraded) == ({"a1", "a2", "b1", "b2"}, None)
    assert a.link.outbox.newest() > 0, "and b does not know it yet"
    b.memory.sync()
    b.memory.remember("stew", id="b3", key="food")
    b.memory.remember("coffee", id="b4", key="drink")
    synced(b.memory)
    assert {entry.id for entry in a.memory.list()} == {"a1", "b1", "b3", "b4"}, "no stale copy beside its successor"
    assert a.memory.current("drink").content == "coffee"
    a.memory.remember("water", id="a3", key="drink")
    assert a.memory.current("drink").content == "water"
    assert {hit.entry.id for hit in a.memory.search("coffee water tea stew soup")} == {"a3", "b3"}
    b.memory.forget("b1")
    b.memory.purge({"ids": ["b3"]})
    synced(b.memory)
    assert {entry.id for entry in a.memory.list()} == {"a1", "a3"}
    assert a.memory.get("b1").status == "forgotten"
    with pytest.raises(NotFoundError):
        a.memory.get("b3")
    assert set(a.memory.graph().nodes) == {"a1", "a2", "a3", "b1", "b2", "b4"}


# ---- purging


@pytest.mark.parametrize("selector", [{"subject": "ann"}, {"ids": ["a1", "b1"]}, {"text": "canary"}])
def test_a_purge_while_the_primary_is_away_is_finished_by_itself(
    selector: dict[str, Any], laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a, b = laptop("a", pull_every=0.3), laptop("b")
    b.memory.remember(CANARY, id="b1", subject="ann")
    synced(b.memory)
    a.memory.remember(CANARY, id="a1", subject="ann")
    a.memory.remember("kept", id="a2")
    synced(a.memory)
    b.memory.sync()
    a.cable.refuse()
    a.memory.remember(CANARY, id="a3", subject="ann")
    gone = {"a1", "b1"} | ({"a3"} if "ids" not in selector else set())
    receipt = a.memory.purge(selector)
    assert receipt.removed["memories"] == len(gone)
    assert any("away" in line for line in receipt.not_reached)
    assert not any(CANARY in line for line in receipt.not_reached)
    assert {id for id in ("a1", "b1", "a3") if a.here(id)} == {"a1", "b1", "a3"} - gone
    a.cable.heal()
    in_touch(a.memory)
    assert not gone & set(nodes(neo4j_server, a.memory.path))
    b.memory.sync()
    assert not gone & set(contents(b.memory))
    assert a.memory.sync_diff().equal
    assert b.memory.sync_diff().equal
    with pytest.raises(MemgraphError):
        b.memory.remember(CANARY, id="a1")


def test_a_purge_goes_on_here_when_the_primary_dies_between_plan_and_purge(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a = laptop("a", timeout=1.0)
    a.memory.remember(CANARY, id="a1", subject="ann")
    synced(a.memory)
    plan = a.memory.plan_purge({"subject": "ann"})
    a.cable.refuse()
    receipt = a.memory.purge(plan)
    assert any("away" in line for line in receipt.not_reached)
    assert a.here("a1") is None
    a.cable.heal()
    synced(a.memory)
    assert "a1" not in nodes(neo4j_server, a.memory.path)


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_purge_by_another_replica_takes_stored_and_queued_copies(
    by_itself: bool, laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    a, b = laptop("a", pull_every=0.3 if by_itself else None), laptop("b")
    a.memory.remember(CANARY, id="stored", subject="ann")
    synced(a.memory)
    a.cable.refuse()
    a.memory.remember(f"{CANARY} again", id="queued", subject="ann", key="bird")
    a.memory.remember("kept", id="kept")
    a.memory.relate("kept", "queued", note=CANARY)
    time.sleep(0.01)
    b.memory.sync()
    b.memory.purge({"subject": "ann"})
    a.cable.heal()
    if by_itself:
        in_touch(a.memory)
        again(lambda: _gone(a, "stored", "queued"))
    else:
        synced(a.memory)
    _gone(a, "stored", "queued")
    assert a.memory.dead_letters() == []
    assert not {"stored", "queued"} & set(nodes(neo4j_server, a.memory.path))
    assert a.memory.sync_diff().equal
    with pytest.raises(NotFoundError):
        a.memory.get("queued")
    assert a.memory.current("bird") is None
    a.memory.close()
    assert CANARY.encode() not in (tmp_path / "a.db").read_bytes()


def _gone(laptop: Laptop, *ids: str) -> None:
    assert not any(laptop.here(id) for id in ids)


# ---- clocks


@pytest.mark.parametrize("by_itself", [False, True])
def test_what_runs_an_hour_ahead_waits_and_all_else_goes_on(
    by_itself: bool, laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    offset = 3600.0
    options = {"pull_every": 0.2, "deadline": 0.5} if by_itself else {}
    a, b = laptop("a", clock=lambda: time.time() + offset, **options), laptop("b")
    a.memory.remember("from the future", id="early", key="k")
    if by_itself:
        again(lambda: _held(a, 1))
    else:
        assert a.memory.sync().waiting == 1
    status = a.memory.status().sync
    assert status is not None
    assert (status.held, status.queued) == (1, 1)
    assert status.clock_drift is not None
    assert status.clock_drift < -3000
    assert nodes(neo4j_server, a.memory.path) == []
    assert a.memory.get("early").content == "from the future"
    b.memory.remember("in time", id="b1", key="k")
    synced(b.memory)
    if not by_itself:
        a.memory.sync()
    again(lambda: _is_here(a, "b1"))
    assert a.memory.get("b1").content == "in time"
    assert a.memory.current("k").id == "early"
    elsewhere = a.memory.namespace("below")
    assert (elsewhere.count(), getattr(elsewhere.count(), "degraded", "not told")) == (0, None)
    offset = 0.0
    with pytest.raises(MemgraphError):
        a.memory.remember("behind its own versions")
    assert nodes(neo4j_server, a.memory.path) == ["b1"]


def _held(laptop: Laptop, number: int) -> None:
    assert laptop.link.held == number


def _is_here(laptop: Laptop, id: str) -> None:
    assert laptop.here(id)


# ---- processes, loops and threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_writes_and_closes(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = replica(tmp_path / "a.db", namespace, neo4j_server)
    memory.remember("before the fork", id="before")
    in_touch(memory)
    pid = os.fork()
    if not pid:
        try:
            memory.remember("by the child", id="child")
            assert memory.get("child").content == "by the child"
            assert memory.get("before").degraded is None
            memory.close()
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    memory.remember("by the parent", id="parent")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert memory.get("child").degraded is None
    assert memory.get("child").version[-8:] != memory.get("parent").version[-8:], "another writer"
    in_touch(memory)
    nothing_lost(
        neo4j_server,
        memory,
        {"before": "before the fork", "child": "by the child", "parent": "by the parent"},
    )
    memory.close()


def test_three_event_loops_in_a_row(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = AsyncMemory(replica(tmp_path / "a.db", namespace, neo4j_server))

    async def life(turn: int) -> None:
        entries = await asyncio.gather(*(memory.remember(f"note {turn} {n}") for n in range(5)))
        assert (await memory.get(entries[0].id)).degraded is None
        assert await memory.count() == 5 * (turn + 1)
        found = await memory.search(f"note {turn}", limit=20)
        assert {hit.entry.id for hit in found} >= {entry.id for entry in entries}

    for turn in range(3):
        asyncio.run(life(turn))
    asyncio.run(memory.close())


def test_verbs_work_inside_a_running_loop(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    async def main() -> None:
        with replica(tmp_path / "a.db", namespace, neo4j_server, write_concern="primary") as memory:
            entry = memory.remember("called from a coroutine", key="k")
            assert entry.stored_on == ("local", "neo4j")
            assert memory.current("k") == entry
            assert memory.sync().waiting == 0

    asyncio.run(main())


def test_sixteen_threads_see_what_they_wrote(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = replica(tmp_path / "a.db", namespace, neo4j_server)
    written: dict[str, str] = {}
    errors: list[BaseException] = []
    barrier = threading.Barrier(16)

    def work(name: int) -> None:
        try:
            barrier.wait()
            for n in range(6):
                entry = memory.remember(f"note {n} of {name}", key=f"k{name}", id=f"{name}-{n}")
                written[entry.id] = entry.content
                found = memory.current(f"k{name}")
                assert found is not None
                assert (found.id, found.degraded) == (entry.id, None)
                assert len(memory.history(f"k{name}")) == n + 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    in_touch(memory)
    nothing_lost(neo4j_server, memory, written)
    assert memory.count() == 16
    memory.close()


LIFE = """
import sys
from memgraph import Memory
with Memory.open(sys.argv[1], primary=sys.argv[2], auth=(sys.argv[4], sys.argv[5]) if sys.argv[5] else None,
                 namespace=sys.argv[3], preload=False) as memory:
    for n in range(20):
        memory.remember(f"note {n}", key="k")
    memory.current("k"), memory.search("note"), memory.history("k"), memory.count(), memory.status()
    memory.graph()
    print(memory.count(), file=sys.stdout)
"""


@pytest.mark.parametrize("state", ["well", "refused"])
def test_no_warning_is_printed(state: str, neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    proxy = Proxy(neo4j_server.port)
    if state == "refused":
        proxy.refuse()
    values = [tmp_path / "a.db", proxy.uri, namespace, *(neo4j_server.auth or ("", ""))]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", LIFE, *map(str, values)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    proxy.close()
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
@pytest.mark.parametrize("state", ["well", "refused", "black hole", "black hole in a push"])
def test_no_thread_and_no_socket_is_left(state: str, neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    before = _left()
    proxy = Proxy(neo4j_server.port)
    memory = Memory.open(
        tmp_path / "a.db", primary=proxy.uri, auth=neo4j_server.auth, namespace=namespace, preload=False
    )
    memory.remember("a note", id="a")
    again(lambda: in_touch(memory))
    assert _left()[0] > before[0]
    if state == "refused":
        proxy.refuse()
    elif state == "black hole":
        proxy.black_hole()
    elif state == "black hole in a push":
        time.sleep(1)
        proxy.black_hole()
        memory.remember("stuck")
        time.sleep(0.2)
    memory.remember("the last")
    assert memory.get("a").content == "a note"
    memory.close()
    again(lambda: _no_thread(before), 30)
    proxy.close()
    again(lambda: _no_socket(before), 30)


def _left() -> tuple[int, int]:
    """How many threads of ours, and how many connections to servers, there are."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("memgraph")]
    return len(threads), sum(_is_socket(path) for path in Path("/proc/self/fd").iterdir())


def _is_socket(path: Path) -> bool:
    try:
        return str(path.readlink()).startswith("socket:")
    except OSError:
        return False


def _no_thread(before: tuple[int, int]) -> None:
    assert _left()[0] <= before[0]


def _no_socket(before: tuple[int, int]) -> None:
    assert _left()[1] <= before[1]


def test_statuses_are_equal_on_both_sides(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a = laptop("a")
    a.memory.remember("one", key="k", id="one")
    a.memory.remember("two", key="k", id="two")
    a.memory.forget("two")
    synced(a.memory)
    assert {id: entry.status for id, entry in held(neo4j_server, a.memory.path).items()} == {
        "one": Status.SUPERSEDED,
        "two": Status.FORGOTTEN,
    }
