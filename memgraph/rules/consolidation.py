"""What a clean-up would do: which memories to prune, which have expired, and which say nearly the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final, NamedTuple

from memgraph import checks
from memgraph.models import Duplicate, Entry, Status, Trust
from memgraph.rules.confidence import effective
from memgraph.rules.lineage import has_expired

__all__ = ["SIMILARITY", "THRESHOLD", "Plan", "near_duplicates", "plan"]

THRESHOLD: Final = 0.05  # loopctl: what is less relevant than this goes
SIMILARITY: Final = 0.6  # loopctl, after 0.2: a paraphrase stays below it, a repetition with a word changed lies above
_LEAST_SIMILARITY: Final = 0.1
_COMMON: Final = 64  # a term of more memories than this is looked up together with a second one
_MARK: Final = 255
_ROUNDING: Final = 1e-9
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Plan:
    """What `consolidate` is to do in one namespace. `before` counts the active, unexpired memories it looked at."""

    before: int
    prune: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()

    @property
    def after(self) -> int:
        """How many are active afterwards."""
        return self.before - len(self.prune)


def plan(
    entries: Iterable[Entry],
    now: datetime,
    tokens: Callable[[str], Iterable[str]],
    threshold: float = THRESHOLD,
    similarity: float = SIMILARITY,
) -> Plan:
    """Judge every memory of one namespace; nothing is changed. After the plan was done, planning again prunes nothing.

    tokens: makes the terms of a content. threshold: a memory whose effective confidence is below it is pruned, unless
    it is pinned or a user or the system vouches for it. similarity: the Jaccard index of their terms from which two of
    a kind are near-duplicates. Only active, unexpired memories count. Raises InvalidInputError for a threshold outside
    0 to 1 or a similarity outside 0.1 to 1.
    """
    checks.fraction(threshold, "threshold")
    checks.fraction(similarity, "similarity", _LEAST_SIMILARITY)
    prune: list[str] = []
    expired: list[str] = []
    kept: list[tuple[str, str, str, frozenset[str]]] = []
    for entry in entries:
        if entry.status is Status.EXPIRED or (entry.status is Status.ACTIVE and has_expired(entry.expires_at, now)):
            expired.append(entry.id)
        elif entry.status is Status.ACTIVE:
            if _worthless(entry, now, threshold):
                prune.append(entry.id)
            else:
                kept.append((entry.version, entry.id, entry.kind, frozenset(tokens(entry.content))))
    kept.sort()
    kinds: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for _, name, kind, terms in kept:
        kinds.setdefault(kind, []).append((name, terms))
    return Plan(
        before=len(kept) + len(prune),
        prune=tuple(sorted(prune)),
        expired=tuple(sorted(expired)),
        duplicates=tuple(found for kind in sorted(kinds) for found in near_duplicates(kinds[kind], similarity)),
    )


def _worthless(entry: Entry, now: datetime, threshold: float) -> bool:
    if entry.pinned or entry.trust in (Trust.USER, Trust.SYSTEM):
        return False
    age = (now - entry.recorded_at) / _DAY
    return effective(entry.confidence, entry.feedback_sum, age) < threshold


def near_duplicates(documents: Iterable[tuple[str, frozenset[str]]], similarity: float = SIMILARITY) -> list[Duplicate]:
    """Each document that nearly repeats an earlier one, with the most similar such one (the earliest of equals).

    documents: names and their terms, oldest first. Who repeats somebody is not compared with later ones, as in
    loopctl's greedy clusters: those that are left unreported are all unlike each other.

    Two sets with Jaccard t share at least ceil(t * size) terms. So with terms in one order, rarest first, they share
    one among the first size - that + 1 of each, and two among one more (prefix filter: Chaudhuri, Ganti, Kaushik 2006;
    Bayardo, Ma, Srikant 2007). Only documents that meet in such a term, or pair of common terms, are compared.
    """
    named = [(name, terms) for name, terms in documents if terms]
    spread = Counter(term for _, terms in named for term in terms)
    ranked = {term: rank for rank, term in enumerate(sorted(spread, key=lambda term: (spread[term], term)))}
    common = sum(1 for count in spread.values() if count <= _COMMON)  # ranks from here on belong to common terms
    first: list[_Document] = []
    identical: dict[frozenset[int], _Document] = {}
    met: dict[int, list[int]] = {}
    found: list[Duplicate] = []
    for name, words in named:
        terms = frozenset(ranked[word] for word in words)
        if terms in identical:
            found.append(Duplicate(a=identical[terms].name, b=name, similarity=1.0))
            continue
        document = _Document(name, terms, sum({1 << (term & _MARK) for term in terms}))
        keys = list(_meeting_points(sorted(terms), similarity, common, len(ranked)))
        places = sorted(set().union(*(met[key] for key in keys if key in met)))
        best, score = _most_similar(document, [first[place] for place in places], similarity)
        if best is not None:
            found.append(Duplicate(a=best.name, b=name, similarity=round(score, 6)))
            continue
        identical[terms] = document
        for key in keys:
            met.setdefault(key, []).append(len(first))
        first.append(document)
    return found


class _Document(NamedTuple):
    name: str
    terms: frozenset[int]
    mark: int  # one bit for each term, several sharing one; two marks differ in no more bits than the sets in terms


def _meeting_points(terms: list[int], similarity: float, common: int, total: int) -> Iterator[int]:
    shared = ceil(similarity * len(terms) - _ROUNDING)
    end = len(terms) - shared + 1
    for place, term in enumerate(terms[:end]):
        if term < common or shared < 2:
            yield term
        if term >= common:
            for other in terms[place + 1 : end + 1]:
                yield (term + 1) * total + other


def _most_similar(
    document: _Document, others: Iterable[_Document], similarity: float
) -> tuple[_Document | None, float]:
    slack = (1 - similarity) / (1 + similarity)  # of all terms of both, the part that at most may be in one only
    _, terms, mark = document
    size = len(terms)
    best, score = None, 0.0
    for other in others:
        if (mark ^ other[2]).bit_count() > slack * (size + len(other[1])) + _ROUNDING:
            continue
        shared = len(terms & other[1])
        jaccard = shared / (size + len(other[1]) - shared)
        if jaccard >= similarity and jaccard > score:
            best, score = other, jaccard
    return best, score
