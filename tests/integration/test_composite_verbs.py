"""What replicas of one real primary do for their callers: converge, refuse, wait, compare, and mend."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import neo4j
import pytest
from click.testing import CliRunner, Result

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.backends.composite import link
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.cli.main import cli
from memgraph.errors import AuthError, ConflictError, MemgraphError, UnavailableError
from memgraph.models import Filters, Status
from memgraph.storage import bolt
from tests.integration.conftest import OwnServer
from tests.integration.replicas import (
    Laptop,
    again,
    cypher,
    feed_number,
    held,
    in_touch,
    nodes,
    nothing_lost,
    set_back,
    synced,
)
from tests.neo4j_server import Server
from tests.proxy import Proxy

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
CANARY = "the canary sings"


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


def test_what_is_done_to_a_memory_that_was_refused_is_not_done_to_the_others(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """On the primary its id names somebody else's: what waits about ours is set aside with it."""
    a, b = laptop("a"), laptop("b")
    a.memory.remember("theirs", id="job", key="their/job")
    a.memory.remember("a bystander", id="bystander")
    synced(a.memory)
    b.cable.refuse()
    b.link.breaker.fail("it was cut")
    b.memory.remember("mine", id="job", key="my/job")
    b.memory.feedback(["job"], -1.0)
    b.memory.forget("job")
    b.memory.remember("something else", id="else")
    b.cable.heal()
    b.link._probe()
    synced(b.memory)
    there = held(neo4j_server, a.memory.path)
    assert there["job"].content == "theirs"
    assert (there["job"].status, there["job"].feedback_count) == (Status.ACTIVE, 0)
    assert there.keys() == {"job", "bystander", "else"}
    assert {letter.op for letter in b.memory.dead_letters()} == {"remember", "reinforce", "retire"}


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
    with pytest.raises(ConflictError):
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


def test_a_condition_waits_a_few_deadlines_for_what_others_hold(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """A server that is there, and busy with somebody's lock, is slow: it is waited for, but not for minutes."""
    a = laptop("a", deadline=0.8)
    value = a.memory.remember("one", key="k")
    synced(a.memory)
    space = a.memory.path
    with (
        neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as driver,
        driver.session() as session,
        session.begin_transaction() as lock,
    ):
        lock.run("MATCH (n {namespace: $space}) SET n.held = true", space=space).consume()
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="id mine"):
            a.memory.remember("two", key="k", id="mine", expected_version=value.version)
        assert time.monotonic() - began < 15, "the server itself would give up after two minutes"
        lock.rollback()
    assert set(nodes(neo4j_server, space)) == {value.id}
    again(lambda: a.memory.remember("two", key="k", id="mine", expected_version=value.version))
    assert set(nodes(neo4j_server, space)) == {value.id, "mine"}


def test_closing_does_not_wait_for_who_never_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        memory = Memory.open(tmp_path / "a.db", primary=f"bolt://127.0.0.1:{hole.getsockname()[1]}", preload=False)
        memory.remember("queued")
        memory.search("queued")
        time.sleep(8)  # until a probe waits for longer
        began = time.monotonic()
        memory.close()
        assert time.monotonic() - began < 4, "the probe alone would be six seconds"


def test_whoever_waits_for_a_primary_that_dies_waits_one_deadline(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a", write_concern="primary", pull_every=30.0, timeout=4, deadline=4)
    a.memory.remember("on both")
    a.cable.black_hole()
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="id queued"):
        a.memory.remember("not there yet", id="queued")
    assert time.monotonic() - began < 6.5, "two deadlines would be eight seconds"
    began = time.monotonic()
    with pytest.raises(UnavailableError):
        a.memory.remember("nor this")
    assert time.monotonic() - began < 2, "known to be away, it costs nothing"
    assert a.link.outbox.depth().queued == 2


@pytest.mark.timeout(900)  # its server may start first
def test_wrong_credentials_are_shown_and_tried_once(
    own: OwnServer, tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bolt, "_REFUSED_FOR", 3600)  # a busy machine may need longer for this test than they rest
    monkeypatch.setattr(link, "_PAUSE", 3600)
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
    impatient = Memory.open(
        tmp_path / "a.db",
        primary=proxy.uri,
        auth=("neo4j", "not-the-password"),
        namespace=namespace,
        write_concern="primary",
    )
    with pytest.raises(AuthError, match="durable here and stays queued") as refused:
        impatient.remember("note 5", id="told")
    assert "Do not write it again" in str(refused.value.hint)
    impatient.close()
    right = Memory.open(tmp_path / "a.db", primary=proxy.uri, auth=own.server.auth, namespace=namespace)
    synced(right)
    assert len(right.list()) == 6
    right.close()
    proxy.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("beside_a_file", [True, False])
def test_credentials_that_somebody_else_had_locked_are_tried_again(
    own: OwnServer, tmp_path: Path, namespace: str, beside_a_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neo4j locks a user for some seconds after three failures, whoever they were of."""
    monkeypatch.setattr(bolt, "_REFUSED_FOR", 1.0)
    monkeypatch.setattr(link, "_PAUSE", 1.5)
    proxy = Proxy(own.server.port)
    path = tmp_path / "a.db" if beside_a_file else None
    memory = Memory.open(path, primary=proxy.uri, auth=own.server.auth, namespace=namespace)
    memory.remember("a note", key="k")

    def locked_out() -> bool:
        for _ in range(4):
            with pytest.raises(AuthError):
                Neo4jBackend(own.server.uri, auth=("neo4j", "not-the-password"), timeout=20)
        proxy.cut()
        try:
            memory.current("k")
        except AuthError:
            return True
        except UnavailableError:
            pass
        return False

    assert any(locked_out() for _ in range(20))

    def answered() -> None:
        try:
            found = memory.current("k")
        except AuthError:
            raise AssertionError from None
        assert (found.content, found.degraded) == ("a note", None)

    again(answered)
    memory.close()
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


def test_a_restored_primary_whose_feed_has_gone_on_since_is_noticed(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """It was restored from an older copy, and others wrote there until its feed was further than what was pulled."""
    a, b = laptop("a"), laptop("b")
    for n in range(8):
        a.memory.remember(f"of a {n}", id=f"a{n}")
        synced(a.memory)
    b.memory.sync()
    space = a.memory.path
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space}) WHERE m.seq > 3 DETACH DELETE m", space=space)
    cypher(neo4j_server, "MATCH (f:Feed {namespace: $space}) SET f.n = 3", space=space)
    direct = Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), space)
    for n in range(9):
        direct.remember(f"since then {n}", id=f"since{n}")
    direct.close()
    wanted = {f"a{n}" for n in range(8)} | {f"since{n}" for n in range(9)}
    for each in (a, b):
        synced(each.memory)
        assert contents(each.memory).keys() == wanted
        assert each.memory.sync_diff().equal
    pulled = a.memory.sync()
    assert (pulled.pushed, pulled.pulled) == (0, 0), "and that is over"


def test_a_restored_primary_that_others_have_filled_again_is_noticed(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """It has gone on for long, and has what others sent once more under new numbers: only what is ours alone is missing."""
    a, b, c = laptop("a"), laptop("b"), laptop("c")
    a.memory.remember("before the copy", id="a")
    synced(a.memory)
    b.memory.sync()
    space = a.memory.path
    number = feed_number(neo4j_server, space)
    for n in range(20):
        b.memory.remember(f"of b {n}", id=f"b{n}")
    synced(b.memory)
    for n in range(5):
        a.memory.remember(f"of a {n}", id=f"a{n}")
    synced(a.memory)
    set_back(neo4j_server, space, number, keeping=["a"])
    for n in range(60):
        c.memory.remember(f"of c {n}", id=f"c{n}")
        c.link.push()
    for each in (c, b, a, c, b, a):
        each.link.puller.distrust()
        synced(each.memory)
    wanted = {"a", *(f"a{n}" for n in range(5)), *(f"b{n}" for n in range(20)), *(f"c{n}" for n in range(60))}
    assert set(nodes(neo4j_server, space)) == wanted
    for each in (a, b, c):
        assert contents(each.memory).keys() == wanted
        assert each.memory.sync_diff().equal


@pytest.mark.parametrize("synced_before", [True, False])
def test_a_primary_that_was_restored_while_nobody_looked_is_noticed_by_the_first_push(
    laptop: Callable[..., Laptop], neo4j_server: Server, synced_before: bool
) -> None:
    """Our own writes soon hide what its number shows."""
    a = laptop("a")
    a.memory.remember("before the copy", id="z")
    synced(a.memory)
    space = a.memory.path
    number = feed_number(neo4j_server, space)
    for n in range(5):
        a.memory.remember(f"acknowledged {n}", id=f"a{n}")
        a.link.push()
    if synced_before:
        synced(a.memory)
    set_back(neo4j_server, space, number, keeping=["z"])
    for n in range(8):
        a.memory.remember(f"since then {n}", id=f"b{n}")
        a.link.push()
    wanted = {"z", *(f"a{n}" for n in range(5)), *(f"b{n}" for n in range(8))}
    assert {entry.id for entry in a.memory.list()} == wanted, "what is here answers until it is sent again"
    synced(a.memory)
    assert set(nodes(neo4j_server, space)) == wanted
    assert a.memory.sync_diff().equal
    pulled = a.memory.sync()
    assert (pulled.pushed, pulled.pulled) == (0, 0), "and that is over"


def test_what_a_file_held_before_it_had_a_primary_is_there_from_the_first_read(
    laptop: Callable[..., Laptop], tmp_path: Path, namespace: str
) -> None:
    with Memory.open(tmp_path / "a.db", namespace=namespace) as alone:
        alone.remember("from before", id="old", key="k")
    a = laptop("a")
    assert a.memory.current("not there") is None
    assert a.memory.degraded, "the primary, which was not asked, may have it"
    assert [entry.id for entry in a.memory.list()] == ["old"]
    assert a.memory.current("k").id == "old"
    with pytest.raises(ConflictError):
        again(lambda: a.memory.remember("another", key="k", if_absent=True))
    synced(a.memory)
    assert a.memory.get("old").degraded is None
    assert a.memory.degraded is None


@pytest.mark.parametrize("others", [False, True], ids=["by our own push", "by others"])
def test_a_restored_primary_whose_feed_has_caught_up_with_ours_is_noticed(
    laptop: Callable[..., Laptop], neo4j_server: Server, others: bool
) -> None:
    """Its number says nothing then; what it had acknowledged and does not have any more does."""
    a = laptop("a")
    a.memory.remember("before the copy", id="z")
    synced(a.memory)
    a.memory.remember("acknowledged", id="a")
    synced(a.memory)
    space = a.memory.path
    number = feed_number(neo4j_server, space)
    set_back(neo4j_server, space, number - 1, keeping=["z"])
    if others:
        with Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), space) as direct:
            direct.remember("of others", id="o")
    else:
        a.memory.remember("while it was away", id="b")
        a.link.push()
    synced(a.memory)
    synced(a.memory)
    wanted = {"z", "a", "o" if others else "b"}
    assert contents(a.memory).keys() == wanted
    assert set(nodes(neo4j_server, space)) == wanted
    assert a.memory.sync_diff().equal


def test_a_purge_that_a_restored_primary_has_lost_is_done_there_again(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """Also where our own push would bring its feed to the number that was pulled."""
    a = laptop("a")
    a.memory.remember("kept", id="k")
    a.memory.remember("CANARY", id="c", subject="ann")
    synced(a.memory)
    space = a.memory.path
    number = feed_number(neo4j_server, space)
    (before,) = cypher(neo4j_server, "MATCH (m:Memory {namespace: $s, id: 'c'}) RETURN properties(m) AS all", s=space)
    a.memory.purge({"subject": "ann"})
    synced(a.memory)
    assert set(nodes(neo4j_server, space)) == {"k"}
    cypher(neo4j_server, "MATCH (t:Tombstone {namespace: $s}) DELETE t", s=space)
    cypher(neo4j_server, "CREATE (m:Memory:Active) SET m = $all", all=before["all"])
    cypher(neo4j_server, "MATCH (f:Feed {namespace: $s}) SET f.n = $n", s=space, n=number)
    a.link.puller.distrust()
    for n in range(3):  # each push has a number; the background pushes before it pulls
        a.memory.remember(f"while it was away {n}", id=f"b{n}")
        a.link.push()
    synced(a.memory)
    synced(a.memory)
    assert set(nodes(neo4j_server, space)) == {"k", "b0", "b1", "b2"}
    assert a.memory.sync_diff().equal


def test_an_emptied_primary_is_not_believed(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    """By a process that has only just begun: what it had is read from the file, and no condition is judged there."""
    a = laptop("a", mode="failover")
    a.memory.remember("the value", key="k", id="v")
    synced(a.memory)
    a.memory.close()
    space = a.memory.path
    for label in ("Memory", "MemoryKey", "Feed"):
        cypher(neo4j_server, f"MATCH (n:{label} {{namespace: $s}}) DETACH DELETE n", s=space)
    b = laptop("a")
    assert [entry.id for entry in b.memory.list()] == ["v"]
    assert "lacks" in (b.memory.list().degraded or "")
    assert b.memory.current("k") is not None
    with pytest.raises(UnavailableError, match="lacks"):
        b.memory.remember("another", key="k", if_absent=True)
    synced(b.memory)
    assert b.memory.list().degraded is None
    with pytest.raises(ConflictError):
        b.memory.remember("another", key="k", if_absent=True)


def test_what_was_changed_by_hand_is_found_and_mended(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    a = laptop("a")
    a.memory.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(20)])
    a.memory.relate("n1", "n2")
    a.memory.forget("n3")
    synced(a.memory)
    assert a.memory.sync_diff().equal
    space = a.memory.path
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n0'}) DETACH DELETE m", space=space)
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n3'}) SET m.life = [], m.notes = []", space=space)
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


def test_a_repair_from_one_side_says_what_it_leaves(
    laptop: Callable[..., Laptop], neo4j_server: Server, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = laptop("a")
    a.memory.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(4)])
    synced(a.memory)
    cypher(neo4j_server, "MATCH (m:Memory {namespace: $space, id: 'n0'}) DETACH DELETE m", space=a.memory.path)
    a.local.withdraw(a.memory.path, ["n1"], lambda *_: None)
    a.memory.close()
    if neo4j_server.auth is not None:
        monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.auth[1])

    def run(*words: str) -> Result:
        store = ("--store", str(a.path), "--primary", a.cable.uri, "-n", namespace)
        return CliRunner().invoke(cli, ["sync", *words, *store])

    assert run("diff").exit_code == 1
    shown = run("repair", "--from", "primary", "--dry-run")
    assert shown.exit_code == 1
    assert "would send 0 facts to the primary, and bring 1 here" in shown.output
    partly = run("repair", "--from", "primary", "--yes")
    assert partly.exit_code == 6
    assert "1 facts stay on one side only" in partly.output
    assert run("repair", "--from", "local", "--yes").exit_code == 0
    assert run("diff").exit_code == 0


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
