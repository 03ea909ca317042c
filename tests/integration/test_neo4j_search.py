"""Search on a Neo4j server finds what the local store finds, whatever is typed and however much there is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.backends.neo4j import search
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.models import Filters, Selector
from memgraph.storage.bolt import Bolt
from tests.conftest import RUN
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
INPUTS = Path(__file__).parents[1] / "cases" / "inputs"
WORDS = [
    a + b
    for a in ("mar", "tel", "sor", "ban", "kil", "pon", "dru", "vis", "lam", "fer")
    for b in ("a", "et", "in", "ok", "us", "il")
]
PEOPLE = ("Ada", "Bo", "Carla")
_count = iter(range(1, 1_000_000))


@pytest.fixture(scope="module")
def primary(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    yield found
    found.close()


@pytest.fixture
def memory(primary: Neo4jBackend) -> Memory:
    """A namespace of its own on the server."""
    return Memory(primary, namespace=f"search{RUN}-{next(_count)}")


def sentence(rnd: random.Random) -> str:
    """Some words, the first of the list far more often than the last."""
    words = [WORDS[int(len(WORDS) * rnd.random() ** 2)] for _ in range(rnd.randint(4, 12))]
    return " ".join(words) + rnd.choice((".", ".", "?", " yesterday."))


def fill(memory: Memory, rnd: random.Random, turns: int, facts: int) -> None:
    """Turns of a few conversations, and facts, some of them replaced."""
    began = datetime(2025, 5, 1, tzinfo=UTC)
    rows = [
        {
            "content": rnd.choice(("", "I ", "We ")) + sentence(rnd),
            "actor": rnd.choice(PEOPLE),
            "session": f"s{turn // 25}",
            "valid_from": began + timedelta(days=turn // 25, minutes=turn),
        }
        for turn in range(turns)
    ]
    rows += [
        {"content": sentence(rnd), "key": f"k{fact % (facts * 3 // 4 + 1)}", "tags": [rnd.choice(("red", "blue"))]}
        for fact in range(facts)
    ]
    memory.remember_many(rows)


def questions(rnd: random.Random, number: int) -> list[str]:
    forms = ("{}", "What did {who} say about {}?", "When was {}", "{} and {who}", "on 3 May: {}")
    return [
        rnd.choice(forms).format(" ".join(rnd.sample(WORDS, rnd.randint(1, 4))), who=rnd.choice(PEOPLE))
        for _ in range(number)
    ]


def mirrored(primary: Neo4jBackend, memory: Memory) -> Memory:
    """A local store with the same operations."""
    local = Memory.open(":memory:", preload=False)
    local.backend.apply(item for item in primary.operations(Scope(memory.path)) if not isinstance(item, dict))
    return local.namespace(memory.path)


def overlap(memory: Memory, local: Memory, asked: list[str]) -> float:
    """The mean share of the best ten that both find."""
    shares = []
    for question in asked:
        want = {hit.entry.id for hit in local.search(question)}
        got = {hit.entry.id for hit in memory.search(question)}
        shares.append(len(want & got) / max(len(want), len(got), 1))
    return sum(shares) / len(shares)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_ten_are_those_of_the_local_store(seed: int, primary: Neo4jBackend, memory: Memory) -> None:
    """In a store where a query matches fewer than the index is first asked for, even the scores are the same."""
    rnd = random.Random(seed)
    fill(memory, rnd, turns=120, facts=60)
    asked = questions(rnd, 25)
    with mirrored(primary, memory) as local:
        share = overlap(memory, local, asked)
        print(f"overlap@10 {share:.3f}")
        assert share >= 0.98
        for question in asked[:5]:
            want, got = local.search(question, explain=True), memory.search(question, explain=True)
            for theirs, mine in zip(want, got, strict=True):
                assert mine.entry.content == theirs.entry.content or mine.score == pytest.approx(theirs.score, abs=0.02)
                assert mine.score == pytest.approx(theirs.score, abs=0.02)
                assert mine.why is not None
                assert theirs.why is not None
                assert mine.why.keys() == theirs.why.keys()


def test_where_more_match_than_the_index_is_asked_for(
    primary: Neo4jBackend, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fraction of the matches as a start, most of the best ten are the same."""
    monkeypatch.setattr(search, "SEEDS", 20)
    monkeypatch.setattr(search, "SESSIONS", 3)
    rnd = random.Random(3)
    fill(memory, rnd, turns=250, facts=100)
    with mirrored(primary, memory) as local:
        share = overlap(memory, local, questions(rnd, 25))
        print(f"overlap@10 {share:.3f} with 20 seeds")
        assert share >= 0.8


def test_filters_narrow_inside_the_index(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rare match is found however many others there are: by a filter of the index at once, by another in further rounds."""
    monkeypatch.setattr(search, "SEEDS", 10)
    rows = [{"content": f"common words on {n}", "actor": "many"} for n in range(300)]
    rows[7] |= {
        "tags": ["rare"],
        "kind": "note",
        "subject": "ann",
        "session": "s",
        "actor": "one",
        "metadata": {"n": 7},
    }
    memory.remember_many(rows)
    wanted = "common words on 7"
    for filters in (
        Filters(tags=["rare"]),
        Filters(kinds=["note", "other"]),
        Filters(subject="ann"),
        Filters(session="s"),
        Filters(actor="one"),
        Filters(where={"n": 7}),
    ):
        assert [hit.entry.content for hit in memory.search("common words", filters=filters)] == [wanted], filters
    assert len(memory.search("common words", limit=250)) == 250


def test_one_of_many_namespaces(primary: Neo4jBackend) -> None:
    """What others hold neither shows nor takes places."""
    root = f"walls{RUN}"
    for n in range(30):
        Memory(primary, namespace=(root, f"n{n}")).remember_many(
            [{"content": f"the zebra number {m} of {n}"} for m in range(20)]
        )
    mine = Memory(primary, namespace=(root, "n7")).search("zebra", limit=100)
    assert sorted(hit.entry.content for hit in mine) == sorted(f"the zebra number {m} of 7" for m in range(20))
    every = Memory(primary, namespace=root).search("zebra", limit=1000, subtree=True)
    assert len({hit.entry.namespace for hit in every}) == 30
    assert len(every) == 600


def test_whatever_is_typed(memory: Memory) -> None:
    """No text is an error or means anything to the index but its words."""
    texts = [json.loads(line) for line in (INPUTS / "lucene_docs.jsonl").read_text().splitlines()]
    memory.remember_many([{"content": text["content"], "id": f"d{text['n']}"} for text in texts])
    for line in (INPUTS / "lucene_queries.jsonl").read_text().splitlines():
        query = json.loads(line)
        found = {hit.entry.id for hit in memory.search(query["q"], limit=100)} if query["q"].strip() else set()
        assert {f"d{n}" for n in query["must_hit"] or ()} <= found, query["q"]
    asked = [
        "AND",
        "a AND",
        "NOT x",
        "a TO b",
        '"',
        "terms:x",
        "+scope:n0 zebra",
        "*:*",
        "?",
        "[a TO z]",
        "x^9",
        "\\",
        "a\\ b",
    ]
    asked += ["C++ && (a || b)!", "~", "x~1", "/re.*/", "😀 👩‍🚀", "你好", "user_id-42", "word " * 500, "\u3000x\u3000"]
    for text in asked:
        memory.search(text)
    memory.remember("the zebra crosses")
    assert [hit.entry.content for hit in memory.search("NOT zebra -zebra !zebra")] == ["the zebra crosses"]


def test_another_connections_write_is_found_at_once(
    primary: Neo4jBackend, memory: Memory, neo4j_server: Server
) -> None:
    """A search sees every write that was acknowledged before it, whoever wrote."""
    other = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    theirs = Memory(other, namespace=memory.path)
    for n in range(12):
        word = f"word{n}"
        entry = theirs.remember(f"a {word} by another")
        assert [hit.entry.id for hit in memory.search(word)] == [entry.id]
        memory.forget(entry.id)
        assert len(theirs.search(word)) == 0
    memory.purge(Selector(everything=True))
    assert len(theirs.search("another", include_inactive=True)) == 0
    other.close()


class Letters:
    """Vectors that count letters."""

    model = "letters"

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "abcdefgh"] for text in texts]


def test_vectors_add_the_same_as_in_the_local_store(primary: Neo4jBackend) -> None:
    """Nearness finds what shares no word, and weighs as much as locally; a vector of nothing but zeros is near to nothing."""
    memory = Memory(primary, namespace=f"vectors{RUN}", embedder=Letters())  # type: ignore[arg-type]
    local = Memory.open(":memory:", preload=False, embedder=Letters())  # type: ignore[arg-type]
    for each in (memory, local):
        each.remember_many([{"content": text} for text in ("aaa bbb", "abab", "gg hh", "xyz", "cc dd ee", "a c e g")])
    for query in ("ab", "hhgg", "zzz", "ace xyz"):
        want = [(hit.entry.content, hit.score) for hit in local.search(query)]
        got = [(hit.entry.content, hit.score) for hit in memory.search(query)]
        assert [content for content, _ in got] == [content for content, _ in want], query
        assert [score for _, score in got] == pytest.approx([score for _, score in want], abs=0.001)
    local.close()


@pytest.mark.parametrize("ranking", ["loopctl", "aegis"])
def test_the_seeds_scores(ranking: str, primary: Neo4jBackend, memory: Memory) -> None:
    """The rankings of the stores that memgraph grew out of are the same here."""
    fill(memory, random.Random(5), turns=20, facts=20)
    now = datetime.now(UTC)
    with mirrored(primary, memory) as local:
        for question in questions(random.Random(6), 6):
            for known_at in (None, now):
                want = local.search(question, ranking=ranking, known_at=known_at)  # type: ignore[arg-type]
                got = memory.search(question, ranking=ranking, known_at=known_at)  # type: ignore[arg-type]
                assert [(hit.entry.id, hit.score) for hit in got] == [(hit.entry.id, hit.score) for hit in want]


def test_a_search_takes_two_statements_when_nothing_was_written(
    primary: Neo4jBackend, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One finds the candidates, one reads the best; the index is waited for, and statistics are read, only after writes."""
    monkeypatch.setattr(search, "SETTLED", 0)
    fill(memory, random.Random(7), turns=30, facts=10)
    memory.search("marin telok")
    run: list[str] = []
    plain = Bolt.run

    def counted(self: Bolt, name: str, /, **parameters: object) -> list[dict[str, object]]:
        run.append(name)
        return plain(self, name, **parameters)

    monkeypatch.setattr(Bolt, "run", counted)
    memory.search("marin telok")
    assert run == ["read/search", "read/entries"]
    run.clear()
    memory.remember("one more", id="more")
    memory.search("marin telok")
    assert run.count("read/text_wait") == 1
