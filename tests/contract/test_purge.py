"""What `plan_purge` and `purge` promise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.clock import version_floor
from memgraph.errors import ClockDriftError, ConflictError, InvalidInputError, NotFoundError, PurgedError
from memgraph.ledger import BEGUN, Ledger
from memgraph.models import Filters, Selector
from memgraph.operations import Remember, Retire
from tests.conftest import FrozenClock

ANY = Filters(status="any")


def ids(memory: Memory) -> set[str]:
    """Every id of the namespace."""
    return {entry.id for entry in memory.list(ANY, limit=1000)}


def test_the_plan_names_what_would_go(memory: Memory) -> None:
    """A plan counts and names every match, active or not, and changes nothing."""
    a = memory.remember("a", key="k", kind="fact")
    b = memory.remember("b", key="k", kind="preference")
    memory.remember("c")
    plan = memory.plan_purge(Selector(key="k"))
    assert {id for found in plan.ids.values() for id in found} == {a.id, b.id}
    assert plan.total == 2
    assert plan.by_kind == {"fact": 1, "preference": 1}
    assert {str(status): n for status, n in plan.by_status.items()} == {"active": 1, "superseded": 1}
    assert memory.count(ANY) == 3


def test_purged_means_gone(memory: Memory, clock: FrozenClock) -> None:
    """No read, at any time, shows a purged memory or an edge of it again."""
    then = clock.now
    other = memory.remember("other")
    entry = memory.remember("the zebra", key="k", id="i")
    memory.relate(other.id, "i")
    memory.feedback(["i"], 1.0)
    clock.advance()
    receipt = memory.purge(Selector(ids=["i"]))
    assert receipt.unknown_ids == 0
    assert entry.namespace in receipt.namespaces
    for call in (memory.get, memory.history, memory.lineage, memory.neighbours, memory.forget):
        with pytest.raises(NotFoundError):
            call("i")
    assert memory.current("k") is memory.current("k", known_at=then) is memory.current("k", valid_at=then) is None
    assert ids(memory) == {other.id}
    assert len(memory.search("zebra", include_inactive=True)) == len(memory.search("zebra", known_at=then)) == 0
    assert memory.neighbours(other.id).edges == ()
    assert set(memory.graph().nodes) == {other.id}
    assert memory.check().ok


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        (Selector(ids=["a"]), {"a"}),
        (Selector(key="k"), {"a", "b"}),
        (Selector(subject="ann"), {"a", "c"}),
        (Selector(session="s"), {"c"}),
        (Selector(actor="bob"), {"b"}),
        (Selector(source="tool"), {"d"}),
        (Selector(tags=["t"]), {"a", "d"}),
        (Selector(text="ZEBRA %"), {"d"}),
        (Selector(kinds=["preference"], tags=["t"]), {"a"}),
        (Selector(ids=["a", "c"], subject="ann", tags=["t"]), {"a"}),
        (Selector(status="forgotten"), {"c"}),
        (Selector(ids=["b"], lineage=True), {"a", "b"}),
        (Selector(where={"n": 1}), {"d"}),
        (Selector(everything=True), {"a", "b", "c", "d"}),
    ],
)
def test_every_selector(memory: Memory, selector: Selector, want: set[str]) -> None:
    """A selector takes what matches all it says, whatever its status, and nothing else."""
    memory.remember("a", id="a", key="k", subject="ann", kind="preference", tags=["t"])
    memory.remember("b", id="b", key="k", actor="bob")
    memory.remember("c", id="c", subject="ann", session="s")
    memory.remember("100 Zebra % of them", id="d", tags=["t"], source="tool", metadata={"n": 1})
    memory.forget("c")
    assert {id for found in memory.plan_purge(selector).ids.values() for id in found} == want
    memory.purge(selector)
    assert ids(memory) == {"a", "b", "c", "d"} - want


def test_an_empty_selector_is_refused(memory: Memory) -> None:
    """Nothing named is never everything."""
    memory.remember("a")
    for selector in (Selector(), Selector(lineage=True), Selector(status="any"), Selector(ids=[]), None):
        for call in (memory.plan_purge, memory.purge):
            with pytest.raises(InvalidInputError):
                call(selector)
    assert memory.count() == 1


def test_nothing_older_takes_the_place(memory: Memory) -> None:
    """When a key's newest version goes, its older ones stay replaced; a newer write lives."""
    memory.remember("a", id="a", key="k")
    memory.remember("b", id="b", key="k")
    memory.purge(Selector(ids=["b"]))
    assert memory.current("k") is None
    assert memory.get("a").status == "superseded"
    c = memory.remember("c", key="k")
    assert memory.current("k") == c
    assert [(e.source_id, e.target_id) for e in memory.lineage("k").edges] == [(c.id, "a")]


def test_a_gap_in_a_line_closes(memory: Memory) -> None:
    """When a version in the middle goes, its neighbours join."""
    for name in "abc":
        memory.remember(name, id=name, key="k")
    memory.purge(Selector(ids=["b"]))
    assert [(e.source_id, e.target_id) for e in memory.lineage("k").edges] == [("c", "a")]
    assert memory.current("k").id == "c"


def test_copies_die_with_their_origin(memory: Memory) -> None:
    """A purge takes the restored copies of what it takes; a plan counts them."""
    origin = memory.remember("a", key="k")
    memory.forget(key="k")
    copy = memory.restore(origin.id)
    assert memory.plan_purge(Selector(ids=[origin.id])).total == 2
    memory.purge(Selector(ids=[origin.id]))
    assert ids(memory) == set()
    with pytest.raises(NotFoundError):
        memory.get(copy.id)


def test_a_purge_of_a_value_lets_newer_writes_live(memory: Memory) -> None:
    """After a purge of a key or subject the same value can be written again."""
    memory.remember("old", key="k", subject="ann")
    memory.purge(Selector(key="k"))
    memory.purge(Selector(subject="ann"))
    entry = memory.remember("new", key="k", subject="ann")
    assert memory.current("k") == entry


def test_late_writes_stay_dead(memory: Memory, clock: FrozenClock) -> None:
    """No replay brings a purged memory back, nor a write of a purged value that is older than the purge."""
    entry = memory.remember("old", id="i", key="k", subject="ann")
    before = version_floor(clock.now) + "-00000000"
    clock.advance()
    memory.purge(Selector(subject="ann"))
    ns = entry.namespace
    late = {"op_id": "x", "namespace": ns, "content": "back again"}
    memory.backend.apply([
        Remember(**late, id="i", version=entry.version, key="k", subject="ann"),
        Remember(**late, id="other", version=before, subject="ann"),
        Retire(op_id="y", namespace=ns, version=before, id="i", cause="forgotten"),
    ])  # fmt: skip
    assert ids(memory) == set()
    newer = version_floor(clock.advance()) + "-00000000"
    memory.backend.apply([Remember(**late, id="newer", version=newer, subject="ann")])
    assert ids(memory) == {"newer"}


def test_a_stale_plan_is_refused(memory: Memory) -> None:
    """A plan is void once the set has changed: nothing is removed."""
    memory.remember("a", tags=["t"])
    plan = memory.plan_purge(Selector(tags=["t"]))
    memory.remember("b", tags=["t"])
    with pytest.raises(ConflictError):
        memory.purge(plan)
    assert memory.count() == 2
    memory.purge(memory.plan_purge(Selector(tags=["t"])))
    assert memory.count() == 0


def test_an_id_that_is_not_there_yet_is_refused_when_it_arrives(
    memory: Memory, make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path
) -> None:
    """It may wait on another replica, or in an export."""
    spare = make_memory(store="spare")
    spare.remember("late", id="late", key="k")
    spare.remember("other", id="other")
    spare.export_to(tmp_path / "x")
    clock.advance()
    receipt = memory.purge({"ids": ["late"]})
    assert (receipt.unknown_ids, receipt.tombstones, receipt.removed.get("memories", 0)) == (1, 1, 0)
    assert memory.import_from(tmp_path / "x") == 1
    assert [entry.id for entry in memory.list()] == ["other"]
    with pytest.raises(PurgedError):
        memory.remember("again", id="late")
    assert memory.check().ok
    with_more = memory.purge({"ids": ["third"], "kinds": ["note"]})
    assert with_more.tombstones == 0
    assert memory.remember("x", id="third").id == "third", "only what was meant without a condition is dead"


def test_a_second_look_finds_a_text_that_is_still_there(memory: Memory) -> None:
    """Byte for byte in files, and in all that a server gives, wherever it stands."""
    memory.remember("gone", id="a", subject="ann")
    memory.remember("something else", id="b", reason="because of CANARY", metadata={"deep": ["Grüße"]})
    receipt = memory.purge({"subject": "ann"})
    assert memory.verify_purge(receipt, texts=["nowhere"]).ok
    for text in ("CANARY", "Grüße"):
        check = memory.verify_purge(receipt, texts=["nowhere", text])
        assert not check.ok or str(memory.backend.name) == "local", "a store in memory has no bytes to look at"


def test_a_purge_from_a_clock_that_is_ahead_swallows_no_write(
    memory: Memory, make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path
) -> None:
    """What it would take is written after it, or refused; a file with one too far ahead is refused."""
    ahead = make_memory(store="spare")
    clock.advance(60)
    ahead.purge({"actor": "crawler"})
    ahead.export_to(tmp_path / "near")
    clock.advance(86_400)
    ahead.purge({"actor": "crawler"})
    ahead.export_to(tmp_path / "far")
    clock.advance(-86_460)
    memory.import_from(tmp_path / "near")
    entry = memory.remember("new", actor="crawler", key="k")
    assert memory.get(entry.id) == memory.current("k")
    with pytest.raises(ClockDriftError):
        memory.import_from(tmp_path / "far")
    assert memory.remember("again", actor="crawler").id in ids(memory)


def test_unknown_ids_are_counted(memory: Memory) -> None:
    """A receipt says how many of the ids asked for were not there, and holds no content."""
    memory.remember("the zebra", id="known", key="private-key")
    receipt = memory.purge(Selector(ids=["known", "unknown"]))
    assert receipt.unknown_ids == 1
    said = receipt.model_dump_json()
    assert not any(word in said for word in ("zebra", "private-key"))
    assert receipt.removed["memories"] == 1


def test_a_purge_is_a_wall_too(make_memory: Callable[..., Memory]) -> None:
    """A purge touches its own namespace; with `subtree` its descendants; never a sibling."""
    a, below, b = make_memory("a"), make_memory("a", "below"), make_memory("ab")
    for memory in (a, below, b):
        memory.remember("x", id="i")
    a.purge(Selector(ids=["i"]))
    assert (a.count(), below.count(), b.count()) == (0, 1, 1)
    a.remember("y")
    receipt = a.purge(Selector(everything=True), subtree=True)
    assert (a.count(), below.count(), b.count()) == (0, 0, 1)
    assert len(receipt.namespaces) == 2
    below.remember("a namespace lives on after a purge")
    assert below.count() == 1


def test_a_plan_that_is_written_down_holds_no_text(memory: Memory) -> None:
    """A plan in JSON does not repeat the text that it selects by; with that it is applied, and void once the set has changed."""
    memory.remember("a secret phrase", id="a")
    memory.remember("something else", id="b")
    plan = memory.plan_purge(Selector(text="SECRET phrase"))
    written = plan.model_dump_json()
    assert "secret" not in written.casefold()
    read = type(plan).model_validate_json(written)
    for wrong in (read, read.with_text("secret")):
        with pytest.raises(InvalidInputError, match="text"):
            memory.purge(wrong)
    memory.remember("a secret phrase again", id="c")
    with pytest.raises(ConflictError):
        memory.purge(read.with_text("SECRET phrase"))
    assert memory.count() == 3
    again = memory.plan_purge(Selector(text="SECRET phrase"))
    receipt = memory.purge(type(plan).model_validate_json(again.model_dump_json()).with_text("SECRET phrase"))
    assert [entry.id for entry in memory.list()] == ["b"]
    assert memory.verify_purge(receipt, Selector(text="SECRET phrase")).ok


def test_a_plan_that_somebody_changed_is_refused(memory: Memory) -> None:
    """Such as one that says it purges nothing, to get past a hold."""
    memory.remember("a", id="a", subject="ada")
    memory.hold({"subject": "ada"})
    plan = memory.plan_purge(Selector(everything=True))
    for change in ({"ids": {}}, {"ids": {}, "digest": "unseen x"}, {"selector_digest": "0" * 64}, {"subtree": True}):
        with pytest.raises((ConflictError, InvalidInputError)):
            memory.purge(plan.model_copy(update=change))
    assert memory.get("a").content == "a"


def test_a_purge_that_was_cut_off_is_finished_with_the_same_plan(memory: Memory) -> None:
    """Of what it names some is gone already; nothing else may have come."""
    memory.remember_many([{"content": f"note {n}", "id": str(n), "tags": ["t"]} for n in range(4)])
    plan = memory.plan_purge(Selector(tags=["t"]))
    digests = {"plan_digest": plan.digest, "selector_digest": plan.selector_digest}
    Ledger(memory.backend, memory.path, memory._now).note(BEGUN, "dpo", digests, "purge of a process that died")
    memory.backend.purge(memory.plan_purge(Selector(ids=["0", "1"])), memory._now())
    memory.remember("note 5", id="5", tags=["t"])
    with pytest.raises(ConflictError):
        memory.purge(plan)
    memory.purge({"ids": ["5"]})
    done = memory.purge(plan)
    assert (done.removed["memories"], done.removed_before) == (2, 2)
    assert [act.what for act in memory.audit()][-1] == "purge"
    assert [act.what for act in memory.audit()].count("purge refused") == 1, "the one that met what had come since"
    assert ids(memory) == set()
    assert memory.check().ok


def test_a_long_line_is_widened_once(memory: Memory) -> None:
    """Purging a key with `lineage` takes its whole line, however long, and nothing else."""
    for number in range(200):
        memory.remember(f"value {number}", key="k")
    memory.remember("other", key="j")
    plan = memory.plan_purge(Selector(key="k", lineage=True))
    assert plan.total == 200
    memory.purge(plan)
    assert memory.count(Filters(status="any")) == 1


@pytest.mark.parametrize("field", ["subject", "key", "session", "actor", "source"])
def test_a_purge_that_matches_nothing_refuses_what_comes_late(
    field: str, memory: Memory, clock: FrozenClock, tmp_path: Path
) -> None:
    """An older export holds what this store never saw."""
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember("the canary", id="late", **{field: "ann"})  # type: ignore[arg-type]
        elsewhere.remember("a bystander", id="other")
        elsewhere.export_to(tmp_path / "old.jsonl")
    clock.advance()
    assert memory.purge({field: "ann"}).tombstones == 1
    clock.advance()
    memory.import_from(tmp_path / "old.jsonl")
    assert [entry.id for entry in memory.list({"status": "any"})] == ["other"]
    assert memory.remember("written since", **{field: "ann"}).status == "active"  # type: ignore[arg-type]


def test_a_subtree_purge_refuses_what_comes_late_below(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    below = Memory(memory.backend, namespace=f"{memory.path}/u9", clock=clock)
    below.remember("of bob", subject="bob")
    with Memory.open(":memory:", namespace=below.path, clock=clock) as elsewhere:
        elsewhere.remember("the canary", id="late", subject="ann")
        elsewhere.export_to(tmp_path / "old.jsonl")
    clock.advance()
    memory.purge({"subject": "ann"}, subtree=True)
    below.import_from(tmp_path / "old.jsonl")
    assert [entry.subject for entry in below.list({"status": "any"})] == ["bob"]


def test_a_plan_whose_ids_were_changed_by_hand_is_refused(memory: Memory) -> None:
    memory.remember_many([{"content": f"note {n}", "id": f"n{n}", "subject": "ann"} for n in range(3)])
    plan = memory.plan_purge({"subject": "ann"})
    cut = plan.model_copy(update={"ids": {memory.path: ("n0",)}})
    with pytest.raises(ConflictError):
        memory.purge(cut)
    assert memory.count() == 3
    memory.purge(plan)
    assert memory.count() == 0


def test_a_plan_is_void_once_any_field_of_it_was_changed(memory: Memory) -> None:
    """What somebody signs off must be what was counted; one without a seal is of an older memgraph."""
    memory.remember_many([{"content": f"note {n}", "id": f"n{n}", "subject": "ann"} for n in range(3)])
    plan = memory.plan_purge({"subject": "ann"})
    other = {
        "namespace": f"{memory.path}/below",
        "subtree": True,
        "selector": Selector(subject="bob"),
        "store": "another",
        "at": plan.at + timedelta(seconds=1),
        "ids": {},
        "by_kind": {"junk": 99},
        "by_status": {"forgotten": 99},
        "by_store": {"elsewhere": 99},
        "digest": "0" * 64,
        "selector_digest": "0" * 64,
        "seal": "",
    }
    assert other.keys() == type(plan).model_fields.keys()
    for name, value in other.items():
        with pytest.raises((ConflictError, InvalidInputError)):
            memory.purge(plan.model_copy(update={name: value}))
    assert memory.count() == 3
    assert memory.purge(type(plan).model_validate_json(plan.model_dump_json())).removed["memories"] == 3


def test_what_verifies_a_purge_finds_its_tombstones_where_nothing_else_is_left(memory: Memory) -> None:
    memory.remember("one", subject="ann")
    Memory(memory.backend, namespace=f"{memory.path}/below").remember("two", subject="bob")
    receipt = memory.purge({"subject": "ann"})
    check = memory.verify_purge(receipt, {"subject": "ann"})
    assert check.ok, check


def test_the_receipt_of_a_purge_that_was_repeated_still_holds(memory: Memory) -> None:
    """Of one value there is one tombstone: that of the last purge."""
    memory.remember("a bystander")
    receipts = [memory.purge({"subject": "ann"}) for _ in range(3)]
    for receipt in receipts:
        check = memory.verify_purge(receipt, {"subject": "ann"})
        assert (check.ok, check.tombstones) == (True, 1), check
    with pytest.raises(InvalidInputError, match="namespace"):
        Memory(memory.backend, namespace="elsewhere").verify_purge(receipts[0])
