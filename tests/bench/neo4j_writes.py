"""What writing to Neo4j costs, in ratios of one run on one server. By hand, on an EMPTY server of its own: it is wiped.

    python -m tests.bench.neo4j_writes bolt://127.0.0.1:7687 [--rival PYTHON] [--entities 50000] [--writes 1000] [--callers 64]

--rival: a Python that has the package mcp-neo4j-memory. Its store is filled with as many entities as ours, each of `--callers`
callers then writes single entities of 20 names, `--writes` in all, and the nodes of these names are counted; the same then with
memgraph. Last, batches of 1,000 keyed rows against single writes of one caller, and the db hits of a row by the server's PROFILE.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import neo4j

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.backends.neo4j.writes import remember_row
from memgraph.clock import Clock
from memgraph.operations import Remember
from memgraph.storage import bolt
from memgraph.storage.queries import statement
from tests.bench.neo4j_reads import _hits
from tests.bench.speed import facts

NAMES = 20
ROUNDS = 7
Auth = tuple[str, str] | None


def wipe(driver: neo4j.Driver) -> None:
    """Delete every node, index and constraint."""
    with driver.session() as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS").consume()
        for kind in ("CONSTRAINT", "INDEX"):
            lookup = " WHERE type <> 'LOOKUP'" if kind == "INDEX" else ""
            for row in session.run(f"SHOW {kind} YIELD name, type{lookup} RETURN name").data():
                session.run(f"DROP {kind} `{row['name']}` IF EXISTS").consume()


def rival(python: str, uri: str, auth: Auth, asked: argparse.Namespace) -> dict[str, float]:
    """What `tests/bench/rival_writes.py` found, run by that Python."""
    given = {"uri": uri, "auth": auth, "entities": asked.entities, "writes": asked.writes, "callers": asked.callers}
    command = [python, str(Path(__file__).with_name("rival_writes.py")), json.dumps(given | {"names": NAMES})]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def ours(uri: str, auth: Auth, asked: argparse.Namespace) -> dict[str, float]:
    """The same on our store."""
    memory = Memory(Neo4jBackend(uri, auth=auth, timeout=60, pool=16), namespace="bench/writes")
    for start in range(0, asked.entities, 1000):
        memory.remember_many(
            [{"content": f"fact number {n}", "key": f"entity {n}"} for n in range(start, start + 1000)]
        )

    def write(n: int) -> None:
        memory.remember(f"value {n}", key=f"name {n % NAMES}", kind="fact")

    with ThreadPoolExecutor(asked.callers) as callers:
        list(callers.map(write, range(asked.callers)))  # connections and plans
        began = time.perf_counter()
        list(callers.map(write, range(asked.writes)))
        seconds = time.perf_counter() - began
    active = [memory.current(f"name {n}") for n in range(NAMES)]
    versions = sum(len(memory.history(f"name {n}")) for n in range(NAMES))
    assert all(active)
    assert versions == asked.writes + asked.callers, "each acknowledged write is a version"
    memory.close()
    return {"rate": asked.writes / seconds, "nodes": memory_nodes(uri, auth)}


def memory_nodes(uri: str, auth: Auth) -> int:
    """How many active memories there are for the names that were written."""
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        text = "MATCH (m:Memory:Active) WHERE m.key STARTS WITH 'name ' RETURN count(m) AS n"
        found: int = driver.execute_query(text).records[0]["n"]
    return found


def batches(uri: str, auth: Auth) -> None:
    """Batches of 1,000 keyed rows against single writes, side by side."""
    memory = Memory(Neo4jBackend(uri, auth=auth, timeout=60), namespace="bench/batches")
    rows = [{**row, "key": f"k{number}"} for number, row in enumerate(facts(1000, 3))]
    ratios, batched, single = [], [], []
    for round in range(ROUNDS + 1):
        began = time.perf_counter()
        for row in rows[:100]:
            memory.remember(**{**row, "key": f"single {round} {row['key']}"})
        one = (time.perf_counter() - began) / 100
        began = time.perf_counter()
        memory.remember_many([{**row, "key": f"batch {round} {row['key']}"} for row in rows])
        many = (time.perf_counter() - began) / 1000
        if round:  # the first warms up
            ratios.append(one / many)
            batched.append(1 / many)
            single.append(1 / one)
    print(
        f"batches of 1,000 keyed rows: {statistics.median(batched):.0f} rows/s; one caller's single writes: "
        f"{statistics.median(single):.0f} a second; ratio {min(ratios):.1f} / {statistics.median(ratios):.1f} / {max(ratios):.1f} "
        "(least, median, most)",
        flush=True,
    )
    memory.close()


def hits(uri: str, auth: Auth) -> None:
    """Db hits of the statement that writes 1,000 rows: new keys, and the same keys once more."""
    backend, clock = Neo4jBackend(uri, auth=auth, timeout=60), Clock()
    secrets = Secrets(backend.bolt.run("write/secrets"))
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, driver.session() as session:
        for what in ("new keys", "superseding"):
            written = [
                Remember(
                    op_id=f"{what} {n}", namespace="bench/hits", id=f"{what} {n}", content=f"fact {n}", key=f"k{n:04}"
                )
                for n in range(1000)
            ]
            rows = [remember_row(secrets, each.stamped(clock.tick())) for each in written]
            given: Any = bolt._for_driver({"namespace": "bench/hits", "rows": rows})
            with session.begin_transaction() as transaction:
                result = transaction.run("PROFILE " + statement("write/remember"), given)
                found = _hits(result.consume().profile or {})
                transaction.commit()
            print(f"db hits of 1,000 rows, {what}: {found:,}", flush=True)
    backend.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri")
    parser.add_argument("--auth", nargs=2, metavar=("USER", "PASSWORD"))
    parser.add_argument("--rival", metavar="PYTHON")
    parser.add_argument("--entities", type=int, default=50_000)
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--callers", type=int, default=64)
    asked = parser.parse_args()
    auth: Auth = (asked.auth[0], asked.auth[1]) if asked.auth else None
    with neo4j.GraphDatabase.driver(asked.uri, auth=auth) as driver:
        wipe(driver)
        theirs = rival(asked.rival, asked.uri, auth, asked) if asked.rival else None
        wipe(driver)
    found = ours(asked.uri, auth, asked)
    print(
        f"{asked.writes:,} single keyed writes of {NAMES} names from {asked.callers} callers, {asked.entities:,} there:"
    )
    print(f"  memgraph {found['rate']:.0f} a second, {found['nodes']:.0f} active memories", flush=True)
    if theirs is not None:
        print(
            f"  the rival {theirs['rate']:.0f} a second, {theirs['nodes']:.0f} nodes; ratio {found['rate'] / theirs['rate']:.1f}"
        )
    batches(asked.uri, auth)
    hits(asked.uri, auth)


if __name__ == "__main__":
    main()
