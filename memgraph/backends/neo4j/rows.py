"""How a Remember becomes the properties of a `:Memory` node, and a row that shows one an Entry.

A statement that shows memories returns each as a map of the node's properties (`m {.*, embedding: null}`), with
`superseded_by` beside them where a reader wants it. Times are stored as Neo4j date-times in UTC and come back as aware
datetimes; metadata is JSON text; a property that would be null is not stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from memgraph.backends.neo4j.damage import is_version, readable, whole_life
from memgraph.backends.neo4j.tokens import tokens
from memgraph.clock import Clock, recorded_at
from memgraph.errors import StoreCorruptError
from memgraph.models import Entry, Status, Trust, trusted
from memgraph.operations import Origin, Remember

__all__ = ["STORED_ON", "StoreClock", "entry", "events", "properties", "remember_of", "sound", "sound_times"]

STORED_ON: Final = ("neo4j",)
Row = TypeVar("Row", bound=Mapping[str, Any])
_TRUST: Final = {trust.value: trust for trust in Trust}
_PLAIN: Final = ("key", "subject", "actor", "session", "valid_from", "valid_to", "expires_at", "reason")
_MAYBE: Final = (*_PLAIN, "changeset", "embedding_model")
_SHOWN: Final = ("kind", "title", "source")
_AMOUNTS: Final = ("confidence", "feedback_count", "feedback_sum")
_MAYBE_SHOWN: Final = ("key", "subject", "actor", "session", "reason", "origin", "origin_version", "embedding_model")


def properties(operation: Remember) -> dict[str, Any]:
    """The properties of a stamped Remember's node, without those that are null and those that `write/remember` derives."""
    found: dict[str, Any] = {name: value for name in _MAYBE if (value := getattr(operation, name)) is not None}
    found |= {
        "version": operation.version,
        "content": operation.content,
        "kind": operation.kind,
        "title": operation.title,
        "tags": list(operation.tags),
        "aliases": list(operation.aliases),
        "metadata": json.dumps(operation.metadata, ensure_ascii=False) if operation.metadata else "{}",
        "source": operation.source,
        "trust": operation.trust.value,
        "pinned": operation.pinned,
        "confidence": operation.confidence,
    }
    if operation.describes_past:
        found["past"] = True
    if operation.embedding is not None:
        found["embedding"] = list(operation.embedding)
    if operation.restores is not None:
        found |= {"origin": operation.restores.id, "origin_version": operation.restores.version}
    return found | tokens(operation)


class StoreClock(Clock):
    """A clock that is shown versions as they stand in the graph."""

    def observe(self, version: str) -> None:
        """Move past a version that was seen. Raises StoreCorruptError for what is none."""
        super().observe(sound(version))


def sound(version: Any) -> str:
    """A version as it was read. Raises StoreCorruptError if somebody changed it to what is none."""
    if not is_version(version):
        raise _spoiled("version")
    found: str = version
    return found


def sound_times(row: Row) -> Row:
    """A row whose times, as far as there are any, are times. Raises StoreCorruptError if somebody changed one."""
    for name in ("valid_from", "valid_to", "expires_at"):
        if not isinstance(row.get(name), datetime | None):
            raise _spoiled(name)
    return row


def _spoiled(what: str) -> StoreCorruptError:
    return StoreCorruptError(
        f"the {what} of a memory was changed by hand to something else", hint="Run `memgraph doctor --repair`."
    )


def entry(row: Mapping[str, Any], now: datetime, superseded_by: str | None = None) -> Entry:
    """The Entry of a node's properties, as it is at `now`. What somebody removed or spoiled by hand is read as its default.

    Raises StoreCorruptError where nothing can be read.
    """
    try:
        return _entry(row, now, superseded_by)
    except (KeyError, OverflowError, TypeError, ValueError):
        return _entry(readable(row, superseded_by), now, superseded_by)


def _entry(row: Mapping[str, Any], now: datetime, superseded_by: str | None) -> Entry:
    expires, status, get = row.get("expires_at"), Status(row["status"]), row.get
    if isinstance(expires, str) or isinstance(get("valid_from"), str) or isinstance(get("valid_to"), str):
        raise TypeError("a time was written as a text")
    if not isinstance(row["content"], str):
        raise _spoiled("content")
    _check_kinds(row)
    if status is Status.ACTIVE and expires is not None and expires <= now:
        status = Status.EXPIRED
    values = {
        "id": row["id"],
        "namespace": row["namespace"],
        "content": row["content"],
        "key": get("key"),
        "kind": row["kind"],
        "subject": get("subject"),
        "title": row["title"],
        "tags": tuple(row["tags"]),
        "aliases": tuple(row["aliases"]),
        "metadata": _metadata(row),
        "source": row["source"],
        "actor": get("actor"),
        "session": get("session"),
        "trust": _TRUST[row["trust"]],
        "pinned": row["pinned"],
        "confidence": row["confidence"],
        "feedback_count": get("feedback_count") or 0,
        "feedback_sum": get("feedback_sum") or 0.0,
        "version": row["version"],
        "recorded_at": recorded_at(row["version"]),
        "valid_from": get("valid_from"),
        "valid_to": get("valid_to"),
        "expires_at": expires,
        "status": status,
        "superseded_by": superseded_by,
        "restores": get("origin"),
        "restores_version": get("origin_version"),
        "reason": get("reason"),
        "embedding_model": get("embedding_model"),
        "stored_on": STORED_ON,
        "degraded": None,
    }
    return trusted(Entry, values)


def _check_kinds(row: Mapping[str, Any]) -> None:
    """Raise TypeError if a property that is shown as it is has another kind than a write gives it. Quick, as every read asks."""
    sound = all(isinstance(row[name], str) for name in _SHOWN)
    sound = sound and all(isinstance(row.get(name), str | None) for name in _MAYBE_SHOWN)
    sound = sound and all(isinstance(row.get(name, 0), int | float | None) for name in _AMOUNTS)
    for name in ("tags", "aliases"):
        sound = sound and isinstance(row[name], list) and all(isinstance(each, str) for each in row[name])
    if not (sound and isinstance(row["pinned"], bool)):
        raise TypeError("a property has another kind than a write gives it")


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """A memory's metadata. Raises TypeError or ValueError if somebody changed it to what is none."""
    found = json.loads(row["metadata"])
    if not isinstance(found, dict):
        raise TypeError("metadata is no object")
    return found


def remember_of(row: Mapping[str, Any]) -> Remember:
    """The Remember that made a node; its `embedding`, where the row has it, included. What was spoiled is as in `entry`.

    Raises StoreCorruptError where the version or a time was: a copy must not live longer than what it is a copy of.
    """
    sound(sound_times(row)["version"])
    try:
        _check_kinds(row)
        return _remember_of(row)
    except (KeyError, TypeError, ValueError):
        return _remember_of(readable(row, None))


def _remember_of(row: Mapping[str, Any]) -> Remember:
    get, vector = row.get, row.get("embedding")
    plain: dict[str, Any] = {name: get(name) for name in _PLAIN}
    return Remember.model_construct(
        op_id=row["version"],
        version=row["version"],
        namespace=row["namespace"],
        changeset=get("changeset"),
        id=row["id"],
        content=row["content"],
        kind=row["kind"],
        title=row["title"],
        tags=tuple(row["tags"]),
        aliases=tuple(row["aliases"]),
        metadata=_metadata(row),
        source=row["source"],
        trust=_TRUST[row["trust"]],
        pinned=row["pinned"],
        confidence=row["confidence"],
        restores=Origin(id=get("origin"), version=get("origin_version")) if get("origin") else None,
        embedding=None if vector is None else tuple(vector),
        embedding_model=get("embedding_model"),
        **plain,
    )


def events(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What happened to a memory, oldest first: version, cause, and where known reason, actor, changeset, old_version, new_version.

    `life` holds `version|cause`, or `version|superseded|version of what was superseded`; `notes` beside it, in the same
    order, the rest as JSON. A supersede that names another version of this id is left out. Its reason and what superseded
    are on the `SUPERSEDES {via: 'explicit', version}` edge. What somebody wrote there by hand is left out.
    """
    try:
        return _events(row)
    except (TypeError, ValueError):
        return _events({**row, **whole_life(row)})


def _events(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for event, note in zip(row.get("life") or (), row.get("notes") or (), strict=True):
        version, cause, *old = event.split("|")
        if not is_version(version):
            raise ValueError("an event was written by hand")
        if not old or row.get("version") in (None, old[0]):
            found.append(
                {"version": version, "cause": cause, **({"old_version": old[0]} if old else {}), **json.loads(note)}
            )
    return found
