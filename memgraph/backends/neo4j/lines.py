"""Lines, neighbourhoods and change-sets: questions that follow the edges of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from memgraph.backends.base import Scope
from memgraph.backends.neo4j.damage import sound_edge, status_of
from memgraph.backends.neo4j.reads import PAGE, all_matching, by_ids, parts, spaces
from memgraph.backends.neo4j.rows import events, sound, sound_times
from memgraph.clock import recorded_at
from memgraph.models import Change, ChangeSet, Edge, Entry, Event, Lineage, Neighbourhood, Selector, Status
from memgraph.rules import lineage as laws
from memgraph.rules.selection import is_empty, selector_test
from memgraph.storage.bolt import Runner

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["changeset", "graph", "lineage", "neighbours", "relations", "select"]

_LINE: Final = ["SUPERSEDES", "RESTORES"]
_ALL: Final = [*_LINE, "RELATES_TO"]


def _edge(path: str, row: dict[str, Any]) -> Edge:
    try:
        return Edge(namespace=path, **row)
    except ValueError:  # somebody drew or changed it by hand
        return Edge(namespace=path, **sound_edge(row))


def _order(edge: Edge) -> tuple[str, str, str, str, str]:
    return edge.version, edge.source_id, edge.target_id, edge.type or "", edge.label


def _edges(runner: Runner, path: str, ids: Iterable[str], labels: list[str]) -> list[Edge]:
    """The edges among these memories, by version."""
    inside = set(ids)
    found: list[Edge] = []
    for part in parts(sorted(inside)):
        rows = runner.run("read/edges", namespace=path, ids=part, labels=labels)
        found += [_edge(path, row) for row in rows if row["target_id"] in inside]
    return sorted(found, key=_order)


def relations(runner: Runner, path: str, ids: Sequence[str]) -> list[Edge]:
    """The RELATES_TO edges between memories that are there, which begin or end at one of these ids."""
    found: dict[tuple[str, str, str], Edge] = {}
    for part in parts(list(dict.fromkeys(ids))):
        for row in runner.run("read/relations", namespace=path, ids=part):
            found[row["source_id"], row["target_id"], row["type"]] = _edge(path, {"label": "RELATES_TO", **row})
    return sorted(found.values(), key=_order)


def line_of(runner: Runner, path: str, id: str) -> set[str]:
    """The ids of all that is linked to a memory by replacing and restoring, itself included."""
    found, keys, todo = set[str](), set[str](), [id]
    while todo:
        start = todo.pop()
        if start in found:
            continue
        rows = runner.run("read/linked", namespace=path, id=start)
        found.update(row["id"] for row in rows)
        lines = {row["key"] for row in rows if row["key"] is not None and not row["past"]} - keys
        if lines:  # whole already, unless somebody took an edge away
            keys |= lines
            rows = runner.run("read/lines", namespace=path, keys=sorted(lines))
            todo += [row["id"] for row in rows if not row["past"]]
    return found


def lineage(runner: Runner, path: str, key_or_id: str, now: datetime) -> Lineage | None:
    """The line of a key, or what is linked to an id."""
    ids = {row["id"] for row in runner.run("read/lines", namespace=path, keys=[key_or_id])}
    key = key_or_id if ids else None
    ids = ids or line_of(runner, path, key_or_id)
    if not ids:
        return None
    entries = sorted(by_ids(runner, path, sorted(ids), now).values(), key=lambda each: (each.version, each.id))
    edges = _edges(runner, path, ids, _LINE)
    active = [each.id for each in entries if each.status is Status.ACTIVE]
    return Lineage(
        namespace=path,
        key=key,
        entries=tuple(entries),
        edges=tuple(edges),
        events=tuple(_events(runner, path, ids)),
        current=active[-1] if active else None,
    )


def _events(runner: Runner, path: str, ids: Iterable[str]) -> list[Event]:
    """What happened to these memories, in order."""
    found: list[Event] = []
    for part in parts(sorted(ids)):
        for row in runner.run("read/events", namespace=path, ids=part):
            reasons = dict(row["reasons"])
            for event in events(row):
                at, cause = event["version"], event["cause"]
                reason = reasons.get(at) if cause == "superseded" else event.get("reason")
                actor = event.get("actor")
                found.append(
                    Event(id=row["id"], cause=cause, version=at, at=recorded_at(at), reason=reason, actor=actor)
                )
    return sorted(found, key=lambda event: (event.version, event.id))


def neighbours(runner: Runner, path: str, id: str, depth: int, now: datetime) -> Neighbourhood | None:
    """What lies around a memory."""
    centre = by_ids(runner, path, [id], now).get(id)
    if centre is None:
        return None
    around, frontier = {id: 0}, [id]
    for distance in range(1, depth + 1):
        rows = [row for part in parts(frontier) for row in runner.run("read/around", namespace=path, ids=part)]
        frontier = list(dict.fromkeys(row["id"] for row in rows if row["id"] not in around))
        around |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    entries = by_ids(runner, path, [each for each in around if each != id], now)
    shown = {each: found for each, found in entries.items() if found.status is Status.ACTIVE}
    edges = _edges(runner, path, [id, *shown], _ALL)
    return Neighbourhood(
        centre=centre,
        entries=tuple(sorted(shown.values(), key=lambda each: (around[each.id], each.version, each.id))),
        edges=tuple(edges),
    )


def graph(runner: Runner, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
    """A frozen copy of the graph of a scope."""
    import networkx as nx

    found: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    edges: list[tuple[Any, Any, str, Edge]] = []
    for path in spaces(runner, scope):
        for row in _by_id(runner, "read/nodes", path):
            name = (path, row["id"]) if scope.subtree else row["id"]
            status, expires = status_of(row["status"]), sound_times(row)["expires_at"]
            if status is Status.ACTIVE and expires is not None and expires <= now:
                status = Status.EXPIRED
            shown = {each: row[each] for each in ("key", "kind", "title", "version")}
            found.add_node(name, namespace=path, status=status, **shown)
            for label, target, version, type, weight, note, reason, via in row["edges"]:
                values = {"label": label, "source_id": row["id"], "target_id": target, "version": version, "type": type}
                edge = _edge(path, {**values, "weight": weight, "note": note, "reason": reason, "via": via})
                key = f"{label}:{type}" if type is not None else f"{label}:explicit" if via == "explicit" else label
                edges.append((name, (path, target) if scope.subtree else target, key, edge))
    for a, b, key, edge in sorted(edges, key=lambda each: _order(each[3])):
        if a in found and b in found:  # a page may be newer than the one before
            found.add_edge(a, b, key=key, **edge.model_dump(exclude_none=True))
    return nx.freeze(found)


def _by_id(runner: Runner, statement: str, path: str) -> Iterator[dict[str, Any]]:
    """All rows of a statement that pages by id."""
    after = ""
    while True:
        rows = runner.run(statement, namespace=path, after=after, limit=PAGE)
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1]["id"]


def changeset(runner: Runner, path: str, id: str) -> ChangeSet | None:
    """A change-set, put together from its events and the copies that it made."""
    changed = _changed(runner, path, id)
    if not changed:
        return None
    undone = id.removeprefix("undo:")
    retired: dict[str, tuple[str, Status]] = {}
    if id != undone:  # what an undo brings back, by the root of its copies
        for row in _changed(runner, path, undone):
            if row["cause"] in laws.RETIRED:
                retired[row["origin"] or row["id"]] = row["id"], Status(row["cause"])
    causes = [row["cause"] for row in changed if row["cause"] is not None]
    return ChangeSet(
        id=id,
        namespace=path,
        cause="undo" if id != undone else (causes[0] if causes else "restored"),
        at=recorded_at(changed[0]["at"]),
        changes=tuple(_change(row, retired) for row in changed),
        undoes=undone if id != undone else None,
        undone_by=f"undo:{id}" if _changed(runner, path, f"undo:{id}") else None,
    )


def _changed(runner: Runner, path: str, id: str) -> list[dict[str, Any]]:
    """What a change-set did, in order: memory, cause (None: it made the memory) and `at`, the version of that."""
    found: list[dict[str, Any]] = []
    for row in runner.run("read/changeset", namespace=path, id=id):
        if row["changeset"] == id:
            found.append({**row, "cause": None, "at": sound(row["version"])})
        found += [
            {**row, "cause": event["cause"], "at": event["version"]}
            for event in events(row)
            if event.get("changeset") == id
        ]
    return sorted(found, key=lambda row: (row["at"], row["id"]))


def _change(row: dict[str, Any], retired: dict[str, tuple[str, Status]]) -> Change:
    id, key, cause, version = row["id"], row["key"], row["cause"], row["at"]
    if cause is None:
        root = row["origin"] or id
        memory, before = retired.get(root, (root, Status.SUPERSEDED))
        return Change(id=memory, key=key, before=before, after=Status.ACTIVE, version=version, restored_as=id)
    if cause == "restored":
        before = retired[id][1] if id in retired else Status.SUPERSEDED
        return Change(id=id, key=key, before=before, after=Status.ACTIVE, version=version)
    return Change(id=id, key=key, before=Status.ACTIVE, after=Status(cause), version=version)


def select(runner: Runner, scope: Scope, selector: Selector, now: datetime) -> Iterator[Entry]:
    """Every memory that a selector matches, each once."""
    if is_empty(selector):
        return
    wanted = selector_test(selector, now)
    for path in spaces(runner, scope):
        seen: set[str] = set()
        widened: set[str] = set()
        for found in _candidates(runner, path, selector, now):
            if wanted(found) and found.id not in seen:
                seen.add(found.id)
                yield found
                if selector.lineage and found.id not in widened:
                    widened |= line_of(runner, path, found.id)
        yield from by_ids(runner, path, sorted(widened - seen), now).values()


def _candidates(runner: Runner, path: str, selector: Selector, now: datetime) -> Iterator[Entry]:
    """Memories among which are all that a selector matches in a namespace."""
    if selector.ids:
        yield from by_ids(runner, path, selector.ids, now).values()
    elif selector.key is not None:
        ids = [row["id"] for row in runner.run("read/lines", namespace=path, keys=[selector.key])]
        yield from by_ids(runner, path, ids, now).values()
    else:
        yield from all_matching(runner, [path], selector, now, "any")
