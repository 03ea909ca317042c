"""The laws on a real Neo4j server: the graph ends in the oracle's view, and what is derived in it is in step."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import neo4j
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.operations import Operation, Remember
from tests.conftest import RUN, started, without_server
from tests.neo4j_server import Server
from tests.operation_sets import arrivals, moved, operation_sets, probes
from tests.oracle import Oracle
from tests.views import view_of

pytestmark = pytest.mark.neo4j
NOW = datetime(2026, 3, 1, tzinfo=UTC)
LABEL = {
    "active": "Active",
    "superseded": "Superseded",
    "forgotten": "Forgotten",
    "released": "Expired",
    "pruned": "Expired",
}
_count = iter(range(1, 1_000_000))


@pytest.fixture(scope="module")
def neo4j_server(neo4j_version: str) -> Iterator[Server]:
    """One of these tests' own: the doctor reads everything that is there."""
    yield from started(neo4j_version)


@pytest.fixture(scope="module")
def backend(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20, pool=12, max_clock_drift=1e9)
    yield found
    found.close()


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


def fresh() -> dict[str, str]:
    """Namespaces that nothing else uses."""
    n = next(_count)
    return {"x": f"laws{RUN}-{n}/x", "y": f"laws{RUN}-{n}/y"}


def rows(driver: neo4j.Driver, query: str, spaces: list[str]) -> list[dict[str, Any]]:
    with driver.session() as session:
        return [record.data() for record in session.run(query, ns=spaces)]  # type: ignore[arg-type]


def in_step(driver: neo4j.Driver, spaces: list[str]) -> None:
    """Labels, CURRENT, LATEST, PAST, key nodes, slots, life and feedback all say what the memories' versions say."""
    memories = rows(
        driver,
        "MATCH (m:Memory) WHERE m.namespace IN $ns RETURN properties(m) AS p, labels(m) AS labels,"
        " [(k)-[:CURRENT]->(m) | k.key] AS current, [(k)-[:LATEST]->(m) | k.key] AS latest, [(k)-[:PAST]->(m) | k.key] AS past",
        spaces,
    )
    lines: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for row in memories:
        p, labels = row["p"], sorted(set(row["labels"]) - {"Memory"})
        life = p.get("life", [])
        assert life == sorted(set(life)), "life is sorted and unique"
        assert len(life) == len(p.get("notes", []))
        if "version" not in p:
            assert not labels
            assert not row["current"] + row["latest"] + row["past"], "a place is nothing yet"
            continue
        assert labels == [LABEL[p["status"]]], "one label, and it says the status"
        assert p["seq"] > 0, "everything has a number to be pulled by"
        key = p.get("key")
        assert row["current"] == ([key] if key and p["status"] == "active" else [])
        assert row["past"] == ([key] if key and p.get("past") else [])
        if key:
            lines.setdefault((p["namespace"], key), [])
            if not p.get("past"):
                lines[p["namespace"], key].append((p["version"], bool(row["latest"])))
    for line in lines.values():
        assert [latest for _, latest in sorted(line)] == [False] * (len(line) - 1) + [True] * bool(line)
    keys = rows(driver, "MATCH (k:MemoryKey) WHERE k.namespace IN $ns RETURN k.namespace AS ns, k.key AS key", spaces)
    assert {(row["ns"], row["key"]) for row in keys} == set(lines), "a key node for each key that a memory has"
    edges = rows(
        driver,
        "MATCH (a:Memory)-[r:SUPERSEDES]->(b) WHERE a.namespace IN $ns RETURN a.namespace = b.namespace AS inside,"
        " r.via AS via, r.version AS version, a.version AS newer, b.version AS older, a.key = b.key AS same",
        spaces,
    )
    for edge in edges:
        assert edge["inside"]
        assert not edge["newer"] or not edge["older"] or edge["newer"] > edge["older"], "no cycle can be written"
        assert edge["via"] == "explicit" or (edge["same"] and edge["version"] == edge["newer"])
    assert not rows(
        driver,
        "MATCH (a:Memory)-[r:RELATES_TO|UNRELATED]->(b) WHERE a.namespace IN $ns"
        " WITH a, b, r.type AS t, count(*) AS n WHERE n > 1 RETURN n",
        spaces,
    ), "one relation of a type"
    assert not rows(
        driver,
        "MATCH (f:Feedback) WHERE f.namespace IN $ns AND NOT EXISTS { (f)-[:ABOUT]->() } RETURN f.id AS id",
        spaces,
    ), "no feedback on nothing"


def agree(backend: Neo4jBackend, driver: neo4j.Driver, oracle: Oracle, spaces: list[str]) -> None:
    got, want = view_of(backend, spaces, NOW), oracle.view()
    assert not {name: (got[name], want[name]) for name in want if got[name] != want[name]}
    in_step(driver, spaces)


@settings(max_examples=max(1, settings().max_examples // 3))  # each example is some two hundred transactions
@given(data=st.data())
def test_any_arrival_ends_in_the_oracles_view(data: st.DataObject, backend: Neo4jBackend, driver: neo4j.Driver) -> None:
    names, operations = fresh(), data.draw(operation_sets())
    for chunk in data.draw(arrivals(operations)):
        backend.apply(moved(chunk, names))
    oracle = Oracle(moved(operations, names))
    agree(backend, driver, oracle, list(names.values()))
    late = moved(probes(operations), names)
    backend.apply(late)
    for operation in late:
        oracle.apply(operation)
    agree(backend, driver, oracle, list(names.values()))
    assert backend.apply(late) == 0, "twice changes nothing"


def random_set(seed: int, size: int) -> list[Operation]:
    """A larger set than hypothesis draws, from its own strategy's parts."""
    from tests.operation_sets import remember, version

    rnd = random.Random(seed)
    made: list[Remember] = []
    found: list[Operation] = []
    for step in range(size):
        ns = rnd.choice("xxy")
        made.append(
            remember(
                step,
                ns,
                f"m{step}",
                key=rnd.choice((None, "k", "j")),
                subject=rnd.choice((None, "ann")),
                session=rnd.choice((None, "s1")),
            )
        )
        found.append(made[-1])
        found += _after(rnd, step + size, rnd.choice(made), rnd.choice(made), version)
    return found


def _after(rnd: random.Random, step: int, one: Remember, other: Remember, version: Any) -> list[Operation]:
    import memgraph.operations as ops

    head = {"op_id": f"op-{step}", "namespace": one.namespace, "version": version(step, step % 3)}
    match rnd.randrange(12):
        case 0:
            return [ops.Retire(**head, id=one.id, cause="forgotten")]
        case 1:
            return [ops.Restore(**head, id=one.id)]
        case 2 if one.namespace == other.namespace:
            ends = {"new_id": one.id, "new_version": one.version, "old_id": other.id, "old_version": other.version}
            return [ops.Supersede(**head, **ends, reason="r")]
        case 3 if one.namespace == other.namespace:
            return [ops.Relate(**head, a=one.id, b=other.id, type="knows")]
        case 4:
            return [ops.Reinforce(**head, id=one.id, feedback_id="f", signal=1.0)]
        case 5:
            return [ops.Purge(**head, field="id", value=one.id, heads=((one.key, one.version),) if one.key else ())]
        case 6 if one.subject and step % 4 == 0:
            return [ops.Purge(**{**head, "version": one.version}, field="subject", value=one.subject)]
    return []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_that_apply_overlapping_parts_end_in_the_oracles_view(
    seed: int, backend: Neo4jBackend, driver: neo4j.Driver
) -> None:
    names, rnd = fresh(), random.Random(seed)
    operations = moved(random_set(seed, 60), names)
    some = operations + rnd.sample(operations, len(operations) // 2)
    rnd.shuffle(some)
    failed: list[BaseException] = []

    def work(part: list[Operation], size: int) -> None:
        try:
            for at in range(0, len(part), size):
                backend.apply(part[at : at + size])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(some[n::8], (1, 1, 2, 8)[n % 4])) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    agree(backend, driver, Oracle(operations), list(names.values()))


def test_a_purge_by_value_among_its_writers_leaves_nothing(backend: Neo4jBackend, driver: neo4j.Driver) -> None:
    import memgraph.operations as ops
    from tests.operation_sets import remember, version

    names = fresh()
    ns = names["x"]
    made = [
        remember(n, ns, f"m{n}", key=random.Random(n).choice((None, "k", "j")), subject="ann" if n % 3 else None)
        for n in range(120)
    ]
    purges = [
        ops.Purge(op_id=f"p{n}", namespace=ns, version=version(n, 9), field="subject", value="ann")
        for n in (30, 60, 119)
    ]
    failed: list[BaseException] = []

    def work(todo: list[Operation], size: int) -> None:
        try:
            for at in range(0, len(todo), size):
                backend.apply(todo[at : at + size])
        except BaseException as error:
            failed.append(error)

    parts: list[list[Operation]] = [list(made[n::6]) for n in range(6)]
    for part in parts:
        random.Random(7).shuffle(part)
    threads = [threading.Thread(target=work, args=(part, 4)) for part in parts]
    threads += [threading.Thread(target=work, args=([purge], 1)) for purge in purges]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    agree(backend, driver, Oracle([*made, *purges]), [ns])


# ---- the doctor


def damaged(driver: neo4j.Driver, query: str, ns: str) -> None:
    with driver.session() as session:
        session.run(query, ns=ns).consume()  # type: ignore[arg-type]


DAMAGE = {
    "two-active": "MATCH (m:Superseded {namespace: $ns, key: 'k'}) SET m.status = 'active', m:Active REMOVE m:Superseded",
    "label": "MATCH (m:Active {namespace: $ns, key: 'k'}) SET m:Superseded",
    "status": "MATCH (m:Active {namespace: $ns}) WHERE m.key IS NULL SET m.status = 'forgotten', m:Forgotten REMOVE m:Active",
    "line": "MATCH (:Memory {namespace: $ns})-[r:SUPERSEDES {via: 'key'}]->() DELETE r",
    "number": "MATCH (m:Active {namespace: $ns}) REMOVE m.seq",
    "stray": "CREATE (:MemoryKey {namespace: $ns, key: 'nobody', name: 'nobody'})",
}


@pytest.mark.parametrize("code", DAMAGE)
def test_the_doctor_finds_and_mends(code: str, backend: Neo4jBackend, driver: neo4j.Driver) -> None:
    from memgraph import Memory

    ns = fresh()["x"]
    memory = Memory(backend, namespace=ns)
    for n in range(4):
        memory.remember(f"value {n}", key="k")
    memory.remember("no key")
    before = view_of(backend, [ns], NOW)
    damaged(driver, DAMAGE[code], ns)
    report = backend.check()
    assert code in {problem.code for problem in report.problems}
    assert not report.ok
    mended = backend.check(repair=True)
    assert mended.ok, mended.problems
    assert view_of(backend, [ns], NOW) == before
    in_step(driver, [ns])


def test_the_doctor_reports_nodes_that_something_else_made(backend: Neo4jBackend, driver: neo4j.Driver) -> None:
    damaged(driver, "CREATE (:Memory {made: $ns})", "by hand")
    try:
        assert [problem.code for problem in backend.check(repair=True).problems] == ["odd"]
    finally:
        damaged(driver, "MATCH (m:Memory {made: $ns}) DELETE m", "by hand")


# ---- purging in bounded memory


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["subject", "text"])
def test_a_purge_of_200_000_fits_into_64_mb(kind: str) -> None:
    from memgraph import Memory
    from tests.neo4j_server import NoServerError, maven

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(maven("5.26", db__memory__transaction__max="64m"))
        except NoServerError as error:
            without_server(str(error))
        backend = Neo4jBackend(server.uri, auth=server.auth, timeout=60)
        memory = Memory(backend, namespace="many")
        for at in range(0, 200_000, 1000):
            memory.remember_many([{"content": f"zebra {at + n}", "subject": "ann"} for n in range(1000)])
        selector = {"subject": "ann"} if kind == "subject" else {"text": "zebra"}
        assert memory.purge(memory.plan_purge(selector)).removed["memories"] == 200_000
        assert memory.count({"status": "any"}) == 0
        backend.close()
