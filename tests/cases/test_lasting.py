"""Cases about history, time, purge, restore and exchange: B011, B013, B019, B020, B024 to B027, B044, B049 to B051, B061."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memgraph import Memory
from memgraph.errors import ClockDriftError, InvalidInputError, NotFoundError
from memgraph.models import Filters, Selector
from memgraph.operations import Remember
from tests.conftest import FrozenClock

ANY = Filters(status="any")


@pytest.fixture
def spare(make_memory: Callable[..., Memory]) -> Memory:
    """A second, empty store."""
    return make_memory(store="spare")


def test_b011_the_past_can_be_asked(memory: Memory, spare: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """B011: what a key said at each instant, and that it was forgotten, stays readable, after a move too."""
    times = [clock.now]
    memory.remember("A", key="k")
    times.append(clock.advance())
    memory.remember("B", key="k")
    times.append(clock.advance())
    memory.forget(key="k")
    memory.export_to(tmp_path / "all.jsonl")
    spare.import_from(tmp_path / "all.jsonl")
    for store in (memory, spare):
        assert [store.current("k", known_at=at) and store.current("k", known_at=at).content for at in times] == [
            *("A", "B", None),
        ]
        assert store.current("k") is None
        found = store.lineage("k")
        assert [(entry.content, str(entry.status)) for entry in found.entries] == [
            ("A", "superseded"),
            ("B", "forgotten"),
        ]
        assert [event.cause for event in found.events] == ["forgotten"]


def test_b013_one_tick_many_writes(make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path) -> None:
    """B013: writes within one tick keep their order: at once, after a restart, after an export and import."""
    memory = make_memory()
    for n in range(5):
        memory.remember(f"v{n}", key="k")
    loose = [memory.remember(f"loose {n}").id for n in range(50)]
    memory.export_to(tmp_path / "all.jsonl")
    memory.close()
    again, spare = make_memory(), make_memory(store="spare")
    spare.import_from(tmp_path / "all.jsonl")
    for store in (again, spare):
        assert store.current("k").content == "v4"
        assert [entry.content for entry in store.history("k")] == [f"v{n}" for n in range(5)]
        assert [entry.id for entry in store.list() if entry.key is None] == loose[::-1]


def test_b019_everything_means_everything(make_memory: Callable[..., Memory]) -> None:
    """B019: a purge of 2,501 entries of all statuses removes 2,501, says so, and leaves the neighbour alone."""
    memory, neighbour = make_memory("t"), make_memory("t2")
    neighbour.remember("stays")
    memory.remember_many([{"content": f"note {n}", "key": f"k{n % 1000}", "id": f"i{n}"} for n in range(2501)])
    for n in range(0, 2501, 100):
        memory.forget(f"i{n}")
    assert memory.count(ANY) == 2501
    receipt = memory.purge(Selector(everything=True))
    assert receipt.removed["memories"] == 2501
    assert memory.count(ANY) == memory.stats().entries == 0
    assert memory.list(ANY).items == ()
    assert neighbour.count() == 1


def test_b020_no_orphans(memory: Memory) -> None:
    """B020: a purge leaves no node, edge or word of what it took, and everything else whole."""
    hub = memory.remember("the hub")
    for n in range(10):
        entry = memory.remember(f"canary {n}", key="k", subject="canary", tags=["canary"])
        memory.relate(hub.id, entry.id, f"to{n}", note="canary")
    memory.purge(Selector(subject="canary"))
    graph = memory.graph()
    assert (list(graph.nodes), graph.number_of_edges()) == ([hub.id], 0)
    assert memory.neighbours(hub.id).entries == ()
    assert len(memory.search("canary", include_inactive=True)) == 0
    assert memory.check().ok


def test_b024_counts_are_real(memory: Memory) -> None:
    """B024: forgetting or purging what is not there never says that it was."""
    with pytest.raises(NotFoundError):
        memory.forget("unknown")
    memory.remember("x", id="known")
    receipt = memory.purge(Selector(ids=["known", "unknown", "unknown-2"]))
    assert (receipt.removed["memories"], receipt.unknown_ids) == (1, 2)
    again = memory.purge(Selector(ids=["known"]))
    assert (again.removed.get("memories", 0), again.unknown_ids) == (0, 1)


def test_b025_pinned_survives_every_clean_up(memory: Memory, clock: FrozenClock) -> None:
    """B025: an old, weak, pinned entry survives consolidation and release as it was; twenty runs equal one."""
    pinned = memory.remember("zebra that matters", confidence=0.01, pinned=True)
    weak = memory.remember("zebra that does not", confidence=0.01)
    clock.advance(400 * 86400)
    reports = [memory.consolidate() for _ in range(20)]
    assert reports[0].pruned == (weak.id,)
    assert all(report.pruned == () for report in reports[1:])
    memory.release("zebra")
    assert memory.get(pinned.id) == pinned
    assert memory.list().items == (pinned,)


def test_b026_an_older_forget_does_not_return(memory: Memory, clock: FrozenClock) -> None:
    """B026: an entry that was restored stays active when the forget, or an older one, is replayed."""
    entry = memory.remember("x")
    memory.forget(entry.id)
    said = [op for op in memory.backend.operations(scope_of(memory)) if not isinstance(op, dict)]
    clock.advance()
    memory.restore(entry.id)
    memory.backend.apply(said)
    assert memory.get(entry.id).status == "active"


def scope_of(memory: Memory) -> object:
    """The scope of a view."""
    from memgraph.backends.base import Scope

    return Scope(memory.path)


def test_b027_restore_within_one_tick(memory: Memory) -> None:
    """B027: forgetting and restoring in one millisecond works and is found; an old version becomes the new head."""
    loose = memory.remember("a zebra")
    memory.forget(loose.id)
    memory.restore(loose.id)
    assert [hit.entry.id for hit in memory.search("zebra")] == [loose.id]
    v1, v2 = memory.remember("first lion", key="k"), memory.remember("second lion", key="k")
    back = memory.restore(v1.id)
    assert memory.current("k") == back
    assert memory.get(v2.id).status == "superseded"
    assert [hit.entry.id for hit in memory.search("lion")] == [back.id]
    memory.purge(Selector(ids=[v1.id]))
    with pytest.raises(NotFoundError):
        memory.restore(v1.id)


def test_b044_two_tenants_one_file_of_ids(make_memory: Callable[..., Memory]) -> None:
    """B044: the same ids and keys in two tenants are separate memories."""
    a, b = make_memory("a"), make_memory("b")
    items = [{"content": f"v{n}", "id": f"i{n}", "key": f"k{n % 2}"} for n in range(4)]
    for memory in (a, b):
        memory.remember_many(items)
    a.remember("edited", key="k1")
    a.forget("i0")
    assert b.current("k1").content == "v3"
    assert b.get("i0").status == "superseded"
    own = a.remember("only in a")
    for call in (lambda: b.get(own.id), lambda: b.relate("i0", own.id), lambda: b.forget(own.id)):
        with pytest.raises(NotFoundError):
            call()
    assert a.purge(Selector(everything=True)).removed["memories"] == 6
    assert b.count(ANY) == 4


def test_b049_the_boundary_is_exact(make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path) -> None:
    """B049: at T the value of T, just before it the one before, also after three trips through a file."""
    memory = make_memory()
    memory.remember("before", key="k")
    at = clock.advance()
    memory.remember("at T", key="k", valid_from=at)
    for trip in range(4):
        found = memory.current("k", known_at=at)
        assert found.content == "at T"
        assert found.recorded_at == found.valid_from == at
        just_before = memory.current("k", known_at=at - timedelta(microseconds=1))
        assert just_before.content == "before"
        memory.export_to(tmp_path / f"trip{trip}.jsonl")
        memory = make_memory(store=f"trip{trip}")
        memory.import_from(tmp_path / f"trip{trip}.jsonl")


def test_b050_named_zones(memory: Memory) -> None:
    """B050: times in a named zone, both folds of an autumn night too, are exact and come back as fixed UTC."""
    zone = ZoneInfo("Europe/Berlin")
    for hour in range(6):
        for fold in (0, 1):
            said = datetime(2025, 10, 26, hour, 30, 0, 123456, tzinfo=zone, fold=fold)
            found = memory.get(memory.remember("x", valid_from=said).id).valid_from
            assert found.tzinfo is UTC
            assert found == said.astimezone(UTC)


def test_b051_clocks_that_are_wrong(make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path) -> None:
    """B051: a write that has seen another comes after it, whatever the clocks say; far-future stamps are refused."""
    memory = make_memory()
    seen = memory.remember("from a fast clock", key="k")
    ahead = f"{int((clock.now + timedelta(seconds=200)).timestamp() * 1000):012x}-0000-000000aa"
    memory.backend.apply(
        [Remember(op_id="o", namespace=seen.namespace, id="fast", version=ahead, content="ahead", key="k")]
    )
    assert memory.current("k").content == "ahead"
    mine = memory.remember("after having seen it", key="k")
    assert mine.version > ahead
    assert memory.current("k") == mine
    clock.advance(-60)
    assert memory.remember("after the clock went back", key="k").version > mine.version
    memory.export_to(tmp_path / "ahead.jsonl")
    clock.advance(-3600)
    with pytest.raises(ClockDriftError):
        make_memory(store="spare").import_from(tmp_path / "ahead.jsonl")
    with pytest.raises(ClockDriftError):
        memory.remember("too far ahead", key="k")


def test_b061_dates_survive_a_move(memory: Memory, spare: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """B061: an export changes nothing; an import keeps every stamp, expiry, pin and inactive entry."""
    memory.remember("a", key="k", ttl=3600, pinned=True, confidence=0.3)
    memory.remember("b", key="k", expires_at=clock.now + timedelta(days=1))
    memory.remember("c", id="c")
    memory.feedback(["c"], 0.5)
    memory.forget("c")
    before = memory.list(ANY).items
    memory.export_to(tmp_path / "a.jsonl")
    assert memory.list(ANY).items == before
    clock.advance(86400 * 30)
    spare.import_from(tmp_path / "a.jsonl")
    assert spare.list(ANY).items == memory.list(ANY).items
    assert [entry.recorded_at for entry in spare.list(ANY)] == [entry.recorded_at for entry in before]
    with pytest.raises(InvalidInputError):
        spare.import_from(tmp_path)
