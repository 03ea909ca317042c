"""Every Cypher file: used, explained in a header, and planned without a scan, a warning or a pile of rows before a write.

`--memgraph-neo4j` says on which server; .ci/run does it on both.
"""

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
ROOMS = ("schema", "write", "read", "browser")
NAMES = [name for room in ROOMS for name in queries.names(room)]
RUN = [name for name in NAMES if not name.startswith(("schema/", "browser/"))]
WRITES = ("Create", "Delete", "DetachDelete", "Foreach", "Merge", "Remove", "Set", "SubqueryForeach")
SAME_ROWS = ("CacheProperties", "Eager", "Filter", "Optional", "Projection")  # as many rows as below, or fewer
FIRST_CHILD = ("AntiSemiApply", "LetAntiSemiApply", "LetSemiApply", "RollUpApply", "SemiApply", "SubqueryForeach")
KEPT = {  # statements with an Eager that holds more than one row before a write, and why that must be
    "write/store": "what it holds is the one row of the store",
    "write/feed": "what it holds is the one row of the feed",
    "write/purge_foreign": "deletes the nodes that it reads; operations of an unknown kind are rare",
    "write/repair_strays": "deletes the nodes that it reads; run by hand, on what should not be there",
}
LISTS = ("rows", "ids", "keys", "hashes", "quoted", "spaces", "labels", "paths", "kinds", "tags", "statuses", "trust")
NUMBERS = ("limit", "purges", "seq", "sessions", "members", "marks", "most", "reach", "days")
TIMES = ("now", "known_at")
OTHERS: dict[str, Any] = {
    "seeds": [{"index": "active_text", "query": "x", "limit": 5}],
    "session_seeds": [{"index": "active_text", "query": "x", "limit": 5}],
    "clauses": [{"term": "x", "query": "x"}],
    "indexes": ["active_text"],
    "terms": ["x"],
    "also": ["x"],
    "vector": [0.5, 0.5],
    "conditions": True,
    "emptied": True,
    "pinned": None,
}


def parameters(text: str) -> dict[str, Any]:
    """A value of the right type for each parameter of a statement."""
    found: dict[str, Any] = {}
    for name in set(re.findall(r"\$(\w+)", text)):
        if name == "spaces" and "space.namespace" in text:
            found[name] = [{"namespace": "x", "seeds": OTHERS["seeds"], "also": ["x"]}]
        elif name in OTHERS:
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
    if name.startswith("browser/"):
        parameters_of = set(re.findall(r"\$(\w+)", queries.statement(name)))
        given = re.search(r":param \{(.*)\}", said)  # what a person copies
        assert given
        assert set(re.findall(r"(\w+): (?=['\d])", given[1])) == parameters_of


@pytest.mark.parametrize("name", RUN)
def test_every_file_is_used(name: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "memgraph").rglob("*.py")]
    short = name.partition("/")[2]
    assert any(f'"{name}"' in text or f"'{name}'" in text for text in sources) or (
        name.startswith("write/") and any('f"write/{name}"' in text and f'"{short}"' in text for text in sources)
    ), f"nothing runs {name}"


@pytest.mark.parametrize("name", RUN)
def test_what_is_looked_up_by_its_properties_says_by_which_index(name: str) -> None:
    """A plan that was made while the indexes were empty takes a scan as readily as a seek, and is kept for long."""
    for part in re.split(r"\bMATCH ", queries.statement(name))[1:]:
        by_properties = re.match(r"(?:p = )?\(\w*:\w+ \{", part) or re.match(
            r"\((\w+):\w+\)[^\n]*?\s+WHERE [^\n]*\b\1\.(namespace|name) ?(=|>|STARTS)", part
        )
        assert not by_properties or "USING INDEX SEEK" in part, part


def test_the_schema_files_are_numbered() -> None:
    numbers = [int(name.removeprefix("schema/")[:3]) for name in queries.names("schema")]
    assert numbers == list(range(1, len(numbers) + 1))


def steps(plan: dict[str, Any], per_row: bool = False) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """The operators of a plan in the order in which they finish: name, whether it is run anew for each row, and the operator."""
    name = plan["operatorType"].split("@")[0]
    for number, child in enumerate(plan.get("children", [])):
        yield from steps(child, per_row or (number > 0 and ("Apply" in name or name.endswith("Foreach"))))
    yield name, per_row, plan


def is_write(name: str) -> bool:
    return name.removeprefix("Locking").startswith(WRITES)


def makes(operator: dict[str, Any]) -> str:
    """How many rows an operator makes: "one" at most, as many as were "given" in a parameter, or "many"."""
    name, children = operator["operatorType"].split("@")[0], operator.get("children", [])
    below = [makes(child) for child in children]
    if name in ("Argument", "EmptyRow"):
        return "one"
    if name.startswith("NodeUniqueIndexSeek"):
        return "many" if re.search(r"[<>]| IN |STARTS WITH|IS NOT NULL", operator["args"]["Details"]) else "one"
    if name == "Unwind":
        return "given" if below in ([], ["one"]) else "many"
    if name == "Apply":
        return below[0] if below[1] == "one" else below[1] if below[0] == "one" else "many"
    if name in FIRST_CHILD or name in SAME_ROWS or is_write(name):
        return below[0] if below else "one"
    return "many"


def holds_no_more_than_given(eager: dict[str, Any]) -> bool:
    """Whether an Eager holds one row at most, or the caller's own list and nothing that was found or written for it."""
    (child,) = eager["children"]
    if makes(child) == "given":
        return not any(is_write(name) for name, _, _ in steps(child))
    return makes(child) == "one"


def piles(plan: dict[str, Any]) -> list[str]:
    """The Eager operators that gather rows of a statement before one of its writes: its memory and locks grow with them.

    An Eager within a subquery holds what one row makes, and none is counted that has but one row or the caller's own list.
    """
    found = list(steps(plan))
    last = max((number for number, (name, _, _) in enumerate(found) if is_write(name)), default=-1)
    return [
        f"{name} {operator['args'].get('Details', '')}"
        for name, per_row, operator in found[: max(last, 0)]
        if name.startswith("Eager") and not per_row and not holds_no_more_than_given(operator)
    ]


CLAUSES = r"\b(MATCH|MERGE|CREATE|WITH|RETURN|CALL|UNWIND|SET|DELETE|ORDER BY|EXISTS|COLLECT|COUNT)\b"


def looked_up_without_a_name(text: str) -> list[str]:
    """The MATCH clauses that look nodes up by their namespace or name and do not say by which index."""
    parts = re.split(CLAUSES, text)
    return [
        clause.strip()
        for start, clause in zip(parts[1::2], parts[2::2], strict=True)
        if start == "MATCH" and re.search(r":\w+ \{(namespace|name)\b|\.(namespace|name) (=|>|<|STARTS|IN)", clause)
        if "USING INDEX SEEK" not in clause
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_look_up_names_its_index(name: str) -> None:
    """The planner scans an index of few entries instead of seeking in it, by counts that change with every server."""
    assert not looked_up_without_a_name(queries.statement(name))


def test_a_look_up_without_a_name_is_seen() -> None:
    seek = "USING INDEX SEEK m:Memory(namespace, id)"
    assert not looked_up_without_a_name(f"MATCH (m:Memory {{namespace: $n, id: $id}}) {seek} MATCH (m)--(n) RETURN n")
    assert looked_up_without_a_name(
        f"MATCH (m:Memory) {seek} WHERE m.id > '' OPTIONAL MATCH (k:Feed {{namespace: ''}})"
    )
    assert looked_up_without_a_name("MATCH (m:Memory) WHERE m.namespace STARTS WITH $n RETURN m")


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    Neo4jBackend(neo4j_server.uri, auth=neo4j_server.auth, timeout=20).close()  # sets the schema up
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


def many(values: dict[str, Any]) -> dict[str, Any]:
    """The same with long lists and names: the server plans by the order of magnitude of their lengths."""
    found = {
        name: value * 200 if isinstance(value, list) and name != "vector" else value for name, value in values.items()
    }
    return {
        name: [{}] * 200 if name == "rows" else "x" * 30 if value == "x" else value for name, value in found.items()
    }


def explained(driver: neo4j.Driver, text: str, long: bool = False) -> neo4j.ResultSummary:
    given = many(parameters(text)) if long else parameters(text)
    with driver.session() as session:
        return session.run("EXPLAIN " + text, given).consume()  # type: ignore[arg-type]


def notes(summary: neo4j.ResultSummary) -> list[str]:
    return [status.status_description for status in summary.gql_status_objects if status.is_notification]


@pytest.mark.neo4j
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
@pytest.mark.parametrize("name", NAMES)
def test_the_plan_has_no_scan_no_pile_of_rows_and_no_warning(name: str, long: bool, driver: neo4j.Driver) -> None:
    summary = explained(driver, queries.statement(name), long)
    assert not [note for note in notes(summary) if "already exists" not in note]
    plan = summary.plan or {}
    assert plan
    if name.startswith("schema/"):
        return
    if name != "read/check_odd":  # the doctor looks for what no index knows
        assert not [each for each, _, _ in steps(plan) if "Scan" in each or each == "CartesianProduct"]
    assert not piles(plan) or name in KEPT, piles(plan)


@pytest.mark.neo4j
@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("UNWIND $rows AS row MERGE (m:Memory {namespace: '', id: row}) SET m:Memory SET m.status = m.title", True),
        ("MATCH (m:Memory) WHERE m.namespace = '' AND m.id > '' AND m.title = '' DETACH DELETE m", True),
        (
            "UNWIND $rows AS row CALL (row) { MERGE (m:Memory {namespace: '', id: row}) SET m:Memory SET m.status = m.title }",
            False,
        ),
        ("MERGE (m:Memory {namespace: '', id: ''}) SET m:Memory SET m.status = m.title", False),
        ("MATCH (m:Memory) WHERE m.namespace = '' AND m.id > '' RETURN count(m)", False),
    ],
)
def test_a_pile_of_rows_is_seen(text: str, bad: bool, driver: neo4j.Driver) -> None:
    assert bool(piles(explained(driver, text).plan or {})) is bad


@pytest.mark.neo4j
def test_the_schema_again_changes_nothing(driver: neo4j.Driver) -> None:
    with driver.session(notifications_disabled_classifications=["SCHEMA"]) as session:
        for name in queries.names("schema"):
            counters = session.run(queries.statement(name)).consume().counters  # type: ignore[arg-type]
            assert counters.constraints_added == counters.indexes_added == 0
            if "prime" in name:
                assert counters.nodes_created == counters.nodes_deleted
