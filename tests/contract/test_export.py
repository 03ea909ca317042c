"""What `export_to` and `import_from` promise: nothing lost, nothing twice, nothing back from the dead."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError, PurgedError, StoreCorruptError
from memgraph.models import Filters, ImportPlan, Selector
from tests.conftest import FrozenClock
from tests.contract.test_remember import ALL
from tests.views import view_of


def fill(memory: Memory, clock: FrozenClock) -> str:
    """Something of everything; returns the namespace."""
    entry = memory.remember(**ALL)
    clock.advance()
    for n in range(3):
        memory.remember(f"step {n}", key="k", id=f"k{n}", reason=f"r{n}", tags=["t"], metadata={"n": n})
    memory.remember("past", key="k", valid_to=datetime(2000, 1, 1, tzinfo=UTC))
    memory.remember("gone", id="gone")
    memory.forget("gone", reason="wrong")
    memory.remember("temporary", id="tmp", ttl=60)
    memory.relate("k2", "gone", "knows", weight=0.5, note="note")
    memory.relate("k2", "k1", "knows")
    memory.unrelate("k2", "k1", "knows")
    memory.feedback(["k2"], 0.5)
    memory.supersede("gone", "tmp")
    memory.restore("k0")
    memory.release("temporary")
    memory.remember("never again", id="purged", key="p")
    memory.purge(Selector(ids=["purged"]))
    return entry.namespace


@pytest.fixture
def spare(make_memory: Callable[..., Memory]) -> Memory:
    """A second, empty store."""
    return make_memory(store="spare")


def test_a_round_trip_is_lossless(memory: Memory, spare: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """An import ends in an equal graph: ids, stamps, order, inactive ones, edges, feedback; exported again, equal."""
    ns = fill(memory, clock)
    memory.export_to(tmp_path / "a.jsonl")
    spare.import_from(tmp_path / "a.jsonl")
    assert view_of(spare.backend, [ns], clock.now) == view_of(memory.backend, [ns], clock.now)
    assert spare.list(Filters(status="any")).items == memory.list(Filters(status="any")).items
    for name in ("k", "gone", "ada/city"):
        assert spare.lineage(name) == memory.lineage(name)
    spare.export_to(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_second_import_changes_nothing(memory: Memory, spare: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """Importing twice, or into the store it came from, leaves everything as it is."""
    ns = fill(memory, clock)
    memory.export_to(tmp_path / "a.jsonl")
    before = view_of(memory.backend, [ns], clock.now)
    for store in (spare, spare, memory):
        store.import_from(tmp_path / "a.jsonl")
        assert view_of(store.backend, [ns], clock.now) == before


def test_an_import_does_not_raise_the_dead(memory: Memory, spare: Memory, tmp_path: Path) -> None:
    """A purge outlives imports of older exports, and travels with newer ones."""
    memory.remember("the zebra", id="i", key="k")
    memory.export_to(tmp_path / "before.jsonl")
    memory.purge(Selector(ids=["i"]))
    memory.import_from(tmp_path / "before.jsonl")
    assert memory.count(Filters(status="any")) == 0
    memory.export_to(tmp_path / "after.jsonl")
    assert "zebra" not in (tmp_path / "after.jsonl").read_text()
    spare.import_from(tmp_path / "before.jsonl")
    assert spare.count() == 1
    spare.import_from(tmp_path / "after.jsonl")
    assert spare.count(Filters(status="any")) == 0
    with pytest.raises(PurgedError):
        spare.remember("the zebra", id="i", key="k")


def test_an_export_is_strict_json(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """Every line is one JSON object without NaN, whatever the content."""
    fill(memory, clock)
    memory.remember("line\nbreak \x00 \u2028 \x1b[2J ✓", metadata={"f": 5e-324, "i": 2**63 - 1})
    memory.export_to(tmp_path / "a.jsonl")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    lines = (tmp_path / "a.jsonl").read_bytes().split(b"\n")
    assert lines[-1] == b""
    for line in lines[:-1]:
        assert isinstance(json.loads(line, parse_constant=refuse), dict)


def test_a_damaged_file_changes_nothing(memory: Memory, spare: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """A file that is cut, garbled or no export is refused whole, without repeating what it says."""
    fill(memory, clock)
    memory.export_to(tmp_path / "a.jsonl")
    good = (tmp_path / "a.jsonl").read_bytes()
    damaged = [
        b"",
        b"zebra\n",
        b'{"op": "remember"}\n',
        good[:-20],
        good.replace(b'"version"', b'"verzion"', 1),
        b"\xff\xfe",
    ]
    for n, data in enumerate(damaged):
        (tmp_path / f"bad{n}.jsonl").write_bytes(data)
        with pytest.raises((InvalidInputError, StoreCorruptError)) as caught:
            spare.import_from(tmp_path / f"bad{n}.jsonl")
        assert "zebra" not in str(caught.value)
        assert spare.count(Filters(status="any")) == 0
    with pytest.raises(InvalidInputError):
        spare.import_from(tmp_path / "no-such-file")


def test_an_import_tells_what_of_it_stays_dead(
    memory: Memory, clock: FrozenClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was purged here is refused, and is no news."""
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember("the canary", id="late", subject="ann")
        elsewhere.remember("another", id="second", subject="bob")
        elsewhere.remember("a bystander", id="other")
        elsewhere.relate("late", "other")
        elsewhere.feedback("late", 1.0)
        elsewhere.export_to(tmp_path / "old.jsonl")
    clock.advance()
    memory.purge({"subject": "ann"})
    memory.purge({"ids": ["second"]})
    clock.advance()
    planned = memory.plan_import(tmp_path / "old.jsonl")
    assert (planned.new, planned.dead, planned.purged) == (1, 2, 0)
    assert memory.import_from(tmp_path / "old.jsonl") == 1
    assert [entry.id for entry in memory.list({"status": "any"})] == ["other"]
    assert memory.import_from(tmp_path / "old.jsonl") == 0
    (act,) = (each for each in memory.audit() if each.what == "import")
    assert act.details == {"news": 1, "purged before": 2}


def test_what_is_left_out_is_not_counted_as_dead(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember("lives in Porto", id="x", subject="ann")
        elsewhere.export_to(tmp_path / "old.jsonl")
    clock.advance()
    memory.purge({"subject": "ann"})
    clock.advance()
    memory.remember("something else", id="x")
    left_out: list[int] = []
    planned = memory.plan_import(tmp_path / "old.jsonl", skip=lambda number, _: left_out.append(number))
    assert (planned.new, planned.dead, len(left_out)) == (0, 0, 1)


def test_an_import_that_is_cut_off_is_in_the_audit(
    memory: Memory, clock: FrozenClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(5)])
        elsewhere.export_to(tmp_path / "old.jsonl")
    monkeypatch.setattr("memgraph.importing._PAGE", 2)

    def pull_the_plug(number: int) -> None:
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.import_from(tmp_path / "old.jsonl", progress=pull_the_plug, by="ops")
    assert [(act.what, act.by) for act in memory.audit()] == [("import begun", "ops")]
    memory.import_from(tmp_path / "old.jsonl", by="ops")
    assert [act.what for act in memory.audit()] == ["import begun", "import"]
    assert memory.count() == 5


def test_an_import_keeps_to_its_namespace(make_memory: Callable[..., Memory], tmp_path: Path) -> None:
    """An export of one namespace says nothing of its neighbours; a subtree holds the descendants."""
    a, below, b = make_memory("a"), make_memory("a", "below"), make_memory("b")
    for memory, text in ((a, "in a"), (below, "below a"), (b, "in b")):
        memory.remember(text)
    a.export_to(tmp_path / "a.jsonl")
    assert [word in (tmp_path / "a.jsonl").read_text() for word in ("in a", "below a", "in b")] == [True, False, False]
    a.export_to(tmp_path / "tree.jsonl", subtree=True)
    assert [word in (tmp_path / "tree.jsonl").read_text() for word in ("in a", "below a", "in b")] == [
        True,
        True,
        False,
    ]


def test_an_id_taken_by_other_content_is_a_conflict(memory: Memory, spare: Memory, tmp_path: Path) -> None:
    """An import that says something else under a known id is refused, whole."""
    memory.remember("one", id="i")
    memory.remember("two", id="j")
    memory.export_to(tmp_path / "a.jsonl")
    spare.remember("three", id="j")
    with pytest.raises(ConflictError):
        spare.import_from(tmp_path / "a.jsonl")
    assert [e.content for e in spare.list()] == ["three"]


def test_what_conflicts_is_left_out_with_all_that_is_about_it(memory: Memory, spare: Memory, tmp_path: Path) -> None:
    """Where somebody hears of it; it is named by its lines, and what happened to it there does not happen to another here."""
    memory.remember("one", id="a")
    memory.remember("two", id="b")
    memory.relate("a", "b")
    memory.forget("a")
    path = tmp_path / "x.jsonl"
    memory.export_to(path)
    spare.remember("another", id="a")
    told: list[tuple[int, str]] = []
    assert spare.import_from(path, skip=lambda number, reason: told.append((number, reason))) == 1
    assert (spare.get("a").content, spare.get("a").status) == ("another", "active")
    assert spare.get("b").content == "two"
    assert spare.neighbours("b").edges == ()
    lines = path.read_text(encoding="utf-8").splitlines()
    about = [number for number, line in enumerate(lines, 1) if '"id":"a"' in line or '"a":"a"' in line]
    assert [number for number, _ in told] == about
    assert len(about) == 3
    with pytest.raises(ConflictError, match=", ".join(map(str, about))):
        spare.import_from(path)


def _note(numbers: list[int], number: int, reason: str) -> None:
    numbers.append(number)


def test_a_dry_run_looks_at_the_store_and_changes_nothing(memory: Memory, spare: Memory, tmp_path: Path) -> None:
    """It counts what is not here, and refuses what the import would refuse, in the same words."""
    memory.remember("one", id="a")
    memory.remember("two", id="b", key="k")
    memory.remember("three", id="c", key="k")
    path = tmp_path / "x.jsonl"
    memory.export_to(path)
    spare.remember("one", id="a")
    before = view_of(spare.backend, [spare.path], spare._now())
    assert spare.plan_import(path) == ImportPlan(new=2)
    assert view_of(spare.backend, [spare.path], spare._now()) == before
    assert spare.audit() == []
    spare.remember("another", id="b")
    told: list[tuple[str, list[int]]] = []
    for take in (spare.plan_import, spare.import_from):
        with pytest.raises(ConflictError) as refused:
            take(path)  # type: ignore[operator]
        left_out: list[int] = []
        take(path, skip=partial(_note, left_out))  # type: ignore[operator]
        told.append((str(refused.value), left_out))
    assert told[0] == told[1]
    assert spare.plan_import(path, skip=lambda *_: None) == ImportPlan(new=0)
    gone = memory.purge({"key": "k"})
    memory.export_to(path)
    assert gone.removed["memories"] == 2
    assert spare.plan_import(path, skip=lambda *_: None).purged == 2
    assert spare.count(Filters(status="any")) == 3
    spare.import_from(path, skip=lambda *_: None)
    assert [entry.id for entry in spare.list({"status": "any"})] == ["a"]
    assert spare.audit()[-1].details["purged"] == 2
    assert spare.plan_import(path) == ImportPlan(new=0)


def test_b044_one_file_into_two_namespaces(memory: Memory, tmp_path: Path) -> None:
    """B044: moved into two namespaces, the same ids are separate memories, and editing one leaves the other."""
    memory.remember("the zebra", id="i", key="k")
    other = memory.remember("the zoo", id="j", relates_to=["i"])
    memory.export_to(tmp_path / "a.jsonl")
    a, b = memory.namespace("a"), memory.namespace("b")
    for space in (a, b):
        space.import_from(tmp_path / "a.jsonl", move=True)
        assert space.import_from(tmp_path / "a.jsonl", move=True) == 0
        assert [edge.target_id for edge in space.neighbours(other.id).edges] == ["i"]
    a.remember("the lion", key="k")
    assert [space.current("k").content for space in (memory, a, b)] == ["the zebra", "the lion", "the zebra"]  # type: ignore[union-attr]


def test_tombstones_stay_behind_the_wall(make_memory: Callable[..., Memory], tmp_path: Path) -> None:
    """An export holds the tombstones of its own namespace, and an import buries nothing in another one."""
    one, two = make_memory("a"), make_memory("b")
    one.remember("mine", id="i", key="salary")
    two.remember("theirs", id="i", key="salary")
    two.purge(Selector(key="salary"))
    one.export_to(tmp_path / "one.jsonl")
    assert "tombstone" not in (tmp_path / "one.jsonl").read_text()
    assert "secret" not in (tmp_path / "one.jsonl").read_text()
    two.export_to(tmp_path / "two.jsonl")
    assert "tombstone" in (tmp_path / "two.jsonl").read_text()
    with pytest.raises(InvalidInputError):
        make_memory("a", store="other").import_from(tmp_path / "two.jsonl")
