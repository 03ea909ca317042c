"""The doctor of the Neo4j store: what is derived in the graph must follow from the versions; indexes must be there and ready."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from memgraph.backends.neo4j import connect
from memgraph.backends.neo4j.rows import remember_of
from memgraph.backends.neo4j.tokens import tokens
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.backends.neo4j.writes import PAGE, Put, feed
from memgraph.models import CheckReport, Problem
from memgraph.rules import lineage
from memgraph.storage import queries
from memgraph.storage.bolt import Bolt, Runner

__all__ = ["check"]

_LABELS: Final = {
    "active": "Active",
    "superseded": "Superseded",
    "forgotten": "Forgotten",
    "released": "Expired",
    "pruned": "Expired",
}
_MESSAGES: Final = {
    "two-active": "keys have two active memories",
    "status": "memories have a status that does not follow from what happened to them",
    "label": "memories have a label that does not say their status",
    "line": "memories stand wrongly on their key's line",
    "number": "memories have no number that replicas pull by",
    "stray": "records belong to no memory",
}


@dataclass
class _Found:
    """What is wrong in one namespace."""

    counts: Counter[str] = field(default_factory=Counter)
    statuses: dict[str, str] = field(default_factory=dict)  # id -> what it must be
    keys: set[str] = field(default_factory=set)
    unnumbered: list[str] = field(default_factory=list)
    memories: int = 0


def check(bolt: Bolt, secrets: Callable[[], Secrets], repair: bool, reindex: bool) -> CheckReport:
    """Look at everything; mend what can be mended first if that is asked for."""
    if repair or reindex:
        connect.set_up(bolt)
    spaces = [row["namespace"] for row in bolt.run("read/check_feeds")]
    if reindex:
        for path in spaces:
            _tokens_again(bolt, secrets(), path)
    problems, counts, memories = _indexes(bolt), Counter[str](), 0
    for path in spaces:
        found = _look(bolt, path)
        if repair and found.counts:
            bolt.transaction(lambda tx, path=path, found=found: _mend(tx, secrets(), path, found))  # type: ignore[misc]
            found = _look(bolt, path)
        counts += found.counts
        memories += found.memories
    problems += [
        Problem(code=code, message=_MESSAGES[code], remedy="Run `memgraph doctor --repair`.", count=counts[code])
        for code in _MESSAGES
        if counts[code]
    ]
    odd = bolt.run("read/check_odd")[0]["odd"]
    if odd:
        message = "nodes labelled Memory were made by something else: they lack a namespace, an id or a feed"
        problems.append(Problem(code="odd", message=message, remedy="Look at them in Neo4j Browser.", count=odd))
    checked = {"memories": memories, "namespaces": len(spaces)}
    return CheckReport(ok=not problems, store=bolt.where, checked=checked, problems=tuple(problems))


def _indexes(bolt: Bolt) -> list[Problem]:
    states = {row["name"]: row["state"] for row in bolt.run("read/check_indexes")}
    wanted = [
        match[1]
        for name in queries.names("schema")
        if (match := re.search(r"(?:CONSTRAINT|INDEX) (\w+) IF NOT EXISTS", queries.statement(name)))
    ]
    found = []
    for code, bad, message, remedy in (
        (
            "schema",
            [n for n in wanted if n not in states],
            "indexes or constraints are missing",
            "memgraph doctor --repair",
        ),
        ("index", [n for n in wanted if states.get(n, "ONLINE") != "ONLINE"], "indexes are not ready", ""),
    ):
        if bad:
            text = f"{message}: {', '.join(bad)}"
            found.append(
                Problem(code=code, message=text, remedy=f"Run `{remedy}`." if remedy else "Wait.", count=len(bad))
            )
    return found


def _pages(runner: Runner, path: str) -> Iterator[list[dict[str, Any]]]:
    after = ""
    while rows := runner.run("read/check_memories", namespace=path, after=after, limit=PAGE):
        yield rows
        if len(rows) < PAGE:
            return
        after = rows[-1]["id"]


def _look(runner: Runner, path: str) -> _Found:
    found = _Found()
    active: Counter[str] = Counter()
    for rows in _pages(runner, path):
        for row in rows:
            if row["version"] is None:
                continue
            found.memories += 1
            active[row["key"] or ""] += row["status"] == "active"
            _judge(row, found)
    found.counts["two-active"] = sum(number > 1 for key, number in active.items() if key)
    orphans = [row["key"] for row in runner.run("read/check_keys", namespace=path)]
    found.keys.update(orphans)
    found.counts["stray"] = len(orphans) + runner.run("read/check_strays", namespace=path)[0]["strays"]
    found.counts = +found.counts
    return found


def _judge(row: dict[str, Any], found: _Found) -> None:
    """Compare what is derived in the graph about one memory with what its versions say."""
    keyed, past = row["key"] is not None, bool(row["past"])
    replaced = past or (keyed and (row["replaced"] or row["version"] < (row["slot"] or "")))
    events = []
    for event in row["life"]:
        version, cause, *old = event.split("|")
        if not old or old[0] == row["version"]:
            events.append((version, cause))
    status = lineage.status(events, keyed, replaced).value
    if status != row["status"]:
        found.counts["status"] += 1
        found.statuses[row["id"]] = status
    if sorted(row["labels"]) != sorted(["Memory", _LABELS.get(row["status"], "")]):
        found.counts["label"] += 1
        found.statuses[row["id"]] = status
    on_line = keyed and not past
    wanted = {
        "current": keyed and status == "active",
        "latest": on_line and not row["replaced"],
        "pasts": past,
        "above": on_line and row["replaced"],
        "below": on_line and row["replaces"],
    }
    if any(row[name] != int(value) for name, value in wanted.items()):
        found.counts["line"] += 1
        if keyed:
            found.keys.add(row["key"])
    if status != row["status"] and keyed:
        found.keys.add(row["key"])
    if not row["seq"]:
        found.counts["number"] += 1
        found.unnumbered.append(row["id"])


def _mend(tx: Runner, secrets: Secrets, path: str, found: _Found) -> None:
    rows = [{"id": id, "status": status} for id, status in sorted(found.statuses.items())]
    for start in range(0, len(rows), PAGE):
        tx.run("write/repair_statuses", namespace=path, rows=rows[start : start + PAGE])
    keys = sorted(found.keys)
    for start in range(0, len(keys), PAGE):
        tx.run("write/repair_lines", namespace=path, keys=keys[start : start + PAGE])
    tx.run("write/repair_strays", namespace=path)
    feed(tx, secrets, path, Put(ids={*found.statuses, *found.unnumbered}))


def _tokens_again(bolt: Bolt, secrets: Secrets, path: str) -> None:
    """Make the tokens of a namespace's memories anew, a page a transaction."""
    at = {"after": "", "after_id": ""}
    while True:
        rows = bolt.run("read/remembers", namespace=path, limit=PAGE, **at)
        made = [{"id": row["memory"]["id"], "props": tokens(remember_of(row["memory"]))} for row in rows]

        def work(tx: Runner, made: list[dict[str, Any]] = made) -> None:
            tx.run("write/repair_tokens", namespace=path, rows=made)
            feed(tx, secrets, path, Put(ids={row["id"] for row in made}))

        if made:
            bolt.transaction(work)
        if len(rows) < PAGE:
            return
        at = {"after": rows[-1]["memory"]["version"], "after_id": rows[-1]["memory"]["id"]}
