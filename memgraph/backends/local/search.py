"""Ranked search of the local store: postings from the file, columns from mirrors, arithmetic from `rules/ranking.py`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgraph.backends.base import Query
from memgraph.backends.local.apply import GONE as GONE_CHANGE
from memgraph.backends.local.apply import MEMORY as MEMORY_CHANGE
from memgraph.backends.local.index import loader
from memgraph.backends.local.mirror import GONE, Mirror, View
from memgraph.backends.local.where import clause
from memgraph.checks import micros
from memgraph.clock import EPOCH, recorded_at
from memgraph.models import Filters
from memgraph.rules import confidence, ranking, seeds
from memgraph.rules.selection import conditions_match
from memgraph.rules.text import query_terms
from memgraph.storage.textindex import PartCache

__all__ = ["SearchIndex"]

_MAX_BEHIND: Final = 50_000  # changes; beyond it a namespace is quicker read anew
_MAX_DOCS: Final = 1_000_000  # documents mirrored before the namespaces searched longest ago are let go
_FIRST_LOOK: Final = 256
_NO_FILTERS: Final = Filters()
_DAY: Final = timedelta(days=1)

Visible = Callable[[int, int], bool]
Result = tuple[int, float, dict[str, float] | None]


class _Hit(NamedTuple):
    """A memory that was found. order: its version as a number."""

    score: float
    order: int
    seq: int
    why: dict[str, float]


class SearchIndex:
    """The search of one store in this process. Safe for threads; a forked child makes its own.

    It learns of writes, its own process's and others' alike, by reading the change log at each search.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: int | None = None
        self._mirrors: dict[int, Mirror] = {}
        self._parts = PartCache()

    def search(
        self, connection: Connection, spaces: Sequence[tuple[int, str]], query: Query, visible: Visible | None = None
    ) -> list[Result]:
        """The best memories of these namespaces, (number, path) each: (seq, score, parts of the score if asked for), best first.

        connection: inside a read transaction; it is begun anew if another thread has read a later state meanwhile.
        visible: asked for each candidate (namespace, seq), best first, until the page is full; where it is given, memories of
        every status are ranked.
        """
        words = ranking.context_words(query.context) if query.context else []
        wanted = 2 * query.limit if words else query.limit
        if query.ranking == "memgraph":
            hits = self._ranked(connection, [ns for ns, _ in spaces], query, wanted, visible)
        else:
            hits = _as_seeds(connection, [ns for ns, _ in spaces], query, wanted, visible)
        hits = sorted(hits, reverse=True)[:wanted]
        if words:
            hits = sorted(_with_context(connection, hits, words), reverse=True)[: query.limit]
        return [(hit.seq, hit.score, hit.why if query.explain else None) for hit in hits]

    # ---- keeping up

    def _views(
        self,
        connection: Connection,
        numbers: Sequence[int],
        vector: Sequence[float] | None = None,
        model: str | None = None,
    ) -> tuple[list[View], list[NDArray[np.float32] | None]]:
        """The namespaces as they are in this connection's snapshot, and their documents' nearness to a vector."""
        with self._lock:
            if not self._catch_up(connection, numbers) and connection.in_transaction:
                connection.execute("rollback")
                connection.execute("begin")
                if not self._catch_up(connection, numbers):  # the file itself went back
                    self._mirrors.clear()
                    self._parts = PartCache()
                    self._seen = None
                    self._catch_up(connection, numbers)
            mirrors = [self._mirrors[ns] for ns in numbers]
            near = [None if vector is None else mirror.nearness(connection, vector, model) for mirror in mirrors]
            while len(self._mirrors) > len(numbers) and sum(each.n for each in self._mirrors.values()) > _MAX_DOCS:
                del self._mirrors[next(iter(self._mirrors))]
            return [mirror.view() for mirror in mirrors], near

    def _catch_up(self, connection: Connection, numbers: Sequence[int]) -> bool:
        """Bring the mirrors of these namespaces to the snapshot's state. False if the snapshot is older than they are."""
        if not self._read_changes(connection):
            return False
        load = loader(connection)
        generations = dict(
            connection.execute(
                "select ns, generation from namespace where ns in (select value from json_each(?))",
                (json.dumps(list(numbers)),),
            ).fetchall()
        )
        for ns in numbers:
            mirror = self._mirrors.pop(ns, None) or Mirror(connection, ns, load)
            generation = generations.get(ns, 0)
            if mirror.generation < generation:  # sealing moves no memory, so the change log does not tell of it
                known = mirror.update(connection, (), (), load)
                mirror = mirror if known else Mirror(connection, ns, load)
            self._mirrors[ns] = mirror  # at the end: searched last
            if mirror.generation > generation:
                return False
        return True

    def _read_changes(self, connection: Connection) -> bool:
        """Apply the change log beyond what was seen. False if the snapshot is older than that."""
        row = connection.execute("select seq from sqlite_sequence where name = 'change'").fetchone()
        newest: int = row[0] if row else 0
        seen, self._seen = self._seen, newest
        if seen is None or newest == seen or not self._mirrors:
            return True
        if newest < seen:
            self._seen = seen
            return False
        oldest = connection.execute("select min(lsn) from change").fetchone()[0]
        if oldest is None or oldest > seen + 1 or newest - seen > _MAX_BEHIND:
            self._mirrors.clear()
            return True
        changed: dict[int, tuple[list[int], list[int]]] = {}
        for ns, what, seq, doc in connection.execute("select ns, what, a, b from change where lsn > ?", (seen,)):
            if ns in self._mirrors and what in (MEMORY_CHANGE, GONE_CHANGE):
                memories, gone = changed.setdefault(ns, ([], []))
                memories.append(seq)
                if what == GONE_CHANGE and doc is not None:
                    gone.append(doc)
        for ns, (memories, gone) in changed.items():
            mirror = self._mirrors.pop(ns)  # gone for good if this fails half-way
            if mirror.update(connection, memories, gone, loader(connection)):
                self._mirrors[ns] = mirror
        return True

    # ---- the ranking of memgraph

    def _ranked(
        self, connection: Connection, numbers: list[int], query: Query, limit: int, visible: Visible | None
    ) -> list[_Hit]:
        views, near = self._views(connection, numbers, query.vector, query.vector_model)
        terms = query_terms(query.text)
        hits: list[_Hit] = []
        for view, cosine in zip(views, near, strict=True):
            if view.n and (terms or cosine is not None):
                hits += self._ranked_in(connection, view, query, terms, cosine, limit, visible)
        return hits

    def _ranked_in(
        self,
        connection: Connection,
        view: View,
        query: Query,
        terms: list[str],
        cosine: NDArray[np.float32] | None,
        limit: int,
        visible: Visible | None,
    ) -> Iterator[_Hit]:
        searchable, count, average = _searchable(view, query)
        named = view.names.find(query.text)
        columns = view.columns
        if named:
            known = np.ones(view.n, bool) if searchable is None else searchable
            named = {
                number: words
                for number, words in named.items()
                if bool((known & ((columns.actors == number) | (columns.subjects == number))).any())
            }
        name_terms = {term for words in named.values() for word in words for term in query_terms(word)}
        found = [ranking.Found(*view.postings(connection, term, self._parts), term not in name_terms) for term in terms]
        latest = int(columns.days.max())
        asked = ranking.Asked(
            next(iter(named)) if len(named) == 1 else None,
            ranking.asks_when(query.text),
            ranking.full_date(query.text, (EPOCH + latest * _DAY).year),
        )
        scores = ranking.score(columns, found, asked, searchable, count, average, cosine)
        taken = 0
        for doc in _best(connection, view, query, scores, limit if visible is None else view.n):
            seq = int(view.seqs[doc])
            if visible is None or visible(view.ns, seq):
                why = scores.parts(doc)
                yield _Hit(sum(why.values()), int(view.keys[doc]), seq, why)
                taken += 1
                if taken == limit:
                    return


def _every_status(query: Query) -> bool:
    return query.include_inactive or query.known_at is not None or query.valid_at is not None


def _searchable(view: View, query: Query) -> tuple[NDArray[np.bool_] | None, int, float]:
    """The documents that a query may see and whose statistics count, before any filter but status and time."""
    if not _every_status(query) and query.filters.status is None:
        return view.active(micros(query.now))
    mask = view.status != GONE
    if query.known_at is not None:
        mask &= view.keys >> np.uint64(16) <= np.uint64(max(micros(query.known_at) // 1000, 0))
    return view.measured(mask)


def _narrowing(query: Query) -> Filters | None:
    """The filters that a query sets beside status and time; None if there are none. Only the status now counts as a status."""
    filters = query.filters
    if query.known_at is not None or query.valid_at is not None:
        filters = filters.model_copy(update={"status": None})
    return None if filters == _NO_FILTERS else filters


def _best(connection: Connection, view: View, query: Query, scores: ranking.Scores, limit: int) -> list[int]:
    """The best documents that pass the filters, best first."""
    filters = _narrowing(query)
    mask: NDArray[np.bool_] | None = None
    if filters is not None and filters.session is not None:
        mask = view.columns.sessions == view.sessions.get(filters.session, len(view.sessions))
        filters = filters.model_copy(update={"session": None})
    if filters is None or filters == _NO_FILTERS:
        return [int(doc) for doc in scores.best(limit, mask, query.min_score)]
    first = max(
        _FIRST_LOOK, 4 * limit
    )  # most filters let many pass: asking about the best few is cheaper than about all
    if limit < view.n:
        docs = scores.best(first, mask, query.min_score)
        passing = _passing(connection, view, query, filters, view.seqs[docs].tolist())
        found = [doc for doc in docs.tolist() if doc in passing]
        if len(docs) < first or len(found) >= limit:
            return found[:limit]
    every = np.zeros(view.n, bool)
    every[list(_passing(connection, view, query, filters))] = True
    return [int(doc) for doc in scores.best(limit, every if mask is None else every & mask, query.min_score)]


def _passing(
    connection: Connection, view: View, query: Query, filters: Filters, seqs: list[int] | None = None
) -> set[int]:
    """The documents, of these memories or of all, that pass the filters."""
    sql, bound = clause(filters, query.now, "any" if _every_status(query) else "active")
    if seqs is not None:
        sql = f"seq in (select value from json_each(?)) and {sql}"
        bound = [json.dumps(seqs), *bound]
    rows = connection.execute(
        f"select doc, {'metadata' if filters.where else 'null'} from memory"
        f" where {'' if seqs is None and not view.most else '+'}ns = ? and doc is not null and {sql}",
        (view.ns, *bound),
    )
    return {
        doc
        for doc, metadata in rows
        if doc < view.n and (metadata is None or conditions_match(json.loads(metadata), filters.where))
    }


def _with_context(connection: Connection, hits: list[_Hit], words: list[str]) -> Iterator[_Hit]:
    contents = dict(
        connection.execute(
            "select seq, content from memory where seq in (select value from json_each(?))",
            (json.dumps([hit.seq for hit in hits]),),
        ).fetchall()
    )
    for hit in hits:
        boost = ranking.context_boost(words, contents.get(hit.seq, ""))
        yield hit._replace(score=hit.score + boost, why={**hit.why, "context": boost}) if boost else hit


def _as_seeds(
    connection: Connection, numbers: list[int], query: Query, limit: int, visible: Visible | None
) -> list[_Hit]:
    """The scores of the stores that memgraph grew out of, over every memory that the query may see."""
    filters = _narrowing(query) or _NO_FILTERS
    sql, bound = clause(filters, query.now, "any" if _every_status(query) else "active")
    rows: list[tuple[Any, ...]] = []
    for ns in numbers:
        rows += connection.execute(
            "select ns, seq, version, content, tags, confidence, feedback_sum, pinned, metadata from memory"
            f" where ns = ? and {sql}",
            (ns, *bound),
        ).fetchall()
    if filters.where:
        rows = [row for row in rows if conditions_match(json.loads(row[8]), filters.where)]
    contents = [row[3] for row in rows]
    tags = [json.loads(row[4]) for row in rows]
    trust = [
        confidence.effective(row[5], row[6], _age(row[2], query.now, query.ranking == "aegis"), bool(row[7]))
        for row in rows
    ]
    formula = seeds.loopctl if query.ranking == "loopctl" else seeds.aegis
    scores = formula(query.text, contents, tags, trust)
    hits = sorted(
        (
            _Hit(value, int(row[2][:12] + row[2][13:17], 16), row[1], {query.ranking: value})
            for value, row in zip(scores, rows, strict=True)
            if value > 0 and (query.min_score is None or value >= query.min_score)
        ),
        reverse=True,
    )
    if visible is None:
        return hits[:limit]
    places = {row[1]: row[0] for row in rows}
    seen: list[_Hit] = []
    for hit in hits:
        if visible(places[hit.seq], hit.seq):
            seen.append(hit)
            if len(seen) == limit:
                break
    return seen


def _age(version: str, now: datetime, counts: bool) -> float:
    """Whole days since a version was written, as aegis counts them; loopctl's relevance does not age by itself."""
    return float((now - recorded_at(version)).days) if counts else 0.0
