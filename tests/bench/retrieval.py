"""Retrieval quality through the public API, on a data folder that is not part of this project.

    python -m tests.bench.retrieval FOLDER locomo
    python -m tests.bench.retrieval FOLDER factcon [--no-keys]
    python -m tests.bench.retrieval FOLDER locomo --primary bolt://127.0.0.1:7687     (no auth; a namespace of its own a store)

FOLDER holds `evaluate.py` (a harness with `evaluate`, `table` and `show`) and one folder a data set, each with `corpus.jsonl`
and `queries.jsonl`. `Adapter` may also be handed to the harness by name: `tests.bench.retrieval:Adapter`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memgraph import Memory
from memgraph.clock import new_id


class Adapter:
    """A fresh store as the harness wants it: in memory, or a fresh namespace of the primary."""

    primary: str | None = None

    def __init__(self) -> None:
        if self.primary is None:
            self.memory = Memory.open(":memory:", preload=False)
        else:
            from memgraph.backends.neo4j.backend import Neo4jBackend

            self.memory = Memory(Neo4jBackend(self.primary, timeout=10.0), namespace=("bench", new_id()))

    def add(self, items: list[dict[str, Any]]) -> None:
        """Remember turns or facts in the order given."""
        rows = [
            {
                "content": item["content"],
                "id": item["id"],
                "key": item.get("key"),
                "actor": item.get("speaker") or None,
                "session": item["session"],
                "valid_from": datetime.fromisoformat(item["time"]).replace(tzinfo=UTC) if item.get("time") else None,
            }
            for item in items
        ]
        for start in range(0, len(rows), 1000):
            self.memory.remember_many(rows[start : start + 1000])

    def search(self, query: str, k: int = 10) -> list[str]:
        """The ids of the best `k`."""
        return [hit.entry.id for hit in self.memory.search(query, limit=k)]

    def close(self) -> None:
        """Drop the store."""
        self.memory.close()


def main() -> None:
    """Run the harness and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data")
    parser.add_argument("--no-keys", action="store_true", help="hide the keys from the store")
    parser.add_argument("--primary", metavar="URI", help="search on this Neo4j server instead of locally")
    asked = parser.parse_args()
    Adapter.primary = asked.primary
    spec = importlib.util.spec_from_file_location("evaluate", asked.folder / "evaluate.py")
    assert spec is not None
    assert spec.loader is not None
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    cuts = [1, 5, 10, 20]
    rows, timing = harness.evaluate(Adapter, asked.folder / asked.data, ks=cuts, keys=not asked.no_keys)
    harness.show(harness.table(rows), timing, cuts, sys.stdout)


if __name__ == "__main__":
    main()
