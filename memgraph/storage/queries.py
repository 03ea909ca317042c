"""The Cypher statements by name, from the folder `cypher/`: in the wheel beside the package, in a checkout beside it."""

from __future__ import annotations

import functools
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from memgraph.errors import UnsupportedError

__all__ = ["names", "root", "statement"]


def root() -> Traversable:
    """The folder that holds the statements."""
    packaged = files("memgraph") / "cypher"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "cypher"


def names(room: str) -> list[str]:
    """The names of the statements of one room ("schema", "write", "read", "browser"), in order."""
    found = [each.name for each in (root() / room).iterdir() if each.name.endswith(".cypher")]
    return sorted(f"{room}/{name.removesuffix('.cypher')}" for name in found)


@functools.cache
def statement(name: str) -> str:
    """The text of a statement, such as "write/remember", without its header comment."""
    try:
        text = (root() / f"{name}.cypher").read_text(encoding="utf-8")
    except OSError:
        raise UnsupportedError(f"this build has no Cypher statement {name!r}", hint="Install it again.") from None
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    return "\n".join(lines).strip().removesuffix(";")
