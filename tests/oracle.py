"""The laws as a small executable model: operations in, graph out, in any order, any number of times.

It is the judge of the property tests: every backend must show `Oracle.view()` of the same operations. It is slow and
keeps everything in dictionaries on purpose; it shares nothing with the code it judges but the operations themselves.
Tombstones hold plain values here, keyed hashes in a store.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memgraph.clock import recorded_at
from memgraph.operations import (
    PURGE_FIELDS,
    Operation,
    Purge,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unrelate,
)

RETIRED = ("forgotten", "released", "pruned")
Place = tuple[str, str]  # (namespace, id)


class Oracle:
    """What a store must hold after some operations. Applying reads nothing but tombstones, and those only remove."""

    def __init__(self, operations: Iterable[Operation] = ()) -> None:
        self.remembers: dict[Place, Remember] = {}
        self.life: dict[Place, set[tuple[str, str]]] = {}  # (version, cause)
        self.supersedes: dict[str, Supersede] = {}  # by version
        self.relations: dict[tuple[str, str, str, str], Relate | Unrelate] = {}  # greatest version of (ns, a, b, type)
        self.feedback: dict[Place, dict[str, tuple[str, float]]] = {}  # smallest version of a feedback id
        self.tombs: dict[tuple[str, str, str], str] = {}  # (ns, field, value) -> greatest purge version
        self.buried: set[Place] = set()
        self.slots: dict[tuple[str, str], str] = {}  # (ns, key) -> greatest purged version of the key
        for operation in operations:
            self.apply(operation)

    def apply(self, op: Operation) -> Oracle:
        """Take in one operation."""
        match op:
            case Remember():
                self._remember(op)
            case Supersede():
                if op.new_version > op.old_version:  # never from the smaller to the greater: no cycle can be written
                    self.supersedes[op.version] = op
            case Relate() | Unrelate():
                at = (op.namespace, op.a, op.b, op.type)
                if at not in self.relations or op.version > self.relations[at].version:
                    self.relations[at] = op
            case Retire():
                self.life.setdefault((op.namespace, op.id), set()).add((op.version, op.cause))
            case Restore():
                self.life.setdefault((op.namespace, op.id), set()).add((op.version, "restored"))
            case Reinforce():
                signals = self.feedback.setdefault((op.namespace, op.id), {})
                found = (op.version, op.signal)
                signals[op.feedback_id] = min(found, signals.get(op.feedback_id, found))
            case Purge():
                self._purge(op)
            case _:
                raise AssertionError(f"an operation that the model does not know: {op.op}")
        return self

    def _remember(self, op: Remember) -> None:
        if self._dead(op):  # whatever dies, before or after it came, buries its id for good
            self.buried.add((op.namespace, op.id))
            self._sweep()
        else:  # the same id is the same write; an id with other content is refused at the door
            self.remembers.setdefault((op.namespace, op.id), op)

    def _purge(self, op: Purge) -> None:
        if op.field == "id":
            self.buried.add((op.namespace, op.value))
        else:
            at = (op.namespace, op.field, op.value)
            self.tombs[at] = max(op.version, self.tombs.get(at, ""))
        for key, version in op.heads:
            slot = (op.namespace, key)
            self.slots[slot] = max(version, self.slots.get(slot, ""))
        self._sweep()

    def _dead(self, op: Remember) -> bool:
        """Its id was buried, or a purge of one of its values is as new as it is. A copy stands for its origin."""
        stands_for = op.restores.version if op.restores else op.version
        origin = op.restores.id if op.restores else op.id
        if {(op.namespace, op.id), (op.namespace, origin)} & self.buried:
            return True
        values = ((field, getattr(op, field)) for field in PURGE_FIELDS)
        return any(value and self.tombs.get((op.namespace, field, value), "") >= stands_for for field, value in values)

    def _sweep(self) -> None:
        while dead := [at for at, op in self.remembers.items() if self._dead(op)]:
            for at in dead:
                self.buried.add(at)
                del self.remembers[at]

    # ---- reading: everything is derived

    def entries(self, known_at: datetime | None = None) -> dict[Place, tuple[Remember, str]]:
        """Memories recorded by then (all when None), with the status that was known then."""

        def known(version: str) -> bool:
            return known_at is None or recorded_at(version) <= known_at

        seen = {at: op for at, op in self.remembers.items() if known(op.version)}
        newest: dict[tuple[str, str], str] = dict(self.slots)
        for op in seen.values():
            if op.key and not op.describes_past:
                slot = (op.namespace, op.key)
                newest[slot] = max(op.version, newest.get(slot, ""))
        found = {}
        for at, op in seen.items():
            events = set(self.life.get(at, ()))
            events |= {
                (s.version, "superseded")
                for s in self.supersedes.values()
                if (s.namespace, s.old_id) == at and s.old_version == op.version
            }
            if op.key:  # a key's line knows no restore in place
                events = {event for event in events if event[1] != "restored"}
            last = max((event for event in events if known(event[0])), default=("", ""))[1]
            older = op.key and (op.describes_past or op.version < newest.get((op.namespace, op.key), ""))
            if last in RETIRED:
                status = last
            elif last == "superseded" or older:
                status = "superseded"
            else:
                status = "active"
            found[at] = (op, status)
        return found

    def slots_used(self) -> set[tuple[str, str]]:
        """Every (namespace, key) that a memory has."""
        return {(op.namespace, op.key) for op in self.remembers.values() if op.key}

    def current(self, namespace: str, key: str, now: datetime, known_at: datetime | None = None) -> str | None:
        """The id of the key's active, unexpired memory."""
        live = [
            op
            for op, status in self.entries(known_at).values()
            if (op.namespace, op.key) == (namespace, key) and status == "active"
        ]
        assert len(live) <= 1, "law 1: at most one active memory a key"
        return live[0].id if live and not (live[0].expires_at and live[0].expires_at <= now) else None

    def line(self, namespace: str, key: str) -> list[tuple[str, str]]:
        """(newer, older) ids of a key's SUPERSEDES edges: one line in version order."""
        line = sorted(
            (
                op
                for op in self.remembers.values()
                if (op.namespace, op.key) == (namespace, key) and not op.describes_past
            ),
            key=lambda op: op.version,
        )
        return [(newer.id, older.id) for older, newer in itertools.pairwise(line)]

    def valid_at(self, namespace: str, key: str, at: datetime, known_at: datetime | None = None) -> str | None:
        """What was true in the world: the greatest version, not forgotten, whose interval holds the instant."""
        versions = [
            op
            for op, status in self.entries(known_at).values()
            if (op.namespace, op.key) == (namespace, key) and status in ("active", "superseded")
        ]

        def start(op: Remember) -> datetime:
            return op.valid_from or recorded_at(op.version)

        def end(op: Remember) -> datetime | None:
            if op.valid_to:
                return op.valid_to
            later = [start(o) for o in versions if start(o) > start(op) and (o.valid_from or o.version > op.version)]
            return min(later, default=None)

        true = [op for op in versions if start(op) <= at and not ((until := end(op)) and until <= at)]
        return max(true, key=lambda op: op.version).id if true else None

    def view(self) -> dict[str, Any]:
        """Everything that two stores must agree on, comparable with `tests.views.view_of`."""
        entries = self.entries()
        lines = {(ns, *pair) for ns, key in self.slots_used() for pair in self.line(ns, key)}
        explicit = {(s.namespace, s.new_id, s.old_id) for s in self.supersedes.values()}
        return {
            "entries": {at: (attributes(op), status) for at, (op, status) in entries.items()},
            "lines": lines,
            "supersedes": lines | {(ns, a, b) for ns, a, b in explicit if (ns, a) in entries and (ns, b) in entries},
            "restores": {
                (op.namespace, op.id, op.restores.id)
                for op in self.remembers.values()
                if op.restores and (op.namespace, op.restores.id) in entries
            },
            "relations": {
                (ns, a, b, type): (op.version, op.weight, op.note)
                for (ns, a, b, type), op in self.relations.items()
                if isinstance(op, Relate) and (ns, a) in entries and (ns, b) in entries
            },
            "feedback": {
                at: (len(signals), sum(signal for _, signal in signals.values()))
                for at, signals in self.feedback.items()
                if at in entries
            },
        }


ATTRIBUTES = (
    *(
        "version",
        "content",
        "key",
        "kind",
        "subject",
        "title",
        "tags",
        "aliases",
        "metadata",
        "source",
        "actor",
        "session",
    ),
    *("trust", "pinned", "confidence", "valid_from", "valid_to", "expires_at"),
)


def attributes(memory: Any) -> tuple[Any, ...]:
    """What an operation says about a memory and an entry shows of it; `restores` is the origin's id in both."""
    origin = memory.restores.id if isinstance(memory, Remember) and memory.restores else memory.restores
    return (*(getattr(memory, name) for name in ATTRIBUTES), origin)
