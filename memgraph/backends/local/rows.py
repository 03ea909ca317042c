"""How a row of the table `memory` becomes an Entry, and an operation a row."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from typing import Any, Final

from memgraph.checks import from_micros, micros
from memgraph.clock import recorded_at
from memgraph.models import Entry, Status, Trust, trusted
from memgraph.operations import Origin, Remember

__all__ = ["COLUMNS", "STATUSES", "entry", "remember_of", "values_of"]

STATUSES: Final = ("active", "superseded", "forgotten", "released", "pruned")
_STATUS: Final = (Status.ACTIVE, Status.SUPERSEDED, Status.FORGOTTEN, Status.RELEASED, Status.PRUNED)
_TRUST: Final = {trust.value: trust for trust in Trust}

COLUMNS: Final = (
    "memory.seq, memory.id, memory.version, memory.status, memory.key, memory.kind, memory.subject, memory.title, "
    "memory.tags, memory.aliases, memory.metadata, memory.source, memory.actor, memory.session, memory.trust, "
    "memory.pinned, memory.confidence, memory.feedback_count, memory.feedback_sum, memory.valid_from, memory.valid_to, "
    "memory.expires_at, memory.reason, memory.restores_id, memory.restores_version, memory.embedding_model, "
    "memory.changeset, memory.content"
)


def _time(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def entry(row: sqlite3.Row | tuple[Any, ...], namespace: str, now: datetime, superseded_by: str | None = None) -> Entry:
    """The Entry of a row of COLUMNS, as it is at `now`."""
    (
        _seq, id, version, status, key, kind, subject, title, tags, aliases, metadata, source, actor, session, trust,
        pinned, confidence, count, total, valid_from, valid_to, expires_at, reason, restores, origin, model, _changeset,
        content,
    ) = row  # fmt: skip
    expires = None if expires_at is None else from_micros(expires_at)
    values = {
        "id": id,
        "namespace": namespace,
        "content": content,
        "key": key,
        "kind": kind,
        "subject": subject,
        "title": title,
        "tags": () if tags == "[]" else tuple(json.loads(tags)),
        "aliases": () if aliases == "[]" else tuple(json.loads(aliases)),
        "metadata": {} if metadata == "{}" else json.loads(metadata),
        "source": source,
        "actor": actor,
        "session": session,
        "trust": _TRUST[trust],
        "pinned": bool(pinned),
        "confidence": confidence,
        "feedback_count": count,
        "feedback_sum": total,
        "version": version,
        "recorded_at": recorded_at(version),
        "valid_from": None if valid_from is None else from_micros(valid_from),
        "valid_to": None if valid_to is None else from_micros(valid_to),
        "expires_at": expires,
        "status": Status.EXPIRED if status == 0 and expires is not None and expires <= now else _STATUS[status],
        "superseded_by": superseded_by,
        "restores": restores,
        "restores_version": origin,
        "reason": reason,
        "embedding_model": model,
        "stored_on": ("local",),
        "degraded": None,
    }
    return trusted(Entry, values)


def values_of(operation: Remember, past: bool) -> tuple[Any, ...]:
    """The values of a stamped Remember, in the order that `apply` binds them."""
    dump = json.dumps
    return (
        operation.version,
        operation.key,
        int(past),
        operation.kind,
        operation.subject,
        operation.title,
        dump(operation.tags, ensure_ascii=False) if operation.tags else "[]",
        dump(operation.aliases, ensure_ascii=False) if operation.aliases else "[]",
        dump(operation.metadata, ensure_ascii=False) if operation.metadata else "{}",
        operation.source,
        operation.actor,
        operation.session,
        operation.trust.value,
        int(operation.pinned),
        operation.confidence,
        None if operation.valid_from is None else micros(operation.valid_from),
        None if operation.valid_to is None else micros(operation.valid_to),
        None if operation.expires_at is None else micros(operation.expires_at),
        operation.reason,
        operation.restores.id if operation.restores else None,
        operation.restores.version if operation.restores else None,
        operation.embedding_model,
        operation.changeset,
        operation.content,
    )


def remember_of(row: tuple[Any, ...], namespace: str, vector: tuple[float, ...] | None) -> Remember:
    """The Remember that made a row of COLUMNS."""
    (
        _seq, id, version, _status, key, kind, subject, title, tags, aliases, metadata, source, actor, session, trust,
        pinned, confidence, _count, _total, valid_from, valid_to, expires_at, reason, restores, origin, model, changeset,
        content,
    ) = row  # fmt: skip
    return Remember.model_construct(
        op_id=version,
        version=version,
        namespace=namespace,
        changeset=changeset,
        id=id,
        content=content,
        key=key,
        kind=kind,
        subject=subject,
        title=title,
        tags=tuple(json.loads(tags)),
        aliases=tuple(json.loads(aliases)),
        metadata=json.loads(metadata),
        source=source,
        actor=actor,
        session=session,
        trust=_TRUST[trust],
        pinned=bool(pinned),
        confidence=confidence,
        valid_from=_time(valid_from),
        valid_to=_time(valid_to),
        expires_at=_time(expires_at),
        reason=reason,
        restores=Origin(id=restores, version=origin) if restores else None,
        embedding=vector,
        embedding_model=model,
    )
