"""LearnSession: what is credited and what is kept."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from memgraph import LearnConfig, LearnSession, Memory
from memgraph.agent import Outcome
from memgraph.agent import session as sessions
from memgraph.errors import ClosedError, ConflictError, InvalidInputError, UnavailableError
from memgraph.models import Entry, Selector
from tests.unit.agent_talk import ASK, REFLECTIONS


@pytest.fixture
def session(memory: Memory) -> Iterator[LearnSession]:
    with LearnSession(memory, LearnConfig()) as found:
        yield found


# ---- feedback


@pytest.mark.parametrize(
    ("signal", "outcome"),
    [
        (2.5, ("success", 1.0)),
        (0, ("success", 0.0)),
        (-0.4, ("failure", -0.4)),
        (-9, ("failure", -1.0)),
        (1, ("success", 1.0)),
    ],
)
def test_signals_are_cut_and_named(memory: Memory, session: LearnSession, signal: float, outcome: Any) -> None:
    """The seed's cases."""
    entry = memory.remember("Ada lives in Porto")
    session.enrich_messages(ASK)
    assert session.feedback(signal) == (*outcome, (entry.id,))
    assert memory.get(entry.id).feedback_sum == pytest.approx(outcome[1])


@pytest.mark.parametrize("signal", [math.nan, math.inf, "1", None, True])
def test_what_is_no_signal_is_refused(session: LearnSession, signal: Any) -> None:
    with pytest.raises(InvalidInputError, match="signal"):
        session.feedback(signal)


def test_feedback_without_a_recall_does_nothing(memory: Memory, session: LearnSession) -> None:
    entry = memory.remember("Ada lives in Porto")
    assert session.feedback(1) == Outcome("success", 1.0, ())
    session.enrich_messages(ASK)
    session.enrich_messages([{"role": "user", "content": "quantum chromodynamics"}])
    assert session.feedback(-1) == Outcome("failure", -1.0, ())
    assert memory.get(entry.id) == entry


def test_feedback_about_named_memories(memory: Memory, session: LearnSession) -> None:
    """Empty ids are dropped, a verified signal counts double, what was purged is passed over, a record is no feedback."""
    a, b = session.record("a", id="a"), session.record("b", id="b")
    assert (a.feedback_count, b.feedback_count) == (0, 0)
    assert session.feedback_entries(["a", "", "b", "a"], verified=True).ids == ("a", "b")
    assert [memory.get(id).feedback_sum for id in "ab"] == [2.0, 2.0]
    memory.purge(Selector(ids=["a"]))
    assert session.feedback_entries(["a", "b"], -0.5).ids == ("b",)
    assert memory.get("b").feedback_sum == 1.5
    assert session.feedback_entries("b").ids == ("b",)
    with pytest.raises(InvalidInputError):
        session.feedback_entries(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        session.feedback_entries(["a\x00"])


# ---- reflection and the end


def test_what_repeated_is_kept(memory: Memory) -> None:
    """The reflector without a model: one insight for what was recorded in nearly the same words, with where it came from."""
    session = LearnSession(memory, LearnConfig(), id="s1")
    first = session.record("the build needs make clean first")
    again = session.record("The build needs make clean first!")
    session.record("coffee is at nine")
    memory.remember("the build needs make clean first", session="another")
    session.end()
    (insight,) = memory.list(REFLECTIONS)
    assert (insight.content, insight.kind, insight.session) == ("the build needs make clean first", "insight", "s1")
    edges = memory.neighbours(insight.id).edges
    assert {(edge.target_id, edge.type) for edge in edges} == {(first.id, "derived_from"), (again.id, "derived_from")}
    assert memory.count() == 5, "nothing was taken away"
    version = insight.version
    with LearnSession(memory, LearnConfig(), id="s1") as resumed:
        resumed.record("the build needs make clean first")
    (insight,) = memory.list(REFLECTIONS)
    assert insight.version == version, "the same lesson is not written again"
    assert memory.neighbours(insight.id).edges == edges, "nor what it comes from"


def test_b021_a_purged_lesson_stays_purged(memory: Memory) -> None:
    session = LearnSession(memory, LearnConfig(), id="s1")
    for _ in range(2):
        session.record("the password is swordfish")
    session.end()
    assert memory.purge(Selector(session="s1")).removed["memories"] == 3
    again = LearnSession(memory, LearnConfig(fail_open=False), id="s1")
    for _ in range(2):
        again.record("the password is swordfish")
    again.end()
    assert memory.list(REFLECTIONS).items == ()


def test_reflection_every_so_many_calls(memory: Memory) -> None:
    """Beside the turn, and what a reflector is given is what the session recorded, oldest first."""
    given: list[list[str]] = []
    done = threading.Event()

    def reflector(entries: Sequence[Entry]) -> list[Any]:
        given.append([entry.content for entry in entries])
        done.set()
        return ["a lesson", {"content": "another", "kind": "strategy"}]

    session = LearnSession(memory, LearnConfig(reflect_every=3), reflector=reflector)
    session.record("one")
    session.record("two")
    for _ in range(2):
        session.enrich_messages(ASK)
    assert (session.call_count, given) == (2, [])
    session.enrich_messages(ASK)
    assert done.wait(30)
    session.end()
    assert given == [["one", "two"], ["one", "two"]]
    assert {(entry.content, entry.kind) for entry in memory.list(REFLECTIONS)} == {
        ("a lesson", "insight"),
        ("another", "strategy"),
    }


def test_one_reflection_at_a_time(memory: Memory) -> None:
    """Calls do not wait for one that is under way, and begin no other; the end waits for it, then comes the last."""
    began, gate, running = threading.Semaphore(0), threading.Event(), []

    def reflector(entries: Sequence[Entry]) -> list[Any]:
        running.append(1)
        began.release()
        gate.wait(30)
        return []

    session = LearnSession(memory, LearnConfig(reflect_every=1), reflector=reflector)
    session.record("one")
    session.enrich_messages(ASK)
    assert began.acquire(timeout=30)
    session.enrich_messages(ASK)
    assert not began.acquire(timeout=0.3)
    gate.set()
    session.end()
    assert len(running) == 2


def test_a_reflection_that_fails_beside_a_turn_is_in_the_log(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """And the last one is tried all the same."""
    calls = []

    def reflector(entries: Sequence[Entry]) -> list[Any]:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError(entries[0].content)
        return ["a lesson"]

    session = LearnSession(memory, LearnConfig(reflect_every=1, fail_open=False), reflector=reflector)
    session.record("a secret")
    session.enrich_messages(ASK)
    session.end()
    assert [record.getMessage() for record in caplog.records] == [
        f"reflection in session {session.id} failed: RuntimeError"
    ]
    assert [entry.content for entry in memory.list(REFLECTIONS)] == ["a lesson"]


def test_a_reflector_that_hangs_is_not_waited_for(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_REFLECT_SECONDS", 0.1)
    gate = threading.Event()
    for fail_open in (True, False):
        session = LearnSession(memory, LearnConfig(fail_open=fail_open), reflector=lambda _: gate.wait(30) and [])
        session.record("one")
        if fail_open:
            session.end()
        else:
            with pytest.raises(UnavailableError, match="too long"):
                session.end()
    gate.set()


def test_the_end_comes_once(memory: Memory) -> None:
    calls = []
    session = LearnSession(memory, LearnConfig(), reflector=lambda entries: calls.append(len(entries)) or [])
    session.record("one")
    session.end()
    session.end()
    assert calls == [1]
    for call in (lambda: session.enrich_messages(ASK), lambda: session.record("x")):
        with pytest.raises(ClosedError, match="session has ended"):
            call()


def test_a_session_that_recorded_nothing_reflects_on_nothing(memory: Memory) -> None:
    calls = []
    with LearnSession(memory, LearnConfig(), reflector=lambda entries: calls.append(1) or []):
        pass
    with LearnSession(memory, LearnConfig(), reflector=None) as session:
        session.record("one")
    assert calls == []
    assert memory.count() == 1


def test_a_reflector_that_fails(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    def broken(entries: Sequence[Entry]) -> list[Any]:
        raise RuntimeError(entries[0].content)

    with LearnSession(memory, LearnConfig(), reflector=broken) as session:
        session.record("a secret")
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
    strict = LearnSession(memory, LearnConfig(fail_open=False), reflector=broken)
    strict.record("a secret")
    with pytest.raises(RuntimeError):
        strict.end()


def test_a_lesson_under_an_id_that_is_taken_is_not_passed_over(memory: Memory) -> None:
    memory.remember("something else", id="taken")
    session = LearnSession(
        memory, LearnConfig(fail_open=False), reflector=lambda _: [{"content": "a lesson", "id": "taken"}]
    )
    session.record("one")
    with pytest.raises(ConflictError):
        session.end()
    assert memory.get("taken").content == "something else"


def test_a_coroutine_reflects(memory: Memory) -> None:
    async def reflector(entries: Sequence[Entry]) -> list[Any]:
        await asyncio.sleep(0)
        return [f"{len(entries)} records"]

    with LearnSession(memory, LearnConfig(), reflector=reflector) as session:
        session.record("one")
    assert [entry.content for entry in memory.list(REFLECTIONS)] == ["1 records"]


def test_names(memory: Memory) -> None:
    a, b = LearnSession(memory), LearnSession(memory)
    assert a.id != b.id
    assert len(a.id) == 16
    int(a.id, 16)
    assert a.record("x").session == a.id
    assert a.record("y", session="given", kind="preference").session == "given"
    with pytest.raises(InvalidInputError):
        LearnSession(memory, id="")
