"""A namespace is a wall: law 6."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError, NotFoundError
from memgraph.models import Filters


def test_a_view_touches_exactly_its_namespace(make_memory: Callable[..., Memory]) -> None:
    """Keys, ids, lists, counts and searches of one namespace are unknown to every other."""
    a, b = make_memory("a"), make_memory("b")
    entry = a.remember("the zebra", id="id-1", key="k")
    assert b.current("k") is None
    assert b.list(Filters(status="any")).items == ()
    assert b.count(Filters(status="any")) == 0
    assert len(b.search("zebra", include_inactive=True)) == 0
    assert b.graph().number_of_nodes() == 0
    for call in (b.get, b.history, b.lineage, b.neighbours, b.forget, b.restore):
        with pytest.raises(NotFoundError) as there:
            call("id-1")
        with pytest.raises(NotFoundError) as nowhere:
            call("id-2")
        assert str(there.value).replace("id-1", "id-2") == str(nowhere.value)
    assert a.get("id-1") == entry


def test_subtree_widens_by_whole_segments(make_memory: Callable[..., Memory]) -> None:
    """`subtree` takes the descendants in, not the names that merely begin alike."""
    root, child, deep, alike = (make_memory(*path) for path in (("a",), ("a", "b"), ("a", "b", "c"), ("ab",)))
    for memory, text in ((root, "r"), (child, "c"), (deep, "d"), (alike, "x")):
        memory.remember(text)
    assert [e.content for e in root.list()] == ["r"]
    assert {e.content for e in root.list(subtree=True)} == {"r", "c", "d"}
    assert {e.content for e in child.list(subtree=True)} == {"c", "d"}
    assert (root.count(subtree=True), alike.count(subtree=True)) == (3, 1)


def test_a_view_of_a_namespace(memory: Memory) -> None:
    """`namespace(...)` is a view below this one that shares its store; the view never leaves its own subtree."""
    view = memory.namespace("acme", "user-1")
    entry = view.remember("hello")
    assert entry.namespace.endswith("/acme/user-1")
    assert memory.count() == 0
    assert memory.count(subtree=True) == 1
    assert memory.namespace("acme").namespace("user-1").get(entry.id) == entry
    for bad in ((), ("",), ("a/",), ("a/b", "c"), ("a", ""), ("a\n",), (None,)):
        with pytest.raises(InvalidInputError):
            memory.namespace(*bad)
    for path in (("..",), (".",)):
        assert memory.namespace(*path).count(subtree=True) == 0


def test_namespaces_are_listed(memory: Memory) -> None:
    """`namespaces` names those that hold memories, in this view's subtree only, sorted."""
    for path in (("b",), ("a", "x"), ("a",), ("ab",)):
        memory.namespace(*path).remember("x")
    memory.namespace("empty")
    found = memory.namespaces()
    assert found == sorted(found)
    assert [name.rpartition("/")[2] for name in found] == ["a", "x", "ab", "b"]
    assert [name.rpartition("/")[2] for name in memory.namespaces(("a",))] == ["a", "x"]
    assert [name.rpartition("/")[2] for name in memory.namespace("a").namespaces()] == ["a", "x"]


def test_none_and_empty_never_mean_all(make_memory: Callable[..., Memory]) -> None:
    """An empty namespace or segment is refused when a store is opened; none at all is the one called default."""
    memory = make_memory("a")
    entry = memory.remember("x")
    default = Memory(memory.backend)
    assert default.path == "default"
    with pytest.raises(NotFoundError):
        default.get(entry.id)
    for bad in ("", (), ("",), ("a", ""), "a//b", "/"):
        with pytest.raises(InvalidInputError):
            Memory(memory.backend, namespace=bad)


def test_a_graph_of_a_subtree_names_its_namespaces(memory: Memory) -> None:
    """With `subtree` the nodes are (namespace, id), so one id may stand in several."""
    memory.remember("here", id="i")
    below = memory.namespace("below")
    below.remember("there", id="i")
    below.remember("there too", id="j")
    below.relate("i", "j")
    graph = memory.graph(subtree=True)
    assert set(graph.nodes) == {(memory.path, "i"), (below.path, "i"), (below.path, "j")}
    assert list(graph.edges()) == [((below.path, "i"), (below.path, "j"))]
