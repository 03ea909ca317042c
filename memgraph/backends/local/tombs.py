"""What is left of a purge: keyed hashes that say which writes stay dead, and say nothing else.

Hashes are those of `rules.tombstones`. `space` binds a tombstone to its own namespace, whatever a file that it came from says.
Every known secret is tried, as secrets travel with the tombstones they made.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from memgraph.operations import PURGE_FIELDS, Remember
from memgraph.rules.tombstones import digest

__all__ = ["Tombs", "adopt", "adopted", "carry", "export", "is_marked", "take_in"]


_INSERT: Final = (
    "insert into tombstone(hash, space, version, secret, receipt) values(?, ?, ?, ?, ?) on conflict(hash) do update"
    " set version = excluded.version, receipt = excluded.receipt where excluded.version > version"
)

_ORDER: Final = "order by name = (select value from meta where name = 'secret') desc, name"


class Tombs:
    """The tombstones of a store, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._secrets: list[tuple[str, bytes]] = connection.execute(
            f"select name, value from secret where exists (select 1 from tombstone) {_ORDER}"
        ).fetchall()

    def _versions(self, namespace: str, field: str, value: str) -> list[str]:
        found = []
        for _, secret in self._secrets:
            bound = digest(secret, field, namespace, value), digest(secret, "space", namespace, "")
            row = self._connection.execute(
                "select version from tombstone where hash = ? and space = ?", bound
            ).fetchone()
            if row is not None:
                found.append(row[0])
        return found

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

    def until(self, operation: Remember) -> str:
        """The greatest version up to which one of a write's values was purged, or ""."""
        if not self._secrets or operation.restores is not None:
            return ""
        values = ((field, getattr(operation, field)) for field in PURGE_FIELDS)
        found = (at for field, value in values if value for at in self._versions(operation.namespace, field, value))
        return max(found, default="")

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
            self._secrets = self._connection.execute(f"select name, value from secret {_ORDER}").fetchall()
        if not self._secrets:
            self._secrets = [(secrets.token_hex(4), secrets.token_bytes(32))]
            self._connection.executemany("insert into secret values(?, ?)", self._secrets)
        name, secret = self._secrets[0]
        found, space = digest(secret, field, namespace, value), digest(secret, "space", namespace, "")
        return self._connection.execute(_INSERT, (found, space, version, name, receipt)).rowcount > 0


def is_marked(connection: sqlite3.Connection, namespace: str, until: str) -> bool:
    """Whether something of a namespace was purged by a version, of which nothing else may be left."""
    spaces = [digest(secret, "space", namespace, "") for (secret,) in connection.execute("select value from secret")]
    places = ", ".join("?" * len(spaces))
    wanted = f"select 1 from tombstone where space in ({places}) and version <= ? limit 1"
    found = connection.execute(wanted, (*spaces, until))
    return found.fetchone() is not None


def export(connection: sqlite3.Connection, namespaces: Iterable[str]) -> Iterable[dict[str, Any]]:
    """The secrets and tombstones of these namespaces, and of no others, as plain dicts."""
    secrets_ = connection.execute("select name, value from secret order by name").fetchall()
    found: list[dict[str, Any]] = []
    for path in namespaces:
        for name, secret in secrets_:
            rows = connection.execute(
                "select hash, version, receipt from tombstone where space = ? and secret = ? order by version, hash",
                (digest(secret, "space", path, ""), name),
            )
            found += [
                {"tombstone": each.hex(), "namespace": path, "version": version, "secret": name, "receipt": receipt}
                for each, version, receipt in rows
            ]
    needed = {item["secret"] for item in found}
    yield from ({"secret": name, "value": value.hex()} for name, value in secrets_ if name in needed)
    yield from found


def take_in(connection: sqlite3.Connection, items: Iterable[dict[str, Any]]) -> int:
    """Add what `export` gave; returns how many were new or newer."""
    changed = 0
    known: dict[str, bytes] = dict(connection.execute("select name, value from secret").fetchall())
    for item in items:
        if "tombstone" not in item:
            secret = bytes.fromhex(item["value"])
            if known.setdefault(item["secret"], secret) == secret:
                values: tuple[Any, ...] = (item["secret"], secret)
                changed += connection.execute("insert or ignore into secret values(?, ?)", values).rowcount
        elif item["secret"] in known:
            space = digest(known[item["secret"]], "space", item["namespace"], "")
            values = (bytes.fromhex(item["tombstone"]), space, item["version"], item["secret"], item["receipt"])
            changed += connection.execute(_INSERT, values).rowcount
    return changed


def carry(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Add the whole ledger of one store, of every namespace, to another's; whether any of it was news there."""
    before = target.total_changes
    target.executemany("insert or ignore into secret values(?, ?)", source.execute("select name, value from secret"))
    target.executemany(_INSERT, source.execute("select hash, space, version, secret, receipt from tombstone"))
    return target.total_changes > before


def adopted(connection: sqlite3.Connection) -> str | None:
    """The name of the secret that a primary gave for new tombstones, if one did."""
    row = connection.execute("select value from meta where name = 'secret'").fetchone()
    return row[0] if row else None


def adopt(connection: sqlite3.Connection, items: Sequence[dict[str, Any]]) -> None:
    """Know these secrets, and make new tombstones with the first of them."""
    take_in(connection, items)
    connection.execute("insert or replace into meta values('secret', ?)", (items[0]["secret"],))
