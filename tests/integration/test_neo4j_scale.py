"""Search on a Neo4j server where there is much: measured by samples, nearest by index, very many namespaces, writers at work.

The limits beyond which these ways are taken are set so low that a test can fill them.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from memgraph import Memory
from memgraph.backends.base import Scope
from memgraph.backends.neo4j import reads, search, statistics, vectors
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.models import Filters, Status
from memgraph.storage.bolt import Bolt
from tests.conftest import RUN
from tests.integration.test_neo4j_search import fill, mirrored, overlap, questions
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
_count = itertools.count(1)
SIZE = 16


@pytest.fixture(scope="module")
def primary(neo4j_server: Server) -> Iterator[Neo4jBackend]:
    found = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    yield found
    found.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that are run from now on."""
    names: list[str] = []
    plain = Bolt.run

    def counted(self: Bolt, name: str, /, **parameters: object) -> list[dict[str, object]]:
        names.append(name)
        return plain(self, name, **parameters)

    monkeypatch.setattr(Bolt, "run", counted)
    return names


def test_a_large_namespace_is_measured_by_samples(
    primary: Neo4jBackend, run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its size is estimated well enough that the best ten stay what they are."""
    for name, value in (("EXACT", 64), ("SAMPLE", 64), ("COUNTED", 32)):
        monkeypatch.setattr(statistics, name, value)
    memory = Memory(primary, namespace=f"samples{RUN}")
    rnd = random.Random(8)
    fill(memory, rnd, turns=500, facts=200)
    with mirrored(primary, memory) as local:
        share = overlap(memory, local, questions(rnd, 20))
    print(f"overlap@10 {share:.3f} with a sample of {statistics.SAMPLE} of 700")
    assert share >= 0.8
    assert "read/text_sample" in run
    found = statistics.Measures().of(primary.bolt, {memory.path: 700}, datetime.now(UTC))[memory.path]
    assert found.documents == pytest.approx(700, rel=0.6)  # one level of the sample is 44 of them, give or take seven


class Scattered:
    """A direction of its own for each text, near to that of texts with the same first word."""

    model = "scattered"

    def __call__(self, texts: list[str]) -> list[list[float]]:
        found = []
        for text in texts:
            base, own = random.Random(text.split()[0]), random.Random(text)
            found.append([base.gauss(0, 1) + 0.3 * own.gauss(0, 1) for _ in range(SIZE)])
        return found


def test_the_nearest_of_a_large_namespace_come_from_the_index(
    primary: Neo4jBackend, run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is made when it is first needed; from then on nearly the same is found as before, and nothing of others."""
    embedder = Scattered()
    memory = Memory(primary, namespace=f"near{RUN}", embedder=embedder)  # type: ignore[arg-type]
    other = Memory(primary, namespace=f"near{RUN}/other", embedder=embedder)  # type: ignore[arg-type]
    words = [f"w{n}" for n in range(40)]
    memory.remember_many([{"content": f"{word} {n}"} for word in words for n in range(10)])
    other.remember_many([{"content": f"{word} of another {n}"} for word in words for n in range(2)])
    exact = {word: [hit.entry.content for hit in memory.search(f"{word} again")] for word in words}
    monkeypatch.setattr(vectors, "EXACT_VECTORS", 50)
    index = search.SearchIndex()
    monkeypatch.setattr(primary, "_index", index)
    deadline = time.monotonic() + 60
    while not index._reach._ready:
        memory.search("w1 again")
        assert time.monotonic() < deadline, "the index comes online"
        time.sleep(0.2)
    time.sleep(1)  # it is eventually consistent: vectors that were there before it are in it when it is online
    run.clear()
    shares = []
    for word in words:
        got = [hit.entry for hit in memory.search(f"{word} again")]
        assert {entry.namespace for entry in got} == {memory.path}
        shares.append(len({entry.content for entry in got} & set(exact[word])) / len(exact[word]))
    assert "read/nearest_indexed" in run
    print(f"overlap@10 {sum(shares) / len(shares):.3f} by the vector index")
    assert sum(shares) / len(shares) >= 0.9


def test_what_is_written_while_the_nearest_are_looked_for_is_among_them(
    primary: Neo4jBackend, run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far it lies, and also if it is superseded by then: it was active meanwhile."""
    embedder, reach = Scattered(), vectors.Reach()
    memory = Memory(primary, namespace=f"since{RUN}", embedder=embedder)  # type: ignore[arg-type]
    first = memory.remember("w1 at first", key="w")
    newest = memory.remember_many([{"content": f"w2 {n}"} for n in range(60)])[-1].version
    later = {memory.remember(f"w1 {n}", key="w").id for n in range(3)}
    deadline = time.monotonic() + 60
    while "read/nearest_indexed" not in run:
        vector = embedder(["w2 again"])[0]
        got = reach.nearest(primary.bolt, {memory.path: newest}, vector, embedder.model, ["active"], None)[memory.path]
        assert later < set(got)
        assert first.id not in got
        assert time.monotonic() < deadline, "the index comes online"


def test_the_best_of_many_namespaces_are_found_in_a_few(
    primary: Neo4jBackend, run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those with the best matches are searched, so that a subtree of very many costs what a few do."""
    monkeypatch.setattr(search, "SPACES", 4)
    root = f"many{RUN}"
    for n in range(24):
        Memory(primary, namespace=(root, f"n{n}")).remember_many([{"content": f"a plain word {m}"} for m in range(5)])
    Memory(primary, namespace=(root, "n17")).remember("the zebra crosses a plain")
    Memory(primary, namespace=(root, "n3")).remember("a zebra")
    memory = Memory(primary, namespace=root)
    run.clear()
    got = memory.search("zebra", subtree=True, limit=4)
    assert {hit.entry.namespace for hit in got} == {f"{root}/n17", f"{root}/n3"}
    assert len(run) < 24
    assert len(memory.search("plain word", subtree=True, limit=100)) == 100
    assert len(memory.search("quagga", subtree=True)) == 0


def test_a_filter_that_the_index_does_not_know_is_followed_through_many_namespaces(
    primary: Neo4jBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match that passes it is found in whichever namespace it is, however many hold better matches that do not."""
    monkeypatch.setattr(search, "SPACES", 4)
    monkeypatch.setattr(search, "PROBED", 20)  # fewer than there are matches, so that the index must be asked again
    root = f"followed{RUN}"
    long = "somebody who is not known to many people here now and then likes coffee too, as a long text has it"
    wanted = Memory(primary, namespace=(root, "wanted")).remember(
        long,
        source="crm",
        actor="bob",
        pinned=True,
        trust="user",
        metadata={"n": 7},
        valid_from=datetime(2024, 5, 1, tzinfo=UTC),
    )
    then = wanted.recorded_at
    for n in range(24):
        Memory(primary, namespace=(root, f"n{n}")).remember_many([{"content": f"likes coffee {m}"} for m in range(2)])
    memory = Memory(primary, namespace=root)
    for filters in (
        Filters(source="crm"),
        Filters(actor="bob"),
        Filters(pinned=True),
        Filters(trust=["user"]),
        Filters(where={"n": 7}),
        Filters(until=then),
    ):
        hits = memory.search("coffee", filters=filters, subtree=True)
        assert [hit.entry.id for hit in hits] == [wanted.id], filters
    assert [hit.entry.id for hit in memory.search("coffee", known_at=then, subtree=True)] == [wanted.id]
    past = datetime(2024, 6, 1, tzinfo=UTC)
    assert [hit.entry.id for hit in memory.search("coffee", valid_at=past, subtree=True)] == [wanted.id]
    assert len(memory.search("coffee", filters=Filters(actor="nobody"), subtree=True)) == 0
    assert len(memory.search("coffee", subtree=True, limit=100)) == 49


def test_a_search_among_writers_finds_what_was_acknowledged(primary: Neo4jBackend) -> None:
    """Each thread finds its own write at once, while others write and search in the same namespace.

    What a transaction wrote can be read before it has reached the index's queue: another thread's wait for that must not count.
    """
    memory = Memory(primary, namespace=f"among{RUN}")
    missed: list[str] = []

    def work(thread: int) -> None:
        for n in range(16):
            word = f"word{thread}x{n}"
            entry = memory.remember(f"a {word} of many")
            if [hit.entry.id for hit in memory.search(word)] != [entry.id]:
                missed.append(word)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert missed == []
    assert primary.count(Scope(memory.path), search.Filters(), datetime.now(UTC)) == 96


class Named:
    """A direction for each person that a text names, so that texts of no common word are near."""

    model = "named"

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [[float("Ada" in text), float("Bob" in text), 0.1] for text in texts]


@pytest.mark.parametrize("question", ["What is Ada's mood?", "xAdax"])
@pytest.mark.parametrize("status", [None, "active"])
def test_a_search_among_writers_finds_a_key_as_it_was_or_is(
    question: str, status: Literal["active"] | None, neo4j_server: Server, primary: Neo4jBackend
) -> None:
    """While a key is written again and again, each search finds one value of it: none older than was acknowledged before."""
    other = Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20)
    path, embedder = f"mood{next(_count)}{RUN}", Named()
    memory = Memory(primary, namespace=path, embedder=embedder)  # type: ignore[arg-type]
    theirs = Memory(other, namespace=path, embedder=embedder)  # type: ignore[arg-type]
    memory.remember_many([{"content": f"thing {n} of Bob's"} for n in range(20)])
    written = [theirs.remember("it is fine: Ada's mood 0", key="ada/mood").version]
    done = threading.Event()

    def write() -> None:
        for n in range(1, 60):
            written.append(theirs.remember(f"it is fine: Ada's mood {n}", key="ada/mood").version)
            time.sleep(0.02)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    odd, searches = [], 0
    while not done.is_set():
        before = written[-1]
        hits = [hit.entry for hit in memory.search(question, filters=Filters(status=status)) if hit.entry.key]
        searches += 1
        if len(hits) != 1 or hits[0].status is not Status.ACTIVE or hits[0].version < before:
            odd.append([entry.content for entry in hits])
    thread.join()
    other.close()
    assert odd == []
    assert searches > 20


@pytest.mark.parametrize("ranking", ["loopctl", "aegis"])
def test_what_changes_while_all_memories_are_read(
    ranking: Literal["loopctl", "aegis"], primary: Neo4jBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rankings that read every memory, newest first, do not pass over a key that is written meanwhile."""
    monkeypatch.setattr(reads, "PAGE", 4)
    memory = Memory(primary, namespace=f"{ranking}{RUN}")
    memory.remember("Ada's mood is fine", key="ada/mood")
    memory.remember_many([{"content": f"thing {n} of Bob's"} for n in range(6)])
    plain, pages = Bolt.run, []

    def changed(self: Bolt, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        if name == "read/list":
            pages.append(name)
            if len(pages) == 2:
                memory.remember("Ada's mood is bad", key="ada/mood")
        return plain(self, name, **parameters)

    monkeypatch.setattr(Bolt, "run", changed)
    found = [hit.entry.content for hit in memory.search("mood", ranking=ranking) if hit.entry.key]
    assert found == ["Ada's mood is bad"]


def test_what_changes_after_the_index_was_asked(primary: Neo4jBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was replaced meanwhile is shown as it was found; what was forgotten meanwhile is not."""
    memory = Memory(primary, namespace=f"meanwhile{RUN}")
    old = memory.remember("Ada's mood is fine", key="ada/mood")
    plain, changes = Bolt.run, []

    def changed(self: Bolt, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        if name == "read/entries" and changes:
            changes.pop()()
        return plain(self, name, **parameters)

    monkeypatch.setattr(Bolt, "run", changed)
    changes.append(lambda: memory.remember("Ada's mood is bad", key="ada/mood"))
    (hit,) = memory.search("mood")
    assert hit.entry == old
    (hit,) = memory.search("mood")
    assert hit.entry.content == "Ada's mood is bad"
    changes.append(lambda: memory.forget(hit.entry.id))
    assert len(memory.search("mood")) == 0
    unkeyed, newer = memory.remember("the mood of Bob"), memory.remember("how Bob fares")
    changes.append(lambda: memory.supersede(unkeyed.id, newer.id))
    assert [hit.entry for hit in memory.search("mood")] == [unkeyed]
    assert len(memory.search("mood")) == 0
