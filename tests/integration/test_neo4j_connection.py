"""What a caller sees when the server is dead, frozen, cut off, locked, old or no server at all. Real servers, real sockets."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import AuthError, ClosedError, InvalidInputError, UnavailableError, UnsupportedError
from memgraph.storage.bolt import Bolt
from tests.conftest import RUN
from tests.neo4j_server import NoServerError, Server, free_port, maven, set_password

SECRET = "correct-horse-battery"


class Proxy:
    """A TCP relay between a client and a server, which can lose its cables."""

    def __init__(self, port: int) -> None:
        self.silent = threading.Event()
        self._pairs: list[socket.socket] = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(("127.0.0.1", port)) as there:
                    outer._pairs += [self.request, there]
                    back = threading.Thread(target=outer._pump, args=(there, self.request), daemon=True)
                    back.start()
                    outer._pump(self.request, there)
                    back.join()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while self.silent.is_set():
                    time.sleep(0.01)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End every connection, as a balancer does with idle ones."""
        for each in self._pairs:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self) -> None:
        self.silent.clear()
        self.cut()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def proxy(neo4j_server: Server) -> Iterator[Proxy]:
    found = Proxy(neo4j_server.port)
    yield found
    found.close()


def opened(server: Server, port: int | None = None, **options: Any) -> Neo4jBackend:
    uri = f"bolt://127.0.0.1:{port}" if port else server.uri
    return Neo4jBackend(uri, auth=server.auth, **{"timeout": 20, **options})


def quick(server: Server, port: int | None = None, **options: Any) -> Neo4jBackend:
    """A backend with the default deadline whose pool has a connection; on a busy machine it may take a few tries."""
    for _ in range(50):
        try:
            found = opened(server, port, timeout=0.8, **options)
            found.namespaces(None)
            return found
        except UnavailableError:
            time.sleep(0.2)
    raise AssertionError("the server is slower than a dead one")


def again(call: Any) -> Any:
    """The answer of a call, once the server is back."""
    for _ in range(100):
        try:
            return call()
        except UnavailableError:
            time.sleep(0.1)
    return call()


def memory_of(backend: Neo4jBackend, name: str) -> Memory:
    return Memory(backend, namespace=(f"connection{RUN}", name))


# ---- without a server


@pytest.mark.parametrize("uri", ["http://localhost:7474", "localhost:7687", "bolt://", "bolt+x://host"])
def test_an_address_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="primary"):
        Bolt(uri)


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


def test_a_port_that_speaks_http_is_one_clear_line() -> None:
    class Http(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(100)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Http) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(UnavailableError, match="Bolt") as caught:
            Neo4jBackend(f"bolt://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert "\n" not in str(caught.value)


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
def test_secrets_are_in_no_repr_and_no_log(neo4j_server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memgraph")
    backend = opened(neo4j_server)
    memory = memory_of(backend, "secrets")
    memory.remember("the tomato is blue", key="tomato")
    shown = repr(backend) + repr(backend.bolt) + repr(memory) + "".join(each.message for each in caplog.records)
    assert "tomato is blue" not in shown
    if neo4j_server.auth:
        assert neo4j_server.auth[1] not in shown
    backend.close()


@pytest.mark.neo4j
def test_a_missing_database_is_one_clear_line(neo4j_server: Server) -> None:
    with pytest.raises(InvalidInputError, match="no database 'nothere'"):
        opened(neo4j_server, database="nothere")


@pytest.mark.neo4j
def test_routing_addresses_work(neo4j_server: Server) -> None:
    backend = Neo4jBackend(neo4j_server.uri.replace("bolt", "neo4j"), auth=neo4j_server.auth, timeout=20)
    memory = memory_of(backend, "routing")
    entry = memory.remember("routed")
    assert memory.get(entry.id) == entry
    backend.close()


@pytest.mark.neo4j
def test_connections_that_a_balancer_cut_are_invisible(neo4j_server: Server, proxy: Proxy) -> None:
    backend = opened(neo4j_server, proxy.port)
    memory = memory_of(backend, "balancer")
    for n in range(3):
        entry = memory.remember(f"before the cut {n}")
        proxy.cut()
        assert memory.get(entry.id).content == f"before the cut {n}"
        proxy.cut()
        memory.forget(entry.id)
    backend.close()


@pytest.mark.neo4j
def test_a_cable_that_goes_dead_is_reported_and_a_mended_one_is_used(neo4j_server: Server, proxy: Proxy) -> None:
    slow = opened(neo4j_server)
    entry = memory_of(slow, "cable").remember("before")
    slow.close()
    backend = quick(neo4j_server, proxy.port)
    memory = memory_of(backend, "cable")
    proxy.silent.set()
    for call in (lambda: memory.get(entry.id), lambda: memory.remember("lost"), lambda: memory.search("before")):
        with pytest.raises(UnavailableError):
            call()
    proxy.silent.clear()
    assert again(lambda: memory.get(entry.id)) == entry
    backend.close()


@pytest.mark.neo4j
def test_many_callers_hear_of_a_dead_cable_together(neo4j_server: Server, proxy: Proxy) -> None:
    backend = quick(neo4j_server, proxy.port, pool=2)
    memory = memory_of(backend, "many")
    proxy.silent.set()
    heard: list[BaseException] = []

    def call() -> None:
        try:
            memory.list()
        except UnavailableError as error:
            heard.append(error)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(heard) == 12
    backend.close()


@pytest.mark.neo4j
def test_a_read_after_a_write_in_another_thread_sees_it(neo4j_server: Server) -> None:
    backend = opened(neo4j_server)
    memory = memory_of(backend, "threads")
    for n in range(10):
        made: list[str] = []
        thread = threading.Thread(target=lambda n=n, made=made: made.append(memory.remember(f"value {n}", key="k").id))
        thread.start()
        thread.join()
        current = memory.current("k")
        assert current is not None
        assert current.id == made[0]
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


# ---- on a server of their own


@pytest.fixture(scope="module")
def heard_at_first() -> list[str]:
    """What a new server says to its default password."""
    return []


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, heard_at_first: list[str], neo4j_version: str) -> Iterator[Server]:
    """A server that may be killed, frozen and locked out of; it offers TLS with a certificate that nobody trusts."""
    settings = {"dbms__security__auth_lock_time": "2s"}
    if shutil.which("openssl"):
        folder = tmp_path_factory.mktemp("tls")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-keyout", str(folder / "private.key"), "-out", str(folder / "public.crt")]
        subprocess.run(command, check=True, capture_output=True)
        policy = {"enabled": "true", "base_directory": str(folder), "client_auth": "NONE"}
        settings |= {f"dbms__ssl__policy__bolt__{name}": value for name, value in policy.items()}
        settings["server__bolt__tls_level"] = "OPTIONAL"
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(maven(neo4j_version, heap="512m", fresh_password=True, **settings))
        except NoServerError as error:
            pytest.skip(str(error))
        try:
            Neo4jBackend(found.uri, auth=("neo4j", "neo4j"), timeout=20)
        except AuthError as error:
            heard_at_first.append(str(error))
        found.auth = ("neo4j", SECRET[::-1])
        set_password(found.uri, found.auth[1])
        yield found


def _set_up(uri: str, auth: Any, told: Any) -> None:
    try:
        Neo4jBackend(uri, auth=auth, timeout=60, retry_time=120).close()
        told.put("ready")
    except BaseException as error:
        told.put(repr(error))


@pytest.mark.neo4j
def test_eight_processes_set_up_an_empty_database_at_once(own: Server) -> None:
    """It comes first here: the database is empty."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    processes = [context.Process(target=_set_up, args=(own.uri, own.auth, told)) for _ in range(8)]
    for process in processes:
        process.start()
    answers = [told.get(timeout=240) for _ in processes]
    for process in processes:
        process.join()
    assert answers == ["ready"] * 8
    backend = opened(own)
    assert backend.check().problems == ()
    assert len(backend.bolt.run("write/secrets")) == 1
    backend.close()


@pytest.mark.neo4j
@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
def test_tls_with_a_certificate_that_is_taken_on_trust_and_one_that_is_not(own: Server) -> None:
    backend = Neo4jBackend(own.uri.replace("bolt:", "bolt+ssc:"), auth=own.auth, timeout=20)
    memory = memory_of(backend, "tls")
    entry = memory.remember("encrypted")
    assert memory.get(entry.id) == entry
    backend.close()
    with pytest.raises(UnavailableError, match="no trusted TLS connection"):
        Neo4jBackend(own.uri.replace("bolt:", "bolt+s:"), auth=own.auth, timeout=20)


@pytest.mark.neo4j
def test_a_frozen_server_is_reported_and_goes_on_when_it_thaws(own: Server) -> None:
    slow = opened(own)
    entry = memory_of(slow, "frozen").remember("before the frost", key="k")
    slow.close()
    backend = quick(own)
    memory = memory_of(backend, "frozen")
    own.freeze()
    try:
        for _ in range(2):
            with pytest.raises(UnavailableError):
                memory.current("k")
            with pytest.raises(UnavailableError):
                memory.remember("in the frost")
    finally:
        own.thaw()
    assert again(lambda: memory.current("k")) == entry
    backend.close()


@pytest.mark.neo4j
def test_a_killed_server_loses_nothing_that_was_acknowledged(own: Server) -> None:
    backend = opened(own, retry_time=5)
    memory = memory_of(backend, "killed")
    acknowledged: list[list[str]] = []
    failed: list[BaseException] = []
    begun = threading.Event()

    def write(writer: int) -> None:
        for batch in range(1000):
            items = [{"content": f"{writer} {batch} {n}", "key": f"{writer}-{n % 7}"} for n in range(50)]
            try:
                acknowledged.append([entry.id for entry in memory.remember_many(items)])
            except UnavailableError as error:
                failed.append(error)
                return
            begun.set()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(120)
    own.kill()
    for thread in threads:
        thread.join(60)
    assert len(failed) == 3
    own.start()
    deadline = time.monotonic() + 120
    while True:
        try:
            found = list(memory.backend.snapshot(memory.path, memory._now()))
            break
        except UnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.5)
    ids = {entry.id for entry in found}
    assert all(set(batch) <= ids for batch in acknowledged), "what was acknowledged is there"
    batches: dict[str, int] = {}
    for entry in found:
        name = entry.content.rsplit(" ", 1)[0]
        batches[name] = batches.get(name, 0) + 1
    assert set(batches.values()) <= {50}, "each batch whole or absent"
    writers = {entry.content.split(" ", 1)[0] for entry in found}
    assert sum(entry.status == "active" for entry in found) == 7 * len(writers)
    backend.close()


@pytest.mark.neo4j
def test_wrong_credentials_are_tried_once(own: Server) -> None:
    backend = Neo4jBackend(own.uri, auth=("neo4j", SECRET), timeout=20, connect=False)
    heard = []
    for _ in range(6):  # the server locks out after three
        with pytest.raises(AuthError) as caught:
            backend.namespaces(None)
        heard.append(str(caught.value))
    assert len(set(heard)) == 1
    assert SECRET not in heard[0]
    assert "refused the credentials" in heard[0]
    backend.close()
    opened(own).close()  # no lock-out came of it


@pytest.mark.neo4j
def test_a_lock_out_says_so(own: Server) -> None:
    heard = ""
    for _ in range(5):
        with pytest.raises(AuthError) as caught:
            Neo4jBackend(own.uri, auth=("neo4j", SECRET), timeout=20)
        heard = str(caught.value)
    assert "locked" in heard


@pytest.mark.neo4j
def test_the_default_password_is_one_clear_line(own: Server, heard_at_first: list[str]) -> None:
    assert len(heard_at_first) == 1
    assert "has expired" in heard_at_first[0]


def test_a_server_that_is_too_old_is_one_clear_line() -> None:
    from memgraph.storage import bolt

    assert bolt.version_of("Neo4j/5.25.1") < bolt.MINIMUM <= bolt.version_of("Neo4j/5.26.0")
    assert bolt.version_of("Neo4j/5.27-aura") > bolt.MINIMUM
    assert bolt.version_of("Neo4j/2026.01.4") > bolt.MINIMUM
    with pytest.raises(UnsupportedError, match=r"Neo4j/5\.25\.1.*5\.26"):
        bolt.require_version("bolt://host", "Neo4j/5.25.1")
