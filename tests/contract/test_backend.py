"""What the backend protocol promises beyond what Memory shows: places, unknown operations, all or none."""

from __future__ import annotations

import pytest

from memgraph import Memory
from memgraph.backends.base import Backend, Draft, Scope
from memgraph.errors import InvalidInputError
from memgraph.models import Entry, Filters
from memgraph.operations import (
    Origin,
    Purge,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unknown,
    Unrelate,
)
from tests.conftest import FrozenClock
from tests.operation_sets import instant, remember, version
from tests.views import everything, graph_edges

ANY = Filters(status="any")


@pytest.fixture
def ns(memory: Memory) -> str:
    """This test's namespace."""
    return memory.path


def said(ns: str, step: int) -> dict[str, str]:
    """The head of an operation."""
    return {"op_id": f"op{step}", "namespace": ns, "version": version(step)}


def test_it_keeps_the_protocol(backend: Backend) -> None:
    """The backend has every call of the protocol and a name."""
    assert isinstance(backend, Backend)
    assert backend.name


def test_a_place_is_not_seen(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """Operations about a memory that has not arrived show nothing, in no read and no count."""
    about = [
        Retire(**said(ns, 2), id="a", cause="forgotten"),
        Relate(**said(ns, 3), a="a", b="b", type="knows"),
        Reinforce(**said(ns, 4), id="a", feedback_id="f", signal=1.0),
        Supersede(**said(ns, 5), new_id="b", new_version=version(1), old_id="a", old_version=version(0)),
        Restore(**said(ns, 6), id="b"),
    ]
    assert backend.apply(about) == len(about)
    assert backend.apply(about) == 0
    scope = Scope(ns)
    assert backend.get(ns, ["a", "b"], clock.now) == {}
    assert everything(backend, ns, clock.now) == []
    assert backend.count(scope, ANY, clock.now) == 0
    assert backend.lineage(ns, "a", clock.now) is None
    assert backend.neighbours(ns, "a", 1, clock.now) is None
    assert backend.relations(ns, ["a", "b"]) == []
    assert backend.namespaces(ns) == []
    assert graph_edges(backend, ns, clock.now) == set()
    assert list(backend.snapshot(ns, clock.now)) == []
    assert backend.stats(ns, clock.now).entries == 0
    clock.now = instant(1000)  # what was applied is not ahead of it
    assert backend.check().ok


def test_a_place_is_filled_with_what_waited(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """The memory that arrives late has the status, relations and feedback that waited for it."""
    backend.apply([
        Retire(**said(ns, 2), id="a", cause="forgotten"),
        Relate(**said(ns, 3), a="a", b="b", type="knows"),
        Reinforce(**said(ns, 4), id="a", feedback_id="f", signal=0.5),
    ])  # fmt: skip
    backend.apply([remember(0, ns, "a")])
    entry = backend.get(ns, ["a"], clock.now)["a"]
    assert (entry.status, entry.feedback_count, entry.feedback_sum) == ("forgotten", 1, 0.5)
    assert backend.relations(ns, ["a"]) == []
    backend.apply([remember(1, ns, "b")])
    assert [edge.type for edge in backend.relations(ns, ["b"])] == ["knows"]


def test_an_older_relate_stays_dead(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """A relation that was taken back does not come back with a late, older relate."""
    backend.apply([remember(0, ns, "a"), remember(1, ns, "b"), Unrelate(**said(ns, 5), a="a", b="b", type="knows")])
    backend.apply([Relate(**said(ns, 4), a="a", b="b", type="knows")])
    assert backend.relations(ns, ["a"]) == []
    backend.apply([Relate(**said(ns, 6), a="a", b="b", type="knows")])
    assert len(backend.relations(ns, ["a"])) == 1


@pytest.mark.parametrize("first", ["copy", "purge"])
def test_a_copy_stands_for_its_origin(backend: Backend, ns: str, clock: FrozenClock, first: str) -> None:
    """A purge of a value takes a copy that is newer than it but whose origin is not, whichever arrives first."""
    origin = Origin(id="origin", version=version(1))
    operations = {
        "copy": remember(9, ns, "copy", key="k", subject="ann", restores=origin),
        "purge": Purge(**said(ns, 5), field="subject", value="ann"),
    }
    for name in (first, *(operations.keys() - {first})):
        backend.apply([operations[name]])
    assert everything(backend, ns, clock.now) == []
    backend.apply([remember(10, ns, "own", key="k", subject="ann")])
    assert [entry.id for entry in everything(backend, ns, clock.now)] == ["own"]


def test_an_unknown_operation_is_kept_and_passed_on(backend: Backend, ns: str) -> None:
    """An operation of a newer kind or format changes nothing that is read, and comes out as it went in."""
    payload = {**said(ns, 3), "op": "transmogrify", "format": 7, "deep": {"x": [1, None, "é"]}}
    strange = Unknown(op_id="op3", version=version(3), namespace=ns, payload=payload)
    assert backend.apply([strange, remember(1, ns, "a")]) == 2
    assert backend.apply([strange]) == 0
    told = list(backend.operations(Scope(ns)))
    assert [op for op in told if isinstance(op, Unknown)] == [strange]
    assert backend.count(Scope(ns), ANY, version_time()) == 1


def version_time() -> object:
    """An instant after every operation of this file."""
    return instant(1000)


def test_apply_is_all_or_none(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """If one of the operations cannot be taken, none is."""
    with pytest.raises((TypeError, AttributeError, InvalidInputError)):
        backend.apply([remember(0, ns, "a"), "no operation", remember(1, ns, "b")])  # type: ignore[list-item]
    assert everything(backend, ns, clock.now) == []


def test_write_answers_in_order(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """`write` gives the entry of each Remember and the version of every other operation, with growing versions."""
    drafts = [
        Draft(Remember(op_id="1", namespace=ns, id="a", content="a")),
        Draft(Remember(op_id="2", namespace=ns, id="b", content="b")),
        Draft(Relate(op_id="3", namespace=ns, a="a", b="b", type="knows")),
        Draft(Retire(op_id="4", namespace=ns, id="a", cause="forgotten")),
    ]
    answer = backend.write(drafts)
    a, b, related, retired = answer
    assert isinstance(a, Entry)
    assert isinstance(b, Entry)
    assert (a.id, b.id) == ("a", "b")
    assert [a.version, b.version, related, retired] == sorted([a.version, b.version, str(related), str(retired)])
    assert related == backend.relations(ns, ["a"])[0].version
    assert backend.get(ns, ["a"], clock.now)["a"].status == "forgotten"


def test_a_live_write_is_never_born_superseded(backend: Backend, ns: str, clock: FrozenClock) -> None:
    """A write is stamped past every version that the store holds, replays from faster clocks included."""
    fast = remember(0, ns, "fast", key="k").model_copy(
        update={"version": f"{int(clock() * 1000) + 60_000:012x}-0005-ffffffff"}
    )
    backend.apply([fast])
    (entry,) = backend.write([Draft(Remember(op_id="1", namespace=ns, id="live", content="x", key="k"))])
    assert entry is not None
    assert entry.version > fast.version
    assert entry.status == "active"
    current = backend.current(ns, "k", clock.now)
    assert current is not None
    assert current.id == "live"
