"""What a caller sees when the server is dead, cut off, busy, old or no server at all. Real servers, real sockets."""

from __future__ import annotations

import contextlib
import itertools
import logging
import multiprocessing
import random
import re
import socket
import socketserver
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import neo4j
import pytest

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import ClosedError, InvalidInputError, MemgraphError, UnavailableError, UnsupportedError
from memgraph.storage import bolt
from memgraph.storage.bolt import Bolt, Runner
from tests.conftest import RUN
from tests.integration.primary import again, memory_of, opened, quick
from tests.neo4j_server import Server, free_port
from tests.proxy import Proxy

SECRET = "correct-horse-battery"


@pytest.fixture
def proxy(neo4j_server: Server) -> Iterator[Proxy]:
    found = Proxy(neo4j_server.port)
    yield found
    found.close()


# ---- without a server


@pytest.mark.parametrize("uri", ["http://localhost:7474", "localhost:7687", "bolt://", "bolt+x://host"])
def test_an_address_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="primary"):
        Bolt(uri)


def test_a_database_in_the_address_is_refused() -> None:
    """It would be taken for the default one in silence."""
    with pytest.raises(InvalidInputError, match="must end with the port"):
        Memory.open(primary="bolt://127.0.0.1:7687/agents")


def test_read_only_is_for_files() -> None:
    with pytest.raises(InvalidInputError, match="rights"):
        Memory.open(primary="bolt://127.0.0.1:7687", read_only=True)


def test_credentials_in_the_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Bolt(f"bolt://neo4j:{SECRET}@localhost:7687")
    assert SECRET not in str(caught.value)


def test_a_closed_port_is_one_clear_line() -> None:
    with pytest.raises(UnavailableError, match="connection refused") as caught:
        Neo4jBackend(f"bolt://127.0.0.1:{free_port()}", auth=("neo4j", SECRET))
    assert caught.value.retryable
    assert SECRET not in repr(caught.value.__dict__)


def test_an_unknown_host_is_one_clear_line() -> None:
    with pytest.raises(UnavailableError, match="cannot be reached"):
        Neo4jBackend("bolt://no-such-host.invalid:7687")


@contextlib.contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A port that sends these, one for each piece of data that it gets, and hangs up."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                for answer in answers:
                    self.request.recv(4096)
                    self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+ssc", "neo4j+s"])
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\0\x02\x02\x0a", b""]
)
def test_a_port_that_speaks_no_bolt_is_one_clear_line(scheme: str, answer: bytes) -> None:
    with answering(answer) as port, pytest.raises((UnavailableError, UnsupportedError)) as caught:
        Neo4jBackend(f"{scheme}://127.0.0.1:{port}")
    said = str(caught.value)
    assert re.search("does not speak Bolt|no trusted TLS connection|no Neo4j server that", said)
    assert "\n" not in said
    assert f"{scheme}://127.0.0.1:{port}" in said


def success(agent: str) -> bytes:
    """The Bolt message with which a server of this name answers HELLO."""
    texts = [b"server", agent.encode(), b"connection_id", b"bolt-1"]
    body = b"\xb1\x70\xa2" + b"".join(b"\xd0" + bytes([len(text)]) + text for text in texts)
    return len(body).to_bytes(2) + body + b"\0\0"


@pytest.mark.parametrize(
    ("protocol", "agent", "said"),
    [
        (b"\0\0\x04\x05", "Neo4j/5.25.1", r"is Neo4j/5\.25\.1; memgraph needs Neo4j 5\.26 or newer"),
        (b"\0\0\0\x05", "Neo4j/5.6.0", "is older than memgraph needs"),
        (b"\0\0\x04\x04", "Neo4j/4.4.42", "is older than memgraph needs"),
        (b"\0\0\x04\x05", "Neo4j/v5.11.0 compatible graph database server - Memgraph", "is no Neo4j server"),
        (b"\0\0\x04\x05", "Another/7.0", "is no Neo4j server"),
    ],
)
def test_a_server_that_is_too_old_or_another_product_is_one_clear_line(protocol: bytes, agent: str, said: str) -> None:
    hello = success(agent)
    with answering(protocol, hello + hello) as port, pytest.raises(UnsupportedError, match=said) as caught:
        Neo4jBackend(f"bolt://127.0.0.1:{port}", auth=("neo4j", SECRET))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_versions_are_compared_as_numbers() -> None:
    assert bolt.version_of("Neo4j/5.25.1") < bolt.MINIMUM <= bolt.version_of("Neo4j/5.26.0")
    assert bolt.version_of("Neo4j/5.27-aura") > bolt.MINIMUM
    assert bolt.version_of("Neo4j/2026.01.4") > bolt.MINIMUM


def test_the_address_of_an_aura_instance_is_taken_as_it_is_given() -> None:
    """Nothing is connected to yet; a name without a port means 7687."""
    connection = Bolt("neo4j+s://0a1b2c3d.databases.neo4j.io", ("neo4j", SECRET), "neo4j")
    assert connection.where == "neo4j+s://0a1b2c3d.databases.neo4j.io/neo4j"
    assert SECRET not in repr(connection)
    connection.close()


def test_a_port_that_takes_connections_and_says_nothing_is_reported_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UnavailableError):
        Neo4jBackend(f"bolt://127.0.0.1:{silent.getsockname()[1]}", timeout=0.3)


def test_closing_without_a_connection_is_fine() -> None:
    backend = Neo4jBackend("bolt://127.0.0.1:1", connect=False)
    backend.close()
    backend.close()
    with pytest.raises(ClosedError):
        backend.namespaces(None)


# ---- on the server that all tests share


@pytest.mark.neo4j
def test_secrets_are_in_no_repr_no_log_and_no_error(neo4j_server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    backend = opened(neo4j_server)
    memory = memory_of(backend, "secrets")
    errors: list[MemgraphError] = []
    fruit = "the tomato is blue"
    memory.remember(fruit, key=fruit)
    for call in (
        lambda: memory.remember(fruit.upper(), key=fruit, if_absent=True),
        lambda: opened(neo4j_server, database="nothere"),
        lambda: Neo4jBackend(f"bolt://127.0.0.1:{free_port()}", auth=("neo4j", SECRET)),
    ):
        with pytest.raises(MemgraphError) as caught:
            call()
        errors.append(caught.value)
    backend.close()
    ours = "".join(each.getMessage() for each in caplog.records if each.name.startswith("memgraph"))
    shown = repr(backend) + repr(backend.bolt) + repr(memory) + ours
    shown += "".join(line for error in errors for line in [*traceback.format_exception(error), str(error.hint)])
    logged = "".join(each.getMessage() for each in caplog.records)
    assert "tomato" not in shown.lower()
    assert SECRET not in shown.replace("SECRET", "") + logged
    if neo4j_server.auth:
        assert neo4j_server.auth[1] not in shown + logged


@pytest.mark.neo4j
def test_a_missing_database_is_one_clear_line(neo4j_server: Server) -> None:
    with pytest.raises(InvalidInputError, match="no database 'nothere'"):
        opened(neo4j_server, database="nothere")


@pytest.mark.neo4j
def test_routing_addresses_work(neo4j_server: Server) -> None:
    backend = opened(neo4j_server, scheme="neo4j")
    memory = memory_of(backend, "routing")
    entry = memory.remember("routed")
    assert memory.get(entry.id) == entry
    backend.close()


@pytest.mark.neo4j
def test_connections_that_a_balancer_cut_are_invisible(
    neo4j_server: Server, proxy: Proxy, capfd: pytest.CaptureFixture[str]
) -> None:
    backend = opened(neo4j_server, proxy.port)
    memory = memory_of(backend, "balancer")
    capfd.readouterr()
    for n in range(3):
        entry = memory.remember(f"before the cut {n}")
        proxy.cut()
        assert memory.get(entry.id).content == f"before the cut {n}"
        proxy.cut()
        memory.forget(entry.id)
    backend.close()
    assert capfd.readouterr().err == "", "the driver does not print what is no trouble"


@pytest.mark.neo4j
@pytest.mark.parametrize("timeout", [2.0, 30.0])
def test_idle_connections_that_a_firewall_forgot_are_invisible(
    neo4j_server: Server, proxy: Proxy, timeout: float
) -> None:
    """Nothing comes back on them, not even an end; the server itself answers others."""
    contact = min(timeout, bolt._CONTACT)
    backend = opened(neo4j_server, proxy.port, timeout=timeout)
    memory = memory_of(backend, "firewall")
    entry = memory.remember("before they were forgotten")
    for call in (lambda: memory.get(entry.id), lambda: memory.remember("after")):
        proxy.forget()
        time.sleep(contact / 4 + 0.1)  # idle for so long that they are tried before they are used
        began = time.monotonic()
        assert call().content in ("before they were forgotten", "after")
        assert time.monotonic() - began < 2 * bolt._CONTACT
    backend.close()


@pytest.mark.neo4j
@pytest.mark.parametrize("trouble", ["black_hole", "refuse"])
def test_a_cable_that_goes_dead_is_reported_and_a_mended_one_is_used(
    neo4j_server: Server, proxy: Proxy, trouble: str
) -> None:
    slow = opened(neo4j_server)
    entry = memory_of(slow, "cable").remember("before")
    slow.close()
    backend = quick(neo4j_server, proxy.port)
    memory = memory_of(backend, "cable")
    getattr(proxy, trouble)()
    for call in (lambda: memory.get(entry.id), lambda: memory.remember("lost"), lambda: memory.search("before")):
        with pytest.raises(UnavailableError) as caught:
            call()
        assert "unknown host" not in str(caught.value)
    proxy.heal()
    assert again(lambda: memory.get(entry.id)) == entry
    backend.close()


@pytest.mark.neo4j
def test_many_callers_hear_of_a_dead_cable_together(neo4j_server: Server, proxy: Proxy) -> None:
    backend = quick(neo4j_server, proxy.port, pool=2)
    memory = memory_of(backend, "many")
    proxy.black_hole()
    heard: list[BaseException] = []

    def call() -> None:
        try:
            memory.list()
        except UnavailableError as error:
            heard.append(error)

    in_threads([call] * 12)
    assert len(heard) == 12
    backend.close()


@pytest.mark.neo4j
def test_closing_under_other_threads_is_clean(neo4j_server: Server) -> None:
    """They end with what they asked for or with ClosedError; no connection is left open, and nothing breaks in between."""
    made = opened(neo4j_server)
    entry = memory_of(made, "closing").remember("still here")
    made.close()
    heard: list[BaseException] = []
    for _ in range(8):
        backend = opened(neo4j_server, pool=4)
        memory = memory_of(backend, "closing")
        started = threading.Barrier(7)

        def ask(memory: Memory = memory, started: threading.Barrier = started) -> None:
            started.wait(30)
            try:
                while True:
                    assert memory.get(entry.id) == entry
            except BaseException as error:
                heard.append(error)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        started.wait(30)
        time.sleep(random.random() / 20)  # in the middle of anything
        backend.close()
        for thread in threads:
            thread.join(30)
    assert {type(error) for error in heard} == {ClosedError}
    assert len(heard) == 48


def in_threads(calls: list[Callable[[], Any]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


@pytest.mark.neo4j
def test_a_read_after_a_write_in_another_thread_sees_it(neo4j_server: Server, proxy: Proxy) -> None:
    """On a cluster too: the read names the write's bookmark, for which a server waits."""
    backend = opened(neo4j_server, proxy.port)
    memory = memory_of(backend, "threads")
    for n in range(10):
        made: list[str] = []
        in_threads([lambda n=n, made=made: made.append(memory.remember(f"value {n}", key="k").id)])
        proxy.said.clear()
        current = memory.current("k")
        assert current is not None
        assert current.id == made[0]
        assert b"bookmarks" in proxy.said
        assert b"FB:" in proxy.said, "what a bookmark begins with"
    backend.close()


@pytest.mark.neo4j
def test_times_reach_the_driver_in_utc(neo4j_server: Server, proxy: Proxy) -> None:
    backend = opened(neo4j_server, proxy.port)
    memory = memory_of(backend, "zones")
    noon = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Lisbon"))
    entry = memory.remember("at noon in Lisbon", valid_from=noon)
    assert memory.get(entry.id).valid_from == datetime(2026, 7, 1, 11, tzinfo=UTC)
    assert memory.count({"since": noon}) == (entry.recorded_at >= noon)
    assert b"Lisbon" not in bytes(proxy.said).replace(b"in Lisbon", b"")
    rows = backend.bolt.transaction(lambda tx: tx.run("read/clock", when={"nested": [noon]}))
    assert rows
    assert b"Europe" not in proxy.said
    backend.close()


# ---- what the server asks to repeat


def feed(namespace: str) -> dict[str, Any]:
    """Parameters with which write/feed takes the lock of a namespace."""
    return {"namespace": namespace, "ids": [], "hashes": [], "version": "", "purges": 0}


@pytest.mark.neo4j
def test_a_deadlock_is_tried_again(neo4j_server: Server) -> None:
    backend = opened(neo4j_server)
    names = [f"connection{RUN}/deadlock/{side}" for side in "ab"]
    both = threading.Barrier(2)
    tries: list[str] = []

    def take(first: str, second: str) -> None:
        mine: list[None] = []

        def work(tx: Runner) -> None:
            tries.append(first)
            mine.append(None)
            tx.run("write/feed", **feed(first))
            if len(mine) == 1:
                both.wait(30)
            tx.run("write/feed", **feed(second))

        backend.bolt.transaction(work)

    in_threads([lambda: take(*names), lambda: take(*reversed(names))])
    assert sorted(set(tries)) == names
    assert len(tries) > 2, "one of them was chosen by the server to begin again"
    assert [row["n"] for row in backend.bolt.run("read/feeds", spaces=names)] == [2, 2]
    backend.close()


@pytest.mark.neo4j
def test_what_was_deleted_while_its_lock_was_waited_for_is_looked_up_again(neo4j_server: Server) -> None:
    """The server says EntityNotFound, which the driver would not repeat."""
    backend = opened(neo4j_server)
    name = f"~connection{RUN}/deleted"
    backend.bolt.transaction(lambda tx: tx.run("write/feed", **feed(name)))
    tries: list[None] = []
    found: list[set[str]] = []

    def work(tx: Runner) -> None:
        tries.append(None)
        found.append({row["n"] for row in tx.run("write/repair_lock", namespace=name)})

    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as driver, driver.session() as session:
        deleting = session.begin_transaction()
        deleting.run("MATCH (f:Feed {namespace: $name}) DETACH DELETE f", name=name).consume()
        waiting = threading.Thread(target=backend.bolt.transaction, args=(work,))
        waiting.start()
        blocked = "SHOW TRANSACTIONS YIELD status, currentQuery WHERE status STARTS WITH 'Blocked' RETURN currentQuery"
        while not any("MATCH (f:Feed" in text for (text,) in driver.execute_query(blocked).records):
            time.sleep(0.02)
        deleting.commit()
        waiting.join(60)
    assert len(tries) == 2
    assert found == [set()]
    backend.close()


@pytest.mark.neo4j
def test_waits_between_tries_are_not_alike(neo4j_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that those who met do not meet again."""
    backend = opened(neo4j_server)
    waits: list[float] = []
    ticks = itertools.count()
    monkeypatch.setattr(bolt, "time", SimpleNamespace(sleep=waits.append, monotonic=lambda: next(ticks) * 0.25))

    def never(tx: Runner) -> None:
        raise bolt.Again

    with pytest.raises(UnavailableError, match="asked to repeat"):
        backend.bolt.transaction(never)
    assert len(set(waits)) == len(waits) > 10
    assert max(waits) < 0.25
    backend.close()


def _child(memory: Memory, told: Any) -> None:
    try:
        told.send(memory.remember("from the child", key="child").version)
    except BaseException as error:
        told.send(repr(error))


@pytest.mark.neo4j
def test_a_fork_gets_connections_and_a_writer_of_its_own(neo4j_server: Server) -> None:
    backend = opened(neo4j_server)
    memory = memory_of(backend, "fork")
    mine = memory.remember("from the parent")
    here, there = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_child, args=(memory, there))
    process.start()
    assert here.poll(60)
    version = here.recv()
    process.join()
    assert version[-8:] != mine.version[-8:], "another writer"
    child = memory.current("child")
    assert child is not None
    assert child.version == version
    assert memory.remember("the parent goes on").version > mine.version
    backend.close()
