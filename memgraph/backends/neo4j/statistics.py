"""What the ranking must know of namespaces as wholes, at a cost that does not grow with them: a large one is measured by samples.

The samples are those of `tokens.py`: half of all memories are in the first, a quarter in the second, and so on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from memgraph.backends.neo4j.rows import sound
from memgraph.backends.neo4j.tokens import MAX_SAMPLE, any_term, sample_clause, scope_clauses
from memgraph.clock import millis, recorded_micros
from memgraph.models import Filters
from memgraph.storage.bolt import Runner

__all__ = ["ACTIVE", "EVERY", "Measures", "Statistics"]

ACTIVE: Final = ("active_text",)
EVERY: Final = ("active_text", "inactive_text")
EXACT: Final = 2048  # memories that a namespace has at most to be measured whole
SAMPLE: Final = 1024  # memories of each index that a sample has at most
COUNTED: Final = 512  # matches of a term in each index that are counted at most; beyond them, those in a sample are
_STEP: Final = 2  # every second sample is looked at: each is a quarter of the one before
_KEPT: Final = 1000  # namespaces
_NO_FILTERS: Final = Filters()
_DAY: Final = 86_400


@dataclass
class Statistics:
    """What the ranking must know of a namespace as a whole, as it was when `touched` memories had been written.

    documents, length: of all. active, active_length: of those neither replaced, retired nor expired. versions: some in order, the
    first and the last for certain. last_day: the latest day that any is about, since 1970. holding: how many hold a term, of all
    or of active ones.
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
    def of(cls, touched: int, row: dict[str, Any], level: int = 0) -> Statistics:
        """From what `read/text_statistics` returned, or `read/text_sample` for the sample of a level."""
        versions = [sound(version) for version in row["versions"]]
        seconds = [millis(version) // 1000 for version in versions[-1:]]
        seconds += [] if row["last_valid"] is None else [row["last_valid"]]
        return cls(
            touched,
            row["documents"] << level,
            row["length"] << level,
            row["active"] << level,
            row["active_length"] << level,
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


class Measures:
    """The statistics that a process keeps for its searches. Safe for threads."""

    def __init__(self) -> None:
        self._known: dict[str, Statistics] = {}

    def of(self, runner: Runner, touched: dict[str, int], now: datetime) -> dict[str, Statistics]:
        """Statistics of namespaces that have come so far; they are read anew where too much was written since."""
        found: dict[str, Statistics] = {}
        for path, number in touched.items():
            known = self._known.pop(path, None)
            if known is not None and known.serves(number):
                found[path] = known
        missing = [path for path in touched if path not in found]
        if missing:
            for row in runner.run("read/text_statistics", spaces=missing, now=now, most=EXACT):
                path, number = row["namespace"], touched[row["namespace"]]
                whole = row["documents"] <= EXACT
                found[path] = Statistics.of(number, row) if whole else _sampled(runner, path, number, now)
        self._known |= found  # at the end: searched last
        for path in list(self._known)[:-_KEPT]:
            self._known.pop(path, None)
        return found

    def holding(
        self, runner: Runner, statistics: dict[str, Statistics], terms: Sequence[str], every: bool
    ) -> dict[str, dict[str, int]]:
        """How many memories of each of these namespaces hold each term, active ones or all; beyond some hundred about so many."""
        clauses = []
        for path, known in statistics.items():
            plain = scope_clauses(path, _NO_FILTERS)
            clauses += [
                {"name": [path, term], "level": level, "query": f"{plain} {sample_clause(level)} {any_term([term])}"}
                for term in terms
                if (term, every) not in known.holding
                for level in _levels(known.documents)
            ]
        if clauses:
            for (path, term), number in _counted(runner, clauses, EVERY if every else ACTIVE, COUNTED).items():
                statistics[path].holding[term, every] = number[0]
        return {path: {term: known.holding[term, every] for term in terms} for path, known in statistics.items()}


def _levels(documents: int) -> Iterable[int]:
    """The samples that are needed to count a term of a namespace: the last holds fewer than are counted, whatever the term."""
    last = (2 * documents // COUNTED).bit_length()
    return range(0, min(last + 1, MAX_SAMPLE) + 1, _STEP)


def _counted(
    runner: Runner, clauses: list[dict[str, Any]], indexes: Sequence[str], limit: int
) -> dict[tuple[str, str], tuple[int, int]]:
    """How many memories each clause finds, by the largest sample that can be counted, and the level of that."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    rows = runner.run("read/text_holding", clauses=clauses, indexes=list(indexes), limit=limit)
    for row in sorted(rows, key=lambda row: row["level"], reverse=True):
        name = row["name"][0], row["name"][1]
        if name not in found or not row["more"]:
            found[name] = row["holding"] << row["level"], row["level"]
    return found


def _sampled(runner: Runner, path: str, touched: int, now: datetime) -> Statistics:
    """Statistics of a large namespace."""
    plain = scope_clauses(path, _NO_FILTERS)
    clauses = [
        {"name": [path, ""], "level": level, "query": f"{plain} {sample_clause(level)}"}
        for level in range(0, MAX_SAMPLE + 1, _STEP)
    ]
    _, level = _counted(runner, clauses, EVERY, SAMPLE)[path, ""]
    query = f"{plain} {sample_clause(level)}"
    rows = runner.run("read/text_sample", namespace=path, queries=[query], indexes=list(EVERY), now=now, limit=SAMPLE)
    return Statistics.of(touched, rows[0], level)
