"""The live graph: the fast load equals networkx's own methods, and following the log equals reading the tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import networkx as nx
import pytest

from memgraph import Memory
from memgraph.backends.local import graph as live
from memgraph.backends.local.backend import LocalBackend


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.db", durability="normal", preload=False) as memory:
        yield memory


def act(memory: Memory, source: Random, steps: int) -> None:
    """Random verbs."""
    for step in range(steps):
        ids = [entry.id for entry in memory.list({"status": "any"}, limit=50)]
        verb = source.choice(("remember", "remember", "relate", "forget", "restore", "supersede", "unrelate", "purge"))
        if verb == "remember" or len(ids) < 3:
            memory.remember(f"memory {step}", key=source.choice((None, "k", "j")))
        elif verb == "relate":
            memory.relate(*source.sample(ids, 2), type=source.choice(("a", "b")))
        elif verb == "unrelate":
            edges = memory.backend.relations(memory.path, ids)
            if edges:
                memory.unrelate(edges[0].source_id, edges[0].target_id, edges[0].type or "")
        elif verb == "forget":
            memory.forget(source.choice(ids))
        elif verb == "restore":
            memory.restore(source.choice(ids))
        elif verb == "supersede":
            new, old = memory.remember(f"newer {step}"), memory.get(source.choice(ids))
            memory.supersede(old.id, new.id)
        elif step % 4 == 0:
            memory.purge({"ids": [source.choice(ids)]})


def test_the_log_says_all_that_the_tables_say(memory: Memory) -> None:
    """After any verbs the graph that followed the log is the graph that reads the tables anew."""
    backend = memory.backend
    assert isinstance(backend, LocalBackend)
    source = Random(5)
    assert backend.graph_differences() == 0
    for _ in range(12):
        act(memory, source, 12)
        assert backend.graph_differences() == 0
    assert memory.check().ok


def test_the_fast_load_is_what_networkx_would_build(memory: Memory) -> None:
    """Filling networkx's dictionaries directly gives the graph that its methods give."""
    act(memory, Random(6), 80)
    backend = memory.backend
    assert isinstance(backend, LocalBackend)
    with backend.database.read() as connection:
        fast = live.LiveGraph()
        fast.catch_up(connection)
    slow: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for node, data in fast.graph.nodes(data=True):
        slow.add_node(node, **data)
    for a, b, key, data in fast.graph.edges(keys=True, data=True):
        slow.add_edge(a, b, key=key, **data)
    assert nx.utils.graphs_equal(fast.graph, slow)
    assert fast.graph.number_of_edges() == slow.number_of_edges() > 10
    for node in slow:
        assert set(fast.graph.predecessors(node)) == set(slow.predecessors(node))
        assert fast.graph.degree(node) == slow.degree(node)
    reversed_twice = fast.graph.reverse(copy=True).reverse(copy=True)
    assert nx.utils.graphs_equal(reversed_twice, fast.graph)


def test_a_log_that_was_trimmed_is_read_over(memory: Memory) -> None:
    """Where the log no longer reaches back, the tables are read again."""
    backend = memory.backend
    assert isinstance(backend, LocalBackend)
    memory.remember("first")
    assert backend.graph_differences() == 0
    act(memory, Random(7), 20)
    backend.database.write(lambda connection: connection.execute("delete from change where lsn < 15"))
    assert backend.graph_differences() == 0
