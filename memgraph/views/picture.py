"""What a picture of lineage shows: one line or several, and what their memories are related to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from memgraph.models import Edge, Entry, Event, Lineage
from memgraph.rules.caption import caption

__all__ = ["Picture", "is_of_the_past", "title_of", "written_by"]


@dataclass(frozen=True)
class Picture:
    """The lines and what belongs to them.

    title: what the picture is of, in the words of whoever asked: a key, a subject. relations: the RELATES_TO edges of the lines'
    memories. related: the memories at the other ends of these, as far as they are on none of the lines.
    """

    title: str
    namespace: str
    lines: tuple[Lineage, ...]
    relations: tuple[Edge, ...] = ()
    related: tuple[Entry, ...] = ()

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Every memory of the picture by id, in the order of the lines; those that are merely related come last."""
        found = {entry.id: entry for line in self.lines for entry in line.entries}
        return found | {entry.id: entry for entry in self.related if entry.id not in found}

    @cached_property
    def steps(self) -> tuple[Edge, ...]:
        """The SUPERSEDES and RESTORES edges, each once, between memories that the picture shows."""
        edges = dict.fromkeys(edge for line in self.lines for edge in line.edges)
        return tuple(edge for edge in edges if self._shown(edge))

    @cached_property
    def links(self) -> tuple[Edge, ...]:
        """The RELATES_TO edges between memories that the picture shows."""
        return tuple(edge for edge in self.relations if self._shown(edge))

    @cached_property
    def steps_of(self) -> dict[str, list[Edge]]:
        """The steps that begin or end at each memory, by id."""
        return _by_end(self.steps)

    @cached_property
    def links_of(self) -> dict[str, list[Edge]]:
        """The links that begin or end at each memory, by id."""
        return _by_end(self.links)

    @cached_property
    def on_lines(self) -> frozenset[str]:
        """The ids of the memories of the lines."""
        return frozenset(entry.id for line in self.lines for entry in line.entries)

    @cached_property
    def events(self) -> dict[str, list[Event]]:
        """What happened to each memory, by id, in order."""
        found: dict[str, list[Event]] = defaultdict(list)
        for event in dict.fromkeys(event for line in self.lines for event in line.events):
            found[event.id].append(event)
        return found

    def names(self) -> dict[str, str]:
        """A short name for each memory that no content can spoil: m1, m2, …, by id."""
        return {id: f"m{number}" for number, id in enumerate(self.entries, 1)}

    def span(self) -> tuple[datetime, datetime] | None:
        """When the first and the last memory of the lines was recorded; None without any."""
        times = sorted(entry.recorded_at for line in self.lines for entry in line.entries)
        return (times[0], times[-1]) if times else None

    def _shown(self, edge: Edge) -> bool:
        return edge.source_id in self.entries and edge.target_id in self.entries


def _by_end(edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        for id in dict.fromkeys((edge.source_id, edge.target_id)):
            found[id].append(edge)
    return found


def title_of(entry: Entry) -> str:
    """The caption of a memory."""
    return entry.title or caption(entry.content)


def written_by(entry: Entry) -> str:
    """Who wrote a memory, where, and who vouches for it, in words that are not escaped yet."""
    who = entry.actor or entry.source
    through = f" through {entry.source}" if entry.actor and entry.source != "agent" else ""
    where = f" in session {entry.session}" if entry.session else ""
    return f"{who}{through}{where} (trust: {entry.trust.value})"


def is_of_the_past(entry: Entry) -> bool:
    """Whether a key's memory was over before it was recorded, so that it never was the key's current value."""
    return entry.key is not None and entry.valid_to is not None and entry.valid_to <= entry.recorded_at
