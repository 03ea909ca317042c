"""What somebody who edits the graph by hand can do to a memory's node, judged by its properties, labels and edges alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from memgraph.clock import parse_version, recorded_at
from memgraph.errors import InvalidInputError, StoreCorruptError
from memgraph.models import Status, Trust
from memgraph.rules import lineage

__all__ = [
    "LABELS",
    "Verdict",
    "corrections",
    "is_memory",
    "is_version",
    "judge",
    "life",
    "readable",
    "sound_edge",
    "status_of",
    "whole_life",
]

LABELS: Final = {
    "active": "Active",
    "superseded": "Superseded",
    "forgotten": "Forgotten",
    "released": "Expired",
    "pruned": "Expired",
}
_OURS: Final = frozenset(LABELS.values())
_EVENT: Final = re.compile(
    r"[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{8}\|(forgotten|released|pruned|restored|superseded)(\||\Z)"
)
_TEXTS: Final = {"kind": "fact", "title": "", "source": "agent"}
_MAYBE_TEXTS: Final = (
    "subject",
    "actor",
    "session",
    "reason",
    "changeset",
    "origin",
    "origin_version",
    "embedding_model",
)
_SUMS: Final = ("feedback_count", "feedback_sum")  # made anew from the feedback itself when more of it comes
_TIMES: Final = ("valid_from", "valid_to", "expires_at")
_TRUSTS: Final = frozenset(trust.value for trust in Trust)


@dataclass
class Verdict:
    """What is wrong with one memory: codes as in `check.py`, and what it must be."""

    id: str
    key: str | None = None
    codes: set[str] = field(default_factory=set)
    status: str = ""
    number: int | None = None
    version: str = ""
    active: bool = False


def is_version(value: object) -> bool:
    """Whether a property can be a version: one that a clock gave, before the year 10000."""
    try:
        return isinstance(value, str) and bool(parse_version(value))
    except InvalidInputError:
        return False


def is_memory(row: Mapping[str, Any]) -> bool:
    """Whether a node's properties can be those of a memory that a write of ours made: with a version and a content."""
    version, key = row.get("version"), row.get("key")
    return is_version(version) and bool(row.get("content")) and (key is None or isinstance(key, str))


def _is_event(text: str) -> bool:
    return bool(_EVENT.match(text)) and is_version(text.partition("|")[0])


def life(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The (version, cause) events of a memory that count, in order; what is none is left out."""
    found = []
    for event in row.get("life") or ():
        if isinstance(event, str) and _is_event(event):
            version, cause, *old = event.split("|")
            if not old or old[0] == row["version"]:
                found.append((version, cause))
    return found


def corrections(row: Mapping[str, Any]) -> dict[str, Any]:
    """What must be set on a memory's node so that it can be read: defaults for what was removed or is of another kind."""
    found: dict[str, Any] = {}
    found |= {name: default for name, default in _TEXTS.items() if not isinstance(row.get(name), str)}
    found |= {name: None for name in _MAYBE_TEXTS if not isinstance(row.get(name), str | None)}
    found |= {name: None for name in _TIMES if not isinstance(row.get(name), datetime | None)}
    found |= {name: [] for name in ("tags", "aliases") if not _are_texts(row.get(name))}
    if not _is_object(row.get("metadata")):
        found["metadata"] = "{}"
    if not isinstance(row.get("trust"), str) or row["trust"] not in _TRUSTS:
        found["trust"] = Trust.AGENT.value
    if not isinstance(row.get("pinned"), bool):
        found["pinned"] = False
    confidence = row.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        found["confidence"] = 0.8
    if not isinstance(row.get("recorded_at"), datetime):
        found["recorded_at"] = recorded_at(row["version"])
    return found | whole_life(row)


def readable(row: Mapping[str, Any], superseded_by: str | None) -> dict[str, Any]:
    """A memory's properties as well as they can be read after somebody changed them. Raises StoreCorruptError if they cannot."""
    if not is_memory(row):
        raise StoreCorruptError(
            f"a node in namespace {row.get('namespace')!r} is labelled Memory and is none",
            hint="Run `memgraph doctor --repair`.",
        )
    found = {**row, **corrections(row)}
    found |= {name: 0 for name in _SUMS if not isinstance(row.get(name), int | float | None)}
    if found.get("status") not in LABELS:
        keyed = row.get("key") is not None
        found["status"] = lineage.status(life(row), keyed, superseded_by is not None).value
    return found


def status_of(text: object) -> Status:
    """The status that a node says it has; superseded where somebody spoiled it: never current by mistake."""
    return Status(text) if text in LABELS else Status.SUPERSEDED


def sound_edge(row: Mapping[str, Any]) -> dict[str, Any]:
    """An edge's values as well as they can be read after somebody drew or changed it by hand."""
    weight, texts = row["weight"], {name: row[name] for name in ("type", "note", "reason") if name in row}
    found = {**row, **{name: value if isinstance(value, str) else None for name, value in texts.items()}}
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, int | float)):
        found["weight"] = 1.0
    if row.get("via") not in ("key", "explicit", None):
        found["via"] = None
    return found


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _is_object(value: object) -> bool:
    try:
        return isinstance(value, str) and isinstance(json.loads(value), dict)
    except ValueError:
        return False


def whole_life(row: Mapping[str, Any]) -> dict[str, Any]:
    """`life` and `notes` of one length, with events only; nothing if they are."""
    events, notes = row.get("life") or [], row.get("notes") or []
    sound = _are_texts(events) and all(map(_is_event, events))
    if sound and len(events) == len(notes) and all(map(_is_object, notes)):
        return {}
    kept = [event for event in events if isinstance(event, str) and _is_event(event)] if _are_texts(events) else []
    same = len(events) == len(notes) and _are_texts(notes)
    by_event = dict(zip(events, notes, strict=True)) if same and _are_texts(events) else {}
    kept = sorted(set(kept))
    texts = [by_event[event] if _is_object(by_event.get(event)) else "{}" for event in kept]
    return {"life": kept or None, "notes": texts or None}


def judge(row: Mapping[str, Any], slot: str | None) -> Verdict:
    """Compare what stands in the graph about one memory (a row of `read/check_memories`) with what its versions say.

    slot: the greatest purged version of its key, by the tombstones. That of a place, on which operations wait, has no version.
    """
    memory, labels = row["memory"], frozenset(row["labels"])
    found = Verdict(memory["id"], version=memory.get("version") or "")
    if memory.get("version") is None:
        if labels & _OURS or any(memory.get(name) for name in ("content", "key", "status", "kind", "title")):
            found.codes.add("place")
        return found
    if not is_memory(memory):
        found.codes.add("made")
        found.version = ""
        return found
    key = found.key = memory.get("key")
    if corrections(memory):
        found.codes.add("fields")
    past = bool(memory.get("past"))
    replaced = past or (key is not None and (row["replaced"] or found.version < (slot or "")))
    found.status = lineage.status(life(memory), key is not None, replaced).value
    found.active = memory.get("status") == Status.ACTIVE.value or "Active" in labels
    if memory.get("status") != found.status:
        found.codes.add("status")
    if labels & (_OURS | {"Memory"}) != {"Memory", LABELS.get(str(memory.get("status")), "")}:
        found.codes.add("label")
    if _off_the_line(row, found, past, slot):
        found.codes.add("line")
    number = memory.get("seq")
    found.number = number if isinstance(number, int) and not isinstance(number, bool) else None
    if not found.number:
        found.codes.add("number")
    return found


def _off_the_line(row: Mapping[str, Any], found: Verdict, past: bool, slot: str | None) -> bool:
    """Whether the edges of a memory to its key and along the key's line are others than its version says."""
    key, on_line = found.key, found.key is not None and not past
    newest = on_line and not row["replaced"]
    wanted = {
        "current": [key] if key is not None and found.status == Status.ACTIVE else [],
        "latest": [key] if newest else [],
        "pasts": [key] if past else [],
        "above": int(on_line and not newest),
        "below": [row["before"]] if on_line and row["before"] is not None else [],
    }
    if any(row[name] != value for name, value in wanted.items()):
        return True
    return key is not None and row["slot"] != slot
