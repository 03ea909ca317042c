"""Many writers at once on a real server: no event, version or condition is lost, and no caller sees an error."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest

from memgraph import Memory
from memgraph.backends.base import Draft
from memgraph.backends.neo4j import writer
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import ClockDriftError, ConflictError, MemgraphError, NotFoundError
from memgraph.models import Entry, Status
from memgraph.operations import Reinforce, Relate, Remember, Retire
from tests.conftest import RUN, without_server
from tests.integration.child import ROOT
from tests.neo4j_server import NoServerError, Server, maven
from tests.operation_sets import remember, version
from tests.views import graph_edges

pytestmark = pytest.mark.neo4j
NOW = datetime(2027, 1, 1, tzinfo=UTC)
Auth = tuple[str, str] | None


def opened(uri: str, auth: Auth, **options: Any) -> Neo4jBackend:
    return Neo4jBackend(uri, auth=auth, **{"timeout": 20, "retry_time": 120, "max_clock_drift": 1e9, **options})


@pytest.fixture(scope="module")
def backend(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = opened(neo4j_server.uri, neo4j_server.auth, pool=12)
    yield found
    found.close()


@pytest.fixture
def memory(backend: Neo4jBackend, request: pytest.FixtureRequest) -> Memory:
    return Memory(backend, namespace=(f"concurrency{RUN}", request.node.name))


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """The answers of calls that run at once, errors among them."""
    answers: list[Any] = [None] * len(calls)
    gate = threading.Barrier(len(calls))

    def work(n: int) -> None:
        gate.wait()
        try:
            answers[n] = calls[n]()
        except Exception as error:
            answers[n] = error

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_eight_writers_on_one_memory_lose_no_event(memory: Memory, backend: Neo4jBackend) -> None:
    ns = memory.path
    backend.apply([remember(0, ns, "m"), remember(1, ns, "other")])

    def write(writer: int) -> None:
        for n in range(10):
            step = 2 + writer * 100 + n
            head = {"op_id": f"{writer}-{n}", "namespace": ns, "version": version(step, writer)}
            backend.apply([Reinforce(**head, id="m", feedback_id=f"{writer}-{n}", signal=1.0)])
            backend.apply([Retire(**head, id="m", cause="forgotten", reason=f"{writer}-{n}")])
            backend.apply([Relate(**head, a="m", b="other", type=f"t{writer}-{n}")])

    answers = together([lambda w=w: write(w) for w in range(8)])  # type: ignore[misc]
    assert answers == [None] * 8
    lineage = backend.lineage(ns, "m", NOW)
    assert lineage is not None
    assert {event.reason for event in lineage.events} == {f"{w}-{n}" for w in range(8) for n in range(10)}
    entry = backend.get(ns, ["m"], NOW)["m"]
    assert (entry.feedback_count, entry.feedback_sum) == (80, 80.0)
    assert len(backend.relations(ns, ["m"])) == 80


def test_single_writes_share_transactions_and_no_version_is_dropped(memory: Memory, backend: Neo4jBackend) -> None:
    before = backend.bolt.run("write/newest", namespace=memory.path)[0]["n"]
    answers = together([lambda n=n: memory.remember(f"value {n}", key=f"k{n % 3}") for n in range(64)])  # type: ignore[misc]
    assert all(isinstance(answer, Entry) for answer in answers)
    transactions = backend.bolt.run("write/newest", namespace=memory.path)[0]["n"] - before
    assert transactions < 64
    for key in range(3):
        history = memory.history(f"k{key}")
        mine = [answer for n, answer in enumerate(answers) if n % 3 == key]
        assert [entry.version for entry in history] == sorted(answer.version for answer in mine)
        assert [entry.status for entry in history] == ["superseded"] * (len(mine) - 1) + ["active"]


def test_a_refused_row_fails_alone(memory: Memory) -> None:
    memory.remember("taken", id="taken")
    gone = memory.remember("gone", id="gone")
    memory.purge(memory.plan_purge({"ids": [gone.id]}))
    calls: list[Callable[[], Any]] = [lambda n=n: memory.remember(f"value {n}", key="k") for n in range(30)]  # type: ignore[misc]
    calls.insert(10, lambda: memory.remember("other content", id="taken"))
    calls.insert(20, lambda: memory.remember("gone", id="gone"))
    calls.insert(25, lambda: memory.remember("taken", id="taken"))
    answers = together(calls)
    assert Counter(type(answer).__name__ for answer in answers) == {"Entry": 31, "ConflictError": 1, "PurgedError": 1}
    assert len(memory.history("k")) == 30


def test_the_same_id_from_many_callers_is_one_write(memory: Memory) -> None:
    answers = together([lambda: memory.remember("once", id="one", key="k")] * 16)
    assert {answer.version for answer in answers} == {answers[0].version}
    assert len(memory.history("k")) == 1


def test_the_same_id_from_many_processes_is_one_write(neo4j_server: Server, memory: Memory) -> None:
    backends = [opened(neo4j_server.uri, neo4j_server.auth) for _ in range(6)]
    memories = [Memory(each, namespace=memory.path) for each in backends]
    answers = together([lambda each=each: each.remember("once", id="one", key="k") for each in memories])  # type: ignore[misc]
    assert {answer.version for answer in answers} == {answers[0].version}
    assert len(memory.history("k")) == 1
    for each in backends:
        each.close()


def test_a_transaction_that_fails_leaves_its_neighbours_alone(memory: Memory, backend: Neo4jBackend) -> None:
    """A connection goes back to the pool when a statement fails: whoever gets it next is not rolled back by the last owner."""
    times = 50

    def fail() -> None:
        for _ in range(times):
            with pytest.raises(MemgraphError):
                backend.bolt.transaction(lambda tx: tx.run("write/newest"))  # it needs a namespace

    def count(path: str) -> int:
        for _ in range(times):
            backend.bolt.transaction(
                lambda tx: tx.run("write/feed", namespace=path, ids=[], hashes=[], version="", purges=0)
            )
        return int(backend.bolt.run("write/newest", namespace=path)[0]["n"])

    calls: list[Callable[[], Any]] = [lambda n=n: count(f"{memory.path}/{n}") for n in range(6)]  # type: ignore[misc]
    assert together([fail] * 6 + calls) == [None] * 6 + [times] * 6, "what was acknowledged is there"


def test_if_absent_has_one_winner(memory: Memory) -> None:
    answers = together([lambda n=n: memory.remember(f"value {n}", key="k", if_absent=True) for n in range(12)])  # type: ignore[misc]
    assert Counter(type(answer).__name__ for answer in answers) == {"Entry": 1, "ConflictError": 11}
    assert len(memory.history("k")) == 1


def test_expected_version_lets_one_writer_through_at_a_time(memory: Memory) -> None:
    memory.remember("0", key="counter")

    def count() -> int:
        done = 0
        while done < 4:
            now = memory.current("counter")
            assert now is not None
            try:
                memory.remember(str(int(now.content) + 1), key="counter", expected_version=now.version)
                done += 1
            except ConflictError:
                pass
        return done

    assert together([count] * 6) == [4] * 6
    now = memory.current("counter")
    assert now is not None
    assert now.content == "24"
    assert [entry.content for entry in memory.history("counter")] == [str(n) for n in range(25)]


def test_a_key_among_its_writers_always_has_a_value(memory: Memory) -> None:
    """A commit does not become visible all at once: who looks just then must see the old value or the new one, never none."""
    memory.remember("0", key="counter")
    done = threading.Event()

    def write(writer: int) -> None:
        for n in range(40):
            memory.remember(f"{writer} {n}", key="counter")

    def read() -> list[str]:
        odd = []
        while not done.is_set():
            if memory.current("counter") is None:
                odd.append("current")
            for name, line in (("history", memory.history("counter")), ("lineage", memory.lineage("counter").entries)):
                if sum(entry.status is Status.ACTIVE for entry in line) != 1:
                    odd.append(name)
        return odd

    def write_all() -> None:
        together([lambda w=w: write(w) for w in range(3)])  # type: ignore[misc]
        done.set()

    answers = together([write_all, read, read])
    assert answers == [None, [], []]


def test_a_restore_among_writers_is_one_of_the_writes(memory: Memory) -> None:
    """Eight writers of one key, of whom every third write is a restore of its first value: one line, one value, nothing lost."""
    first = memory.remember("first", key="k")

    def write(writer: int) -> list[str]:
        def once(n: int) -> Entry:
            return memory.restore(first.id) if n % 3 == 0 else memory.remember(f"{writer} {n}", key="k")

        return [once(n).id for n in range(6)]

    answers = together([lambda w=w: write(w) for w in range(8)])  # type: ignore[misc]
    assert all(isinstance(answer, list) for answer in answers), answers
    history = memory.history("k")
    assert {entry.id for entry in history} == {first.id}.union(*answers)  # what is active is not restored once more
    assert [entry.status for entry in history] == ["superseded"] * (len(history) - 1) + ["active"]
    assert sum(entry.content != "first" for entry in history) == 32
    assert memory.current("k") == history[-1]
    assert memory.check().ok


def test_a_machine_whose_clock_is_far_ahead_of_the_servers_is_refused_at_the_door(
    neo4j_server: Server, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = opened(neo4j_server.uri, neo4j_server.auth, max_clock_drift=300)
    memory = Memory(strict, namespace=memory.path)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "machine_time", lambda: time.time() + 600)
        for _ in range(2):
            with pytest.raises(ClockDriftError, match="600 s ahead of the primary's"):
                memory.remember("from the future", key="k")
            with pytest.raises(ClockDriftError):
                memory.remember_many([{"content": "from the future"}])
    assert memory.count({"status": "any"}) == 0
    memory.remember("set right again", key="k")
    strict.close()


def test_a_writer_whose_clock_is_behind_is_not_born_superseded(neo4j_server: Server, memory: Memory) -> None:
    memory.remember("by the fast clock", key="k")
    behind = opened(neo4j_server.uri, neo4j_server.auth, clock=lambda: datetime.now(UTC).timestamp() - 120)
    slow = Memory(behind, namespace=memory.path, clock=lambda: datetime.now(UTC).timestamp() - 120)
    entry = slow.remember("by the slow clock", key="k")
    assert memory.current("k") == entry
    entry = slow.forget(key="k")
    assert memory.current("k") is None
    behind.close()


# ---- processes

KEYS = [f"hot{n}" for n in range(7)]


def _process(uri: str, auth: Auth, ns: str, number: int, told: Any) -> None:
    """Eight threads: late and repeated operations from elsewhere among live writes."""
    backend = opened(uri, auth)
    memory = Memory(backend, namespace=ns)
    failed: list[str] = []

    def work(thread: int) -> None:
        rnd = random.Random(number * 8 + thread)
        try:
            for n in range(6):
                step = rnd.randrange(500)
                late = remember(
                    step,
                    ns,
                    f"late-{number}-{thread}-{n}",
                    key=rnd.choice(KEYS),
                    version=version(step, number * 8 + thread),
                )
                backend.apply([late])
                memory.remember(f"live {number} {thread} {n}", key=rnd.choice(KEYS), id=f"live-{number}-{thread}-{n}")
                if rnd.random() < 0.3:
                    backend.apply([late])
        except BaseException as error:
            failed.append(repr(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    backend.close()
    told.put(failed)


def test_four_processes_of_eight_threads_on_seven_keys(
    neo4j_server: Server, memory: Memory, backend: Neo4jBackend
) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    processes = [
        context.Process(target=_process, args=(neo4j_server.uri, neo4j_server.auth, memory.path, n, told))
        for n in range(4)
    ]
    for process in processes:
        process.start()
    failed = [told.get(timeout=240) for _ in processes]
    for process in processes:
        process.join()
    assert failed == [[]] * 4
    entries = list(memory.list({"status": "any"}, limit=1000))
    versions = {}
    for entry in entries:
        versions.setdefault(entry.key, []).append(entry.version)
    for key in KEYS:
        active = [entry for entry in entries if entry.key == key and entry.status == "active"]
        assert [entry.version for entry in active] == [max(versions[key])]
    assert len(entries) == 4 * 8 * 6 * 2
    edges = [(a, b) for label, a, b in graph_edges(backend, memory.path, NOW) if label == "SUPERSEDES"]
    assert len(edges) == len(entries) - len(versions)
    assert len({a for a, _ in edges}) == len({b for _, b in edges}) == len(edges), "no fork"


def test_drafts_of_several_namespaces_are_one_transaction(memory: Memory, backend: Neo4jBackend) -> None:
    a, b = f"{memory.path}/a", f"{memory.path}/b"
    drafts = [Draft(Remember(op_id=n, namespace=n, id=n, content=n)) for n in (a, b)]
    assert [entry and entry.namespace for entry in backend.write(drafts)] == [a, b]
    bad = [
        Draft(Remember(op_id="c", namespace=a, id="c", content="c")),
        Draft(Remember(op_id="b", namespace=b, id=b, content="x")),
    ]
    with pytest.raises(ConflictError):
        backend.write(bad)
    assert backend.get(a, ["c"], NOW) == {}


def test_a_purge_among_writers_is_done(memory: Memory, backend: Neo4jBackend) -> None:
    """Writers of other things do not matter, and a caller who gave a selector hears nothing of a plan."""
    ending = threading.Event()

    def write(thread: int) -> None:
        n = 0
        while not ending.is_set():
            memory.remember(f"note {thread} {n}")
            if thread == 0:
                memory.remember(f"mood {n}", key="mood", subject="ann")
            n += 1

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        for n in range(6):
            memory.remember("the canary", key=f"gdpr{n}", subject="bob")
            assert memory.purge({"key": f"gdpr{n}"}).removed["memories"] == 1
            memory.purge({"key": "mood"})
        memory.purge({"subject": "bob"})
    finally:
        ending.set()
        for thread in threads:
            thread.join()
    memory.purge({"subject": "ann"})
    assert {entry.subject for entry in memory.list({"status": "any"}, limit=10_000)} <= {None}
    assert memory.check().ok


def test_one_namespace_from_the_future_does_not_spoil_the_others(neo4j_server: Server, memory: Memory) -> None:
    fast = opened(neo4j_server.uri, neo4j_server.auth, clock=lambda: time.time() + 1200, max_clock_drift=3600)
    Memory(fast, namespace=f"{memory.path}/future", clock=lambda: time.time() + 1200).remember("from the future")
    fast.close()
    strict = opened(neo4j_server.uri, neo4j_server.auth, max_clock_drift=300)
    here = Memory(strict, namespace=memory.path)
    with pytest.raises(ClockDriftError):
        here.namespace("future").remember("now")
    here.remember("here all is well")
    strict.close()


def test_a_database_that_was_replaced_is_not_written_to_blindly(neo4j_version: str) -> None:
    """Its schema is gone with the store: nothing is written then, and the next write makes the store anew."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(maven(neo4j_version))
        except NoServerError as error:
            without_server(str(error))
        driver = stack.enter_context(neo4j.GraphDatabase.driver(server.uri, auth=server.auth))
        backend = opened(server.uri, server.auth)
        stack.callback(backend.close)
        memory = Memory(backend, namespace="replaced")
        memory.remember("before")
        driver.execute_query("MATCH (n) DETACH DELETE n")
        for kind in ("CONSTRAINT", "INDEX"):
            listed = driver.execute_query(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP' RETURN name")
            for row in listed.records:
                driver.execute_query(f"DROP {kind} `{row['name']}` IF EXISTS")
        for write in (lambda: memory.remember("lost"), lambda: backend.apply([remember(0, "replaced", "x")])):
            with pytest.raises(NotFoundError, match="no store any more"):
                write()
            memory.remember("anew", id="anew")
            assert memory.check().ok
            driver.execute_query("MATCH (s:Store) DELETE s")


def test_a_condition_is_judged_on_a_machine_whose_clock_is_far_behind(
    neo4j_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def behind() -> float:
        return time.time() - 3600

    with Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), namespace=f"behind{RUN}") as right:
        right.remember("by a right clock", key="k", id="a")
        monkeypatch.setattr(writer, "machine_time", behind)
        slow = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20, clock=behind)
        with Memory(slow, namespace=right.path, clock=behind) as memory:
            entry = memory.remember("by a slow clock", key="other", if_absent=True)
            memory.remember("since", key="k", expected_version=right.current("k").version)
            assert memory.purge({"ids": [entry.id]}).removed["memories"] == 1
        assert right.current("k").content == "since"


@pytest.mark.parametrize("kind", ["server", "composite"])
def test_signals_that_raise_in_the_main_thread_hurt_nobody_else(
    neo4j_server: Server, tmp_path: Path, kind: str
) -> None:
    """A time limit may strike between any two lines, also of the driver: nobody waits for ever or loses a write by it."""
    where = [neo4j_server.uri, "4"] if kind == "server" else [str(tmp_path / "a.db"), "4", neo4j_server.uri]
    command = [sys.executable, "-m", "tests.integration.interrupted", *where]
    env = dict(os.environ)
    if neo4j_server.auth:
        env |= {"NEO4J_USERNAME": neo4j_server.auth[0], "NEO4J_PASSWORD": neo4j_server.auth[1]}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)
    assert not done.returncode, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("interrupted") > 0
    assert told.pop("written") > 5
    assert told == {"errors": [], "stuck": [False] * 5, "lost": 0}
