"""What reading from Neo4j costs, by the size of a namespace and among many others. By hand, best on an empty store.

    python -m tests.bench.neo4j_reads bolt://127.0.0.1:7687 [--sizes 1000,10000,100000] [--namespaces 200] [--each 500]

One namespace of `--each` memories is measured before anything else is there (a store of that size), then all the others are filled,
then every one is measured. Db hits are those that the server's PROFILE counts, of all statements of a call; milliseconds are
medians as the caller sees them. A third of the memories are turns of conversations, the rest facts, most of them keyed; words and
questions (of five words) follow a Zipf distribution. Filled namespaces are kept and used again. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import neo4j

from memgraph import Memory
from memgraph.backends.base import Query, Scope
from memgraph.backends.neo4j import reads
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.backends.neo4j.search import SearchIndex
from memgraph.models import Filters
from memgraph.storage import bolt
from memgraph.storage.queries import statement
from tests.bench.speed import facts, words

ROOT = "bench-reads"
QUESTIONS = 40


class Profiled:
    """Runs statements with PROFILE and adds up their db hits."""

    def __init__(self, uri: str, auth: tuple[str, str] | None) -> None:
        self._driver = neo4j.GraphDatabase.driver(uri, auth=auth)
        self.hits: dict[str, int] = {}

    def run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """A Runner's."""
        with self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            result = session.run("PROFILE " + statement(name), bolt._for_driver(parameters))  # type: ignore[arg-type]
            rows = bolt._rows(result)
            self.hits[name] = self.hits.get(name, 0) + _hits(result.consume().profile or {})
        return rows

    def plan_again(self) -> None:
        """Forget the plans of a smaller store, as a server does by itself after a while."""
        with self._driver.session() as session:
            session.run("CALL db.clearQueryCaches()").consume()

    def taken(self) -> dict[str, int]:
        """The hits since the last call, by statement."""
        found, self.hits = self.hits, {}
        return found

    def close(self) -> None:
        """Give the connection up."""
        self._driver.close()


def _hits(plan: dict[str, Any]) -> int:
    return int(plan.get("dbHits") or 0) + sum(_hits(child) for child in plan.get("children", []))


def memories(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Arguments of `remember`: a third turns, 40 a session, the rest facts."""
    source = random.Random(seed)
    for number, fact in enumerate(facts(count, seed)):
        if number % 3 == 0:
            fact = {
                "content": fact["content"],
                "actor": f"person {source.randrange(2)}",
                "session": f"s{number // 120}",
            }
        yield fact


def fill(backend: Neo4jBackend, namespace: str, count: int, seed: int) -> None:
    """Write a namespace, unless it is there."""
    if backend.count(Scope(namespace), Filters(status="any"), datetime.now(UTC)) == count:
        return
    memory, rows = Memory(backend, namespace=tuple(namespace.split("/"))), list(memories(count, seed))
    for start in range(0, count, 1000):
        memory.remember_many(rows[start : start + 1000])


def measure(backend: Neo4jBackend, profiled: Profiled, namespace: str) -> dict[str, tuple[float, float]]:
    """Db hits and milliseconds of each kind of read."""
    now, scope = datetime.now(UTC), Scope(namespace)
    page = backend.list(scope, Filters(), now, 200, None).items
    ids = [entry.id for entry in page[:QUESTIONS]]
    keys = [entry.key for entry in page if entry.key is not None][:QUESTIONS]
    source = random.Random(11)
    asked = [Query(words(source, 5), now) for _ in range(QUESTIONS)]
    index, fresh = SearchIndex(), SearchIndex()
    profiled.plan_again()
    calls: dict[str, tuple[list[Any], Callable[[Any, Any], object]]] = {
        "get": (ids, lambda runner, name: reads.by_ids(runner, namespace, [name], now)),
        "current": (keys, lambda runner, key: reads.current(runner, namespace, key, now)),
        "list 50": ([None] * 5, lambda runner, _: reads.page(runner, scope, Filters(), now, 50, None)),
        "list 50, page 3": ([None] * 5, lambda runner, _: _page(runner, scope, now, 3)),
        "count": ([None] * 3, lambda runner, _: reads.count(runner, scope, Filters(), now)),
        "first search": (asked[:1], lambda runner, query: SearchIndex().search(runner, scope, query)),
        "search": (asked, lambda runner, query: (fresh if runner is profiled else index).search(runner, scope, query)),
    }
    found = {}
    for name, (arguments, call) in calls.items():
        hits, times = [], []
        for argument in arguments * (2 if name == "search" else 1):  # once to get warm
            call(profiled, argument)
            hits.append(sum(profiled.taken().values()))
        for argument in arguments * (2 if name == "search" else 1):
            began = time.perf_counter()
            call(backend.bolt, argument)
            times.append((time.perf_counter() - began) * 1e3)
        last = len(arguments)
        found[name] = statistics.mean(hits[-last:]), statistics.median(times[-last:])
    return found


def _page(runner: Any, scope: Scope, now: datetime, number: int) -> None:
    after = None
    for _ in range(number):
        after = reads.page(runner, scope, Filters(), now, 50, after).next


def show(title: str, found: dict[str, tuple[float, float]]) -> None:
    """A line of the table."""
    cells = (f"{hits:,.0f} / {ms:.1f}" for hits, ms in found.values())
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Fill, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri")
    parser.add_argument("--auth", nargs=2, metavar=("USER", "PASSWORD"))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--namespaces", type=int, default=200)
    parser.add_argument("--each", type=int, default=500)
    asked = parser.parse_args()
    auth = tuple(asked.auth) if asked.auth else None
    backend, profiled = Neo4jBackend(asked.uri, auth=auth, timeout=60.0), Profiled(asked.uri, auth)
    many = [f"{ROOT}/many/n{number}" for number in range(asked.namespaces)]
    sizes = [int(size) for size in asked.sizes.split(",") if size]
    if many:
        fill(backend, many[0], asked.each, 1000)
        alone = len(backend.namespaces(None)) == 1
        first = measure(backend, profiled, many[0])
        columns = list(first)
        print(f"db hits / ms | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}", flush=True)
        show(f"{asked.each:,}, {'alone in the store' if alone else 'before this run filled others'}", first)
    for size in sizes:
        fill(backend, f"{ROOT}/{size}", size, size)
    for number, name in enumerate(many):
        fill(backend, name, asked.each, 1000 + number)
    for size in sizes:
        show(f"{size:,}", measure(backend, profiled, f"{ROOT}/{size}"))
    if many:
        show(f"{asked.each:,}, one of {len(many)}", measure(backend, profiled, many[0]))
        subtree(backend, profiled, f"{ROOT}/many")
    profiled.close()
    backend.close()


def subtree(backend: Neo4jBackend, profiled: Profiled, root: str) -> None:
    """A search of all the namespaces below a root."""
    source, scope, index = random.Random(12), Scope(root, subtree=True), SearchIndex()
    asked = [Query(words(source, 5), datetime.now(UTC)) for _ in range(5)]
    hits, times, statements = [], [], []
    for query in asked:
        index.search(backend.bolt, scope, query)
        began = time.perf_counter()
        index.search(backend.bolt, scope, query)
        times.append((time.perf_counter() - began) * 1e3)
    for query in asked:
        index.search(profiled, scope, query)
        hits.append(sum(profiled.taken().values()))
    statements = [f"{statistics.mean(hits):,.0f} db hits, {statistics.median(times):,.0f} ms"]
    print(f"\nsearch of all namespaces below one, together: {statements[0]}", flush=True)


if __name__ == "__main__":
    main()
