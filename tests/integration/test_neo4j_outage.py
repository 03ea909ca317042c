"""A server of the tests' own: set up by many at once, frozen, and killed in the middle of writing."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import Any

import pytest

from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import StoreFullError, UnavailableError
from tests.integration.conftest import OwnServer
from tests.integration.primary import again, empty, memory_of, opened, quick

pytestmark = pytest.mark.neo4j


def _set_up(uri: str, auth: Any, told: Any) -> None:
    try:
        Neo4jBackend(uri, auth=auth, timeout=60, retry_time=120).close()
        told.put("ready")
    except BaseException as error:
        told.put(repr(error))


def test_eight_processes_set_up_an_empty_database_at_once(own: OwnServer) -> None:
    empty(own.server, schema=True)
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    processes = [context.Process(target=_set_up, args=(own.server.uri, own.server.auth, told)) for _ in range(8)]
    for process in processes:
        process.start()
    answers = [told.get(timeout=240) for _ in processes]
    for process in processes:
        process.join()
    assert answers == ["ready"] * 8
    backend = opened(own.server)
    assert backend.check().problems == ()
    assert len(backend.bolt.run("write/secrets")) == 1
    backend.close()


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+ssc"])
def test_a_frozen_server_is_reported_and_goes_on_when_it_thaws(own: OwnServer, scheme: str) -> None:
    if own.certificate is None and "+" in scheme:
        pytest.skip("needs openssl to make a certificate")
    slow = opened(own.server)
    entry = memory_of(slow, f"frozen {scheme}").remember("before the frost", key="k")
    slow.close()
    backend = quick(own.server, scheme=scheme)
    memory = memory_of(backend, f"frozen {scheme}")
    own.server.freeze()
    try:
        for _ in range(2):
            with pytest.raises(UnavailableError):
                memory.current("k")
            with pytest.raises(UnavailableError):
                memory.remember("in the frost")
    finally:
        own.server.thaw()
    assert again(lambda: memory.current("k")) == entry
    backend.close()


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+ssc"])
def test_a_statement_that_takes_its_time_is_no_frozen_server(own: OwnServer, scheme: str) -> None:
    if own.certificate is None and "+" in scheme:
        pytest.skip("needs openssl to make a certificate")
    backend = quick(own.server, scheme=scheme)
    began = time.monotonic()
    while time.monotonic() - began < 2 * backend.bolt.timeout:
        backend.bolt.execute("UNWIND range(1, 20000000) AS n RETURN max(n)")
    backend.close()


def test_a_batch_that_a_server_has_no_memory_for_is_refused_whole(own: OwnServer) -> None:
    """The transaction cap of a small server: a clear error that says what to do, nothing half written, and less at once works."""
    backend = opened(own.server)
    memory = memory_of(backend, "capped")
    items = [{"content": f"number {n}", "key": f"k{n}"} for n in range(8000)]
    with pytest.raises(StoreFullError, match="memory") as refused:
        memory.remember_many(items)
    assert refused.value.hint
    assert "number" not in str(refused.value)
    assert memory.count({"status": "any"}) == 0
    assert all(len(memory.remember_many(items[at : at + 2000])) == 2000 for at in range(0, 8000, 2000))
    backend.close()


def test_a_killed_server_loses_nothing_that_was_acknowledged(own: OwnServer) -> None:
    backend = opened(own.server, retry_time=5)
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
    own.server.kill()
    for thread in threads:
        thread.join(60)
    assert len(failed) == 3
    own.server.start()
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
