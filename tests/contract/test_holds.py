"""What is under a legal hold stays; what administrators did is told, without content."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory, interchange
from memgraph.clock import version_floor
from memgraph.errors import ConflictError, InvalidInputError, LegalHoldError, NotFoundError
from memgraph.integrations.importers import import_chat
from memgraph.ledger import BEGUN, Ledger, operator
from memgraph.models import Status
from memgraph.operations import Purge
from memgraph.rules.selection import selector_digest
from tests.conftest import FrozenClock


def test_a_hold_blocks_what_removes_and_nothing_else(memory: Memory, clock: FrozenClock) -> None:
    held = memory.remember("Ada lives in Porto", key="city", subject="ada")
    free = memory.remember("Bo lives in Berlin", subject="bo")
    hold = memory.hold({"subject": "ada"}, reason="case 17", by="counsel")
    later = memory.remember("Ada moved to Braga", key="city", subject="ada")
    assert [(each.id, each.by, each.reason, each.selector.subject) for each in memory.holds()] == [
        (hold.id, "counsel", "case 17", "ada")
    ]
    for what in (
        lambda: memory.purge({"subject": "ada"}),
        lambda: memory.purge({"ids": [held.id]}),
        lambda: memory.purge({"everything": True}),
        lambda: memory.purge(memory.plan_purge({"key": "city"})),
        lambda: memory.release("moved"),
        lambda: memory.release(filters={"subject": "ada"}),
        lambda: memory.rewind({"subject": "ada"}),
    ):
        with pytest.raises(LegalHoldError, match=hold.id) as refused:
            what()
        assert "ada" not in str(refused.value).lower()
    assert {entry.id for entry in memory.list({"status": "any"})} == {held.id, later.id, free.id}
    memory.purge({"ids": [free.id]})
    memory.forget(later.id)
    memory.restore(later.id)
    lifted = memory.lift_hold(hold.id)
    assert lifted.id == hold.id
    assert memory.holds() == []
    assert memory.purge({"subject": "ada"}).removed["memories"] == 3
    with pytest.raises(NotFoundError):
        memory.lift_hold(hold.id)


def test_what_a_hold_names_is_not_refused_for_later_either(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """A purge that matches nothing yet refuses what comes late, which the hold covers."""
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember("evidence", id="late", subject="ada")
        elsewhere.export_to(tmp_path / "old.jsonl")
    clock.advance()
    hold = memory.hold({"subject": "ada", "ids": ["late"]})
    for selector in ({"subject": "ada"}, {"ids": ["late"]}, {"ids": ["other", "late"]}):
        with pytest.raises(LegalHoldError, match=hold.id):
            memory.purge(selector)
    whole = memory.hold({"everything": True})
    for selector in ({"subject": "bo"}, {"ids": ["other"]}, {"everything": True}):
        with pytest.raises(LegalHoldError, match=whole.id):
            memory.purge(selector)
    memory.lift_hold(whole.id)
    memory.purge({"subject": "bo"})
    memory.purge({"text": "evidence"})
    memory.import_from(tmp_path / "old.jsonl")
    assert [entry.id for entry in memory.list()] == ["late"]


@pytest.mark.parametrize("selector", [{"subject": "ada"}, {"ids": ["late"]}, {"everything": True}])
def test_an_import_does_not_refuse_for_good_what_a_hold_names(
    memory: Memory, clock: FrozenClock, tmp_path: Path, selector: dict[str, Any]
) -> None:
    """Its tombstones would keep out what may yet arrive."""
    with Memory.open(":memory:", namespace=memory.path, clock=clock) as elsewhere:
        elsewhere.remember("evidence", id="late", subject="ada")
        elsewhere.export_to(tmp_path / "old.jsonl")
        clock.advance()
        elsewhere.purge(selector if "subject" in selector else {"ids": ["late"]})
        elsewhere.export_to(tmp_path / "purged.jsonl")
    clock.advance()
    memory.remember("something else")
    hold = memory.hold(selector)
    for attempt in (memory.plan_import, memory.import_from):
        with pytest.raises(LegalHoldError, match=hold.id):
            attempt(tmp_path / "purged.jsonl")
    memory.import_from(tmp_path / "old.jsonl")
    assert memory.get("late").content == "evidence"
    memory.lift_hold(hold.id)
    memory.import_from(tmp_path / "purged.jsonl")
    memory.hold(selector)
    memory.import_from(tmp_path / "purged.jsonl")  # what is refused here already is no news
    with pytest.raises(NotFoundError):
        memory.get("late")


def test_a_hold_reaches_below_only_if_it_says_so(memory: Memory) -> None:
    below = memory.namespace("team", "ada")
    below.remember("a note", tags=["t"])
    flat = memory.hold({"tags": ["t"]})
    assert below.holds() == []
    deep = memory.hold({"tags": ["t"]}, subtree=True)
    assert [hold.id for hold in below.holds()] == [deep.id]
    for purge in (
        lambda: below.purge({"everything": True}),
        lambda: memory.purge({"everything": True}, subtree=True),
    ):
        with pytest.raises(LegalHoldError):
            purge()
    with pytest.raises(NotFoundError):
        below.lift_hold(deep.id)
    memory.lift_hold(deep.id)
    own = below.hold({"tags": ["t"]})
    with pytest.raises(LegalHoldError, match=own.id):
        memory.purge({"everything": True}, subtree=True)
    below.lift_hold(own.id)
    assert memory.purge({"everything": True}, subtree=True).removed["memories"] == 1
    memory.lift_hold(flat.id)


def test_what_is_held_is_not_pruned(memory: Memory, clock: FrozenClock) -> None:
    held = memory.remember("a trifle", confidence=0.1, subject="ada")
    gone = memory.remember("another trifle", confidence=0.1)
    hold = memory.hold({"subject": "ada"})
    clock.advance(3 * 365 * 86400)
    report = memory.consolidate(dry_run=True)
    assert report.pruned == (gone.id,)
    assert memory.consolidate().pruned == (gone.id,)
    assert memory.get(held.id).status is Status.ACTIVE
    memory.lift_hold(hold.id)
    assert memory.consolidate().pruned == (held.id,)


@pytest.mark.parametrize("selector", [{"ids": ["e"]}, {"subject": "ada"}, {"everything": True}])
def test_an_import_does_not_take_what_is_held(
    memory: Memory, make_memory: Callable[..., Memory], clock: FrozenClock, tmp_path: Path, selector: dict[str, Any]
) -> None:
    """Neither by what was purged where it comes from, nor by a release there; nothing of it comes in."""
    other = make_memory(store="spare")
    other.remember("evidence", id="e", subject="ada")
    other.export_to(tmp_path / "before")
    clock.advance()
    released = other.release("evidence")
    other.export_to(tmp_path / "released")
    other.undo(released.id)
    clock.advance()
    other.purge(selector)
    other.remember("new", id="new")
    other.export_to(tmp_path / "purged")
    memory.import_from(tmp_path / "before")
    hold = memory.hold({"subject": "ada"})
    for file in ("released", "purged"):
        for skip, take in itertools.product((None, lambda *_: None), (memory.plan_import, memory.import_from)):
            with pytest.raises(LegalHoldError):
                take(tmp_path / file, skip=skip)
    assert [(entry.id, entry.status) for entry in memory.list({"status": "any"})] == [("e", "active")]
    memory.import_from(tmp_path / "before")
    memory.lift_hold(hold.id)
    memory.import_from(tmp_path / "purged")
    assert [entry.id for entry in memory.list({"status": "any"})] == ["new"]
    assert [act.what for act in memory.audit()].count("import") == 2, "one that only deletes is one too"


def test_a_file_that_somebody_made_purges_nothing(memory: Memory, tmp_path: Path) -> None:
    """Exports hold tombstones, never a purge; a hold is not got around by one."""
    memory.remember("evidence", id="e")
    memory.hold({"ids": ["e"]})
    purge = Purge(op_id="p", version=version_floor(memory._now()), namespace=memory.path, field="id", value="e")
    for move in (False, True):
        interchange.write(tmp_path / "x", interchange.Header(memory.path), [purge])
        with pytest.raises(InvalidInputError):
            memory.import_from(tmp_path / "x", move=move, skip=lambda *_: None)
    assert memory.get("e").content == "evidence"


def test_an_undo_does_not_take_what_is_held_out_of_use(memory: Memory, clock: FrozenClock) -> None:
    entry = memory.remember("evidence", key="k")
    memory.forget(key="k")
    clock.advance()
    back = memory.restore(entry.id)
    (restored,) = [act.details["changeset"] for act in memory.audit() if act.what == "restore"]
    memory.hold({"key": "k"})
    with pytest.raises(LegalHoldError):
        memory.undo(restored)
    assert memory.current("k") == memory.get(back.id)


@pytest.mark.parametrize("selector", [{}, {"text": "x", "lineage": True}])
def test_a_hold_that_cannot_be_kept_is_refused(memory: Memory, selector: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        memory.hold(selector)


def test_a_lifted_hold_leaves_nothing_of_what_it_selected(memory: Memory) -> None:
    hold = memory.hold({"text": "the canary sings"})
    memory.lift_hold(hold.id)
    assert "canary" not in "".join(act.model_dump_json() for act in memory.audit())


def test_the_ledger_is_no_namespace_of_callers(memory: Memory) -> None:
    memory.remember("x")
    memory.hold({"subject": "ada"})
    assert [path for path in memory.namespaces() if "ledger" in path] == []
    with pytest.raises(InvalidInputError):
        memory.namespaces("~ledger/x")
    for segments in (("~ledger",), ("~ledger", "x")):
        with pytest.raises(InvalidInputError):
            Memory(memory.backend, namespace=segments)


def test_the_audit_tells_what_was_done_by_whom(memory: Memory, clock: FrozenClock) -> None:
    for n in range(4):
        memory.remember(f"canary {n}", key=f"k{n}", subject="canary", session="s")
        clock.advance()
    released = memory.release("canary 0", by="ann")
    clock.advance()
    memory.undo(released.id, by="bob")
    clock.advance()
    memory.forget(key="k1", by="cid")
    memory.forget(key="k1", by="nobody")  # changes nothing
    clock.advance()
    memory.restore(memory.history("k1")[0].id, by="dan")
    clock.advance()
    rewound = memory.rewind({"session": "s"}, reason="canary", by="eve")
    clock.advance()
    hold = memory.hold({"key": "k9"}, by="counsel")
    clock.advance()
    memory.lift_hold(hold.id, by="counsel")
    clock.advance()
    receipt = memory.purge({"key": "k2"}, by="dpo")
    assert receipt.by == "dpo"
    acts = memory.audit()
    assert [(act.what, act.by) for act in acts] == [
        ("release", "ann"),
        ("undo", "bob"),
        ("forget", "cid"),
        ("restore", "dan"),
        ("rewind", "eve"),
        ("hold", "counsel"),
        ("lift", "counsel"),
        ("purge", "dpo"),
    ]
    assert acts[-1].details["receipt"]["id"] == receipt.id
    assert acts[0].details == {"changeset": released.id, "out of use": 1}
    assert acts[1].details == {"changeset": f"undo:{released.id}", "back": 1}
    assert acts[4].details["changeset"] == rewound.id
    assert "canary" not in "".join(act.model_dump_json() for act in acts)
    assert [act.at for act in acts] == sorted(act.at for act in acts)


def test_each_act_can_be_taken_back_by_its_change_set(memory: Memory, clock: FrozenClock) -> None:
    a, b = memory.remember("Porto", key="k"), memory.remember("b")
    clock.advance()
    memory.forget(b.id)
    clock.advance()
    memory.forget(key="k")
    clock.advance()
    back = memory.restore(a.id)
    clock.advance()
    forgot_b, _, restored = (act.details["changeset"] for act in memory.audit())
    would = memory.undo(restored, dry_run=True)
    assert would.dry_run
    assert [(change.id, change.after) for change in would.changes] == [(back.id, "released")]
    assert memory.current("k") is not None
    memory.undo(restored)
    memory.undo(forgot_b)
    assert memory.current("k") is None
    assert memory.get(b.id).status == "active"


def test_who_forgot_is_the_system_s_user_where_nobody_is_named(memory: Memory) -> None:
    memory.forget(memory.remember("a").id)
    memory.consolidate()
    assert [(act.what, act.by) for act in memory.audit()] == [("forget", operator())]


def test_the_audit_of_a_subtree_tells_of_what_was_emptied_too(memory: Memory, clock: FrozenClock) -> None:
    below, gone = memory.namespace("below"), memory.namespace("gone")
    memory.remember("a", id="a")
    below.remember("b", id="b")
    gone.remember("c", id="c")
    clock.advance()
    memory.forget("a")
    clock.advance()
    below.forget("b")
    clock.advance()
    gone.purge({"everything": True})
    assert [act.what for act in memory.audit()] == ["forget"]
    acts = memory.audit(subtree=True)
    assert [act.what for act in acts] == ["forget", "forget", "purge"]
    assert [act.namespace for act in acts][:2] == [memory.path, below.path]


def test_an_audit_tells_what_was_done_from_above(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    """Where it reached down; what was done to the namespace above alone is not told below."""
    below = memory.namespace("ada")
    below.remember("a", id="a")
    memory.remember("b", id="b")
    memory.hold({"tags": ["x"]})
    clock.advance()
    memory.lift_hold(memory.hold({"tags": ["y"]}, subtree=True).id)
    clock.advance()
    memory.purge({"ids": ["a"]}, subtree=True, by="joe")
    clock.advance()
    lines = [{"text": "hello", "who": "ada"}, {"text": "hi", "who": ""}]
    (tmp_path / "talk").write_text("\n".join(map(json.dumps, lines)))
    import_chat(memory, tmp_path / "talk", {"content": "text", "namespace": "who"})
    told = [(act.what, act.namespace) for act in below.audit()]
    assert told == [("hold", memory.path), ("lift", memory.path), ("purge", memory.path), ("import", below.path)]
    assert [act.what for act in memory.audit()] == ["hold", "hold", "lift", "purge", "import"]


def test_a_purge_that_was_begun_and_not_finished_is_told_by_the_check(memory: Memory, clock: FrozenClock) -> None:
    """Until one of the same selection has its receipt. One that was refused was never begun."""

    def told() -> list[str]:
        found = [problem for problem in memory.check().problems if problem.code == "unfinished-purge"]
        return [example for problem in found for example in problem.examples if f"{memory.path}: " in example]

    memory.remember("one", kind="note")
    plan = memory.plan_purge({"kinds": ["note"]})
    clock.advance()
    memory.remember("two", kind="note")
    with pytest.raises(ConflictError):
        memory.purge(plan)
    assert not told()
    assert [act.what for act in memory.audit()] == ["purge refused"]
    clock.advance()
    digest = selector_digest(plan.selector, memory.path, False)
    ledger = Ledger(memory.backend, memory.path, lambda: datetime.fromtimestamp(clock(), UTC))
    ledger.note(BEGUN, "dpo", {"plan_digest": plan.digest, "selector_digest": digest}, "purge of a process that died")
    assert len(told()) == 1
    assert told()[0].endswith(" by dpo")
    clock.advance()
    memory.purge({"tags": ["other"]})
    assert len(told()) == 1
    clock.advance()
    memory.purge({"kinds": ["note"]})
    assert not told()


def test_many_acts_are_all_told(memory: Memory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read a page at a time."""
    monkeypatch.setattr("memgraph.ledger._PAGE", 3)
    for n in range(8):
        memory.hold({"subject": f"s{n}"})
        clock.advance()
    assert len(memory.holds()) == 8
    assert [act.what for act in memory.audit()] == ["hold"] * 8
    memory.remember("about s5", subject="s5")
    with pytest.raises(LegalHoldError):
        memory.purge({"everything": True})


def test_the_audit_tells_of_imports(memory: Memory, tmp_path: Path) -> None:
    memory.remember("the canary", id="x")
    memory.export_to(tmp_path / "a.jsonl")
    assert memory.import_from(tmp_path / "a.jsonl") == 0
    assert [act.what for act in memory.audit()] == [], "an import that brought nothing is none"
    other = Memory(memory.backend).namespace(f"{memory.path}-copy")
    assert other.import_from(tmp_path / "a.jsonl", move=True) == 1
    (act,) = other.audit()
    assert (act.what, act.details) == ("import", {"news": 1})
    assert act.by
    (tmp_path / "talk.jsonl").write_text(json.dumps({"text": "hello"}))
    assert import_chat(other, tmp_path / "talk.jsonl", {"content": "text"}) == 1
    assert import_chat(other, tmp_path / "talk.jsonl", {"content": "text"}) == 0
    assert [act.what for act in other.audit()] == ["import", "import"]
