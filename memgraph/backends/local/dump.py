"""Everything in the tables as operations again, by version: what an export holds and a replica replays."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import memgraph.operations as ops
from memgraph.backends.base import Facts, Scope
from memgraph.backends.local import tombs
from memgraph.backends.local.reads import namespaces
from memgraph.backends.local.rows import COLUMNS, remember_of

__all__ = ["facts", "operations"]


def operations(connection: sqlite3.Connection, scope: Scope) -> Iterator[ops.Operation | ops.Unknown | dict[str, Any]]:
    """The scope's secrets and tombstones first, then all its operations by version; what waits in places is among them."""
    spaces = dict(namespaces(connection, scope))
    yield from tombs.export(connection, sorted({scope.namespace, *spaces.values(), *_emptied(connection, scope)}))
    inside = json.dumps(list(spaces))
    streams = (
        _remembers(connection, spaces, inside),
        _life(connection, spaces, inside),
        _relations(connection, spaces, inside),
        _feedback(connection, spaces, inside),
        _unknown(connection, inside),
    )
    yield from heapq.merge(*streams, key=lambda operation: (operation.version, operation.op_id))


def _emptied(connection: sqlite3.Connection, scope: Scope) -> list[str]:
    """The namespaces of a scope that hold nothing any more, as far as the store follows them on a primary."""
    if not scope.subtree:
        return []
    rows = connection.execute("select namespace from cursor where namespace not in (select path from namespace)")
    return [path for (path,) in rows if scope.holds(path)]


def _remembers(connection: sqlite3.Connection, spaces: dict[int, str], inside: str) -> Iterator[ops.Operation]:
    import array

    rows = connection.execute(
        f"select memory.ns, embedding.vector, {COLUMNS} from memory left join embedding using(seq)"
        " where memory.ns in (select value from json_each(?)) and version is not null order by version, id",
        (inside,),
    )
    for ns, blob, *row in rows:
        vector = None if blob is None else tuple(array.array("f", blob))
        yield remember_of(tuple(row), spaces[ns], vector)


def _life(connection: sqlite3.Connection, spaces: dict[int, str], inside: str) -> Iterator[ops.Operation]:
    rows = connection.execute(
        "select m.ns, m.id, life.version, life.cause, life.superseding_version, life.old_version, life.reason, life.actor,"
        " life.changeset, n.id from life join memory m using(seq) left join memory n on n.seq = life.superseding"
        " where m.ns in (select value from json_each(?)) order by life.version, m.id",
        (inside,),
    )
    for ns, id, version, cause, new_version, old_version, reason, actor, changeset, new_id in rows:
        common = {
            "op_id": version,
            "version": version,
            "namespace": spaces[ns],
            "changeset": changeset,
            "reason": reason,
        }
        if cause == "restored":
            yield ops.Restore(**common, id=id, actor=actor)
        elif cause == "superseded":
            # the newer memory may have been purged since: then nothing names it any more, and the event alone is kept
            yield ops.Supersede(
                **common, new_id=new_id or "", new_version=new_version, old_id=id, old_version=old_version
            )
        else:
            yield ops.Retire(**common, id=id, cause=cause, actor=actor)


def _relations(connection: sqlite3.Connection, spaces: dict[int, str], inside: str) -> Iterator[ops.Operation]:
    rows = connection.execute(
        "select x.ns, x.id, y.id, r.type, r.version, r.gone, r.weight, r.note from relation r"
        " join memory x on x.seq = r.a join memory y on y.seq = r.b"
        " where x.ns in (select value from json_each(?)) order by r.version, x.id, y.id, r.type",
        (inside,),
    )
    for ns, a, b, type, version, gone, weight, note in rows:
        common = {"op_id": version, "version": version, "namespace": spaces[ns], "a": a, "b": b, "type": type}
        yield ops.Unrelate(**common) if gone else ops.Relate(**common, weight=weight, note=note)


def _feedback(connection: sqlite3.Connection, spaces: dict[int, str], inside: str) -> Iterator[ops.Operation]:
    rows = connection.execute(
        "select m.ns, m.id, f.feedback_id, f.version, f.signal, f.verified, f.actor from feedback f join memory m using(seq)"
        " where m.ns in (select value from json_each(?)) order by f.version, m.id, f.feedback_id",
        (inside,),
    )
    for ns, id, feedback_id, version, signal, verified, actor in rows:
        yield ops.Reinforce(
            op_id=version,
            version=version,
            namespace=spaces[ns],
            id=id,
            feedback_id=feedback_id,
            signal=signal,
            verified=bool(verified),
            actor=actor,
        )


def _unknown(connection: sqlite3.Connection, inside: str) -> Iterator[Any]:
    rows = connection.execute(
        "select op_id, version, path, payload from foreign_operation join namespace using(ns)"
        " where ns in (select value from json_each(?)) order by version, op_id",
        (inside,),
    )
    for op_id, version, path, payload in rows:
        yield ops.Unknown(op_id=op_id, version=version, namespace=path, payload=json.loads(payload))


def facts(connection: sqlite3.Connection, namespace: str) -> Iterator[Facts]:
    """What is known of each memory and place of a namespace, by id, in the words that `Facts` has on every engine."""
    rows = connection.execute(
        "select seq, id, memory.version from memory join namespace using(ns) where path = ? order by id", (namespace,)
    ).fetchall()
    for seq, id, version in rows:
        found = {f"remember|{version}"} if version else set()
        execute = connection.execute
        found.update(f"{at}|{cause}" for at, cause in execute("select version, cause from life where seq = ?", (seq,)))
        found.update(
            f"relation|{b}|{type}|{at}"
            for b, type, at in execute(
                "select m.id, r.type, r.version from relation r join memory m on m.seq = r.b where r.a = ?", (seq,)
            )
        )
        found.update(
            f"feedback|{name}|{at}"
            for name, at in execute("select feedback_id, version from feedback where seq = ?", (seq,))
        )
        yield Facts(id, frozenset(found))
