"""Purges on a server that were killed between two pages, and what else is there although it was purged: named, and finished."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import neo4j
import pytest

from memgraph import Memory
from memgraph.checks import ledger_of
from memgraph.models import CheckReport, Filters, Problem
from tests.conftest import started
from tests.integration.child import start
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
PAGE = 20  # memories
PURGED = 110
OTHERS = 5


@pytest.fixture(scope="module")
def neo4j_server(neo4j_version: str) -> Iterator[Server]:
    """One of these tests' own: the doctor reads everything that is there."""
    yield from started(neo4j_version)


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


@pytest.fixture
def memory(neo4j_server: Server, driver: neo4j.Driver) -> Iterator[Memory]:
    """A namespace of this test's own; what it left, there and in its ledger, goes in the end."""
    space = f"purge/{uuid.uuid4().hex[:8]}"
    with Memory.open(primary=neo4j_server.uri, auth=neo4j_server.auth, namespace=space) as found:
        yield found
    for name in (space, ledger_of(space)):
        by_hand(driver, "MATCH (n {namespace: $ns}) DETACH DELETE n", ns=name)


def by_hand(driver: neo4j.Driver, query: str, **given: Any) -> list[neo4j.Record]:
    """Do what a person types into Neo4j Browser."""
    return driver.execute_query(query, given).records  # type: ignore[arg-type]


def named(report: CheckReport, memory: Memory, *codes: str) -> dict[str, Problem]:
    """The problems of these codes, with examples of this namespace."""
    return {
        problem.code: problem
        for problem in report.problems
        if problem.code in codes and any(example.startswith(f"{memory.path}: ") for example in problem.examples)
    }


def killed(memory: Memory, server: Server, selector: dict[str, Any], after: int) -> None:
    """Write memories, and purge what a selector says of them in a process that dies after some pages."""
    memory.remember_many(
        {"content": f"secret {n}", "subject": "bob", "kind": "note", "key": f"k{n % 40}"} for n in range(PURGED)
    )
    memory.remember_many({"content": f"other {n}", "subject": "ada"} for n in range(OTHERS))
    arguments = server.uri, json.dumps(server.auth), memory.path, json.dumps(selector), PAGE
    child = start("purge_by_pages", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    for page in range(after):
        assert child.stdout.readline() == "page\n"
        if page < after - 1:
            child.stdin.write("\n")
            child.stdin.flush()
    child.kill()
    child.communicate()


@pytest.mark.parametrize("finish", ["repair", "the same again"])
def test_a_purge_that_was_killed_is_named_and_finished(finish: str, memory: Memory, neo4j_server: Server) -> None:
    """What a tombstone refuses is named by id; a repair removes it, and so does the same purge."""
    killed(memory, neo4j_server, {"subject": "bob"}, after=2)
    left = {entry.id for entry in memory.list(filters={"subject": "bob", "status": "any"}, limit=1000)}
    assert len(left) == PURGED - 2 * PAGE
    assert memory.search("secret")
    found = named(memory.check(), memory, "dead", "unfinished-purge")
    assert found["dead"].count == len(left)
    assert {example.removeprefix(f"{memory.path}: ") for example in found["dead"].examples} < left
    assert found["dead"].repair
    assert found["unfinished-purge"].count == 1
    if finish == "repair":
        report = memory.check(repair=True)
        assert report.mended["dead"] == len(left)
        assert not named(report, memory, "dead", "line", "stray")
        assert memory.count(ANY) == OTHERS
        assert not memory.search("secret", include_inactive=True)
        assert named(report, memory, "unfinished-purge"), "it has no receipt yet"
    receipt = memory.purge({"subject": "bob"})
    assert receipt.removed["memories"] == (0 if finish == "repair" else len(left))
    assert memory.verify_purge(receipt, {"subject": "bob"}).ok
    assert memory.count(ANY) == OTHERS
    assert memory.remember("written after it", subject="bob").status == "active"
    assert not named(memory.check(), memory, "dead", "unfinished-purge", "line", "stray")


def test_a_purge_that_no_tombstone_tells_of_is_named_by_its_time(memory: Memory, neo4j_server: Server) -> None:
    """Of one by kind nothing on the server knows what is left; that it was begun is known, and when, until it is finished."""
    before = datetime.now(UTC).replace(microsecond=0)
    killed(memory, neo4j_server, {"kinds": ["note"]}, after=1)
    found = named(memory.check(repair=True), memory, "dead", "unfinished-purge")
    assert set(found) == {"unfinished-purge"}
    assert "purge the same selection again" in found["unfinished-purge"].remedy
    begun = found["unfinished-purge"].examples[0].partition("begun ")[2].partition(" by ")[0]
    assert before <= datetime.fromisoformat(begun) <= datetime.now(UTC)
    memory.purge({"kinds": ["other"]})
    assert named(memory.check(), memory, "unfinished-purge"), "another selection does not finish it"
    memory.purge({"kinds": ["note"]})
    assert not named(memory.check(), memory, "unfinished-purge")
    assert [act.what for act in memory.audit()] == ["purge begun", "purge", "purge"]
    assert memory.count(ANY) == OTHERS


def test_a_memory_whose_id_was_purged_is_named_and_removed(memory: Memory, driver: neo4j.Driver) -> None:
    """However it came back: here somebody created it again."""
    gone, kept = memory.remember("the canary sings", key="k"), memory.remember("another", key="k")
    query = "MATCH (m:Memory {namespace: $ns, id: $id}) RETURN properties(m) AS p"
    properties = by_hand(driver, query, ns=memory.path, id=gone.id)[0]["p"]
    memory.purge({"ids": [gone.id]})
    assert not named(memory.check(), memory, "dead")
    by_hand(driver, "CREATE (m:Memory:Superseded) SET m = $p", p=properties)
    problem = named(memory.check(), memory, "dead")["dead"]
    assert problem.examples == (f"{memory.path}: {gone.id}",)
    report = memory.check(repair=True)
    assert report.mended["dead"] == 1
    assert not named(report, memory, "dead", "line", "status", "tokens")
    assert [entry.id for entry in memory.list(filters=ANY)] == [kept.id]
    assert memory.current("k") == memory.get(kept.id)


def test_values_of_another_kind_do_not_stop_the_sweep(memory: Memory, driver: neo4j.Driver) -> None:
    """A memory that a purge by value would take is taken although somebody spoiled what else is written on it."""
    memory.remember_many({"content": f"secret {n}", "subject": "bob", "source": "chat"} for n in range(3))
    copies = by_hand(driver, "MATCH (m:Memory {namespace: $ns}) RETURN properties(m) AS p", ns=memory.path)
    memory.purge({"subject": "bob"})
    for number, copy in enumerate(copies):
        p = {**copy["p"], "id": f"copy-{number}", "source": [number], "origin": 5, "session": 7}
        by_hand(driver, "CREATE (m:Memory:Active) SET m = $p", p=p)
    assert named(memory.check(), memory, "dead")["dead"].count == len(copies)
    assert not named(memory.check(repair=True), memory, "dead")
    assert memory.count(ANY) == 0


CANARY = "kanariengelb"


def everything(driver: neo4j.Driver) -> list[str]:
    """All that the database holds and a client can see: nodes, relationships, names of schema, what the indexes answer."""
    found = [
        json.dumps(dict(record), default=str) for record in by_hand(driver, "MATCH (n) RETURN labels(n), properties(n)")
    ]
    found += [
        json.dumps(dict(record), default=str)
        for record in by_hand(driver, "MATCH ()-[r]->() RETURN type(r), properties(r)")
    ]
    for names in ("db.labels", "db.propertyKeys", "db.relationshipTypes"):
        found += [json.dumps(dict(record)) for record in by_hand(driver, f"CALL {names}()")]
    by_hand(driver, "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    for index in ("active_text", "inactive_text"):
        query = f"CALL db.index.fulltext.queryNodes('{index}', $words) YIELD node RETURN node.namespace + '/' + node.id AS hit"
        found += [f"{index} {record['hit']}" for record in by_hand(driver, query, words=f"terms:{CANARY}*")]
    return found


def test_after_a_purge_a_dump_of_the_server_holds_nothing_of_it(memory: Memory, driver: neo4j.Driver) -> None:
    """A canary in every field that a caller fills, in what was done to the memory, and in what replaced it."""
    given: dict[str, Any] = {
        "key": f"{CANARY}/key",
        "title": f"{CANARY} title",
        "tags": [f"{CANARY}-tag"],
        "aliases": [f"{CANARY} alias"],
        "metadata": {f"{CANARY} name": f"{CANARY} value"},
        "source": f"{CANARY} source",
        "actor": f"{CANARY} actor",
        "session": f"{CANARY} session",
        "reason": f"{CANARY} reason",
        "kind": f"{CANARY}-kind",
        "subject": "bob",
    }
    first = memory.remember(f"{CANARY} one", id=f"{CANARY}-1", **given)
    memory.remember(f"{CANARY} two", id=f"{CANARY}-2", **given)
    note = memory.remember(f"{CANARY} three", id=f"{CANARY}-3", subject="bob")
    other = memory.remember("somebody else's", id="other", subject="eve")
    memory.relate(other.id, note.id, f"{CANARY}_type", note=f"{CANARY} note")
    memory.supersede(other.id, memory.remember(f"{CANARY} four", subject="bob").id, reason=f"{CANARY} why")
    memory.feedback([note.id], 1.0, actor=f"{CANARY} rater")
    memory.forget(note.id, reason=f"{CANARY} forgotten")
    memory.restore(first.id, reason=f"{CANARY} restored")
    memory.rewind({"session": f"{CANARY} session"}, reason=f"{CANARY} rewound")
    planted = everything(driver)
    assert sum(CANARY in line for line in planted) > 10
    assert any(line.startswith(("active_text", "inactive_text")) for line in planted)
    receipt = memory.purge({"subject": "bob"}, by="dpo")
    assert [line for line in everything(driver) if CANARY in line] == []
    assert CANARY not in receipt.model_dump_json()
    assert memory.verify_purge(receipt, {"subject": "bob"}).ok
    assert [entry.id for entry in memory.list(ANY)] == ["other"]
