"""Lines, edges and neighbourhoods: what the live graph finds, with what the tables say about it; change-sets too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from memgraph.backends.base import Scope
from memgraph.backends.local import reads
from memgraph.clock import recorded_at
from memgraph.models import Change, ChangeSet, Edge, Event, Lineage, Neighbourhood, Status
from memgraph.rules import lineage as laws

if TYPE_CHECKING:
    import networkx as nx

    from memgraph.backends.local.graph import LiveGraph

__all__ = ["changeset", "copy", "lineage", "neighbours", "relations"]

_LINEAGE: Final = frozenset({"SUPERSEDES", "RESTORES"})


def _seq(connection: sqlite3.Connection, path: str, id: str) -> int | None:
    row = connection.execute(
        "select seq from memory where ns = ? and id = ? and version is not null",
        (reads.namespace_number(connection, path), id),
    ).fetchone()
    return row[0] if row else None


def _in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (edge.version, edge.source_id, edge.target_id, edge.type or "")))


def lineage(
    connection: sqlite3.Connection, graph: LiveGraph, path: str, key_or_id: str, now: datetime
) -> Lineage | None:
    """The line of a key, or what is linked to an id by replacing and restoring."""
    seqs = _key_seqs(connection, path, key_or_id)
    key = key_or_id if seqs else None
    if not seqs:
        seq = _seq(connection, path, key_or_id)
        if seq is None:
            return None
        seqs = list(graph.around(seq, len(graph.graph), _LINEAGE, active_only=False))
    entries = sorted(reads.by_seqs(connection, seqs, now).values(), key=lambda each: (each.version, each.id))
    links = sorted(link for link in graph.among(seqs) if not link[2].startswith("RELATES_TO"))
    active = [each.id for each in entries if each.status is Status.ACTIVE]
    return Lineage(
        namespace=path,
        key=key,
        entries=tuple(entries),
        edges=_in_order(_edges(connection, path, links)),
        events=tuple(_events(connection, seqs)),
        current=active[-1] if active else None,
    )


def neighbours(
    connection: sqlite3.Connection, graph: LiveGraph, path: str, id: str, depth: int, now: datetime
) -> Neighbourhood | None:
    """What lies around a memory."""
    seq = _seq(connection, path, id)
    if seq is None:
        return None
    around = graph.around(seq, depth, None, active_only=True)
    entries = reads.by_seqs(connection, around, now)
    shown = {each for each, found in entries.items() if each == seq or found.status is Status.ACTIVE}
    order = sorted(shown - {seq}, key=lambda each: (around[each], entries[each].version, entries[each].id))
    return Neighbourhood(
        centre=entries[seq],
        entries=tuple(entries[each] for each in order),
        edges=_in_order(_edges(connection, path, sorted(graph.among(shown)))),
    )


def copy(connection: sqlite3.Connection, live: LiveGraph, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
    """A frozen copy of the graph of a scope."""
    from memgraph.backends.local.graph import built

    spaces = dict(reads.namespaces(connection, scope))
    seqs = [seq for seq, node in live.graph.nodes(data=True) if node["ns"] in spaces]
    entries = reads.by_seqs(connection, seqs, now)
    names = {seq: (each.namespace, each.id) if scope.subtree else each.id for seq, each in entries.items()}
    nodes = [
        (names[seq], each.model_dump(include={"namespace", "key", "kind", "title", "status", "version"}))
        for seq, each in entries.items()
    ]
    edges = []
    for a, b, key in live.among(seqs):
        for edge in _edges(connection, entries[a].namespace, [(a, b, key)]):
            name = f"{key}:explicit" if edge.via == "explicit" else key
            edges.append((names[a], names[b], name, edge.model_dump(exclude_none=True)))
    return built(nodes, edges)


def _key_seqs(connection: sqlite3.Connection, path: str, key: str) -> list[int]:
    """The numbers of all memories that have or had a key, oldest first."""
    rows = connection.execute(
        "select seq from memory where ns = (select ns from namespace where path = ?) and key = ? and version is not null"
        " order by version",
        (path, key),
    )
    return [seq for (seq,) in rows]


def _events(connection: sqlite3.Connection, seqs: Iterable[int]) -> list[Event]:
    """What happened to these memories, in order."""
    found = []
    for seq in seqs:
        rows = connection.execute(
            "select memory.id, life.cause, life.version, life.reason, life.actor, life.old_version, memory.version"
            " from life join memory using(seq) where seq = ? and memory.version is not null",
            (seq,),
        )
        found += [
            Event(id=id, cause=cause, version=at, at=recorded_at(at), reason=reason, actor=actor)
            for id, cause, at, reason, actor, old, version in rows
            if old is None or old == version
        ]
    return sorted(found, key=lambda event: (event.version, event.id))


def _edges(connection: sqlite3.Connection, path: str, links: Iterable[tuple[int, int, str]]) -> list[Edge]:
    """The edges behind (from, to, key) triples of the live graph, with all that they say."""
    found: list[Edge] = []
    execute = connection.execute
    names: dict[int, tuple[str, str, str | None]] = {}

    def about(seq: int) -> tuple[str, str, str | None]:
        if seq not in names:
            names[seq] = execute("select id, version, reason from memory where seq = ?", (seq,)).fetchone()
        return names[seq]

    for a, b, key in links:
        (source, version, reason), (target, _, _) = about(a), about(b)
        if key == "RESTORES":
            found.append(
                Edge(
                    label="RESTORES",
                    namespace=path,
                    source_id=source,
                    target_id=target,
                    version=version,
                    reason=reason,
                )
            )
        elif key == "SUPERSEDES":
            explicit = execute(
                "select version, reason from life where superseding = ? and seq = ? and cause = 'superseded' order by version",
                (a, b),
            ).fetchall()
            line = execute(
                "select 1 from memory x join memory y on y.ns = x.ns and y.key = x.key where x.seq = ? and y.seq = ?"
                " and x.past = 0 and y.past = 0 and not exists (select 1 from memory z where z.ns = x.ns and z.key = x.key"
                " and z.past = 0 and z.version > y.version and z.version < x.version)",
                (a, b),
            ).fetchone()
            if line:
                found.append(_supersedes(path, source, target, version, reason, "key"))
            found += [_supersedes(path, source, target, at, why, "explicit") for at, why in explicit]
        else:
            row = execute(
                "select version, type, weight, note from relation where a = ? and b = ? and type = ? and gone = 0",
                (a, b, key.partition(":")[2]),
            ).fetchone()
            if row is not None:
                found.append(_relates(path, source, target, row))
    return found


def _supersedes(path: str, source: str, target: str, version: str, reason: str | None, via: Any) -> Edge:
    return Edge(
        label="SUPERSEDES",
        namespace=path,
        source_id=source,
        target_id=target,
        version=version,
        reason=reason,
        via=via,
    )


def _relates(path: str, source: str, target: str, row: Sequence[Any]) -> Edge:
    version, type, weight, note = row
    return Edge(
        label="RELATES_TO",
        namespace=path,
        source_id=source,
        target_id=target,
        version=version,
        type=type,
        weight=weight,
        note=note,
    )


def relations(connection: sqlite3.Connection, path: str, ids: Sequence[str]) -> list[Edge]:
    """The RELATES_TO edges between memories that are there, which begin or end at one of these ids."""
    ns = reads.namespace_number(connection, path)
    found: dict[tuple[str, str, str], Edge] = {}
    for id in ids if ns is not None else ():
        rows = connection.execute(
            "select x.id, y.id, r.version, r.type, r.weight, r.note from memory m"
            " join relation r on r.a = m.seq or r.b = m.seq join memory x on x.seq = r.a join memory y on y.seq = r.b"
            " where m.ns = ? and m.id = ? and r.gone = 0 and x.version is not null and y.version is not null",
            (ns, id),
        )
        for source, target, *rest in rows:
            found[source, target, rest[1]] = _relates(path, source, target, rest)
    return sorted(found.values(), key=lambda edge: (edge.version, edge.source_id, edge.target_id, edge.type or ""))


def changeset(connection: sqlite3.Connection, path: str, id: str) -> ChangeSet | None:
    """A change-set, put together from its events and the copies that it made."""
    ns = reads.namespace_number(connection, path)
    life = connection.execute(
        "select memory.id, memory.key, life.cause, life.version from life join memory using(seq)"
        " where life.changeset = ? and memory.ns = ? and memory.version is not null order by life.version",
        (id, ns),
    ).fetchall()
    copies = connection.execute(
        "select memory.restores_id, memory.key, memory.version, memory.id from memory"
        " where changeset = ? and ns = ? order by version",
        (id, ns),
    ).fetchall()
    if not life and not copies:
        return None
    undone = id.removeprefix("undo:")
    # what an undo brings back, by the root of its copies
    retired = _retired(connection, ns, undone) if id != undone else {}
    changes = [_change(memory, key, cause, version, retired.get(memory)) for memory, key, cause, version in life]
    for origin, key, version, copy in copies:
        memory, before = retired.get(origin or copy, (origin or copy, Status.SUPERSEDED))
        changes.append(
            Change(id=memory, key=key, before=before, after=Status.ACTIVE, version=version, restored_as=copy)
        )
    changes.sort(key=lambda change: change.version)
    undone = connection.execute(
        "select 1 from life where changeset = ?1 union all select 1 from memory where changeset = ?1", (f"undo:{id}",)
    ).fetchone()
    return ChangeSet(
        id=id,
        namespace=path,
        cause="undo" if id.startswith("undo:") else (life[0][2] if life else "restored"),
        at=recorded_at(changes[0].version),
        changes=tuple(changes),
        undoes=id.removeprefix("undo:") if id.startswith("undo:") else None,
        undone_by=f"undo:{id}" if undone else None,
    )


def _retired(connection: sqlite3.Connection, ns: int | None, id: str) -> dict[str, tuple[str, Status]]:
    rows = connection.execute(
        "select coalesce(memory.restores_id, memory.id), memory.id, life.cause from life join memory using(seq)"
        " where life.changeset = ? and memory.ns = ? and memory.version is not null",
        (id, ns),
    )
    return {root: (memory, Status(cause)) for root, memory, cause in rows if cause in laws.RETIRED}


def _change(memory: str, key: str | None, cause: str, version: str, retired: tuple[str, Status] | None) -> Change:
    if cause == "restored":
        before = retired[1] if retired else Status.SUPERSEDED
        return Change(id=memory, key=key, before=before, after=Status.ACTIVE, version=version)
    return Change(id=memory, key=key, before=Status.ACTIVE, after=Status(cause), version=version)
