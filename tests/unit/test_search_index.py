"""The search of the local store against the ranking written out in plain Python, whatever happens between two searches."""

from __future__ import annotations

import math
import random
import sqlite3
import struct
import weakref
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.backends.base import Query
from memgraph.backends.local import index
from memgraph.backends.local.apply import GONE, MEMORY
from memgraph.backends.local.search import SearchIndex
from memgraph.checks import micros
from memgraph.clock import EPOCH
from memgraph.models import Filters
from memgraph.rules import text
from memgraph.storage import textindex
from memgraph.storage.sqlite.schema import MIGRATIONS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
START = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = (
    "porto", "berlin", "lisbon", "garden", "violin", "bread", "coffee", "river", "the", "to", "yesterday", "my", "ada",
    "paris?", "where", "main.py", "部署方案", "monday", "train", "museum", "swim", "swimming", "swims",
)  # fmt: skip
QUERIES = (
    "porto", "What does Ada think of the garden and the violin?", "when did Bo swim", "the to", "main.py", "部署",
    "bread coffee river train museum", "my garden on 2026-01-03", "Ada and Bo in Lisbon", "nothing-of-this", "?!",
)  # fmt: skip


@dataclass
class Memory:
    """A row of the table, as the plain ranking sees it."""

    seq: int
    doc: int
    ms: int
    content: str
    session: str | None
    actor: str | None
    subject: str | None
    status: int = 0
    expires: datetime | None = None
    terms: text.Terms = field(default_factory=lambda: text.terms(""))


class Store:
    """The tables of a store, written to by hand, and what they hold as plain objects."""

    def __init__(self, path: Path | None = None, chance: random.Random | None = None) -> None:
        self.path = path
        self.connection = self.connect()
        self.chance = chance or random.Random(1)
        for statement in MIGRATIONS[0].split(";"):
            if statement.strip():
                self.connection.execute(statement)
        for ns in (1, 2):
            self.connection.execute("insert into namespace(ns, path) values(?, ?)", (ns, f"space {ns}"))
        self.memories: dict[int, list[Memory]] = {1: [], 2: []}
        self.clock = int((START - EPOCH).total_seconds() * 1000)

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path or ":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, connection.close)
        connection.execute("pragma secure_delete = on")
        if self.path is not None:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = off")
        return connection

    def add(self, ns: int, **given: Any) -> Memory:
        """One more memory, of random words unless some are given."""
        pick = self.chance.choice
        self.clock += 3_600_000
        late = self.chance.random() < 0.1 and not given
        values: dict[str, Any] = {
            "content": " ".join(pick(VOCABULARY) for _ in range(self.chance.randint(1, 9))),
            "session": pick((None, "s1", "s2", "s3")),
            "actor": pick((None, "Ada", "Bo")),
            "subject": pick((None, None, "Ada", "Lisbon")),
            "ms": self.clock - (20 * 3_600_000 + self.chance.randrange(1000) if late else 0),
            "expires": pick((None, None, None, NOW - timedelta(days=1), NOW + timedelta(days=1))),
            **given,
        }
        execute = self.connection.execute
        doc: int = execute("select docs from namespace where ns = ?", (ns,)).fetchone()[0]
        seq = execute(
            "insert into memory(ns, id, doc, version, content, session, actor, subject, expires_at, kind, tags, aliases,"
            " metadata, confidence, pinned, source, trust) values(?,?,?,?,?,?,?,?,?,'fact','[]','[]','{}',.8,0,'a','agent')",
            (
                ns,
                f"m{ns}-{doc}",
                doc,
                f"{values['ms']:012x}-0000-00000000",
                values["content"],
                values["session"],
                values["actor"],
                values["subject"],
                None if values["expires"] is None else micros(values["expires"]),
            ),
        ).lastrowid
        assert seq is not None
        execute("insert into unsealed(ns, doc, seq) values(?, ?, ?)", (ns, doc, seq))
        execute("update namespace set docs = docs + 1 where ns = ?", (ns,))
        execute("insert into change(ns, what, a) values(?, ?, ?)", (ns, MEMORY, seq))
        made = Memory(seq, doc, **values)
        made.terms = text.terms(made.content, actor=made.actor, when=EPOCH + timedelta(milliseconds=made.ms))
        self.memories[ns].append(made)
        return made

    def turn_status(self, ns: int, memory: Memory, status: int) -> None:
        memory.status = status
        self.connection.execute("update memory set status = ? where seq = ?", (status, memory.seq))
        self.connection.execute("insert into change(ns, what, a) values(?, ?, ?)", (ns, MEMORY, memory.seq))

    def purge(self, ns: int, memories: list[Memory]) -> None:
        self.connection.execute("begin immediate")
        for memory in memories:
            self.memories[ns].remove(memory)
            self.connection.execute("delete from memory where seq = ?", (memory.seq,))
            self.connection.execute(
                "insert into change(ns, what, a, b) values(?, ?, ?, ?)", (ns, GONE, memory.seq, memory.doc)
            )
        textindex.remove(self.connection, ns, [memory.doc for memory in memories])
        self.connection.execute("commit")

    def seal(self, ns: int | None = None) -> None:
        self.connection.execute("begin immediate")
        textindex.seal_step(self.connection, index.loader(self.connection), 64, ns)
        self.connection.execute("commit")

    def rebuild(self) -> None:
        self.connection.execute("begin immediate")
        index.rebuild(self.connection)
        self.connection.execute("commit")


def plainly(memories: list[Memory], query: Query) -> dict[int, tuple[float, int]]:
    """The ranking of `rules/ranking.py`, said again without arrays: by seq, the score without recency and the place in order."""
    known = [m for m in memories if query.known_at is None or m.ms <= micros(query.known_at) // 1000]
    every = query.include_inactive or query.known_at is not None
    seen = [m for m in known if every or (m.status == 0 and (m.expires is None or m.expires > query.now))]
    if not seen:
        return {}
    terms = text.query_terms(query.text)
    average = sum(m.terms.length for m in seen) / len(seen) or 1.0
    holding = {term: [m for m in seen if term in m.terms.counts] for term in terms}
    idf = {
        term: math.log(1 + (len(seen) - len(held) + 0.5) / (len(held) + 0.5)) for term, held in holding.items() if held
    }
    bm25: dict[int, float] = defaultdict(float)
    for term, weight in idf.items():
        for m in holding[term]:
            count = m.terms.counts[term]
            bm25[m.seq] += weight * 1.9 * count / (count + 0.9 * (0.6 + 0.4 * m.terms.length / average))
    words = query.text.lower().replace("?", "").split()
    named = {
        name
        for name in ("ada", "bo", "lisbon")
        if name in words and any(name in ((m.actor or "").lower(), (m.subject or "").lower()) for m in seen)
    }
    lines: dict[str, list[Memory]] = defaultdict(list)
    for m in sorted(memories, key=lambda m: (m.ms, m.doc)):
        if m.session and m.actor:
            lines[m.session].append(m)
    place = {m.seq: (line, at) for line in lines.values() for at, m in enumerate(line)}

    def near(m: Memory, offset: int) -> Memory | None:
        line, at = place.get(m.seq, ([], 0))
        return line[at + offset] if 0 <= at + offset < len(line) else None

    total_weight = sum(weight for term, weight in idf.items() if term not in named)
    sessions: dict[str, list[float]] = defaultdict(list)
    for m in seen:
        if m.session and bm25.get(m.seq):
            sessions[m.session].append(bm25[m.seq])
    session_count = len({m.session for m in memories if m.session})
    order = {m.seq: at for at, m in enumerate(sorted(memories, key=lambda m: (m.ms, m.doc)))}
    scores: dict[int, tuple[float, int]] = {}
    for m in seen:
        around = {offset: near(m, offset) for offset in (-2, -1, 1, 2)}
        value = bm25.get(m.seq, 0.0)
        for offset, weight in ((-1, 0.35), (1, 0.2), (-2, 0.2), (2, 0.1)):
            other = around[offset]
            value += weight * bm25.get(other.seq, 0.0) if other else 0.0
        asked = around[-1]
        if asked and asked.terms.flags & text.ASKS:
            value += 0.5 * bm25.get(asked.seq, 0.0)
        window = [m.seq, *(other.seq for other in around.values() if other)]
        covered = sum(
            weight
            for term, weight in idf.items()
            if term not in named and any(held.seq in window for held in holding[term])
        )
        value += 7 * covered / total_weight if total_weight else 0.0
        if session_count > 1 and m.session:
            value += 0.3 * sum(sorted(sessions[m.session], reverse=True)[:5])
        if value <= 0:
            continue
        value += 0.0 if m.terms.flags & text.ASKS else 1.0
        if len(named) == 1:
            (name,) = named
            mine = (m.actor or "").lower() == name
            value += 5.0 if mine or (m.subject or "").lower() == name else 0.0
            value += 2.5 if mine and m.terms.flags & text.FIRST_PERSON else 0.0
        if query.text.lower().startswith("when") and m.terms.flags & text.HAS_TIME:
            value += 5.0
        if "2026-01-03" in query.text:
            late = (EPOCH + timedelta(milliseconds=m.ms)).date() - datetime(2026, 1, 3).date()
            value += 4.0 * (1 - late.days / 10) if 0 <= late.days < 10 else 0.0
        scores[m.seq] = value, order[m.seq]
    return scores


def agree(
    store: Store, found: SearchIndex, ns: int, query: Query, connection: sqlite3.Connection | None = None
) -> None:
    """The page that a search returns is the best of the plain ranking, score by score."""
    hits = found.search(connection or store.connection, [(ns, "")], query)
    plain = plainly(store.memories[ns], query)
    n = store.connection.execute("select docs from namespace where ns = ?", (ns,)).fetchone()[0]
    whole = n == len(store.memories[ns])  # purged documents keep their places in the order that recency counts
    whys = {seq: why or {} for seq, _, why in hits}
    wanted = {seq: value for seq, (value, _) in plain.items()}
    assert len(hits) == min(query.limit, len(wanted))
    for seq, score, _ in hits:
        recency = whys[seq].get("recency", 0.0)
        assert sum(whys[seq].values()) == pytest.approx(score)
        assert score - recency == pytest.approx(wanted[seq], abs=1e-3)
        assert recency == pytest.approx(plain[seq][1] / n, abs=1e-6) if whole else 0 <= recency < 1
    scores = [score for _, score, _ in hits]
    assert scores == sorted(scores, reverse=True)
    left_out = [value + place / n * whole for seq, (value, place) in plain.items() if seq not in whys]
    if left_out and hits:
        assert max(left_out) < scores[-1] + 1e-3


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "status", "purge", "seal", "rebuild", "search", "search"]),
        st.sampled_from([1, 2, 30]),
        st.sampled_from([1, 1, 2]),
    ),
    max_size=25,
)


@given(st.integers(0, 2**32), STEPS)
def test_it_is_the_plain_ranking(seed: int, steps: list[tuple[str, int, int]]) -> None:
    chance = random.Random(seed)
    store, found = Store(chance=chance), SearchIndex()

    def search(ns: int) -> None:
        for words in QUERIES:
            query = Query(
                text=words,
                now=NOW,
                limit=chance.choice((1, 5, 100)),
                include_inactive=chance.random() < 0.2,
                known_at=START + timedelta(hours=chance.randrange(200)) if chance.random() < 0.2 else None,
                explain=True,
            )
            agree(store, found, ns, query)

    for step, size, ns in [*steps, ("search", 1, 1), ("search", 1, 2)]:
        there = store.memories[ns]
        if step == "add":
            for _ in range(size):
                store.add(ns)
        elif step == "status" and there:
            for _ in range(size):
                store.turn_status(ns, chance.choice(there), chance.randrange(4))
        elif step == "purge" and there:
            store.purge(ns, chance.sample(there, min(size, len(there))))
        elif step == "seal":
            store.seal(ns)
        elif step == "rebuild":
            store.rebuild()
        elif step == "search":
            search(ns)


class TestKeepingUp:
    def test_another_processes_writes_are_seen_at_the_next_search(self, tmp_path: Path) -> None:
        store, found = Store(tmp_path / "store.db"), SearchIndex()
        reader = store.connect()
        for _ in range(300):
            store.add(1)
        for _ in range(5):
            agree(store, found, 1, Query("porto river", NOW, limit=50, explain=True), reader)
            store.seal(1)
            store.add(1)
            store.turn_status(1, store.memories[1][7], 2)
            store.purge(1, store.memories[1][3:5])

    def test_a_seal_that_the_change_log_does_not_tell_of(self, tmp_path: Path) -> None:
        store, found = Store(tmp_path / "store.db"), SearchIndex()
        for _ in range(200):
            store.add(1)
        query = Query("porto river", NOW, limit=50, explain=True)
        for _ in range(5):
            store.seal(1)
            agree(store, found, 1, query)
        store.rebuild()
        agree(store, found, 1, query)

    def test_a_snapshot_older_than_what_was_seen_is_taken_anew(self, tmp_path: Path) -> None:
        store, found = Store(tmp_path / "store.db"), SearchIndex()
        for _ in range(100):
            store.add(1)
        old = store.connect()
        old.execute("begin")
        old.execute("select count(*) from memory").fetchone()
        store.add(1, content="porto porto", expires=None)
        store.seal(1)
        query = Query("porto", NOW, limit=50, explain=True)
        agree(store, found, 1, query)
        agree(store, found, 1, query, old)

    def test_a_trimmed_log_means_a_fresh_start(self) -> None:
        store, found = Store(), SearchIndex()
        for _ in range(50):
            store.add(1)
        query = Query("porto river", NOW, limit=50, explain=True)
        agree(store, found, 1, query)
        for _ in range(50):
            store.add(1)
        store.connection.execute("delete from change where lsn < (select max(lsn) from change)")
        agree(store, found, 1, query)
        store.add(1)
        store.connection.execute("delete from change")
        agree(store, found, 1, query)

    def test_a_purged_namespace_is_forgotten(self) -> None:
        store, found = Store(), SearchIndex()
        for _ in range(20):
            store.add(1)
            store.add(2)
        query = Query("porto river", NOW, limit=50, explain=True)
        agree(store, found, 1, query)
        store.purge(1, list(store.memories[1]))
        textindex.remove_namespace(store.connection, 1)
        store.connection.execute("delete from namespace where ns = 1")
        agree(store, found, 2, query)
        assert found.search(store.connection, [], query) == []


class TestFilters:
    def test_they_narrow_before_the_page_is_cut(self) -> None:
        store, found = Store(), SearchIndex()
        for number in range(50):
            store.add(1, content="porto", actor="Bo" if number == 3 else "Ada", session=None, expires=None)
        hits = found.search(store.connection, [(1, "")], Query("porto", NOW, limit=2, filters=Filters(actor="Bo")))
        assert [seq for seq, _, _ in hits] == [store.memories[1][3].seq]

    @pytest.mark.parametrize("share", [2, 50, 1999])
    def test_a_narrow_filter_fills_its_page_too(self, share: int) -> None:
        store, found = Store(), SearchIndex()
        store.connection.execute("begin")
        for number in range(2000):
            subject = "Lisbon" if number % share == 0 else None
            store.add(1, content="porto", subject=subject, session=f"s{number % 7}", actor=None, expires=None)
        store.connection.execute("commit")
        for filters in (Filters(subject="Lisbon"), Filters(subject="Lisbon", session="s0"), Filters(session="s0")):
            hits = found.search(store.connection, [(1, "")], Query("porto", NOW, limit=5, filters=filters))
            passing = [
                m.seq
                for m in store.memories[1]
                if (m.subject or not filters.subject) and (m.session == "s0" or not filters.session)
            ]
            assert len(hits) == min(5, len(passing))
            assert {seq for seq, _, _ in hits} <= set(passing)
        hits = found.search(store.connection, [(1, "")], Query("porto", NOW, limit=5, filters=Filters(session="none")))
        assert hits == []

    def test_a_page_is_filled_with_what_the_caller_lets_pass(self) -> None:
        store, found = Store(), SearchIndex()
        made = [store.add(1, content="porto", session=None, expires=None) for _ in range(50)]
        asked: list[int] = []

        def visible(ns: int, seq: int) -> bool:
            asked.append(seq)
            return ns == 1 and seq in (made[2].seq, made[10].seq, made[11].seq)

        query = Query("porto", NOW, limit=2, valid_at=NOW)
        hits = found.search(store.connection, [(1, "")], query, visible)
        assert {seq for seq, _, _ in hits} == {made[11].seq, made[10].seq}
        assert len(asked) < 50

    def test_namespaces_are_merged_by_score_and_stay_apart_otherwise(self) -> None:
        store, found = Store(), SearchIndex()
        here = store.add(1, content="porto", expires=None)
        there = store.add(2, content="porto garden", expires=None)
        query = Query("porto garden", NOW)
        both = found.search(store.connection, [(1, ""), (2, "")], query)
        assert [seq for seq, _, _ in both] == [there.seq, here.seq]
        assert [seq for seq, _, _ in found.search(store.connection, [(1, "")], query)] == [here.seq]

    def test_a_floor_leaves_out_what_only_its_session_reaches(self) -> None:
        store, found = Store(), SearchIndex()
        hit = store.add(1, content="porto", session="s1", actor=None, expires=None)
        store.add(1, content="bread", session="s1", actor=None, expires=None)
        store.add(1, content="bread", session="s2", actor=None, expires=None)
        assert len(found.search(store.connection, [(1, "")], Query("porto", NOW))) == 2
        floored = found.search(store.connection, [(1, "")], Query("porto", NOW, min_score=0.0))
        assert [seq for seq, _, _ in floored] == [hit.seq]


class TestContext:
    def test_it_is_added_beside_the_score(self) -> None:
        store, found = Store(), SearchIndex()
        first = store.add(1, content="porto garden", session=None, actor=None, subject=None, expires=None)
        store.add(1, content="porto museum", session=None, actor=None, subject=None, expires=None)
        plain = found.search(store.connection, [(1, "")], Query("porto", NOW, explain=True))
        query = Query("porto", NOW, context="Ada likes the Garden garden", explain=True)
        boosted = {seq: (score, why) for seq, score, why in found.search(store.connection, [(1, "")], query)}
        before = {seq: score for seq, score, _ in plain}
        assert boosted[first.seq][0] == pytest.approx(before[first.seq] + 0.1)
        assert (boosted[first.seq][1] or {})["context"] == pytest.approx(0.1)


class TestVectors:
    def test_they_add_to_the_score_and_bring_their_nearest(self) -> None:
        store, found = Store(), SearchIndex()
        made = [
            store.add(1, content=words, session=None, actor=None, subject=None, expires=None)
            for words in ("porto", "bread", "violin")
        ]

        def embed(memory: Memory, vector: tuple[float, ...], model: str = "m") -> None:
            store.connection.execute(
                "insert into embedding(seq, vector) values(?, ?)",
                (memory.seq, struct.pack(f"<{len(vector)}f", *vector)),
            )
            store.connection.execute("update memory set embedding_model = ? where seq = ?", (model, memory.seq))

        embed(made[0], (0.0, 2.0))
        embed(made[1], (3.0, 0.0))
        embed(made[2], (1.0, 0.0), "another")
        query = Query("porto", NOW, vector=(1.0, 0.0), vector_model="m", explain=True)
        hits = {seq: why or {} for seq, _, why in found.search(store.connection, [(1, "")], query)}
        assert hits.keys() == {made[0].seq, made[1].seq}
        assert hits[made[1].seq]["vector"] == pytest.approx(10.0)
        later = store.add(1, content="river", session=None, actor=None, subject=None, expires=None)
        embed(later, (1.0, 1.0))
        hits = {seq: why or {} for seq, _, why in found.search(store.connection, [(1, "")], query)}
        assert hits[later.seq]["vector"] == pytest.approx(10 / math.sqrt(2))
        store.purge(1, [made[1]])
        assert made[1].seq not in {seq for seq, _, _ in found.search(store.connection, [(1, "")], query)}


class TestNamedRankings:
    def test_loopctl_ranks_everything_and_aegis_only_what_it_finds(self) -> None:
        store, found = Store(), SearchIndex()
        made = [store.add(1, content=words, expires=None) for words in ("porto garden", "porto", "bread")]
        hits = found.search(store.connection, [(1, "")], Query("porto garden", NOW, ranking="loopctl", explain=True))
        assert [(seq, round(score, 6)) for seq, score, _ in hits] == [
            (made[0].seq, 0.9),
            (made[1].seq, 0.7),
            (made[2].seq, 0.5),
        ]
        hits = found.search(store.connection, [(1, "")], Query("porto garden", NOW, ranking="aegis"))
        assert [seq for seq, _, _ in hits] == [made[0].seq, made[1].seq]
        assert len(found.search(store.connection, [(1, "")], Query("porto", NOW, limit=1, ranking="loopctl"))) == 1


def test_lengthy_queries_are_answered() -> None:
    """B016."""
    store, found = Store(), SearchIndex()
    hit = store.add(1, content="w7 and other things", expires=None)
    for query in (" ".join(f"w{number}" for number in range(1100)), "w7 " + "prose of all kinds " * 11_000):
        assert [seq for seq, _, _ in found.search(store.connection, [(1, "")], Query(query, NOW))] == [hit.seq]
