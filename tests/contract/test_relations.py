"""What `relate`, `unrelate`, `supersede`, `neighbours` and `graph` promise."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import networkx as nx
import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError, NotFoundError
from memgraph.models import Selector
from tests.conftest import FrozenClock


def test_relate_returns_the_edge_and_neighbours_shows_it(memory: Memory) -> None:
    """An edge goes from a to b with type, weight and note; both ends see each other."""
    a, b = memory.remember("a"), memory.remember("b")
    edge = memory.relate(a.id, b.id, "knows", weight=0.5, note="met in Porto")
    assert (edge.label, edge.source_id, edge.target_id) == ("RELATES_TO", a.id, b.id)
    assert (edge.type, edge.weight, edge.note) == ("knows", 0.5, "met in Porto")
    assert memory.neighbours(a.id).edges == memory.neighbours(b.id).edges == (edge,)
    assert [e.id for e in memory.neighbours(b.id).entries] == [a.id]


def test_one_edge_a_pair_and_type(memory: Memory) -> None:
    """The newest `relate` of a pair and type counts; other types and the other direction are edges of their own."""
    a, b = memory.remember("a"), memory.remember("b")
    memory.relate(a.id, b.id, "knows", weight=0.5)
    memory.relate(a.id, b.id, "knows", weight=1.0, note="again")
    memory.relate(a.id, b.id, "likes")
    memory.relate(b.id, a.id, "knows")
    found = {(e.source_id, e.target_id, e.type): (e.weight, e.note) for e in memory.neighbours(a.id).edges}
    assert found == {
        (a.id, b.id, "knows"): (1.0, "again"),
        (a.id, b.id, "likes"): (1.0, None),
        (b.id, a.id, "knows"): (1.0, None),
    }


def test_unrelate_takes_one_back(memory: Memory) -> None:
    """`unrelate` takes back one type of one pair; it can be related again; an unknown end is not found."""
    a, b = memory.remember("a"), memory.remember("b")
    memory.relate(a.id, b.id, "knows")
    memory.relate(a.id, b.id, "likes")
    memory.unrelate(a.id, b.id, "knows")
    assert {e.type for e in memory.neighbours(a.id).edges} == {"likes"}
    with pytest.raises(NotFoundError):
        memory.unrelate(a.id, "no-such-id", "knows")
    memory.relate(a.id, b.id, "knows")
    assert {e.type for e in memory.neighbours(a.id).edges} == {"likes", "knows"}


def test_neighbours_by_depth(memory: Memory) -> None:
    """`depth` counts edges in any direction, nearest first; only active memories are shown, and edges among them."""
    ids = [memory.remember(f"n{n}", id=f"n{n}").id for n in range(5)]
    for a, b in itertools.pairwise(ids):
        memory.relate(b, a)
    assert [e.id for e in memory.neighbours("n0", depth=3).entries] == ["n1", "n2", "n3"]
    memory.forget("n2")
    assert [e.id for e in memory.neighbours("n0", depth=3).entries] == ["n1"]
    with pytest.raises(NotFoundError):
        memory.neighbours("no-such-id")
    with pytest.raises(InvalidInputError):
        memory.neighbours("n0", depth=-1)


def test_supersede_by_hand(memory: Memory, clock: FrozenClock) -> None:
    """`supersede` replaces one memory by a newer one, whether or not they share a subject."""
    old, new = memory.remember("old"), memory.remember("new")
    edge = memory.supersede(old.id, new.id, reason="corrected")
    assert (edge.label, edge.via, edge.reason) == ("SUPERSEDES", "explicit", "corrected")
    assert (edge.source_id, edge.target_id) == (new.id, old.id)
    assert memory.get(old.id).status == "superseded"
    assert memory.get(old.id).superseded_by == new.id
    assert [e.id for e in memory.list()] == [new.id]


def test_a_superseded_head_leaves_its_key_empty(memory: Memory) -> None:
    """An explicit supersede of a key's head leaves the key without a current value until it is written again."""
    head = memory.remember("a", key="k")
    other = memory.remember("b")
    memory.supersede(head.id, other.id)
    assert memory.current("k") is None
    memory.remember("c", key="k")
    assert memory.current("k").content == "c"


def test_what_supersede_refuses(memory: Memory) -> None:
    """Itself, an older `new`, two of the same key, and unknown ids are refused; nothing changes."""
    old, new = memory.remember("old"), memory.remember("new")
    k1, k2 = memory.remember("v1", key="k"), memory.remember("v2", key="k")
    for a, b in ((old.id, old.id), (new.id, old.id), (k1.id, k2.id)):
        with pytest.raises((InvalidInputError, ConflictError)):
            memory.supersede(a, b)
    for a, b in ((old.id, "no-such-id"), ("no-such-id", new.id)):
        with pytest.raises(NotFoundError):
            memory.supersede(a, b)
    assert {e.id for e in memory.list()} == {old.id, new.id, k2.id}


def test_an_edge_needs_two_memories_of_one_namespace(make_memory: Callable[..., Memory]) -> None:
    """Unknown, purged and foreign ends are not found, a memory's relation to itself is refused; nothing is written."""
    memory, other = make_memory("a"), make_memory("b")
    a, b, foreign = memory.remember("a"), memory.remember("b"), other.remember("c")
    purged = memory.remember("gone")
    memory.purge(Selector(ids=[purged.id]))
    for end in ("no-such-id", purged.id, foreign.id):
        for pair in ((a.id, end), (end, b.id)):
            with pytest.raises(NotFoundError):
                memory.relate(*pair)
            with pytest.raises(NotFoundError):
                memory.supersede(*pair)
    with pytest.raises(InvalidInputError):
        memory.relate(a.id, a.id)
    assert memory.graph().number_of_edges() == 0
    assert memory.graph().number_of_nodes() == 2


def test_reserved_types_and_bad_weights_are_refused(memory: Memory) -> None:
    """A relation's type is a name that is not one of ours; its weight is a finite number."""
    a, b = memory.remember("a"), memory.remember("b")
    for type in ("SUPERSEDES", "restores", "", "  ", "tab\there"):
        with pytest.raises(InvalidInputError):
            memory.relate(a.id, b.id, type)
    for weight in (float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInputError):
            memory.relate(a.id, b.id, weight=weight)
    assert memory.graph().number_of_edges() == 0


def test_graph_is_a_frozen_copy(memory: Memory) -> None:
    """`graph` holds every memory and edge of the namespace; nobody can change the store through it."""
    old, new = memory.remember("v1", key="k"), memory.remember("v2", key="k")
    other = memory.remember("other")
    memory.relate(new.id, other.id, "knows", weight=0.5)
    memory.relate(new.id, old.id, "knows")
    graph = memory.graph()
    assert isinstance(graph, nx.MultiDiGraph)
    assert set(graph.nodes) == {old.id, new.id, other.id}
    assert {(a, b, key) for a, b, key in graph.edges(keys=True)} == {
        (new.id, old.id, "SUPERSEDES"),
        (new.id, old.id, "RELATES_TO:knows"),
        (new.id, other.id, "RELATES_TO:knows"),
    }
    assert graph.edges[new.id, other.id, "RELATES_TO:knows"]["weight"] == 0.5
    assert graph.nodes[old.id]["status"] == "superseded"
    assert graph.nodes[old.id]["key"] == "k"
    with pytest.raises(nx.NetworkXError):
        graph.add_node("intruder")
    memory.remember("later")
    assert graph.number_of_nodes() == 3
    assert memory.graph().number_of_nodes() == 4
