"""The text index in a store's file against the simplest possible one, and what a purge leaves of it."""

from __future__ import annotations

import random
import sqlite3
import weakref
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.storage import textindex
from memgraph.storage.sqlite.schema import MIGRATIONS
from memgraph.storage.textindex import SEAL_AT, Directory, Document, PartCache, hash_of

WORDS = [f"word{number}" for number in range(300)]


class Shelf:
    """A file with the store's tables, and beside it the same index as a plain dictionary."""

    def __init__(self, path: Path | str = ":memory:", namespaces: int = 1) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        weakref.finalize(self, self.connection.close)
        self.connection.execute("pragma secure_delete = on")
        if path != ":memory:":
            self.connection.execute("pragma journal_mode = wal")
        for statement in MIGRATIONS[0].split(";"):
            if statement.strip():
                self.connection.execute(statement)
        for number in range(1, namespaces + 1):
            self.connection.execute("insert into namespace(ns, path) values(?, ?)", (number, f"space {number}"))
        self.documents: dict[int, Document] = {}
        self.places: dict[tuple[int, int], int] = {}

    def add(self, counts: dict[str, int], ns: int = 1, flags: int = 0) -> int:
        """One more document; returns its number."""
        execute = self.connection.execute
        doc: int = execute("select docs from namespace where ns = ?", (ns,)).fetchone()[0]
        seq = execute(
            "insert into memory(ns, id, doc, version) values(?, ?, ?, '')", (ns, f"{ns}/{doc}", doc)
        ).lastrowid
        assert seq is not None
        execute("insert into unsealed(ns, doc, seq) values(?, ?, ?)", (ns, doc, seq))
        execute("update namespace set docs = docs + 1 where ns = ?", (ns,))
        self.documents[seq] = Document(counts, sum(counts.values()), flags)
        self.places[ns, doc] = seq
        return doc

    def seal(self, max_docs: int = SEAL_AT, ns: int | None = None) -> int:
        self.connection.execute("begin immediate")
        moved = textindex.seal_step(self.connection, self.documents.get, max_docs, ns)
        self.connection.execute("commit")
        return moved

    def seal_all(self) -> None:
        for (ns,) in self.connection.execute("select ns from namespace").fetchall():
            while self.seal(ns=ns):
                pass

    def purge(self, docs: list[int], ns: int = 1) -> None:
        self.connection.execute("begin immediate")
        textindex.remove(self.connection, ns, docs)
        for doc in docs:
            seq = self.places.pop((ns, doc), None)
            if seq is not None:
                del self.documents[seq]
                self.connection.execute("delete from memory where seq = ?", (seq,))
        self.connection.execute("commit")

    def sealed(self, ns: int = 1) -> int:
        found: int = self.connection.execute("select sealed from namespace where ns = ?", (ns,)).fetchone()[0]
        return found

    def check(self, ns: int = 1) -> None:
        """The index holds exactly what the dictionary holds."""
        sealed = self.sealed(ns)
        directory, cache = Directory(self.connection, ns), PartCache()
        wanted: dict[str, dict[int, int]] = {word: {} for word in WORDS}
        lengths, flags = np.zeros(sealed, np.uint16), np.zeros(sealed, np.uint8)
        for (space, doc), seq in self.places.items():
            if space == ns and doc < sealed:
                lengths[doc], flags[doc] = self.documents[seq].length, self.documents[seq].flags
                for term, count in self.documents[seq].counts.items():
                    wanted.setdefault(term, {})[doc] = min(count, 255)
        for term, holders in wanted.items():
            docs, counts = directory.postings(self.connection, hash_of(term), cache)
            assert docs.tolist() == sorted(holders), term
            assert dict(zip(docs.tolist(), counts.tolist(), strict=True)) == holders
        found = textindex.lengths_and_flags(self.connection, ns, 0, sealed)
        assert np.array_equal(found[0], lengths)
        assert np.array_equal(found[1], flags)
        waiting = self.connection.execute("select doc, seq from unsealed where ns = ? order by doc", (ns,)).fetchall()
        assert waiting == sorted(
            (doc, seq) for (space, doc), seq in self.places.items() if space == ns and doc >= sealed
        )


def text_of(chance: random.Random, most: int = 12) -> dict[str, int]:
    return dict(Counter(WORDS[int(len(WORDS) * chance.random() ** 3)] for _ in range(chance.randint(1, most))))


@given(
    st.integers(0, 2**32),
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(1, 300)),
            st.tuples(st.just("seal"), st.integers(1, 400)),
            st.tuples(st.just("purge"), st.integers(1, 60)),
            st.tuples(st.just("rebuild"), st.just(0)),
        ),
        max_size=12,
    ),
)
def test_it_equals_a_dictionary(seed: int, steps: list[tuple[str, int]]) -> None:
    chance = random.Random(seed)
    shelf = Shelf(namespaces=2)
    for step, size in steps:
        ns = chance.choice((1, 1, 2))
        if step == "add":
            for _ in range(size):
                shelf.add(text_of(chance), ns, flags=chance.randrange(8))
        elif step == "seal":
            shelf.seal(size, ns)
        elif step == "purge":
            there = [doc for space, doc in shelf.places if space == ns]
            shelf.purge(chance.sample(there, min(size, len(there))), ns)
        else:
            shelf.connection.execute("begin immediate")
            textindex.rebuild(shelf.connection, shelf.documents.get)
            shelf.connection.execute("commit")
    shelf.check(1)
    shelf.check(2)
    shelf.seal_all()
    shelf.check(1)
    shelf.check(2)


def test_many_small_segments_become_few() -> None:
    chance = random.Random(5)
    shelf = Shelf()
    for _ in range(40):
        for _ in range(SEAL_AT):
            shelf.add(text_of(chance, 30))
        assert shelf.seal() == SEAL_AT
    assert shelf.seal() == 0
    assert shelf.connection.execute("select count(*) from segment").fetchone()[0] < 16
    assert shelf.connection.execute("select max(length(data)) from post").fetchone()[0] < 100_000
    shelf.check()


def test_a_namespace_is_sealed_only_when_enough_wait() -> None:
    shelf = Shelf()
    for number in range(SEAL_AT):
        assert shelf.seal() == 0
        shelf.add({f"word{number}": 1})
    assert shelf.seal() == SEAL_AT
    assert shelf.seal() == 0


def test_a_step_ends_early_after_long_texts() -> None:
    shelf = Shelf()
    for _ in range(SEAL_AT):
        shelf.add({f"term{number}": 1 for number in range(3000)})
    moved = shelf.seal()
    assert 0 < moved < 20
    while shelf.sealed() < SEAL_AT:
        assert shelf.seal(ns=1)
    docs, counts = Directory(shelf.connection, 1).postings(shelf.connection, hash_of("term2999"), PartCache())
    assert docs.tolist() == list(range(SEAL_AT))
    assert set(counts.tolist()) == {1}


def test_a_long_run_of_purged_documents_is_passed_over() -> None:
    shelf = Shelf()
    shelf.add({"before": 1})
    shelf.seal(ns=1)
    shelf.connection.execute("update namespace set docs = 200000")
    shelf.add({"after": 2})
    assert shelf.seal() == 1
    assert shelf.sealed() == 200_001
    docs, counts = Directory(shelf.connection, 1).postings(shelf.connection, hash_of("after"), PartCache())
    assert (docs.tolist(), counts.tolist()) == ([200_000], [2])


def test_a_namespace_can_be_emptied_and_goes_on_counting() -> None:
    shelf = Shelf()
    for _ in range(300):
        shelf.add({"word1": 1})
    shelf.seal()
    textindex.remove_namespace(shelf.connection, 1)
    shelf.places.clear()
    shelf.check()
    assert shelf.add({"word1": 1}) == 300
    shelf.seal(ns=1)
    shelf.check()


def test_a_row_that_was_read_stays_good_and_a_missing_one_is_an_error() -> None:
    shelf = Shelf()
    for _ in range(20):
        shelf.add({"word1": 1})
    shelf.seal(ns=1)
    cache, before = PartCache(), Directory(shelf.connection, 1)
    old = before.postings(shelf.connection, hash_of("word1"), cache).docs.tolist()
    shelf.purge([3])
    assert before.postings(shelf.connection, hash_of("word1"), cache).docs.tolist() == old
    with pytest.raises(KeyError):
        before.postings(shelf.connection, hash_of("word1"), PartCache())
    shelf.check()


def test_the_cache_keeps_to_its_size() -> None:
    shelf = Shelf()
    for number in range(3000):
        shelf.add({f"term{number}": 1, f"term{number + 1}": 1})
    while shelf.seal(ns=1):
        pass
    cache, directory = PartCache(max_bytes=50_000), Directory(shelf.connection, 1)
    for number in range(1, 3000, 50):
        docs = directory.postings(shelf.connection, hash_of(f"term{number}"), cache).docs
        assert docs.tolist() == [number - 1, number]
        assert cache.size <= 100_000


class TestPurgedBytes:
    """A purged term leaves nothing of itself in the file, once the write-ahead log is emptied."""

    @pytest.mark.parametrize("sealed", [True, False])
    def test_nothing_of_a_purged_term_is_left(self, tmp_path: Path, sealed: bool) -> None:
        file = tmp_path / "index.db"
        shelf = Shelf(file)
        chance = random.Random(9)
        secret = {"canary-of-the-purge": 3, "word2": 1}
        doc = 0
        for number in range(600):
            if number == 300:
                doc = shelf.add(secret)
            shelf.add(text_of(chance))
        if sealed:
            shelf.seal_all()
        mark = hash_of("canary-of-the-purge").to_bytes(8, "little", signed=True)
        shelf.connection.execute("pragma wal_checkpoint(truncate)")
        assert (mark in file.read_bytes()) is sealed
        shelf.purge([doc])
        assert shelf.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0] == 0
        shelf.check()
        left = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert mark not in left
        assert b"canary" not in left
