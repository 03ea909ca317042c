"""Every question gets the same answer, in the same order, from a Neo4j server as from the local store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import Memory
from memgraph.backends.base import Backend, Scope
from memgraph.backends.neo4j import dump, lines, reads
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.models import Filters, Selector
from memgraph.operations import Operation, Remember, Supersede
from memgraph.storage.bolt import Bolt
from tests.conftest import RUN
from tests.neo4j_server import Server
from tests.operation_sets import instant, moved, operation_sets, remember, version

pytestmark = pytest.mark.neo4j
NOW = instant(10_000)
ANY = Filters(status="any")
FILTERS = (
    ANY,
    Filters(),
    Filters(kinds=["fact"], status="any"),
    Filters(tags=["t3"], status="any"),
    Filters(status=["superseded", "forgotten", "expired"]),
    Filters(pinned=True, status="any"),
    Filters(since=instant(3), until=instant(9), status="any"),
    Filters(where={"n": 3}, status="any"),
    Filters(subject="ann", status="any"),
)
INSTANTS = (None, 3, 9, 30)
_count = iter(range(1, 1_000_000))


@pytest.fixture(scope="module")
def primary(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few memories fill several pages."""
    for module in (reads, lines, dump):
        monkeypatch.setattr(module, "PAGE", 4)
    monkeypatch.setattr(dump, "HELD", 3)


def lists_agree(local: Backend, primary: Backend, scope: Scope) -> None:
    for filters in FILTERS:
        after = None
        while True:
            want = local.list(scope, filters, NOW, 3, after)
            got = primary.list(scope, filters, NOW, 3, after)
            assert (got.items, got.next) == (want.items, want.next), filters
            after = want.next
            if after is None:
                break
        assert primary.count(scope, filters, NOW) == local.count(scope, filters, NOW)


def keys_agree(local: Backend, primary: Backend, space: str, keys: Sequence[str]) -> None:
    for key in keys:
        for known in INSTANTS:
            for valid in (None, 2, 12):
                at = (None if known is None else instant(known + 0.5), None if valid is None else instant(valid))
                want = local.current(space, key, NOW, *at)
                assert primary.current(space, key, NOW, *at) == want, (key, known, valid)
    for known in INSTANTS[1:]:
        assert known is not None
        assert list(primary.snapshot(space, instant(known + 0.5))) == list(local.snapshot(space, instant(known + 0.5)))


def graphs_agree(local: Backend, primary: Backend, space: str, names: Sequence[str], ids: Sequence[str]) -> None:
    assert primary.get(space, ids, NOW) == local.get(space, ids, NOW)
    assert primary.relations(space, ids) == local.relations(space, ids)
    for name in names:
        assert primary.lineage(space, name, NOW) == local.lineage(space, name, NOW), name
    for id in ids:
        for depth in (1, 3):
            assert primary.neighbours(space, id, depth, NOW) == local.neighbours(space, id, depth, NOW), (id, depth)
    want, got = local.graph(Scope(space), NOW), primary.graph(Scope(space), NOW)
    assert dict(got.nodes(data=True)) == dict(want.nodes(data=True))
    assert sorted(map(repr, got.edges(keys=True, data=True))) == sorted(map(repr, want.edges(keys=True, data=True)))


def sets_agree(local: Backend, primary: Backend, space: str, keys: Sequence[str], ids: Sequence[str]) -> None:
    selectors = [Selector(everything=True), Selector(text="CONTENT 3"), Selector(tags=["a"], lineage=True)]
    selectors += [Selector(ids=ids[:2], lineage=True)] if ids else []
    selectors += [Selector(key=key) for key in keys[:1]]
    for selector in selectors:
        want = sorted(entry.id for entry in local.select(Scope(space), selector, NOW))
        assert sorted(entry.id for entry in primary.select(Scope(space), selector, NOW)) == want, selector
    mine, theirs = primary.stats(space, NOW), local.stats(space, NOW)
    for name in ("entries", "by_status", "by_kind", "keys", "relations"):
        assert getattr(mine, name) == getattr(theirs, name), name
    written = [told(item) for item in local.operations(Scope(space)) if not isinstance(item, dict)]
    again = [told(item) for item in primary.operations(Scope(space)) if not isinstance(item, dict)]
    assert sorted(again) == sorted(written)
    assert [version for version, _ in again] == [version for version, _ in written], "by version"


def told(item: Any) -> tuple[str, str]:
    """An operation as one line, with its version."""
    return item.version, item.model_dump_json()


@settings(max_examples=5)
@given(drawn=st.data())
def test_the_same_answers_as_local(drawn: st.DataObject, primary: Neo4jBackend) -> None:
    operations: list[Operation] = drawn.draw(operation_sets())
    root = f"reads{RUN}-{next(_count)}"
    operations = moved(operations, {"x": f"{root}/x", "y": f"{root}/y"})
    with Memory.open(":memory:", preload=False) as memory:
        local = memory.backend
        local.apply(operations)
        primary.apply(operations)
        spaces = local.namespaces(root)
        assert primary.namespaces(root) == spaces
        lists_agree(local, primary, Scope(root, subtree=True))
        for space in spaces:
            written = [each for each in operations if isinstance(each, Remember) and each.namespace == space]
            ids = sorted({each.id for each in written})
            keys = sorted({each.key for each in written if each.key is not None})
            lists_agree(local, primary, Scope(space))
            keys_agree(local, primary, space, keys)
            graphs_agree(local, primary, space, [*keys, *ids, "nobody"], [*ids, "nobody"])
            sets_agree(local, primary, space, keys, ids)


def test_an_export_of_one_fills_the_other(primary: Neo4jBackend) -> None:
    """Everything of a namespace, feedback, places and tombstones too, is there after a way through a local store and back."""
    space = f"export{RUN}-{next(_count)}"
    here = Memory(primary, namespace=space)
    first = here.remember("Ada lives in Porto", key="city", tags=["t"], metadata={"n": [1, None]}, actor="ada")
    here.remember("Ada lives in Berlin", key="city", relates_to=[(first.id, "after")])
    here.feedback([first.id], 1.0, verified=True)
    gone = here.remember("a secret")
    here.purge(Selector(ids=[gone.id]))
    with Memory.open(":memory:", preload=False) as memory:
        items = list(primary.operations(Scope(space)))
        memory.backend.bury(item for item in items if isinstance(item, dict))
        memory.backend.apply(item for item in items if not isinstance(item, dict))
        lists_agree(memory.backend, primary, Scope(space))
        again = memory.namespace(space)
        assert again.graph().edges == here.graph().edges
        assert [told(item) for item in memory.backend.operations(Scope(space)) if not isinstance(item, dict)] == [
            told(item) for item in items if not isinstance(item, dict)
        ]
        with pytest.raises(Exception, match="purged"):
            again.remember("a secret", id=gone.id)


def test_a_long_chain_takes_few_statements(primary: Neo4jBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """By explicit replacing, across keys and over a memory that describes the past, from its middle."""
    space = f"chain{RUN}-{next(_count)}"
    written: list[Operation] = [remember(n, space, f"m{n}") for n in range(400)]
    written += [
        Supersede(
            op_id=f"s{n}",
            namespace=space,
            version=version(500 + n),
            new_id=f"m{n + 1}",
            new_version=written[n + 1].version,
            old_id=f"m{n}",
            old_version=written[n].version,
        )
        for n in range(399)
    ]
    written += [remember(1000 + n, space, f"k{n}", key=f"k{n % 2}") for n in range(6)]
    written.append(
        Supersede(
            op_id="across",
            namespace=space,
            version=version(2000),
            new_id="k2",
            new_version=version(1002, 0),
            old_id="m399",
            old_version=written[399].version,
        )
    )
    with Memory.open(":memory:", preload=False) as memory:
        for backend in (memory.backend, primary):
            backend.apply(written)
        monkeypatch.undo()  # pages as they are
        want = memory.backend.lineage(space, "m200", NOW)
        run: list[str] = []
        plain = Bolt.run

        def counted(self: Bolt, name: str, /, **parameters: object) -> list[dict[str, object]]:
            run.append(name)
            return plain(self, name, **parameters)

        monkeypatch.setattr(Bolt, "run", counted)
        got = primary.lineage(space, "m200", NOW)
    assert want is not None
    assert got is not None
    assert len(want.entries) == 403
    assert got == want
    assert len(run) < 12


def test_a_changeset_and_its_undoing(primary: Neo4jBackend) -> None:
    """A release, its undoing, and what the undoing copied are told as the local store tells them."""
    said: list[list[dict[str, Any]]] = []
    for memory in (Memory(primary, namespace=f"undo{RUN}"), Memory.open(":memory:", preload=False)):
        memory.remember("blue paint", id="a", key="colour")
        memory.remember("blue sky", id="b")
        done = memory.release("blue")
        undone = memory.undo(done.id)
        changes = [memory.backend.changeset(memory.path, id) for id in (done.id, undone.id, "nothing")]
        assert changes[0] is not None
        assert changes[1] is not None
        assert changes[2] is None
        assert (changes[0].undone_by, changes[1].undoes) == (undone.id, done.id)
        told = [
            [(each.id, each.key, each.before, each.after) for each in change.changes] for change in changes if change
        ]
        said.append([*told, changes[0].cause, changes[1].cause])  # type: ignore[list-item]
        memory.remember("clean up")
    assert said[0] == said[1]
