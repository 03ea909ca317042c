"""One call of the command: which store it touches, how it answers, and what it may do without being asked again."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memgraph.errors import NotFoundError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.config import Settings
    from memgraph.memory import Memory

__all__ = [
    "NOT_FOUND",
    "PARTIAL",
    "Call",
    "RefusedError",
    "Verb",
    "common_options",
    "is_terminal",
    "pass_call",
    "say",
    "verb",
]

NOT_FOUND = 3  # exit code: none of what was named is there
PARTIAL = 6  # exit code: done in part, or still pending


class RefusedError(click.ClickException):
    """Nothing was done, because nobody confirmed it."""

    exit_code = 4

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class Call:
    """What the options say that every command has, and the store that they lead to."""

    store: str | None = None
    primary: str | None = None
    namespace: str | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: int = 0
    opened: Memory | None = field(default=None, repr=False)

    def settings(self) -> Settings:
        """The settings in force: options, then variables, then memgraph.toml, then defaults."""
        from memgraph.config import resolve

        return resolve(self.store, self.namespace, primary=self.primary)

    def is_new(self) -> bool:
        """Whether the store is a file alone, and not there yet."""
        settings = self.settings()
        alone = settings.primary is None and "://" not in settings.store
        return alone and settings.store != ":memory:" and not Path(settings.store).exists()

    def memory(self, *, create: bool = False) -> Memory:
        """The store, opened once and until the command ends. Unless `create`, one that is not there is NotFoundError."""
        if self.opened is not None:
            return self.opened
        from memgraph import Memory

        if self.verbose:
            self._log()
        settings = self.settings()
        arguments = settings.arguments()
        if not create and self.is_new():
            raise NotFoundError(
                f"there is no store at {settings.store}",
                hint="Write a first memory with `memgraph remember`, or name another store with --store or --primary.",
            )
        both = settings.primary is not None and arguments["path"] is not None
        self.opened = Memory.open(**arguments, preload=False, create=create or both)
        click.get_current_context().call_on_close(self.opened.close)
        return self.opened

    def _log(self) -> None:
        """Show what this package logs, and only that: the driver's own log holds what memories say."""
        log, handler = logging.getLogger("memgraph"), logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.DEBUG if self.verbose > 1 else logging.INFO)
        click.get_current_context().call_on_close(lambda: log.removeHandler(handler))

    def target(self, *, everywhere: bool = False) -> str:
        """The store and namespace that the command touches, in words."""
        settings = self.settings()
        return f"store {settings.where}, {'every namespace' if everywhere else f'namespace {settings.namespace}'}"

    def confirm(self, action: str, *, yes: bool, everywhere: bool = False) -> None:
        """Say what is about to happen and where, and ask unless `yes`. Raises RefusedError unless it is confirmed."""
        sentence = escape(f"{action} ({self.target(everywhere=everywhere)})")
        if yes:
            if not (self.as_json or self.quiet):
                say(sentence, err=True)
            return
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            raise RefusedError(f"nothing was changed: {sentence}", "Pass --yes to do it without being asked.")
        sys.stderr.write(f"{sentence}. Go on? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise RefusedError("nothing was changed")

    def show(self, value: Any, lines: Callable[[], Iterable[str]]) -> None:
        """Print the answer: with --json the value as one line of strict ASCII JSON, else the lines, which are safe."""
        if self.as_json:
            say(json.dumps(_plain(value), allow_nan=False))
        else:
            for line in lines():
                say(line)

    def note(self, text: str) -> None:
        """Tell a person something beside the answer; not with --json or --quiet."""
        if not (self.as_json or self.quiet):
            say(escape(text), err=True)

    def degraded(self, why: str | None) -> None:
        """End with exit code 6 if the answer may be incomplete, after saying why."""
        if why:
            self.note(f"this answer may be incomplete: {why}")
            click.get_current_context().exit(PARTIAL)


def say(line: str, *, err: bool = False) -> None:
    """Write a line to standard output or error, if that is open. (click would pass over the stream's own encoding.)"""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        stream.write(f"{line}\n")


def is_terminal(stream: Any) -> bool:
    """Whether a stream is there and a person reads or types on it."""
    try:
        return bool(stream and stream.isatty())
    except ValueError:  # closed
        return False


def _plain(value: Any) -> Any:
    """A value as JSON knows it: models in their JSON form, also inside lists and mappings."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


pass_call = click.make_pass_decorator(Call, ensure=True)


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value not in (None, False, 0):
            setattr(context.ensure_object(Call), name, value)

    return callback


def common_options() -> list[click.Parameter]:
    """The options that stand before or after a command's name."""
    return [
        click.Option(
            ["--store"],
            metavar="PATH",
            expose_value=False,
            callback=_keep("store"),
            help="The store's file. [MEMGRAPH_STORE]",
        ),
        click.Option(
            ["--primary"],
            metavar="URI",
            expose_value=False,
            callback=_keep("primary"),
            help="A Neo4j server, such as neo4j://host:7687. [MEMGRAPH_PRIMARY]",
        ),
        click.Option(
            ["--namespace", "-n"],
            metavar="NAME",
            expose_value=False,
            callback=_keep("namespace"),
            help='The namespace, such as "acme/user-1". [MEMGRAPH_NAMESPACE]',
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_keep("as_json"),
            help="Answer in strict JSON; errors too, on standard error.",
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_keep("verbose"),
            help="Log what is done, by ids; -vv in detail.",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_keep("quiet"),
            help="Print the answer only: no notes, no headings, no progress.",
        ),
    ]


class Verb(click.Command):
    """A command with the common options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(common_options())


def verb(name: str, *examples: str) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function the command `name`; its docstring is the help, which ends with the examples."""
    lines = "\n".join(f"  $ {example}" for example in examples)
    return click.command(name, cls=Verb, epilog=f"\b\n{'Examples' if len(examples) > 1 else 'Example'}:\n{lines}")
