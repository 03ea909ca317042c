"""A lineage as a tree of plain text: the newest memory on top, below each one what it replaced, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from memgraph.models import Edge, Entry, Event, Lineage
from memgraph.views.plain import escape, shorten

__all__ = ["tree"]

_UNICODE = {"now": "●", "past": "○", "line": "│ ", "fork": "├─", "none": "  ", "marker": "…"}
_ASCII = {"now": "*", "past": "o", "line": "| ", "fork": "|-", "none": "  ", "marker": "..."}


def tree(lineage: Lineage, width: int = 72, ascii_only: bool = False) -> str:
    """Draw a lineage.

    A straight line of versions runs down one trunk; what was replaced beside it is drawn as a branch. Under each memory
    stand its status, its dates, its id, what happened to it and the reasons given. Nothing in it can act on a terminal.

    width: how many columns what a memory says, and a reason, may take. ascii_only: draw without box characters.
    """
    marks = _ASCII if ascii_only else _UNICODE
    entries = {entry.id: entry for entry in lineage.entries}
    replaced: dict[str, list[Edge]] = defaultdict(list)  # by the newer memory
    origins: dict[str, str] = {}
    for edge in lineage.edges:
        if edge.label == "SUPERSEDES" and edge.source_id in entries and edge.target_id in entries:
            replaced[edge.source_id].append(edge)
        elif edge.label == "RESTORES":
            origins[edge.source_id] = edge.target_id
    events: dict[str, list[Event]] = defaultdict(list)
    for event in lineage.events:
        events[event.id].append(event)

    older = {edge.target_id for edges in replaced.values() for edge in edges}
    roots = sorted((e for e in lineage.entries if e.id not in older), key=lambda e: e.version)
    lines = [f"{escape(lineage.key) if lineage.key is not None else 'memory'}  (namespace {escape(lineage.namespace)})"]
    if not entries:
        lines.append("nothing is left of it")
    drawn: set[str] = set()
    stack = [("", "", root) for root in roots]  # the newest is taken first
    while stack:
        prefix, turn, entry = stack.pop()
        lead = prefix[: len(prefix) - len(turn)] + turn
        mark = marks["now"] if entry.id == lineage.current else marks["past"]
        lines.append(f"{lead}{mark} {shorten(entry.content, width, marks['marker'])}")
        if entry.id in drawn:
            lines.append(f"{prefix}{marks['none']}{marks['none']}shown above, {escape(entry.id)}")
            continue
        drawn.add(entry.id)
        # The key's own line goes on as the trunk; what was replaced explicitly branches off before it, newest first.
        edges = sorted(replaced[entry.id], key=lambda e: (e.via != "key", entries[e.target_id].version))
        margin = prefix + (marks["line"] if edges else marks["none"]) + marks["none"]
        details = _details(entry, edges, events[entry.id], origins.get(entry.id), width, marks["marker"])
        lines.extend(margin + detail for detail in details)
        for index, edge in enumerate(edges):
            target = entries[edge.target_id]
            stack.append((prefix, "", target) if index == 0 else (prefix + marks["line"], marks["fork"], target))
    return "\n".join(line.rstrip() for line in lines)


def _details(
    entry: Entry, edges: list[Edge], events: list[Event], origin: str | None, width: int, marker: str
) -> Iterator[str]:
    yield f"{entry.status.value}, recorded {_when(entry.recorded_at)}, {escape(entry.id)}"
    if entry.valid_from or entry.valid_to:
        start = f" from {_when(entry.valid_from)}" if entry.valid_from else ""
        yield f"true{start}" + (f" to {_when(entry.valid_to)}" if entry.valid_to else "")
    if entry.expires_at:
        yield f"expires {_when(entry.expires_at)}"
    if origin or entry.restores:
        yield f"restores {escape(origin or entry.restores or '')}"
    reasons = [edge.reason for edge in edges if edge.reason]
    for edge in edges:
        why = f": {shorten(edge.reason, width, marker)}" if edge.reason else ""
        yield f"replaces {escape(edge.target_id)}{why}"
    if entry.reason and entry.reason not in reasons:
        yield f"reason: {shorten(entry.reason, width, marker)}"
    for event in events:
        who = f" by {escape(event.actor)}" if event.actor else ""
        why = f": {shorten(event.reason, width, marker)}" if event.reason else ""
        yield f"{escape(event.cause)} {_when(event.at)}{who}{why}"


def _when(instant: datetime) -> str:
    return f"{instant.isoformat(' ', 'seconds')[:19]} UTC"
