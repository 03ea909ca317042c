"""What an export may bring into a store: judged as a whole, before anything of it is applied."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from memgraph import checks, interchange
from memgraph.backends.base import Backend, Replica, Scope, tombstones_of
from memgraph.clock import millis
from memgraph.errors import ClockDriftError, ConflictError, InvalidInputError, LegalHoldError
from memgraph.ledger import Ledger
from memgraph.models import Entry, ImportPlan, Selector, Status
from memgraph.operations import Operation, Purge, Remember, Retire, Unknown, entry_of, names
from memgraph.rules import tombstones
from memgraph.textlines import Skip

__all__ = ["Importing", "parted", "taken"]

T = TypeVar("T")
_PAGE: Final = 1000
_NAMED: Final = 10  # bad lines that a refusal names


@dataclass(frozen=True)
class Importing:
    """An export on its way into a store.

    namespace: where it may write, and below; `everywhere`: anywhere. move: what lay in the export's namespace goes into this one.
    now: the time. latest: the milliseconds up to which versions may run ahead.
    """

    backend: Backend
    namespace: str
    everywhere: bool
    header: interchange.Header
    items: interchange.Items
    move: bool
    now: datetime
    latest: int

    def admitted(self, skip: Skip | None) -> tuple[list[dict[str, Any]], Iterator[list[Operation | Unknown]]]:
        """Its tombstones, and its operations in pages, without the lines that `skip` was told of.

        Those are about memories whose ids name other content here; without `skip` one of them refuses the file.
        Raises ConflictError, InvalidInputError, ClockDriftError, LegalHoldError.
        """
        left_out = self._left_out(skip)
        # what is moved cannot bring its purges along: their digests hold the namespace
        buried = [] if self.move else [item for item in self.items if isinstance(item, dict)]
        self._refuse_outside(buried)
        self._refuse_what_must_not_go(buried)
        operations = (self._moved(item) for number, item in self.items.lines() if number not in left_out)
        return buried, _pages(item for item in operations if not isinstance(item, dict))

    def plan(self, skip: Skip | None) -> ImportPlan:
        """What it would do; raises what `admitted` raises."""
        buried, pages = self.admitted(skip)
        dead, new = self.dead(), 0
        for page in pages:
            for space, writes in _written(page).items():
                known = self.backend.get(space, list(writes), self.now)
                new += sum(id not in known and (space, id) not in dead for id in writes)
        return ImportPlan(new=new, purged=self.purged(buried), dead=len(dead))

    def purged(self, buried: list[dict[str, Any]]) -> int:
        """How many memories are here that its tombstones take."""
        if not any("tombstone" in item for item in buried):
            return 0
        spaces = [space for space in self.backend.namespaces(self.header.namespace) if self._comes_from(space)]
        everything = Selector(everything=True)
        here = (entry for space in spaces for entry in self.backend.select(Scope(space), everything, self.now))
        return len({(entry.namespace, entry.id) for _, entry in tombstones.hits(buried, here)})

    def dead(self) -> frozenset[tuple[str, str]]:
        """Its memories that were purged here, by namespace and id: they stay so."""
        spaces = {self.namespace if self.move else self.header.namespace}
        if self.header.subtree:
            spaces = {item.namespace for item in map(self._moved, self.items) if isinstance(item, Remember)}
        tombs = (item for space in sorted(spaces) for item in tombstones_of(self._here, Scope(space)))
        written = (item for item in map(self._moved, self.items) if isinstance(item, Remember))
        entries = (entry_of(each, self.now, ()) for each in written)
        dead = {(entry.namespace, entry.id) for _, entry in tombstones.hits(tombs, entries)}
        return frozenset((space, id) for space, id in dead if not self.backend.get(space, [id], self.now))

    def _comes_from(self, space: str) -> bool:
        return self.header.subtree or space == self.header.namespace

    def _moved(self, item: interchange.Item) -> interchange.Item:
        if isinstance(item, dict) or not self.move:
            return item
        return interchange.moved(item, self.header.namespace, self.namespace)

    def _left_out(self, skip: Skip | None) -> frozenset[int]:
        clashes: set[tuple[str, str]] = set()
        for page in _pages(self._moved(item) for item in self.items):
            operations = [item for item in page if not isinstance(item, dict)]
            self._refuse_unfit(operations)
            for space, writes in _written(operations).items():
                clashes.update((space, id) for id in taken(self.backend, space, writes, self.now))
        if not clashes:
            return frozenset()
        bad = [
            number
            for number, item in self.items.lines()
            if isinstance(operation := self._moved(item), Operation)
            and any((operation.namespace, id) in clashes for id in names(operation))
        ]
        if skip is None:
            raise ConflictError(
                f"ids in the file name memories with other content here (lines {checks.few(bad, _NAMED)}); nothing was imported",
                hint="Import into another namespace, or leave those lines out: without --strict, or with skip.",
            )
        for number in bad:
            skip(number, "it is about a memory whose id names one with other content, or another key, here")
        return frozenset(bad)

    def _refuse_unfit(self, operations: Iterable[Operation | Unknown]) -> None:
        """Refuse another namespace, stamps from the future, and purges."""
        for operation in operations:
            checks.namespace(operation.namespace)
            if not self._may_write(operation.namespace):
                raise InvalidInputError(
                    f"holds memories outside of namespace {self.namespace!r}",
                    field="path",
                    hint="Import with move, or open the store without a namespace.",
                )
            self._refuse_ahead(operation.version)
            if isinstance(operation, Purge):
                raise InvalidInputError(
                    "holds a purge; exports hold tombstones", field="path", hint="Export again, and import that."
                )

    def _may_write(self, namespace: str) -> bool:
        return self.everywhere or Scope(self.namespace, subtree=True).holds(namespace)

    def _refuse_ahead(self, version: str) -> None:
        if millis(version) > self.latest:
            raise ClockDriftError(
                "the file holds versions further ahead of this machine's clock than max_clock_drift allows",
                hint="Set the clock right, or raise max_clock_drift.",
            )

    def _refuse_outside(self, buried: Iterable[dict[str, Any]]) -> None:
        if not all(self._may_write(item.get("namespace", self.namespace)) for item in buried):
            raise InvalidInputError(f"holds tombstones outside of namespace {self.namespace!r}", field="path")

    def _refuse_what_must_not_go(self, buried: list[dict[str, Any]]) -> None:
        """Refuse to delete, release or prune what is under a legal hold, and tombstones by which later writes would die."""
        for item in buried:
            if "version" in item:
                self._refuse_ahead(item["version"])
        for hold, named in self._named(buried):
            raise LegalHoldError(
                f"the file would refuse for good what a legal hold covers, and may yet arrive ({hold}: {named} tombstones);"
                " nothing was imported",
                hint="Lift the hold, or import into another namespace: `memgraph hold list`, `memgraph hold lift ID`.",
            )
        held = self._held()
        if not held:
            return
        going = {(entry.namespace, entry.id) for _, entry in tombstones.hits(buried, held.values())}
        for operation in map(self._moved, self.items):
            if isinstance(operation, Retire) and operation.cause != "forgotten":
                entry = held.get((operation.namespace, operation.id))
                if entry is not None and entry.status is Status.ACTIVE and self._is_news(operation):
                    going.add((operation.namespace, operation.id))
        if going:
            raise LegalHoldError(
                f"the file would delete, release or prune {len(going)} memories that are under a legal hold;"
                " nothing was imported",
                hint="Lift the hold, or import into another namespace: `memgraph hold list`, `memgraph hold lift ID`.",
            )

    def _named(self, buried: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
        """Holds that name what its tombstones refuse, but for what is refused here already; with how many those are."""
        for space in sorted({item["namespace"] for item in buried if "tombstone" in item}):
            known: set[str] | None = None
            for hold in Ledger(self.backend, space, lambda: self.now).holds():
                found = tombstones.naming(buried, space, hold.selector)
                if found:
                    known = known or {item.get("tombstone", "") for item in tombstones_of(self._here, Scope(space))}
                    if found - known:
                        yield hold.id, len(found - known)

    @property
    def _here(self) -> Backend:
        return self.backend.here if isinstance(self.backend, Replica) else self.backend

    def _held(self) -> dict[tuple[str, str], Entry]:
        """The memories under a legal hold in the namespaces that it goes to."""
        root = self.namespace if self.move else self.header.namespace
        held: dict[tuple[str, str], Entry] = {}
        for space in self.backend.namespaces(root):
            if self.header.subtree or space == root:
                for hold in Ledger(self.backend, space, lambda: self.now).holds():
                    found = self.backend.select(Scope(space), hold.selector, self.now)
                    held.update(((entry.namespace, entry.id), entry) for entry in found)
        return held

    def _is_news(self, operation: Retire) -> bool:
        """Whether it happened after all that is known of its memory."""
        line = self.backend.lineage(operation.namespace, operation.id, self.now)
        return line is None or all(
            event.version < operation.version for event in line.events if event.id == operation.id
        )


def parted(
    page: Iterable[Operation | Unknown], dead: Set[tuple[str, str]]
) -> tuple[list[Operation | Unknown], list[Operation | Unknown]]:
    """The operations about memories that are dead here, and the others."""
    found: tuple[list[Operation | Unknown], list[Operation | Unknown]] = [], []
    for each in page:
        about = [] if isinstance(each, Unknown) else names(each)
        found[not any((each.namespace, id) in dead for id in about)].append(each)
    return found


def taken(backend: Backend, namespace: str, writes: Mapping[str, tuple[str, str | None]], now: datetime) -> set[str]:
    """Which of these ids, each with its content and key, name a memory with other content, or another key, here."""
    known = backend.get(namespace, list(writes), now)
    return {id for id, entry in known.items() if (entry.content, entry.key) != writes[id]}


def _written(operations: Iterable[Operation | Unknown]) -> dict[str, dict[str, tuple[str, str | None]]]:
    """What is remembered: by namespace and id its content and key."""
    spaces: dict[str, dict[str, tuple[str, str | None]]] = {}
    for operation in operations:
        if isinstance(operation, Remember):
            spaces.setdefault(operation.namespace, {})[operation.id] = operation.content, operation.key
    return spaces


def _pages(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while page := list(itertools.islice(rest, _PAGE)):
        yield page
