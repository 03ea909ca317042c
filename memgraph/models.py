"""The values that memgraph takes and returns. All are immutable; none does anything but say what it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator

from memgraph import checks
from memgraph.errors import InvalidInputError

__all__ = [
    "Act",
    "BackupReport",
    "BucketDiff",
    "Change",
    "ChangeSet",
    "CheckReport",
    "Condition",
    "ConsolidationReport",
    "Count",
    "DeadLetter",
    "Diff",
    "Duplicate",
    "Edge",
    "Entry",
    "Event",
    "Filters",
    "Hit",
    "Hold",
    "Lineage",
    "Neighbourhood",
    "Page",
    "Problem",
    "PurgeCheck",
    "PurgePlan",
    "PurgeReceipt",
    "RestoreReport",
    "SearchResult",
    "Selector",
    "Stats",
    "Status",
    "StoreStatus",
    "SyncDiff",
    "SyncReport",
    "SyncSource",
    "SyncStatus",
    "Trust",
    "Value",
    "complete",
    "trusted",
]

T = TypeVar("T")


class Status(StrEnum):
    """What a memory is now. Only `active` memories are current, listed and found unless a call asks for more."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    RELEASED = "released"
    PRUNED = "pruned"
    EXPIRED = "expired"


class Trust(StrEnum):
    """Who vouches for a memory. `system` and `user` memories are never pruned."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    EXTERNAL = "external"


M = TypeVar("M", bound=BaseModel)


def trusted(model: type[M], values: dict[str, Any]) -> M:
    """A model from values for all its fields that were checked before: what its constructor does, without checking again.

    Four times faster than `model_construct`, which looks up the defaults of fields that are not given.
    """
    found = model.__new__(model)
    object.__setattr__(found, "__dict__", values)
    object.__setattr__(found, "__pydantic_fields_set__", set(values))
    object.__setattr__(found, "__pydantic_extra__", None)
    object.__setattr__(found, "__pydantic_private__", None)
    return found


def complete(base: type[BaseModel]) -> None:
    """Build the validators of all models below one now. They are deferred for the sake of a short start of a command."""
    for model in base.__subclasses__():
        model.model_rebuild()
        complete(model)


class Value(BaseModel):
    """Base of the models: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _Input(Value):
    """A value that callers make: what it refuses is our own error, without the input in its message."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            cause = (first.get("ctx") or {}).get("error")
            if isinstance(cause, InvalidInputError):
                raise cause from None
            field = ".".join(str(part) for part in first["loc"])
            raise InvalidInputError(str(first["msg"]), field=field) from None


def _equal(one: Value, other: object) -> bool:
    """Equality of what is known, wherever it came from."""
    if type(one) is not type(other):
        return False
    mine, theirs = dict(one.__dict__), dict(other.__dict__)
    for name in ("stored_on", "degraded"):
        mine.pop(name, None), theirs.pop(name, None)
    return bool(mine == theirs)


def _tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple | set | frozenset | Iterator) else (value,)


class Entry(Value):
    """One memory as it is now.

    Two entries are equal when all but `stored_on` and `degraded` are.

    id, namespace: together they name the memory.
    content: what it says, as given. title: a caption of at most 30 characters.
    key: the slot whose current value it is or was. version: the clock reading that orders it. recorded_at: that reading as UTC.
    valid_from, valid_to: when it was true in the world. expires_at: from then on it is neither current nor found.
    confidence: as given at the write, 0 to 1. feedback_count, feedback_sum: how many signals came since, and their weighted sum.
    superseded_by: the id of what replaced it. restores, restores_version: id and version of the memory that it is a copy of.
    stored_on: after a write the stores that had it when the call returned, after a read the one that answered.
    degraded: why the answer may be out of date; None if it is not.
    """

    id: str
    namespace: str
    content: str
    key: str | None = None
    kind: str = "fact"
    subject: str | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    source: str = "agent"
    actor: str | None = None
    session: str | None = None
    trust: Trust = Trust.AGENT
    pinned: bool = False
    confidence: float = 0.8
    feedback_count: int = 0
    feedback_sum: float = 0.0
    version: str
    recorded_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    status: Status = Status.ACTIVE
    superseded_by: str | None = None
    restores: str | None = None
    restores_version: str | None = None
    reason: str | None = None
    embedding_model: str | None = None
    stored_on: tuple[str, ...] = ()
    degraded: str | None = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    def __hash__(self) -> int:
        return hash((self.namespace, self.id, self.version))


class Edge(Value):
    """A directed edge between two memories of one namespace, from `source_id` to `target_id`.

    label: SUPERSEDES (newer to older), RELATES_TO, or RESTORES (copy to origin).
    type, weight, note: of a RELATES_TO. reason, via: of a SUPERSEDES; `via` is "key" on a key's line, else "explicit".
    """

    label: Literal["SUPERSEDES", "RELATES_TO", "RESTORES"]
    namespace: str
    source_id: str
    target_id: str
    version: str
    type: str | None = None
    weight: float | None = None
    note: str | None = None
    reason: str | None = None
    via: Literal["key", "explicit"] | None = None


class Event(Value):
    """Something that happened to a memory: forgotten, released, pruned, restored or superseded."""

    id: str
    cause: str
    version: str
    at: datetime
    reason: str | None = None
    actor: str | None = None


class Condition(_Input):
    """A test of one metadata value: `field` names it (a tuple reaches into nested objects).

    Values of different JSON types never match; a missing field matches `ne` and `exists=False` only.
    `contains` is an element of a list or a part of a text; `in` is equality with any of a list.
    """

    field: str | tuple[str, ...]
    op: Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "contains", "exists"] = "eq"
    value: Any = None


class Filters(_Input):
    """Which memories a call is about. What is left out does not narrow.

    kinds, trust, status: any of them. `status` left out means active ones, in a purge every one; `"any"` is every one.
    tags: all of them. subject, session, actor, source: exactly that. since, until: recorded_at, from and up to, both included.
    where: metadata conditions, or a mapping of names to values they must equal.
    """

    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    subject: str | None = None
    session: str | None = None
    actor: str | None = None
    source: str | None = None
    trust: tuple[Trust, ...] = ()
    pinned: bool | None = None
    status: tuple[Status, ...] | Literal["any"] | None = None
    since: datetime | None = None
    until: datetime | None = None
    where: tuple[Condition, ...] = ()

    @field_validator("kinds", "tags", "trust", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return _tuple(value)

    @field_validator("status", mode="before")
    @classmethod
    def _statuses(cls, value: Any) -> Any:
        return value if value is None or value == "any" else _tuple(value)

    @field_validator("kinds", "tags")
    @classmethod
    def _names(cls, value: tuple[str, ...], info: Any) -> tuple[str, ...]:
        return checks.names(value, info.field_name)

    @field_validator("subject", "session", "actor", "source")
    @classmethod
    def _name(cls, value: str | None, info: Any) -> str | None:
        return None if value is None else checks.name(value, info.field_name)

    @field_validator("since", "until")
    @classmethod
    def _instant(cls, value: datetime | None, info: Any) -> datetime | None:
        return None if value is None else checks.instant(value, info.field_name)

    @field_validator("where", mode="before")
    @classmethod
    def _conditions(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return tuple(Condition(field=name, value=wanted) for name, wanted in value.items())
        return _tuple(value)


class Selector(Filters):
    """What to purge: filters, and also ids, a key, an exact text (case-folded substring of the content), or everything.

    lineage: widen each match to its whole line. everything: every memory of the namespace. An empty selector is refused.
    """

    ids: tuple[str, ...] = ()
    key: str | None = None
    text: str | None = None
    lineage: bool = False
    everything: bool = False

    @field_validator("ids", mode="before")
    @classmethod
    def _ids(cls, value: Any) -> Any:
        return tuple(checks.name(each, "ids") for each in _tuple(value))

    @field_validator("key")
    @classmethod
    def _key(cls, value: str | None) -> str | None:
        return None if value is None else checks.name(value, "key")

    @field_validator("text")
    @classmethod
    def _text(cls, value: str | None) -> str | None:
        return None if value is None else checks.content(value, "text")


@dataclass(frozen=True)
class Page(Sequence[T], Generic[T]):
    """A part of a longer answer; a sequence of its items. `next` is the cursor to pass as `after`, None at the end."""

    items: tuple[T, ...] = ()
    next: str | None = None
    degraded: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


@dataclass(frozen=True)
class Hit:
    """A memory that a search found. `why`: the parts that `score` is the sum of, when asked for with explain=True."""

    entry: Entry
    score: float
    why: dict[str, float] | None = None


@dataclass(frozen=True)
class SearchResult(Sequence[Hit]):
    """The hits of a search, best first; a sequence of them. `degraded` says why the answer may be incomplete."""

    hits: tuple[Hit, ...] = ()
    degraded: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


class Lineage(Value):
    """Where a memory came from and what became of it.

    entries: the line, oldest first. edges: SUPERSEDES and RESTORES among them. events: what happened, in order.
    current: the id of the active one, if any. key: set when this is a key's line.
    """

    namespace: str
    key: str | None = None
    entries: tuple[Entry, ...] = ()
    edges: tuple[Edge, ...] = ()
    events: tuple[Event, ...] = ()
    current: str | None = None
    degraded: str | None = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


class Neighbourhood(Value):
    """The memories around one, nearest first, and the edges among them (the centre included)."""

    centre: Entry
    entries: tuple[Entry, ...] = ()
    edges: tuple[Edge, ...] = ()
    degraded: str | None = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


class Change(Value):
    """What a change-set did, or would do, to one memory. `version` is the event's, empty in a dry run."""

    id: str
    key: str | None = None
    before: Status
    after: Status
    version: str = ""
    restored_as: str | None = None


class ImportPlan(Value):
    """What an import would do.

    new: memories that are not here. purged: memories here that were purged where the file comes from, and would be here. dead:
    memories of the file that were purged here, and stay so.
    """

    new: int
    purged: int = 0
    dead: int = 0


class ChangeSet(Value):
    """A group of status changes that `undo` takes back as one. It deletes nothing. The undoing of X is the change-set `undo:X`."""

    id: str
    namespace: str
    cause: str
    at: datetime
    changes: tuple[Change, ...] = ()
    dry_run: bool = False
    undoes: str | None = None
    undone_by: str | None = None


class Diff(Value):
    """What became known between two instants: entries that were added, replaced or retired, and that came back."""

    namespace: str
    known_at_a: datetime
    known_at_b: datetime
    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    restored: tuple[Entry, ...] = ()


class Duplicate(Value):
    """Two active memories that say nearly the same. similarity: 0 to 1, Jaccard of their terms."""

    a: str
    b: str
    similarity: float


class ConsolidationReport(Value):
    """What `consolidate` did: prunes (undo them with `changeset`), expired ones counted, near-duplicates reported only."""

    namespace: str
    before: int
    after: int
    pruned: tuple[str, ...] = ()
    expired: int = 0
    duplicates: tuple[Duplicate, ...] = ()
    changeset: str | None = None
    dry_run: bool = False


class PurgePlan(Value):
    """What a purge would remove. It holds ids and digests, no content; it is void once the set has changed.

    A plan that leaves the process does not repeat a text that it selects by: `with_text` gives it back. digest: of the ids.
    selector_digest: of all that it selects by. seal: of everything else in the plan, those two included. by_store: how many
    memories each store holds of them; "refused": operations that a primary refused, whose memories are not here.
    """

    namespace: str
    subtree: bool = False
    selector: Selector
    store: str
    at: datetime
    ids: dict[str, tuple[str, ...]]
    by_kind: dict[str, int]
    by_status: dict[str, int]
    by_store: dict[str, int] = {}
    digest: str
    selector_digest: str
    seal: str = ""

    @field_serializer("selector")
    def _without_text(self, selector: Selector) -> dict[str, Any]:
        return selector.model_dump(mode="json", exclude_defaults=True, exclude={"text"})

    def with_text(self, text: str) -> PurgePlan:
        """The plan with the text that it was made by."""
        return self.model_copy(update={"selector": self.selector.model_copy(update={"text": text})})

    def sealed(self) -> PurgePlan:
        """The plan with the seal of what it says now: one that has another was changed since it was made."""
        said = json.dumps(self.model_dump(mode="json", exclude={"ids", "seal"}), sort_keys=True)
        return self.model_copy(update={"seal": hashlib.sha256(said.encode()).hexdigest()})

    @property
    def total(self) -> int:
        """How many memories would go."""
        return sum(len(ids) for ids in self.ids.values())


class PurgeReceipt(Value):
    """Proof of a purge, without content.

    removed: counts by kind of copy. scrubbed: whether the write-ahead log was emptied too; where another reader held it,
    it is emptied at the next chance. not_reached: what may still hold a copy. pending: the primary was away, and has yet to
    carry it out. unknown_ids: ids asked for that were not there. removed_before: memories that the same plan had removed when it
    was cut off, of which `removed` and `tombstones` do not tell.
    by: who did it, where that is known. signature: Ed25519, hexadecimal, over everything else; see `memgraph.receipts`.
    """

    id: str
    at: datetime
    version: str
    store: str
    namespaces: tuple[str, ...]
    selector_digest: str
    plan_digest: str
    removed: dict[str, int]
    scrubbed: bool
    tombstones: int
    not_reached: tuple[str, ...] = ()
    pending: bool = False
    unknown_ids: int = 0
    removed_before: int = 0
    by: str | None = None
    signature: str | None = None


class PurgeCheck(Value):
    """What a second look after a purge found. looked_at: where, in words. found: what is still there, by place; empty if ok.

    tombstones: how many of the receipt's are in force here; the receipt says how many it made. not_reached: what the receipt
    names as not reached, without a primary that has carried it out since.
    """

    receipt: str
    ok: bool
    looked_at: tuple[str, ...]
    found: dict[str, int]
    tombstones: int
    not_reached: tuple[str, ...] = ()


class Hold(Value):
    """A legal hold: what its selector matches cannot be purged, released, pruned or rewound until it is lifted.

    subtree: in the namespaces below too. by: who put it, since when.
    """

    id: str
    namespace: str
    subtree: bool = False
    selector: Selector
    by: str
    since: datetime
    reason: str | None = None


class Act(Value):
    """Something that an administrator, or an agent, did to a store: no content. by: who, where that is known."""

    id: str
    at: datetime
    what: str
    namespace: str
    by: str | None = None
    details: dict[str, Any] = {}


class Problem(Value):
    """Something wrong in a store: a short code, a sentence, and what to do.

    repair: what `check(repair=True)` does about it, if anything. examples: where it is, some of many: `namespace: id` or
    `namespace: key …`, or the id that the server gives a node.
    """

    code: str
    message: str
    remedy: str = ""
    count: int = 1
    repair: str = ""
    examples: tuple[str, ...] = ()


class CheckReport(Value):
    """The answer of `check`: `ok` when there are no problems. facts: about the server or library, the schema and the indexes.

    mended: how many of each problem, by its code, this call has mended.
    """

    ok: bool
    store: str
    checked: dict[str, int]
    problems: tuple[Problem, ...] = ()
    facts: dict[str, str] = {}
    mended: dict[str, int] = {}


class BackupReport(Value):
    """What a backup holds. memories, by namespace: of every status. newest: the greatest version. bytes: the size of the file."""

    file: str
    made_at: datetime
    memories: int
    namespaces: dict[str, int]
    tombstones: int
    newest: str
    bytes: int


class RestoreReport(Value):
    """What a restore did, or would do if `dry_run`.

    held: memories in the store before, and `newer`: those of them that are not there after, by namespace; some of their ids.
    changed: events (retired, restored, superseded, related, rated) recorded since the backup was made, by namespace.
    purged: what of the backup the store's purge ledger removed, by kind of record. tombstones: in the ledger after.
    unsent: operations that the primary does not have yet; they are kept. coupled: the store has a primary.
    rollback: the file that keeps what the store held before. scrubbed: nothing of that is left in the store's own files.
    """

    store: str
    backup: BackupReport
    dry_run: bool
    held: int
    newer: dict[str, int]
    newer_ids: dict[str, tuple[str, ...]]
    changed: dict[str, int]
    purged: dict[str, int]
    tombstones: int
    unsent: int
    coupled: bool
    rollback: str | None = None
    scrubbed: bool = True


class Stats(Value):
    """How much there is, in this namespace and in the whole store. bytes: on disk, write-ahead log included."""

    namespace: str
    entries: int
    by_status: dict[str, int]
    by_kind: dict[str, int]
    keys: int
    relations: int
    store_entries: int
    store_namespaces: int
    bytes: int
    unsealed: int
    degraded: str | None = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


class Count(int):
    """A number of memories; `degraded` says why it may be off."""

    degraded: str | None = None

    @classmethod
    def of(cls, number: int, degraded: str | None) -> Count:
        """A number with its flaw."""
        found = cls(number)
        found.degraded = degraded
        return found


SyncSource = Literal["primary", "local", "newest"]


class SyncReport(Value):
    """What a sync did. pushed, pulled: operations. waiting: operations that are still queued. dead_letters: refused for good.

    purges: whose selector still waits, under a legal hold, or as it cannot be read any more.
    """

    namespaces: tuple[str, ...]
    pushed: int
    pulled: int
    waiting: int
    dead_letters: int
    purges: int = 0


class BucketDiff(Value):
    """The memories whose hashed id begins with two hexadecimal digits: how many on each side, and how many differ."""

    namespace: str
    bucket: str
    local: int
    primary: int
    missing_local: int
    missing_primary: int
    different: int


class SyncDiff(Value):
    """Where a local store and its primary differ. buckets: those that do. compared: memories looked at.

    only_local, only_primary: facts that one side lacks, of whole memories and of what happened to them.
    repaired: operations that were news to the side they were sent to; None where nothing was sent. left: memories that a side
    lacks all the same: they were purged there, which nothing brings back.
    """

    namespaces: tuple[str, ...]
    compared: int
    buckets: tuple[BucketDiff, ...] = ()
    only_local: int = 0
    only_primary: int = 0
    repaired: int | None = None
    left: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.buckets


class DeadLetter(Value):
    """An operation that the primary refused for good: which, why and when. `unit` names what was written together.

    payload: the operation itself, as JSON has it, content included.
    """

    unit: int
    namespace: str
    op: str
    version: str
    reason: str
    at: datetime
    payload: dict[str, Any] = Field(default={}, repr=False)


class SyncStatus(Value):
    """How a local store and its primary are doing.

    mode: failover, merge or local_first. breaker: closed (in touch), open (away), half_open (back, catching up).
    error: the last failure. queued, oldest: operations that wait, and since when. held: how many run ahead of the clocks.
    dead_letters: refused for good. purges: whose selector waits for the primary.
    pushed_at, pulled_at: when something last went to the primary, and came from it.
    local_entries, primary_entries: memories of this namespace on each side; None where it could not be asked.
    clock_drift: seconds that the primary's clock is ahead of this machine's. cursors: namespaces that are followed.
    """

    primary: str
    mode: str
    write_concern: str
    breaker: str
    error: str | None = None
    queued: int = 0
    oldest: datetime | None = None
    held: int = 0
    dead_letters: int = 0
    purges: int = 0
    pushed_at: datetime | None = None
    pulled_at: datetime | None = None
    clock_drift: float | None = None
    cursors: int = 0
    local_entries: int = 0
    primary_entries: int | None = None


class StoreStatus(Value):
    """Which store this is and how it is doing.

    opened_without: the primary that the file has, where it was opened alone. queued: operations that wait for that.
    """

    store: str
    backend: str
    namespace: str
    read_only: bool
    durability: str | None = None
    schema_version: int | None = None
    damage: str | None = None
    degraded: str | None = None
    scrub_pending: bool = False
    clock_ahead_ms: int = 0
    graph_loaded: bool = False
    opened_without: str | None = None
    queued: int = 0
    sync: SyncStatus | None = None
