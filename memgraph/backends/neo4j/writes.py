"""From operations to the rows of the statements in `cypher/write/`, inside one transaction that somebody else commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import memgraph.operations as ops
from memgraph.backends.neo4j.rows import properties
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.clock import recorded_micros
from memgraph.rules import confidence
from memgraph.storage.bolt import Again, Runner

__all__ = ["Put", "add", "bury", "feed", "parts_of", "put", "remember_row"]

PAGE: Final = 1000  # rows of one statement
_PART: Final = (
    200  # rows of one of several that are sent one behind the other, the next made while the server writes the last
)
REMOVED: Final = ("memories", "life", "feedback", "embedding", "relations", "foreign")
Rows = list[dict[str, Any]]


@dataclass
class Put:
    """What operations of one namespace did in this transaction; what `feed` needs to close it.

    remembered: the rows that `write/remember` returned. purges: the count of purges that it saw; None if there was no Remember.
    """

    changed: int = 0
    ids: set[str] = field(default_factory=set)
    hashes: list[str] = field(default_factory=list)
    version: str = ""
    purges: int | None = None
    remembered: Rows = field(default_factory=list)


def put(runner: Runner, secrets: Secrets, namespace: str, operations: Sequence[ops.Operation | ops.Unknown]) -> Put:
    """Apply stamped operations of one namespace, in any order; purges are not among them."""
    done = Put(version=max((operation.version for operation in operations), default=""))
    remembers: list[ops.Remember] = []
    kinds: dict[str, Rows] = {}
    for operation in operations:
        if isinstance(operation, ops.Remember):
            remembers.append(operation)
            continue
        name, row = _row(secrets, namespace, operation)
        if name:
            kinds.setdefault(name, []).append(row)
    if remembers:
        _remember(runner, secrets, namespace, remembers, done)
    for name in ("life", "supersede", "relate", "reinforce", "keep"):
        rows = kinds.get(name, [])
        rows.sort(key=lambda row: row.get("id") or row.get("old") or row.get("a") or "")
        for part in _parts(rows):
            done.changed += runner.run(f"write/{name}", namespace=namespace, rows=part)[0]["made"]
            done.ids.update(row.get("id") or row.get("old") or row["a"] for row in part if name != "keep")
    return done


def _remember(runner: Runner, secrets: Secrets, namespace: str, remembers: list[ops.Remember], done: Put) -> None:
    remembers.sort(key=lambda operation: (operation.key or "", operation.version))
    rows = (
        {"namespace": namespace, "rows": [remember_row(secrets, operation) for operation in part]}
        for part in parts_of(remembers)
    )
    for found in runner.run_each("write/remember", rows):
        done.changed += sum(row["made"] for row in found)
        done.remembered += found
        if done.purges is None:
            done.purges = found[0]["purges"]
    done.ids.update(row["id"] for row in done.remembered if row["version"] is not None)
    dead = sorted({row["id"] for row in done.remembered if row["version"] is None})
    if dead:
        removed, hashes = bury(runner, secrets, namespace, dead, done.version, "")
        done.changed += removed["new"]
        done.hashes += hashes


def _row(secrets: Secrets, namespace: str, operation: ops.Operation | ops.Unknown) -> tuple[str, dict[str, Any]]:
    """The statement that an operation needs and its row of it; no name for an operation that can change nothing."""

    def dead(id: str) -> list[str]:
        return secrets.all("id", namespace, id)

    match operation:
        case ops.Retire():
            return "life", _event(operation, operation.id, operation.cause, dead(operation.id))
        case ops.Restore():
            return "life", _event(operation, operation.id, "restored", dead(operation.id))
        case ops.Supersede():
            return _supersede(operation, dead)
        case ops.Relate() | ops.Unrelate():
            gone = isinstance(operation, ops.Unrelate)
            return "relate", {
                "a": operation.a,
                "a_hashes": dead(operation.a),
                "b": operation.b,
                "b_hashes": dead(operation.b),
                "type": operation.type,
                "version": operation.version,
                "gone": gone,
                "props": {} if gone else {"weight": operation.weight, "note": operation.note},  # type: ignore[union-attr]
            }
        case ops.Reinforce():
            weight = confidence.weight(operation.signal, operation.verified)
            return "reinforce", {
                "id": operation.id,
                "hashes": dead(operation.id),
                "feedback_id": operation.feedback_id,
                "version": operation.version,
                "signal": operation.signal,
                "props": {"verified": operation.verified, "actor": operation.actor, "weight": weight},
            }
        case ops.Unknown():
            payload = json.dumps(operation.payload, ensure_ascii=False, sort_keys=True)
            return "keep", {"op_id": operation.op_id, "version": operation.version, "payload": payload}
    raise TypeError(f"not an operation: {type(operation).__name__}")


def remember_row(secrets: Secrets, operation: ops.Remember) -> dict[str, Any]:
    """The row of `write/remember` for a stamped Remember."""
    namespace, origin = operation.namespace, operation.restores
    hashes = []
    for name in ops.PURGE_FIELDS:
        value = getattr(operation, name)
        if value:
            hashes += secrets.all(name, namespace, value)
    buried = secrets.all("id", namespace, operation.id)
    row: dict[str, Any] = {
        "id": operation.id,
        "version": operation.version,
        "hashes": hashes,
        "buried": buried,
        "stands_for": operation.version,
        "micros": recorded_micros(operation.version),
        "props": properties(operation),
    }
    if operation.key is not None:
        row |= {"key": operation.key, "slots": secrets.all("slot", namespace, operation.key)}
        if operation.describes_past:
            row["past"] = True
    if origin is not None:
        row |= {"origin": origin.id, "stands_for": origin.version}
        buried += secrets.all("id", namespace, origin.id)
    if operation.changeset is not None:
        row["changeset"] = operation.changeset
    return row


def _event(operation: Any, id: str, cause: str, hashes: list[str], **more: str) -> dict[str, Any]:
    """The row of `write/life` for something that happened to a memory."""
    note = {name: getattr(operation, name, None) for name in ("reason", "actor", "changeset")} | more
    old = f"|{operation.old_version}" if isinstance(operation, ops.Supersede) else ""
    return {
        "id": id,
        "hashes": hashes,
        "event": f"{operation.version}|{cause}{old}",
        "note": json.dumps({name: value for name, value in note.items() if value is not None}, ensure_ascii=False),
        "changeset": operation.changeset,
    }


def _supersede(operation: ops.Supersede, dead: Any) -> tuple[str, dict[str, Any]]:
    if operation.new_version <= operation.old_version:  # never from the smaller to the greater: no cycle can be written
        return "", {}
    old = dead(operation.old_id)
    # the reason goes with the newer memory when that is purged, so it is on the edge alone
    silent = operation.model_copy(update={"reason": None})
    event = _event(silent, operation.old_id, "superseded", old, new_version=operation.new_version)
    if not operation.new_id:  # an export of a store that purged the newer memory names it no more
        return "life", event
    return "supersede", {
        "new": operation.new_id,
        "new_hashes": dead(operation.new_id),
        "old": operation.old_id,
        "old_hashes": old,
        "version": operation.version,
        "reason": operation.reason,
        "event": event["event"],
        "note": event["note"],
        "changeset": operation.changeset,
    }


def bury(
    runner: Runner, secrets: Secrets, namespace: str, ids: Sequence[str], version: str, receipt: str
) -> tuple[dict[str, int], list[str]]:
    """Bury ids and remove what is there of them, restored copies too. Returns what was removed, and the tombstones' hashes.

    Among the counts, `new` is how many ids were not dead before.
    """
    removed: dict[str, int] = {}
    hashes: list[str] = []
    for part in _parts(sorted(ids)):
        rows = []
        for found in sorted(row["id"] for row in runner.run("write/purge_lock", namespace=namespace, ids=part)):
            every = secrets.all("id", namespace, found)
            rows.append({"id": found, "hash": every[0], "hashes": every})
        counts = runner.run(
            "write/purge_bury", namespace=namespace, rows=rows, version=version, secret=secrets.name, receipt=receipt
        )[0]
        quoted = [json.dumps(row["id"], ensure_ascii=False) for row in rows]
        counts |= runner.run("write/purge_foreign", namespace=namespace, quoted=quoted, version="")[0]
        add(removed, counts)
        hashes += [row["hash"] for row in rows]
    return removed, hashes


def feed(runner: Runner, secrets: Secrets, namespace: str, done: Put, purged: bool = False) -> int:
    """The last act of a transaction in a namespace. Raises Again if something was purged since its first. Returns the number."""
    found = runner.run(
        "write/feed",
        namespace=namespace,
        ids=sorted(done.ids),
        hashes=done.hashes,
        version=done.version,
        purges=int(purged),
    )[0]
    if found["secrets"] != len(secrets) or (done.purges is not None and found["purges"] != done.purges + int(purged)):
        raise Again
    number: int = found["n"]
    return number


def add(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add counts to counts."""
    for name, number in more.items():
        counts[name] = counts.get(name, 0) + number


def parts_of(values: Sequence[Any]) -> Iterable[Any]:
    """The parts of a batch that are sent one behind the other."""
    for start in range(0, len(values), _PART):
        yield values[start : start + _PART]


def _parts(values: Sequence[Any]) -> Iterable[Any]:
    for start in range(0, len(values), PAGE):
        yield values[start : start + PAGE]
