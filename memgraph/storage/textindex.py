"""The text index inside a store's file: which documents hold which terms. It stores the terms it is given and knows no meaning.

A namespace's documents are numbered from 0 in order of arrival. New ones wait in table `unsealed`; `seal_step` moves them, a
few hundred at a time, into a *segment*: a run of documents with one list of postings, ordered by term and document and cut
into rows of about 32 kB. A full set of small segments is merged into a larger one, so that a namespace of any size has few.
A term is stored as a 64-bit hash of itself, never as text. Rows are replaced, never changed, and row numbers are never used
twice, so a reader may keep a row that it has read for as long as it likes.

Every function works in a transaction that the caller has opened.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from sqlite3 import Connection
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SEAL_AT",
    "Directory",
    "Document",
    "PartCache",
    "Postings",
    "hash_of",
    "lengths_and_flags",
    "rebuild",
    "remove",
    "remove_namespace",
    "seal_step",
    "unsealed_namespace",
]

SEAL_AT: Final = 256
"""As many documents must wait before they are worth a segment."""

_STEP_POSTINGS: Final = 40_000  # a step ends early after this many, so that long texts do not hold up a writer
_CLASSES: Final = (12_000, 80_000)  # segments below the first number are small, below the second middling, else large
_RUN: Final = 8  # so many neighbours of one class become one segment
_MERGE_POSTINGS: Final = 128_000  # or so many postings in fewer neighbours; the largest merge is 1.6 times this
_SPAN: Final = 1 << 16  # documents of a segment are stored as 16-bit distances from its first
_ROW_BYTES: Final = 1 << 15
_MAX_COUNT: Final = 255  # more occurrences than that change no score
_MAX_LENGTH: Final = 65_535
_HASHES: Final = 50_000

_hashes: dict[str, int] = {}


class Document(NamedTuple):
    """What is indexed of one document: how often it holds each term, its length in terms, and 8 bits for the ranking."""

    counts: Mapping[str, int]
    length: int
    flags: int


class Postings(NamedTuple):
    """The documents that hold a term, ascending, and how often each does."""

    docs: NDArray[np.uint32]
    counts: NDArray[np.uint8]


class _Part(NamedTuple):
    """One row of `post`: its terms, ascending; where each begins; documents as distances from the segment's first."""

    terms: NDArray[np.int64]
    starts: NDArray[np.uint32]
    docs: NDArray[np.uint16]
    counts: NDArray[np.uint8]


def hash_of(term: str) -> int:
    """The 64-bit signed number that stands for a term."""
    found = _hashes.get(term)
    if found is None:
        if len(_hashes) >= _HASHES:
            _hashes.clear()
        found = int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little", signed=True)
        _hashes[term] = found
    return found


def _pack(part: _Part) -> bytes:
    head = np.array((len(part.terms), len(part.docs)), np.uint32)
    return b"".join(array.tobytes() for array in (head, *part))


def _unpack(data: bytes) -> _Part:
    terms, postings = np.frombuffer(data, np.uint32, 2).tolist()
    at = 8
    starts = at + 8 * terms
    docs = starts + 4 * terms
    counts = docs + 2 * postings
    return _Part(
        np.frombuffer(data, np.int64, terms, at),
        np.frombuffer(data, np.uint32, terms, starts),
        np.frombuffer(data, np.uint16, postings, docs),
        np.frombuffer(data, np.uint8, postings, counts),
    )


def _spread(part: _Part) -> NDArray[np.int64]:
    """The term of each posting."""
    return np.repeat(part.terms, np.diff(part.starts, append=np.uint32(len(part.docs))))


# ---- writing


def unsealed_namespace(connection: Connection, at_least: int = SEAL_AT) -> int | None:
    """A namespace where so many documents wait to be sealed, if there is one."""
    row = connection.execute("select ns from namespace where docs - sealed >= ? limit 1", (at_least,)).fetchone()
    return None if row is None else int(row[0])


def seal_step(
    connection: Connection, load: Callable[[int], Document | None], max_docs: int = SEAL_AT, ns: int | None = None
) -> int:
    """Move up to `max_docs` waiting documents of one namespace into the index, oldest first. Returns how many; 0: none is due.

    load: gives the document of a memory's `seq`, None if it is gone.
    ns: whose documents to move even if they are few; left out, a namespace that has at least 256.
    """
    if ns is None:
        ns = unsealed_namespace(connection)
        if ns is None:
            return 0
    rows = connection.execute(
        "select doc, seq from unsealed where ns = ? order by doc limit ?", (ns, min(max_docs, _SPAN // 2))
    ).fetchall()
    if not rows:
        connection.execute("update namespace set sealed = docs where ns = ?", (ns,))
        return 0
    first: int = connection.execute("select sealed from namespace where ns = ?", (ns,)).fetchone()[0]
    if rows[-1][0] - first >= _SPAN:  # a long run of purged documents lies before these
        first = rows[0][0]
        rows = [row for row in rows if row[0] - first < _SPAN]
    hashes: list[int] = []
    counts: list[int] = []
    sizes: list[int] = []
    taken: list[int] = []
    lengths: list[int] = []
    flags: list[int] = []
    for doc, seq in rows:
        found = load(seq)
        taken.append(doc - first)
        if found is None:
            sizes.append(0)
            lengths.append(0)
            flags.append(0)
            continue
        hashes.extend([_hashes.get(term) or hash_of(term) for term in found.counts])
        counts.extend(found.counts.values())
        sizes.append(len(found.counts))
        lengths.append(found.length)
        flags.append(found.flags)
        if len(hashes) > _STEP_POSTINGS:
            break
    n = taken[-1] + 1
    places = np.array(taken, np.uint16)
    lens = np.zeros(n, np.uint16)
    lens[places] = np.minimum(lengths, _MAX_LENGTH)
    bits = np.zeros(n, np.uint8)
    bits[places] = flags
    _write_segment(
        connection,
        ns,
        first,
        np.array(hashes, np.int64),
        np.repeat(places, sizes),
        np.minimum(np.array(counts, np.int64), _MAX_COUNT).astype(np.uint8),
        lens,
        bits,
    )
    connection.execute("delete from unsealed where ns = ? and doc < ?", (ns, first + n))
    connection.execute("update namespace set sealed = ?, generation = generation + 1 where ns = ?", (first + n, ns))
    while _merge(connection, ns):
        pass
    return len(taken)


def _write_segment(
    connection: Connection,
    ns: int,
    first: int,
    hashes: NDArray[np.int64],
    docs: NDArray[np.uint16],
    counts: NDArray[np.uint8],
    lens: NDArray[np.uint16],
    flags: NDArray[np.uint8],
) -> None:
    """Write a segment from postings in any order in which each term's documents ascend."""
    order = np.argsort(hashes, kind="stable")
    hashes, docs, counts = hashes[order], docs[order], counts[order]
    connection.execute(
        "insert into segment(ns, doc, n, postings, lens, flags) values(?, ?, ?, ?, ?, ?)",
        (ns, first, len(lens), len(docs), lens.tobytes(), flags.tobytes()),
    )
    if not len(docs):
        return
    starts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    ends = np.append(starts[1:], len(docs))
    rows = (np.cumsum(12 + 3 * (ends - starts)) - 1) // _ROW_BYTES
    cuts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1], [True]))).tolist()
    parts = []
    for low, high in pairwise(cuts):
        begin, end = starts[low], ends[high - 1]
        part = _Part(
            hashes[starts[low:high]], (starts[low:high] - begin).astype(np.uint32), docs[begin:end], counts[begin:end]
        )
        parts.append((ns, first, int(part.terms[0]), _pack(part)))
    connection.executemany("insert into post(ns, doc, term, data) values(?, ?, ?, ?)", parts)


def _class(postings: int) -> int:
    return sum(postings >= limit for limit in _CLASSES)


def _merge(connection: Connection, ns: int) -> bool:
    """Merge the newest segments of one size into one, if there are enough of them."""
    segments = connection.execute("select doc, n, postings from segment where ns = ? order by doc", (ns,)).fetchall()
    run: list[tuple[int, int, int]] = []
    size = 0
    for segment in reversed(segments):
        kind = _class(segment[2])
        end = run[0][0] + run[0][1] if run else segment[0] + segment[1]
        if kind == len(_CLASSES) or (run and kind != _class(run[0][2])) or end - segment[0] > _SPAN:
            break
        run.append(segment)
        size += segment[2]
        if len(run) == _RUN or (len(run) > 1 and size >= _MERGE_POSTINGS):
            _merge_run(connection, ns, run[::-1])
            return True
    return False


def _merge_run(connection: Connection, ns: int, run: Sequence[tuple[int, int, int]]) -> None:
    first = run[0][0]
    last = run[-1][0]
    lens = np.zeros(last + run[-1][1] - first, np.uint16)
    flags = np.zeros(len(lens), np.uint8)
    for doc, n, lens_blob, flags_blob in connection.execute(
        "select doc, n, lens, flags from segment where ns = ? and doc between ? and ?", (ns, first, last)
    ):
        lens[doc - first : doc - first + n] = np.frombuffer(lens_blob, np.uint16)
        flags[doc - first : doc - first + n] = np.frombuffer(flags_blob, np.uint8)
    rows = connection.execute(
        "select doc, data from post where ns = ? and doc between ? and ? order by doc, term", (ns, first, last)
    ).fetchall()
    parts = [(doc, _unpack(data)) for doc, data in rows]
    hashes = [_spread(part) for _, part in parts]
    docs = [part.docs + np.uint16(doc - first) for doc, part in parts]
    counts = [part.counts for _, part in parts]
    connection.execute("delete from post where ns = ? and doc between ? and ?", (ns, first, last))
    connection.execute("delete from segment where ns = ? and doc between ? and ?", (ns, first, last))
    _write_segment(
        connection,
        ns,
        first,
        np.concatenate(hashes) if hashes else np.empty(0, np.int64),
        np.concatenate(docs) if docs else np.empty(0, np.uint16),
        np.concatenate(counts) if counts else np.empty(0, np.uint8),
        lens,
        flags,
    )


def remove(connection: Connection, ns: int, docs: Iterable[int]) -> int:
    """Take documents out of the index, waiting or sealed, by reading every posting of their segments. Returns postings removed.

    Give all the documents of one purge at once: the cost is that of rewriting the segments that hold them.
    """
    gone = np.unique(np.fromiter(docs, np.int64))
    connection.executemany("delete from unsealed where ns = ? and doc = ?", ((ns, doc) for doc in gone.tolist()))
    removed = 0
    touched = False
    for first, n, lens_blob, flags_blob in connection.execute(
        "select doc, n, lens, flags from segment where ns = ? order by doc", (ns,)
    ).fetchall():
        here = gone[np.searchsorted(gone, first) : np.searchsorted(gone, first + n)] - first
        if not len(here):
            continue
        touched = True
        dead = np.zeros(_SPAN, bool)
        dead[here] = True
        lost = 0
        for row, data in connection.execute(
            "select id, data from post where ns = ? and doc = ?", (ns, first)
        ).fetchall():
            lost += _replace(connection, row, ns, first, _unpack(data), dead)
        lens, flags = np.frombuffer(lens_blob, np.uint16).copy(), np.frombuffer(flags_blob, np.uint8).copy()
        lens[here] = 0
        flags[here] = 0
        connection.execute(
            "update segment set postings = postings - ?, lens = ?, flags = ? where ns = ? and doc = ?",
            (lost, lens.tobytes(), flags.tobytes(), ns, first),
        )
        removed += lost
    if touched:
        connection.execute("update namespace set generation = generation + 1 where ns = ?", (ns,))
    return removed


def _replace(connection: Connection, row: int, ns: int, first: int, part: _Part, dead: NDArray[np.bool_]) -> int:
    lost = dead[part.docs]
    count = int(np.count_nonzero(lost))
    if not count:
        return 0
    connection.execute("delete from post where id = ?", (row,))
    stay = ~lost
    hashes = _spread(part)[stay]
    if len(hashes):
        starts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
        rest = _Part(hashes[starts], starts.astype(np.uint32), part.docs[stay], part.counts[stay])
        connection.execute(
            "insert into post(ns, doc, term, data) values(?, ?, ?, ?)", (ns, first, int(rest.terms[0]), _pack(rest))
        )
    return count


def remove_namespace(connection: Connection, ns: int) -> None:
    """Empty a namespace's index. Document numbers go on from where they were."""
    for table in ("unsealed", "segment", "post"):
        connection.execute(f"delete from {table} where ns = ?", (ns,))
    connection.execute("update namespace set sealed = docs, generation = generation + 1 where ns = ?", (ns,))


def rebuild(
    connection: Connection, load: Callable[[int], Document | None], namespaces: Iterable[int] | None = None
) -> int:
    """Make the index of these namespaces (all, if left out) anew from the rows of `memory`. Returns how many documents it holds."""
    if namespaces is None:
        namespaces = [row[0] for row in connection.execute("select ns from namespace").fetchall()]
    total = 0
    for ns in namespaces:
        remove_namespace(connection, ns)
        total += connection.execute(
            "insert into unsealed(ns, doc, seq) select ns, doc, seq from memory"
            " where ns = ? and doc is not null and version is not null",
            (ns,),
        ).rowcount
        connection.execute("update namespace set sealed = 0 where ns = ?", (ns,))
        while connection.execute("select docs - sealed from namespace where ns = ?", (ns,)).fetchone()[0] >= SEAL_AT:
            if not seal_step(connection, load, 8 * SEAL_AT, ns):
                break
    return total


# ---- reading


def lengths_and_flags(
    connection: Connection, ns: int, start: int, end: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """The lengths and flags of the documents from `start` up to, not including, `end`; 0 for those that are not sealed."""
    lens = np.zeros(max(end - start, 0), np.uint16)
    flags = np.zeros(len(lens), np.uint8)
    for doc, n, lens_blob, flags_blob in connection.execute(
        "select doc, n, lens, flags from segment where ns = ? and doc + n > ? and doc < ?", (ns, start, end)
    ):
        low, high = max(doc, start), min(doc + n, end)
        lens[low - start : high - start] = np.frombuffer(lens_blob, np.uint16)[low - doc : high - doc]
        flags[low - start : high - start] = np.frombuffer(flags_blob, np.uint8)[low - doc : high - doc]
    return lens, flags


class PartCache:
    """Rows of postings that were read lately, up to a number of bytes. Safe for threads."""

    def __init__(self, max_bytes: int = 24 << 20) -> None:
        self.size = 0
        self._max = max_bytes
        self._parts: OrderedDict[int, tuple[int, _Part]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, connection: Connection, row: int) -> _Part:
        """The row of this number. KeyError if the snapshot does not hold it."""
        with self._lock:
            known = self._parts.get(row)
            if known is not None:
                self._parts.move_to_end(row)
                return known[1]
        found: Any = connection.execute("select data from post where id = ?", (row,)).fetchone()
        if found is None:
            raise KeyError(row)
        part = _unpack(found[0])
        with self._lock:
            if row not in self._parts:
                self._parts[row] = len(found[0]), part
                self.size += len(found[0])
            while self.size > self._max and len(self._parts) > 1:
                self.size -= self._parts.popitem(last=False)[1][0]
        return part


class Directory:
    """Where the postings of a namespace's terms are, as of one generation of its index."""

    def __init__(self, connection: Connection, ns: int) -> None:
        self._segments: list[tuple[int, list[int], list[int]]] = []
        for row, doc, term in connection.execute(
            "select id, doc, term from post where ns = ? order by doc, term", (ns,)
        ):
            if not self._segments or self._segments[-1][0] != doc:
                self._segments.append((doc, [], []))
            self._segments[-1][1].append(term)
            self._segments[-1][2].append(row)

    def postings(self, connection: Connection, term: int, cache: PartCache) -> Postings:
        """The sealed documents that hold the term of this hash."""
        docs: list[NDArray[np.uint32]] = []
        counts: list[NDArray[np.uint8]] = []
        for first, terms, rows in self._segments:
            at = bisect_right(terms, term) - 1
            if at < 0:
                continue
            part = cache.get(connection, rows[at])
            place = int(part.terms.searchsorted(term))
            if place == len(part.terms) or part.terms[place] != term:
                continue
            low = int(part.starts[place])
            high = int(part.starts[place + 1]) if place + 1 < len(part.terms) else len(part.docs)
            docs.append(part.docs[low:high] + np.uint32(first))
            counts.append(part.counts[low:high])
        if len(docs) == 1:
            return Postings(docs[0], counts[0])
        if not docs:
            return Postings(np.empty(0, np.uint32), np.empty(0, np.uint8))
        return Postings(np.concatenate(docs), np.concatenate(counts))
