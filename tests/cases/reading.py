"""Reads the input files beside this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "inputs"


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def document(name: str) -> Any:
    """A JSON file."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def table(name: str) -> list[list[str]]:
    """The rows of a tab-separated file, without its heading."""
    return [line.split("\t") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()[1:]]
