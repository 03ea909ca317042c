"""The public surface: what is exported, that the two faces are equal, and that the command line has every verb."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest

import memgraph
from memgraph import AsyncMemory, Memory
from memgraph.cli.main import cli

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
NOT_VERBS = {"open", "from_env", "namespace", "path", "backend", "close", "degraded"}
VERBS = sorted(name for name in vars(Memory) if not name.startswith("_") and name not in NOT_VERBS)
NAMED_OTHERWISE = {
    "check": "doctor",
    "set_up": "init",
    "export_to": "export",
    "import_from": "import",
    "plan_import": "import",
}
NAMED_OTHERWISE |= dict.fromkeys(
    ("sync_diff", "sync_repair", "dead_letters", "retry_dead_letters", "drop_dead_letters"), "sync"
)
NAMED_OTHERWISE |= {"restorable": "restore", "verify_purge": "purge", "holds": "hold", "lift_hold": "hold"}
BESIDE = {"tour", "config", "completion", "browser"}


def command_of(verb: str) -> str:
    return NAMED_OTHERWISE.get(verb, verb.replace("_", "-"))


def test_all_is_sorted_and_there() -> None:
    """`__all__` is sorted, and each name in it can be had and says what it is."""
    assert memgraph.__all__ == sorted(memgraph.__all__)
    for name in memgraph.__all__:
        assert inspect.getdoc(getattr(memgraph, name)), name


@pytest.mark.parametrize("verb", [*VERBS, "close"])
def test_sync_and_async_are_equal(verb: str) -> None:
    """The async face has each verb with the same parameters."""
    ours, theirs = getattr(Memory, verb), getattr(AsyncMemory, verb)
    assert inspect.iscoroutinefunction(theirs)
    assert list(inspect.signature(ours).parameters.values()) == list(inspect.signature(theirs).parameters.values())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented(verb: str) -> None:
    """A verb has a docstring that names each parameter, and stands in the README."""
    method = getattr(Memory, verb)
    assert inspect.getdoc(method)
    assert f"`{verb}" in README, f"{verb} is missing in the README's table"


@pytest.mark.parametrize("name", sorted({command_of(verb) for verb in VERBS} | BESIDE))
def test_every_verb_is_a_command(name: str) -> None:
    """The command exists, and its help holds an example."""
    context = click.Context(cli, **cli.context_settings)
    command = cli.get_command(context, name)
    assert command is not None, f"no command {name}"
    text = command.get_help(click.Context(command, info_name=name, parent=context))
    assert re.search(r"memgraph .*" + re.escape(name), text), f"{name}: help without an example"
