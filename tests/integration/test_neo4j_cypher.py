"""Every Cypher file: used, explained in a header, and planned by both servers without a scan or a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest

from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.storage import queries
from tests.neo4j_server import Server

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "write", "read")
NAMES = [name for room in ROOMS for name in queries.names(room)]
RUN = [name for name in NAMES if not name.startswith("schema/")]
SCANS = ("AllNodesScan", "NodeByLabelScan", "UnionNodeByLabelsScan", "CartesianProduct", "DirectedRelationshipTypeScan")
LISTS = ("rows", "ids", "keys", "hashes", "quoted", "spaces", "labels", "paths", "kinds", "tags", "statuses", "trust")
NUMBERS = ("limit", "purges", "seq", "sessions", "members", "marks")
TIMES = ("now",)
OTHERS: dict[str, Any] = {
    "seeds": [{"index": "active_text", "query": "x", "limit": 5}],
    "session_seeds": [{"index": "active_text", "query": "x", "limit": 5}],
    "clauses": [{"term": "x", "query": "x"}],
    "indexes": ["active_text"],
    "terms": ["x"],
    "also": ["x"],
    "vector": [0.5, 0.5],
    "conditions": True,
    "pinned": None,
}


def parameters(text: str) -> dict[str, Any]:
    """A value of the right type for each parameter of a statement."""
    found: dict[str, Any] = {}
    for name in set(re.findall(r"\$(\w+)", text)):
        if name in OTHERS:
            found[name] = OTHERS[name]
        elif name in LISTS:
            found[name] = [] if name == "rows" else ["x"]
        elif name in NUMBERS:
            found[name] = 5
        elif name in TIMES:
            found[name] = datetime(2026, 1, 1, tzinfo=UTC)
        else:
            found[name] = "x"
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_what_it_is_for(name: str) -> None:
    text = (queries.root() / f"{name}.cypher").read_text(encoding="utf-8")
    lines = text.splitlines()
    header = [line for line in lines if line.startswith("//")]
    assert lines[0].startswith("// ")
    assert ";" not in queries.statement(name), "one statement a file"
    said = " ".join(header)
    for parameter in set(re.findall(r"\$(\w+)", queries.statement(name))):
        explained = re.search(rf"\b{parameter}\b", said) or "those of read/" in said or "filters of read/" in said
        assert explained, f"${parameter} is not explained"
    if name.startswith("write/") and "RETURN" in text:
        assert "Returns" in said


@pytest.mark.parametrize("name", RUN)
def test_every_file_is_used(name: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "memgraph").rglob("*.py")]
    short = name.partition("/")[2]
    assert any(f'"{name}"' in text or f"'{name}'" in text for text in sources) or (
        name.startswith("write/") and any('f"write/{name}"' in text and f'"{short}"' in text for text in sources)
    ), f"nothing runs {name}"


def test_the_schema_files_are_numbered() -> None:
    numbers = [int(name.removeprefix("schema/")[:3]) for name in queries.names("schema")]
    assert numbers == list(range(1, len(numbers) + 1))


def operators(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    todo = [plan]
    while todo:
        found = todo.pop()
        todo += found.get("children", [])
        yield found


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20).close()  # sets the schema up
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


@pytest.mark.neo4j
@pytest.mark.parametrize("name", RUN)
def test_the_plan_has_no_scan_and_no_warning(name: str, driver: neo4j.Driver) -> None:
    text = queries.statement(name)
    with driver.session() as session:
        summary = session.run("EXPLAIN " + text, parameters(text)).consume()  # type: ignore[arg-type]
    notes = [status.status_description for status in summary.gql_status_objects if status.is_notification]
    assert not notes
    if name == "read/check_odd":  # the doctor looks for what no index knows
        return
    found = [each["operatorType"].split("@")[0] for each in operators(summary.plan or {})]
    assert not [name for name in found if name in SCANS or ("Scan" in name and "Index" not in name)]


@pytest.mark.neo4j
def test_the_schema_again_changes_nothing(driver: neo4j.Driver) -> None:
    with driver.session(notifications_disabled_classifications=["SCHEMA"]) as session:
        for name in queries.names("schema"):
            counters = session.run(queries.statement(name)).consume().counters  # type: ignore[arg-type]
            assert counters.constraints_added == counters.indexes_added == 0
            if "prime" in name:
                assert counters.nodes_created == counters.nodes_deleted
