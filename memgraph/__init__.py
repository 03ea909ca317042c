"""memgraph: a graph-database knowledge store for the long-term memory of LLM agents.

`Memory.open("agent.db")` is the way in. What is not needed is not imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from memgraph.agent import (
        AsyncLearnSession,
        LearnConfig,
        LearnSession,
        LoopMemory,
        remember_judged,
        remember_judged_async,
    )
    from memgraph.aio import AsyncMemory
    from memgraph.errors import (
        AuthError,
        ClockDriftError,
        ClosedError,
        ConflictError,
        InvalidInputError,
        LegalHoldError,
        MemgraphError,
        NotFoundError,
        PurgedError,
        ReadOnlyError,
        StoreCorruptError,
        StoreFullError,
        StoreLockedError,
        StoreVersionError,
        UnavailableError,
        UnsupportedError,
    )
    from memgraph.memory import Embedder, Memory
    from memgraph.models import (
        Act,
        BackupReport,
        BucketDiff,
        Change,
        ChangeSet,
        CheckReport,
        Condition,
        ConsolidationReport,
        Count,
        DeadLetter,
        Diff,
        Duplicate,
        Edge,
        Entry,
        Event,
        Filters,
        Hit,
        Hold,
        ImportPlan,
        Lineage,
        Neighbourhood,
        Page,
        Problem,
        PurgeCheck,
        PurgePlan,
        PurgeReceipt,
        RestoreReport,
        SearchResult,
        Selector,
        Stats,
        Status,
        StoreStatus,
        SyncDiff,
        SyncReport,
        SyncStatus,
        Trust,
    )

_HOMES = {
    "memgraph.agent": (
        "AsyncLearnSession", "LearnConfig", "LearnSession", "LoopMemory", "remember_judged", "remember_judged_async",
    ),
    "memgraph.aio": ("AsyncMemory",),
    "memgraph.memory": ("Embedder", "Memory"),
    "memgraph.errors": (
        "AuthError", "ClockDriftError", "ClosedError", "ConflictError", "InvalidInputError", "LegalHoldError",
        "MemgraphError", "NotFoundError", "PurgedError", "ReadOnlyError", "StoreCorruptError", "StoreFullError",
        "StoreLockedError", "StoreVersionError", "UnavailableError", "UnsupportedError",
    ),
    "memgraph.models": (
        "Act", "BackupReport", "BucketDiff", "Change", "ChangeSet", "CheckReport", "Condition", "ConsolidationReport",
        "Count", "DeadLetter", "Diff", "Duplicate", "Edge", "Entry", "Event", "Filters", "Hit", "Hold",
        "ImportPlan", "Lineage", "Neighbourhood", "Page", "Problem", "PurgeCheck", "PurgePlan", "PurgeReceipt", "RestoreReport",
        "SearchResult", "Selector", "Stats", "Status", "StoreStatus", "SyncDiff", "SyncReport", "SyncStatus", "Trust",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Act",
    "AsyncLearnSession",
    "AsyncMemory",
    "AuthError",
    "BackupReport",
    "BucketDiff",
    "Change",
    "ChangeSet",
    "CheckReport",
    "ClockDriftError",
    "ClosedError",
    "Condition",
    "ConflictError",
    "ConsolidationReport",
    "Count",
    "DeadLetter",
    "Diff",
    "Duplicate",
    "Edge",
    "Embedder",
    "Entry",
    "Event",
    "Filters",
    "Hit",
    "Hold",
    "ImportPlan",
    "InvalidInputError",
    "LearnConfig",
    "LearnSession",
    "LegalHoldError",
    "Lineage",
    "LoopMemory",
    "MemgraphError",
    "Memory",
    "Neighbourhood",
    "NotFoundError",
    "Page",
    "Problem",
    "PurgeCheck",
    "PurgePlan",
    "PurgeReceipt",
    "PurgedError",
    "ReadOnlyError",
    "RestoreReport",
    "SearchResult",
    "Selector",
    "Stats",
    "Status",
    "StoreCorruptError",
    "StoreFullError",
    "StoreLockedError",
    "StoreStatus",
    "StoreVersionError",
    "SyncDiff",
    "SyncReport",
    "SyncStatus",
    "Trust",
    "UnavailableError",
    "UnsupportedError",
    "remember_judged",
    "remember_judged_async",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'memgraph' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
