"""Which memories a call is about: filters, metadata conditions and selectors, tested on values.

The engines narrow in their own languages; what they return is what these functions accept.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, overload

from memgraph.errors import ConflictError, InvalidInputError
from memgraph.models import Condition, Entry, Filters, PurgePlan, Selector, Status
from memgraph.operations import Purge
from memgraph.rules.lineage import has_expired

__all__ = [
    "UNSEEN",
    "Going",
    "Purges",
    "conditions_match",
    "going",
    "is_empty",
    "matches",
    "purge_plan",
    "purged_spaces",
    "refused_later",
    "same_set",
    "selector_digest",
    "selector_matches",
    "selector_test",
    "value_purges",
    "wanted_status",
]

UNSEEN: Final = "unseen "
"""Begins the digest of a plan that nobody has looked at: what comes while it is carried out is no conflict."""

Heads = tuple[tuple[str, str], ...]  # keys whose newest version goes, with that version

_MISSING: Final = object()
_VALUES: Final = ("key", "subject", "session", "actor", "source")
_NARROWING: Final = (
    "kinds",
    "tags",
    "subject",
    "session",
    "actor",
    "source",
    "trust",
    "since",
    "until",
    "where",
    "ids",
    "key",
    "text",
)


def wanted_status(filters: Filters, default: Literal["active", "any"] = "active") -> frozenset[Status] | None:
    """The statuses that filters ask for, or None for every one. `default` counts where they name none."""
    asked = filters.status or default
    if asked == "any":
        return None
    return frozenset({Status.ACTIVE}) if asked == "active" else frozenset(asked)


def matches(entry: Entry, filters: Filters, now: datetime, default: Literal["active", "any"] = "active") -> bool:
    """Whether a memory passes every filter. Namespaces are the caller's business.

    now: an active memory whose `expires_at` is not after it counts as expired.
    default: which statuses pass where the filters name none.
    """
    statuses = wanted_status(filters, default)
    if statuses is not None and _status(entry, now) not in statuses:
        return False
    return (
        (not filters.kinds or entry.kind in filters.kinds)
        and (not filters.trust or entry.trust in filters.trust)
        and (filters.subject is None or entry.subject == filters.subject)
        and (filters.session is None or entry.session == filters.session)
        and (filters.actor is None or entry.actor == filters.actor)
        and (filters.source is None or entry.source == filters.source)
        and (filters.pinned is None or entry.pinned == filters.pinned)
        and (filters.since is None or entry.recorded_at >= filters.since)
        and (filters.until is None or entry.recorded_at <= filters.until)
        and all(tag in entry.tags for tag in filters.tags)
        and conditions_match(entry.metadata, filters.where)
    )


def _status(entry: Entry, now: datetime) -> Status:
    if entry.status is Status.ACTIVE and has_expired(entry.expires_at, now):
        return Status.EXPIRED
    return entry.status


def conditions_match(metadata: dict[str, Any], where: Iterable[Condition]) -> bool:
    """Whether metadata passes every condition.

    All numbers are one JSON type (1 equals 1.0, never true). A text `field` is one whole name, dots included. `ne` is
    whatever `eq` is not. Order is that of numbers, or of texts by code point; a pair of anything else has none.
    `in` wants a list. `exists` means that the name is there, null included; only the value False asks for the opposite.
    """
    return all(_holds(_find(metadata, condition.field), condition.op, condition.value) for condition in where)


def _find(metadata: dict[str, Any], field: str | tuple[str, ...]) -> Any:
    found: Any = metadata
    for name in (field,) if isinstance(field, str) else field:
        if not isinstance(found, dict) or name not in found:
            return _MISSING
        found = found[name]
    return found


def _holds(found: Any, op: str, wanted: Any) -> bool:
    if op == "exists":
        return (found is not _MISSING) == (wanted is not False)
    if op == "ne":
        return found is _MISSING or not _equal(found, wanted)
    if found is _MISSING:
        return False
    if op == "eq":
        return _equal(found, wanted)
    if op == "in":
        return isinstance(wanted, list | tuple) and any(_equal(found, one) for one in wanted)
    if op == "contains":
        if isinstance(found, str):
            return isinstance(wanted, str) and wanted in found
        return isinstance(found, list) and any(_equal(one, wanted) for one in found)
    return _ordered(found, op, wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if _is_number(a) and _is_number(b):
        return bool(a == b)
    return type(a) is type(b) and bool(a == b)


def _ordered(a: Any, op: str, b: Any) -> bool:
    if not (_is_number(a) and _is_number(b)) and not (isinstance(a, str) and isinstance(b, str)):
        return False
    return bool({"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op])


def is_empty(selector: Selector) -> bool:
    """Whether a selector names nothing: `lineage` and `status="any"` narrow nothing, so they do not count."""
    return not (
        selector.everything
        or selector.pinned is not None
        or selector.status not in (None, "any", ())
        or any(getattr(selector, name) for name in _NARROWING)
    )


def selector_matches(entry: Entry, selector: Selector, now: datetime) -> bool:
    """Whether a memory passes all that a selector names, whatever its status. An empty selector matches nothing."""
    return selector_test(selector, now)(entry)


def selector_test(selector: Selector, now: datetime) -> Callable[[Entry], bool]:
    """`selector_matches` for many memories: what is the same for all of them is worked out once."""
    if is_empty(selector):
        return lambda _: False
    ids = frozenset(selector.ids)
    text = None if selector.text is None else selector.text.casefold()
    return lambda entry: (
        (not ids or entry.id in ids)
        and (selector.key is None or entry.key == selector.key)
        and matches(entry, selector, now, "any")
        and (text is None or text in entry.content.casefold())
    )


def value_purges(selector: Selector, namespace: str) -> list[tuple[str, str]]:
    """The (field, value) pairs of the purges that say all a selector says, so that later arrivals die with it too.

    There is one where the selector is exactly a key, subject, session, actor, source, or everything (then the field is
    "namespace"). Otherwise there is none, and the purge goes by ids.
    """
    named = {name for name in _NARROWING if getattr(selector, name)}
    if selector.pinned is not None or selector.status not in (None, "any", ()):
        return []
    if selector.everything:
        return [] if named else [("namespace", namespace)]
    if selector.lineage or len(named) != 1:
        return []
    return [(name, getattr(selector, name)) for name in _VALUES if name in named]


def purges(selector: Selector, namespace: str, ids: Sequence[str]) -> list[tuple[str, str]]:
    """The (field, value) pairs of the purges of one namespace that carry a selector out. ids: what it matches there.

    Ids that are named are dead for good also where nothing has them yet.
    """
    by_value = value_purges(selector, namespace)
    if by_value:
        return by_value
    named = [id for _, id in refused_later(selector, namespace)]
    return [("id", id) for id in dict.fromkeys([*ids, *named])]


def refused_later(selector: Selector, namespace: str) -> list[tuple[str, str]]:
    """The (field, value) pairs by which a purge refuses what arrives later: those of `value_purges`, or the ids it names."""
    return value_purges(selector, namespace) or [("id", id) for id in selector.ids if _is_of_ids(selector)]


@dataclass
class Purges(Sequence[Purge]):
    """The operations of one purge: each is made when it is asked for, as there may be many.

    named: namespace, field, value, heads.
    """

    version: str
    receipt: str
    named: list[tuple[str, str, str, Heads]] = field(default_factory=list)

    def add(self, namespace: str, named: Sequence[tuple[str, str]], heads: Heads) -> None:
        """Add those of one namespace, which `purges` gave; the last bears the heads."""
        self.named += [(namespace, name, value, ()) for name, value in named[:-1]]
        self.named += [(namespace, name, value, heads) for name, value in named[-1:]]

    def __len__(self) -> int:
        return len(self.named)

    @overload
    def __getitem__(self, index: int) -> Purge: ...
    @overload
    def __getitem__(self, index: slice) -> list[Purge]: ...
    def __getitem__(self, index: int | slice) -> Purge | list[Purge]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        path, name, value, heads = self.named[index]
        return Purge(
            op_id=f"{self.receipt}.{index}",
            version=self.version,
            namespace=path,
            field=name,
            value=value,
            heads=heads,
            receipt=self.receipt,
        )


def says_all(selector: Selector) -> bool:
    """Whether what a selector names is refused for good, so that nothing that arrives later has to be looked for."""
    return bool(value_purges(selector, "")) or (_is_of_ids(selector) and not selector.lineage)


def _is_of_ids(selector: Selector) -> bool:
    named = {name for name in _NARROWING if getattr(selector, name)}
    everything = selector.everything or selector.pinned is not None or selector.status not in (None, "any", ())
    return named == {"ids"} and not everything


class Going(NamedTuple):
    """What a plan keeps of a memory: contents may be large, and there may be many."""

    namespace: str
    id: str
    kind: str
    status: Status


def going(entry: Entry) -> Going:
    """What a plan keeps of this memory."""
    return Going(entry.namespace, entry.id, sys.intern(entry.kind), entry.status)


def purge_plan(
    namespace: str,
    subtree: bool,
    selector: Selector,
    found: Sequence[Going],
    at: datetime,
    store: str,
    by_store: dict[str, int],
) -> PurgePlan:
    """The plan to purge these memories, which a selector matched in a namespace (with `subtree`, below it too) of a store."""
    ids: dict[str, list[str]] = {}
    for path, id, *_ in sorted(found):
        ids.setdefault(path, []).append(id)
    return PurgePlan(
        namespace=namespace,
        subtree=subtree,
        selector=selector,
        store=store,
        at=at,
        ids={path: tuple(named) for path, named in ids.items()},
        by_kind=dict(sorted(Counter(each.kind for each in found).items())),
        by_status=dict(sorted(Counter(each.status.value for each in found).items())),
        by_store={name: count for name, count in by_store.items() if count},
        digest=_digest(ids),
        selector_digest=selector_digest(selector, namespace, subtree),
    )


def require_intact(plan: PurgePlan) -> None:
    """Raise if a plan is not the one that was made: ConflictError for other ids, InvalidInputError for another selector."""
    if _digest(plan.ids) != plan.digest:
        raise ConflictError("the ids of the plan are not those that it was made with", hint="Make a new plan.")
    if selector_digest(plan.selector, plan.namespace, plan.subtree) != plan.selector_digest:
        raise InvalidInputError(
            "does not select by what it was made with; a plan does not repeat a text",
            field="plan",
            hint="Give the text again (`--text`, or plan.with_text), or make a new plan.",
        )


def _digest(ids: Mapping[str, Sequence[str]]) -> str:
    listed = {path: list(named) for path, named in ids.items()}
    return hashlib.sha256(json.dumps(listed, ensure_ascii=False).encode()).hexdigest()


def purged_spaces(plan: PurgePlan, known: Iterable[str]) -> list[str]:
    """The namespaces in which a purge is to be done. known: those of its scope that hold anything.

    One that says all it selects refuses what comes later also where nothing matches yet.
    """
    if not (value_purges(plan.selector, plan.namespace) or _is_of_ids(plan.selector)):
        return list(plan.ids)
    return list(dict.fromkeys([*plan.ids, plan.namespace, *(known if plan.subtree else ())]))


def _place(store: str) -> tuple[str, str]:
    """The store that a plan names: its file wherever it is named from, and its server."""
    first, _, second = store.removesuffix(" (away)").partition(" with ")
    return (first if "://" in first or first == ":memory:" else str(Path(first).resolve())), second


def same_set(fresh: PurgePlan, planned: PurgePlan) -> None:
    """Raise ConflictError if a plan is of another store, or somebody may have looked at it and it no longer says what would go."""
    if _place(fresh.store) != _place(planned.store):
        raise ConflictError("the plan was made for another store", hint="Make it where you apply it, and look at it.")
    if not planned.digest.startswith(UNSEEN) and fresh.digest != planned.digest:
        raise ConflictError(
            "the set to purge has changed since the plan was made", hint="Make a new plan and look at it."
        )


def selector_digest(selector: Selector, namespace: str, subtree: bool) -> str:
    """A digest that names a selector without repeating it."""
    text = f"{namespace}\0{subtree}\0{selector.model_dump_json(exclude_defaults=True)}"
    return hashlib.sha256(text.encode()).hexdigest()
