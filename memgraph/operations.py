"""Operations: the closed set of changes. Stores apply them, exports hold them, replays repeat them.

Each has an id made by the client and the version that orders it (empty until the store that acknowledges it stamps it).
Applying one twice changes nothing, and any order of arrival gives the same graph.
"""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError

from memgraph import checks
from memgraph.clock import parse_version, recorded_at, recorded_micros
from memgraph.errors import InvalidInputError
from memgraph.models import Entry, Status, Trust, Value, trusted

__all__ = [
    "FORMAT",
    "PURGE_FIELDS",
    "Operation",
    "Origin",
    "Purge",
    "Reinforce",
    "Relate",
    "Remember",
    "Restore",
    "Retire",
    "Supersede",
    "Unknown",
    "Unrelate",
    "entry_of",
    "names",
    "parse",
    "says_the_same",
]

FORMAT: Final = 1
PURGE_FIELDS: Final = ("key", "subject", "session", "actor", "source", "namespace")


class Operation(Value):
    """Base of all: `op` says which, `op_id` names this one, `version` orders it, `namespace` is the wall it stays behind.

    changeset: names the group that `undo` takes back as one; the undoing of group X is the group `undo:X`.
    """

    format: Literal[1] = 1
    op: str
    op_id: str
    namespace: str
    version: str = ""
    changeset: str | None = None

    def stamped(self, version: str) -> Self:
        """The same operation with the version that the store has given it."""
        return trusted(type(self), {**self.__dict__, "version": version})


class Origin(Value):
    """The memory that a restored copy goes back to: the root of a chain of copies."""

    id: str
    version: str


class Remember(Operation):
    """Write a memory. Content is immutable; `restores` is set when a memory is restored as a copy."""

    op: Literal["remember"] = "remember"
    id: str
    content: str
    key: str | None = None
    kind: str = "fact"
    subject: str | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    source: str = "agent"
    actor: str | None = None
    session: str | None = None
    trust: Trust = Trust.AGENT
    pinned: bool = False
    confidence: float = 0.8
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    reason: str | None = None
    restores: Origin | None = None
    embedding: tuple[float, ...] | None = None
    embedding_model: str | None = None

    @property
    def describes_past(self) -> bool:
        """Whether a keyed memory was over before it was recorded; then it joins the history and never becomes current."""
        return (
            self.key is not None
            and self.valid_to is not None
            and checks.micros(self.valid_to) <= recorded_micros(self.version)
        )


_SHARED: Final = tuple(name for name in Entry.model_fields if name in Remember.model_fields and name != "restores")


def entry_of(operation: Remember, now: datetime, stored_on: tuple[str, ...]) -> Entry:
    """The Entry that a stamped Remember has just made, before anything else happens to it."""
    given = operation.__dict__
    status = Status.ACTIVE
    if operation.describes_past:
        status = Status.SUPERSEDED
    elif operation.expires_at is not None and operation.expires_at <= now:
        status = Status.EXPIRED
    values = {name: given[name] for name in _SHARED}
    values.update(
        feedback_count=0,
        feedback_sum=0.0,
        recorded_at=recorded_at(operation.version),
        status=status,
        superseded_by=None,
        restores=operation.restores.id if operation.restores else None,
        restores_version=operation.restores.version if operation.restores else None,
        stored_on=stored_on,
        degraded=None,
    )
    return trusted(Entry, values)


def says_the_same(operation: Remember, entry: Entry) -> bool:
    """Whether an entry is what a Remember has made, whatever happened to it since."""
    return all(getattr(operation, name) == getattr(entry, name) for name in _SHARED)


class Supersede(Operation):
    """An explicit replacement, always from the greater version to the smaller."""

    op: Literal["supersede"] = "supersede"
    new_id: str
    new_version: str
    old_id: str
    old_version: str
    reason: str | None = None


class Relate(Operation):
    """Relate `a` to `b`; of the operations on one (a, b, type) the greatest version counts."""

    op: Literal["relate"] = "relate"
    a: str
    b: str
    type: str = "related"
    weight: float = 1.0
    note: str | None = None


class Unrelate(Operation):
    """Take a relation back."""

    op: Literal["unrelate"] = "unrelate"
    a: str
    b: str
    type: str


class Retire(Operation):
    """Take a memory out of use without deleting it."""

    op: Literal["retire"] = "retire"
    id: str
    cause: Literal["forgotten", "released", "pruned"]
    reason: str | None = None
    actor: str | None = None


class Restore(Operation):
    """Bring an unkeyed memory back; a keyed one is restored by a copy, so this leaves it as it is."""

    op: Literal["restore"] = "restore"
    id: str
    reason: str | None = None
    actor: str | None = None


class Reinforce(Operation):
    """Feedback on a memory. signal: -1 (harmful) to 1 (useful). Of two with one feedback_id the smaller version counts."""

    op: Literal["reinforce"] = "reinforce"
    id: str
    feedback_id: str
    signal: float
    verified: bool = False
    actor: str | None = None


class Purge(Operation):
    """Delete for good what has `value` in `field` and is no newer than this; an id is dead for good whatever its version.

    heads: each key whose newest version went, with that version; nothing older takes its place.
    """

    op: Literal["purge"] = "purge"
    field: Literal["id", "key", "subject", "session", "actor", "source", "namespace"]
    value: str
    heads: tuple[tuple[str, str], ...] = ()
    receipt: str = ""


def names(operation: Operation) -> tuple[str | None, str | None]:
    """The ids of the memories that an operation is about, at most two."""
    match operation:
        case Relate() | Unrelate():
            return operation.a, operation.b
        case Supersede():
            return operation.old_id, operation.new_id
        case Remember():
            return operation.id, operation.restores.id if operation.restores else None
        case Retire() | Restore() | Reinforce():
            return operation.id, None
    return None, None


class Unknown(Value):
    """An operation of a kind or format that this build does not know: kept and passed on, never dropped."""

    op_id: str
    version: str
    namespace: str
    payload: dict[str, Any]


Known = Annotated[
    Remember | Supersede | Relate | Unrelate | Retire | Restore | Reinforce | Purge, Field(discriminator="op")
]
_KINDS: Final = frozenset({"remember", "supersede", "relate", "unrelate", "retire", "restore", "reinforce", "purge"})


@functools.cache
def _known() -> TypeAdapter[Any]:
    return TypeAdapter(Known)


def parse(line: dict[str, Any]) -> Operation | Unknown:
    """A stamped operation from its JSON form. Raises InvalidInputError, without repeating what it holds."""
    if not isinstance(line.get("op"), str) or line["op"] not in _KINDS or line.get("format") != FORMAT:
        try:
            found = Unknown(op_id=line["op_id"], version=line["version"], namespace=line["namespace"], payload=line)
            parse_version(found.version)
        except (KeyError, ValidationError):
            raise InvalidInputError("not an operation: it lacks op_id, version or namespace", field="op") from None
        checks.namespace(found.namespace, ledger=True)
        return found
    try:
        operation: Operation = _known().validate_python(line)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"][1:])
        raise InvalidInputError("is missing or has the wrong type", field=where or "op") from None
    parse_version(operation.version)
    checks.namespace(operation.namespace, ledger=True)
    return operation
