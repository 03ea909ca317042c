"""What was written while the clock was ahead: nothing can be written until the doctor has stamped it anew, in its order."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.outbox import Outbox
from memgraph.clock import millis
from memgraph.errors import ClockDriftError
from memgraph.models import Filters
from memgraph.operations import Operation

YEAR = 365 * 86_400.0


class Wall:
    """A clock that can be set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def make(tmp_path: Path, wall: Wall) -> Callable[..., Memory]:
    def make(coupled: bool = False) -> Memory:
        backend = LocalBackend(tmp_path / "a.db", durability="normal", clock=wall)
        if coupled:
            backend.couple("bolt://primary")
        return Memory(backend, namespace="acme", clock=wall)

    return make


def live_through_a_year_ahead(memory: Memory, wall: Wall) -> None:
    memory.remember("Porto", key="city", id="porto")
    memory.remember("likes tea", id="tea", session="s")
    memory.relate("tea", "porto", note="before")
    memory.remember("dead before", id="dead", subject="bob")
    memory.purge({"subject": "bob"})
    wall.ahead = YEAR
    memory.remember("Berlin", key="city", id="berlin", reason="moved")
    memory.remember("Rome", key="city", id="rome")
    memory.remember("likes coffee", id="coffee")
    memory.supersede("tea", "coffee", reason="asked")
    memory.relate("porto", "coffee", note="ahead")
    memory.feedback(["porto"], 1.0)
    memory.forget("rome")
    memory.restore("rome")
    memory.remember("gone", id="gone", subject="eve")
    memory.purge({"subject": "eve"})
    memory.remember("eve is back", id="back", subject="eve")
    wall.ahead = 0.0


def test_a_store_whose_clock_was_a_year_ahead_can_be_written_again(make: Callable[..., Memory], wall: Wall) -> None:
    memory = make()
    live_through_a_year_ahead(memory, wall)
    memory.close()
    memory = make()
    with pytest.raises(ClockDriftError) as told:
        memory.remember("more")
    assert "doctor" in told.value.hint
    before = said(memory)
    report = memory.check()
    (problem,) = [problem for problem in report.problems if problem.code == "future"]
    assert problem.count > 10
    assert problem.repair
    assert said(memory) == before, "a look changes nothing"
    repaired = memory.check(repair=True)
    assert repaired.ok, repaired
    assert repaired.mended["future"] == problem.count
    assert said(memory) == before
    assert memory.check(repair=True).mended == {}
    now = memory.remember("Lisbon", key="city")
    assert memory.current("city") == now
    assert [entry.content for entry in memory.history("city")][-2:] == ["Rome", "Lisbon"]
    assert all(millis(each) < (time.time() + 60) * 1000 for each in versions(memory))
    assert memory.check().ok
    assert memory.get("back").content == "eve is back"
    memory.close()


def said(memory: Memory) -> object:
    """All that people see but versions and times, in order."""
    shown = ("id", "content", "key", "status", "superseded_by", "feedback_count", "restores", "reason")
    entries = [tuple(getattr(entry, name) for name in shown) for entry in memory.list(Filters(status="any"))]
    named = ("label", "type", "note", "reason", "via")
    edges = [(a, b, *(edge.get(name) for name in named)) for a, b, edge in memory.graph().edges(data=True)]
    events = {id: [(event.cause, event.id) for event in memory.lineage(id).events] for id, *_ in entries}
    return entries, sorted(edges, key=repr), events


def versions(memory: Memory) -> list[str]:
    return [each.version for each in memory.backend.operations(Scope("acme")) if isinstance(each, Operation)]


def test_of_a_store_with_a_primary_only_what_was_not_sent_is_stamped_anew(
    make: Callable[..., Memory], wall: Wall
) -> None:
    memory = make(coupled=True)
    memory.remember("sent", id="sent")
    assert isinstance(memory.backend, LocalBackend)
    outbox = Outbox(memory.backend)
    wall.ahead = YEAR
    memory.remember("sent too", id="too")
    outbox.done(outbox.units(100), {})
    first = memory.remember("waits", id="waits", key="k")
    memory.remember("waits behind it", id="behind", key="k")
    wall.ahead = 0.0
    assert memory.check(repair=True).mended == {"future": 2}
    waiting = [each for unit in outbox.units(100) for each in unit.operations]
    assert [each.op_id for each in waiting] == ["waits", "behind"]
    assert [each.version for each in waiting] == [memory.get(id).version for id in ("waits", "behind")]
    assert waiting[0].version < waiting[1].version < first.version
    assert memory.current("k").id == "behind"  # type: ignore[union-attr]
    assert {entry.id for entry in memory.list(Filters(status="any"))} == {"sent", "too", "waits", "behind"}
    memory.close()
