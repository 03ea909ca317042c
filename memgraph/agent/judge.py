"""A judge, an LLM as a rule, says before a memory without a key is written which of those near to it no longer hold."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from memgraph import checks
from memgraph.agent.deadline import Runner, attempt, on_loop, settled
from memgraph.aio import AsyncMemory
from memgraph.errors import MemgraphError
from memgraph.memory import Memory
from memgraph.models import Entry, Filters
from memgraph.rules.context import QUERY_CHARACTERS, cut
from memgraph.telemetry import logger

__all__ = ["DEADLINE", "Judge", "Judged", "Verdict", "remember_judged", "remember_judged_async"]

Verdict = Literal["supersede", "keep_both"]
Judge = Callable[[str, Entry], Verdict | Awaitable[Verdict]]
DEADLINE: Final = 5.0  # seconds; aegis waits that long for each of three answers, here it is for all
_NEAREST: Final = 3  # aegis
_LOOKED_AT: Final = 10  # the nearest may have keys, which no judge decides about


@dataclass(frozen=True)
class Judged:
    """What became of a judged write. superseded: ids that the new memory replaced. undecided: why not all was judged, if so."""

    entry: Entry
    superseded: tuple[str, ...] = ()
    undecided: str | None = None


def remember_judged(memory: Memory, judge: Judge, content: str, *, deadline: float = DEADLINE, **given: Any) -> Judged:
    """Write a memory, and let it replace those of the three nearest active ones that the judge says it replaces.

    judge: called with the new content and one stored memory, nearest first; "supersede" replaces it, "keep_both" keeps it. It
    may be a coroutine function. Whatever else it returns or raises, and all it has not said by the deadline, keeps both.
    deadline: seconds for finding and judging together, 0.01 to 3,600. given: the other arguments of `remember`.

    With a key the judge is not asked, as the key decides; nor is it about memories that are keyed or pinned. What is replaced
    keeps its history, and `restore` brings it back. The write comes first, so that nothing is lost where replacing fails.

    Raises what `remember` raises, and InvalidInputError for a deadline that is none.
    """
    return _remember(memory, judge, content, deadline, given, asyncio.run)


async def remember_judged_async(
    memory: AsyncMemory, judge: Judge, content: str, *, deadline: float = DEADLINE, **given: Any
) -> Judged:
    """As `remember_judged`. A coroutine function as the judge runs on the caller's own loop."""
    run = on_loop(asyncio.get_running_loop())
    return await asyncio.to_thread(_remember, memory.memory, judge, content, deadline, given, run)


def _remember(
    memory: Memory, judge: Judge, content: str, deadline: float, given: dict[str, Any], run: Runner
) -> Judged:
    seconds = checks.fraction(deadline, "deadline", 0.01, 3600.0)
    if given.get("key") is not None:
        return Judged(memory.remember(content, **given))
    content = checks.text(content, "content")
    replaced: list[str] = []
    look = functools.partial(_judge, memory, judge, content, given.get("id"), replaced, time.monotonic() + seconds, run)
    _, error = attempt(look, seconds)
    decided = tuple(replaced)  # what a late judge still adds counts no more
    entry = memory.remember(content, **given)
    if error is not None:
        logger.warning("the judge did not decide about all that is near to %s: %s", entry.id, type(error).__name__)
    done: list[str] = []
    for id in decided:
        try:
            memory.supersede(id, entry.id, reason="judged")
        except MemgraphError as failure:  # it went meanwhile, or the store does: both are kept
            logger.warning("%s was not superseded by %s: %s", id, entry.id, type(failure).__name__)
            error = failure
        else:
            done.append(id)
    return Judged(entry, tuple(done), None if error is None else type(error).__name__)


def _judge(
    memory: Memory, judge: Judge, content: str, own: str | None, replaced: list[str], end: float, run: Runner
) -> None:
    """Ask about one after the other, and note which are replaced; the first failure is raised when all were asked."""
    hits = memory.search(cut(content, QUERY_CHARACTERS), limit=_LOOKED_AT, filters=Filters(pinned=False))
    near = [hit.entry for hit in hits if hit.entry.key is None and hit.entry.id != own]
    failures: list[Exception] = []
    for old in near[:_NEAREST]:
        if (left := end - time.monotonic()) <= 0:
            raise TimeoutError
        try:
            verdict = settled(judge(content, old), left, run)
            if verdict not in ("supersede", "keep_both"):
                raise ValueError("a judge says 'supersede' or 'keep_both'")
        except Exception as error:  # noqa: BLE001 - a judge may fail in any way; this one memory is kept
            failures.append(error)
            continue
        if verdict == "supersede":
            replaced.append(old.id)
    if failures:
        raise failures[0]
