"""The columns that the ranking wants, of the candidates that `read/search` returns, and of their namespace as a whole.

The candidates hold every match (or the best, where there are very many) and two turns around each, so linking those of a session
in version order gives each match its true neighbours: between two candidates that are no true neighbours lies no match.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memgraph.clock import millis, recorded_micros
from memgraph.rules.ranking import NEVER, Columns, Found
from memgraph.rules.text import name_words

__all__ = ["Candidates", "Statistics"]

_DAY: Final = 86_400
_MAX_COUNT: Final = 255
_MAX_NAME_WORDS: Final = 16
Mask = NDArray[np.bool_]


@dataclass
class Statistics:
    """What the ranking must know of a namespace as a whole, as it was when `touched` memories had been written.

    documents, length: of all. active, active_length: of those neither replaced, retired nor expired. versions: evenly spaced
    ones in order. last_day: the latest day that any is about, since 1970. holding: how many hold a term, of all or of active ones.
    """

    touched: int
    documents: int
    length: int
    active: int
    active_length: int
    sessions: int
    versions: list[str]
    last_day: int
    holding: dict[tuple[str, bool], int] = field(default_factory=dict)

    @classmethod
    def of(cls, touched: int, row: dict[str, Any]) -> Statistics:
        """From what `read/text_statistics` returned."""
        versions: list[str] = row["versions"]
        seconds = [millis(version) // 1000 for version in versions[-1:]]
        seconds += [] if row["last_valid"] is None else [row["last_valid"]]
        return cls(
            touched,
            row["documents"],
            row["length"],
            row["active"],
            row["active_length"],
            row["sessions"],
            versions,
            max(seconds, default=0) // _DAY,
        )

    def serves(self, touched: int) -> bool:
        """Whether it is near enough to the truth: at most a twentieth of the memories have been written since."""
        return (touched - self.touched) * 20 <= self.documents and touched >= self.touched

    def rank(self, version: str) -> int:
        """The place of a version among all of the namespace, counted from 0; estimated between those that are known."""
        marks, last = self.versions, len(self.versions) - 1
        at = bisect_right(marks, version) - 1
        if at < 0:
            return 0
        if at >= last:
            return max(self.documents - (1 if version == marks[last] else 0), 0)
        step = (self.documents - 1) / last
        low, high = recorded_micros(marks[at]), recorded_micros(marks[at + 1])
        part = 0.0 if high == low or version == marks[at] else (recorded_micros(version) - low) / (high - low)
        return int(step * (at + min(part, 0.999)))


class Candidates:
    """The candidates of one search in one namespace, newest first.

    n: how many. matching: how many hold a term of the query. narrow: how many of these pass the filters that the index knows.
    """

    def __init__(self, row: dict[str, Any], statistics: Statistics) -> None:
        self.ids: list[str] = row["ids"]
        self.versions: list[str] = row["versions"]
        self.n = n = len(self.ids)
        self.metadata: list[str] = row["metadata"]
        scoped = np.array(row["scoped"], bool)
        matching = np.array([bool(matched) for matched in row["matched"]], bool)
        self.matching = int(np.count_nonzero(matching))
        self.narrow = int(np.count_nonzero(matching & scoped))
        self.allowed: Mask = scoped & np.array(row["allowed"], bool)
        self.active: Mask = np.array(row["active"], bool)
        self.cosine = np.array(row["cosine"], np.float32)
        self._matched: list[list[str]] = row["matched"]
        self._statistics = statistics
        self._words: dict[tuple[str, ...], int] = {}
        self._numbers: dict[str | None, int] = {None: -1}
        sessions: dict[str | None, int] = {None: -1}
        for session in row["sessions"]:
            sessions.setdefault(session, len(sessions) - 1)
        numbers = np.array([sessions[session] for session in row["sessions"]], np.int32)
        actors = self._named(row["actors"])
        before, after = self._turns(numbers, row["actors"])
        feedback = np.array(row["feedback"], np.float32)
        self.columns = Columns(
            np.array(row["lengths"], np.uint16),
            np.array(row["flags"], np.uint8),
            numbers,
            actors,
            self._named(row["subjects"]),
            before,
            after,
            self._days(row["seconds"]),
            np.array([statistics.rank(version) for version in self.versions], np.int32),
            len(sessions) - 1,
            statistics.sessions > 1 or len(sessions) > 2,
            bool((before != NEVER).any()),
            max(statistics.documents, n),
            feedback if feedback.any() else None,
        )

    def _named(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        """Numbers for actors or subjects: the same for those of the same words, -1 for those that no words could name."""
        for text in texts:
            if text not in self._numbers:
                words = name_words(text or "")
                known = self._words.setdefault(words, len(self._words)) if 0 < len(words) <= _MAX_NAME_WORDS else -1
                self._numbers[text] = known
        return np.array([self._numbers[text] for text in texts], np.int32)

    def _turns(self, sessions: NDArray[np.int32], actors: Sequence[str | None]) -> tuple[NDArray[Any], NDArray[Any]]:
        before, after = np.full(self.n, NEVER, np.int64), np.full(self.n, NEVER, np.int64)
        last: dict[int, int] = {}
        for doc in range(self.n - 1, -1, -1):
            session = int(sessions[doc])
            if session >= 0 and actors[doc] is not None:
                if session in last:
                    before[doc] = last[session]
                    after[last[session]] = doc
                last[session] = doc
        return before, after

    def _days(self, seconds: Sequence[int | None]) -> NDArray[np.int32]:
        return np.array(
            [
                (millis(version) // 1000 if given is None else given) // _DAY
                for version, given in zip(self.versions, seconds, strict=True)
            ],
            np.int32,
        )

    def names(self, query: str, searchable: Mask | None) -> dict[int, tuple[str, ...]]:
        """The names of actors and subjects that a query holds, the longest at each place, and their words."""
        words = name_words(query)
        found: dict[int, tuple[str, ...]] = {}
        at = 0
        while at < len(words):
            for size in range(min(_MAX_NAME_WORDS, len(words) - at), 0, -1):
                number = self._words.get(words[at : at + size])
                if number is not None:
                    found[number] = words[at : at + size]
                    at += size - 1
                    break
            at += 1
        columns = self.columns
        known = np.ones(self.n, bool) if searchable is None else searchable
        return {
            number: named
            for number, named in found.items()
            if bool((known & ((columns.actors == number) | (columns.subjects == number))).any())
        }

    def found(self, terms: Sequence[str], uncovered: set[str], holding: dict[str, int] | None) -> list[Found]:
        """The candidates that hold each term. uncovered: terms that do not count for coverage. holding: how many hold each."""
        docs: dict[str, list[int]] = {term: [] for term in terms}
        counts: dict[str, list[int]] = {term: [] for term in terms}
        for doc, matched in enumerate(self._matched):
            for term in set(matched):
                docs[term].append(doc)
                counts[term].append(min(matched.count(term), _MAX_COUNT))
        return [
            Found(
                np.array(docs[term], np.uint32),
                np.array(counts[term], np.uint8),
                term not in uncovered,
                None if holding is None else holding.get(term, 0),
            )
            for term in terms
        ]
