"""Questions that the read statements answer: entries, pages, a key as it is and as it was, lines, edges, change-sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from memgraph.backends.base import Scope
from memgraph.backends.neo4j.rows import entry, events
from memgraph.backends.neo4j.where import ABOVE, parameters, place
from memgraph.clock import recorded_at, version_floor
from memgraph.models import (
    Change,
    ChangeSet,
    Edge,
    Entry,
    Event,
    Filters,
    Lineage,
    Neighbourhood,
    Page,
    Selector,
    Stats,
    Status,
)
from memgraph.rules import lineage as laws
from memgraph.rules.selection import conditions_match, is_empty, selector_test
from memgraph.storage.bolt import Runner

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "all_matching",
    "by_ids",
    "changeset",
    "count",
    "current",
    "facts_of",
    "graph",
    "lineage",
    "namespaces",
    "neighbours",
    "page",
    "relations",
    "select",
    "snapshot",
    "spaces",
    "stats",
    "visible",
]

_PAGE: Final = 1000
_LINE: Final = ["SUPERSEDES", "RESTORES"]
_ALL: Final = [*_LINE, "RELATES_TO"]


def namespaces(runner: Runner, prefix: str | None) -> list[str]:
    """The namespaces that hold memories, sorted; with a prefix, that one and its descendants."""
    scope = None if prefix is None else Scope(prefix, subtree=True)
    rows = runner.run("read/namespaces", prefix=prefix or "")
    return sorted(row["namespace"] for row in rows if scope is None or scope.holds(row["namespace"]))


def spaces(runner: Runner, scope: Scope) -> list[str]:
    """The namespaces of a scope, by path."""
    return namespaces(runner, scope.namespace) if scope.subtree else [scope.namespace]


def by_ids(runner: Runner, path: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
    """The memories with these ids."""
    found: dict[str, Entry] = {}
    for part in _parts(list(dict.fromkeys(ids))):
        rows = runner.run("read/entries", namespace=path, ids=part)
        found |= {row["memory"]["id"]: entry(row["memory"], now, row["superseded_by"]) for row in rows}
    return {id: found[id] for id in ids if id in found}


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), _PAGE):
        yield items[start : start + _PAGE]


# ---- lists


def _matching(
    runner: Runner,
    paths: list[str],
    filters: Filters,
    now: datetime,
    after: str | None,
    size: Callable[[], int],
    default: Literal["active", "any"] = "active",
) -> Iterator[Entry]:
    """Matching memories from a place on, newest first, read `size()` at a time."""
    at, given = place(after), parameters(filters, now, default)
    while paths:
        limit = size()
        rows = runner.run("read/list", spaces=paths, limit=limit, **at, **given)
        for row in rows:
            found = entry(row["memory"], now, row["superseded_by"])
            if not filters.where or conditions_match(found.metadata, filters.where):
                yield found
        if len(rows) < limit:
            return
        last = rows[-1]["memory"]
        at = {"version": last["version"], "path": last["namespace"], "id": last["id"]}


def all_matching(
    runner: Runner, paths: list[str], filters: Filters, now: datetime, default: Literal["active", "any"] = "active"
) -> Iterator[Entry]:
    """Every matching memory, newest first."""
    return _matching(runner, paths, filters, now, None, lambda: _PAGE, default)


def page(runner: Runner, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
    """A page of matching memories, newest version first."""
    items: list[Entry] = []
    for found in _matching(
        runner, spaces(runner, scope), filters, now, after, lambda: min(limit + 1 - len(items), _PAGE) or 1
    ):
        if len(items) == limit:
            last = items[-1]
            return Page(tuple(items), f"{last.version}~{last.namespace}~{last.id}")
        items.append(found)
    return Page(tuple(items), None)


def count(runner: Runner, scope: Scope, filters: Filters, now: datetime) -> int:
    """How many memories match."""
    paths = spaces(runner, scope)
    if filters.where:
        return sum(1 for _ in all_matching(runner, paths, filters, now))
    found: int = runner.run("read/count", spaces=paths, **parameters(filters, now))[0]["found"]
    return found


# ---- a key, and what was known


def current(
    runner: Runner,
    path: str,
    key: str,
    now: datetime,
    known_at: datetime | None = None,
    valid_at: datetime | None = None,
) -> Entry | None:
    """A key's current memory; or as known, or as true in the world, at an instant."""
    if known_at is None and valid_at is None:
        rows = runner.run("read/current", namespace=path, key=key)
        found = entry(rows[0]["memory"], now) if rows else None
        return found if found is not None and found.status is Status.ACTIVE else None
    chosen = facts_of(runner, path, [key], now, known_at, valid_at).get(key)
    return None if chosen is None else by_ids(runner, path, [chosen], now).get(chosen)


def facts_of(
    runner: Runner, path: str, keys: Sequence[str], now: datetime, known_at: datetime | None, valid_at: datetime | None
) -> dict[str, str]:
    """The ids of what these keys were, as known at one instant, or true in the world at one."""
    floor = version_floor(known_at) if known_at is not None else ABOVE
    lines: dict[str, list[dict[str, Any]]] = {}
    for part in _parts(list(dict.fromkeys(keys))):
        for row in runner.run("read/facts", namespace=path, keys=part, before=floor):
            lines.setdefault(row["key"], []).append(row)
    found: dict[str, str] = {}
    for key, rows in lines.items():
        chosen = _chosen(rows, floor, known_at or now, valid_at)
        if chosen is not None:
            found[key] = chosen
    return found


def _chosen(rows: list[dict[str, Any]], floor: str, then: datetime, valid_at: datetime | None) -> str | None:
    newest = max((row["version"] for row in rows if not row["past"]), default="")
    facts: list[laws.Fact] = []
    for row in rows:
        version, past, slot = row["version"], bool(row["past"]), row["slot"] or ""
        status = laws.status(_life(row, floor), True, past or version < newest or version < slot)
        if status.value in laws.RETIRED:
            continue
        expires = row["expires_at"]
        if valid_at is None and (status is not Status.ACTIVE or (expires is not None and expires <= then)):
            continue
        facts.append(laws.Fact(row["id"], version, row["key"], past, row["valid_from"], row["valid_to"]))
    chosen = laws.valid_at(facts, valid_at) if valid_at is not None else (facts[-1] if facts else None)
    return None if chosen is None else str(chosen.name)


def _life(row: dict[str, Any], floor: str) -> list[tuple[str, str]]:
    """What happened to a memory before a version."""
    found = []
    for event in row.get("life") or ():
        version, cause, *old = event.split("|")
        if version < floor and (not old or old[0] == row["version"]):
            found.append((version, cause))
    return found


def visible(
    runner: Runner,
    path: str,
    memories: Sequence[dict[str, Any]],
    now: datetime,
    known_at: datetime | None,
    valid_at: datetime | None,
) -> set[str]:
    """The ids of those of these memories that were current as known at one instant, or true in the world at one.

    memories: id, version, key, life, valid_from, valid_to and expires_at of each.
    """
    heads = facts_of(runner, path, [row["key"] for row in memories if row["key"] is not None], now, known_at, valid_at)
    return {
        row["id"]
        for row in memories
        if (_was_true(row, now, known_at, valid_at) if row["key"] is None else heads.get(row["key"]) == row["id"])
    }


def _was_true(row: dict[str, Any], now: datetime, known_at: datetime | None, valid_at: datetime | None) -> bool:
    """The same for a memory without a key."""
    floor = version_floor(known_at) if known_at is not None else ABOVE
    if row["version"] >= floor or laws.status(_life(row, floor), False, False) is not Status.ACTIVE:
        return False
    if valid_at is not None:
        start, end = row["valid_from"] or recorded_at(row["version"]), row["valid_to"]
        return bool(start <= valid_at and (end is None or valid_at < end))
    return bool(row["expires_at"] is None or row["expires_at"] > (known_at or now))


def snapshot(runner: Runner, path: str, known_at: datetime) -> Iterator[Entry]:
    """Every memory recorded by an instant with its status as known then, oldest first."""
    floor = version_floor(known_at)
    at = {"after": "", "after_id": ""}
    while True:
        rows = runner.run("read/snapshot", namespace=path, before=floor, limit=_PAGE, **at)
        for row in rows:
            memory = row["memory"]
            keyed = memory.get("key") is not None
            replaced = (
                bool(memory.get("past")) or row["replaced"] or (keyed and memory["version"] < (row["slot"] or ""))
            )
            status = laws.status(_life(memory, floor), keyed, replaced)
            yield entry({**memory, "status": status.value}, known_at)
        if len(rows) < _PAGE:
            return
        at = {"after": rows[-1]["memory"]["version"], "after_id": rows[-1]["memory"]["id"]}


# ---- lines and edges


def _edge(path: str, row: dict[str, Any]) -> Edge:
    return Edge(namespace=path, **row)


def _order(edge: Edge) -> tuple[str, str, str, str, str]:
    return edge.version, edge.source_id, edge.target_id, edge.type or "", edge.label


def _edges(runner: Runner, path: str, ids: Iterable[str], labels: list[str]) -> list[Edge]:
    """The edges among these memories, by version."""
    inside = set(ids)
    found: list[Edge] = []
    for part in _parts(sorted(inside)):
        rows = runner.run("read/edges", namespace=path, ids=part, labels=labels)
        found += [_edge(path, row) for row in rows if row["target_id"] in inside]
    return sorted(found, key=_order)


def relations(runner: Runner, path: str, ids: Sequence[str]) -> list[Edge]:
    """The RELATES_TO edges between memories that are there, which begin or end at one of these ids."""
    found: dict[tuple[str, str, str], Edge] = {}
    for part in _parts(list(dict.fromkeys(ids))):
        for row in runner.run("read/relations", namespace=path, ids=part):
            found[row["source_id"], row["target_id"], row["type"]] = _edge(path, {"label": "RELATES_TO", **row})
    return sorted(found.values(), key=_order)


def _line_of(runner: Runner, path: str, id: str) -> set[str]:
    """The ids of all that is linked to a memory by replacing and restoring, itself included."""
    start = runner.run("read/entries", namespace=path, ids=[id])
    if not start:
        return set()
    memory = start[0]["memory"]
    todo: list[dict[str, Any]] = [{"id": id, "key": memory.get("key"), "past": memory.get("past")}]
    found, keys = {id}, set[str]()
    while todo:
        lines = {row["key"] for row in todo if row["key"] is not None and not row["past"]} - keys
        keys |= lines
        rows = (
            [row for row in runner.run("read/lines", namespace=path, keys=sorted(lines)) if not row["past"]]
            if lines
            else []
        )
        for part in _parts([row["id"] for row in todo]):
            rows += runner.run("read/linked", namespace=path, ids=part)
        todo = list({row["id"]: row for row in rows if row["id"] not in found}.values())
        found.update(row["id"] for row in todo)
    return found


def lineage(runner: Runner, path: str, key_or_id: str, now: datetime) -> Lineage | None:
    """The line of a key, or what is linked to an id."""
    ids = {row["id"] for row in runner.run("read/lines", namespace=path, keys=[key_or_id])}
    key = key_or_id if ids else None
    ids = ids or _line_of(runner, path, key_or_id)
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
    for part in _parts(sorted(ids)):
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
        rows = [row for part in _parts(frontier) for row in runner.run("read/around", namespace=path, ids=part)]
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
            status, expires = Status(row["status"]), row["expires_at"]
            if status is Status.ACTIVE and expires is not None and expires <= now:
                status = Status.EXPIRED
            shown = {each: row[each] for each in ("key", "kind", "title", "version")}
            found.add_node(name, namespace=path, status=status, **shown)
            for label, target, version, type, weight, note, reason, via in row["edges"]:
                edge = Edge(
                    label=label,
                    namespace=path,
                    source_id=row["id"],
                    target_id=target,
                    version=version,
                    type=type,
                    weight=weight,
                    note=note,
                    reason=reason,
                    via=via,
                )
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
        rows = runner.run(statement, namespace=path, after=after, limit=_PAGE)
        yield from rows
        if len(rows) < _PAGE:
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
            found.append({**row, "cause": None, "at": row["version"]})
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
        memory, before = retired.get(root, (root, Status.FORGOTTEN))
        return Change(id=memory, key=key, before=before, after=Status.ACTIVE, version=version, restored_as=id)
    if cause == "restored":
        before = retired[id][1] if id in retired else Status.RELEASED
        return Change(id=id, key=key, before=before, after=Status.ACTIVE, version=version)
    return Change(id=id, key=key, before=Status.ACTIVE, after=Status(cause), version=version)


# ---- purging and administration


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
                    widened |= _line_of(runner, path, found.id)
        yield from by_ids(runner, path, sorted(widened - seen), now).values()


def _candidates(runner: Runner, path: str, selector: Selector, now: datetime) -> Iterator[Entry]:
    """Memories among which are all that a selector matches in a namespace."""
    if selector.ids:
        yield from by_ids(runner, path, selector.ids, now).values()
    elif selector.key is not None:
        ids = [row["id"] for row in runner.run("read/lines", namespace=path, keys=[selector.key])]
        yield from by_ids(runner, path, ids, now).values()
    else:
        filters = Filters(**{name: getattr(selector, name) for name in Filters.model_fields})
        yield from all_matching(runner, [path], filters, now, "any")


def stats(runner: Runner, path: str, now: datetime) -> Stats:
    """How much there is. The server does not tell its bytes to a client, so they count 0."""
    rows = runner.run("read/stats", namespace=path, now=now)
    totals = runner.run("read/totals", namespace=path)[0]
    by_status = {status.value: sum(r["entries"] for r in rows if r["status"] == status.value) for status in Status}
    kinds = sorted({row["kind"] for row in rows})
    return Stats(
        namespace=path,
        entries=sum(row["entries"] for row in rows),
        by_status={status: number for status, number in by_status.items() if number},
        by_kind={kind: sum(row["entries"] for row in rows if row["kind"] == kind) for kind in kinds},
        keys=totals["keys"],
        relations=totals["relations"],
        store_entries=totals["store_entries"],
        store_namespaces=len(namespaces(runner, None)),
        bytes=0,
        unsealed=0,
    )
