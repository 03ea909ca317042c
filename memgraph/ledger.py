"""Legal holds and administrative acts: kept as memories in a namespace beside the data, so that they reach every replica.

The ledger of a namespace lies below `~ledger`, under digests of its name's parts, as a name may be what is to be forgotten; no
caller can name it. Acts hold no content. A hold's
selector is data: it is purged when the hold is lifted.
"""

from __future__ import annotations

import getpass
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from memgraph import operations as ops
from memgraph.backends.base import Backend, Draft, Scope
from memgraph.checks import LEDGER, ledger_of
from memgraph.clock import new_id, recorded_at
from memgraph.errors import LegalHoldError, NotFoundError, StoreCorruptError
from memgraph.models import Act, Entry, Filters, Hold, Problem, Selector
from memgraph.rules.selection import selector_digest, selector_test

__all__ = [
    "BEGUN",
    "CARRIED_OUT",
    "REFUSED",
    "Ledger",
    "acts_of",
    "check",
    "fate",
    "holds_of",
    "operator",
    "reach",
    "token",
]

_PAGE: Final = 500
_EVERY_LEDGER: Final = Scope(LEDGER, subtree=True)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_SHOWN: Final = 5  # examples of a problem
BEGUN: Final = "purge begun"
REFUSED: Final = "purge refused by the primary"
CARRIED_OUT: Final = "purge carried out on the primary"
_KINDS: Final = {"released": "release", "pruned": "prune", "forgotten": "forget"}


def operator() -> str:
    """Who acts, where nobody is named: the name of the operating system's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


class Ledger:
    """What is kept beside the data of one namespace. now: the time, aware."""

    def __init__(self, backend: Backend, namespace: str, now: Callable[[], datetime]) -> None:
        self._backend, self._namespace, self._now = backend, namespace, now
        self._space = ledger_of(namespace)

    # ---- holds

    def add(self, selector: Selector, subtree: bool, by: str, reason: str | None) -> Hold:
        """Put a hold."""
        hold = Hold(
            id=new_id(),
            namespace=self._namespace,
            subtree=subtree,
            selector=selector,
            by=by,
            since=self._now(),
            reason=reason,
        )
        self._backend.write([self._draft("hold", hold.model_dump_json(), hold.id), self._act("hold", by, _told(hold))])
        return hold

    def lift(self, id: str, by: str) -> Hold:
        """Take a hold away, and what it selected with it. Raises NotFoundError."""
        found = next((hold for hold in self.holds() if hold.id == id), None)
        if found is None or found.namespace != self._namespace:
            raise NotFoundError(f"id: no hold of this id on namespace {self._namespace!r}")
        scope, now = Scope(self._space), self._now()
        self._backend.purge(self._backend.plan_purge(scope, Selector(ids=(id,)), now), now)
        self._backend.write([self._act("lift", by, _told(found))])
        return found

    def holds(self, subtree: bool = False) -> list[Hold]:
        """The holds that concern this namespace, oldest first: its own, and its ancestors' that reach down to it.

        subtree: those of its descendants too.
        """
        found = holds_of(self._backend, self._now(), Scope(self._space, subtree))
        parts = self._namespace.split("/")
        for length in range(1, len(parts)):
            above = Scope(ledger_of("/".join(parts[:length])))
            found += [hold for hold in holds_of(self._backend, self._now(), above) if hold.subtree]
        return sorted(found, key=lambda hold: (hold.since, hold.id))

    def held(self, entries: Iterable[Entry], subtree: bool = False) -> dict[tuple[str, str], str]:
        """Which of these memories are under a hold: the id of one by namespace and id."""
        tests = [(hold, selector_test(hold.selector, self._now())) for hold in self.holds(subtree)]
        if not tests:
            return {}
        return {
            (entry.namespace, entry.id): hold.id
            for entry in entries
            for hold, test in tests
            if Scope(hold.namespace, hold.subtree).holds(entry.namespace) and test(entry)
        }

    def naming(self, named: Sequence[tuple[str, str]], subtree: bool = False) -> list[str]:
        """The ids of the holds that name one of these values, by field, or everything: what they cover may yet arrive."""
        return [hold.id for hold in self.holds(subtree) if any(_names(hold.selector, *each) for each in named)]

    def refuse(
        self, entries: Iterable[Entry], what: str, subtree: bool = False, named: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Raise LegalHoldError if any of these is under a hold, or a hold names what is to be refused from now on.

        named: the fields and values by which what arrives later is to be refused.
        """
        held = self.held(entries, subtree)
        if held:
            raise LegalHoldError(
                f"{len(held)} of the memories to {what} are under a legal hold ({', '.join(sorted(set(held.values())))})",
                hint="Narrow what you select, or lift the hold: `memgraph hold list`, `memgraph hold lift ID`.",
            )
        naming = self.naming(named, subtree)
        if naming:
            raise LegalHoldError(
                f"a legal hold covers what would be refused from now on, and may yet arrive ({', '.join(naming)})",
                hint="Purge by other means, such as ids, or lift the hold: `memgraph hold list`, `memgraph hold lift ID`.",
            )

    # ---- acts

    def rewound(self, undone: Callable[[str], object]) -> frozenset[str]:
        """The tokens of memories that rewinds found replaced already, and that no other is to bring back.

        undone: tells of a change-set whether it was undone: then it counts no more.
        """
        found: set[str] = set()
        for act in self.acts():
            tokens = act.details.get("tokens")
            if tokens and not undone(act.details["changeset"]):
                found.update(tokens)
        return frozenset(found)

    def draft(self, what: str, by: str, details: dict[str, Any]) -> Draft:
        """An act that is written with what it tells of, in one transaction."""
        return self._act(what, by, details)

    def note(self, what: str, by: str, details: dict[str, Any], key: str | None = None) -> None:
        """Write an act down. key: of an act that is told again when it has gone on; only the last counts."""
        self._backend.write([self._act(what, by, details, key)])

    def acts(self, below: Iterable[str] | None = None) -> Iterator[Act]:
        """What was written down, newest first, then what was done above and reached down to here.

        below: the namespaces there are, for the acts of all that lie below too. An act of one that is not there any more bears the
        digests that stand for its name.
        """
        names = {ledger_of(path): path for path in (self._namespace, *(below or ()))}
        for entry in _all(self._backend, Scope(self._space, below is not None), "act", self._now()):
            yield _act(entry, names.get(entry.namespace, entry.namespace))
        parts = self._namespace.split("/")
        for length in range(1, len(parts)):
            above = "/".join(parts[:length])
            acts = (_act(entry, above) for entry in _all(self._backend, Scope(ledger_of(above)), "act", self._now()))
            yield from (act for act in acts if act.details.get("subtree"))

    def _act(self, what: str, by: str, details: dict[str, Any], key: str | None = None) -> Draft:
        content = json.dumps({"what": what, "by": by, "details": details}, ensure_ascii=False, sort_keys=True)
        return self._draft("act", content, new_id(), key)

    def _draft(self, kind: str, content: str, id: str, key: str | None = None) -> Draft:
        operation = ops.Remember(
            op_id=new_id(), namespace=self._space, id=id, key=key, kind=kind, content=content, source="memgraph"
        )
        return Draft(operation, fresh=True)


def _names(selector: Selector, field: str, value: str) -> bool:
    """Whether a hold names a value, or everything."""
    if selector.everything or field == "namespace":
        return selector.everything
    return value in selector.ids if field == "id" else bool(getattr(selector, field) == value)


def token(namespace: str, id: str) -> str:
    """What an act may say of a memory: a digest, as an id that a caller chose may be what is to be forgotten."""
    return hashlib.sha256(f"{namespace}\0{id}".encode()).hexdigest()[:24]


def _all(backend: Backend, scope: Scope, kind: str, now: datetime) -> Iterator[Entry]:
    after = None
    while True:
        page = backend.list(scope, Filters(kinds=(kind,)), now, _PAGE, after)
        yield from page
        after = page.next
        if after is None:
            return


def _act(entry: Entry, namespace: str) -> Act:
    try:
        values = json.loads(entry.content)
        return Act(id=entry.id, at=entry.recorded_at, namespace=namespace, **values)
    except (TypeError, ValueError):
        raise StoreCorruptError(
            f"{entry.namespace}: {entry.id} was changed by hand and is no act", hint="Run `memgraph doctor`."
        ) from None


def check(sides: Sequence[Backend], now: datetime) -> list[Problem]:
    """What is wrong in the ledgers of all namespaces: purges that were begun and never finished, and acts changed by hand.

    A purge counts as finished when one of the same selection has a receipt since: it took what the first had left.
    sides: the stores to look at, of which one may lack what another has.
    """
    begun: list[Act] = []
    finished: dict[tuple[str, str | None], datetime] = {}
    spoiled: list[str] = []
    names = {ledger_of(path): path for side in sides for path in side.namespaces(None)}
    entries = (entry for side in sides for entry in _all(side, _EVERY_LEDGER, "act", now))
    for (path, id), entry in {(entry.namespace, entry.id): entry for entry in entries}.items():
        try:
            act = _act(entry, names.get(path, path))
            if act.what == BEGUN:
                begun.append(act)
            elif act.what == "purge":
                which = (act.namespace, act.details["receipt"]["selector_digest"])
                finished[which] = max(act.at, finished.get(which, _NEVER))
        except (StoreCorruptError, KeyError, TypeError):
            spoiled.append(f"{path}: {id}")
    left = [act for act in begun if act.at > finished.get((act.namespace, act.details.get("selector_digest")), _NEVER)]
    found = []
    if left:
        told = [f"{act.namespace}: begun {act.at:%Y-%m-%dT%H:%M:%SZ} by {act.by}" for act in left]
        found.append(
            Problem(
                code="unfinished-purge",
                message="purges were begun and never finished: some of what they were to remove may still be there",
                remedy="If none is running now, purge the same selection again; `memgraph audit` tells more of it.",
                count=len(left),
                examples=tuple(told[:_SHOWN]),
            )
        )
    if spoiled:
        found.append(
            Problem(
                code="act",
                message="what administrators did was changed by hand and cannot be read",
                remedy="Restore it from a backup, or forget these memories.",
                count=len(spoiled),
                examples=tuple(spoiled[:_SHOWN]),
            )
        )
    return found


def holds_of(backend: Backend, now: datetime, scope: Scope = _EVERY_LEDGER) -> list[Hold]:
    """The holds in a scope of ledgers, by default of a whole store: on whichever namespace, although it be empty."""
    return [Hold.model_validate_json(entry.content) for entry in _all(backend, scope, "hold", now)]


def _told(hold: Hold) -> dict[str, Any]:
    """What an act says of a hold: not what it selects."""
    digest = selector_digest(hold.selector, hold.namespace, hold.subtree)
    return {"hold": hold.id, "selector_digest": digest} | reach(hold.subtree)


def reach(subtree: bool) -> dict[str, bool]:
    """What an act says if it reached down to the namespaces below: their audits tell of it too."""
    return {"subtree": True} if subtree else {}


def fate(acts: Iterable[Act], receipt: str) -> Act | None:
    """What the primary did last with a purge that waited for it: the act of its refusal, or of carrying it out."""
    told = [act for act in acts if receipt in (act.details.get("refused"), act.details.get("carried_out"))]
    return max(told, key=lambda act: (act.at, act.id), default=None)


def acts_of(namespace: str, operations: Iterable[ops.Operation | ops.Unknown]) -> list[Act]:
    """The acts that a namespace's operations tell of, oldest first: what was forgotten, released, pruned, restored.

    That is how acts are known that nobody wrote down, such as those that came with an import.
    """
    groups: dict[str, list[ops.Operation]] = {}
    for operation in operations:
        restored = isinstance(operation, ops.Remember) and operation.restores is not None
        if restored or isinstance(operation, ops.Retire | ops.Restore):
            assert not isinstance(operation, ops.Unknown)
            groups.setdefault(getattr(operation, "changeset", None) or operation.version, []).append(operation)
    return sorted(
        (_derived(namespace, name, group) for name, group in groups.items()), key=lambda act: (act.at, act.id)
    )


def _derived(namespace: str, name: str, group: list[ops.Operation]) -> Act:
    retired = [each for each in group if isinstance(each, ops.Retire)]
    back = len(group) - len(retired)
    if name.startswith("undo:"):
        what = "undo"
    elif retired and back:
        what = "rewind"
    else:
        what = _KINDS[retired[0].cause] if retired else "restore"
    first = min(group, key=lambda each: each.version)
    changeset = getattr(first, "changeset", None)
    details: dict[str, Any] = {"changeset": changeset, "out of use": len(retired), "back": back}
    return Act(
        id=name,
        at=recorded_at(first.version),
        what=what,
        namespace=namespace,
        by=getattr(first, "actor", None) if isinstance(first, ops.Retire | ops.Restore) else None,
        details={name: value for name, value in details.items() if value},
    )
