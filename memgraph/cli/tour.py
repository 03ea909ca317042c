"""The guided tour: it runs every line that it shows, on a store of its own, and fails if one does not do what it says."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from memgraph.cli.call import Call, RefusedError, pass_call, say, verb
from memgraph.cli.output import bold, can_draw
from memgraph.views.plain import escape, escape_lines

__all__ = ["STEPS", "Step", "bytes_left", "tour_command", "write_until_killed"]

_ENOUGH: Final = 25  # acknowledged writes before the kill
_TICK: Final = 0.005  # seconds between steps, so that each has an instant of its own
_WRITER: Final = """
import sys
from memgraph import Memory
memory = Memory.open(sys.argv[1], preload=False)
while True:
    print(memory.remember("a note of the writer").id, flush=True)
"""


@dataclass(frozen=True)
class Step:
    """Lines of Python that are shown and run, and what must hold then: an expression over `result`, the last value."""

    title: str
    lines: tuple[str, ...]
    holds: str


STEPS: Final = (
    Step(
        "Remember a fact under a key, in a file that is there when the call returns",
        ("memory = Memory.open(path)", 'porto = memory.remember("Porto", key="ada/city")', "porto.content"),
        'result == "Porto" and porto.status == "active"',
    ),
    Step(
        "Correct it: the latest write of a key wins",
        (
            'berlin = memory.remember("Berlin", key="ada/city", reason="she moved in May")',
            'memory.current("ada/city").content',
        ),
        'result == "Berlin"',
    ),
    Step(
        "Search finds what is current, and no stale Porto",
        (
            '[hit.entry.content for hit in memory.search("ada city")]',
            '[hit.entry.content for hit in memory.search("Porto")]',
        ),
        'result == [] and [hit.entry.content for hit in memory.search("ada city")] == ["Berlin"]',
    ),
    Step(
        "Nothing is lost: the lineage says what replaced what, and why",
        ('tree(memory.lineage("ada/city"))',),
        '"Berlin" in result and "Porto" in result and "she moved in May" in result',
    ),
    Step(
        "Ask what was known before the correction",
        ('memory.current("ada/city", known_at=porto.recorded_at).content',),
        'result == "Porto"',
    ),
    Step(
        "Relate memories, and walk from one to the next",
        (
            'bridge = memory.remember("Ada builds a bridge over the Spree", subject="ada")',
            'edge = memory.relate(berlin.id, bridge.id, type="because_of")',
            "[entry.content for entry in memory.neighbours(berlin.id).entries]",
        ),
        "result == [bridge.content]",
    ),
    Step(
        "Forget it, and bring it back",
        (
            'memory.forget(key="ada/city").status.value',
            'memory.current("ada/city") is None',
            "memory.restore(berlin.id).content",
        ),
        'result == "Berlin" and memory.current("ada/city").content == "Berlin"',
    ),
    Step(
        "Kill a writing process in the middle, reopen: what was acknowledged is there",
        (
            "memory.close()",
            "acknowledged = write_until_killed(path)",
            "memory = Memory.open(path)",
            "there = {entry.id for entry in memory.list(limit=10_000)}",
            'f"{len(acknowledged)} acknowledged, {len(acknowledged - there)} lost"',
        ),
        'len(acknowledged) > 0 and result.endswith(", 0 lost")',
    ),
    Step(
        "Purge it for good: a receipt, and no byte of it in any file",
        (
            'receipt = memory.purge({"key": "ada/city"})',
            "receipt.removed",
            'bytes_left(path, "Porto", "Berlin", "ada/city", "she moved in May")',
        ),
        'result == 0 and receipt.removed["memories"] == 3 and memory.current("ada/city") is None',
    ),
)
_NEXT: Final = (
    "Where to go next:",
    "  memgraph remember Porto --key ada/city    write to your own store",
    "  memgraph search where is ada              ask it",
    "  memgraph config                           see where it lives",
    "  memgraph --help                           every command; the README has the Python side",
)


@verb("tour", "memgraph tour", "memgraph tour --keep ./tour-store")
@click.option("--keep", type=click.Path(file_okay=False), metavar="DIR", help="Keep the tour's store in this folder.")
@pass_call
def tour_command(call: Call, keep: str | None) -> None:
    """See in a few seconds what this is.

    Each step shows lines of Python, runs them, and shows the real result. It works on a store of its own, asks
    nothing and needs no network.
    """
    with _folder(keep) as folder:
        path = folder / "memory.db"
        if path.exists():
            raise RefusedError(f"nothing was changed: {path} is there already", "Choose another folder.")
        if not call.as_json:
            say(escape(f"A tour on a store of its own, {path}"))
        told = list(_walk(call, str(path)))
    call.show({"steps": told, "kept": str(path) if keep else None}, lambda: ["", *_NEXT])


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="memgraph-tour-", ignore_cleanup_errors=True) as name:
            yield Path(name)
    else:
        Path(keep).mkdir(parents=True, exist_ok=True)
        yield Path(keep)


def _walk(call: Call, path: str) -> Iterator[dict[str, Any]]:
    """Run the steps and tell each as it goes. Raises ClickException where a result is not what the step says."""
    from memgraph import Memory
    from memgraph.views.lineage import tree

    scope: dict[str, Any] = {
        "Memory": Memory,
        "path": path,
        "tree": functools.partial(tree, ascii_only=not can_draw()),
        "write_until_killed": write_until_killed,
        "bytes_left": bytes_left,
    }
    tell = (lambda _: None) if call.as_json else say
    try:
        for number, step in enumerate(STEPS, 1):
            tell(f"\n{bold(f'{number}. {step.title}')}")
            results = []
            for line in step.lines:
                tell(f">>> {line}")
                shown = _run(line, scope)
                for row in shown:
                    tell(row)
                results.append({"line": line, "result": "\n".join(shown)})
            if not eval(step.holds, scope):  # noqa: S307 - our own constants, above
                raise click.ClickException(f"the tour failed at step {number}: {step.title}")
            yield {"step": number, "title": step.title, "lines": results}
            time.sleep(_TICK)
    finally:
        if "memory" in scope:
            scope["memory"].close()


def _run(line: str, scope: dict[str, Any]) -> list[str]:
    """Run a line in a scope, keep the value of an expression as `result`, and return how it looks."""
    try:
        code = compile(line, "<tour>", "eval")
    except SyntaxError:
        exec(line, scope)  # noqa: S102 - our own constants, above
        return []
    value = scope["result"] = eval(code, scope)  # noqa: S307
    if value is None:
        return []
    return escape_lines(value if isinstance(value, str) and "\n" in value else repr(value))


def write_until_killed(path: str, enough: int = _ENOUGH) -> set[str]:
    """Start a process that writes without end, kill it at once after `enough` acknowledged writes; returns their ids."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _WRITER, path]
    with subprocess.Popen(  # noqa: S603 - our own program, out of reach of the terminal's Ctrl-C
        command, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as writer:
        pipe = writer.stdout
        if pipe is None:
            raise click.ClickException("the writer has no output")
        lines = []
        try:
            for line in pipe:
                lines.append(line)
                if len(lines) == enough:
                    break
        finally:
            writer.kill()  # SIGKILL: it cannot tidy up
        lines += pipe.read().splitlines(keepends=True)
    return {line.decode().strip() for line in lines if line.endswith(b"\n")}


def bytes_left(path: str, *texts: str) -> int:
    """How often any of the texts occurs in the files beside `path`, itself included."""
    files = [file.read_bytes() for file in Path(path).parent.iterdir() if file.is_file()]
    return sum(data.count(text.encode()) for data in files for text in texts)
