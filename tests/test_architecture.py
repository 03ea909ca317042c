"""The one-way street: which room may import which, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memgraph"
FILES = sorted(PACKAGE.rglob("*.py"))

VALUES = {"errors", "checks", "clock", "inplace", "models", "operations", "textlines", "threads"}
BELOW = {  # a room may import itself, values, and these
    "values": set(),
    "telemetry": set(),
    "config": {"default_store"},
    "rules": set(),
    "views": {"rules"},
    "storage": set(),
    "backends.base": set(),
    "backends.local": {"backends.base", "rules", "storage"},
    "backends.neo4j": {"backends.base", "rules", "storage"},
    "backends.composite": {"backends.base", "backends.local", "backends.neo4j", "ledger", "rules", "storage"},
    "interchange": set(),
    "ledger": {"backends.base", "rules"},
    "importing": {"backends.base", "interchange", "ledger", "rules"},
    "receipts": set(),
    "memory": {
        "backends.base",
        "backends.local",
        "backends.neo4j",
        "backends.composite",
        "rules",
        "interchange",
        "importing",
        "ledger",
        "receipts",
        "config",
    },
    "aio": {"memory"},
    "integrations": {"memory", "importing"},
    "agent": {"memory", "aio", "rules", "telemetry"},
    "admin": {"memory", "backends.base", "ledger", "rules"},
    "browser": {"storage"},
    "cli": {"memory", "receipts", "views", "rules", "config", "telemetry", "integrations", "admin", "agent", "browser"},
    "__init__": {"aio", "memory", "agent"},
    "__main__": {"cli"},
}
OUTSIDE = {  # who may import a heavy library
    "neo4j": {"memgraph.storage.bolt", "memgraph.storage.bolt_errors"},
    "networkx": {
        "memgraph.backends.local",
        "memgraph.backends.neo4j",
        "memgraph.backends.composite",
        "memgraph.backends.base",
        "memgraph.memory",
        "memgraph.cli",
    },
    "sqlite3": {"memgraph.storage", "memgraph.backends.local"},
    "rich": {"memgraph.cli"},
    "click": {"memgraph.cli"},
}


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__") if name != "memgraph.__init__" else name


def room_of(module: str) -> str:
    parts = module.split(".")[1:]
    if not parts:
        return "__init__"
    if parts[0] in VALUES:
        return "values"
    if parts[0] == "backends":
        return ".".join(parts[:2]) if len(parts) > 1 else "backends.base"
    return parts[0]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            if node.module.startswith("memgraph"):
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from (
                    name for name in names if (PACKAGE.parent / Path(*name.split("."))).with_suffix(".py").exists()
                )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_room_imports_upward(path: Path) -> None:
    """Data goes down as operations and comes back as entries; no layer calls upward."""
    module = module_of(path)
    room = room_of(module)
    for name in imports(path):
        if name.split(".")[0] != "memgraph" or name == "memgraph":
            continue
        other = room_of(name)
        assert other in {room, "values"} | BELOW[room], f"{module} ({room}) imports {name} ({other})"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    """Sockets, graphs and SQL are known to one room each."""
    module = module_of(path)
    for name in imports(path):
        allowed = OUTSIDE.get(name.split(".")[0])
        if allowed is not None:
            assert any(module == room or module.startswith(room + ".") for room in allowed), f"{module} imports {name}"
