"""What search knows of a namespace in this process: numpy columns, changed by reading the change log alone.

A `View` is one state of them and never changes: columns only grow beyond its end, and what changes within is copied first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memgraph.rules.ranking import NEVER, Columns
from memgraph.rules.text import name_words
from memgraph.storage.textindex import Directory, Document, PartCache, Postings, hash_of, lengths_and_flags

__all__ = ["GONE", "Mirror", "View"]

GONE: Final = 9
"""The status of a document that is not there: purged, or its number was never used."""

_COLUMNS: Final = {
    "seqs": np.int64,
    "status": np.int8,
    "expires": np.float64,
    "keys": np.uint64,
    "lengths": np.uint16,
    "flags": np.uint8,
    "sessions": np.int32,
    "actors": np.int32,
    "subjects": np.int32,
    "before": np.int64,
    "after": np.int64,
    "days": np.int32,
    "feedback": np.float32,
}
_EMPTY: Final = {"status": GONE, "sessions": -1, "actors": -1, "subjects": -1, "before": NEVER, "after": NEVER}
_ROW: Final = (
    "select doc, seq, version, status, expires_at, valid_from, session, actor, subject, feedback_sum from memory"
)
_DAY_MS: Final = 86_400_000
_HEX_PLACES: Final = np.array([*range(12), *range(13, 17)])  # of a version: milliseconds and counter, 16 hex digits
_MAX_NAME_WORDS: Final = 16
_CACHED_POSTINGS: Final = 1_000_000
_CHUNK: Final = 8192

Loader = Callable[[int], Document | None]


@dataclass
class _Tail:
    """Postings of the documents from `first` on, which are not sealed yet. It only grows; a view looks up to its own end."""

    first: int
    documents: dict[int, Document] = field(default_factory=dict)
    postings: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)

    def add(self, doc: int, document: Document) -> None:
        self.documents[doc] = document
        for term, count in document.counts.items():
            known = self.postings.get(term)
            if known is None:
                self.postings[term] = [doc], [min(count, 255)]
            else:
                known[1].append(min(count, 255))
                known[0].append(doc)

    def rest(self, first: int) -> _Tail:
        """The part from `first` on, as a tail of its own."""
        tail = _Tail(first)
        for doc, document in self.documents.items():
            if doc >= first:
                tail.add(doc, document)
        return tail


@dataclass
class _Names:
    """Actors and subjects by their words, so that a query's words find them. It only grows."""

    words: dict[tuple[str, ...], int] = field(default_factory=dict)
    texts: dict[str | None, int] = field(default_factory=lambda: {None: -1})

    def number(self, text: str | None) -> int:
        """The number of a name; -1 for none, or for one that no words could name."""
        known = self.texts.get(text)
        if known is None:
            words = name_words(text or "")
            known = self.words.setdefault(words, len(self.words)) if 0 < len(words) <= _MAX_NAME_WORDS else -1
            self.texts[text] = known
        return known

    def find(self, query: str) -> dict[int, tuple[str, ...]]:
        """The names that a query holds, the longest at each place, and their words."""
        words = name_words(query)
        found: dict[int, tuple[str, ...]] = {}
        at = 0
        while at < len(words):
            for size in range(min(_MAX_NAME_WORDS, len(words) - at), 0, -1):
                name = words[at : at + size]
                number = self.words.get(name)
                if number is not None:
                    found[number] = name
                    at += size - 1
                    break
            at += 1
        return found


class _Cached(dict[str, Postings]):
    """Sealed postings that were asked for lately, of one generation."""

    _size = 0

    def keep(self, term: str, found: Postings) -> None:
        if self._size > _CACHED_POSTINGS:
            self.clear()
            self._size = 0
        self[term] = found
        self._size += len(found.docs)


class View:
    """One state of a namespace's columns.

    n: how many documents it has; they are numbered from 0. most: whether it held most of the store's memories when it was
    first read, so that reading the whole table in its order is quicker than most of it by an index.
    """

    def __init__(self, mirror: Mirror) -> None:
        self.ns = mirror.ns
        self.n = n = mirror.n
        self.names = mirror.names
        self.sessions = mirror.sessions
        self.most = mirror.most
        self._tail = mirror.tail
        self._directory = mirror.directory
        self._cached = mirror.cached
        columns = {name: array[:n] for name, array in mirror.arrays.items()}
        self.seqs: NDArray[np.int64] = columns["seqs"]
        self.keys: NDArray[np.uint64] = columns["keys"]
        self.status: NDArray[np.int8] = columns["status"]
        self.expires: NDArray[np.float64] | None = columns["expires"] if mirror.expiring else None
        self.columns = Columns(
            columns["lengths"],
            columns["flags"],
            columns["sessions"],
            columns["actors"],
            columns["subjects"],
            columns["before"],
            columns["after"],
            columns["days"],
            mirror.ranks(),
            len(mirror.sessions) - 1,
            mirror.several_sessions(),
            mirror.turns,
            feedback=columns["feedback"] if mirror.rated else None,
        )
        self._active: tuple[NDArray[np.bool_] | None, int, float] | None = None

    def active(self, now: float) -> tuple[NDArray[np.bool_] | None, int, float]:
        """The active, unexpired documents (None: all are), how many they are, their mean length. now: microseconds."""
        if self.expires is not None:
            return self.measured((self.status == 0) & ~(self.expires <= now))
        if self._active is None:
            self._active = self.measured(self.status == 0)
        return self._active

    def measured(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.bool_] | None, int, float]:
        """A mask (None if it holds all), how many it holds, their mean length."""
        count = int(np.count_nonzero(mask))
        whole = count == self.n
        lengths = self.columns.lengths if whole else self.columns.lengths[mask]
        average = float(lengths.sum(dtype=np.int64)) / count if count else 0.0
        return None if whole else mask, count, average

    def postings(self, connection: Connection, term: str, cache: PartCache) -> Postings:
        """The documents of this view that hold a term."""
        found = self._cached.get(term)
        if found is None:
            found = self._directory.postings(connection, hash_of(term), cache)
            self._cached.keep(term, found)
        waiting = self._tail.postings.get(term)
        if waiting is None:
            return found
        docs = [doc for doc in waiting[0][:] if doc < self.n]
        counts = waiting[1][: len(docs)]
        return Postings(
            np.concatenate((found.docs, np.array(docs, np.uint32))),
            np.concatenate((found.counts, np.array(counts, np.uint8))),
        )


class Mirror:
    """The columns of one namespace. Not safe for threads: whoever changes it holds the index's lock."""

    def __init__(self, connection: Connection, ns: int, load: Loader) -> None:
        self.ns = ns
        self.n = 0
        self.arrays: dict[str, NDArray[Any]] = {name: np.empty(0, kind) for name, kind in _COLUMNS.items()}
        self.names = _Names()
        self.sessions: dict[str | None, int] = {None: -1}
        self.expiring = False
        self.rated = False
        self.turns = False
        self.vectors: dict[str | None, tuple[int, NDArray[np.int64], NDArray[np.float32]]] = {}
        self._last_turn: dict[int, int] = {}
        self._purged = False
        self._ordered = True
        self._ranks: NDArray[np.int32] | None = None
        self._view: View | None = None
        docs, sealed, self.generation = self._state(connection)
        self.tail = _Tail(sealed)
        self.directory = Directory(connection, ns)
        self.cached = _Cached()
        self._grow(docs)
        self.n = docs
        self.most = 2 * docs > (connection.execute("select max(seq) from memory").fetchone()[0] or 0)
        rows = connection.execute(
            f"{_ROW} where {'+' if self.most else ''}ns = ? and version is not null and doc is not null", (ns,)
        )
        while chunk := rows.fetchmany(_CHUNK):
            self._place(chunk)
        self._measure(connection, 0, load)
        self._ordered = self._in_order(0)
        self._link(np.flatnonzero((self.arrays["sessions"][:docs] >= 0) & (self.arrays["actors"][:docs] >= 0)))

    def _state(self, connection: Connection) -> tuple[int, int, int]:
        row = connection.execute("select docs, sealed, generation from namespace where ns = ?", (self.ns,)).fetchone()
        return (0, 0, 0) if row is None else tuple(row)

    def _reread_index(self, connection: Connection, sealed: int, load: Loader) -> None:
        """Follow the sealed part of the index, which has changed."""
        self.directory = Directory(connection, self.ns)
        self.cached = _Cached()
        known = min(sealed, self.n)
        lengths, flags = lengths_and_flags(connection, self.ns, 0, known)
        if not np.array_equal(self.arrays["lengths"][:known], lengths):
            self._own("lengths")[:known] = lengths
        if not np.array_equal(self.arrays["flags"][:known], flags):
            self._own("flags")[:known] = flags
        if sealed >= self.tail.first:
            self.tail = self.tail.rest(sealed)
        else:  # the index was made anew, and fewer documents are sealed than before
            self._own("lengths")
            self._own("flags")
            self.tail = _Tail(sealed)
            self._measure(connection, known, load)

    def view(self) -> View:
        """The present state."""
        if self._view is None:
            self._view = View(self)
        return self._view

    def update(self, connection: Connection, changed: Iterable[int], gone: Iterable[int], load: Loader) -> bool:
        """Read again the memories with these numbers, and drop these documents. False if the namespace is no longer there."""
        self._view = None
        docs, sealed, generation = self._state(connection)
        if docs < self.n:
            return False
        if generation != self.generation:
            self.generation = generation
            self._reread_index(connection, sealed, load)
        rows = connection.execute(
            f"{_ROW} where seq in (select value from json_each(?)) and +ns = ? and version is not null and doc is not null",
            (json.dumps(sorted(set(changed))), self.ns),
        ).fetchall()
        old = self.n
        known = [row for row in rows if row[0] < old]
        if known:
            at = [row[0] for row in known]
            self._own("status")[at] = [row[3] for row in known]
            sums = np.array([row[9] for row in known], np.float32)
            if not np.array_equal(self.arrays["feedback"][at], sums):
                self.rated = True
                self._own("feedback")[at] = sums
        if docs > old:
            self._grow(docs)
            self.n = docs
            self._place([row for row in rows if row[0] >= old])
            self._measure(connection, old, load)
            self._ordered = self._ordered and self._in_order(max(old - 1, 0))
            self._ranks = None
            self._append_turns(old)
        dropped = sorted({doc for doc in gone if doc is not None and doc < self.n})
        if dropped:
            self._purged = True
            self._drop(dropped)
        return True

    # ---- columns

    def _grow(self, n: int) -> None:
        if n <= len(self.arrays["seqs"]):
            return
        size = n if self.n == 0 else max(n, self.n * 5 // 4, 1024)
        for name, array in self.arrays.items():
            larger = np.full(size, _EMPTY.get(name, 0), array.dtype)
            larger[: self.n] = array[: self.n]
            self.arrays[name] = larger

    def _own(self, name: str) -> NDArray[Any]:
        """A column that may be written to: earlier views keep the one they have."""
        self.arrays[name] = self.arrays[name].copy()
        return self.arrays[name]

    def _place(self, rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        docs, seqs, versions, status, expires, valid_from, sessions, actors, subjects, sums = zip(*rows, strict=True)
        at = np.array(docs)
        arrays = self.arrays
        arrays["seqs"][at] = seqs
        arrays["status"][at] = status
        arrays["feedback"][at] = sums
        self.rated = self.rated or any(sums)
        keys = _keys(versions)
        arrays["keys"][at] = keys
        expiry = np.array(expires, np.float64)  # None becomes nan, which is never over
        self.expiring = self.expiring or not bool(np.isnan(expiry).all())
        arrays["expires"][at] = expiry
        start = np.array(valid_from, np.float64) // 1000
        ms = np.where(np.isnan(start), (keys >> np.uint64(16)).astype(np.float64), start)
        arrays["days"][at] = ms // _DAY_MS
        for session in set(sessions) - self.sessions.keys():
            self.sessions[session] = len(self.sessions) - 1
        arrays["sessions"][at] = [self.sessions[session] for session in sessions]
        for name, values in (("actors", actors), ("subjects", subjects)):
            numbers = {value: self.names.number(value) for value in set(values)}
            arrays[name][at] = [numbers[value] for value in values]

    def _measure(self, connection: Connection, start: int, load: Loader) -> None:
        """Lengths and flags of the documents from `start` on, and the tail's postings."""
        sealed = min(max(self.tail.first, start), self.n)
        lengths, flags = self.arrays["lengths"], self.arrays["flags"]
        lengths[start:sealed], flags[start:sealed] = lengths_and_flags(connection, self.ns, start, sealed)
        for doc in np.flatnonzero(self.arrays["status"][sealed : self.n] != GONE) + sealed:
            document = load(int(self.arrays["seqs"][doc]))
            if document is not None:
                lengths[doc] = min(document.length, 65_535)
                flags[doc] = document.flags
                self.tail.add(int(doc), document)

    def _in_order(self, start: int) -> bool:
        """Whether the documents from `start` on are in version order, those that are gone left out."""
        keys = self.arrays["keys"][start : self.n][self.arrays["status"][start : self.n] != GONE]
        return bool((keys[1:] >= keys[:-1]).all())

    def ranks(self) -> NDArray[np.int32] | None:
        """The place of each document in version order; None if they are in that order."""
        if not self._ordered and self._ranks is None:
            self._ranks = np.empty(self.n, np.int32)
            self._ranks[np.argsort(self.arrays["keys"][: self.n], kind="stable")] = np.arange(self.n, dtype=np.int32)
        return self._ranks

    def several_sessions(self) -> bool:
        """Whether the documents are of more than one session."""
        if not self._purged:
            return len(self.sessions) > 2
        numbers = self.arrays["sessions"][: self.n]
        numbers = numbers[numbers >= 0]
        return len(numbers) > 0 and bool((numbers != numbers[0]).any())

    # ---- turns

    def _link(self, turns: NDArray[np.intp]) -> None:
        """Make these turns the whole line of their sessions, in version order."""
        if not len(turns):
            return
        arrays = self.arrays
        order = turns[np.lexsort((arrays["keys"][turns], arrays["sessions"][turns]))]
        session = arrays["sessions"][order]
        same = session[1:] == session[:-1]
        before, after = arrays["before"], arrays["after"]
        before[order] = NEVER
        after[order] = NEVER
        before[order[1:][same]] = order[:-1][same]
        after[order[:-1][same]] = order[1:][same]
        last = np.append(~same, True)
        self._last_turn.update(zip(session[last].tolist(), order[last].tolist(), strict=True))
        self.turns = self.turns or bool(same.any())

    def _append_turns(self, start: int) -> None:
        arrays = self.arrays
        late: set[int] = set()
        new = (
            np.flatnonzero((arrays["sessions"][start : self.n] >= 0) & (arrays["actors"][start : self.n] >= 0)) + start
        )
        for doc in new.tolist():
            session = int(arrays["sessions"][doc])
            last = self._last_turn.get(session)
            if last is not None:
                if arrays["keys"][doc] < arrays["keys"][last]:
                    late.add(session)
                    continue
                arrays["before"][doc] = last
                arrays["after"][last] = doc  # an earlier view ends before `doc` and takes it for none
                self.turns = True
            self._last_turn[session] = doc
        self._relink(late)

    def _relink(self, sessions: set[int]) -> None:
        if not sessions:
            return
        self._own("before")
        self._own("after")
        arrays = self.arrays
        wanted = np.isin(arrays["sessions"][: self.n], list(sessions)) & (arrays["actors"][: self.n] >= 0)
        self._link(np.flatnonzero(wanted & (arrays["status"][: self.n] != GONE)))

    def _drop(self, docs: list[int]) -> None:
        sessions = {int(number) for number in self.arrays["sessions"][docs] if number >= 0}
        self._own("status")[docs] = GONE
        for name in ("before", "after"):
            self._own(name)[docs] = NEVER
        for session in sessions:
            self._last_turn.pop(session, None)
        self._relink(sessions)
        for name in ("sessions", "actors", "subjects"):
            self._own(name)[docs] = -1

    # ---- vectors

    def nearness(self, connection: Connection, query: Sequence[float], model: str | None) -> NDArray[np.float32] | None:
        """The cosine of each document's vector and the query's; 0 for one without a vector by the same model."""
        wanted = np.asarray(query, np.float32)
        size = float(np.linalg.norm(wanted))
        if not size:
            return None
        read, docs, matrix = self.vectors.get(model, (0, np.empty(0, np.int64), np.empty((0, len(wanted)), np.float32)))
        if read < self.n:
            sql = (
                "select memory.doc, embedding.vector from embedding join memory using (seq) where embedding_model is ?"
            )
            if read:
                sql += " and seq in (select value from json_each(?))"
                bound: tuple[Any, ...] = (model, json.dumps(self.arrays["seqs"][read : self.n].tolist()))
            else:
                sql += " and ns = ?"
                bound = (model, self.ns)
            rows = [row for row in connection.execute(sql, bound) if len(row[1]) == 4 * len(wanted)]
            if rows:
                new = np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(len(rows), -1)
                sizes = np.linalg.norm(new, axis=1, keepdims=True)
                matrix = np.concatenate((matrix, new / np.where(sizes == 0, 1, sizes)))
                docs = np.concatenate((docs, np.array([row[0] for row in rows], np.int64)))
            self.vectors[model] = self.n, docs, matrix
        if matrix.shape[1] != len(wanted) or not len(docs):
            return None
        found = np.zeros(self.n, np.float32)
        inside = docs < self.n
        found[docs[inside]] = (matrix @ (wanted / size))[inside]
        return found


def _keys(versions: Sequence[str]) -> NDArray[np.uint64]:
    """The order of versions as numbers: milliseconds, then the counter."""
    letters = np.frombuffer("".join(versions).encode(), np.uint8).reshape(len(versions), -1)[:, _HEX_PLACES]
    digits = ((letters & 15) + 9 * (letters >> 6)).astype(np.uint8)
    return ((digits[:, ::2] << 4) | digits[:, 1::2]).copy().view(">u8").ravel().astype(np.uint64)
