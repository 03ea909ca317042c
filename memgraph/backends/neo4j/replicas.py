"""What replicas need of the primary: pushing units of theirs, pulling what others wrote by the feed, and short facts to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import memgraph.operations as ops
from memgraph.backends.base import Changes, Facts, Pushed
from memgraph.backends.neo4j import dump
from memgraph.backends.neo4j.reads import by_ids
from memgraph.backends.neo4j.rows import remember_of
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.backends.neo4j.writes import Put, feed, put
from memgraph.errors import ConflictError
from memgraph.storage.bolt import Runner

__all__ = ["changes", "facts", "push"]

PAGE: Final = 500
_ENDLESS: Final = 2**62  # beyond every number of a feed
Items = Sequence[ops.Operation | ops.Unknown]


def push(tx: Runner, secrets: Secrets, operations: Items, now: datetime) -> Pushed:
    """Apply stamped operations, no purges among them, in this transaction.

    Raises ConflictError where an id names a memory with other content here.
    """
    spaces: dict[str, list[ops.Operation | ops.Unknown]] = {}
    for operation in operations:
        spaces.setdefault(operation.namespace, []).append(operation)
    puts = {path: put(tx, secrets, path, mine) for path, mine in sorted(spaces.items())}
    earlier = {path: _earlier(tx, path, spaces[path], done, now) for path, done in puts.items() if done.remembered}
    feeds = {path: feed(tx, secrets, path, done) for path, done in puts.items()}
    return Pushed(feeds, {path: ids for path, ids in earlier.items() if ids})


def _earlier(tx: Runner, path: str, operations: Items, done: Put, now: datetime) -> list[str]:
    """The ids that named the same memory here before, under another version. Raises ConflictError if it is not the same."""
    mine = {each.id: each for each in operations if isinstance(each, ops.Remember)}
    ids = [row["id"] for row in done.remembered if row["version"] and row["version"] != mine[row["id"]].version]
    there = by_ids(tx, path, ids, now) if ids else {}
    others = sum((found.content, found.key) != (mine[id].content, mine[id].key) for id, found in there.items())
    if others:
        raise ConflictError(f"{others} ids name memories with other content, or another key, on the primary")
    return ids


def changes(runner: Runner, namespace: str, after: tuple[int, str], until: int | None = None) -> Changes:
    """A page of what was touched after a place in the feed; with the first page, tombstones and unknown operations.

    until: only the memories that were touched last at this number or before.
    """
    seq, id = after
    last = _ENDLESS if until is None else until
    rows = runner.run("read/changes", namespace=namespace, seq=seq, id=id, until=last, limit=PAGE)
    found: list[ops.Operation | ops.Unknown] = []
    for row in rows:
        if row["memory"] is not None:
            found.append(remember_of(row["memory"]))
        found += dump.life(namespace, row)
        found += dump.relations(namespace, row)
        found += dump.feedback(namespace, row)
    tombstones: list[dict[str, Any]] = []
    if not id and until is None:
        tombstones = list(dump.with_secrets(runner, list(dump.tombstones(runner, namespace, seq))))
        found += dump.unknown(runner, namespace)
    place = (rows[-1]["seq"], rows[-1]["id"]) if rows else after
    return Changes(found, tombstones, place, len(rows) == PAGE)


def facts(runner: Runner, namespace: str) -> Iterator[Facts]:
    """What is known of each memory and place of a namespace, by id."""
    after = ""
    while True:
        rows = runner.run("read/digests", namespace=namespace, after=after, limit=PAGE * 4)
        for row in rows:
            found = {f"remember|{row['version']}"} if row["version"] else set()
            found.update("|".join(event.split("|")[:2]) for event in row["life"] or ())
            found.update(f"relation|{b}|{type}|{version}" for b, type, version in row["relations"])
            found.update(f"feedback|{name}|{version}" for name, version in row["feedback"])
            yield Facts(row["id"], frozenset(found))
        if len(rows) < PAGE * 4:
            return
        after = rows[-1]["id"]
