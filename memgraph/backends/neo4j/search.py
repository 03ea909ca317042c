"""Ranked search on Neo4j: candidates from the full-text indexes and the graph around them, arithmetic from `rules/ranking.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np

from memgraph.backends.base import Query, Scope
from memgraph.backends.neo4j import reads
from memgraph.backends.neo4j.candidates import Candidates, Mask, Statistics
from memgraph.backends.neo4j.tokens import any_term, scope_clauses
from memgraph.backends.neo4j.where import parameters
from memgraph.clock import EPOCH, version_floor
from memgraph.models import Entry, Filters, Hit, Status
from memgraph.rules import confidence, ranking, seeds
from memgraph.rules.selection import conditions_match
from memgraph.rules.text import query_terms
from memgraph.storage.bolt import Runner

__all__ = ["SearchIndex"]

SEEDS: Final = (
    300  # best matches that the index gives at first; up to so many, the answer is that of the whole namespace
)
_MORE: Final = 4  # times as many, where filters leave the page unfilled
SESSIONS: Final = 24
_MEMBERS: Final = 64
_MARKS: Final = 1024
_NEAREST: Final = 50
_LOOK: Final = 50  # candidates whose past is looked up at a time
_NAMESPACES: Final = 1000  # whose statistics are kept
_ACTIVE: Final = ("active_text",)
_EVERY: Final = ("active_text", "inactive_text")
_NO_FILTERS: Final = Filters()
_DAY: Final = timedelta(days=1)


class _Hit(NamedTuple):
    """A memory that was found. order: its version as a number."""

    score: float
    order: int
    path: str
    id: str
    why: dict[str, float]


class SearchIndex:
    """What this process keeps for its searches: statistics of namespaces, read anew when they are stale. Safe for threads."""

    def __init__(self) -> None:
        self._statistics: dict[str, Statistics] = {}
        self._seen: dict[str, int] = {}

    def search(self, runner: Runner, scope: Scope, query: Query) -> list[Hit]:
        """The best hits, best first."""
        words = ranking.context_words(query.context) if query.context else []
        wanted = 2 * query.limit if words else query.limit
        paths = reads.spaces(runner, scope)
        if query.ranking == "memgraph":
            hits = self._ranked(runner, paths, query, wanted)
        else:
            hits = _as_seeds(runner, paths, query, wanted)
        hits = sorted(hits, reverse=True)[:wanted]
        entries = _entries(runner, hits, query)
        hits = [hit for hit in hits if (hit.path, hit.id) in entries]
        if words:
            hits = sorted(_with_context(hits, entries, words), reverse=True)[: query.limit]
        return [Hit(entries[hit.path, hit.id], hit.score, hit.why if query.explain else None) for hit in hits]

    # ---- keeping up

    def _statistics_of(self, runner: Runner, path: str, now: datetime, touched: int) -> Statistics:
        """Statistics of a namespace that has come so far; they are read anew when too much was written since."""
        known = self._statistics.pop(path, None)
        if known is None or not known.serves(touched):
            row = runner.run("read/text_statistics", namespace=path, now=now, marks=_MARKS)[0]
            known = Statistics.of(touched, row)
        self._statistics[path] = known  # at the end: searched last
        while len(self._statistics) > _NAMESPACES:
            first = next(iter(self._statistics))
            self._statistics.pop(first, None)
            self._seen.pop(first, None)
        return known

    # ---- the ranking of memgraph

    def _ranked(self, runner: Runner, paths: list[str], query: Query, limit: int) -> list[_Hit]:
        terms = query_terms(query.text)
        vector = query.vector if query.vector is not None and any(query.vector) else None
        hits: list[_Hit] = []
        if terms or vector is not None:
            for path in paths:
                hits += self._ranked_in(runner, path, query, terms, vector, limit)
        return hits

    def _ranked_in(
        self,
        runner: Runner,
        path: str,
        query: Query,
        terms: list[str],
        vector: tuple[float, ...] | None,
        limit: int,
    ) -> list[_Hit]:
        """The best hits of one namespace: with more seeds again, until the page is full or there are no more."""
        every = _every_status(query) or query.filters.status is not None
        look = query.known_at is not None or query.valid_at is not None
        also = _nearest(runner, path, query, vector, every)
        size, waited = max(SEEDS, 2 * limit), False
        while True:
            row = _candidates(runner, path, query, terms, vector, also, size)
            if row["n"] is None:
                return []
            if not waited and self._seen.get(path) != row["n"]:  # written to since: the index may not hold it yet
                runner.run("read/text_wait")
                self._seen[path], waited = row["n"], True
                continue
            statistics = self._statistics_of(runner, path, query.now, row["touched"])
            candidates = Candidates(row, statistics)
            if not candidates.n:
                return []
            whole = candidates.matching < size  # else the index may know of more
            holding = None if whole else _holding(runner, path, statistics, terms, every)
            scores, allowed = _scored(candidates, statistics, query, terms, vector is not None, holding, every)
            docs = scores.best(candidates.n if look else limit, allowed, query.min_score).tolist()
            if look:
                docs = _seen_then(runner, path, candidates, docs, query, limit)
            if len(docs) >= limit or candidates.narrow < size:
                break
            size *= _MORE
        hits = []
        for doc in docs:
            why = scores.parts(doc)
            version = candidates.versions[doc]
            hits.append(_Hit(sum(why.values()), _order(version), path, candidates.ids[doc], why))
        return hits


def _every_status(query: Query) -> bool:
    return query.include_inactive or query.known_at is not None or query.valid_at is not None


def _narrowing(query: Query) -> Filters:
    """The filters that a query sets beside time. Only the status now counts as a status."""
    if query.known_at is not None or query.valid_at is not None:
        return query.filters.model_copy(update={"status": None})
    return query.filters


def _order(version: str) -> int:
    return int(version[:12] + version[13:17], 16)


def _candidates(
    runner: Runner,
    path: str,
    query: Query,
    terms: list[str],
    vector: tuple[float, ...] | None,
    also: list[str],
    size: int,
) -> dict[str, Any]:
    """The columns of the candidates: the `size` best that the index finds, and what lies around them.

    What passes the filters inside the index is asked for beside what does not, as scores spread from there too.
    """
    filters = _narrowing(query)
    every = _every_status(query) or query.filters.status is not None
    indexes = _EVERY if every else _ACTIVE
    plain, narrow = scope_clauses(path, _NO_FILTERS), scope_clauses(path, filters)
    wanted = any_term(terms) if terms else ""
    seeds_of = {
        clauses: [{"index": index, "query": f"{clauses} {wanted}", "limit": size} for index in indexes if wanted]
        for clauses in (plain, narrow)
    }
    return runner.run(
        "read/search",
        namespace=path,
        seeds=[seed for each in seeds_of.values() for seed in each],
        session_seeds=seeds_of[plain],
        terms=terms,
        also=also,
        sessions=SESSIONS,
        members=_MEMBERS,
        conditions=bool(filters.where),
        vector=vector,
        model=query.vector_model or "",
        **parameters(filters, query.now, "any" if _every_status(query) else "active"),
    )[0]


def _nearest(runner: Runner, path: str, query: Query, vector: tuple[float, ...] | None, every: bool) -> list[str]:
    if vector is None:
        return []
    rows = runner.run(
        "read/nearest",
        namespace=path,
        vector=vector,
        model=query.vector_model or "",
        limit=_NEAREST,
        statuses=None if every else ["active"],
    )
    return [row["id"] for row in rows]


def _holding(runner: Runner, path: str, statistics: Statistics, terms: list[str], every: bool) -> dict[str, int]:
    """How many memories of the namespace hold each term, kept with its statistics."""
    plain = scope_clauses(path, _NO_FILTERS)
    missing = [term for term in terms if (term, every) not in statistics.holding]
    if missing:
        rows = runner.run(
            "read/text_holding",
            clauses=[{"term": term, "query": f"{plain} {any_term([term])}"} for term in missing],
            indexes=list(_EVERY if every else _ACTIVE),
        )
        statistics.holding |= {(row["term"], every): row["holding"] for row in rows}
    return {term: statistics.holding.get((term, every), 0) for term in terms}


def _scored(
    candidates: Candidates,
    statistics: Statistics,
    query: Query,
    terms: list[str],
    near: bool,
    holding: dict[str, int] | None,
    every: bool,
) -> tuple[ranking.Scores, Mask]:
    """The scores of the candidates, and which of them pass the filters."""
    searchable, count, length = candidates.active, statistics.active, statistics.active_length
    if every:
        searchable, count, length = np.ones(candidates.n, bool), statistics.documents, statistics.length
        if query.known_at is not None:
            floor = version_floor(query.known_at)
            searchable &= np.array([version < floor for version in candidates.versions], bool)
    named = candidates.names(query.text, searchable)
    name_terms = {term for words in named.values() for word in words for term in query_terms(word)}
    asked = ranking.Asked(
        next(iter(named)) if len(named) == 1 else None,
        ranking.asks_when(query.text),
        ranking.full_date(query.text, (EPOCH + statistics.last_day * _DAY).year),
    )
    found = candidates.found(terms, name_terms, holding)
    cosine = candidates.cosine if near else None
    scores = ranking.score(candidates.columns, found, asked, searchable, max(count, 1), length / max(count, 1), cosine)
    allowed = candidates.allowed
    where = query.filters.where
    if where:
        fits = [conditions_match(json.loads(text), where) if text else False for text in candidates.metadata]
        allowed = allowed & np.array(fits, bool)
    return scores, allowed


def _seen_then(
    runner: Runner, path: str, candidates: Candidates, docs: list[int], query: Query, limit: int
) -> list[int]:
    """The first of these candidates, best first, that were current as known, or true in the world, at the query's instants."""
    found: list[int] = []
    for start in range(0, len(docs), _LOOK):
        part = docs[start : start + _LOOK]
        rows = runner.run("read/entries", namespace=path, ids=[candidates.ids[doc] for doc in part])
        seen = _visible(runner, path, [row["memory"] for row in rows], query)
        found += [doc for doc in part if candidates.ids[doc] in seen]
        if len(found) >= limit:
            break
    return found[:limit]


def _visible(runner: Runner, path: str, memories: list[dict[str, Any]], query: Query) -> set[str]:
    needed = ("id", "version", "key", "life", "valid_from", "valid_to", "expires_at")
    rows = [{name: memory.get(name) for name in needed} for memory in memories]
    return reads.visible(runner, path, rows, query.now, query.known_at, query.valid_at)


def _entries(runner: Runner, hits: list[_Hit], query: Query) -> dict[tuple[str, str], Entry]:
    """The hits as they are now. What has been retired since the index was asked is left out, unless the query asks for it."""
    spaces: dict[str, list[str]] = {}
    for hit in hits:
        spaces.setdefault(hit.path, []).append(hit.id)
    every = _every_status(query) or query.filters.status is not None
    return {
        (path, id): entry
        for path, ids in spaces.items()
        for id, entry in reads.by_ids(runner, path, ids, query.now).items()
        if every or entry.status is Status.ACTIVE
    }


def _with_context(hits: list[_Hit], entries: dict[tuple[str, str], Entry], words: list[str]) -> Iterator[_Hit]:
    for hit in hits:
        boost = ranking.context_boost(words, entries[hit.path, hit.id].content)
        yield hit._replace(score=hit.score + boost, why={**hit.why, "context": boost}) if boost else hit


def _as_seeds(runner: Runner, paths: list[str], query: Query, limit: int) -> list[_Hit]:
    """The scores of the stores that memgraph grew out of, over every memory that the query may see."""
    default: Any = "any" if _every_status(query) else "active"
    entries = list(reads.all_matching(runner, paths, _narrowing(query), query.now, default))
    aegis = query.ranking == "aegis"
    trust = [
        confidence.effective(
            entry.confidence,
            entry.feedback_sum,
            float((query.now - entry.recorded_at).days) if aegis else 0.0,  # loopctl's relevance does not age
            entry.pinned,
        )
        for entry in entries
    ]
    formula = seeds.aegis if aegis else seeds.loopctl
    scores = formula(query.text, [entry.content for entry in entries], [entry.tags for entry in entries], trust)
    hits = sorted(
        (
            _Hit(value, _order(entry.version), entry.namespace, entry.id, {query.ranking: value})
            for value, entry in zip(scores, entries, strict=True)
            if value > 0 and (query.min_score is None or value >= query.min_score)
        ),
        reverse=True,
    )
    if query.known_at is None and query.valid_at is None:
        return hits[:limit]
    found: list[_Hit] = []
    for start in range(0, len(hits), _LOOK):
        part = hits[start : start + _LOOK]
        seen: set[tuple[str, str]] = set()
        for path in dict.fromkeys(hit.path for hit in part):
            ids = [hit.id for hit in part if hit.path == path]
            rows = runner.run("read/entries", namespace=path, ids=ids)
            seen |= {(path, id) for id in _visible(runner, path, [row["memory"] for row in rows], query)}
        found += [hit for hit in part if (hit.path, hit.id) in seen]
        if len(found) >= limit:
            break
    return found[:limit]
