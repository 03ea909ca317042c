"""How well memories answer a query: every weight of the ranking, with its reason, and the arithmetic over numpy columns.

The score of a memory is a sum of parts; the first five come from words, the others do not depend on them:

bm25         k1 .9, b .4 (short texts: little saturation, little length penalty), Lucene's idf. Repetition hardly matters.
spread       what the neighbouring turns of its session score: talk goes on about a thing without naming it again.
answer       what the turn before scores, if that is a question: a question's words belong to its answer.
coverage     the share of the query's words, by idf, found in it or within two turns of it: all words near each other mean more
             than one rare word alone. The words of names that the query holds do not count: every turn of that person has them.
session      .3 times the five best hits of its session: what a session is about.
actor        the query names exactly one actor or subject, and this memory is theirs; first_person: and they say I, my, we.
when         the query asks when, and this holds a time. date: the query holds a date, and this is from the days after it.
statement    it is no question. recency: newer wins near-ties. vector: similarity by an embedder, where there is one.
feedback     half a point a signal of use or harm, at most two: enough to order what matches alike, never to hide an answer.
context      words of the context that its content holds (aegis-agent-memory's `search_with_context`, but added to the score).

Values: research on LoCoMo's development conversations (R@10 81.1 there, 79.1 on those kept aside); neighbouring values stay within
.6 of it, so round numbers do. `text` is bm25 + spread + answer + coverage: what a floor (`min_score`) is about.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memgraph.rules.text import ASKS, FIRST_PERSON, HAS_TIME, MONTHS

__all__ = [
    "NEVER",
    "Asked",
    "Columns",
    "Found",
    "Scores",
    "asks_when",
    "context_boost",
    "context_words",
    "full_date",
    "score",
]

K1: Final = 0.9
B: Final = 0.4
AFTER: Final = 0.35  # to the turn after a match: answers and elaborations follow
BEFORE: Final = 0.20  # to the turn before it
AFTER_TWO: Final = 0.20
BEFORE_TWO: Final = 0.10
ANSWER: Final = 0.5
COVERAGE: Final = 7.0
SESSION: Final = 0.3
SESSION_BEST: Final = 5
ACTOR: Final = 5.0
FIRST: Final = 2.5
WHEN: Final = 5.0
STATEMENT: Final = 1.0
DATE: Final = 4.0  # people tell of a day on that day or in the days after
DATE_DAYS: Final = 10
RECENCY: Final = 1.0
FEEDBACK: Final = 0.5
FEEDBACK_MOST: Final = 2.0
VECTOR: Final = 10.0  # times the cosine; adding gains, fusing ranks loses
VECTOR_BEST: Final = 50  # so many nearest memories are candidates even without a word in common
CONTEXT: Final = 0.1
CONTEXT_MOST: Final = 0.3

NEVER: Final = np.iinfo(np.int32).max
"""In a column of neighbours or days: there is none."""

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]
_Kind = TypeVar("_Kind", bound=np.generic)

_ASKS_WHEN: Final = re.compile(r"\s*(?:when|how long|what (?:year|month|date|time))\b", re.IGNORECASE)
_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DATE: Final = re.compile(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b({'|'.join(MONTHS)})\b(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?\b)?,?\s*(\d{{4}})?",
    re.IGNORECASE,
)
_EPOCH: Final = dt.date(1970, 1, 1)


class Found(NamedTuple):
    """One term of a query: the documents that hold it, ascending, how often each, and whether the term counts for coverage.

    holding: how many searchable documents of the namespace hold it, where `docs` are only some of them.
    """

    docs: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    covers: bool = True
    holding: int | None = None


class Columns(NamedTuple):
    """What the ranking knows of the documents of a namespace: arrays of one length.

    lengths: terms. flags: of rules/text.py. sessions, actors, subjects: numbers, -1 for none; actors and subjects are numbered
    alike. before, after: the neighbouring turns of the session, NEVER or any number past the end for none. days: since 1970, of
    valid_from or else recorded_at. ranks: the place in version order, None if the documents are in that order.
    session_count: every session's number is below it. several: whether documents are of more than one session. turns: whether
    any document has a neighbour. size: how many documents the namespace has, where the columns hold only some of them.
    feedback: the weighted sums of their feedback, None if there was none.
    """

    lengths: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    sessions: Ints
    actors: Ints
    subjects: Ints
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    days: Ints
    ranks: Ints | None
    session_count: int
    several: bool
    turns: bool
    size: int | None = None
    feedback: Floats | None = None

    @property
    def documents(self) -> int:
        """How many documents the namespace has."""
        return len(self.flags) if self.size is None else self.size


class Asked(NamedTuple):
    """What a query asks for beside its words: the number of the one actor or subject it names, whether it asks when, a day."""

    name: int | None = None
    when: bool = False
    day: int | None = None


def asks_when(query: str) -> bool:
    """Whether a query asks for a time."""
    return _ASKS_WHEN.match(query) is not None


def full_date(query: str, year: int) -> int | None:
    """The first day that a query names (2024-05-08, 8 May 2024, May 8th), in days since 1970. year: taken where it names none."""
    iso = _ISO.search(query)
    if iso:
        parts = [int(part) for part in iso.groups()]
    else:
        named = next((found for found in _DATE.finditer(query) if found[1] or found[3]), None)
        if named is None:
            return None
        parts = [int(named[4] or year), MONTHS.index(named[2].lower()) + 1, int(named[1] or named[3])]
    try:
        return (dt.date(*parts) - _EPOCH).days
    except ValueError:
        return None


@dataclass(frozen=True)
class Scores:
    """The parts of the scores of a namespace's documents. reached: what words, session and vector give each of them."""

    columns: Columns
    asked: Asked
    bm25: Floats
    spread: Floats | None
    answer: Floats | None
    coverage: Floats
    session: Floats | None
    cosine: Floats | None
    text: Floats
    reached: Floats
    candidates: Mask

    def best(self, limit: int, allowed: Mask | None = None, floor: float | None = None) -> NDArray[np.intp]:
        """The best documents, best first, of equal ones the newer version first.

        allowed: only these. floor: only those that match by words, with a text part of at least this.
        """
        wanted = self.candidates if allowed is None else self.candidates & allowed
        if floor is not None:
            wanted = wanted & (self.text > 0) & (self.text >= floor)
        docs = np.flatnonzero(wanted)
        reached = self.reached[docs]
        if len(docs) > limit:  # whoever lies further behind than the rest can make up is out
            keep = reached >= np.partition(reached, len(docs) - limit)[len(docs) - limit] - _most(
                self.asked, self.columns.feedback
            )
            docs, reached = docs[keep], reached[keep]
        total = reached + _priors(self.columns, self.asked, docs)
        ranks = docs if self.columns.ranks is None else self.columns.ranks[docs]
        return docs[np.lexsort((-ranks, -total))][:limit]

    def parts(self, doc: int) -> dict[str, float]:
        """The parts of one document's score that are not 0; their sum is its score."""
        columns, asked = self.columns, self.asked
        found = {
            name: float(values[doc])
            for name, values in (
                ("bm25", self.bm25),
                ("spread", self.spread),
                ("answer", self.answer),
                ("coverage", self.coverage),
                ("session", self.session),
            )
            if values is not None
        }
        if self.cosine is not None:
            found["vector"] = VECTOR * float(self.cosine[doc])
        flags = int(columns.flags[doc])
        if asked.name is not None:
            mine = columns.actors[doc] == asked.name
            found["actor"] = ACTOR if mine or columns.subjects[doc] == asked.name else 0.0
            found["first_person"] = FIRST if mine and flags & FIRST_PERSON else 0.0
        found["when"] = WHEN if asked.when and flags & HAS_TIME else 0.0
        found["statement"] = 0.0 if flags & ASKS else STATEMENT
        if asked.day is not None:
            late = int(columns.days[doc]) - asked.day
            found["date"] = DATE * (1 - late / DATE_DAYS) if 0 <= late < DATE_DAYS else 0.0
        rank = doc if columns.ranks is None else int(columns.ranks[doc])
        found["recency"] = RECENCY * rank / columns.documents
        if columns.feedback is not None:
            found["feedback"] = float(_feedback(columns.feedback[doc : doc + 1])[0])
        return {name: value for name, value in found.items() if value}


def _at(wide: NDArray[_Kind], places: NDArray[np.int64]) -> NDArray[_Kind]:
    """The values at these places, in a column with a zero at its end; 0 for a place beyond it."""
    found = np.empty_like(wide)
    np.take(wide, places, out=found[:-1], mode="clip")
    found[-1] = 0
    return found


def _bm25(
    columns: Columns, terms: Sequence[Found], searchable: Mask | None, count: int, average: float
) -> tuple[Floats, NDArray[Any], list[float]]:
    """Scores, the covering terms that each document holds as bits, both with a zero at the end, and the weight of each bit."""
    n = len(columns.flags) + 1
    norm = np.multiply(columns.lengths, np.float32(K1 * B / average), dtype=np.float32)
    norm += np.float32(K1 * (1 - B))
    scores = np.zeros(n, np.float32)
    covering = sum(term.covers for term in terms)
    bits: NDArray[Any] = np.zeros(n, np.uint8 if covering <= 8 else np.uint64)
    weights: list[float] = []
    for docs, counts, covers, holding in terms:
        if searchable is not None:
            keep = searchable[docs]
            docs, counts = docs[keep], counts[keep]
        if not len(docs) and not holding:
            continue
        held = len(docs) if holding is None else max(holding, len(docs))
        idf = math.log(1 + max(count - held + 0.5, 0.5) / (held + 0.5))
        gain = counts.astype(np.float32)
        below = norm[docs]
        below += gain
        gain /= below
        gain *= np.float32(idf * (K1 + 1))
        scores[docs] += gain
        if covers:
            bits[docs] |= bits.dtype.type(1 << len(weights))
            weights.append(idf)
    return scores, bits, weights


def _shares(bits: NDArray[Any], weights: Sequence[float]) -> Floats:
    """The weight of the bits that are set, as a share of the weight of all."""
    total = sum(weights)
    shares = np.zeros(len(bits), np.float32)
    for low in range(0, len(weights), 8):
        table = np.zeros(256, np.float32)
        for place, weight in enumerate(weights[low : low + 8]):
            table.reshape(-1, 2, 1 << place)[:, 1] += weight / total
        octet = bits if bits.dtype == np.uint8 else (bits >> np.uint64(low)).astype(np.uint8)
        shares += table.take(octet)
    return shares


def _sessions(columns: Columns, scores: Floats) -> Floats:
    """The sum of the best hits of each document's session."""
    hits = np.flatnonzero(scores > 0)
    sessions = columns.sessions[hits]
    inside = sessions >= 0
    hits, sessions = hits[inside], sessions[inside]
    sums = np.zeros(columns.session_count + 1, np.float32)  # the last is for documents without a session: number -1
    if len(hits):  # positive floats order like their bits, so one sort puts each session's best first
        keys = sessions.astype(np.int64) << 32
        keys |= 0xFFFFFFFF - scores[hits].view(np.uint32).astype(np.int64)
        keys.sort()
        sessions = (keys >> 32).astype(np.int32)
        best = np.ones(len(keys), bool)
        best[SESSION_BEST:] = sessions[SESSION_BEST:] != sessions[:-SESSION_BEST]
        values = (0xFFFFFFFF - (keys[best] & 0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        sums += np.bincount(sessions[best], weights=values, minlength=len(sums)).astype(np.float32)
    return sums.take(columns.sessions)


def score(
    columns: Columns,
    terms: Sequence[Found],
    asked: Asked,
    searchable: Mask | None,
    count: int,
    average: float,
    cosine: Floats | None = None,
) -> Scores:
    """Score the documents of a namespace.

    terms: at most 64. searchable: the documents that take part, None for all; count, average: how many they are and their
    mean length. cosine: their similarity to the query by an embedder.
    """
    n = len(columns.flags)
    hits, bits, weights = _bm25(columns, terms, searchable, count, average or 1.0)
    bm25 = hits[:n]
    spread = answer = session = None
    if columns.turns:
        before, after = columns.before, columns.after
        one_before, one_after = _at(hits, before), _at(hits, after)
        spread = np.float32(AFTER) * one_before[:n]
        spread += np.float32(BEFORE) * one_after[:n]
        spread += np.float32(AFTER_TWO) * _at(one_before, before)[:n]
        spread += np.float32(BEFORE_TWO) * _at(one_after, after)[:n]
        asking = np.zeros_like(hits)
        np.multiply(bm25, columns.flags & ASKS != 0, out=asking[:n])
        answer = np.float32(ANSWER) * _at(asking, before)[:n]
        seen_before, seen_after = _at(bits, before), _at(bits, after)
        bits = bits | seen_before | seen_after | _at(seen_before, before) | _at(seen_after, after)
    text = coverage = np.float32(COVERAGE) * _shares(bits[:n], weights)
    text = text + bm25
    if spread is not None and answer is not None:
        text += spread
        text += answer
    reached = text
    if columns.several:
        session = np.float32(SESSION) * _sessions(columns, bm25)
        reached = text + session
    candidates = reached > 0
    if searchable is not None:
        candidates &= searchable
    if cosine is not None and n:
        near = cosine if searchable is None else np.where(searchable, cosine, 0)
        nearest = np.argpartition(near, -min(VECTOR_BEST, n))[-min(VECTOR_BEST, n) :]
        candidates[nearest[near[nearest] > 0]] = True
        reached = reached + np.float32(VECTOR) * cosine
    return Scores(columns, asked, bm25, spread, answer, coverage, session, cosine, text, reached, candidates)


def _most(asked: Asked, rated: Floats | None) -> float:
    """The most by which `_priors` can differ between two documents, and a little for rounding."""
    return (
        STATEMENT
        + RECENCY
        + (ACTOR + FIRST) * (asked.name is not None)
        + WHEN * asked.when
        + DATE * (asked.day is not None)
        + 2 * FEEDBACK_MOST * (rated is not None)
        + 0.001
    )


def _feedback(sums: Floats) -> NDArray[np.float64]:
    """What feedback adds: harm takes away as much as use gives."""
    return np.clip(FEEDBACK * sums.astype(np.float64), -FEEDBACK_MOST, FEEDBACK_MOST)


def _priors(columns: Columns, asked: Asked, docs: NDArray[np.intp]) -> NDArray[np.float64]:
    """What does not depend on the words."""
    n = max(columns.documents, 1)
    flags = columns.flags[docs]
    total = np.where(flags & ASKS, 0.0, STATEMENT)
    total += (docs if columns.ranks is None else columns.ranks[docs]) * (RECENCY / n)
    if columns.feedback is not None:
        total += _feedback(columns.feedback[docs])
    if asked.name is not None:
        mine = columns.actors[docs] == asked.name
        total += ACTOR * (mine | (columns.subjects[docs] == asked.name))
        total += FIRST * (mine & (flags & FIRST_PERSON != 0))
    if asked.when:
        total += WHEN * (flags & HAS_TIME != 0)
    if asked.day is not None:
        late = columns.days[docs].astype(np.int64) - asked.day
        total += np.where((late >= 0) & (late < DATE_DAYS), DATE * (1 - late / DATE_DAYS), 0.0)
    return total


def context_words(context: str) -> list[str]:
    """The different words of a context that count: three bytes or more, lower case."""
    return list(dict.fromkeys(word for word in context.lower().split() if len(word.encode()) >= 3))


def context_boost(words: Iterable[str], content: str) -> float:
    """A tenth for each of these words that a content holds, at most three (aegis-agent-memory 1.0.7, `search_with_context`)."""
    folded = content.lower()
    return min(CONTEXT * sum(word in folded for word in words), CONTEXT_MOST)
