"""What a store shows of itself through the backend protocol, in the shape of `Oracle.view`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from memgraph.backends.base import Backend, Scope
from memgraph.models import Entry, Filters
from tests.oracle import attributes

ANY = Filters(status="any")


def everything(backend: Backend, namespace: str, now: datetime, page: int = 500) -> list[Entry]:
    """Every memory of a namespace, whatever its status, newest first."""
    found: list[Entry] = []
    after = None
    while True:
        part = backend.list(Scope(namespace), ANY, now, page, after)
        found.extend(part)
        after = part.next
        if after is None:
            return found


def edges(backend: Backend, namespace: str, now: datetime) -> Iterator[dict[str, Any]]:
    """SUPERSEDES and RESTORES edges as the lineage calls show them, each time they are shown."""
    starts = {entry.key or entry.id for entry in everything(backend, namespace, now)}
    starts |= {entry.id for entry in everything(backend, namespace, now)}
    for start in sorted(starts):
        found = backend.lineage(namespace, start, now)
        assert found is not None, "everything that is listed has a lineage"
        for edge in found.edges:
            yield edge.model_dump()


def view_of(backend: Backend, namespaces: Iterable[str], now: datetime) -> dict[str, Any]:
    """What the store holds in these namespaces, comparable with the oracle's view."""
    view: dict[str, Any] = {
        "entries": {},
        "lines": set(),
        "supersedes": set(),
        "restores": set(),
        "relations": {},
        "feedback": {},
    }
    for ns in namespaces:
        listed = everything(backend, ns, now)
        ids = [entry.id for entry in listed]
        assert [e.version for e in listed] == sorted((e.version for e in listed), reverse=True), "newest first"
        assert backend.count(Scope(ns), ANY, now) == len(ids) == len(set(ids))
        assert backend.get(ns, ids, now) == {entry.id: entry for entry in listed}, "get and list agree"
        for entry in listed:
            view["entries"][ns, entry.id] = (attributes(entry), str(entry.status))
            if entry.feedback_count:
                view["feedback"][ns, entry.id] = (entry.feedback_count, entry.feedback_sum)
        for edge in edges(backend, ns, now):
            pair = (ns, edge["source_id"], edge["target_id"])
            if edge["label"] == "RESTORES":
                view["restores"].add(pair)
            elif edge["label"] == "SUPERSEDES":
                view["supersedes"].add(pair)
                if edge["via"] == "key":
                    view["lines"].add(pair)
        for edge in backend.relations(ns, ids):
            at = (ns, edge.source_id, edge.target_id, edge.type)
            view["relations"][at] = (edge.version, edge.weight, edge.note)
        assert graph_edges(backend, ns, now) == {
            *(("SUPERSEDES", *pair[1:]) for pair in view["supersedes"] if pair[0] == ns),
            *(("RESTORES", *pair[1:]) for pair in view["restores"] if pair[0] == ns),
            *((f"RELATES_TO:{at[3]}", at[1], at[2]) for at in view["relations"] if at[0] == ns),
        }, "the graph has the edges that the calls show"
    return view


def graph_edges(backend: Backend, namespace: str, now: datetime) -> set[tuple[str, str, str]]:
    """(label[:type], source, target) of every edge of `graph()`; its nodes must be the memories that are listed."""
    graph = backend.graph(Scope(namespace), now)
    assert set(graph.nodes) == {entry.id for entry in everything(backend, namespace, now)}
    return {
        (f"{edge['label']}:{edge['type']}" if edge.get("type") else edge["label"], a, b)
        for a, b, edge in graph.edges(data=True)
    }
