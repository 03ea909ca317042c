"""Each query for people returns what its title says, on a sample that holds each case. No Chromium is needed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import neo4j
import pytest

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.browser import kit
from memgraph.storage import queries
from tests.browser.sample import CITY, HOMES, HOSTILE, Sample, days_ago
from tests.conftest import RUN
from tests.neo4j_server import Server
from tests.unit.test_views import HARD

pytestmark = pytest.mark.neo4j

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


@pytest.fixture
def ask(driver: neo4j.Driver, sample: Sample) -> Ask:
    """Run a query for people, as a whole file with its comments, in the sample's namespace."""

    def call(name: str, **parameters: Any) -> list[dict[str, Any]]:
        text = (queries.root() / "browser" / f"{name}.cypher").read_text(encoding="utf-8")
        with driver.session() as session:
            return [dict(row) for row in session.run(text, {"namespace": sample.namespace, **parameters})]  # type: ignore[arg-type]

    return call


@pytest.fixture
def memory(neo4j_server: Server, sample: Sample) -> Iterator[Memory]:
    with Memory(
        Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), namespace=sample.namespace
    ) as found:
        yield found


def names(rows: list[dict[str, Any]], *columns: str) -> set[str]:
    """The ids, or keys, of the nodes in these columns of a graph's one row."""
    return {node.get("id", node.get("key")) for row in rows for column in columns for node in row[column]}


def edges(rows: list[dict[str, Any]], column: str) -> set[tuple[str, str, str]]:
    """(type, from, to) of the edges in a column; each is there once."""
    found = [
        (edge.type, *(node.get("id", node.get("key")) for node in (edge.start_node, edge.end_node)))
        for row in rows
        for edge in row[column]
    ]
    assert len(found) == len(set(found))
    return set(found)


def test_lineage_graph(ask: Ask, sample: Sample) -> None:
    """Every memory of the key, each step with its reason, the key's arrows, and what is of the past beside the line."""
    rows = ask("lineage_graph", key=CITY)
    homes = [sample.ids[f"home {number}"] for number in range(1, 6)]
    assert names(rows, "memories") == {*homes, sample.ids["over"]}
    steps = edges(rows, "steps")
    assert steps == {("SUPERSEDES", new, old) for old, new in itertools.pairwise(homes)}
    assert edges(rows, "places") == {
        ("CURRENT", CITY, homes[-1]),
        ("LATEST", CITY, homes[-1]),
        ("PAST", CITY, sample.ids["over"]),
    }
    reasons = {step.start_node["id"]: step["reason"] for step in rows[0]["steps"]}
    assert reasons == {homes[at]: HOMES[at][1] for at in range(1, 5)}


def test_lineage_graph_of_a_key_that_has_no_value_any_more(ask: Ask, sample: Sample) -> None:
    """What is forgotten stays on its key, and a restored copy leads to its origin."""
    assert edges(ask("lineage_graph", key="ada/phone"), "places") == {("LATEST", "ada/phone", sample.ids["phone"])}
    again, before = sample.ids["name again"], sample.ids["name"]
    assert edges(ask("lineage_graph", key="ada/name"), "steps") == {
        ("RESTORES", again, before),
        ("SUPERSEDES", again, before),
    }
    assert len(names(ask("lineage_graph", key=HOSTILE), "memories")) == 2
    assert ask("lineage_graph", key="nobody") == []


def test_lineage_timeline(ask: Ask, sample: Sample) -> None:
    rows = ask("lineage_timeline", key=CITY)
    assert [row["number"] for row in rows] == [6, 5, 4, 3, 2, 1]
    over, *homes = rows
    assert (over["id"], over["status"], over["true_to"] is None) == (sample.ids["over"], "superseded", False)
    assert [(row["says"], row["why"]) for row in reversed(homes)] == list(HOMES)
    assert [row["status"] for row in homes] == ["active", *["superseded"] * 4]
    assert [row["replaced"] for row in homes[:2]] == [
        ["Ada is in Berlin for a while"],
        ["Ada lives in Porto, Rua das…"],
    ]
    assert {(row["written_by"], row["session"]) for row in homes[:1]} == {("ada", "s-105")}
    assert datetime.fromisoformat(homes[0]["recorded"]) > sample.between


def test_lineage_timeline_tells_what_happened(ask: Ask, sample: Sample) -> None:
    (phone,) = ask("lineage_timeline", key="ada/phone")
    (happened,) = phone["happened"]
    what, at, note = happened.split(" ", 2)
    assert (phone["status"], what) == ("forgotten", "forgotten")
    assert json.loads(note)["reason"] == "she asked for it"
    assert datetime.fromisoformat(at) > datetime.fromisoformat(phone["recorded"])
    again, _ = ask("lineage_timeline", key="ada/name")
    assert (again["why"], again["restored"]) == ("it was a mistake", ["Ada's full name is Ada Byron"])
    (holiday,) = ask("lineage_timeline", key="ada/holiday")
    assert holiday["status"] == "expired"


def test_around_memory(ask: Ask, sample: Sample, memory: Memory) -> None:
    """As far as two steps, and no further."""
    ids = sample.ids
    rows = ask("around_memory", id=ids["lesson"])
    assert names(rows, "nodes") == {ids["lesson"], ids["plan"], ids["flats"], ids["home 4"]}
    assert edges(rows, "steps") == {
        ("RELATES_TO", ids["lesson"], ids["plan"]),
        ("RELATES_TO", ids["plan"], ids["flats"]),
        ("RELATES_TO", ids["plan"], ids["home 4"]),
    }
    around = memory.neighbours(ids["plan"], depth=2)
    assert {entry.id for entry in around.entries} < names(ask("around_memory", id=ids["plan"]), "nodes")
    assert names(ask("around_memory", id=ids["wide"]), "nodes") == {ids["wide"]}
    assert ask("around_memory", id="nobody") == []


def test_known_at(ask: Ask, sample: Sample, memory: Memory) -> None:
    """The same as the library says, at times between which each case came about, written as a text or a time."""
    for days in (195, 130, 95, 59.5, 45, 35, 25, 10, 0):
        then = days_ago(days)
        rows = ask("known_at", known_at=then)
        assert [row["id"] for row in ask("known_at", known_at=then.isoformat())] == [row["id"] for row in rows]
        assert {row["id"] for row in rows} == {
            each.id for each in memory.list({"status": "any"}) if each.recorded_at <= then and known(memory, each, then)
        }
    rows = ask("known_at", known_at=sample.between)
    assert [(row["key"], row["says"], row["status_now"]) for row in rows] == [(CITY, HOMES[2][0], "superseded")]


def known(memory: Memory, entry: Any, then: datetime) -> bool:
    """Whether the library counts a memory as current at a time."""
    if entry.key is not None:
        current = memory.current(entry.key, known_at=then)
        return current is not None and current.id == entry.id
    return entry.id in {hit.entry.id for hit in memory.search(entry.content, known_at=then, limit=50)}


def test_recent_changes(ask: Ask, sample: Sample) -> None:
    ids = sample.ids
    today = ask("recent_changes", days=1)
    assert [(row["what"], row["id"]) for row in today] == [("forgotten", ids["flats"]), ("written", ids["today"])]
    assert json.loads(today[0]["why"])["reason"] == "no longer needed"
    month = {(row["what"], row["id"]) for row in ask("recent_changes", days=45)}
    assert {("released", ids["spam"]), ("superseded", ids["draft"]), ("restored as a copy", ids["name again"])} < month
    assert not any(id in (ids["plan"], ids["tea"]) for _, id in month)
    related = [row for row in ask("recent_changes", days=55) if row["what"].startswith("led_to: ")]
    assert [(row["what"], row["id"], row["why"]) for row in related] == [
        ("led_to: Compared three flats in Berlin", ids["plan"], "the same evening")
    ]
    times = [datetime.fromisoformat(row["at"]) for row in ask("recent_changes", days=300)]
    assert times == sorted(times, reverse=True)


def test_restorable(ask: Ask, sample: Sample, memory: Memory) -> None:
    """What the library lists as restorable; the names of `name again`'s origin are of the past, so it is not among them."""
    rows = {row["id"]: row for row in ask("restorable")}
    cases = {"phone": "forgotten", "spam": "released", "holiday": "expired", "flats": "forgotten", "name": "forgotten"}
    assert {id: row["status"] for id, row in rows.items()} == {
        sample.ids[name]: status for name, status in cases.items()
    }
    for row in rows.values():
        assert datetime.fromisoformat(row["since"]) > datetime.fromisoformat(row["recorded"])
    assert rows[sample.ids["spam"]]["why"].startswith('{"reason": "spam"')
    assert {entry.id for entry in memory.list({"status": ("forgotten", "released", "pruned", "expired")})} == set(rows)


def test_subject(ask: Ask, sample: Sample, memory: Memory) -> None:
    rows = ask("subject", subject="ada")
    assert names(rows, "memories") == {e.id for e in memory.list({"subject": "ada", "status": "any"}, limit=1000)}
    found = edges(rows, "steps")
    assert ("SUPERSEDES", sample.ids["final"], sample.ids["draft"]) in found
    assert ("RELATES_TO", sample.ids["plan"], sample.ids["home 4"]) in found
    assert names(rows, "others") > {sample.ids["plan"]}
    assert {("CURRENT", CITY, sample.ids["home 5"]), ("LATEST", "ada/phone", sample.ids["phone"])} < edges(
        rows, "places"
    )


def test_purges(ask: Ask, sample: Sample, memory: Memory) -> None:
    """When, by whom and how much; of what it was, nothing."""
    (row,) = ask("purges")
    assert (row["by"], row["receipt"]) == ("carol", sample.receipt)
    assert row["tombstones"] >= 1
    (act,) = [act for act in memory.audit() if act.what == "purge"]
    assert abs((datetime.fromisoformat(row["at"]) - act.at).total_seconds()) < 60


def test_sources(ask: Ask, memory: Memory) -> None:
    rows = ask("sources")
    everything = memory.list({"status": "any"}, limit=1000)
    for row in rows:
        of_it = [
            entry
            for entry in everything
            if (entry.source, entry.session, entry.actor, entry.trust.value)
            == (row["source"], row["session"], row["actor"], row["trust"])
        ]
        assert row["memories"] == len(of_it)
        assert row["active"] == sum(entry.status == "active" for entry in of_it)
        assert datetime.fromisoformat(row["last"]) == max(entry.recorded_at for entry in of_it)
    assert sum(row["memories"] for row in rows) == len(everything)
    assert ("web", "external") in {(row["source"], row["trust"]) for row in rows}


BROKEN = {  # what a person did in Browser, and what the query calls it
    "another active memory": "MATCH (m:Superseded {namespace: $ns}) SET m.status = 'active', m:Active REMOVE m:Superseded",
    "label": "MATCH (m:Superseded {namespace: $ns}) SET m:Active",
    "key is gone": "MATCH (k:MemoryKey {namespace: $ns}) DETACH DELETE k",
    "a newer memory of the key does not lead to it": "MATCH ({namespace: $ns})-[r:SUPERSEDES]->() DELETE r",
    "as the latest": "MATCH ({namespace: $ns})-[r:LATEST]->() DELETE r",
    "whether it is current": "MATCH ({namespace: $ns})-[r:CURRENT]->() DELETE r",
}


@pytest.mark.parametrize("problem", BROKEN)
def test_integrity(problem: str, ask: Ask, neo4j_server: Server, driver: neo4j.Driver) -> None:
    """It sees what somebody broke, and nothing where nothing is broken."""
    space = f"broken{RUN}-{list(BROKEN).index(problem)}"
    with Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), namespace=space) as memory:
        for content in ("one", "two"):
            memory.remember(content, key="k")
        assert ask("integrity", namespace=space) == []
        driver.execute_query(BROKEN[problem], ns=space)  # type: ignore[arg-type]
        assert [row for row in ask("integrity", namespace=space) if problem in row["problem"]]
        memory.purge({"everything": True})


def test_integrity_of_the_sample(ask: Ask) -> None:
    """Restores, expiry, the past and purges break nothing."""
    assert ask("integrity") == []


@pytest.mark.parametrize("text", [*HARD, HOSTILE, "it's", "\\u0041", "\\\\u0041 \\", "'; MATCH (n) DETACH DELETE n //"])
def test_a_literal_is_read_back_as_the_text(text: str, driver: neo4j.Driver) -> None:
    """Whatever a link writes into a query is one text there."""
    assert driver.execute_query(f"RETURN {kit.literal(text)} AS text").records[0]["text"] == text  # type: ignore[arg-type]


def test_every_query_is_tested() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name.removeprefix("browser/") for name in queries.names("browser")} <= tested


def test_arrows_keep_their_reasons(ask: Ask, neo4j_server: Server) -> None:
    """Also those that a purge in the middle of a line draws anew."""
    space = f"arrows{RUN}"
    with Memory(Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20), namespace=space) as memory:
        first, second, third = (memory.remember(text, key="k", reason=f"why {text}").id for text in "abc")
        memory.purge({"ids": [second]})
        arrows = ask("lineage_graph", namespace=space, key="k")[0]["steps"]
        assert [(each.start_node["id"], each.end_node["id"], each["reason"]) for each in arrows] == [
            (third, first, "why c")
        ]
        memory.purge({"everything": True})
