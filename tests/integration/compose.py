"""docker/compose.yaml as data, and its settings in the words of neo4j.conf."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "docker" / "compose.yaml"
NO_SETTINGS = ("NEO4J_AUTH",)  # read by the image's start script


def service(name: str = "neo4j") -> dict[str, Any]:
    """A service of the file."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"][name]
    return found


def filled_in(text: str, environ: dict[str, str]) -> str:
    """A value with its variables, as Compose does it: `${A}`, `${A:-default}`, `${A:?what is missing}`; `$$` is a dollar sign."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        found = environ.get(match[1], "")
        if not found and match[2] == ":?":
            raise KeyError(match[3])
        return found or (match[3] if match[2] == ":-" else "")

    return re.sub(r"\$\$|\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)


def settings(environ: dict[str, str]) -> dict[str, str]:
    """The lines of neo4j.conf that the image makes: NEO4J_a_b__c is a.b_c."""
    found = {}
    for name, text in service()["environment"].items():
        if name not in NO_SETTINGS:
            words = name.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".").replace("\0", "_")
            found[words] = filled_in(text, environ)
    return found
