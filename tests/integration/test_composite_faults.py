"""A local store and its primary while the way between them, the server, or this process dies: nothing is lost or doubled."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, StoreCorruptError
from memgraph.models import Entry
from tests.integration import replicas
from tests.integration.conftest import OwnServer
from tests.integration.primary import empty
from tests.integration.replicas import LATER, again, fresh_namespace, in_touch, nothing_lost, replica, sides, synced
from tests.neo4j_server import Server
from tests.proxy import Proxy
from tests.views import everything

pytestmark = pytest.mark.neo4j
FAULTS: dict[str, Callable[[Proxy], None]] = {
    "refused": Proxy.refuse,
    "black hole": Proxy.black_hole,
    "drip": lambda proxy: proxy.drip(4, 0.05),
    "cut": Proxy.cut,
    "cut before commits": lambda proxy: proxy.cut_at_commit(*["before"] * 3),
    "cut after commits": lambda proxy: proxy.cut_at_commit(*["after"] * 3),
    "cut within a statement": lambda proxy: proxy.cut_after("up", 1500),
    "cut within an answer": lambda proxy: proxy.cut_after("down", 100),
}
LASTING = ("refused", "black hole", "drip")


@pytest.fixture
def proxy(neo4j_server: Server) -> Iterator[Proxy]:
    found = Proxy(neo4j_server.port)
    yield found
    found.close()


@pytest.fixture
def make(neo4j_server: Server, proxy: Proxy, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    """A store over the proxy, with the deadlines of the product: a busy machine may open the breaker, which must be right too."""
    opened: list[Memory] = []
    namespace = fresh_namespace()

    def over(name: str = "store", **options: Any) -> Memory:
        path = tmp_path / f"{name}.db"
        options = {"durability": "normal", "preload": False, "namespace": namespace, **options}
        opened.append(Memory.open(path, primary=proxy.uri, auth=neo4j_server.auth, **options))
        return opened[-1]

    yield over
    proxy.heal()
    for memory in opened:
        memory.close()


def quiet(proxy: Proxy) -> None:
    """Wait until nothing is on its way: what comes in the background was asked and answered."""
    while True:
        before = proxy.received + proxy.connections
        time.sleep(0.5)
        if proxy.received + proxy.connections == before:
            return


def write_some(memory: Memory, name: str, acknowledged: dict[str, str], count: int = 30) -> None:
    """Single writes, keyed ones and batches; each is noted when it was acknowledged."""
    for n in range(count):
        id = f"{name}-{n}"
        if n % 5 == 0:
            items = [{"content": f"content of {id}.{part}", "id": f"{id}.{part}"} for part in range(3)]
            acknowledged |= {entry.id: entry.content for entry in memory.remember_many(items)}
        else:
            entry = memory.remember(f"content of {id}", id=id, key=f"k{n % 3}" if n % 2 else None)
            acknowledged[entry.id] = entry.content


def in_threads(*works: Callable[[], object]) -> None:
    """Run these at once; an error of one is raised."""
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# ---- the way


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_loses_nothing_and_doubles_nothing(
    fault: str, make: Callable[..., Memory], proxy: Proxy, neo4j_server: Server
) -> None:
    memory = make()
    acknowledged: dict[str, str] = {}
    write_some(memory, "before", acknowledged, 5)
    in_touch(memory)
    broken = proxy.broken
    FAULTS[fault](proxy)
    in_threads(*(lambda name=name: write_some(memory, f"during-{name}", acknowledged) for name in "abc"))
    if fault in LASTING:
        assert sides(memory).link.outbox.newest() > 0, "the fault held something up"
    elif fault != "cut":
        again(lambda: _at_least(proxy.broken, broken + 1))
    found = memory.get("during-a-1")
    assert found.content == acknowledged["during-a-1"]
    proxy.heal()
    write_some(memory, "after", acknowledged, 5)
    in_touch(memory)
    nothing_lost(neo4j_server, memory, acknowledged)


def _at_least(number: int, wanted: int) -> None:
    assert number >= wanted


def reads(memory: Memory, one: str) -> dict[str, tuple[bool, str | None]]:
    """Every verb that reads: whether it found what is there, and why it may be incomplete."""
    ids = {"old", one, "b", "c"}
    answers: dict[str, tuple[Any, Callable[[Any], bool]]] = {
        "get": (memory.get(one), lambda found: found.content == "the canary sings"),
        "current": (memory.current("bird"), lambda found: found is not None and found.id == one),
        "list": (memory.list(), lambda found: {entry.id for entry in found} == ids - {"old"}),
        "count": (memory.count(), lambda found: found == 3),
        "search": (memory.search("canary"), lambda found: [hit.entry.id for hit in found] == [one]),
        "history": (memory.history("bird"), lambda found: [entry.id for entry in found] == ["old", one]),
        "lineage": (memory.lineage("bird"), lambda found: len(found.edges) == 1),
        "neighbours": (memory.neighbours(one), lambda found: "b" in {entry.id for entry in found.entries}),
        "graph": (memory.graph(), lambda found: set(found.nodes) == ids),
        "stats": (memory.stats(), lambda found: found.entries == 4),
        "namespaces": (memory.namespaces(), lambda found: memory.path in found),
    }

    def reason(found: Any) -> str | None:
        return found.graph["degraded"] if hasattr(found, "graph") else getattr(found, "degraded", "not told")

    return {name: (right(found), reason(found)) for name, (found, right) in answers.items()}


def fill(memory: Memory) -> str:
    """A little of everything that `reads` looks for."""
    memory.remember("the canary is silent", id="old", key="bird")
    memory.remember("the canary sings", id="new", key="bird")
    memory.remember_many([{"content": "something else", "id": "b"}, {"content": "and more", "id": "c"}])
    memory.relate("new", "b")
    return "new"


@pytest.mark.parametrize("mode", ["failover", "merge", "local_first"])
@pytest.mark.parametrize("fault", LASTING)
def test_reads_find_what_the_store_knows_and_say_that_they_may_miss_something(
    fault: str, mode: str, make: Callable[..., Memory], proxy: Proxy
) -> None:
    memory = make(mode=mode)
    one = fill(memory)
    in_touch(memory)
    well = again(lambda: _undegraded(reads(memory, one)))
    assert {name for name, (right, _) in well.items() if not right} == set()
    FAULTS[fault](proxy)
    found = reads(memory, one)
    assert {name for name, (right, _) in found.items() if not right} == set()
    silent = {name for name, (_, reason) in found.items() if reason is None}
    enough = {"get", "current", "history", "lineage", "neighbours"} if mode == "local_first" else set[str]()
    assert silent == enough, "only what needs nobody else is sure of itself"


def _undegraded(found: dict[str, tuple[Any, str | None]]) -> dict[str, tuple[Any, str | None]]:
    assert {reason for _, reason in found.values()} <= {None, "not told"}
    return found


@pytest.mark.parametrize("fault", ["refused", "black hole"])
def test_both_sides_dead_is_an_error_and_never_nothing(
    fault: str, make: Callable[..., Memory], proxy: Proxy, tmp_path: Path
) -> None:
    memory = make()
    one = fill(memory)
    memory.remember_many([{"content": f"filler {n} " + "x" * 500} for n in range(500)])
    in_touch(memory)
    memory.close()
    path = tmp_path / "store.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))
    FAULTS[fault](proxy)
    try:
        memory = make()
    except StoreCorruptError:
        return
    for ask in (lambda: memory.get(one), lambda: memory.search("canary"), memory.count, lambda: memory.current("bird")):
        with pytest.raises(StoreCorruptError):
            ask()


# ---- what callers pay


def test_callers_pay_one_deadline_when_the_primary_dies_and_then_nothing(
    make: Callable[..., Memory], proxy: Proxy
) -> None:
    memory = make()
    one = fill(memory)
    in_touch(memory)
    again(lambda: _undegraded(reads(memory, one)))
    proxy.black_hole()
    assert memory.get(one).degraded
    assert not sides(memory).link.breaker.closed
    before = proxy.received + proxy.connections
    for n in range(500):
        memory.remember(f"filler {n}")
        assert memory.get(one).degraded
    asked = proxy.received + proxy.connections - before
    assert asked < 100, "only the probes in the background ask it, less and less often"


def test_readers_do_not_wait_again_and_again_for_a_push_that_is_stuck(
    make: Callable[..., Memory], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make()
    one = fill(memory)
    in_touch(memory)
    quiet(proxy)
    proxy.black_hole()
    memory.remember("this is on its way when the primary is gone")
    looks = 0
    look = sides(memory).link.outbox.waits

    def counted(*values: Any) -> bool:
        nonlocal looks
        looks += threading.current_thread() is threading.main_thread()
        return look(*values)

    monkeypatch.setattr(sides(memory).link.outbox, "waits", counted)
    for _ in range(30):
        assert memory.get(one).degraded
    assert looks < 150, "a reader that waits looks at the queue some forty times"


def test_one_failure_opens_the_breaker_for_all_threads(make: Callable[..., Memory], proxy: Proxy) -> None:
    memory = make()
    one = fill(memory)
    in_touch(memory)
    proxy.black_hole()
    found: list[Entry] = []
    in_threads(*[lambda: found.append(memory.get(one))] * 16)
    assert all(entry.degraded for entry in found)
    before = proxy.connections
    in_threads(*[lambda: found.append(memory.get(one))] * 16)
    assert len(found) == 32
    assert proxy.connections - before < 10


def test_what_another_process_holds_up_does_not_pass_for_a_dead_primary(
    make: Callable[..., Memory], proxy: Proxy, tmp_path: Path, neo4j_server: Server
) -> None:
    """The thread that pushes cannot note what it pushed while the file is locked: it tries again, and reads go on."""
    memory = make(lock_timeout=0.2)
    one = fill(memory)
    in_touch(memory)
    proxy.black_hole()
    memory.remember("later", id="later")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("begin immediate")
    proxy.heal()
    again(lambda: _has(neo4j_server, memory.path, "later"))
    for _ in range(5):
        assert memory.get(one).content == "the canary sings"
        time.sleep(0.2)
    other.execute("rollback")
    other.close()
    in_touch(memory)
    nothing_lost(neo4j_server, memory, {entry.id: entry.content for entry in memory.list({"status": "any"})})


def _has(server: Server, namespace: str, id: str) -> None:
    assert id in replicas.nodes(server, namespace)


def test_a_condition_that_was_met_is_no_failure_where_the_file_takes_nothing(
    make: Callable[..., Memory], tmp_path: Path
) -> None:
    """The primary has it: an error that says otherwise would have it written twice. The next pull brings it here."""
    memory = make(lock_timeout=0.3)
    first = memory.remember("first", key="k")
    in_touch(memory)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("begin immediate")
    written = memory.remember("second", key="k", expected_version=first.version)
    assert written.stored_on == ("neo4j",)
    with pytest.raises(ConflictError):
        memory.remember("third", key="k", expected_version=first.version)
    other.execute("rollback")
    other.close()
    synced(memory)
    here = sides(memory).local.get(memory.path, [written.id], memory._now())
    assert here[written.id].content == "second"


# ---- a dead server, and a dead process of ours


@pytest.mark.timeout(900)  # its server may start first
@pytest.mark.parametrize("schema", [False, True], ids=["nodes", "schema too"])
def test_a_server_that_is_emptied_while_a_program_is_open_gets_everything_again(
    schema: bool, own: OwnServer, tmp_path: Path
) -> None:
    """What a purge had taken before stays dead, also of a namespace that it emptied, and for a replica that was away."""
    path, died = fresh_namespace(), list[object]()
    memory = replica(tmp_path / "a.db", path, own.server, timeout=0.8, deadline=0.8, pull_every=1.0)
    other = replica(tmp_path / "b.db", path, own.server, timeout=0.8, deadline=0.8)
    memory.remember_many({"content": f"note {n}", "id": f"n{n}"} for n in range(30))
    clinic = memory.namespace(f"{path}/clinic")
    clinic.remember("the canary sings", id="s")
    in_touch(clinic)
    other.sync(subtree=True)
    other.close()
    clinic.purge({"ids": ["s"]})
    in_touch(memory)
    empty(own.server, schema)
    hook, threading.excepthook = threading.excepthook, died.append
    try:
        memory.remember("new", id="new")
        again(lambda: memory.sync())
        again(lambda: _has(own.server, path, "n29"))
    finally:
        threading.excepthook = hook
    assert died == []
    memory.sync(subtree=True)
    with replica(tmp_path / "b.db", path, own.server, timeout=0.8, deadline=0.8) as other:
        other.sync(subtree=True)
        assert other.namespace(f"{path}/clinic").list({"status": "any"}).items == ()
        assert other.count() == 31
    memory.close()


def restarts(server: Server, path: Path, rounds: int) -> None:
    """Kill the server while four threads write, write on without it, start it again; over and over on one store."""
    acknowledged: dict[str, str] = {}
    memory = replica(path, fresh_namespace(), server, timeout=0.8, deadline=0.8)
    write_some(memory, "first", acknowledged)
    again(lambda: in_touch(memory), 120)
    for turn in range(rounds):
        begun, done = threading.Event(), threading.Event()

        def write(name: str, begun: threading.Event = begun, done: threading.Event = done) -> None:
            n = 0
            while not done.is_set():
                write_some(memory, f"{name}-{n}", acknowledged, 5)
                begun.set()
                n += 1
                time.sleep(0.02)

        threads = [threading.Thread(target=write, args=(f"{turn}{name}",)) for name in "abcd"]
        for thread in threads:
            thread.start()
        assert begun.wait(120)
        time.sleep(random.Random(turn).random())
        server.kill()
        time.sleep(0.5)
        done.set()
        for thread in threads:
            thread.join()
        last = f"{turn}a-0-1"
        assert memory.get(last).content == acknowledged[last]
        assert memory.get(last).degraded
        server.start()
        synced(memory)
        nothing_lost(server, memory, acknowledged)
    memory.close()


@pytest.mark.timeout(900)  # its server may start first
def test_a_killed_server_that_comes_back_has_everything(own: OwnServer, tmp_path: Path) -> None:
    restarts(own.server, tmp_path / "store.db", rounds=1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_restarts_of_the_server(own: OwnServer, tmp_path: Path) -> None:
    restarts(own.server, tmp_path / "store.db", rounds=10)


def kills(server: Server, folder: Path, rounds: int) -> None:
    """Kill two processes that write through the composite to one file, over and over; each time it is opened and synced."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.replicas"])
    address = dataclasses.replace(server, process=None)  # what a child needs of it; a process cannot be sent
    path, namespace, dice = folder / "store.db", fresh_namespace(), random.Random(5)
    acknowledged: dict[str, str] = {}
    maybe: dict[str, str] = {}
    unsent = 0
    for turn in range(rounds):
        logs = [folder / f"log-{turn}-{name}" for name in "ab"]
        values = [(str(path), namespace, address, f"{turn}{log.name[-1]}", str(log)) for log in logs]
        children = [context.Process(target=replicas.write_until_killed, args=each) for each in values]
        for child in children:
            child.start()
        try:
            again(lambda logs=logs: _all_have_begun(logs), 120)
            time.sleep(dice.random() / 4)
        finally:
            for child in children:
                assert child.pid is not None
                os.kill(child.pid, signal.SIGKILL)
                child.join()
                child.close()
        said = [line.split() for log in logs for line in log.read_text().splitlines()]
        assert {words[0] for words in said} <= {"doing", "done"}, "no write of theirs failed"
        for word, id in said:
            contents = {name: f"content of {name}" for name in (id, *(f"{id}.{part}" for part in range(3)))}
            maybe |= contents
            if word == "done":
                acknowledged |= {id: "written"}
        with replica(path, namespace, server, pull_every=None) as memory:
            unsent += sides(memory).link.outbox.newest() > 0
            memory.sync()
            found = {entry.id for entry in everything(memory.backend, namespace, LATER)}
            lost = {id for id in acknowledged if not (id in found or all(f"{id}.{part}" in found for part in range(3)))}
            assert not lost
    assert unsent, "no kill came between a local commit and its push"
    with replica(path, namespace, server) as memory:
        in_touch(memory)
        assert sides(memory).local.check().ok
        found = {entry.id for entry in everything(memory.backend, namespace, LATER)}
        for id in acknowledged.keys() | maybe.keys():
            assert ({f"{id}.{part}" for part in range(3)} <= found) or not (
                {f"{id}.{part}" for part in range(3)} & found
            )
        nothing_lost(server, memory, {id: maybe[id] for id in found}, maybe)


def _all_have_begun(logs: list[Path]) -> None:
    assert all(log.exists() and "done" in log.read_text() for log in logs)


def test_twenty_kills_of_writing_processes(neo4j_server: Server, tmp_path: Path) -> None:
    kills(neo4j_server, tmp_path, rounds=20)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_writing_processes(neo4j_server: Server, tmp_path: Path) -> None:
    kills(neo4j_server, tmp_path, rounds=200)
