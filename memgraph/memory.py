"""Memory, the one door: it validates what comes in, builds operations, and asks the backend.

`AsyncMemory` in `aio.py` offers the same verbs awaited.
"""

from __future__ import annotations

import builtins
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, Self, TypeVar

from memgraph import checks
from memgraph.backends.base import (
    Archivable,
    Backend,
    Draft,
    OnDisk,
    Preparable,
    Query,
    Ranking,
    Replica,
    Scope,
    entries_of,
    tombstones_of,
)
from memgraph.clock import new_id, version_floor
from memgraph.errors import (
    ConflictError,
    InvalidInputError,
    LegalHoldError,
    NotFoundError,
    UnavailableError,
    UnsupportedError,
)
from memgraph.models import (
    Act,
    BackupReport,
    Change,
    ChangeSet,
    CheckReport,
    ConsolidationReport,
    Count,
    DeadLetter,
    Diff,
    Edge,
    Entry,
    Filters,
    Hold,
    ImportPlan,
    Lineage,
    Neighbourhood,
    Page,
    PurgeCheck,
    PurgePlan,
    PurgeReceipt,
    SearchResult,
    Selector,
    Stats,
    Status,
    StoreStatus,
    SyncDiff,
    SyncReport,
    SyncSource,
    Trust,
    Value,
    complete,
    trusted,
)
from memgraph.operations import (
    Operation,
    Origin,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unknown,
    Unrelate,
)
from memgraph.rules.caption import caption
from memgraph.rules.lineage import has_expired
from memgraph.textlines import Skip

if TYPE_CHECKING:
    import networkx as nx

    from memgraph.importing import Importing
    from memgraph.ledger import Ledger

__all__ = ["Embedder", "Memory"]

DEFAULT_NAMESPACE: Final = "default"
_PAGE: Final = 1000
_MODES: Final = ("failover", "merge", "local_first")
_CONCERNS: Final = ("local", "primary")
_TTL_MAX: Final = 3.2e9  # seconds: a hundred years
_FLOAT32_MAX: Final = 3.4028234663852886e38
Progress = Callable[[int], None]
T = TypeVar("T")


class Embedder(Protocol):
    """Turns texts into vectors of one length. `model` names what made them; vectors of another model are not compared."""

    model: str

    def __call__(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
        """One vector a text."""
        ...


def _filters(value: Filters | Mapping[str, Any] | None, field: str = "filters") -> Filters:
    if value is None:
        return Filters()
    if isinstance(value, Selector):
        raise InvalidInputError("is a Selector; only a purge takes one", field=field)
    if isinstance(value, Filters):
        return value
    if isinstance(value, Mapping):
        return Filters(**{str(name): wanted for name, wanted in value.items()})
    raise InvalidInputError(f"must be Filters or a mapping, not {type(value).__name__}", field=field)


def _optional(value: object, field: str) -> str | None:
    return None if value is None else checks.name(value, field)


def _label(value: object, field: str) -> str | None:
    return None if value is None else checks.label(value, field)


def _limit(value: object, field: str = "limit") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= checks.MAX_BATCH:
        raise InvalidInputError(f"must be a whole number from 1 to {checks.MAX_BATCH}", field=field)
    return value


class Memory:
    """One namespace of a store. Safe for threads; survives a fork; a context manager that closes the store.

    `Memory.open(...)` makes one. A Memory opened without a namespace works in "default" and reaches every namespace through
    `namespace(...)`; one that was opened on, or derived to, a namespace reaches only what lies below it.
    """

    def __init__(
        self,
        backend: Backend,
        namespace: str | Sequence[str] | None = None,
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], float] = time.time,
        max_content_bytes: int = checks.MAX_CONTENT_BYTES,
        max_clock_drift: float = 300.0,
    ) -> None:
        self._backend = backend
        self._near = (
            backend.near if isinstance(backend, Replica) else backend
        )  # for what this process wrote or named itself
        self._root = namespace is None
        self._namespace = checks.namespace(DEFAULT_NAMESPACE if namespace is None else namespace)
        self._embedder = embedder
        self._clock = clock
        self._max_content_bytes = max_content_bytes
        self._max_clock_drift = max_clock_drift

    # ---- opening

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        primary: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        mode: str = "failover",
        write_concern: str = "local",
        namespace: str | Sequence[str] | None = None,
        durability: str = "full",
        read_only: bool = False,
        lock_timeout: float = 10.0,
        max_clock_drift: float = 300.0,
        max_content_bytes: int = checks.MAX_CONTENT_BYTES,
        embedder: Embedder | None = None,
        clock: Callable[[], float] = time.time,
        preload: bool = True,
        create: bool = True,
    ) -> Memory:
        """Open a store, made if it is not there.

        path: a file; ":memory:" for this process's memory; None for the platform's data folder.
        primary: the address of a Neo4j that holds the memories (also as `path`): neo4j://, bolt:// or their TLS schemes. With a
        path beside it both are used: writes are durable in the file at once and reach the primary by themselves.
        auth: (user, password) for it. database: its name, None for the server's default.
        mode: how reads are answered then: "failover" by the primary, by the file while that is away; "merge" by both, whatever
        either knows; "local_first" by the file, by both where it has too little.
        write_concern: "local" returns when a write is durable in the file, "primary" when the primary has it too.
        namespace: "acme/user-1" or its segments; None for "default" with a way to every other.
        durability: "full" (each write is on the device when it returns) or "normal" (a power cut may take the last writes).
        read_only: open for reading. lock_timeout: seconds to wait for another process's write.
        max_clock_drift: seconds that versions may run ahead of the clock. max_content_bytes: the longest content, UTF-8.
        embedder: makes vectors that add to the ranking. clock: Unix seconds. preload: load the graph in the background.
        create: make the store if it is not there; else that is NotFoundError, of a primary at the first call.

        Raises StoreCorruptError, StoreVersionError, StoreLockedError, UnavailableError, ReadOnlyError, AuthError.
        """
        if isinstance(path, str) and "://" in path:
            path, primary = None, checks.text(primary or path, "primary")
        for name, value, allowed in (("mode", mode, _MODES), ("write_concern", write_concern, _CONCERNS)):
            if value not in allowed:
                raise InvalidInputError(f"must be one of {', '.join(map(repr, allowed))}", field=name)
        if durability not in ("full", "normal"):
            raise InvalidInputError("must be 'full' or 'normal'", field="durability")
        if namespace is not None:
            namespace = checks.namespace(namespace)
        if preload:
            complete(Value)
        backend: Backend
        if primary is not None and path is None:
            from memgraph.backends.neo4j.backend import Neo4jBackend

            if read_only:
                raise InvalidInputError(
                    "is for files; a server is protected by the rights of its user",
                    field="read_only",
                    hint="Connect as a user who may only read.",
                )
            backend = Neo4jBackend(
                primary, auth=auth, database=database, max_clock_drift=max_clock_drift, clock=clock, create=create
            )
        else:
            from memgraph.backends.local.backend import LocalBackend

            if path is None:
                from memgraph.config import default_store

                path = default_store()
            if not create and path != ":memory:" and not _file(path).expanduser().exists():
                raise NotFoundError(f"there is no store at {path}", hint="Write a first memory, or name another store.")
            backend = local = LocalBackend(
                None if path == ":memory:" else _file(path).expanduser(),
                durability=durability,
                lock_timeout=checks.fraction(lock_timeout, "lock_timeout", 0.0, 1e6),
                read_only=read_only,
                max_clock_drift=max_clock_drift,
                clock=clock,
                preload=preload,
            )
            if primary is not None:
                if read_only:
                    local.close()
                    raise InvalidInputError(
                        "is for a file by itself: what its primary has is written into it",
                        field="read_only",
                        hint="Leave out the primary, or read_only.",
                    )
                from memgraph.backends.composite.backend import over

                backend = over(
                    local,
                    primary,
                    auth,
                    database,
                    mode=mode,
                    write_concern=write_concern,
                    max_clock_drift=max_clock_drift,
                    clock=clock,
                )
        return cls(
            backend,
            namespace,
            embedder=embedder,
            clock=clock,
            max_content_bytes=max_content_bytes,
            max_clock_drift=max_clock_drift,
        )

    @classmethod
    def from_env(cls) -> Memory:
        """Open what the MEMGRAPH_* variables and `memgraph.toml` name; see `memgraph config`."""
        from memgraph.config import resolve

        return cls.open(**resolve().arguments())

    def namespace(self, *segments: str) -> Memory:
        """A view of another namespace of the same store: below this one, or any if this was opened without a namespace."""
        path = checks.namespace(segments[0] if len(segments) == 1 else segments)
        return self._at(path if self._root else f"{self._namespace}/{path}")

    def _at(self, path: str) -> Memory:
        """A view of a namespace by its whole path."""
        return type(self)(
            self._backend,
            path,
            embedder=self._embedder,
            clock=self._clock,
            max_content_bytes=self._max_content_bytes,
            max_clock_drift=self._max_clock_drift,
        )

    def namespaces(self, prefix: str | Sequence[str] = ()) -> builtins.list[str]:
        """The namespaces that hold memories: this one and below, or all if this was opened without a namespace."""
        path = checks.namespace(prefix, "prefix") if prefix else None
        if not self._root:
            path = f"{self._namespace}/{path}" if path else self._namespace
        return [found for found in self._backend.namespaces(path) if found.split("/")[0] != checks.LEDGER]

    @property
    def backend(self) -> Backend:
        """The backend behind this door."""
        return self._backend

    @property
    def path(self) -> str:
        """The namespace's path, such as "acme/user-1"."""
        return self._namespace

    @property
    def degraded(self) -> str | None:
        """Why what is read now may be incomplete; None if nothing is known against it, and for a store without a primary.

        For answers that cannot say so themselves, such as None for a key that another replica may have written.
        """
        return self._backend.degraded if isinstance(self._backend, Replica) else None

    def _missing(self, what: str, hint: str | None = None) -> NotFoundError:
        doubt = self.degraded
        return NotFoundError(what, hint=f"It may be on the primary: {doubt}." if doubt else hint or "")

    def __repr__(self) -> str:
        return f"<Memory {self._namespace!r} on {self._backend.name}>"

    def _now(self) -> datetime:
        return checks.from_micros(int(self._clock() * 1_000_000))

    def _scope(self, subtree: bool = False) -> Scope:
        return Scope(self._namespace, bool(subtree))

    def _entry(self, id: object, field: str = "id") -> Entry:
        name = checks.name(id, field)
        found = self._backend.get(self._namespace, [name], self._now()).get(name)
        if found is None:
            raise self._missing(f"{field}: no memory of this id in namespace {self._namespace!r}")
        return found

    # ---- writing

    def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        kind: str = "fact",
        id: str | None = None,
        subject: str | None = None,
        title: str | None = None,
        tags: Iterable[str] = (),
        aliases: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        source: str = "agent",
        actor: str | None = None,
        session: str | None = None,
        trust: Trust | str = Trust.AGENT,
        pinned: bool = False,
        confidence: float = 0.8,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expires_at: datetime | None = None,
        ttl: timedelta | float | None = None,
        relates_to: Iterable[str | tuple[str, str]] = (),
        reason: str | None = None,
        expected_version: str | None = None,
        if_absent: bool = False,
    ) -> Entry:
        """Write a memory and return it; when this returns, it is durable.

        content: up to 1 MiB, kept as given. key: the slot that it becomes the current value of; what was current is superseded.
        id: the idempotency key; the same id with the same content and key is the same write. title: a caption; cut from the
        content if not given. valid_from, valid_to: when it is true in the world; a key whose `valid_to` is over joins the
        history only. ttl: seconds or a timedelta until it expires. relates_to: ids, or (id, type) pairs.
        expected_version: the version that the key's current memory must have; if_absent: the key must have none.

        Raises InvalidInputError, ConflictError, PurgedError, NotFoundError (a target of `relates_to`), ClockDriftError.
        """
        return self.remember_many(
            [
                {
                    "content": content,
                    "key": key,
                    "kind": kind,
                    "id": id,
                    "subject": subject,
                    "title": title,
                    "tags": tags,
                    "aliases": aliases,
                    "metadata": metadata,
                    "source": source,
                    "actor": actor,
                    "session": session,
                    "trust": trust,
                    "pinned": pinned,
                    "confidence": confidence,
                    "valid_from": valid_from,
                    "valid_to": valid_to,
                    "expires_at": expires_at,
                    "ttl": ttl,
                    "relates_to": relates_to,
                    "reason": reason,
                    "expected_version": expected_version,
                    "if_absent": if_absent,
                }
            ]
        )[0]

    def remember_many(self, items: Iterable[Mapping[str, Any] | str]) -> builtins.list[Entry]:
        """Write up to 10,000 memories in order, all or none. An item is the arguments of `remember`, or just the content.

        Raises what `remember` raises; then nothing was written.
        """
        if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
            raise InvalidInputError("must be a list of memories", field="items")
        drafts: builtins.list[Draft] = []
        targets: set[str] = set()
        made: set[str] = set()
        now = self._now()
        todo = builtins.list(items)
        if len(todo) > checks.MAX_BATCH:
            raise InvalidInputError(f"holds more than {checks.MAX_BATCH} memories", field="items", hint="Split it.")
        for item in todo:
            if not isinstance(item, str | Mapping):
                raise InvalidInputError("must hold texts, or the arguments of remember", field="items")
            given = {"content": item} if isinstance(item, str) else dict(item)
            draft, relations = self._draft(given, now)
            made.add(draft.operation.id)  # type: ignore[attr-defined]
            drafts.append(draft)
            drafts += relations
            targets.update(relation.operation.b for relation in relations)  # type: ignore[attr-defined]
        if missing := targets - made:
            self._require(missing, "relates_to")
        if self._embedder is not None:
            drafts = self._embed(drafts, self._embedder)
        return [entry for entry in self._backend.write(drafts) if isinstance(entry, Entry)] if drafts else []

    def _draft(self, given: dict[str, Any], now: datetime) -> tuple[Draft, builtins.list[Draft]]:
        take = given.pop
        content = checks.content(take("content", None), "content", self._max_content_bytes)
        key = _optional(take("key", None), "key")
        named = _optional(take("id", None), "id")
        id = named or new_id()
        title = take("title", None)
        tags, aliases = take("tags", ()), take("aliases", ())
        trust = take("trust", Trust.AGENT)
        if not isinstance(trust, Trust):
            try:
                trust = Trust(trust)
            except ValueError:
                allowed = ", ".join(repr(each.value) for each in Trust)
                raise InvalidInputError(f"must be one of {allowed}", field="trust") from None
        pinned = take("pinned", False)
        if not isinstance(pinned, bool):
            raise InvalidInputError("must be True or False", field="pinned")
        times = {
            field: None if (value := take(field, None)) is None else checks.instant(value, field)
            for field in ("valid_from", "valid_to", "expires_at")
        }
        if times["valid_from"] and times["valid_to"] and times["valid_to"] <= times["valid_from"]:
            raise InvalidInputError("must be after valid_from", field="valid_to")
        if (ttl := take("ttl", None)) is not None:
            if times["expires_at"] is not None:
                raise InvalidInputError("give either ttl or expires_at", field="ttl")
            times["expires_at"] = now + _duration(ttl)
        session, actor, subject = take("session", None), take("actor", None), take("subject", None)
        values: dict[str, Any] = dict(
            format=1,
            op="remember",
            op_id=id,
            version="",
            changeset=None,
            restores=None,
            embedding=None,
            embedding_model=None,
            namespace=self._namespace,
            id=id,
            content=content,
            key=key,
            kind=checks.name(take("kind", "fact"), "kind"),
            subject=_optional(subject, "subject"),
            title=caption(content if title is None else checks.label(title, "title")),
            tags=checks.names(tags, "tags") if tags != () else (),
            aliases=checks.names(aliases, "aliases") if aliases != () else (),
            metadata=checks.metadata(take("metadata", None)),
            source=checks.name(take("source", "agent"), "source"),
            actor=_optional(actor, "actor"),
            session=_optional(session, "session"),
            trust=trust,
            pinned=pinned,
            confidence=checks.fraction(take("confidence", 0.8), "confidence"),
            reason=_label(take("reason", None), "reason"),
            **times,
        )
        operation = trusted(Remember, values)
        relations = [
            Draft(Relate(op_id=new_id(), namespace=self._namespace, a=id, b=target, type=type), part_of=id)
            for target, type in _targets(take("relates_to", ()), id)
        ]
        expected, absent = take("expected_version", None), take("if_absent", False)
        if key is None and (expected is not None or absent):
            raise InvalidInputError("needs a key", field="if_absent" if absent else "expected_version")
        if given:
            raise InvalidInputError("is not an argument of remember", field=next(iter(map(str, given))))
        return Draft(operation, expected, bool(absent), fresh=named is None), relations

    def _embed(self, drafts: builtins.list[Draft], embedder: Embedder) -> builtins.list[Draft]:
        texts = [draft.operation.content for draft in drafts if isinstance(draft.operation, Remember)]
        vectors = iter(_vectors(embedder, texts))
        return [
            replace(
                draft,
                operation=draft.operation.model_copy(
                    update={"embedding": next(vectors), "embedding_model": embedder.model}
                ),
            )
            if isinstance(draft.operation, Remember)
            else draft
            for draft in drafts
        ]

    def _require(self, ids: Iterable[str], field: str) -> dict[str, Entry]:
        wanted = builtins.list(dict.fromkeys(ids))
        found = self._near.get(self._namespace, wanted, self._now())
        if missing := len(wanted) - len(found):
            raise self._missing(f"{field}: {missing} of {len(wanted)} ids are not in namespace {self._namespace!r}")
        return found

    def _write(self, *operations: Operation, act: Draft | None = None) -> builtins.list[Entry | str]:
        """Write operations, and an act that tells of them, as one."""
        drafts = [Draft(operation) for operation in operations]
        if self._embedder is not None and any(isinstance(operation, Remember) for operation in operations):
            drafts = self._embed(drafts, self._embedder)
        return self._backend.write(drafts if act is None else [*drafts, act])

    def _change(
        self,
        what: str,
        by: str | None,
        changeset: str,
        operations: Sequence[Operation],
        **details: builtins.list[str],
    ) -> builtins.list[Entry | str]:
        """Take memories out of use or bring them back, and write down who did it."""
        gone = sum(isinstance(each, Retire) for each in operations)
        back = sum(isinstance(each, Restore | Remember) for each in operations)
        counts = {name: count for name, count in (("out of use", gone), ("back", back)) if count}
        told = {"changeset": changeset, **counts, **details}
        return self._write(*operations, act=self._ledger.draft(what, self._operator(by), told))

    def supersede(self, old_id: str, new_id: str, reason: str | None = None) -> Edge:
        """Say that one memory replaces another. A key does that by itself, so two versions of one key are refused.

        Raises NotFoundError; InvalidInputError if both are the same, have the same key, or `new_id` is the older one.
        """
        found = self._require([checks.name(old_id, "old_id"), checks.name(new_id, "new_id")], "old_id, new_id")
        if len(found) == 1:
            raise InvalidInputError("a memory cannot supersede itself", field="new_id")
        old, new = found[checks.name(old_id, "old_id")], found[checks.name(new_id, "new_id")]
        if old.key is not None and old.key == new.key:
            raise InvalidInputError("both have the same key, whose newest version wins by itself", field="new_id")
        if new.version <= old.version:
            raise InvalidInputError(
                "is older than what it would replace", field="new_id", hint="Write the replacement again."
            )
        why = _label(reason, "reason")
        (version,) = self._write(
            Supersede(
                op_id=_op_id(),
                namespace=self._namespace,
                new_id=new.id,
                new_version=new.version,
                old_id=old.id,
                old_version=old.version,
                reason=why,
            )
        )
        return Edge(
            label="SUPERSEDES",
            namespace=self._namespace,
            source_id=new.id,
            target_id=old.id,
            version=str(version),
            reason=why,
            via="explicit",
        )

    def relate(self, a: str, b: str, type: str = "related", weight: float = 1.0, note: str | None = None) -> Edge:
        """Relate memory `a` to memory `b`; a second call for the same pair and type replaces weight and note.

        weight: a finite number from 0 to 1,000. Raises NotFoundError, InvalidInputError (also for a memory and itself).
        """
        ends = [checks.name(a, "a"), checks.name(b, "b")]
        type = checks.relation_type(type)
        if ends[0] == ends[1]:
            raise InvalidInputError("a memory cannot be related to itself", field="b")
        operation = Relate(
            op_id=_op_id(),
            namespace=self._namespace,
            a=ends[0],
            b=ends[1],
            type=type,
            weight=checks.fraction(weight, "weight", 0.0, 1000.0),
            note=_label(note, "note"),
        )
        self._require(ends, "a, b")
        self._write(operation)
        return self._edge(ends[0], ends[1], type)

    def _edge(self, a: str, b: str, type: str) -> Edge:
        for edge in self._near.relations(self._namespace, [a]):
            if (edge.source_id, edge.target_id, edge.type) == (a, b, type):
                return edge
        raise self._missing("no such relation")

    def unrelate(self, a: str, b: str, type: str = "related") -> Edge:
        """Take a relation back; returns it as it was. Raises NotFoundError if there is none."""
        a, b, type = checks.name(a, "a"), checks.name(b, "b"), checks.relation_type(type)
        edge = self._edge(a, b, type)
        self._write(Unrelate(op_id=_op_id(), namespace=self._namespace, a=a, b=b, type=type))
        return edge

    def feedback(
        self, ids: str | Iterable[str], signal: float, verified: bool = False, actor: str | None = None
    ) -> builtins.list[Entry]:
        """Say how useful memories were. signal: -1 (harmful) to 1 (useful), cut to that; a verified one counts double.

        Returns the memories as they are now. Raises NotFoundError; then nothing was written.
        """
        if not isinstance(ids, Iterable):
            raise InvalidInputError("must be an id or a list of ids", field="ids")
        wanted = [checks.name(id, "ids") for id in ([ids] if isinstance(ids, str) else ids)]
        value = max(-1.0, min(1.0, checks.fraction(signal, "signal", -1e308, 1e308)))
        who = _optional(actor, "actor")
        self._require(wanted, "ids")
        self._write(
            *(
                Reinforce(
                    op_id=(event := _op_id()),
                    namespace=self._namespace,
                    id=id,
                    feedback_id=event,
                    signal=value,
                    verified=bool(verified),
                    actor=who,
                )
                for id in dict.fromkeys(wanted)
            )
        )
        found = self._near.get(self._namespace, wanted, self._now())
        return [found[id] for id in wanted if id in found]

    # ---- reading

    def get(self, id: str) -> Entry:
        """The memory of this id, whatever its status. Raises NotFoundError."""
        return self._entry(id)

    def current(self, key: str, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> Entry | None:
        """The current memory of a key, or None.

        known_at: as all writers together had recorded it by then. valid_at: what was true in the world at that instant.
        The entry itself shows today's status.
        """
        return self._backend.current(
            self._namespace,
            checks.name(key, "key"),
            self._now(),
            None if known_at is None else checks.instant(known_at, "known_at"),
            None if valid_at is None else checks.instant(valid_at, "valid_at"),
        )

    def lineage(self, key_or_id: str) -> Lineage:
        """Where a key or a memory came from, what replaced what and why, and what happened to it. Raises NotFoundError.

        A text that is both a key and an id is taken as the key.
        """
        found = self._backend.lineage(self._namespace, checks.name(key_or_id, "key_or_id"), self._now())
        if found is None:
            raise self._missing(f"key_or_id: no memory has this key or id in namespace {self._namespace!r}")
        return found

    def history(self, key_or_id: str) -> Page[Entry]:
        """All memories of a key, or linked to an id by replacing or restoring, oldest first. Raises NotFoundError."""
        found = self.lineage(key_or_id)
        return Page(found.entries, degraded=found.degraded)

    def neighbours(self, id: str, depth: int = 1) -> Neighbourhood:
        """The active memories at most `depth` (1 to 10) edges away in any direction, nearest first. Raises NotFoundError."""
        if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= 10:
            raise InvalidInputError("must be a whole number from 1 to 10", field="depth")
        found = self._backend.neighbours(self._namespace, checks.name(id, "id"), depth, self._now())
        if found is None:
            raise self._missing(f"id: no memory of this id in namespace {self._namespace!r}")
        return found

    def graph(self, *, subtree: bool = False) -> nx.MultiDiGraph[Any]:
        """A frozen copy of the namespace's graph. Nodes are ids ((namespace, id) with subtree)."""
        return self._backend.graph(self._scope(subtree), self._now())

    def list(
        self,
        filters: Filters | Mapping[str, Any] | None = None,
        *,
        limit: int = 100,
        after: str | None = None,
        subtree: bool = False,
    ) -> Page[Entry]:
        """Matching memories, active ones if the filters name no status, newest first; `after` is a page's `next`."""
        cursor = None if after is None else checks.text(after, "after")
        return self._backend.list(self._scope(subtree), _filters(filters), self._now(), _limit(limit), cursor)

    def _all(self, filters: Filters, subtree: bool = False) -> Iterator[Entry]:
        cursor = None
        while True:
            page = self.list(filters, limit=_PAGE, after=cursor, subtree=subtree)
            yield from page
            cursor = page.next
            if cursor is None:
                return

    def count(self, filters: Filters | Mapping[str, Any] | None = None, *, subtree: bool = False) -> Count:
        """How many memories match; active ones if the filters name no status."""
        found = self._backend.count(self._scope(subtree), _filters(filters), self._now())
        return found if isinstance(found, Count) else Count.of(found, None)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filters: Filters | Mapping[str, Any] | None = None,
        context: str | None = None,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
        include_inactive: bool = False,
        min_score: float | None = None,
        explain: bool = False,
        ranking: Ranking = "memgraph",
        subtree: bool = False,
    ) -> SearchResult:
        """The memories that answer a question best, best first. The query is plain text; no character has a meaning.

        context: words of the conversation around it, which nudge the order. known_at, valid_at: what was current then.
        include_inactive: replaced and retired ones too, flagged by their status. min_score: the least text score of a hit.
        explain: `Hit.why` holds the parts of the score. ranking: "memgraph", or a seed's score: "loopctl", "aegis".

        Raises InvalidInputError for a blank query.
        """
        if ranking not in ("memgraph", "loopctl", "aegis"):
            raise InvalidInputError("must be 'memgraph', 'loopctl' or 'aegis'", field="ranking")
        text = checks.content(query, "query")
        vector = None
        if self._embedder is not None:
            (vector,) = _vectors(self._embedder, [text])
        asked = Query(
            text=text,
            now=self._now(),
            limit=_limit(limit),
            filters=_filters(filters),
            context=None if context is None else checks.text(context, "context"),
            known_at=None if known_at is None else checks.instant(known_at, "known_at"),
            valid_at=None if valid_at is None else checks.instant(valid_at, "valid_at"),
            include_inactive=bool(include_inactive),
            min_score=None if min_score is None else checks.fraction(min_score, "min_score", 0.0, 1e308),
            explain=bool(explain),
            ranking=ranking,
            vector=vector,
            vector_model=self._embedder.model if self._embedder is not None else None,
        )
        return self._backend.search(self._scope(subtree), asked)

    def diff(self, known_at_a: datetime, known_at_b: datetime) -> Diff:
        """What became current, and what ceased to be, between two instants of recorded time."""
        a, b = checks.instant(known_at_a, "known_at_a"), checks.instant(known_at_b, "known_at_b")

        def active(at: datetime) -> dict[str, Entry]:
            entries = self._backend.snapshot(self._namespace, at)
            return {entry.id: entry for entry in entries if entry.status is Status.ACTIVE}

        before, after = active(a), active(b)
        floor = version_floor(a)
        came = [entry for id, entry in after.items() if id not in before]
        return Diff(
            namespace=self._namespace,
            known_at_a=a,
            known_at_b=b,
            added=tuple(entry for entry in came if entry.version >= floor),
            removed=tuple(entry for id, entry in before.items() if id not in after),
            restored=tuple(entry for entry in came if entry.version < floor),
        )

    # ---- retiring and restoring

    def forget(
        self, id: str | None = None, *, key: str | None = None, reason: str | None = None, by: str | None = None
    ) -> Entry:
        """Take a memory out of use; its history stays, and `restore` brings it back. Forgetting twice changes nothing.

        Give an id, or a key, whose newest memory is meant. by: who does it, for the audit; by default the operating system's
        user, here and in all that follow. Returns the memory as it is now. Raises NotFoundError.
        """
        if (id is None) == (key is None):
            raise InvalidInputError("give either an id or a key", field="id")
        why = _label(reason, "reason")
        if key is not None:
            line = self._backend.lineage(self._namespace, checks.name(key, "key"), self._now())
            of_key = [entry for entry in line.entries if entry.key == key] if line is not None else []
            now = self.current(key)
            if now is None and not of_key:
                raise self._missing(f"key: no memory has this key in namespace {self._namespace!r}")
            found = now or of_key[-1]
        else:
            found = self._entry(id)
        if found.status is not Status.FORGOTTEN:
            changeset = new_id()
            self._change("forget", by, changeset, self._retiring([found], "forgotten", why, changeset))
        return self._entry(found.id)

    def restore(
        self,
        id: str | None = None,
        reason: str | None = None,
        *,
        key: str | None = None,
        to: str | datetime | None = None,
        by: str | None = None,
    ) -> Entry:
        """Bring a memory back and return what is active now. Restoring what is active changes nothing.

        A memory without a key becomes active again. A keyed one is written again as its key's newest version, relations
        included, so that history stays as it was. An expired one is written again without its expiry: it does not expire any
        more. Without a key that happens once: while a copy of it is active, restoring it again gives that.
        key: instead of an id, a value of this key: to the version, or what was current at the instant, that `to` names; without
        it the newest value that is not current. Raises NotFoundError, InvalidInputError for an instant to come.
        """
        found = self.restorable(id, key=key, to=to)
        if found.status is Status.ACTIVE:
            return found
        changeset = new_id()
        bringing = self._restoring([found], _label(reason, "reason"), changeset)
        written = self._change("restore", by, changeset, bringing)[0]
        return self._entry(written.id if isinstance(written, Entry) else found.id)

    def restorable(self, id: str | None = None, *, key: str | None = None, to: str | datetime | None = None) -> Entry:
        """The memory that `restore` would bring back with these arguments, as it is now, or what is active of it already.

        Raises what `restore` raises.
        """
        if (id is None) == (key is None):
            raise InvalidInputError("give either an id or a key", field="id")
        if key is None:
            if to is not None:
                raise InvalidInputError("goes with a key", field="to")
            return self._active_copy(self._entry(id))
        name = checks.name(key, "key")
        line = [entry for entry in self.history(name) if entry.key == name]
        if isinstance(to, datetime):
            instant = checks.instant(to, "to")
            if instant > max([self._now(), *(entry.recorded_at for entry in line)]):
                raise InvalidInputError("lies in the future", field="to")
            found = self.current(name, known_at=instant)
            return self._entry(found.id) if found is not None else self._no_value()
        if to is None:
            line = [entry for entry in line if entry.status is not Status.ACTIVE]
        else:
            wanted = checks.text(to, "to")
            line = [entry for entry in line if entry.version == wanted]
        return line[-1] if line else self._no_value()

    def _active_copy(self, found: Entry) -> Entry:
        """The copy that a restore of an expired memory without a key has left, or that memory itself."""
        if found.key is not None or found.status is Status.ACTIVE or not found.expires_at:
            return found
        around = self._near.neighbours(self._namespace, found.id, 1, self._now())
        copies = [each for each in around.entries if each.restores == found.id] if around is not None else []
        return copies[-1] if copies else found

    def _no_value(self) -> NoReturn:
        raise self._missing(f"to: the key has no such value in namespace {self._namespace!r}", "`history` lists them.")

    def _restoring(
        self, entries: Iterable[Entry], reason: str | None, changeset: str | None
    ) -> builtins.list[Operation]:
        """In the order in which they were written, so that the newest is the newest again; what relates two that are
        copied relates the copies."""
        space, now = self._namespace, self._now()
        operations: builtins.list[Operation] = []
        copies: dict[str, str] = {}
        for found in sorted(entries, key=lambda entry: (entry.version, entry.id)):
            if found.key is None and not has_expired(found.expires_at, now):
                operations.append(
                    Restore(op_id=_op_id(), namespace=space, id=found.id, reason=reason, changeset=changeset)
                )
                continue
            copies[found.id] = new_id()
            same = found.model_dump(
                include={
                    "content", "key", "kind", "subject", "title", "tags", "aliases", "metadata", "source", "actor",
                    "session", "trust", "pinned", "confidence", "valid_from",
                }
            )  # fmt: skip
            operations.append(
                Remember(
                    **same,
                    op_id=_op_id(),
                    namespace=space,
                    id=copies[found.id],
                    valid_to=found.valid_to if found.valid_to is not None and found.valid_to > now else None,
                    expires_at=None if has_expired(found.expires_at, now) else found.expires_at,
                    reason=reason,
                    restores=Origin(id=found.restores or found.id, version=found.restores_version or found.version),
                    changeset=changeset,
                )
            )
        for edge in self._near.relations(space, builtins.list(copies)) if copies else ():
            a, b = (copies.get(id, id) for id in (edge.source_id, edge.target_id))
            weight = 1.0 if edge.weight is None else edge.weight
            operations.append(
                Relate(op_id=_op_id(), namespace=space, a=a, b=b, type=edge.type or "", weight=weight, note=edge.note)
            )
        return operations

    def release(
        self,
        query: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        dry_run: bool = False,
        reason: str | None = None,
        by: str | None = None,
    ) -> ChangeSet:
        """Take out of use every active memory that holds all words of the query and passes the filters; no cap.

        The id of the change-set is empty where nothing changed.

        Pinned memories stay. `undo` takes it back as one. dry_run: only say what would change.
        Raises InvalidInputError if neither a query nor a filter is given.
        """
        narrowed = _filters(filters)
        if query is None and narrowed == Filters():
            raise InvalidInputError("give a query or filters", field="query")
        why = _label(reason, "reason")
        entries = [entry for entry in self._matching(query, narrowed) if not entry.pinned]
        self._ledger.refuse(entries, "release")
        return self._retire("release", by, entries, "released", why, dry_run)

    def _matching(self, query: str | None, filters: Filters) -> Iterator[Entry]:
        if query is None:
            yield from self._all(filters)
            return
        from memgraph.rules.text import MAX_QUERY_TERMS, query_terms, terms

        wanted = set(query_terms(checks.content(query, "query")))
        if not wanted:
            raise InvalidInputError("holds no word", field="query")
        if len(wanted) >= MAX_QUERY_TERMS:
            raise InvalidInputError(
                f"holds {MAX_QUERY_TERMS} different words or more", field="query", hint="Use fewer."
            )
        for entry in self._all(filters):
            held = terms(
                entry.content,
                key=entry.key,
                tags=entry.tags,
                aliases=entry.aliases,
                actor=entry.actor,
                when=entry.valid_from or entry.recorded_at,
            )
            if wanted <= set(held.tokens):
                yield entry

    def _retiring(
        self, entries: Sequence[Entry], cause: Any, reason: str | None, changeset: str
    ) -> builtins.list[Operation]:
        head = {"namespace": self._namespace, "cause": cause, "reason": reason, "changeset": changeset}
        return [Retire(op_id=_op_id(), id=entry.id, **head) for entry in entries]

    def _retire(
        self, what: str, by: str | None, entries: Sequence[Entry], cause: Any, reason: str | None, dry_run: bool
    ) -> ChangeSet:
        changeset = new_id()
        if not dry_run and entries:
            self._change(what, by, changeset, self._retiring(entries, cause, reason, changeset))
            found = self._backend.changeset(self._namespace, changeset)
            if found is not None:
                return found
        changes = [Change(id=entry.id, key=entry.key, before=entry.status, after=Status(cause)) for entry in entries]
        return ChangeSet(
            id=changeset if dry_run else "",
            namespace=self._namespace,
            cause=cause,
            at=self._now(),
            changes=tuple(changes),
            dry_run=dry_run,
        )

    def rewind(
        self,
        filters: Filters | Mapping[str, Any],
        *,
        dry_run: bool = False,
        reason: str | None = None,
        by: str | None = None,
    ) -> ChangeSet:
        """Take back what a run or a poisoned source wrote: an actor, a session, a source, everything since an instant, …

        What it wrote goes out of use, pinned or not, and what it had replaced becomes current again, as one change-set. Nothing
        is deleted, and `undo` reverses it. What the run forgot or pruned is not brought back.
        dry_run: only say what would change. Raises InvalidInputError if no filter is given.
        """
        from memgraph.ledger import token
        from memgraph.rules import rewind

        narrowed = _filters(filters)
        if narrowed == Filters():
            raise InvalidInputError("give an actor, a session, a source, a time, or another filter", field="filters")
        if narrowed.status is not None:
            raise InvalidInputError("cannot narrow what is taken back", field="status", hint="Leave it out.")
        why, now = _label(reason, "reason"), self._now()
        written = builtins.list(self._all(narrowed.model_copy(update={"status": "any"})))
        going = rewind.goes(written)
        self._ledger.refuse(going, "rewind")
        poisoned = self._ledger.rewound(lambda changeset: self._backend.changeset(self._namespace, f"undo:{changeset}"))
        replaced = builtins.list(self._all(Filters(status=(Status.SUPERSEDED,))))
        bad = [*written, *(each for each in replaced if token(self._namespace, each.id) in poisoned)]
        coming = rewind.becomes_current(bad, replaced, now, lambda key: self.history(key).items)
        changeset = new_id()
        operations = self._retiring(going, "released", why, changeset)
        if not dry_run:
            operations += self._restoring(coming, why, changeset)
            # out of use already, and never to be brought back by another rewind
            covered = sorted(token(self._namespace, each.id) for each in written if each.status is Status.SUPERSEDED)
            if operations or covered:
                self._change("rewind", by, changeset, operations, tokens=covered)
            found = self._backend.changeset(self._namespace, changeset)
            if found is not None:
                return found
        return ChangeSet(
            id=changeset if dry_run else "",
            namespace=self._namespace,
            cause="released",
            at=now,
            changes=tuple(_changes(going, coming)),
            dry_run=dry_run,
        )

    def undo(
        self, changeset_id: str, reason: str | None = None, *, dry_run: bool = False, by: str | None = None
    ) -> ChangeSet:
        """Take a change-set back as one: what it retired is restored, what it restored is retired.

        What a restored copy had replaced becomes current again. A memory that something else happened to since, that has expired
        since, or whose key has a newer value, is left as it is (`restore` brings an expired one back). Undoing twice changes
        nothing. dry_run: only say what would change.
        Returns the change-set that did it. Raises NotFoundError, LegalHoldError.
        """
        name = checks.name(changeset_id, "changeset_id")
        done = self._backend.changeset(self._namespace, name)
        if done is None:
            raise self._missing(f"changeset_id: no such change-set in namespace {self._namespace!r}")
        undoing, now = f"undo:{name}", self._now()
        already = self._backend.changeset(self._namespace, undoing)
        if already is not None:
            return already
        why = _label(reason, "reason")
        entries = self._backend.get(self._namespace, [change.restored_as or change.id for change in done.changes], now)
        as_left = [
            entry
            for change in done.changes
            if (entry := entries.get(change.restored_as or change.id)) is not None and entry.status is change.after
        ]
        going = [entry for entry in as_left if entry.status is Status.ACTIVE]
        self._ledger.refuse(going, "take out of use")
        free = {entry.key for entry in going}  # keys whose current value goes
        coming = [
            entry
            for entry in as_left
            if entry.status is not Status.ACTIVE
            and (entry.key is None or entry.key in free or self.current(entry.key) is None)
        ]
        taken = {entry.key for entry in coming}
        for entry in going:  # what a restored copy had replaced is current again
            if entry.restores is not None and entry.key is not None and entry.key not in taken:
                line = self.history(entry.key).items
                coming += [each for each in line if each.superseded_by == entry.id and each.key == entry.key][-1:]
        coming = [entry for entry in coming if not has_expired(entry.expires_at, now)]
        operations = self._retiring(going, "released", why, undoing)
        if not dry_run:
            operations += self._restoring(coming, why, undoing)
            if operations:
                self._change("undo", by, undoing, operations)
            found = self._backend.changeset(self._namespace, undoing)
            if found is not None:
                return found
        return ChangeSet(
            id=undoing,
            namespace=self._namespace,
            cause="undo",
            at=now,
            changes=tuple(_changes(going, coming, {entry.id for entry in as_left})),
            dry_run=dry_run,
            undoes=name,
        )

    def consolidate(
        self, dry_run: bool = False, threshold: float | None = None, *, by: str | None = None
    ) -> ConsolidationReport:
        """Clean up: prune what is worth less than the threshold (0.05), count what has expired, report near-duplicates.

        Pinned memories, those under a legal hold and those that a user or the system vouches for stay. Nothing is deleted:
        `undo(changeset)` takes it back. Running it again at the same instant changes nothing.
        """
        from memgraph.rules import consolidation
        from memgraph.rules.text import query_terms

        limit = consolidation.THRESHOLD if threshold is None else threshold
        entries = self._all(Filters(status=(Status.ACTIVE, Status.EXPIRED)))
        plan = consolidation.plan(entries, self._now(), lambda text: query_terms(text), limit)
        changeset, pruned = None, plan.prune
        if pruned:
            found = self._backend.get(self._namespace, pruned, self._now())
            held = {id for _, id in self._ledger.held(found.values())}
            pruned = tuple(id for id in pruned if id not in held)
        if pruned and not dry_run:
            active = [found[id] for id in pruned if id in found and found[id].status is Status.ACTIVE]
            changeset = self._retire("prune", by, active, "pruned", None, dry_run=False).id
        return ConsolidationReport(
            namespace=self._namespace,
            before=plan.before,
            after=plan.after + len(plan.prune) - len(pruned),
            pruned=pruned,
            expired=len(plan.expired),
            duplicates=plan.duplicates,
            changeset=changeset,
            dry_run=dry_run,
        )

    # ---- purging

    def plan_purge(self, selector: Selector | Mapping[str, Any], *, subtree: bool = False) -> PurgePlan:
        """What a purge would remove, whatever its status and without a cap. Raises InvalidInputError for an empty selector."""
        plan = self._backend.plan_purge(self._scope(subtree), _selector(selector), self._now())
        own = self._file()
        if own is not None:
            plan = plan.model_copy(update={"store": f"{own.resolve()}{plan.store.removeprefix(str(own))}"})
        return plan.sealed()

    def purge(
        self,
        plan_or_selector: PurgePlan | Selector | Mapping[str, Any],
        *,
        subtree: bool = False,
        by: str | None = None,
    ) -> PurgeReceipt:
        """Delete for good what a plan names or a selector matches, so that no replay, restore or import brings it back.

        by: who does it, by default the operating system's user; it stands in the receipt and in the audit.
        A plan whose set has changed since, or that somebody changed, raises ConflictError, a legal hold on any of it
        LegalHoldError; then nothing was removed.
        An interrupted purge is finished by the same call once more, with the same plan too.
        """
        from memgraph.receipts import require_unchanged
        from memgraph.rules.selection import require_intact

        who = self._operator(by)
        if isinstance(plan_or_selector, PurgePlan):
            plan = plan_or_selector
            require_unchanged(plan)
            if plan.namespace != self._namespace:
                raise ConflictError("the plan was made for another namespace", hint="Make it where you apply it.")
            require_intact(plan)
            if self._was_begun(plan):
                fresh = self.plan_purge(plan.selector, subtree=plan.subtree)
                if _lies_in(fresh, plan):
                    return self._purge(_unseen(fresh), who, before=plan.total - fresh.total)
            return self._purge(plan, who)
        plan = self.plan_purge(plan_or_selector, subtree=subtree)
        try:
            return self._purge(plan, who)
        except ConflictError:  # somebody writes what is to go; nobody has looked at the plan, so that is no conflict
            return self._purge(_unseen(self.plan_purge(plan_or_selector, subtree=subtree)), who)

    def _was_begun(self, plan: PurgePlan) -> bool:
        """Whether a purge by this plan was begun and not finished: some of the set is gone since."""
        from memgraph.ledger import BEGUN

        return any(act.what == BEGUN and act.details.get("plan_digest") == plan.digest for act in self._ledger.acts())

    def _purge(self, plan: PurgePlan, who: str, before: int = 0) -> PurgeReceipt:
        from memgraph.ledger import BEGUN, reach
        from memgraph.rules.selection import refused_later

        key, below = f"purge {new_id()}", reach(plan.subtree)
        try:
            later = refused_later(plan.selector, plan.namespace)
            self._ledger.refuse(self._planned(plan), "purge", plan.subtree, later)
        except LegalHoldError:
            self._ledger.note("purge refused", who, {"plan_digest": plan.digest} | below, key)
            raise
        if plan.total:
            digests = {"plan_digest": plan.digest, "selector_digest": plan.selector_digest}
            self._ledger.note(BEGUN, who, digests | {"memories": plan.total} | below, key)
        try:
            receipt = self._backend.purge(plan, self._now())
            receipt = receipt.model_copy(update={"by": who, "removed_before": before})
        except ConflictError:
            self._ledger.note("purge refused", who, {"plan_digest": plan.digest} | below, key)
            raise
        told = receipt.model_dump(mode="json", exclude={"namespaces"})
        self._ledger.note("purge", who, {"receipt": told} | below, key)
        return receipt

    def _planned(self, plan: PurgePlan) -> Iterator[Entry]:
        for path, ids in plan.ids.items():
            yield from entries_of([self._backend], path, ids, self._now())
        if isinstance(self._backend, Replica):
            from memgraph.rules.selection import selector_test

            scope, chosen = Scope(plan.namespace, plan.subtree), selector_test(plan.selector, plan.at)
            for path, refused in self._refused().items():
                if scope.holds(path):
                    yield from (entry for entry in refused if chosen(entry))

    def verify_purge(
        self,
        receipt: PurgeReceipt,
        selector: Selector | Mapping[str, Any] | None = None,
        texts: Sequence[str] = (),
    ) -> PurgeCheck:
        """Look once more whether what a purge took is gone: its tombstones, what the selector matches, the bytes of the files.

        selector: the one that was purged, which a receipt does not repeat; it is recognised by its digest. What was written
        after the purge is not counted. texts: looked for byte for byte in the store's files, and in all that a server would export
        of the namespace and below.
        Raises InvalidInputError for another selector.
        """
        from memgraph.ledger import REFUSED, fate
        from memgraph.receipts import count_in_file
        from memgraph.rules.reached import settled
        from memgraph.rules.selection import selector_digest

        if not any(self._scope(subtree=True).holds(path) for path in receipt.namespaces):
            raise InvalidInputError(
                f"is of other namespaces: {', '.join(map(repr, receipt.namespaces))}",
                field="receipt",
                hint="Open the store with that namespace (`-n`).",
            )
        status, acts = self.status(), builtins.list(self._ledger.acts())
        looked, found = [f"tombstones of {self._namespace}"], dict[str, int]()
        last = fate(acts, receipt.id)
        ids = {receipt.id, *_repetitions(receipt, acts)}  # of the same value there is one tombstone, the last one's
        ids.update(last.details.get("receipts", ()) if last is not None else ())
        # each by its name: of one that the purge has emptied the store may know no more than its tombstones
        paths = [path for path in receipt.namespaces if self._scope(subtree=True).holds(path)]
        items = [item for path in paths for item in tombstones_of(self._backend, Scope(path)) if "tombstone" in item]
        tombstones = sum(item["receipt"] in ids for item in items)
        taken_over = sum(item["receipt"] not in ids and item["version"] > receipt.version for item in items)
        if receipt.tombstones and (
            not tombstones or (not receipt.pending and tombstones + taken_over < receipt.tombstones)
        ):
            found["tombstones that are missing"] = receipt.tombstones - tombstones
        if selector is not None:
            chosen = _selector(selector)
            digests = {selector_digest(chosen, self._namespace, subtree): subtree for subtree in (False, True)}
            if receipt.selector_digest not in digests:
                raise InvalidInputError("is not the one that the receipt is of", field="selector")
            scope = self._scope(digests[receipt.selector_digest])
            looked.append(f"memories of {self._namespace} on {_stores(status)}")
            left = sum(entry.version <= receipt.version for entry in self._backend.select(scope, chosen, self._now()))
            if left:
                found["memories"] = left
        if status.scrub_pending:
            found["files that wait to be scrubbed"] = 1
        not_reached = receipt.not_reached
        if last is not None and last.what == REFUSED:
            found["primaries that refused it"] = 1
        elif receipt.pending and self._waits(receipt.id, not_reached, acts):
            found["primaries that have yet to carry it out"] = 1
        elif receipt.pending:
            not_reached = settled(not_reached)
        if texts and isinstance(self._backend, OnDisk):
            for path in self._backend.files():
                looked.append(f"bytes of {path}")
                count = count_in_file(path, [checks.text(text, "texts") for text in texts])
                if count:
                    found[str(path)] = count
        for side in [side for side in self._sides() if not isinstance(side, OnDisk)] if texts else ():
            looked.append(f"every operation of {self._namespace} on {side.name}")
            scopes = (self._scope(subtree=True), Scope(checks.ledger_of(self._namespace), subtree=True))
            count = sum(_holds_any(item, texts) for scope in scopes for item in side.operations(scope))
            if count:
                found[f"operations on {side.name}"] = count
        return PurgeCheck(
            receipt=receipt.id,
            ok=not found,
            looked_at=tuple(looked),
            found=found,
            tombstones=tombstones,
            not_reached=not_reached,
        )

    def _file(self) -> Path | None:
        """The file of the store, or of the one here beside a primary."""
        return next(iter(self._backend.files()), None) if isinstance(self._backend, OnDisk) else None

    def _sides(self) -> Sequence[Backend]:
        """The stores by themselves, as far as they are within reach."""
        return self._backend.sides() if isinstance(self._backend, Replica) else (self._backend,)

    # ---- holds and the audit

    @property
    def _ledger(self) -> Ledger:
        from memgraph.ledger import Ledger

        return Ledger(self._backend, self._namespace, self._now)

    def _operator(self, by: str | None) -> str:
        from memgraph.ledger import operator

        return operator() if by is None else checks.name(by, "by")

    def hold(
        self,
        selector: Selector | Mapping[str, Any],
        *,
        subtree: bool = False,
        reason: str | None = None,
        by: str | None = None,
    ) -> Hold:
        """Put a legal hold: what the selector matches, now or later, cannot be purged, released, rewound or pruned.

        subtree: in the namespaces below too. by: who, by default the operating system's user. Raises InvalidInputError.
        """
        chosen = _selector(selector)
        if chosen.lineage:
            raise InvalidInputError("a hold cannot widen to lines", field="lineage", hint="Name the key or the ids.")
        if chosen.status not in (None, "any", ()):
            raise InvalidInputError(
                "a hold cannot depend on a status, which may change", field="status", hint="Leave it out."
            )
        return self._ledger.add(chosen, bool(subtree), self._operator(by), _label(reason, "reason"))

    def lift_hold(self, id: str, *, by: str | None = None) -> Hold:
        """Take a legal hold of this namespace away; what it selected is purged with it. Raises NotFoundError."""
        return self._ledger.lift(checks.name(id, "id"), self._operator(by))

    def holds(self) -> builtins.list[Hold]:
        """The legal holds that concern this namespace: its own, and those of its ancestors that reach down to it."""
        return self._ledger.holds()

    def audit(self, *, subtree: bool = False) -> builtins.list[Act]:
        """What administrators and agents did here, oldest first, without content.

        Purges with their receipts, holds, imports; and what was forgotten, released, pruned, rewound, undone and restored, each
        with its change-set. What came from elsewhere without a record of who did it is told as its history tells it.
        subtree: in the namespaces below too. While the primary of a file is away it is what the file knows, and `degraded` says so.
        """
        from memgraph.ledger import REFUSED, acts_of, fate

        paths = [self._namespace]
        if subtree:
            paths += [path for path in self._backend.namespaces(self._namespace) if path != self._namespace]
        noted = builtins.list(self._ledger.acts(paths if subtree else None))
        refused = {act.details["refused"] for act in noted if act.what == REFUSED}
        refused = {each for each in refused if (last := fate(noted, each)) is not None and last.what == REFUSED}
        if isinstance(self._backend, OnDisk) and any("receipt" in act.details for act in noted):
            status = self.status()
            noted = [self._as_it_stands(act, status, refused, noted) for act in noted]
        known = {act.details["changeset"] for act in noted if "changeset" in act.details}
        told = [act for path in paths for act in acts_of(path, self._history(path))]
        found = [*noted, *(act for act in told if act.details.get("changeset") not in known)]
        return sorted(map(_without_tokens, found), key=lambda act: (act.at, act.id))

    def _waits(self, receipt: str, not_reached: Sequence[str], acts: Iterable[Act]) -> bool:
        """Whether a primary has yet to carry out a purge, ours or another replica's.

        What that has queued came here before its receipt; what it looks for there it notes when it was done.
        """
        from memgraph.ledger import CARRIED_OUT
        from memgraph.rules.reached import SELECTOR_WAITS

        if isinstance(self._backend, OnDisk) and self._backend.has_yet_to_purge(receipt):
            return True
        done = any(act.what == CARRIED_OUT and act.details["carried_out"] == receipt for act in acts)
        return SELECTOR_WAITS in not_reached and not done

    def _as_it_stands(self, act: Act, status: StoreStatus, refused: Set[str], acts: Sequence[Act]) -> Act:
        """A purge with what became of it since its receipt, which stays as it was signed: scrubbed, carried out, refused."""
        receipt = act.details.get("receipt")
        if receipt is None:
            return act
        since: dict[str, Any] = {}
        if not receipt["scrubbed"] and receipt["store"].partition(" with ")[0] == status.store:
            since["scrubbed"] = not status.scrub_pending
        if receipt["id"] in refused:
            since["refused"] = True
        elif receipt["pending"]:
            since["pending"] = self._waits(receipt["id"], receipt["not_reached"], acts)
        return act.model_copy(update={"details": act.details | since})

    def _history(self, path: str) -> builtins.list[Operation | Unknown]:
        """The operations of a namespace; while a primary is away, those that the file beside it knows."""
        try:
            return builtins.list(_operations(self._backend.operations(Scope(path))))
        except UnavailableError:
            if not isinstance(self._backend, Replica):
                raise
            return builtins.list(_operations(self._backend.here.operations(Scope(path))))

    # ---- administration

    def export_to(self, path: str | Path, *, subtree: bool = False, progress: Progress | None = None) -> int:
        """Write everything of the namespace to a file of JSON lines, without loss; returns how many lines.

        The file is complete or not there. progress: called with the number of lines written so far. Raises UnavailableError while
        the primary of a file is away: open the file without it to export what it holds itself; InvalidInputError for a file of
        the store.
        """
        from memgraph import interchange
        from memgraph.inplace import require_apart

        target, header = _file(path), interchange.Header(self._namespace, bool(subtree))
        own = self._file()
        if own is not None:
            require_apart(target, own)
        return interchange.write(target, header, _counted(self._backend.operations(self._scope(subtree)), progress))

    def plan_import(self, path: str | Path, *, move: bool = False, skip: Skip | None = None) -> ImportPlan:
        """What `import_from` would do, after all its checks: how many memories are new here, and how many it would delete.

        Raises what `import_from` raises, and tells `skip` what that tells it; nothing is changed.
        """
        return self._importing(path, move, skip).plan(skip)

    def import_from(
        self,
        path: str | Path,
        *,
        move: bool = False,
        progress: Progress | None = None,
        skip: Skip | None = None,
        by: str | None = None,
    ) -> int:
        """Apply an export; returns how many of its operations were news here. A second import changes nothing.

        The file is checked as a whole before anything is applied; should the process die half-way, import it again. by: who.
        What was purged where it comes from is purged here too. LegalHoldError if it would delete, release or prune what is under
        a hold.
        Its namespaces must lie in this one, or anywhere if this was opened without a namespace. move: put what lay in the
        file's namespace into this one instead; what was purged there cannot be carried along.
        progress: called with the number of operations applied so far. skip: called with the number of each line of an intact
        file that is refused, and why; the others are imported. None: one such line refuses the whole.

        Raises StoreCorruptError, StoreVersionError, ClockDriftError, InvalidInputError, and ConflictError where an id names
        other content here.
        """
        from memgraph.importing import parted
        from memgraph.ledger import reach

        importing = self._importing(path, move, skip)
        buried, pages = importing.admitted(skip)
        purged = importing.purged(buried)
        dead = importing.dead()
        gone = self._backend.bury(buried) if buried else 0
        key, below, begun = f"import {new_id()}", reach(importing.header.subtree), False
        changed = applied = 0
        for page in pages:
            if changed and not begun:  # there is more than one page: who is killed in between leaves this
                self._ledger.note("import begun", self._operator(by), below, key)
                begun = True
            lost, others = parted(page, dead)
            changed += self._backend.apply(others)
            if lost:  # they die here, which is no news
                self._backend.apply(lost)
            applied += len(page)
            if progress is not None:
                progress(applied)
        counts = {"purged": purged, "purged before": len(dead)}
        self._note_import(changed + gone, by, {name: count for name, count in counts.items() if count} | below, key)
        return changed

    def _importing(self, path: str | Path, move: bool, skip: Skip | None) -> Importing:
        from memgraph import interchange
        from memgraph.importing import Importing

        header, items = interchange.read(_file(path), skip)
        latest = int((self._clock() + self._max_clock_drift) * 1000)
        return Importing(self._backend, self._namespace, self._root, header, items, bool(move), self._now(), latest)

    def _note_import(
        self, news: int, by: str | None, details: dict[str, Any] | None = None, key: str | None = None
    ) -> None:
        """Write down that an import brought something; one that changed nothing leaves no trace."""
        if news:
            self._ledger.note("import", self._operator(by), {"news": news} | (details or {}), key)

    def backup(self, path: str | Path, *, force: bool = False) -> BackupReport:
        """Write the whole store, every namespace as it is at this instant, to a file; returns what it holds.

        The store may be in use, also by other processes. The file is a store by itself, readable by its owner only, and is there
        whole or not at all; `memgraph.admin.backup` verifies and restores it. With a primary it is what the store's own file
        holds. force: replace a file that is there already.

        Raises ConflictError for a file that is there, UnsupportedError for a primary alone or a view of one namespace,
        InvalidInputError, StoreCorruptError, StoreFullError, ReadOnlyError; then nothing was written.
        """
        if not isinstance(self._backend, Archivable):
            raise UnsupportedError(
                f"a backup is of a store's file, and {self._backend.name} has none",
                hint="Use `memgraph export` (export_to), or the server's own backup.",
            )
        if not self._root:
            raise UnsupportedError(
                f"a backup is of the whole store, this reaches namespace {self._namespace!r} only",
                hint="Open the store without a namespace, or use `memgraph export` (export_to).",
            )
        return self._backend.backup(_file(path).expanduser(), bool(force))

    def check(self, *, repair: bool = False, reindex: bool = False) -> CheckReport:
        """Look for damage, broken laws and purges that never finished. repair: mend what can be mended.

        reindex: rebuild the text index first.
        """
        from memgraph.ledger import check

        report = self._backend.check(repair, reindex)
        if not report.checked:  # no store, or one too damaged to be read
            return report
        problems = check(self._sides(), self._now())
        return report.model_copy(update={"ok": report.ok and not problems, "problems": (*report.problems, *problems)})

    def set_up(self) -> tuple[str, ...]:
        """Make what the store needs and lacks, such as a primary's schema; returns what was made, in words; again, nothing."""
        return self._backend.set_up() if isinstance(self._backend, Preparable) else ()

    def stats(self) -> Stats:
        """How much there is in this namespace and in the store."""
        return self._backend.stats(self._namespace, self._now())

    def status(self) -> StoreStatus:
        """Which store this is and how it is doing."""
        return self._backend.status(self._namespace)

    # ---- a local store and its primary

    @property
    def _replica(self) -> Replica:
        if not isinstance(self._backend, Replica):
            raise UnsupportedError(
                "this store has no primary to be in step with", hint="Open it with a path and a primary."
            )
        return self._backend

    def sync(self, *, subtree: bool = False, progress: Progress | None = None) -> SyncReport:
        """Push what waits for the primary, and pull what others wrote in this namespace; with subtree, below it too.

        It happens by itself in the background; this does it now and returns when it is done. What was interrupted goes on
        where it was. progress: called with the number of operations of each page that is pulled.
        Raises UnavailableError, AuthError; UnsupportedError for a store without a primary.
        """
        return self._replica.sync(self._scope(subtree), progress)

    def sync_diff(self, *, subtree: bool = False) -> SyncDiff:
        """Compare the local store with its primary, fact by fact. What is on its way between them counts as a difference."""
        return self._replica.sync_diff(self._scope(subtree))

    def sync_repair(self, source: SyncSource = "newest", *, dry_run: bool = False, subtree: bool = False) -> SyncDiff:
        """Send each side what it lacks: from the "primary" to here, from "local" to there, or "newest": both ways.

        Deletes nothing but what tombstones say is dead. Returns what differed; dry_run: only that.
        """
        if source not in ("primary", "local", "newest"):
            raise InvalidInputError("must be 'primary', 'local' or 'newest'", field="source")
        return self._replica.sync_repair(self._scope(subtree), source, bool(dry_run))

    def dead_letters(self) -> builtins.list[DeadLetter]:
        """What the primary refused for good: set aside, so that it does not hold up the rest. Nothing of it is lost."""
        return self._replica.dead_letters()

    def retry_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Queue what was set aside once more, all of it or these units; returns how many operations."""
        return self._replica.retry_dead_letters(_units(units))

    def drop_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Delete what was set aside, all of it or these units, in every copy; returns how many operations. It cannot be undone.

        LegalHoldError if some of it is under a hold.
        """
        which = _units(units)
        for path, entries in self._refused(which).items():
            self._at(path)._ledger.refuse(entries, "drop")
        return self._replica.drop_dead_letters(which)

    def _refused(self, units: Sequence[int] | None = None) -> dict[str, builtins.list[Entry]]:
        """The memories that a primary refused for good, all or those of these units, by namespace."""
        from memgraph.operations import entry_of, parse

        found: dict[str, builtins.list[Entry]] = {}
        for letter in self._replica.dead_letters():
            if letter.op == "remember" and (units is None or letter.unit in units):
                operation = parse(letter.payload)
                if isinstance(operation, Remember):
                    found.setdefault(letter.namespace, []).append(entry_of(operation, self._now(), ()))
        return found

    def close(self) -> None:
        """Close the store, for every view of it. Closing twice is fine."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _without_tokens(act: Act) -> Act:
    """A rewind without what it noted for rewinds to come, which may be as long as its run."""
    return act.model_copy(update={"details": {name: told for name, told in act.details.items() if name != "tokens"}})


def _changes(going: Sequence[Entry], coming: Sequence[Entry], undone: Collection[str] = ()) -> Iterator[Change]:
    """What would be, if some memories are released and others come back. undone: the ids of those that come back by an undo."""
    yield from (Change(id=each.id, key=each.key, before=each.status, after=Status.RELEASED) for each in going)
    for each in coming:  # a copy is told as its origin's, but for one that was itself taken out of use
        id = each.id if each.key is None or each.id in undone else each.restores or each.id
        yield Change(id=id, key=each.key, before=each.status, after=Status.ACTIVE)


def _repetitions(receipt: PurgeReceipt, acts: Iterable[Act]) -> Iterator[str]:
    """The ids of the receipts of later purges by the same selector."""
    for act in acts:
        later = act.details.get("receipt", {})
        if later.get("selector_digest") == receipt.selector_digest and later["version"] > receipt.version:
            yield later["id"]


def _holds_any(item: Operation | Unknown | dict[str, Any], texts: Sequence[str]) -> bool:
    """Whether a text stands anywhere in what a store gives for an export."""
    told = json.dumps(item, default=str) if isinstance(item, dict) else json.dumps(item.model_dump(mode="json"))
    return any(json.dumps(text)[1:-1] in told for text in texts)


def _unseen(plan: PurgePlan) -> PurgePlan:
    """The plan as one that nobody has looked at, so that what is written meanwhile may change it."""
    from memgraph.rules.selection import UNSEEN

    return plan.model_copy(update={"digest": f"{UNSEEN}{new_id()}"})


def _lies_in(fresh: PurgePlan, plan: PurgePlan) -> bool:
    return all(set(ids) <= set(plan.ids.get(path, ())) for path, ids in fresh.ids.items())


def _op_id() -> str:
    return new_id()


def _stores(status: StoreStatus) -> str:
    """What answers now: a store, and its primary if that is in touch."""
    both = status.sync is not None and status.sync.breaker == "closed"
    return f"{status.store} with {status.sync.primary}" if both and status.sync is not None else status.store


def _units(value: object) -> Sequence[int] | None:
    if value is None or (isinstance(value, Sequence) and all(type(each) is int for each in value)):
        return value
    raise InvalidInputError("must be a list of numbers", field="units", hint="`dead_letters` tells them.")


def _file(value: object) -> Path:
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise InvalidInputError("must be the path of a file", field="path")
    return Path(value)


def _operations(items: Iterable[Operation | Unknown | dict[str, Any]]) -> Iterator[Operation | Unknown]:
    return (item for item in items if not isinstance(item, dict))


def _counted(items: Iterable[T], progress: Progress | None) -> Iterator[T]:
    for number, item in enumerate(items, 1):
        yield item
        if progress is not None and number % _PAGE == 0:
            progress(number)


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return timedelta(seconds=checks.fraction(value, "ttl", 1e-6, _TTL_MAX))


def _vectors(embedder: Embedder, texts: Sequence[str]) -> builtins.list[tuple[float, ...]]:
    """What an embedder makes of texts: one vector a text, all of one length, finite in 32 bits."""
    try:
        vectors = [tuple(float(number) for number in vector) for vector in embedder(texts)]
    except (TypeError, ValueError):
        raise InvalidInputError("must return a list of vectors of numbers", field="embedder") from None
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1 or not all(vectors):
        raise InvalidInputError("must return one vector a text, all of one length", field="embedder")
    if not all(abs(number) <= _FLOAT32_MAX for vector in vectors for number in vector):
        raise InvalidInputError("returned a number that is not finite in 32 bits", field="embedder")
    return vectors


def _targets(value: Iterable[str | tuple[str, str]], id: str) -> Iterator[tuple[str, str]]:
    wrong = InvalidInputError("must be a list of ids or (id, type) pairs", field="relates_to")
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise wrong
    for each in value:
        pair = (each, "related") if isinstance(each, str) else each
        if not isinstance(pair, tuple | builtins.list) or len(pair) != 2:
            raise wrong
        target, type = pair
        name = checks.name(target, "relates_to")
        if name == id:
            raise InvalidInputError("a memory cannot be related to itself", field="relates_to")
        yield name, checks.relation_type(type, "relates_to")


def _selector(value: Selector | Mapping[str, Any]) -> Selector:
    from memgraph.rules.selection import is_empty

    if not isinstance(value, Selector | Mapping):
        raise InvalidInputError(f"must be a Selector or a mapping, not {type(value).__name__}", field="selector")
    selector = value if isinstance(value, Selector) else Selector(**value)
    if is_empty(selector):
        raise InvalidInputError(
            "is empty; it would select nothing or everything", field="selector", hint="Say everything=True to mean all."
        )
    return selector
