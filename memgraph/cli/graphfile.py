"""A namespace's graph as text that other programs read: networkx's node-link JSON, and GraphML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.memory import Memory

__all__ = ["as_graphml", "as_node_link", "collect"]

_NODE_KEYS = ("label", "key", "kind", "status", "recorded_at", "entry")
_EDGE_KEYS = ("label", "type", "weight", "edge")


def collect(memory: Memory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every memory and every edge of the namespace in their JSON form; edges also have `source` and `target`."""
    from memgraph.errors import NotFoundError
    from memgraph.models import Filters

    graph = memory.graph()
    entries = {}
    after = None
    while True:
        page = memory.list(Filters(status="any"), limit=1000, after=after)
        entries.update({entry.id: entry for entry in page})
        after = page.next
        if after is None:
            break
    nodes = []
    for name in graph.nodes:
        try:
            nodes.append((entries.get(name) or memory.get(name)).model_dump(mode="json"))
        except NotFoundError:  # purged in between
            continue
    there = {node["id"] for node in nodes}
    edges = []
    for source, target, key, fields in graph.edges(keys=True, data=True):
        if source in there and target in there:
            edges.append({"source": source, "target": target, "key": key, **_json_fields(fields)})
    return nodes, edges


def _json_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in fields.items()}


def as_node_link(nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The form that `networkx.node_link_graph(data, edges="edges")` reads."""
    return {"directed": True, "multigraph": True, "graph": {}, "nodes": list(nodes), "edges": list(edges)}


def as_graphml(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> str:
    """GraphML, in ASCII. Attributes `entry` and `edge` hold the whole as JSON; the others are for people, escaped.

    Nodes are named by their ids; an id that XML cannot hold is named by its number.
    """
    names = {node["id"]: node["id"] if escape(node["id"]) == node["id"] else f"#{n}" for n, node in enumerate(nodes)}
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for place, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for key in keys:
            kind = "double" if key == "weight" else "string"
            lines.append(f'<key id="{place}-{key}" for="{place}" attr.name="{key}" attr.type="{kind}"/>')
    lines.append('<graph edgedefault="directed">')
    for node in nodes:
        data = {**node, "label": node["title"] or node["content"][:30], "entry": json.dumps(node, allow_nan=False)}
        lines += [f"<node id={_quoted(names[node['id']])}>", *_data("node", _NODE_KEYS, data), "</node>"]
    for number, edge in enumerate(edges):
        data = {**edge, "edge": json.dumps(edge, allow_nan=False)}
        ends = f"source={_quoted(names[edge['source']])} target={_quoted(names[edge['target']])}"
        lines += [f'<edge id="e{number}" {ends}>', *_data("edge", _EDGE_KEYS, data), "</edge>"]
    return "\n".join([*lines, "</graph>", "</graphml>"])


def _data(place: str, keys: Iterable[str], values: dict[str, Any]) -> list[str]:
    return [
        f'<data key="{place}-{key}">{_ascii(xml_escape(escape(str(values[key]))))}</data>'
        for key in keys
        if values.get(key) is not None
    ]


def _quoted(text: str) -> str:
    return _ascii(quoteattr(text))


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode()
