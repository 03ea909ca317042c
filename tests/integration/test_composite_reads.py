"""What is read of a local store and its primary, by mode; what purges reach; clocks that run ahead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.backends.composite import link
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import ConflictError, MemgraphError, NotFoundError, UnavailableError
from memgraph.models import Filters, PurgeReceipt, Status
from tests.integration.replicas import (
    Laptop,
    again,
    held,
    in_touch,
    nodes,
    replica,
    synced,
)
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
CANARY = "the canary sings"


def contents(memory: Memory) -> dict[str, str]:
    return {entry.id: entry.content for entry in memory.list(ANY, limit=10_000)}


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


def _told_as_done(memory: Memory) -> None:
    memory.sync()
    assert [act.details["pending"] for act in memory.audit() if "receipt" in act.details] == [False]


def _verified(memory: Memory, receipt: PurgeReceipt, selector: dict[str, Any]) -> None:
    check = memory.verify_purge(receipt, selector)
    assert check.ok
    assert check.not_reached
    assert not any("away" in place or "the selector" in place for place in check.not_reached)


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
    assert a.memory.audit()[-1].details["pending"]
    assert {id for id in ("a1", "b1", "a3") if a.here(id)} == {"a1", "b1", "a3"} - gone
    a.cable.heal()
    in_touch(a.memory)
    assert not gone & set(nodes(neo4j_server, a.memory.path))
    again(lambda: _verified(a.memory, receipt, selector))
    b.memory.sync()
    again(lambda: _told_as_done(b.memory))
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


def test_a_purge_by_text_reaches_what_only_the_primary_holds_when_it_is_back(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """The selector waits, encrypted; what was written after the purge is not its business; nothing of it is left in the end."""
    a, b = laptop("a"), laptop("b")
    b.memory.remember("the canary of Rua Nova, written elsewhere", id="elsewhere", key="k")
    b.memory.remember("a bystander", id="bystander")
    synced(b.memory)
    a.memory.remember("the canary here", id="here")
    a.cable.refuse()
    with pytest.raises(UnavailableError):
        a.memory.sync()
    a.link.breaker.fail("it was cut")
    receipt = a.memory.purge({"text": "canary"})
    assert any("the selector" in place for place in receipt.not_reached)
    key = a.path.with_name(f"{a.path.name}-purge-key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert a.here("here") is None
    for file in (a.path, a.path.with_name(f"{a.path.name}-wal")):
        assert b"canary" not in file.read_bytes()
    b.memory.remember("a canary that came later", id="later")
    synced(b.memory)
    a.cable.heal()
    a.link._probe()
    synced(a.memory)
    synced(a.memory)
    assert held(neo4j_server, a.memory.path).keys() == {"bystander", "later"}
    assert contents(a.memory).keys() == {"bystander", "later"}
    assert not key.exists()
    assert a.link.outbox.selectors() == []
    synced(b.memory)
    assert contents(b.memory).keys() == {"bystander", "later"}


def test_a_pull_in_the_middle_of_a_purge_is_no_conflict(
    laptop: Callable[..., Laptop], neo4j_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The primary has purged, another process has pulled that, and then it is our turn: what is to go is gone."""
    a = laptop("a")
    a.memory.remember("a secret", id="s", key="k", tags=["t"])
    a.memory.remember("something else", id="other")
    synced(a.memory)
    for selector in ({"tags": ["t"]}, {"ids": ["other"]}):
        pusher = a.link.pusher
        plain = pusher.purge

        def purged_and_pulled(*given: Any, plain: Any = plain) -> Any:
            receipt = plain(*given)
            with replica(a.path, a.memory.path, neo4j_server) as another:
                another.sync()
            return receipt

        with monkeypatch.context() as patched:
            patched.setattr(pusher, "purge", purged_and_pulled)
            assert a.memory.purge(selector).removed["memories"] == 1
    assert a.here("s") is a.here("other") is None
    assert a.local.check().ok
    assert contents(a.memory) == {}
    synced(a.memory)  # so that the server's audit knows that it ended


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


def test_a_write_after_a_read_wins_on_a_machine_whose_clock_is_behind(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    a = laptop("a")
    slow = laptop("b", clock=lambda: time.time() - 120)
    reads: list[Callable[[], object]] = [
        lambda: slow.memory.current("k"),
        lambda: slow.memory.search("value"),
        lambda: slow.memory.list(),
        lambda: slow.memory.lineage("k"),
        lambda: slow.memory.get("k4"),
    ]
    for n, read in enumerate(reads):
        a.memory.remember(f"value {n}", key="k", id=f"k{n}")
        synced(a.memory)
        assert read() is not None
        mine = slow.memory.remember(f"better value {n}", key="k")
        synced(slow.memory)
        a.memory.sync()
        for each in (a, slow):
            found = each.memory.current("k")
            assert found is not None
            assert found.id == mine.id


def test_a_machine_whose_clock_is_far_behind_goes_by_the_primarys(
    laptop: Callable[..., Laptop], neo4j_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By more than drift allows: what others write now is in its future, and it writes on all the same."""
    monkeypatch.setattr(link, "machine_time", lambda: time.time() - 600)
    slow = laptop("slow", clock=lambda: time.time() - 600)
    with Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), slow.memory.path) as others:
        others.remember("by others", key="k")
        synced(slow.memory)
        for n in range(2):
            assert slow.memory.current("k").content in ("by others", "mine 0")  # type: ignore[union-attr]
            mine = slow.memory.remember(f"mine {n}", key="k")
            synced(slow.memory)
            assert others.current("k").id == mine.id  # type: ignore[union-attr]
        slow.memory.close()
        with replica(slow.path, others.path, neo4j_server, clock=lambda: time.time() - 600) as again_opened:
            again_opened.remember("the first thing that a process does", key="k")
            synced(again_opened)
            assert others.current("k").content == "the first thing that a process does"  # type: ignore[union-attr]


def test_a_slow_way_to_the_primary_costs_readers_little(laptop: Callable[..., Laptop]) -> None:
    """Each answer takes longer than the deadline: the file answers, and the primary is asked at growing intervals only."""
    a = laptop("a", timeout=0.3, deadline=0.3)
    for n in range(5):
        a.memory.remember(f"note {n}", id=f"n{n}")
    synced(a.memory)
    assert a.memory.get("n0").degraded is None
    a.cable.drip(1, 0.2)
    began, reasons = time.monotonic(), set()
    for n in range(30):
        reasons.add(a.memory.get(f"n{n % 5}").degraded)
    assert time.monotonic() - began < 6, "thirty deadlines would be nine seconds"
    assert None not in reasons
    assert a.memory.degraded is not None
    a.cable.heal()
    a.memory.sync()
    assert again(lambda: _undisturbed(a)) == "note 0"


def _undisturbed(laptop: Laptop) -> str:
    found = laptop.memory.get("n0")
    assert found.degraded is None
    return found.content


def test_what_is_not_found_may_be_on_the_primary(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a")
    a.memory.remember("a note", id="n")
    synced(a.memory)
    with pytest.raises(NotFoundError) as told:
        a.memory.get("elsewhere")
    assert "primary" not in told.value.hint
    assert a.memory.degraded is None
    a.cable.refuse()
    a.link.breaker.fail("it was cut")
    for ask in (
        lambda: a.memory.get("elsewhere"),
        lambda: a.memory.lineage("elsewhere"),
        lambda: a.memory.forget("elsewhere"),
        lambda: a.memory.neighbours("elsewhere"),
    ):
        with pytest.raises(NotFoundError) as told:
            ask()
        assert "may be on the primary" in told.value.hint
    assert a.memory.current("elsewhere") is None
    assert a.memory.degraded is not None


def test_local_first_shows_what_a_condition_met(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a"), laptop("b", mode="local_first")
    first = a.memory.remember("one", key="k")
    synced(a.memory)
    b.memory.sync()
    a.memory.remember("two", key="k")
    synced(a.memory)
    with pytest.raises(ConflictError):
        b.memory.remember("three", key="k", expected_version=first.version)
    now = b.memory.current("k")
    assert now is not None
    assert now.content == "two"
    assert b.memory.remember("three", key="k", expected_version=now.version).content == "three"


def test_merge_says_that_a_first_pull_is_under_way(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a"), laptop("b", mode="merge", deadline=0.2)
    a.memory.remember("a note", id="n")
    synced(a.memory)
    with b.link.puller._locks.setdefault(a.memory.path, threading.Lock()):
        found = b.memory.list()
    assert found.degraded is not None
    assert "pulled" in found.degraded
