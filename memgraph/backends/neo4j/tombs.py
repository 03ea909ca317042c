"""Hashes that tombstones are found by, those of `rules.tombstones` as hexadecimal text.

The secrets live in the store. A purge makes its hashes with the first of them by name; every known secret is tried, as
secrets travel with the tombstones that they made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memgraph.rules.tombstones import digest
from memgraph.storage.bolt import Runner

__all__ = ["Secrets", "SecretsOf"]


class Secrets:
    """The secrets of a store, as `write/secrets` gives them."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self._known = [(str(row["name"]), bytes.fromhex(row["value"])) for row in rows]

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<{len(self)} secrets>"

    @property
    def name(self) -> str:
        """The name of the one that makes new hashes."""
        return self._known[0][0]

    def all(self, field: str, namespace: str, value: str) -> list[str]:
        """Every hash that a tombstone of this value may have; the first is the one that a new tombstone gets."""
        return [digest(secret, field, namespace, value).hex() for _, secret in self._known]

    def one(self, field: str, namespace: str, value: str) -> str:
        """The hash of a new tombstone."""
        return self.all(field, namespace, value)[0]


SecretsOf = Callable[[Runner], Secrets]  # reads them anew in each transaction: another store's may have come meanwhile
