"""Giving new versions to what was written while this machine's clock was ahead, so that the store can be written again.

Only what no other replica has: all of a store without a primary, else what still waits for that. The order stays as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import memgraph.operations as ops
from memgraph.backends.base import Scope
from memgraph.backends.local import apply, dump, journal
from memgraph.clock import Clock

__all__ = ["ahead", "restamp"]


def ahead(connection: sqlite3.Connection, floor: str) -> list[str]:
    """The versions from `floor` on that no other replica has, in order."""
    if apply.newest_version(connection) < floor:
        return []
    found = {operation.version for operation in _operations(connection)}
    found.update(version for (version,) in connection.execute("select version from tombstone"))
    if journal.primary_of(connection) is not None:
        found &= {version for (version,) in connection.execute("select version from outbox")}
    return sorted(version for version in found if version >= floor)


def restamp(connection: sqlite3.Connection, clock: Clock, floor: str) -> int:
    """Write everything from `floor` on anew, under versions of this clock and the same ids; returns how many versions there were.

    clock: a new one, which has seen nothing. Raises ClockDriftError if what is not ahead does not let it stamp.
    """
    versions = ahead(connection, floor)
    if not versions:
        return 0
    old = _operations(connection)
    unknown = [each for each in old if isinstance(each, ops.Unknown) and each.version < floor]
    clock.observe(max((each.version for each in old if each.version < floor), default="0" * 12 + "-0000"))
    new = {version: clock.tick() for version in versions}
    touched = _touched(old, new)
    again = [each for each in old if not isinstance(each, ops.Unknown) and _ids(each) & touched]
    connection.executemany(
        "update tombstone set version = ? where version = ?", [(after, before) for before, after in new.items()]
    )
    applier = apply.Applier(connection)
    for namespace, id in sorted(touched):
        applier.withdraw(namespace, id)
    applier.finish()
    rest = max((version for version in _versions(connection) if version not in new), default="")
    connection.execute("update meta set value = ? where name = 'version'", (max(rest, *new.values()),))
    applier = apply.Applier(connection)
    for operation in again:
        applier.apply(_with(operation, new))
    for each in unknown:  # which go with a namespace that is empty for a moment
        applier.apply(each)
    applier.finish()
    _requeue(connection, new)
    return len(new)


def _operations(connection: sqlite3.Connection) -> list[ops.Operation | ops.Unknown]:
    paths = [path for (path,) in connection.execute("select path from namespace order by path")]
    found = (item for path in paths for item in dump.operations(connection, Scope(path)))
    return [item for item in found if not isinstance(item, dict)]


def _versions(connection: sqlite3.Connection) -> Iterator[str]:
    yield from (operation.version for operation in _operations(connection))
    yield from (version for (version,) in connection.execute("select version from tombstone"))


def _ids(operation: ops.Operation | ops.Unknown) -> set[tuple[str, str]]:
    names = ("id", "a", "b", "old_id", "new_id")
    return {(operation.namespace, id) for name in names if (id := getattr(operation, name, None))}


def _touched(operations: list[ops.Operation | ops.Unknown], new: dict[str, str]) -> set[tuple[str, str]]:
    """The memories that have to be written anew: what these versions are about, and what replaced what among them."""
    found: set[tuple[str, str]] = set()
    for operation in operations:
        if operation.version in new:
            found |= _ids(operation)
    pairs = [_ids(operation) for operation in operations if isinstance(operation, ops.Supersede)]
    grown = True
    while grown:
        more = {id for pair in pairs if pair & found for id in pair} - found
        grown, found = bool(more), found | more
    return found


def _with(operation: ops.Operation, new: dict[str, str]) -> ops.Operation:
    """An operation with these versions in place of the old ones, wherever it names one."""
    changes: dict[str, Any] = {
        name: new.get(value, value)
        for name in ("version", "new_version", "old_version")
        if isinstance(value := getattr(operation, name, None), str)
    }
    if isinstance(operation, ops.Remember) and operation.restores is not None:
        origin = operation.restores
        changes["restores"] = ops.Origin(id=origin.id, version=new.get(origin.version, origin.version))
    if isinstance(operation, ops.Purge):
        changes["heads"] = tuple((key, new.get(version, version)) for key, version in operation.heads)
    return operation.model_copy(update=changes)


def _requeue(connection: sqlite3.Connection, new: dict[str, str]) -> None:
    """The same in the queue for the primary."""
    for n, payload in connection.execute("select n, payload from outbox").fetchall():
        item = journal.read_item(payload)
        if isinstance(item, ops.Operation):
            changed = _with(item, new)
            if changed != item:
                journal.rewrite(connection, n, changed)
        elif isinstance(item, dict) and item.get("version") in new:
            journal.rewrite(connection, n, {**item, "version": new[item["version"]]})
