"""What is left of a purge: keyed hashes that say which writes stay dead, and say nothing else.

hash = HMAC-SHA256(secret, field NUL namespace NUL value). Fields are those that a purge can name, `id`, and `slot`: the key
whose newest version was purged, so that nothing older takes its place. Every known secret is tried, as secrets travel with
the tombstones they made.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Iterable
from typing import Any

from memgraph.operations import PURGE_FIELDS, Remember

__all__ = ["Tombs", "export", "take_in"]


class Tombs:
    """The tombstones of a store, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._secrets: list[tuple[str, bytes]] = connection.execute(
            "select name, value from secret where exists (select 1 from tombstone) order by name"
        ).fetchall()

    def _versions(self, namespace: str, field: str, value: str) -> list[str]:
        text = f"{field}\0{namespace}\0{value}".encode()
        hashes = [hmac.digest(secret, text, hashlib.sha256) for _, secret in self._secrets]
        marks = ",".join("?" * len(hashes))
        rows = self._connection.execute(f"select version from tombstone where hash in ({marks})", hashes)
        return [version for (version,) in rows]

    def buried(self, namespace: str, id: str) -> bool:
        """Whether an id is dead for good."""
        return bool(self._secrets) and bool(self._versions(namespace, "id", id))

    def slot(self, namespace: str, key: str) -> str:
        """The greatest purged version of a key, or ""."""
        return max(self._versions(namespace, "slot", key), default="") if self._secrets else ""

    def dead(self, operation: Remember) -> bool:
        """Whether a write must stay dead: its id, its origin's, or a value purged at its version or later."""
        if not self._secrets:
            return False
        namespace, origin = operation.namespace, operation.restores
        if self.buried(namespace, operation.id) or (origin is not None and self.buried(namespace, origin.id)):
            return True
        stands_for = origin.version if origin is not None else operation.version
        return self.covers(namespace, {field: getattr(operation, field) for field in PURGE_FIELDS}, stands_for)

    def covers(self, namespace: str, values: dict[str, str | None], version: str) -> bool:
        """Whether one of these values was purged at a version or later."""
        return any(
            at >= version
            for field, value in values.items()
            if value and self._secrets
            for at in self._versions(namespace, field, value)
        )

    def add(self, namespace: str, field: str, value: str, version: str, receipt: str) -> bool:
        """Bury a value up to a version; True if that is news."""
        if not self._secrets:
            self._secrets = self._connection.execute("select name, value from secret order by name").fetchall()
        if not self._secrets:
            self._secrets = [(secrets.token_hex(4), secrets.token_bytes(32))]
            self._connection.executemany("insert into secret values(?, ?)", self._secrets)
        name, secret = self._secrets[0]
        digest = hmac.digest(secret, f"{field}\0{namespace}\0{value}".encode(), hashlib.sha256)
        done = self._connection.execute(
            "insert into tombstone values(?, ?, ?, ?) on conflict(hash) do update"
            " set version = excluded.version, receipt = excluded.receipt where excluded.version > version",
            (digest, version, name, receipt),
        )
        return done.rowcount > 0


def export(connection: sqlite3.Connection) -> Iterable[dict[str, Any]]:
    """Secrets, then tombstones, as plain dicts."""
    for name, value in connection.execute("select name, value from secret order by name").fetchall():
        yield {"secret": name, "value": value.hex()}
    rows = connection.execute("select hash, version, secret, receipt from tombstone order by version, hash")
    for digest, version, secret, receipt in rows.fetchall():
        yield {"tombstone": digest.hex(), "version": version, "secret": secret, "receipt": receipt}


def take_in(connection: sqlite3.Connection, items: Iterable[dict[str, Any]]) -> int:
    """Add what `export` gave; returns how many were new or newer."""
    changed = 0
    for item in items:
        if "secret" in item and "value" in item:
            values: tuple[Any, ...] = (item["secret"], bytes.fromhex(item["value"]))
            changed += connection.execute("insert or ignore into secret values(?, ?)", values).rowcount
        else:
            values = (bytes.fromhex(item["tombstone"]), item["version"], item["secret"], item["receipt"])
            changed += connection.execute(
                "insert into tombstone values(?, ?, ?, ?) on conflict(hash) do update"
                " set version = excluded.version, receipt = excluded.receipt where excluded.version > version",
                values,
            ).rowcount
    return changed
