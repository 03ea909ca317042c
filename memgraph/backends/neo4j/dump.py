"""Everything that the graph holds as operations again, by version: what an export holds and a replica replays."""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Any, Final

import memgraph.operations as ops
from memgraph.backends.base import Scope
from memgraph.backends.neo4j.damage import sound_edge
from memgraph.backends.neo4j.reads import namespaces, spaces
from memgraph.backends.neo4j.rows import events, remember_of
from memgraph.storage.bolt import Runner

__all__ = ["feedback", "life", "operations", "relations", "tombstones", "unknown", "with_secrets"]

PAGE: Final = 1000
HELD: Final = 10_000  # operations that are held to be sorted
_LEAST: Final = 50  # memories of a page, where many namespaces are read side by side
_Items = Iterator[ops.Operation | ops.Unknown]


def operations(runner: Runner, scope: Scope) -> Iterator[ops.Operation | ops.Unknown | dict[str, Any]]:
    """Secrets and the scope's tombstones first, then all its operations by version; what waits in places is among them."""
    paths = spaces(runner, scope) or [scope.namespace]
    emptied = namespaces(runner, scope.namespace, emptied=True) if scope.subtree else ()
    buried = [each for path in sorted({scope.namespace, *paths, *emptied}) for each in tombstones(runner, path)]
    yield from with_secrets(runner, buried)
    streams: list[_Items] = [_in_order(event for path in paths for event in _events(runner, path))]
    limit = min(PAGE, max(PAGE // len(paths), _LEAST))
    for path in paths:
        streams += [_remembers(runner, path, limit), unknown(runner, path)]
    yield from heapq.merge(*streams, key=_order)


def _order(operation: ops.Operation | ops.Unknown) -> tuple[str, str]:
    return operation.version, operation.op_id


def _in_order(operations: Iterable[ops.Operation]) -> _Items:
    """The same by version, however many they are: sorted parts wait in temporary files, which have no name and end with this."""
    with ExitStack() as files:
        parts: list[_Items] = []
        held: list[ops.Operation] = []
        for operation in operations:
            held.append(operation)
            if len(held) == HELD:
                file = files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n"))
                parts.append(_put_aside(sorted(held, key=_order), file))
                held = []
        parts.append(iter(sorted(held, key=_order)))
        yield from heapq.merge(*parts, key=_order)


def _put_aside(operations: Iterable[ops.Operation], file: IO[str]) -> _Items:
    """The same operations, read back from a file as they are wanted."""
    file.writelines(f"{operation.model_dump_json()}\n" for operation in operations)
    file.seek(0)
    return (ops.parse(json.loads(line)) for line in file)


def with_secrets(runner: Runner, buried: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Tombstones, and before them the secrets that they were made with."""
    needed = {each["secret"] for each in buried}
    for row in runner.run("write/secrets") if needed else ():
        if row["name"] in needed:
            yield {"secret": row["name"], "value": row["value"]}
    yield from buried


def tombstones(runner: Runner, path: str, after: int = -1) -> Iterator[dict[str, Any]]:
    """The tombstones of a namespace from a number of its feed on."""
    at: dict[str, Any] = {"seq": after, "hash": ""}
    while True:
        rows = runner.run("read/tombstones", namespace=path, limit=PAGE, **at)
        for row in rows:
            yield {
                "tombstone": row["hash"],
                "namespace": path,
                "version": row["version"],
                "secret": row["secret"],
                "receipt": row["receipt"],
            }
        if len(rows) < PAGE:
            return
        at = {"seq": rows[-1]["seq"], "hash": rows[-1]["hash"]}


def _remembers(runner: Runner, path: str, limit: int) -> _Items:
    at = {"after": "", "after_id": ""}
    while True:
        rows = runner.run("read/remembers", namespace=path, limit=limit, **at)
        yield from (remember_of(row["memory"]) for row in rows)
        if len(rows) < limit:
            return
        at = {"after": rows[-1]["memory"]["version"], "after_id": rows[-1]["memory"]["id"]}


def _events(runner: Runner, path: str) -> Iterator[ops.Operation]:
    """Life events, relations and feedback, as they stand at their memories."""
    after = ""
    while True:
        rows = runner.run("read/happened", namespace=path, after=after, limit=PAGE)
        for row in rows:
            yield from life(path, row)
            yield from relations(path, row)
            yield from feedback(path, row)
        if len(rows) < PAGE:
            return
        after = rows[-1]["id"]


def life(path: str, row: dict[str, Any]) -> Iterator[ops.Operation]:
    """What happened to a memory, from its row."""
    superseding = {version: (id, reason) for id, version, reason in row["supersedes"]}
    for event in events({**row, "version": None}):
        version, cause, changeset = event["version"], event["cause"], event.get("changeset")
        common = {"op_id": version, "version": version, "namespace": path, "changeset": changeset}
        if cause == "superseded":
            # the newer memory may have been purged since: then nothing names it any more, and the event alone is kept
            new_id, reason = superseding.get(version, ("", None))
            yield ops.Supersede(
                **common,
                new_id=new_id,
                new_version=event["new_version"],
                old_id=row["id"],
                old_version=event["old_version"],
                reason=reason,
            )
        elif cause == "restored":
            yield ops.Restore(**common, id=row["id"], reason=event.get("reason"), actor=event.get("actor"))
        else:
            yield ops.Retire(**common, id=row["id"], cause=cause, reason=event.get("reason"), actor=event.get("actor"))


def relations(path: str, row: dict[str, Any]) -> Iterator[ops.Operation]:
    """The relations that begin at a memory, from its row."""
    for b, gone, type, version, weight, note in row["relations"]:
        if not isinstance(type, str) or not isinstance(version, str):
            continue  # drawn by hand: the doctor names it
        common = {"op_id": version, "version": version, "namespace": path, "a": row["id"], "b": b, "type": type}
        yield ops.Unrelate(**common) if gone else ops.Relate(**common, **sound_edge({"weight": weight, "note": note}))


def feedback(path: str, row: dict[str, Any]) -> Iterator[ops.Operation]:
    """The feedback on a memory, from its row."""
    for feedback_id, version, signal, verified, actor in row["feedback"]:
        yield ops.Reinforce(
            op_id=version,
            version=version,
            namespace=path,
            id=row["id"],
            feedback_id=feedback_id,
            signal=signal,
            verified=bool(verified),
            actor=actor,
        )


def unknown(runner: Runner, path: str) -> _Items:
    """The kept operations of kinds that the writer's build did not know."""
    for row in runner.run("read/foreign", namespace=path):
        yield ops.Unknown(
            op_id=row["op_id"], version=row["version"], namespace=path, payload=json.loads(row["payload"])
        )
