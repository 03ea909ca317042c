"""Questions about memories as they stand or stood: entries, pages, a key as it is and as it was, how much there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from memgraph.backends.base import Scope
from memgraph.backends.neo4j.rows import entry, sound, sound_times
from memgraph.backends.neo4j.where import ABOVE, parameters, place
from memgraph.clock import recorded_at, version_floor
from memgraph.models import Entry, Filters, Page, Stats, Status
from memgraph.rules import lineage as laws
from memgraph.rules.cursor import cursor
from memgraph.rules.selection import conditions_match
from memgraph.storage.bolt import Runner

__all__ = [
    "PAGE",
    "all_matching",
    "as_found",
    "before",
    "by_ids",
    "by_ids_surely",
    "count",
    "current",
    "facts_of",
    "namespaces",
    "page",
    "parts",
    "snapshot",
    "spaces",
    "stats",
    "visible",
]

PAGE: Final = 1000  # rows of one statement
_LOOKS: Final = (0.0, 0.001, 0.002, 0.004)  # seconds before each look at a key whose value is just being replaced


def namespaces(runner: Runner, prefix: str | None, emptied: bool = False) -> list[str]:
    """The namespaces that hold memories, sorted; with a prefix, that one and its descendants. emptied: those that held any too."""
    scope = None if prefix is None else Scope(prefix, subtree=True)
    rows = runner.run("read/namespaces", prefix=prefix or "", emptied=emptied)
    return sorted(row["namespace"] for row in rows if scope is None or scope.holds(row["namespace"]))


def spaces(runner: Runner, scope: Scope) -> list[str]:
    """The namespaces of a scope, by path."""
    return namespaces(runner, scope.namespace) if scope.subtree else [scope.namespace]


def by_ids(runner: Runner, path: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
    """The memories with these ids."""
    found: dict[str, Entry] = {}
    for part in parts(list(dict.fromkeys(ids))):
        rows = runner.run("read/entries", namespace=path, ids=part)
        found |= {row["memory"]["id"]: entry(row["memory"], now, row["superseded_by"]) for row in rows}
    return {id: found[id] for id in ids if id in found}


def as_found(runner: Runner, path: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
    """The memories with these ids, as they were when the ids were read: what has been superseded since is shown as it was."""
    found = by_ids_surely(runner, path, ids, now)
    return {
        id: each if each.superseded_by is None or each.superseded_by in found else before(each, now)
        for id, each in found.items()
    }


def by_ids_surely(runner: Runner, path: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
    """The memories with these ids, and what superseded them also where that is just being committed."""
    found = by_ids(runner, path, ids, now)
    unclear = [id for id, each in found.items() if each.status is Status.SUPERSEDED and each.superseded_by is None]
    if unclear:  # by something that is being committed, or that was purged: a second look tells
        found |= by_ids(runner, path, unclear, now)
    return found


def before(superseded: Entry, now: datetime) -> Entry:
    """A memory as it was before it was superseded."""
    over = laws.has_expired(superseded.expires_at, now)
    return superseded.model_copy(update={"status": Status.EXPIRED if over else Status.ACTIVE, "superseded_by": None})


def parts(items: list[Any]) -> Iterator[list[Any]]:
    """A list in pieces, one a statement."""
    for start in range(0, len(items), PAGE):
        yield items[start : start + PAGE]


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
        until = min(given["until"], f"{at['version']}~")  # so that the index begins at the place
        rows = runner.run("read/list", spaces=paths, limit=limit, **at, **(given | {"until": until}))
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
    return _matching(runner, paths, filters, now, None, lambda: PAGE, default)


def page(runner: Runner, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
    """A page of matching memories, newest version first."""
    items: list[Entry] = []
    for found in _matching(
        runner, spaces(runner, scope), filters, now, after, lambda: min(limit + 1 - len(items), PAGE) or 1
    ):
        if len(items) == limit:
            last = items[-1]
            return Page(tuple(items), cursor(last))
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
        return _current(runner, path, key, now)
    chosen = facts_of(runner, path, [key], now, known_at, valid_at).get(key)
    return None if chosen is None else by_ids(runner, path, [chosen], now).get(chosen)


def _current(runner: Runner, path: str, key: str, now: datetime) -> Entry | None:
    for pause in _LOOKS:
        time.sleep(pause)
        rows = runner.run("read/current", namespace=path, key=key)
        if not rows:
            return None
        memory, head = rows[0]["memory"], rows[0]["head"]
        if memory is not None:
            found = entry(memory, now)
            if found.status is not Status.SUPERSEDED:  # else it is being replaced at this moment
                return found if found.status is Status.ACTIVE else None
        elif head in laws.RETIRED:
            return None
    return None


def facts_of(
    runner: Runner, path: str, keys: Sequence[str], now: datetime, known_at: datetime | None, valid_at: datetime | None
) -> dict[str, str]:
    """The ids of what these keys were, as known at one instant, or true in the world at one."""
    floor = version_floor(known_at) if known_at is not None else ABOVE
    lines: dict[str, list[dict[str, Any]]] = {}
    for part in parts(list(dict.fromkeys(keys))):
        for row in runner.run("read/facts", namespace=path, keys=part, before=floor):
            sound(sound_times(row)["version"])
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
        for row in map(sound_times, memories)
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
        rows = runner.run("read/snapshot", namespace=path, before=floor, limit=PAGE, **at)
        for row in rows:
            memory = row["memory"]
            keyed = memory.get("key") is not None
            replaced = (
                bool(memory.get("past")) or row["replaced"] or (keyed and memory["version"] < (row["slot"] or ""))
            )
            status = laws.status(_life(memory, floor), keyed, replaced)
            yield entry({**memory, "status": status.value}, known_at)
        if len(rows) < PAGE:
            return
        at = {"after": rows[-1]["memory"]["version"], "after_id": rows[-1]["memory"]["id"]}


# ---- administration


def stats(runner: Runner, path: str, now: datetime) -> Stats:
    """How much there is. The server does not tell its bytes to a client, so they count 0."""
    rows = runner.run("read/stats", namespace=path, now=now)
    totals = runner.run("read/totals", namespace=path)[0]
    by_status = {status.value: sum(r["entries"] for r in rows if r["status"] == status.value) for status in Status}
    kinds = sorted({row["kind"] or "fact" for row in rows})
    return Stats(
        namespace=path,
        entries=sum(row["entries"] for row in rows),
        by_status={status: number for status, number in by_status.items() if number},
        by_kind={kind: sum(row["entries"] for row in rows if (row["kind"] or "fact") == kind) for kind in kinds},
        keys=totals["keys"],
        relations=totals["relations"],
        store_entries=totals["store_entries"],
        store_namespaces=len(namespaces(runner, None)),
        bytes=0,
        unsealed=0,
    )
