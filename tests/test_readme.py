"""What the README shows is what happens."""

from __future__ import annotations

import builtins
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import memgraph.agent
from memgraph import ConsolidationReport, LearnConfig, LearnSession, Memory

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMGRAPH_")}
    environ |= {"MEMGRAPH_STORE": str(folder / "agent.db"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_the_two_commands_are_there() -> None:
    """A fresh clone needs one command to see it work and one to test it."""
    assert "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/memgraph tour" in README
    assert "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest -q" in README


def test_the_program_runs(tmp_path: Path) -> None:
    """The first Python block is a whole program of about ten lines; what its comments say comes out."""
    program = blocks("python")[0]
    assert len([line for line in program.splitlines() if line.strip()]) <= 12
    done = run([sys.executable, "-c", program], tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"print\(.*?\) +# (.*)", program):
        assert shown.strip() in done.stdout.splitlines(), shown


def test_the_agent_runs(tmp_path: Path) -> None:
    """So is the one with a learning session."""
    (program,) = [block for block in blocks("python") if "LearnSession" in block]
    done = run([sys.executable, "-c", program], tmp_path)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"print\(.*?\) +# (.*)", program)
    assert done.stdout.splitlines() == [line.strip() for line in shown]
    assert len(shown) == 2


def counterparts() -> list[str]:
    table = README.partition("## Coming from")[2].partition("\n## ")[0]
    here = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ") and "there | here" not in line]
    return sorted({name for cell in here for name in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)(?:`|\()", cell)})


@pytest.mark.parametrize("name", counterparts())
def test_every_counterpart_is_there(name: str) -> None:
    """What the table names for those who come from the seeds is a verb, a hook, a field or a setting of ours."""
    head, _, tail = name.partition(".")
    settings = {*inspect.signature(LearnConfig).parameters, *inspect.signature(LearnSession).parameters}
    if tail:
        assert hasattr(getattr(memgraph, head), tail)
    else:
        known = any(hasattr(owner, head) for owner in (Memory, LearnSession, memgraph.agent, builtins))
        assert known or head in settings or head in ConsolidationReport.model_fields


def session() -> list[tuple[str, str]]:
    found = []
    for part in re.split(r"^\$ ", blocks("console")[0], flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        found.append((command, shown))
    return found


def test_the_session_runs(tmp_path: Path) -> None:
    """Each command of the console session succeeds and prints what is shown; ids and times are written as `…`."""
    assert len(session()) >= 5
    for command, shown in session():
        words = shlex.split(command)
        assert words[0] == "memgraph"
        done = run([sys.executable, "-m", "memgraph", *words[1:]], tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        for line in filter(None, map(str.rstrip, shown.splitlines())):
            pattern = ".*".join(re.escape(piece) for piece in line.split("…"))
            assert re.search(rf"^{pattern}\s*$", done.stdout + done.stderr, re.MULTILINE), (command, line, done.stdout)


@pytest.mark.parametrize("name", ["CHANGELOG.md", "LICENSE", "cypher", "docker", "tests", "memgraph", "pyproject.toml"])
def test_the_top_level_is_as_promised(name: str) -> None:
    """The folders and files that a newcomer looks for."""
    assert (Path(__file__).parents[1] / name).exists()
