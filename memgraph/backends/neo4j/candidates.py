"""The columns that the ranking wants, of the candidates that `read/search` returns.

The candidates hold every match (or the best, where there are very many) and two turns around each, so linking those of a session
in version order gives each match its true neighbours: between two candidates that are no true neighbours lies no match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memgraph.backends.neo4j.rows import sound
from memgraph.backends.neo4j.statistics import Statistics
from memgraph.clock import millis
from memgraph.rules.ranking import NEVER, Columns, Found
from memgraph.rules.text import name_words

__all__ = ["Candidates", "merged"]

_DAY: Final = 86_400
_MAX_COUNT: Final = 255
_MAX_NAME_WORDS: Final = 16
_COLUMNS: Final = 15
_ACTOR: Final = 4
_ALLOWED: Final = 12
Mask = NDArray[np.bool_]
Rows = list[list[Any]]


def merged(rows: Rows, more: Iterable[list[Any]], proper: Collection[str] | None = None) -> Rows:
    """The candidates of two statements, each once, newest first.

    proper: the ids of those of `more` that are candidates; the others only count for their sessions. None: all are.
    """
    found = {
        row[0]: row
        if proper is None or row[0] in proper
        else [*row[:_ACTOR], None, *row[_ACTOR + 1 : _ALLOWED], False, *row[_ALLOWED + 1 :]]
        for row in more
    } | {row[0]: row for row in rows}
    return sorted(found.values(), key=lambda row: (sound(row[1]), row[0]), reverse=True)


def _texts(values: Iterable[Any]) -> list[str | None]:
    """The values that are texts; what somebody set by hand to another kind counts as not there."""
    return [value if isinstance(value, str) else None for value in values]


def _amounts(values: Iterable[Any]) -> list[float]:
    """The values that are numbers; what somebody set by hand to another kind counts as none."""
    return [value if isinstance(value, int | float) else 0 for value in values]


class Candidates:
    """The candidates of one search in one namespace, newest first.

    rows: as `read/search` returns them. n: how many. matching: how many hold a term of the query. narrow: how many of these pass
    the filters that the index knows.
    """

    def __init__(self, rows: Rows, statistics: Statistics) -> None:
        columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * _COLUMNS
        self.ids, versions, active, *columns = columns
        self.sessions, actors, subjects = map(_texts, columns[:3])
        self.versions = [sound(version) for version in versions]
        lengths, flags, seconds, rated, self._matched, scoped, allowed, self.metadata, cosine = columns[3:]
        self.n = n = len(rows)
        inside = np.array(scoped, bool)
        matching = np.array([bool(matched) for matched in self._matched], bool)
        self.matching = int(np.count_nonzero(matching))
        self.narrow = int(np.count_nonzero(matching & inside))
        self.allowed: Mask = inside & np.array(allowed, bool)
        self.active: Mask = np.array(active, bool)
        self.cosine = np.array(cosine, np.float32)
        self._words: dict[tuple[str, ...], int] = {}
        self._numbers: dict[str | None, int] = {None: -1}
        sessions: dict[str | None, int] = {None: -1}
        for session in self.sessions:
            sessions.setdefault(session, len(sessions) - 1)
        numbers = np.array([sessions[session] for session in self.sessions], np.int32)
        before, after = self._turns(numbers, actors)
        feedback = np.array(_amounts(rated), np.float32)
        self.columns = Columns(
            np.array(_amounts(lengths), np.uint16),
            np.array(_amounts(flags), np.uint8),
            numbers,
            self._named(actors),
            self._named(subjects),
            before,
            after,
            self._days(seconds),
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
