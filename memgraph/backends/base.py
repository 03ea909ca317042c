"""The protocol that every backend keeps, and its promises in words. `tests/contract` states each promise as a test.

A backend gets values that the door (`memory.py`) has checked, and `now` wherever time matters. It never calls upward.
Unknown ids and ids of another namespace look the same: they are simply not there.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

from memgraph.models import (
    BackupReport,
    ChangeSet,
    CheckReport,
    DeadLetter,
    Edge,
    Entry,
    Filters,
    Lineage,
    Neighbourhood,
    Page,
    PurgePlan,
    PurgeReceipt,
    RestoreReport,
    SearchResult,
    Selector,
    Stats,
    StoreStatus,
    SyncDiff,
    SyncReport,
    SyncSource,
)
from memgraph.operations import Operation, Remember, Unknown

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "DAMAGED",
    "Archivable",
    "Backend",
    "Changes",
    "Draft",
    "Facts",
    "OnDisk",
    "Preparable",
    "Primary",
    "Pushed",
    "Query",
    "Ranking",
    "Replica",
    "Scope",
    "entries_of",
    "tombstones_of",
]

Ranking = Literal["memgraph", "loopctl", "aegis"]
_PAGE: Final = 1000


@dataclass(frozen=True)
class Scope:
    """The namespace that a call is about; with `subtree`, its descendants by whole segments too."""

    namespace: str
    subtree: bool = False

    def holds(self, namespace: str) -> bool:
        """Whether a namespace lies in this scope."""
        return namespace == self.namespace or (self.subtree and namespace.startswith(self.namespace + "/"))


@dataclass(frozen=True)
class Draft:
    """An operation without a version, and the condition it is written under.

    expected_version: the version that the key's current memory must have. if_absent: the key must have no current memory.
    fresh: the id was made just now, so that it cannot be there.
    part_of: the id of a memory written before it in the same call; if that was there already, this is not written again.
    """

    operation: Operation
    expected_version: str | None = None
    if_absent: bool = False
    part_of: str | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Query:
    """A search as the door has checked it. `text` is not blank; `vector` is its embedding where an embedder is configured."""

    text: str
    now: datetime
    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    context: str | None = None
    known_at: datetime | None = None
    valid_at: datetime | None = None
    include_inactive: bool = False
    min_score: float | None = None
    explain: bool = False
    ranking: Ranking = "memgraph"
    vector: tuple[float, ...] | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class Changes:
    """A page of what a primary's feed holds: operations and tombstones, the place to go on from, and whether there is more."""

    operations: Sequence[Operation | Unknown]
    tombstones: Sequence[dict[str, Any]]
    place: tuple[int, str]
    more: bool


@dataclass(frozen=True)
class Pushed:
    """What a push did.

    feeds: the number that each namespace's feed then has.
    earlier: ids by namespace that named the same memory there before, under another version, which stands.
    """

    feeds: dict[str, int]
    earlier: dict[str, builtins.list[str]]


@dataclass(frozen=True)
class Facts:
    """What a store knows of one memory, as short texts without content; equal sets mean that nothing is missing."""

    id: str
    known: frozenset[str]


@runtime_checkable
class Backend(Protocol):
    """A place where memories live."""

    name: str
    """What kind it is: "local", "neo4j", "composite" or a third party's name."""

    def write(self, drafts: Sequence[Draft]) -> builtins.list[Entry | str]:
        """Stamp and apply drafts in order, all or none, and return when they are durable.

        For each Remember the entry as written comes back, for every other operation its version. An id that is already there with
        the same content and key is the same write: the stored entry comes back and nothing changes. With other content or
        key it is ConflictError; a purged id is PurgedError; a condition that does not hold is ConflictError.
        Versions are given inside the write transaction and are greater than every version that the store holds.
        """
        ...

    def apply(self, operations: Iterable[Operation | Unknown]) -> int:
        """Apply stamped operations in any order, each once or more; all or none. Returns how many changed something."""
        ...

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> dict[str, Entry]:
        """The memories with these ids, whatever their status; those that are not there are left out."""
        ...

    def current(
        self,
        namespace: str,
        key: str,
        now: datetime,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Entry | None:
        """The key's active memory; or what it was as known at one instant, or true in the world at one."""
        ...

    def list(self, scope: Scope, filters: Filters, now: datetime, limit: int, after: str | None) -> Page[Entry]:
        """Matching memories, newest version first, `limit` at a time. `after` is the `next` of the page before."""
        ...

    def count(self, scope: Scope, filters: Filters, now: datetime) -> int:
        """How many memories match."""
        ...

    def search(self, scope: Scope, query: Query) -> SearchResult:
        """The best hits, best first. Only memories of the scope that are active and unexpired, unless the query asks for more.

        While others write, that is what was active at some moment of the search: of a key that is replaced, the old value or
        the new one.
        """
        ...

    def lineage(self, namespace: str, key_or_id: str, now: datetime) -> Lineage | None:
        """The line of a key, or the memories linked to an id by SUPERSEDES and RESTORES; None if there is no such thing.

        A text that is both a key and an id is taken as the key.
        """
        ...

    def neighbours(self, namespace: str, id: str, depth: int, now: datetime) -> Neighbourhood | None:
        """The active memories at most `depth` edges from an id in any direction, nearest first, and the edges among them."""
        ...

    def graph(self, scope: Scope, now: datetime) -> nx.MultiDiGraph[Any]:
        """A frozen copy of the graph. Nodes: ids ((namespace, id) with subtree), with key, kind, title, status and version.

        Edges are keyed by "SUPERSEDES", "RESTORES" or "RELATES_TO:<type>" and carry `label` and the fields of Edge.
        """
        ...

    def relations(self, namespace: str, ids: Sequence[str]) -> builtins.list[Edge]:
        """The RELATES_TO edges that begin or end at one of these ids."""
        ...

    def namespaces(self, prefix: str | None) -> builtins.list[str]:
        """The namespaces that hold memories, sorted; with a prefix, that one and its descendants."""
        ...

    def snapshot(self, namespace: str, known_at: datetime) -> Iterator[Entry]:
        """Every memory recorded by an instant, with the status it was known to have then, oldest first."""
        ...

    def changeset(self, namespace: str, id: str) -> ChangeSet | None:
        """The change-set of this id, put together from its operations."""
        ...

    def select(self, scope: Scope, selector: Selector, now: datetime) -> Iterator[Entry]:
        """Every memory that a selector matches, with no cap, in no order, each once."""
        ...

    def plan_purge(self, scope: Scope, selector: Selector, now: datetime) -> PurgePlan:
        """What a purge would remove, copies that restores made included."""
        ...

    def purge(self, plan: PurgePlan, now: datetime) -> PurgeReceipt:
        """Remove for good what the plan names. ConflictError, and nothing removed, if the set has changed since."""
        ...

    def operations(self, scope: Scope) -> Iterator[Operation | Unknown | dict[str, Any]]:
        """Everything that is stored, as operations by version; tombstones and their secrets come first, as plain dicts.

        Applying them to an empty store gives an equal store.
        """
        ...

    def bury(self, tombstones: Iterable[dict[str, Any]]) -> int:
        """Take in tombstones and secrets as `operations` gave them. Returns how many were new."""
        ...

    def check(self, repair: bool = False, reindex: bool = False) -> CheckReport:
        """Look for damage and broken laws; `repair` mends what can be mended, `reindex` rebuilds the text index first."""
        ...

    def stats(self, namespace: str, now: datetime) -> Stats:
        """How much there is."""
        ...

    def status(self, namespace: str) -> StoreStatus:
        """Which store this is and how it is doing."""
        ...

    def close(self) -> None:
        """Release files and connections. Closing twice is fine."""
        ...


def tombstones_of(side: Backend, scope: Scope) -> Iterator[dict[str, Any]]:
    """The tombstones of a scope, and the secrets that they were made with: with them `operations` begins."""
    for item in side.operations(scope):
        if not isinstance(item, dict):
            return
        yield item


def entries_of(sides: Sequence[Backend], namespace: str, ids: Sequence[str], now: datetime) -> Iterator[Entry]:
    """The memories of these ids, a page at a time, each from the first side that has it."""
    for start in range(0, len(ids), _PAGE):
        part, found = ids[start : start + _PAGE], dict[str, Entry]()
        for side in sides:
            missing = [id for id in part if id not in found]
            found |= side.get(namespace, missing, now) if missing else {}
        yield from found.values()


@runtime_checkable
class OnDisk(Protocol):
    """A backend that keeps copies in files of this machine."""

    def files(self) -> builtins.list[Path]:
        """Its files that are there now; none for a store in memory."""
        ...

    def has_yet_to_purge(self, receipt: str) -> bool:
        """Whether a primary has yet to carry out a purge, by the id of its receipt: it waits, or was refused."""
        ...


@runtime_checkable
class Preparable(Protocol):
    """A backend whose store needs a schema, which an administrator may set up before the first write does."""

    def set_up(self) -> tuple[str, ...]:
        """Make what the store needs and lacks, and return what was made, in words; the second time nothing."""
        ...


ActOf = Callable[[str, dict[str, Any]], Remember]
"""The operation, without a version, that tells in a namespace's ledger what was done there: its path and the details."""


DAMAGED: Final = (
    "Run `memgraph doctor --repair` first. If that saves nothing, move the file away: a restore to a new file brings back what"
    " was purged since the backup."
)
"""What to do with a store too damaged to put a backup in its place."""


@runtime_checkable
class Archivable(Protocol):
    """A backend whose memories lie in a file of ours, which can be copied whole and put back."""

    def backup(self, path: Path, force: bool) -> BackupReport:
        """Write all of the store, as it is at one instant, to a file that is a store by itself; there whole or not at all."""
        ...

    def as_backup(self) -> BackupReport:
        """What this store holds, if it is a backup that nothing is wrong with. StoreCorruptError, InvalidInputError."""
        ...

    def restore_backup(self, path: Path, dry_run: bool, act: ActOf) -> RestoreReport:
        """Replace what the store holds by a backup, in one step; what was purged in either stays so.

        act: what is written down in the ledger of each namespace.
        """
        ...


@runtime_checkable
class Primary(Backend, Protocol):
    """A backend that replicas can push to and pull from."""

    @property
    def where(self) -> str:
        """Its address, without credentials."""
        ...

    def forget(self) -> None:
        """Wait no longer for what was seen of it: it may have been restored from an older copy."""
        ...

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Have all that this thread reads meanwhile take no longer than this; else that is UnavailableError."""
        ...

    def ping(self) -> float:
        """Reach it now; returns its clock, Unix seconds. Raises what a connection raises."""
        ...

    def push(self, operations: Sequence[Operation | Unknown]) -> Pushed:
        """Apply stamped operations, all or none.

        Purges come after the others and are repeated until they are done. ConflictError, and nothing applied, where an id
        names a memory with other content or another key there.
        """
        ...

    def secrets(self) -> builtins.list[dict[str, Any]]:
        """The secrets that tombstones are made with, as `operations` gives them; the first makes new ones."""
        ...

    def feeds(self, namespaces: Sequence[str]) -> dict[str, int]:
        """The number of each namespace's feed; it grows with every write, and is 0 where there was none."""
        ...

    def changes(self, namespace: str, after: tuple[int, str], until: int | None = None) -> Changes:
        """A page of what was touched after a place in the feed; (-1, "") is its beginning.

        until: only the memories that were touched last at this number or before, without tombstones.
        """
        ...

    def facts(self, namespace: str) -> Iterator[Facts]:
        """What is known of each memory of a namespace, sorted by id as code points."""
        ...


@runtime_checkable
class Replica(Protocol):
    """A backend that is kept in step with a primary."""

    here: Backend
    """The local store alone."""
    near: Backend
    """The same store for reads of what this process has just written or named: it asks the primary only for what is not here."""

    def sides(self) -> Sequence[Backend]:
        """The stores by themselves, as far as they are within reach."""
        ...

    @property
    def degraded(self) -> str | None:
        """Why a read now would be answered by the local store alone; None while the primary is in touch."""
        ...

    def sync(self, scope: Scope, progress: Callable[[int], object] | None = None) -> SyncReport:
        """Push what waits and pull what others wrote."""
        ...

    def sync_diff(self, scope: Scope) -> SyncDiff:
        """Compare both sides."""
        ...

    def sync_repair(self, scope: Scope, source: SyncSource, dry_run: bool) -> SyncDiff:
        """Send each side what it lacks; returns what differed."""
        ...

    def dead_letters(self) -> builtins.list[DeadLetter]:
        """What the primary refused for good."""
        ...

    def retry_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Put what was refused back into the queue, all or these units; returns how many operations."""
        ...

    def drop_dead_letters(self, units: Sequence[int] | None = None) -> int:
        """Delete what was refused, all or these units; returns how many operations."""
        ...
