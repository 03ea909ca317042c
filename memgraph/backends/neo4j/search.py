"""Ranked search on Neo4j: candidates from the full-text indexes and the graph around them, arithmetic from `rules/ranking.py`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from memgraph.backends.base import Query, Scope
from memgraph.backends.neo4j import reads, vectors
from memgraph.backends.neo4j.candidates import Candidates, Mask, Rows, merged
from memgraph.backends.neo4j.statistics import ACTIVE, EVERY, Measures, Statistics
from memgraph.backends.neo4j.tokens import any_term, of_spaces, scope_clauses, session_clause
from memgraph.backends.neo4j.where import parameters
from memgraph.clock import EPOCH, version_floor
from memgraph.models import Entry, Filters, Hit, Status
from memgraph.rules import confidence, ranking, seeds
from memgraph.rules.selection import conditions_match, wanted_status
from memgraph.rules.text import query_terms
from memgraph.storage.bolt import Runner

__all__ = ["SearchIndex"]

SEEDS: Final = 250
"""Best matches that the index is asked for at first. Where there are fewer, all are ranked, as in the local store."""

SESSIONS: Final = 32
"""Sessions of the best candidates, of whose matches more are fetched where there are very many: a session counts its best five."""

SETTLED: Final = 2.0
"""Seconds after which a write that could be read has also reached the queue of the index: until then a wait for that may miss it,
as a transaction's changes can be read a moment before its commit is done."""

_MORE: Final = 4  # times as many, where filters leave the page unfilled
_OF_SESSION: Final = 6  # such matches
_WHOLE: Final = 8  # sessions that are fetched as they are, where there are not enough matches to fill the page
_MEMBERS: Final = 64  # memories, a session
SPACES: Final = (
    32  # namespaces of a subtree that are searched at first: those with the best matches, where there are more
)
PROBED: Final = 1000  # matches of all namespaces that choose them
_NAMED: Final = 500  # namespaces in one query of the index, which takes about a thousand words
_LEADERS: Final = 200  # candidates whose sessions are looked at
_LOOK: Final = 50  # candidates whose past is looked up at a time
_KEPT: Final = 10_000  # namespaces of which is known how far they had come
_NO_FILTERS: Final = Filters()
_DAY: Final = timedelta(days=1)


class _Seen(NamedTuple):
    """A number that a namespace's feed had, when it was first seen here, and when the index was last waited for after that."""

    n: int
    since: float
    waited: float


class _Hit(NamedTuple):
    """A memory that was found. order: its version as a number."""

    score: float
    order: int
    path: str
    id: str
    why: dict[str, float]


class _Asked(NamedTuple):
    """A query, its terms and vector, the filters that it sets beside time, and whether memories of every status are looked at."""

    query: Query
    terms: list[str]
    vector: tuple[float, ...] | None
    filters: Filters
    every: bool

    @property
    def indexes(self) -> tuple[str, ...]:
        """The full-text indexes that hold what is looked at."""
        return EVERY if self.every else ACTIVE

    @property
    def only_active(self) -> bool:
        """Whether the query asks for active memories alone."""
        return _statuses(self.query) == frozenset({Status.ACTIVE})


class _Found(NamedTuple):
    """What a first look found in a namespace. whole: the candidates are all its matches; else holding: how many hold each term."""

    path: str
    rows: Rows
    candidates: Candidates
    statistics: Statistics
    whole: bool
    holding: dict[str, int] | None


class SearchIndex:
    """What this process keeps for its searches: statistics of namespaces, and how far they had come. Safe for threads."""

    def __init__(self) -> None:
        self._measures = Measures()
        self._reach = vectors.Reach()
        self._seen: dict[str, _Seen] = {}

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

    # ---- the ranking of memgraph

    def _ranked(self, runner: Runner, paths: list[str], query: Query, limit: int) -> list[_Hit]:
        every = _every_status(query) or query.filters.status is not None
        vector = query.vector if query.vector is not None and any(query.vector) else None
        asked = _Asked(query, query_terms(query.text), vector, _narrowing(query), every)
        hits: list[_Hit] = []
        if not paths or (not asked.terms and vector is None):
            return hits
        left, near, beyond = list[str](), None, False
        most = max(SPACES, limit)
        if len(paths) > most:
            rows = self._caught_up(runner, paths, asked, 0)
            near = self._near(runner, rows, asked, None)
            left, paths = paths, list(dict.fromkeys([*_likely(runner, paths, asked)[:most], *near]))
        while paths:
            for start in range(0, len(paths), SPACES):
                hits += self._ranked_in(runner, paths[start : start + SPACES], asked, limit, near)
                if beyond and len(hits) >= limit:
                    return hits
            if len(hits) >= limit:
                break
            done, beyond = set(paths), True
            left = [path for path in left if path not in done]
            paths = _likely(
                runner, left, asked
            )  # what the index does not know, as an actor, can leave the page unfilled
        return hits

    def _ranked_in(
        self, runner: Runner, paths: list[str], asked: _Asked, limit: int, near: dict[str, list[str]] | None
    ) -> list[_Hit]:
        """The best hits of each of some namespaces: with more seeds again, until the page is full or there are no more."""
        hits: list[_Hit] = []
        size = max(SEEDS, 2 * limit)
        while paths:
            short: list[_Found] = []
            for found in self._looked(runner, paths, asked, size, near):
                best = _best(runner, found, asked, limit)
                if len(best) < limit:
                    short.append(found)
                else:
                    hits += best
            paths = [found.path for found in short if found.candidates.narrow >= size]
            for found in _again(runner, [each for each in short if each.path not in paths], asked, {}, fill=True):
                hits += _best(runner, found, asked, limit)
            size *= _MORE
        return hits

    def _looked(
        self, runner: Runner, paths: list[str], asked: _Asked, size: int, near: dict[str, list[str]] | None
    ) -> list[_Found]:
        """What there is to be ranked of each namespace; where there is more than the index was asked for, a second look too."""
        rows = self._caught_up(runner, paths, asked, size)
        touched = {path: row["touched"] for path, row in rows.items()}
        statistics = self._measures.of(runner, touched, asked.query.now) if touched else {}
        first = {path: Candidates(rows[path]["candidates"], known) for path, known in statistics.items()}
        partial = {path: statistics[path] for path in statistics if first[path].matching >= size}
        holding = self._measures.holding(runner, partial, asked.terms, asked.every) if partial else {}
        looks = [
            _Found(path, rows[path]["candidates"], first[path], known, path not in partial, holding.get(path))
            for path, known in statistics.items()
        ]
        if asked.vector is not None and near is None:
            near = self._near(runner, {path: rows[path] for path in statistics}, asked, statistics)
        return _again(runner, looks, asked, near or {})

    def _caught_up(self, runner: Runner, paths: list[str], asked: _Asked, size: int) -> dict[str, dict[str, Any]]:
        """The `size` best candidates of namespaces, among all that was written there before: the index holds it a little later.

        Namespaces that were never written to are left out.
        """
        spaces = [{"namespace": path, "seeds": _seeds(asked, path, size), "also": []} for path in paths]
        rows = _candidates(runner, spaces, asked)
        now, behind = time.monotonic(), dict[str, _Seen]()
        for row in rows:
            path, known = row["namespace"], self._seen.get(row["namespace"])
            if known is None or known.n != row["n"]:
                behind[path] = _Seen(row["n"], now, now)
            elif known.waited - known.since < SETTLED:
                behind[path] = _Seen(known.n, known.since, now)
        if behind:
            runner.run("read/text_wait")
            self._seen |= behind
            for path in list(self._seen)[:-_KEPT]:
                self._seen.pop(path, None)
            rows = _candidates(runner, spaces, asked)
        return {row["namespace"]: row for row in rows}

    def _near(
        self, runner: Runner, rows: dict[str, dict[str, Any]], asked: _Asked, statistics: dict[str, Statistics] | None
    ) -> dict[str, list[str]]:
        """The ids of the memories nearest to the query's vector, by namespace."""
        if asked.vector is None or not rows:
            return {}
        size = None if statistics is None else sum(known.documents for known in statistics.values())
        statuses = ["active"] if asked.only_active else None
        newest = {path: row["version"] for path, row in rows.items()}
        return self._reach.nearest(runner, newest, asked.vector, asked.query.vector_model or "", statuses, size)


def _likely(runner: Runner, paths: list[str], asked: _Asked) -> list[str]:
    """Those of many namespaces that hold matches, best first; where there are very many matches, only those with the best."""
    if not asked.terms or not paths:
        return []
    narrow = scope_clauses(None, asked.filters)
    queries = [
        f"{of_spaces(paths[start : start + _NAMED])} {narrow} {any_term(asked.terms)}"
        for start in range(0, len(paths), _NAMED)
    ]
    given = [{"index": index, "query": query, "limit": PROBED} for query in queries for index in asked.indexes]
    known = set(paths)
    return [row["namespace"] for row in runner.run("read/text_spaces", seeds=given) if row["namespace"] in known]


def _every_status(query: Query) -> bool:
    return query.include_inactive or query.known_at is not None or query.valid_at is not None


def _statuses(query: Query) -> frozenset[Status] | None:
    """The statuses that a query asks for, None for all."""
    return wanted_status(_narrowing(query), "any" if _every_status(query) else "active")


def _narrowing(query: Query) -> Filters:
    """The filters that a query sets beside time. Only the status now counts as a status."""
    if query.known_at is not None or query.valid_at is not None:
        return query.filters.model_copy(update={"status": None})
    return query.filters


def _order(version: str) -> int:
    return int(version[:12] + version[13:17], 16)


def _seeds(asked: _Asked, path: str, size: int) -> list[dict[str, Any]]:
    """The queries of the index that find the first candidates.

    What passes the filters inside the index is asked for beside what does not, as scores spread from there too.
    """
    if not asked.terms or not size:
        return []
    clauses = dict.fromkeys((scope_clauses(path, _NO_FILTERS), scope_clauses(path, asked.filters)))
    wanted = any_term(asked.terms)
    return [
        {"index": index, "query": f"{each} {wanted}", "limit": size, "spread": True}
        for each in clauses
        for index in asked.indexes
    ]


def _candidates(runner: Runner, spaces: list[dict[str, Any]], asked: _Asked) -> list[dict[str, Any]]:
    given = parameters(asked.filters, asked.query.now, "any" if _every_status(asked.query) else "active")
    rows = runner.run(
        "read/search",
        spaces=spaces,
        terms=asked.terms,
        conditions=bool(asked.filters.where),
        vector=asked.vector,
        model=asked.query.vector_model or "",
        also_active=asked.only_active,
        **given,
    )
    return [row for row in rows if row["n"] is not None]


def _again(
    runner: Runner, looks: list[_Found], asked: _Asked, near: dict[str, list[str]], fill: bool = False
) -> list[_Found]:
    """The same with what else is needed: the memories nearest by vector, and matches in the sessions of the best.

    fill: with the whole sessions of the best, which stand in for matches where there are not enough.
    """
    spaces = []
    for found in looks:
        sessions = _sessions(found, asked, fill) if fill or not found.whole else []
        clauses = f"{scope_clauses(found.path, _NO_FILTERS)} {session_clause(sessions)}"
        query = clauses if fill else f"{clauses} {any_term(asked.terms)}"
        limit = (_MEMBERS if fill else _OF_SESSION) * len(sessions)
        given = [
            {"index": index, "query": query, "limit": limit, "spread": False} for index in asked.indexes if sessions
        ]
        if given or near.get(found.path):
            spaces.append({"namespace": found.path, "seeds": given, "also": near.get(found.path, [])})
    more = {row["namespace"]: row["candidates"] for row in _candidates(runner, spaces, asked)} if spaces else {}
    return [
        _with(found, more[found.path], None if fill else near.get(found.path, [])) if more.get(found.path) else found
        for found in looks
    ]


def _with(found: _Found, more: Rows, proper: list[str] | None) -> _Found:
    rows = merged(found.rows, more, proper)
    return found._replace(rows=rows, candidates=Candidates(rows, found.statistics))


def _sessions(found: _Found, asked: _Asked, fill: bool) -> list[str]:
    """The sessions of the best candidates, where sessions count. fill: also of those that do not pass the filters."""
    if not found.candidates.columns.several:
        return []
    scores, allowed = _scored(found, asked)
    leaders = scores.best(_LEADERS, None if fill else allowed, asked.query.min_score).tolist()
    named = dict.fromkeys(found.candidates.sessions[doc] for doc in leaders)
    return [session for session in named if session is not None][: _WHOLE if fill else SESSIONS]


def _scored(found: _Found, asked: _Asked) -> tuple[ranking.Scores, Mask]:
    """The scores of the candidates, and which of them pass the filters."""
    candidates, statistics, query = found.candidates, found.statistics, asked.query
    searchable, count, length = candidates.active, statistics.active, statistics.active_length
    if asked.every:
        searchable, count, length = np.ones(candidates.n, bool), statistics.documents, statistics.length
        if query.known_at is not None:
            floor = version_floor(query.known_at)
            searchable &= np.array([version < floor for version in candidates.versions], bool)
    named = candidates.names(query.text, searchable)
    name_terms = {term for words in named.values() for word in words for term in query_terms(word)}
    given = ranking.Asked(
        next(iter(named)) if len(named) == 1 else None,
        ranking.asks_when(query.text),
        ranking.full_date(query.text, (EPOCH + statistics.last_day * _DAY).year),
    )
    terms = candidates.found(asked.terms, name_terms, found.holding)
    cosine = None if asked.vector is None else candidates.cosine
    average = length / max(count, 1)
    scores = ranking.score(candidates.columns, terms, given, searchable, max(count, 1), average, cosine)
    allowed = candidates.allowed
    where = query.filters.where
    if where:
        fits = [conditions_match(json.loads(text), where) if text else False for text in candidates.metadata]
        allowed = allowed & np.array(fits, bool)
    return scores, allowed


def _best(runner: Runner, found: _Found, asked: _Asked, limit: int) -> list[_Hit]:
    """The best hits of a namespace, best first; where a query asks for a past, of those that were there then."""
    query, candidates = asked.query, found.candidates
    scores, allowed = _scored(found, asked)
    look = query.known_at is not None or query.valid_at is not None
    docs: list[int] = scores.best(candidates.n if look else limit, allowed, query.min_score).tolist()
    if look:
        docs = _seen_then(runner, found.path, candidates, docs, query, limit)
    hits = []
    for doc in docs:
        why = scores.parts(doc)
        hits.append(_Hit(sum(why.values()), _order(candidates.versions[doc]), found.path, candidates.ids[doc], why))
    return hits


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
    """The hits as they are now. What has been retired since the index was asked is left out, unless the query asks for it.

    What has been superseded since then is shown as it was found, unless what replaced it was found too: a writer could
    otherwise hide a key for as long as it writes.
    """
    spaces: dict[str, list[str]] = {}
    for hit in hits:
        spaces.setdefault(hit.path, []).append(hit.id)
    statuses = _statuses(query)
    found: dict[tuple[str, str], Entry] = {}
    for path, ids in spaces.items():
        entries = reads.by_ids_surely(runner, path, ids, query.now)
        newest: dict[str | None, str] = {}
        for entry in entries.values():
            newest[entry.key] = max(newest.get(entry.key, ""), entry.version)
        for id, entry in entries.items():
            if statuses is None or entry.status in statuses:
                found[path, id] = entry
            elif entry.status is Status.SUPERSEDED and entry.superseded_by not in {None, *entries}:
                then = reads.before(entry, query.now)
                if then.status in statuses and (entry.key is None or newest[entry.key] == entry.version):
                    found[path, id] = then
    return found


def _with_context(hits: list[_Hit], entries: dict[tuple[str, str], Entry], words: list[str]) -> Iterator[_Hit]:
    for hit in hits:
        boost = ranking.context_boost(words, entries[hit.path, hit.id].content)
        yield hit._replace(score=hit.score + boost, why={**hit.why, "context": boost}) if boost else hit


def _listed(
    runner: Runner, paths: list[str], filters: Filters, now: datetime, default: Literal["active", "any"]
) -> list[Entry]:
    """Every matching memory, with what was written while they were read: newest first, it could only hide what it replaced."""
    found: dict[tuple[str, str], Entry] = {}
    while True:
        more = {(each.namespace, each.id): each for each in reads.all_matching(runner, paths, filters, now, default)}
        if more.keys() <= found.keys():
            return list(found.values())
        found |= more
        filters = filters.model_copy(update={"since": max(each.recorded_at for each in found.values())})


def _as_seeds(runner: Runner, paths: list[str], query: Query, limit: int) -> list[_Hit]:
    """The scores of the stores that memgraph grew out of, over every memory that the query may see."""
    default: Literal["active", "any"] = "any" if _every_status(query) else "active"
    entries = _listed(runner, paths, _narrowing(query), query.now, default)
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
