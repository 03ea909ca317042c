"""The live graph: a networkx MultiDiGraph over the tables, held in step by the change log.

Nodes are the integers `memory.seq`, edges are keyed "SUPERSEDES", "RESTORES" or "RELATES_TO:<type>". Attributes are light and
shared between nodes and edges that are alike; content stays in the file. After the first load the graph is changed only by
`catch_up`, for this process's writes and another's alike, so that replaying the log must equal reading the tables.
"""

from __future__ import annotations

import gc
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import networkx as nx

from memgraph.backends.local.apply import GONE, MEMORY

__all__ = ["LiveGraph", "built"]

_NODES: Final = "select seq, ns, status from memory where version is not null"
_LINES: Final = (
    "select seq, before from (select seq, lag(seq) over (partition by ns, key order by version) as before from memory"
    " where key is not null and past = 0 and version is not null) where before is not null"
)
_EXPLICIT: Final = "select superseding, seq from life where superseding is not null"
_RELATIONS: Final = "select a, b, type from relation where gone = 0"
_RESTORES: Final = (
    "select m.seq, o.seq from memory m join memory o on o.ns = m.ns and o.id = m.restores_id and o.version is not null"
    " where m.restores_id is not null"
)
_RELOAD_AT: Final = 20_000  # a log longer than this is slower to replay than the tables are to read


class LiveGraph:
    """The graph of a store. Hold `lock` around `catch_up` and whatever is read from `graph`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        self.lsn = -1
        self._nodes: dict[tuple[int, int], dict[str, int]] = {}
        self._edges: dict[str, dict[str, str]] = {}

    @property
    def loaded(self) -> bool:
        """Whether the tables were read once."""
        return self.lsn >= 0

    def catch_up(self, connection: sqlite3.Connection) -> None:
        """Bring the graph to the instant of the connection's snapshot."""
        row = connection.execute("select min(lsn), max(lsn) from change").fetchone()
        first, last = (row[0] or 0), (row[1] or 0)
        if self.lsn < 0 or last - self.lsn > _RELOAD_AT or first > self.lsn + 1:
            self._load(connection)
        elif last > self.lsn:
            rows = connection.execute(
                "select what, a from change where lsn > ? group by what, a order by min(lsn)", (self.lsn,)
            ).fetchall()
            for what, a in rows:
                if what == GONE:
                    if a in self.graph:
                        self.graph.remove_node(a)
                elif what == MEMORY:
                    self._refresh(connection, a)
                else:
                    self._refresh_edges(connection, a)
        self.lsn = last

    def differences(self, connection: sqlite3.Connection) -> int:
        """How many nodes and edges differ from what the tables say; 0 is right."""
        self.catch_up(connection)
        fresh = LiveGraph()
        fresh.catch_up(connection)
        mine = dict(self.graph.nodes(data=True)), set(self.graph.edges(keys=True))
        theirs = dict(fresh.graph.nodes(data=True)), set(fresh.graph.edges(keys=True))
        nodes = sum(mine[0].get(n) != theirs[0].get(n) for n in mine[0].keys() | theirs[0])
        return len(mine[1] ^ theirs[1]) + int(nodes)

    def around(self, start: int, depth: int, labels: frozenset[str] | None, active_only: bool) -> dict[int, int]:
        """The nodes at most `depth` edges from `start` in either direction, with their distance.

        labels: only edges whose label is one of these. active_only: do not enter memories that are not active.
        """
        graph, found, queue = self.graph, {start: 0}, deque([start])
        if start not in graph:
            return {}
        while queue:
            node = queue.popleft()
            if found[node] == depth:
                continue
            for side in (graph._succ, graph._pred):
                for other, keys in side[node].items():
                    if (
                        other not in found
                        and (labels is None or any(edge["label"] in labels for edge in keys.values()))
                        and (not active_only or graph._node[other]["status"] == 0)
                    ):
                        found[other] = found[node] + 1
                        queue.append(other)
        return found

    def among(self, nodes: Iterable[int]) -> list[tuple[int, int, str]]:
        """The edges whose two ends are among these nodes."""
        inside = set(nodes)
        return [(a, b, key) for a in inside for b, keys in self.graph._succ[a].items() if b in inside for key in keys]

    # ---- reading the tables

    def _load(self, connection: sqlite3.Connection) -> None:
        """Read everything. Fills networkx's own dictionaries: half the time of its methods (a test compares the two)."""
        collect = gc.isenabled()
        gc.disable()
        try:
            graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
            nodes, succ, pred = graph._node, graph._succ, graph._pred
            for seq, ns, status in connection.execute(_NODES):
                nodes[seq] = self._node(ns, status)
                succ[seq] = {}
                pred[seq] = {}
            for query, key in (
                (_LINES, "SUPERSEDES"),
                (_EXPLICIT, "SUPERSEDES"),
                (_RESTORES, "RESTORES"),
                (_RELATIONS, ""),
            ):
                for a, b, *type in connection.execute(query):
                    if a in nodes and b in nodes:
                        name = key or f"RELATES_TO:{type[0]}"
                        keys = succ[a].get(b)
                        if keys is None:
                            keys = succ[a][b] = pred[b][a] = {}
                        keys[name] = self._edge(name)
            self.graph = graph
        finally:
            if collect:
                gc.enable()

    def _node(self, ns: int, status: int) -> dict[str, int]:
        return self._nodes.setdefault((ns, status), {"ns": ns, "status": status})

    def _edge(self, key: str) -> dict[str, str]:
        found = self._edges.get(key)
        if found is None:
            label, _, type = key.partition(":")
            found = self._edges[key] = {"label": label, "type": type} if type else {"label": label}
        return found

    # ---- following the log

    def _refresh(self, connection: sqlite3.Connection, seq: int) -> None:
        row = connection.execute("select ns, status, version from memory where seq = ?", (seq,)).fetchone()
        if row is None or row[2] is None:
            return
        known = seq in self.graph
        if not known:
            self.graph.add_node(seq)
        self.graph._node[seq] = self._node(row[0], row[1])
        self._refresh_edges(connection, seq)
        if not known:
            for other in self._sources(connection, seq):
                self._refresh_edges(connection, other)

    def _sources(self, connection: sqlite3.Connection, seq: int) -> set[int]:
        """The memories that may have an edge to a new one."""
        rows = connection.execute(
            "select * from (select n.seq from memory m join memory n on n.ns = m.ns and n.key = m.key and n.past = 0 and m.past = 0"
            " and n.version > m.version where m.seq = ?1 order by n.version limit 1)"
            " union select superseding from life where seq = ?1 and superseding is not null"
            " union select a from relation where b = ?1"
            " union select n.seq from memory m join memory n on n.ns = m.ns and n.restores_id = m.id where m.seq = ?1",
            (seq,),
        )
        return {a for (a,) in rows}

    def _refresh_edges(self, connection: sqlite3.Connection, seq: int) -> None:
        if seq not in self.graph:
            return
        rows = connection.execute(
            "select * from (select n.seq, 'SUPERSEDES' from memory m join memory n on n.ns = m.ns and n.key = m.key and n.past = 0"
            " and m.past = 0 and n.version < m.version where m.seq = ?1 order by n.version desc limit 1)"
            " union select seq, 'SUPERSEDES' from life where superseding = ?1"
            " union select b, 'RELATES_TO:' || type from relation where a = ?1 and gone = 0"
            " union select n.seq, 'RESTORES' from memory m join memory n on n.ns = m.ns and n.id = m.restores_id where m.seq = ?1",
            (seq,),
        ).fetchall()
        graph = self.graph
        wanted = {(b, key) for b, key in rows if b in graph}
        have = {(b, key) for b, keys in graph._succ[seq].items() for key in keys}
        graph.remove_edges_from([(seq, b, key) for b, key in have - wanted])
        for b, key in wanted - have:
            graph.add_edge(seq, b, key=key)
            graph._succ[seq][b][key] = self._edge(key)


def built(
    nodes: Iterable[tuple[Any, dict[str, Any]]], edges: Iterable[tuple[Any, Any, str, dict[str, Any]]]
) -> nx.MultiDiGraph[Any]:
    """A frozen graph that a caller may keep."""
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return nx.freeze(graph)
