"""The command line run in this process, on a store of the test's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memgraph.cli.main import cli

Run = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the store that the commands of this test use; it is not there yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORE", str(tmp_path / "memory.db"))
    return tmp_path / "memory.db"


@pytest.fixture
def run(store: Path) -> Run:
    """Run the command in this process; the exit code must be `code`."""

    def call(*arguments: str, code: int = 0, input: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, list(arguments), input=input)
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        return result

    return call


@pytest.fixture
def ask(run: Run) -> Callable[..., Any]:
    """Run the command with --json and return what it answers."""

    def call(*arguments: str, code: int = 0, input: str | bytes | None = None) -> Any:
        return strict(run("--json", *arguments, code=code, input=input).stdout)

    return call


def strict(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)
