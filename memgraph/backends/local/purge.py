"""Purging the local store: what a selector matches, the plan, and carrying it out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memgraph.backends.base import Scope
from memgraph.backends.local import graph as live
from memgraph.backends.local import journal, reads
from memgraph.backends.local.apply import Applier
from memgraph.backends.local.rows import COLUMNS, entry
from memgraph.backends.local.where import selector_clause
from memgraph.clock import new_id
from memgraph.models import Entry, PurgePlan, Selector
from memgraph.rules.selection import Going, Purges, going, purge_plan, purged_spaces, purges, selector_test

__all__ = ["Done", "plan", "purge", "select"]


@dataclass(frozen=True)
class Done:
    """What a purge did: its operations, what was removed, and how many tombstones there are more."""

    receipt: str
    version: str
    operations: Purges
    removed: dict[str, int]
    tombstones: int


def select(
    connection: sqlite3.Connection, graph: live.LiveGraph | None, scope: Scope, selector: Selector, now: datetime
) -> Iterator[Entry]:
    """Every memory that a selector matches, each once. `graph`, caught up, is needed for `lineage` only."""
    seen: set[int] = set()
    wanted = selector_test(selector, now)
    for ns, path in reads.namespaces(connection, scope):
        where, values = selector_clause(selector, now)
        rows = connection.execute(
            f"select {COLUMNS} from memory where ns = ? and version is not null and {where}", (ns, *values)
        )
        widened: set[int] = set()
        for row in rows:
            found = entry(row, path, now)
            if wanted(found):
                seen.add(row[0])
                yield found
                if selector.lineage and graph is not None and row[0] not in widened:
                    widened.update(graph.around(row[0], len(graph.graph), frozenset({"SUPERSEDES", "RESTORES"}), False))
        yield from reads.by_seqs(connection, sorted(widened - seen), now).values()
        seen |= widened


def _copies(connection: sqlite3.Connection, found: list[Going], now: datetime) -> list[Going]:
    """The restored copies of these memories, which a purge takes along."""
    have = {(each.namespace, each.id) for each in found}
    todo, copies = list(found), list[Going]()
    while todo:
        path, origin, *_ = todo.pop()
        rows = connection.execute(
            "select id from memory where ns = (select ns from namespace where path = ?) and restores_id = ?"
            " and version is not null",
            (path, origin),
        ).fetchall()
        ids = [id for (id,) in rows if (path, id) not in have]
        have.update((path, id) for id in ids)
        fresh = [going(entry) for entry in reads.by_ids(connection, path, ids, now).values()]
        copies += fresh
        todo += fresh
    return copies


def plan(
    connection: sqlite3.Connection,
    graph: live.LiveGraph | None,
    scope: Scope,
    selector: Selector,
    now: datetime,
    store: str,
) -> PurgePlan:
    """What a purge of this selector would remove now."""
    found = [going(entry) for entry in select(connection, graph, scope, selector, now)]
    found += _copies(connection, found, now)
    by_store = {"local": len(found), "refused": len(journal.refused(connection, scope, selector, now))}
    return purge_plan(scope.namespace, scope.subtree, selector, found, now, store, by_store)


def purge(connection: sqlite3.Connection, planned: PurgePlan, version: str, receipt: str | None = None) -> Done:
    """Remove what a plan names, at a version. receipt: the id that a primary gave it already."""
    before = connection.execute("select count(*) from tombstone").fetchone()[0]
    applier = Applier(connection)
    receipt = receipt or new_id()
    operations = Purges(version, receipt)
    scope = Scope(planned.namespace, planned.subtree)
    known = [path for _, path in reads.namespaces(connection, scope)]
    for path in purged_spaces(planned, known):
        ids = planned.ids.get(path, ())
        operations.add(path, purges(planned.selector, path, ids), _heads(connection, path, ids))
    for operation in operations:
        applier.apply(operation)
    applier.finish()
    after = connection.execute("select count(*) from tombstone").fetchone()[0]
    return Done(receipt, version, operations, {"memories": 0, **applier.removed}, after - before)


def _heads(connection: sqlite3.Connection, path: str, ids: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The keys whose newest version is among these ids, with that version."""
    ns = reads.namespace_number(connection, path)
    going = set(ids)
    heads: dict[str, str] = {}
    for id in ids:
        row = connection.execute(
            "select key from memory where ns = ? and id = ? and key is not null", (ns, id)
        ).fetchone()
        if row is None or row[0] in heads:
            continue
        newest = connection.execute(
            "select id, version from memory where ns = ? and key = ? and past = 0 order by version desc limit 1",
            (ns, row[0]),
        ).fetchone()
        if newest is not None and newest[0] in going:
            heads[row[0]] = newest[1]
    return tuple(sorted(heads.items()))
