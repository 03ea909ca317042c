"""Applying operations to the tables, inside one write transaction.

Idempotent and order-free: everything a reader sees is derived from versions, so that any order of arrival ends in the same
tables. Applying never refuses; what arrives about a memory that is not there waits in its place.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import memgraph.operations as ops
from memgraph.backends.local.rows import STATUSES, values_of
from memgraph.backends.local.tombs import Tombs
from memgraph.rules import confidence, lineage

__all__ = ["EDGES", "GONE", "MEMORY", "Applier", "apply_all", "newest_version", "trim"]

MEMORY: Final = 0  # what a line of the change log says: read this memory again,
EDGES: Final = 1  # read the edges that begin at this memory again,
GONE: Final = 2  # this memory is gone; b was its document

_KEPT_CHANGES: Final = 200_000
_NOWHERE: Final = -1  # no namespace has this number
_ACTIVE: Final = 0
_SUPERSEDED: Final = 1
_CODE: Final = {name: code for code, name in enumerate(STATUSES)}
_INSERT: Final = (
    "insert into memory(version, key, past, kind, subject, title, tags, aliases, metadata, source, actor, session, trust, pinned,"
    " confidence, valid_from, valid_to, expires_at, reason, restores_id, restores_version, embedding_model, changeset, content,"
    " ns, id, doc, status, feedback_count, feedback_sum) values(" + ",".join("?" * 30) + ")"
)
_FILL: Final = (
    "update memory set version=?, key=?, past=?, kind=?, subject=?, title=?, tags=?, aliases=?, metadata=?, source=?, actor=?,"
    " session=?, trust=?, pinned=?, confidence=?, valid_from=?, valid_to=?, expires_at=?, reason=?, restores_id=?,"
    " restores_version=?, embedding_model=?, changeset=?, content=?, doc=?, status=? where seq=?"
)


class Applier:
    """Applies operations on one connection; `finish` writes what can be written once for all of them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.tombs = Tombs(connection)
        self.removed: dict[str, int] = defaultdict(int)
        self._namespaces: dict[str, int] = {}
        self._docs: dict[int, int] = {}
        self._log: list[tuple[int, int, int, int | None]] = []
        self._waiting: list[tuple[int, int, int]] = []
        self._newest = ""
        self._gone: dict[int, list[int]] = defaultdict(list)

    # ---- names

    def namespace(self, path: str) -> int:
        """The number of a namespace, made if need be."""
        found = self._namespaces.get(path)
        if found is None:
            row = self.connection.execute("select ns from namespace where path = ?", (path,)).fetchone()
            if row is None:
                row = (self.connection.execute("insert into namespace(path) values(?)", (path,)).lastrowid,)
            found = self._namespaces[path] = row[0]
        return found

    def _known(self, path: str) -> int:
        """The number of a namespace, or of none where nothing is in it: its name may be what is to vanish."""
        if path in self._namespaces:
            return self._namespaces[path]
        row = self.connection.execute("select ns from namespace where path = ?", (path,)).fetchone()
        return _NOWHERE if row is None else row[0]

    def _place(self, path: str, id: str) -> tuple[int, int] | None:
        """(seq, ns) of a memory, or of a new place for it; None for an id that is dead for good."""
        if self.tombs.buried(path, id):
            return None
        ns = self.namespace(path)
        row = self.connection.execute("select seq from memory where ns = ? and id = ?", (ns, id)).fetchone()
        if row is None:
            return self._new_place(ns, id), ns
        return row[0], ns

    def _new_place(self, ns: int, id: str) -> int:
        seq = self.connection.execute("insert into memory(ns, id) values(?, ?)", (ns, id)).lastrowid
        assert seq is not None
        return seq

    # ---- applying

    def apply(self, operation: ops.Operation | ops.Unknown, fresh: bool = False) -> bool:
        """Apply a stamped operation; True if it changed anything. fresh: its memory's id was made just now."""
        self._newest = max(self._newest, operation.version)
        match operation:
            case ops.Remember():
                return self._remember(operation, fresh)
            case ops.Retire():
                return self._life(operation, operation.cause)
            case ops.Restore():
                return self._life(operation, "restored")
            case ops.Supersede():
                return self._supersede(operation)
            case ops.Relate():
                return self._relate(operation, 0, operation.weight, operation.note)
            case ops.Unrelate():
                return self._relate(operation, 1, None, None)
            case ops.Reinforce():
                return self._reinforce(operation)
            case ops.Purge():
                return self._purge(operation)
            case ops.Unknown():
                return self._keep(operation)
        raise TypeError(f"not an operation: {type(operation).__name__}")

    def _remember(self, operation: ops.Remember, fresh: bool) -> bool:
        execute = self.connection.execute
        ns = self.namespace(operation.namespace)
        row = None
        if not fresh:
            row = execute("select seq, version from memory where ns = ? and id = ?", (ns, operation.id)).fetchone()
        if row is not None and row[1] is not None:
            return False
        if self.tombs.dead(operation):
            return self._bury(operation.namespace, ns, operation.id, operation.version, "")
        key, past = operation.key, operation.describes_past
        replaced = past
        newest: tuple[int, str, int] | None = None
        if key is not None and not past:
            newest = execute(
                "select seq, version, status from memory where ns = ? and key = ? and past = 0 order by version desc limit 1",
                (ns, key),
            ).fetchone()
            replaced = (newest is not None and newest[1] > operation.version) or (
                self.tombs.slot(operation.namespace, key) > operation.version
            )
        doc = self._docs.get(ns)
        if doc is None:
            doc = execute("select docs from namespace where ns = ?", (ns,)).fetchone()[0]
        self._docs[ns] = doc + 1
        values = values_of(operation, past)
        if row is None:
            code = _SUPERSEDED if replaced else _ACTIVE
            seq = execute(_INSERT, (*values, ns, operation.id, doc, code, 0, 0.0)).lastrowid
            assert seq is not None
        else:  # its place waited for it, with what had already arrived
            seq = row[0]
            code = _CODE[lineage.status(self._events(seq, operation.version), key is not None, replaced)]
            execute(_FILL, (*values, doc, code, seq))
        if newest is not None and newest[2] == _ACTIVE and newest[1] < operation.version:
            execute("update memory set status = ? where seq = ?", (_SUPERSEDED, newest[0]))
            self._log.append((ns, MEMORY, newest[0], None))
        if operation.embedding is not None:
            self._embed(seq, operation.embedding)
        self._waiting.append((ns, doc, seq))
        self._log.append((ns, MEMORY, seq, None))
        return True

    def _embed(self, seq: int, vector: tuple[float, ...]) -> None:
        import numpy as np

        blob = np.asarray(vector, dtype=np.float32).tobytes()
        self.connection.execute("insert or replace into embedding values(?, ?)", (seq, blob))

    def _events(self, seq: int, version: str) -> list[tuple[str, str]]:
        rows = self.connection.execute("select version, cause, old_version from life where seq = ?", (seq,))
        return [(at, cause) for at, cause, old in rows if old is None or old == version]

    def status_of(self, path: str, seq: int) -> int | None:
        """The status that follows from what happened to a memory and its key; None for a place."""
        row = self.connection.execute(
            "select ns, version, key, past from memory where seq = ? and version is not null", (seq,)
        ).fetchone()
        if row is None:
            return None
        ns, version, key, past = row
        replaced = bool(past)
        if key is not None and not past:
            newer = self.connection.execute(
                "select 1 from memory where ns = ? and key = ? and past = 0 and version > ? limit 1", (ns, key, version)
            ).fetchone()
            replaced = newer is not None or self.tombs.slot(path, key) > version
        return _CODE[lineage.status(self._events(seq, version), key is not None, replaced)]

    def settle(self, path: str, seq: int) -> None:
        """Derive a memory's status again and have its readers read it again."""
        found = self.status_of(path, seq)
        if found is not None:
            self.connection.execute("update memory set status = ? where seq = ? and status <> ?", (found, seq, found))
            self._log.append((self.namespace(path), MEMORY, seq, None))

    def _life(self, operation: ops.Retire | ops.Restore, cause: str) -> bool:
        place = self._place(operation.namespace, operation.id)
        if place is None:
            return False
        done = self.connection.execute(
            "insert or ignore into life(seq, version, cause, reason, actor, changeset) values(?, ?, ?, ?, ?, ?)",
            (place[0], operation.version, cause, operation.reason, operation.actor, operation.changeset),
        )
        if done.rowcount > 0:
            self.settle(operation.namespace, place[0])
        return done.rowcount > 0

    def _supersede(self, operation: ops.Supersede) -> bool:
        if operation.new_version <= operation.old_version:
            return False
        old = self._place(operation.namespace, operation.old_id)
        if old is None:
            return False
        # an export of a store that purged the newer memory names it no more
        new = self._place(operation.namespace, operation.new_id) if operation.new_id else None
        done = self.connection.execute(
            "insert or ignore into life(seq, version, cause, superseding, superseding_version, old_version, reason, changeset)"
            " values(?, ?, 'superseded', ?, ?, ?, ?, ?)",
            (
                old[0],
                operation.version,
                new[0] if new else None,
                operation.new_version,
                operation.old_version,
                operation.reason if new else None,
                operation.changeset,
            ),
        )
        if done.rowcount > 0:
            self.settle(operation.namespace, old[0])
            if new is not None:
                self._log.append((new[1], EDGES, new[0], None))
        return done.rowcount > 0

    def _relate(self, operation: ops.Relate | ops.Unrelate, gone: int, weight: float | None, note: str | None) -> bool:
        a = self._place(operation.namespace, operation.a)
        b = self._place(operation.namespace, operation.b)
        if a is None or b is None:
            return False
        done = self.connection.execute(
            "insert into relation values(?, ?, ?, ?, ?, ?, ?) on conflict(a, b, type) do update set version = excluded.version,"
            " gone = excluded.gone, weight = excluded.weight, note = excluded.note where excluded.version > relation.version",
            (a[0], b[0], operation.type, operation.version, gone, weight, note),
        )
        if done.rowcount > 0:
            self._log.append((a[1], EDGES, a[0], None))
        return done.rowcount > 0

    def _reinforce(self, operation: ops.Reinforce) -> bool:
        place = self._place(operation.namespace, operation.id)
        if place is None:
            return False
        execute = self.connection.execute
        done = execute(
            "insert into feedback values(?, ?, ?, ?, ?, ?) on conflict(seq, feedback_id) do update set version = excluded.version,"
            " signal = excluded.signal, verified = excluded.verified, actor = excluded.actor"
            " where (excluded.version, excluded.signal) < (feedback.version, feedback.signal)",
            (
                place[0],
                operation.feedback_id,
                operation.version,
                operation.signal,
                int(operation.verified),
                operation.actor,
            ),
        )
        if done.rowcount > 0:
            rows = execute(
                "select signal, verified from feedback where seq = ? order by version", (place[0],)
            ).fetchall()
            total = sum(confidence.weight(signal, bool(verified)) for signal, verified in rows)
            execute(
                "update memory set feedback_count = ?, feedback_sum = ? where seq = ?", (len(rows), total, place[0])
            )
            self._log.append((place[1], MEMORY, place[0], None))
        return done.rowcount > 0

    def _keep(self, operation: ops.Unknown) -> bool:
        done = self.connection.execute(
            "insert or ignore into foreign_operation values(?, ?, ?, ?)",
            (
                operation.op_id,
                operation.version,
                self.namespace(operation.namespace),
                json.dumps(operation.payload, ensure_ascii=False, sort_keys=True),
            ),
        )
        return done.rowcount > 0

    # ---- purging

    def _purge(self, operation: ops.Purge) -> bool:
        path, version = operation.namespace, operation.version
        execute = self.connection.execute
        ns = self._known(path)
        if operation.field == "id":
            changed = self._bury(path, ns, operation.value, version, operation.receipt)
        else:
            changed = self.tombs.add(path, operation.field, operation.value, version, operation.receipt)
            where, values = f"{operation.field} = ?", [operation.value]
            if operation.field == "namespace":
                where, values = "true", []
                if ns != _NOWHERE:
                    self._gone[ns] += []  # it loses its name also where it holds no memory
            rows = execute(
                f"select id from memory where ns = ? and {where} and coalesce(restores_version, version) <= ?",
                (ns, *values, version),
            ).fetchall()
            for (id,) in rows:
                changed |= self._bury(path, ns, id, version, operation.receipt)
        for key, newest in operation.heads:
            if self.tombs.add(path, "slot", key, newest, operation.receipt):
                changed = True
                self._settle(path, ns, key)
        return changed

    def sweep(self) -> None:
        """Remove what the tombstones say is dead: needed after new ones were taken in from elsewhere."""
        rows = self.connection.execute(
            "select path, ns, id, key, subject, session, actor, source, coalesce(restores_version, version), restores_id, version"
            " from memory join namespace using(ns)"
        ).fetchall()
        keys: set[tuple[str, int, str]] = set()
        for path, ns, id, key, subject, session, actor, source, stands_for, origin, version in rows:
            values = {
                "key": key,
                "subject": subject,
                "session": session,
                "actor": actor,
                "source": source,
                "namespace": path,
            }
            buried = self.tombs.buried(path, id) or (origin is not None and self.tombs.buried(path, origin))
            if buried or (version is not None and self.tombs.covers(path, values, stands_for)):
                self._bury(path, ns, id, version or "", "")
            elif key is not None:
                keys.add((path, ns, key))
        for path, ns, key in keys:
            if self.tombs.slot(path, key):
                self._settle(path, ns, key)

    def _settle(self, path: str, ns: int, key: str) -> None:
        """Derive the status of a key's newest memory again, and let the graph read its edges again."""
        row = self.connection.execute(
            "select seq from memory where ns = ? and key = ? and past = 0 order by version desc limit 1", (ns, key)
        ).fetchone()
        if row is not None:
            self.settle(path, row[0])

    def _bury(self, path: str, ns: int, id: str, version: str, receipt: str) -> bool:
        """Bury an id and remove what is there of it, its restored copies too; True if that changed anything."""
        execute = self.connection.execute
        known = self.tombs.buried(path, id)
        if not known:
            self.tombs.add(path, "id", id, version, receipt)
        row = execute("select seq, version, doc, key, past from memory where ns = ? and id = ?", (ns, id)).fetchone()
        if row is not None:
            self._remove(path, ns, id, *row)
        for (copy,) in execute("select id from memory where ns = ? and restores_id = ?", (ns, id)).fetchall():
            self._bury(path, ns, copy, version, receipt)
        return not known or row is not None

    def withdraw(self, path: str, id: str) -> None:
        """Remove what is there of an id, without burying it."""
        ns = self.namespace(path)
        row = self.connection.execute(
            "select seq, version, doc, key, past from memory where ns = ? and id = ?", (ns, id)
        ).fetchone()
        if row is not None:
            self._remove(path, ns, id, *row)

    def _remove(
        self, path: str, ns: int, id: str, seq: int, version: str | None, doc: int | None, key: str | None, past: int
    ) -> None:
        execute, removed = self.connection.execute, self.removed
        if version is not None and doc is not None:
            self._gone[ns].append(doc)
            removed["memories"] += 1
        for table, column in (("life", "seq"), ("feedback", "seq"), ("embedding", "seq")):
            removed[table] += execute(f"delete from {table} where {column} = ?", (seq,)).rowcount
        starts = execute("select distinct a from relation where b = ?", (seq,)).fetchall()
        removed["relations"] += execute("delete from relation where a = ? or b = ?", (seq, seq)).rowcount
        execute("update life set superseding = null, reason = null where superseding = ?", (seq,))
        removed["foreign"] += execute(
            "delete from foreign_operation where ns = ? and instr(payload, ?)", (ns, json.dumps(id, ensure_ascii=False))
        ).rowcount
        execute("delete from memory where seq = ?", (seq,))
        self._log.append((ns, GONE, seq, doc))
        self._log.extend((ns, EDGES, start, None) for (start,) in starts)
        if key is not None and not past and version is not None:
            after = execute(
                "select seq from memory where ns = ? and key = ? and past = 0 and version > ? order by version limit 1",
                (ns, key, version),
            ).fetchone()
            if after is not None:
                self._log.append((ns, EDGES, after[0], None))
            else:
                self._settle(path, ns, key)

    # ---- the end of a unit

    def finish(self) -> None:
        """Write the document counters, the newest version seen and the change log."""
        execute = self.connection.execute
        self.connection.executemany("insert into unsealed values(?, ?, ?)", self._waiting)
        for ns, docs in self._docs.items():
            execute("update namespace set docs = ? where ns = ?", (docs, ns))
        if self._newest:
            execute(
                "insert into meta values('version', ?) on conflict(name) do update set value = excluded.value"
                " where excluded.value > value",
                (self._newest,),
            )
        self.connection.executemany("insert into change(ns, what, a, b) values(?, ?, ?, ?)", dict.fromkeys(self._log))
        for ns, gone in self._gone.items():
            self._clean(ns, gone)
        self._waiting.clear()
        self._docs.clear()
        self._log.clear()
        self._gone.clear()

    def _clean(self, ns: int, gone: list[int]) -> None:
        """Take purged documents out of the text index; a namespace that holds nothing any more loses its name too."""
        from memgraph.storage import textindex

        execute = self.connection.execute
        if execute("select 1 from memory where ns = ? limit 1", (ns,)).fetchone() is not None:
            textindex.remove(self.connection, ns, gone)
            return
        textindex.remove_namespace(self.connection, ns)
        self.removed["foreign"] += execute("delete from foreign_operation where ns = ?", (ns,)).rowcount
        execute("delete from namespace where ns = ?", (ns,))
        self._namespaces = {path: known for path, known in self._namespaces.items() if known != ns}


def trim(connection: sqlite3.Connection) -> None:
    """Drop the old end of the change log; who is further behind reads the tables again."""
    connection.execute("delete from change where lsn < (select max(lsn) from change) - ?", (_KEPT_CHANGES,))


def newest_version(connection: sqlite3.Connection) -> str:
    """The greatest version that the store has seen, or ""."""
    row = connection.execute("select value from meta where name = 'version'").fetchone()
    return row[0] if row else ""


def apply_all(connection: sqlite3.Connection, operations: Iterable[ops.Operation | ops.Unknown]) -> int:
    """Apply stamped operations; returns how many changed anything."""
    applier = Applier(connection)
    changed = sum(applier.apply(operation) for operation in operations)
    applier.finish()
    return changed
