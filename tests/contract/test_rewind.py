"""What a run or a poisoned source wrote is taken back as one, and what it had replaced counts again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError
from memgraph.models import ChangeSet, Entry, Status
from tests.conftest import FrozenClock


def changed(changes: ChangeSet) -> set[tuple[str, str]]:
    return {(change.id, change.after.value) for change in changes.changes}


def values(memory: Memory) -> dict[str, str]:
    """The current value of each key, and of what has no key by id."""
    return {entry.key or entry.id: entry.content for entry in memory.list(limit=1000)}


def poison(memory: Memory, clock: FrozenClock) -> dict[str, Entry]:
    """A little of everything that a run of `mallory` can do, among what others write. Returns what is to count afterwards."""
    kept = {
        "city": memory.remember("Ada lives in Porto", key="city", actor="ada"),
        "plain": memory.remember("the sky is blue", id="plain"),
        "colour": memory.remember("blue", key="colour"),
    }
    clock.advance()
    memory.remember("Ada lives in Hell", key="city", actor="mallory")
    memory.remember("Ada lives in Limbo", key="city", actor="mallory", pinned=True)
    lie = memory.remember("the sky is green", actor="mallory", id="lie")
    memory.supersede("plain", lie.id)
    memory.remember("new nonsense", key="nonsense", actor="mallory", id="nonsense")
    memory.remember("red", key="colour", actor="mallory")
    clock.advance()
    kept["colour"] = memory.remember("violet", key="colour", actor="ada")
    return kept


def test_a_run_is_taken_back(memory: Memory, clock: FrozenClock) -> None:
    poison(memory, clock)
    preview = memory.rewind({"actor": "mallory"}, dry_run=True)
    assert preview.dry_run
    assert values(memory)["city"] == "Ada lives in Limbo", "a dry run changes nothing"
    done = memory.rewind({"actor": "mallory"}, reason="it was prompted by a web page")
    assert changed(done) == changed(preview)
    assert values(memory) == {"city": "Ada lives in Porto", "plain": "the sky is blue", "colour": "violet"}
    assert [entry.content for entry in memory.history("city")] == [
        "Ada lives in Porto",
        "Ada lives in Hell",
        "Ada lives in Limbo",
        "Ada lives in Porto",
    ], "nothing is deleted"
    assert memory.get("plain").status is Status.ACTIVE
    assert memory.get("lie").status is Status.RELEASED
    assert {(change.key, change.before) for change in done.changes if change.after is Status.ACTIVE} == {
        ("city", Status.SUPERSEDED),
        (None, Status.SUPERSEDED),
    }
    assert changed(memory.rewind({"actor": "mallory"})) == set(), "a second time changes nothing"
    assert memory.check().ok


def test_undo_reverses_it(memory: Memory, clock: FrozenClock) -> None:
    poison(memory, clock)
    before = values(memory)
    done = memory.rewind({"actor": "mallory"})
    clock.advance()
    undone = memory.undo(done.id)
    assert undone.undoes == done.id
    assert values(memory) == before
    assert memory.undo(done.id).id == undone.id
    assert memory.check().ok


def test_everything_since_an_instant(memory: Memory, clock: FrozenClock) -> None:
    memory.remember("one", key="a")
    memory.remember("one", key="b")
    clock.advance()
    memory.remember("two", key="a")
    then = clock.advance(60)
    memory.remember("three", key="a", session="s")
    memory.remember("two", key="b", session="s")
    memory.remember("new", id="new", session="s")
    assert values(memory) == {"a": "three", "b": "two", "new": "new"}
    memory.rewind({"since": then, "session": "s"})
    assert values(memory) == {"a": "two", "b": "one"}


def test_what_was_forgotten_or_has_expired_stays_so(memory: Memory, clock: FrozenClock) -> None:
    gone = memory.remember("forgotten before", key="a")
    memory.forget(gone.id)
    memory.remember("for a minute", key="b", expires_at=clock.now + timedelta(seconds=60))
    clock.advance()
    for key in "ab":
        memory.remember("poison", key=key, source="web")
    clock.advance(120)
    done = memory.rewind({"source": "web"})
    assert {change.after for change in done.changes} == {Status.RELEASED}
    assert values(memory) == {}


def test_what_others_wrote_later_stands(memory: Memory, clock: FrozenClock) -> None:
    memory.remember("one", key="a")
    memory.remember("poison", key="a", source="web")
    memory.remember("three", key="a")
    memory.remember("zero", key="c")
    memory.remember("poison", key="c", source="web")
    memory.remember("long ago", key="c", valid_to=clock.now - timedelta(days=9))
    memory.remember("one", key="b")
    memory.remember("poison", key="b", source="web")
    memory.forget(memory.remember("three, and forgotten", key="b").id)
    assert {change.key for change in memory.rewind({"source": "web"}).changes} == {"c"}
    assert values(memory) == {"a": "three", "c": "zero"}


@pytest.mark.parametrize("filters", [{}, {"status": "any", "actor": "x"}])
def test_a_rewind_of_everything_is_refused(memory: Memory, filters: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError):
        memory.rewind(filters)


def test_a_poisoned_value_that_was_replaced_is_not_revived_by_another_rewind(memory: Memory) -> None:
    memory.remember("good", key="k", actor="ann")
    memory.remember("poison", key="k", actor="evil")
    memory.remember("fixed", key="k", session="t2")
    first = memory.rewind({"actor": "evil"})
    assert not first.changes
    memory.rewind({"session": "t2"})
    now = memory.current("k")
    assert now is not None
    assert now.content == "good"


def test_a_key_that_was_forgotten_stays_so(memory: Memory) -> None:
    memory.remember("v1", key="k", actor="ann")
    last = memory.remember("v2", key="k", session="s1")
    memory.forget(last.id, reason="asked")
    memory.rewind({"session": "s1"})
    assert memory.current("k") is None


def test_what_a_rewind_would_do_is_what_it_does_to_a_copy(memory: Memory, clock: FrozenClock) -> None:
    """What a run had restored goes, what it is a copy of may come back by another copy: each is told as itself."""
    memory.remember("one", id="origin", key="k", actor="ada")
    clock.advance()
    memory.remember("two", id="two", key="k", actor="mallory")
    clock.advance()
    filters = {"actor": "mallory"}
    would, done = memory.rewind(filters, dry_run=True), memory.rewind(filters)
    assert [(each.id, each.before, each.after) for each in would.changes] == [
        (each.id, each.before, each.after) for each in done.changes
    ]
    memory.restore("two")
    clock.advance()
    would, done = memory.rewind(filters, dry_run=True), memory.rewind(filters)
    assert [(each.id, each.before, each.after) for each in would.changes] == [
        (each.id, each.before, each.after) for each in done.changes
    ]


def test_the_audit_of_a_rewind_is_short(memory: Memory, clock: FrozenClock) -> None:
    """What it notes for the rewinds to come is not told: it is as long as the run."""
    for n in range(50):
        memory.remember(f"value {n}", key="k", actor="mallory")
        clock.advance()
    memory.rewind({"actor": "mallory"})
    (act,) = [act for act in memory.audit() if act.what == "rewind"]
    assert "tokens" not in act.details
