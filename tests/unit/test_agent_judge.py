"""A judged write: what the judge may do, and that whatever it does nothing is lost."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memgraph import AsyncMemory, Memory, remember_judged, remember_judged_async
from memgraph.errors import ClosedError, ConflictError, InvalidInputError
from memgraph.models import Entry, Filters, Selector, Status

ANY = Filters(status="any")


def yes(new: str, old: Entry) -> Any:
    return "supersede"


def test_what_the_judge_replaces_keeps_its_history(memory: Memory) -> None:
    """The seed forgot the old one for good; here it can be read, says why, and comes back."""
    old = memory.remember("Ada lives in Porto")
    other = memory.remember("Ada likes tea")
    found = remember_judged(
        memory, lambda new, near: "supersede" if "lives" in near.content else "keep_both", "Ada lives in Berlin"
    )
    assert (found.superseded, found.undecided) == ((old.id,), None)
    assert memory.get(old.id).superseded_by == found.entry.id
    assert memory.get(other.id).status is Status.ACTIVE
    (edge,) = memory.lineage(found.entry.id).edges
    assert (edge.source_id, edge.target_id, edge.via, edge.reason) == (found.entry.id, old.id, "explicit", "judged")
    assert memory.restore(old.id).content == "Ada lives in Porto"


def test_the_nearest_three_are_judged_nearest_first(memory: Memory) -> None:
    memory.remember_many(["the blue door is open", "the blue door", "the blue", "the door is open now", "a zebra"])
    asked: list[str] = []

    def judge(new: str, old: Entry) -> Any:
        assert new == "the blue door is open now"
        asked.append(old.content)
        return "keep_both"

    wanted = [hit.entry.content for hit in memory.search("the blue door is open now", limit=3)]
    found = remember_judged(memory, judge, "the blue door is open now")
    assert asked == wanted
    assert len(asked) == 3
    assert (found.superseded, memory.count()) == ((), 6)


def test_what_no_judge_decides_about(memory: Memory) -> None:
    """Keys decide for themselves, pins hold, what is inactive is over, and a memory does not judge itself."""
    keyed = memory.remember("Ada lives in Porto", key="ada/city")
    pinned = memory.remember("Ada lives in peace", pinned=True)
    gone = memory.remember("Ada lives in Paris")
    memory.forget(gone.id)
    asked: list[str] = []

    def judge(new: str, old: Entry) -> Any:
        asked.append(old.id)
        return "supersede"

    found = remember_judged(memory, judge, "Ada lives in Berlin", id="new")
    again = remember_judged(memory, judge, "Ada lives in Berlin", id="new")
    assert asked == []
    assert found.entry == again.entry
    remember_judged(memory, judge, "Ada lives in Rome", key="ada/city")
    assert asked == []
    assert memory.get(keyed.id).status is Status.SUPERSEDED
    assert memory.get(pinned.id).status is Status.ACTIVE
    assert memory.count() == 3


def broken(new: str, old: Entry) -> Any:
    raise RuntimeError(f"{new} {old.content}")


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (broken, "RuntimeError"),
        (lambda new, old: "I would not supersede it", "ValueError"),
        (lambda new, old: "SUPERSEDE", "ValueError"),
        (lambda new, old: None, "ValueError"),
        (lambda new, old: True, "ValueError"),
        (lambda: "supersede", "TypeError"),
    ],
)
def test_both_are_kept_on_any_failure(memory: Memory, caplog: pytest.LogCaptureFixture, judge: Any, why: str) -> None:
    """In the seed any reply with the word in it counted; and what was said stays out of the log."""
    memory.remember("Ada lives in Porto")
    with caplog.at_level(logging.WARNING, "memgraph"):
        found = remember_judged(memory, judge, "Ada lives in Berlin")
    assert (found.superseded, found.undecided, memory.count()) == ((), why, 2)
    assert found.entry.id in caplog.text
    assert "Ada" not in caplog.text


def test_one_failure_keeps_one(memory: Memory) -> None:
    """What was said about the others holds."""
    first, second = memory.remember("Ada lives in Porto"), memory.remember("Ada lives in Rome")

    def judge(new: str, old: Entry) -> Any:
        if old.id == first.id:
            raise RuntimeError
        return "supersede"

    found = remember_judged(memory, judge, "Ada lives in Berlin")
    assert (found.superseded, found.undecided) == ((second.id,), "RuntimeError")


@pytest.mark.parametrize("awaited", [False, True])
def test_the_deadline_holds_and_what_comes_late_does_not_count(memory: Memory, awaited: bool) -> None:
    ids = {memory.remember(f"Ada lives in {place}").id for place in ("Porto", "Rome", "Paris")}
    gate, over, asked = threading.Event(), threading.Event(), []

    def slow(new: str, old: Entry) -> Any:
        asked.append(old.id)
        if len(asked) > 1:
            gate.wait(30)
            over.set()
        return "supersede"

    async def slow_coroutine(new: str, old: Entry) -> Any:
        asked.append(old.id)
        if len(asked) > 1:
            try:
                await asyncio.sleep(30)
            finally:
                over.set()
        return "supersede"

    began = time.monotonic()
    found = remember_judged(memory, slow_coroutine if awaited else slow, "Ada lives in Berlin", deadline=0.5)
    assert time.monotonic() - began < 15
    assert (found.superseded, found.undecided) == ((asked[0],), "TimeoutError"), "one answer was in time"
    gate.set()
    assert over.wait(30)
    time.sleep(0.2)  # in which a judge that is not stopped would be asked about the third
    assert len(asked) == 2, "nobody is asked after the deadline"
    assert {entry.id for entry in memory.list()} == ids - {asked[0]} | {found.entry.id}


def test_an_answer_between_the_deadline_and_the_write_is_late(tmp_path: Path) -> None:
    """The write itself takes time, here that of an embedder, and a judge may answer in it."""
    gate, over = threading.Event(), threading.Event()

    class Embedder:
        model = "slow"

        def __call__(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
            if waiting.is_set():
                gate.set()
                assert over.wait(30)
                time.sleep(0.2)  # until the answer has arrived
            return [[1.0, float(len(text))] for text in texts]

    waiting = threading.Event()
    with Memory.open(tmp_path / "a.db", embedder=Embedder()) as memory:
        old = memory.remember("Ada lives in Porto")

        def judge(new: str, near: Entry) -> Any:
            waiting.set()
            gate.wait(30)
            over.set()
            return "supersede"

        found = remember_judged(memory, judge, "Ada lives in Berlin", deadline=0.5)
        assert (found.superseded, found.undecided) == ((), "TimeoutError")
        assert memory.get(old.id) == old


def test_whole_characters_are_asked_about(memory: Memory) -> None:
    """The seed cut its query after 100 bytes, in the middle of a character, and died of it."""
    old = memory.remember("日本語の長い文章" * 40)
    for before in range(8):
        found = remember_judged(memory, yes, "x" * before + "日本語の長い文章👩‍👩‍👧‍👦" * 40)
        assert found.undecided is None
        assert len(found.superseded) == 1
    assert memory.get(old.id).status is Status.SUPERSEDED
    assert memory.count() == 1


def test_a_memory_that_went_while_it_was_judged(memory: Memory) -> None:
    old = memory.remember("Ada lives in Porto")

    def judge(new: str, near: Entry) -> Any:
        memory.purge(Selector(ids=[near.id]))
        return "supersede"

    found = remember_judged(memory, judge, "Ada lives in Berlin")
    assert (found.superseded, found.undecided) == ((), "NotFoundError")
    assert [entry.content for entry in memory.list(ANY)] == ["Ada lives in Berlin"]
    assert old.id != found.entry.id


def test_a_refused_write_replaces_nothing(memory: Memory) -> None:
    """The write comes first: what `remember` refuses is refused, and what was there stays."""
    old = memory.remember("Ada lives in Porto", id="a")
    calls: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: remember_judged(memory, yes, "Ada lives in Berlin", confidence=2), InvalidInputError),
        (lambda: remember_judged(memory, yes, " "), InvalidInputError),
        (lambda: remember_judged(memory, yes, None), InvalidInputError),  # type: ignore[arg-type]
        (lambda: remember_judged(memory, yes, "Ada lives in Berlin", deadline=0), InvalidInputError),
        (lambda: remember_judged(memory, yes, "Ada lives in Berlin", id="a"), ConflictError),
    ]
    for call, error in calls:
        with pytest.raises(error):
            call()
    assert memory.get("a") == old
    memory.close()
    with pytest.raises(ClosedError):
        remember_judged(memory, yes, "Ada lives in Berlin")


def test_a_judge_sees_the_callers_context(memory: Memory) -> None:
    memory.remember("Ada lives in Porto")
    who = contextvars.ContextVar("who", default="nobody")
    who.set("me")
    seen = []
    remember_judged(memory, lambda new, old: seen.append(who.get()) or "keep_both", "Ada lives in Berlin")  # type: ignore[func-returns-value]
    assert seen == ["me"]


def test_awaited(memory: Memory) -> None:
    """A coroutine function judges on the caller's loop, where the objects that it uses were made; a plain one does too."""

    async def live() -> None:
        loops = []

        async def judge(new: str, old: Entry) -> Any:
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0)
            return "supersede"

        awaited = AsyncMemory(memory)
        old = await awaited.remember("Ada lives in Porto")
        found = await remember_judged_async(awaited, judge, "Ada lives in Berlin")
        assert found.superseded == (old.id,)
        assert loops == [asyncio.get_running_loop()]
        last = await remember_judged_async(awaited, yes, "Ada lives in Rome", subject="ada")
        assert (last.superseded, last.entry.subject) == ((found.entry.id,), "ada")

        async def hangs(new: str, old: Entry) -> Any:
            await asyncio.sleep(60)

        kept = await remember_judged_async(awaited, hangs, "Ada lives in Oslo", deadline=0.2)
        assert (kept.superseded, kept.undecided) == ((), "TimeoutError")

    asyncio.run(live())
    assert memory.count() == 2
