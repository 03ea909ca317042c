"""A learning session: it shows a model what is remembered before each call, and learns from how the calls went.

`LearnSession(memory)` for plain code, `AsyncLearnSession(memory)` for coroutines.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

from memgraph import checks
from memgraph.agent.config import LearnConfig
from memgraph.agent.deadline import Runner, attempt, on_loop, settled
from memgraph.agent.inject import Message, checked, last_question, placed
from memgraph.aio import AsyncMemory
from memgraph.errors import ClosedError, InvalidInputError, MemgraphError, PurgedError, UnavailableError
from memgraph.memory import Memory
from memgraph.models import Entry, Filters, Status
from memgraph.rules.consolidation import near_duplicates
from memgraph.rules.context import QUERY_CHARACTERS, memory_block
from memgraph.rules.text import query_terms
from memgraph.telemetry import logger
from memgraph.threads import Call, aside

__all__ = ["AsyncLearnSession", "LearnSession", "Outcome", "Reflector", "repeated"]

T = TypeVar("T")
Lesson = str | Mapping[str, Any]
Reflector = Callable[[Sequence[Entry]], Iterable[Lesson] | Awaitable[Iterable[Lesson]]]
REFLECTION: Final = "reflection"
_REFLECT_SECONDS: Final = 10.0  # mubit
_LOOKED_BACK: Final = 1000  # records that a reflector is shown, the newest of the session


class Outcome(NamedTuple):
    """What a feedback said: "success" from 0 on, else "failure"; the signal, cut to -1..1; the ids that it was credited to."""

    outcome: Literal["success", "failure"]
    signal: float
    ids: tuple[str, ...]


def repeated(entries: Sequence[Entry]) -> list[Lesson]:
    """The reflector that needs no model: what a session recorded more than once, in nearly the same words, is an insight.

    entries: oldest first. Each insight has the words of the first record, and is related to all that say the same.
    """
    named = {entry.id: entry for entry in entries}
    groups: dict[str, list[str]] = {}
    for pair in near_duplicates([(entry.id, frozenset(query_terms(entry.content))) for entry in entries]):
        groups.setdefault(pair.a, [pair.a]).append(pair.b)
    return [
        {"content": named[first].content, "kind": "insight", "relates_to": [(id, "derived_from") for id in ids]}
        for first, ids in groups.items()
    ]


class LearnSession:
    """One conversation of an agent over a Memory. Safe for threads. `with LearnSession(memory) as session:` ends it.

    memory: where to recall from and to record in. config: None for `LearnConfig.from_env()`. id: names the session in what it
    records; made up if not given. reflector: makes lessons of what the session recorded, given oldest first: texts, or arguments
    of `remember`; it may be a coroutine function. None for no reflection.

    What is cached is ids, never content: a memory that was purged, forgotten or replaced, by whomever, is not shown again.
    """

    def __init__(
        self,
        memory: Memory,
        config: LearnConfig | None = None,
        *,
        id: str | None = None,
        reflector: Reflector | None = repeated,
    ) -> None:
        self.memory = memory
        self.config = LearnConfig.from_env() if config is None else config
        self.id = secrets.token_hex(8) if id is None else checks.name(id, "id")
        self._reflector = reflector
        self._run: Runner = asyncio.run
        self._lock = threading.Lock()
        self._cache: dict[bytes, tuple[float, tuple[str, ...]]] = {}
        self._recalled: tuple[str, ...] = ()
        self._degraded: str | None = None
        self._calls = 0
        self._ended = False
        self._reflecting: Call[None] | None = None

    @property
    def last_recalled_ids(self) -> tuple[str, ...]:
        """The memories that the last `enrich_messages` showed, and that `feedback` credits; none after one that failed."""
        return self._recalled

    @property
    def call_count(self) -> int:
        """How often `enrich_messages` was called."""
        return self._calls

    @property
    def degraded(self) -> str | None:
        """Why the last recall failed or may have missed something; None if all is well."""
        return self._degraded

    # ---- before a call

    def enrich_messages(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with a block of what is remembered about the last user message, for the next call of a model.

        messages: mappings with `role` and `content`, a text or a list of parts. They are not changed; the list is a new one.
        Without a user message that has text, and where nothing is remembered, nothing is added.

        Raises InvalidInputError for what are no messages, ClosedError after `end`, and with `fail_open=False` what the store
        raises, UnavailableError after the time-out; else a failure adds nothing, `degraded` says why, and the log has a warning.
        """
        given = checked(messages)
        self._begin_call()
        asked = last_question(given, QUERY_CHARACTERS)
        if asked is None:
            self._recalled, self._degraded = (), None
            return given
        place, query = asked
        # A file's reads wait for nobody; a thread for them would be half of the wall time on a busy machine.
        alone = self.memory.backend.name == "local" and self.memory._embedder is None
        found, error = attempt(functools.partial(self._recall, query), None if alone else self.config.timeout)
        if error is not None or found is None:
            self._recalled, self._degraded = (), type(error).__name__
            self._failed("recall", error)
            return given
        block, self._recalled, self._degraded = found
        return placed(given, block, self.config.position, place) if block else given

    def _begin_call(self) -> None:
        with self._lock:
            if self._ended:
                raise ClosedError("the session has ended", hint="Begin another one.")
            self._calls += 1
            every = self.config.reflect_every
            idle = self._reflecting is None or self._reflecting.done
            if every and self._calls % every == 0 and idle and self._reflector is not None:
                self._reflecting = aside(self._reflect_beside)

    def _recall(self, query: str) -> tuple[str, tuple[str, ...], str | None]:
        """The block, the ids in it, and why it may miss something."""
        now = self.memory._now()
        name = hashlib.sha256(query.encode()).digest()  # what a user said is not kept
        with self._lock:
            at, ids = self._cache.get(name, (float("-inf"), ()))
        if 0 <= now.timestamp() - at < self.config.cache_seconds:
            held = self.memory.backend.get(self.memory.path, ids, now) if ids else {}
            entries = [held[id] for id in ids if id in held and held[id].status is Status.ACTIVE]
            if len(entries) == len(ids):
                flaw = next((entry.degraded for entry in entries if entry.degraded), None)
                return *memory_block(entries, self.config.budget), flaw
            with self._lock:
                self._cache.clear()
        hits = self.memory.search(query, filters=Filters(kinds=self.config.kinds))
        if hits.degraded is None:
            with self._lock:
                self._cache.pop(name, None)
                while self._cache and len(self._cache) >= self.config.cache_size:
                    del self._cache[next(iter(self._cache))]
                if self.config.cache_size:
                    self._cache[name] = (now.timestamp(), tuple(hit.entry.id for hit in hits))
        return *memory_block([hit.entry for hit in hits], self.config.budget), hits.degraded

    # ---- after a call

    def record(self, content: str, **given: Any) -> Entry:
        """Remember something of this session. given: the other arguments of `remember`. It is no feedback for anything.

        Returns the memory, durable. Raises what `remember` raises, whatever `fail_open` says, and ClosedError after `end`.
        """
        if self._ended:
            raise ClosedError("the session has ended", hint="Begin another one.")
        entry = self.memory.remember(content, **{"session": self.id, **given})
        with self._lock:
            self._cache.clear()  # so that the session knows at once what it has recorded
        return entry

    def feedback(self, signal: float, *, verified: bool = False) -> Outcome:
        """Say how useful the last recalled memories were; as `feedback_entries` for `last_recalled_ids`."""
        return self.feedback_entries(self._recalled, signal, verified=verified)

    def feedback_entries(self, ids: str | Iterable[str], signal: float = 1.0, *, verified: bool = False) -> Outcome:
        """Say how useful memories were. signal: -1 (harmful) to 1 (useful), cut to that; a verified one counts double.

        Empty ids are dropped, and what was purged meanwhile is not credited. Returns the outcome with the ids that were; without
        any nothing is written. What takes longer than the time-out may still be written. Raises InvalidInputError, and with
        `fail_open=False` what the store raises.
        """
        value = max(-1.0, min(1.0, checks.fraction(signal, "signal", -1e308, 1e308)))
        if not isinstance(ids, Iterable):
            raise InvalidInputError("must be an id or a list of ids", field="ids")
        wanted = [id for id in ([ids] if isinstance(ids, str) else ids) if id != ""]
        names = list(dict.fromkeys(checks.name(id, "ids") for id in wanted))
        credited: tuple[str, ...] | None = ()
        if names:
            credited, error = attempt(lambda: self._credit(names, value, bool(verified)), self.config.timeout)
            if error is not None:
                self._failed("feedback", error)
        return Outcome("success" if value >= 0 else "failure", value, credited or ())

    def _credit(self, names: Sequence[str], signal: float, verified: bool) -> tuple[str, ...]:
        held = self.memory.backend.get(self.memory.path, names, self.memory._now())
        there = [id for id in names if id in held]
        return tuple(entry.id for entry in self.memory.feedback(there, signal, verified)) if there else ()

    # ---- what stays

    def end(self) -> None:
        """Reflect a last time and end the session. Ending twice is fine.

        Waits at most ten seconds for a reflection that is under way, and ten for the last. Raises, with `fail_open=False`, what
        the reflector or the store raised; UnavailableError where that took longer.
        """
        with self._lock:
            if self._ended:
                return
            self._ended = True
            running = self._reflecting
            self._cache.clear()
        if self._reflector is None:
            return
        _, error = attempt(functools.partial(self._last_reflection, running), 2 * _REFLECT_SECONDS)
        if error is not None:
            self._failed("reflection", error)

    def _last_reflection(self, running: Call[None] | None) -> None:
        if running is not None:
            running.wait(_REFLECT_SECONDS)
        self._reflect()

    def _reflect_beside(self) -> None:
        try:
            self._reflect()
        except BaseException as error:  # noqa: BLE001 - nobody asks this thread for it
            logger.warning("reflection in session %s failed: %s", self.id, type(error).__name__)

    def _reflect(self) -> None:
        """Keep what the reflector makes of the records. What it made before is the same write, and what was purged stays so."""
        if self._reflector is None:
            return
        page = self.memory.list(Filters(session=self.id), limit=_LOOKED_BACK)
        records = [entry for entry in reversed(page) if entry.source != REFLECTION]
        if not records:
            return
        made = settled(self._reflector(records), _REFLECT_SECONDS, self._run)
        lessons: Iterable[Any] = [made] if isinstance(made, str | Mapping) else made or ()
        for lesson in lessons:
            given: dict[str, Any] = {"content": lesson} if isinstance(lesson, str) else dict(lesson)
            given = {"kind": "insight", "source": REFLECTION, "session": self.id, **given}
            given.setdefault("id", _lesson_id(given))
            try:
                self.memory.remember(**given)
            except PurgedError:
                continue

    def _failed(self, what: str, error: BaseException | None) -> None:
        """Raise where failures are not to be passed over, else say so in the log."""
        if not self.config.fail_open and error is not None:
            if isinstance(error, MemgraphError) or not isinstance(error, TimeoutError):
                raise error
            raise UnavailableError(
                f"{what} took too long", hint="Try again, or allow more time in LearnConfig.timeout."
            ) from error
        logger.warning("%s in session %s failed: %s", what, self.id, type(error).__name__)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def _lesson_id(given: Mapping[str, Any]) -> str:
    """The same for the same lesson of a session, so that reflecting again does not write it again."""
    parts = "\0".join(str(given.get(name)) for name in ("session", "kind", "key", "content"))
    return f"{REFLECTION}-{hashlib.sha256(parts.encode(errors='replace')).hexdigest()[:32]}"


def _awaited(verb: Callable[..., T]) -> Any:
    """The async twin of a verb of LearnSession, with its signature and documentation."""

    @functools.wraps(verb)
    async def method(self: AsyncLearnSession, *args: Any, **kwargs: Any) -> T:
        # A reflector's coroutines belong on the loop where what they use was made.
        self.session._run = on_loop(asyncio.get_running_loop())
        return await asyncio.to_thread(verb, self.session, *args, **kwargs)

    return method


class AsyncLearnSession:
    """A LearnSession over an AsyncMemory whose verbs are awaited. `async with AsyncLearnSession(memory) as session:` ends it."""

    def __init__(
        self,
        memory: AsyncMemory,
        config: LearnConfig | None = None,
        *,
        id: str | None = None,
        reflector: Reflector | None = repeated,
    ) -> None:
        self.session = LearnSession(memory.memory, config, id=id, reflector=reflector)

    @property
    def id(self) -> str:
        """The session's name in what it records."""
        return self.session.id

    @property
    def last_recalled_ids(self) -> tuple[str, ...]:
        """As of a LearnSession."""
        return self.session.last_recalled_ids

    @property
    def call_count(self) -> int:
        """As of a LearnSession."""
        return self.session.call_count

    @property
    def degraded(self) -> str | None:
        """As of a LearnSession."""
        return self.session.degraded

    enrich_messages = _awaited(LearnSession.enrich_messages)
    record = _awaited(LearnSession.record)
    feedback = _awaited(LearnSession.feedback)
    feedback_entries = _awaited(LearnSession.feedback_entries)
    end = _awaited(LearnSession.end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()
