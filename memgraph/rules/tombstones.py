"""What a tombstone says: a keyed hash of what was purged, and the version up to which it stays dead.

hash = HMAC-SHA256(secret, field NUL namespace NUL value). Fields are `id`, those that a purge can name, `slot`: the key whose
newest version was purged, so that nothing older takes its place, and `space`: the namespace alone.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from typing import Any

from memgraph.models import Entry, Selector
from memgraph.operations import PURGE_FIELDS

__all__ = ["digest", "hits", "naming"]


def digest(secret: bytes, field: str, namespace: str, value: str) -> bytes:
    """The hash that a tombstone of a value is found by."""
    return hmac.digest(secret, f"{field}\0{namespace}\0{value}".encode(), hashlib.sha256)


def naming(items: Iterable[dict[str, Any]], namespace: str, selector: Selector) -> frozenset[str]:
    """Which tombstones of a namespace in an export are of a value that this selector names. items: as for `hits`."""
    secrets: list[bytes] = []
    there: set[str] = set()
    for item in items:
        if "tombstone" not in item:
            secrets.append(bytes.fromhex(item["value"]))
        elif item["namespace"] == namespace:
            there.add(item["tombstone"])
    if selector.everything:
        return frozenset(there)
    values = [("id", id) for id in selector.ids]
    values += [(field, value) for field in PURGE_FIELDS if isinstance(value := getattr(selector, field, None), str)]
    return frozenset(
        there & {digest(secret, field, namespace, value).hex() for secret in secrets for field, value in values}
    )


def hits(items: Iterable[dict[str, Any]], entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    """Which tombstones of an export take which of these memories. items: its secrets and tombstones."""
    secrets: list[bytes] = []
    versions: dict[str, str] = {}
    for item in items:
        if "tombstone" in item:
            versions[item["tombstone"]] = max(item["version"], versions.get(item["tombstone"], ""))
        else:
            secrets.append(bytes.fromhex(item["value"]))
    if not versions:
        return
    for entry in entries:
        values = {field: getattr(entry, field) for field in PURGE_FIELDS}
        stands_for = entry.restores_version or entry.version
        for secret in secrets:
            ids = [digest(secret, "id", entry.namespace, id).hex() for id in (entry.id, entry.restores) if id]
            named = [digest(secret, field, entry.namespace, value).hex() for field, value in values.items() if value]
            yield from ((each, entry) for each in ids if each in versions)
            yield from ((each, entry) for each in named if versions.get(each, "") >= stands_for)
