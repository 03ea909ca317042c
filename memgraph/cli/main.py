"""The command `memgraph`: the group, the streams, and how every failure ends: one sentence and an exit code.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 not found, 4 refused or in conflict, 5 unavailable, 6 partial or pending,
130 interrupted.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from memgraph import __version__, errors
from memgraph.cli.call import Call, common_options, say
from memgraph.views.plain import escape

__all__ = ["SECTIONS", "cli", "exit_code", "main"]

# Commands by section, with the module that holds each; a module is loaded only when its command is.
SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Read": dict.fromkeys(("get", "current", "history"), "read")
    | {"lineage": "lineage"}
    | dict.fromkeys(("neighbours", "list", "count", "search", "diff", "namespaces"), "read"),
    "Write": dict.fromkeys(
        ("remember", "remember-many", "supersede", "relate", "unrelate", "feedback", "forget", "restore"), "write"
    ),
    "Clean": dict.fromkeys(("release", "rewind", "undo"), "clean")
    | dict.fromkeys(("plan-purge", "purge"), "purge")
    | dict.fromkeys(("consolidate",), "clean")
    | dict.fromkeys(("hold", "audit"), "ledger"),
    "Move": dict.fromkeys(("export", "import", "graph"), "transfer") | {"backup": "backup"},
    "Sync": {"sync": "sync"},
    "Run": dict.fromkeys(("init", "status", "stats", "doctor", "config", "completion"), "admin")
    | {"browser": "browser", "tour": "tour"},
}
_MODULES: Final = {name: module for section in SECTIONS.values() for name, module in section.items()}

# The first that fits counts.
_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (errors.InvalidInputError, 2),
    (errors.NotFoundError, 3),
    (errors.ConflictError, 4),
    (errors.ClockDriftError, 4),
    (errors.PurgedError, 4),
    (errors.LegalHoldError, 4),
    (errors.ReadOnlyError, 4),
    (errors.AuthError, 4),
    (errors.UnavailableError, 5),
    (errors.StoreLockedError, 5),
    (errors.MemgraphError, 1),
)


def exit_code(error: Exception) -> int:
    """The exit code that an error of this package ends the command with."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


class _Root(click.Group):
    """The group: it finds its commands when they are asked for, and turns every failure into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"memgraph.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_") + "_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                found = [(name, self.get_command(ctx, name)) for name in commands]
                formatter.write_dl([(name, c.get_short_help_str(64)) for name, c in found if c], col_max=16)

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        """Run the command; ends the process with its exit code, or returns that if not `standalone_mode`."""
        _complete(self)
        _prepare_streams()
        code = _run(self, list(sys.argv[1:] if args is None else args), extra)
        if standalone_mode:
            sys.exit(code)
        return code


@click.command(
    "memgraph",
    cls=_Root,
    params=common_options(),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
    Start with:
      $ memgraph tour
      $ memgraph remember Porto --key ada/city

    \b
    Exit codes: 0 done, 1 error, 2 wrong usage, 3 not found, 4 refused or in conflict,
    5 unavailable, 6 partial or pending, 130 interrupted.
    """,
)
@click.version_option(__version__, "-V", "--version", prog_name="memgraph", message="%(prog)s %(version)s")
def cli() -> None:
    """Keep, correct, find and erase the long-term memory of agents.

    Text that begins with a hyphen goes after `--`. (This is not the graph database called Memgraph.)
    """


def main() -> None:
    """Entry point of the command."""
    cli.main()


def _run(group: _Root, arguments: list[str], extra: dict[str, Any]) -> int:
    as_json = "--json" in itertools.takewhile(lambda argument: argument != "--", arguments)
    call = Call()
    try:
        try:
            with group.make_context("memgraph", arguments or ["--help"], obj=call, **extra) as context:
                group.invoke(context)
            code = 0
        except click.exceptions.Exit as done:
            code = done.exit_code
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except errors.MemgraphError as error:
        return _fail(as_json, exit_code(error), type(error).__name__, str(error), error.hint, error.retryable)
    except click.UsageError as error:
        hint = f"See `{error.ctx.command_path} --help`." if error.ctx else ""
        return _fail(as_json, 2, "UsageError", error.format_message(), hint)
    except click.ClickException as error:
        hint = getattr(error, "hint", "")
        return _fail(as_json, error.exit_code, type(error).__name__, error.format_message(), hint)
    except BrokenPipeError:  # the reader of our output had enough
        _silence_stdout()
        return 0
    except (KeyboardInterrupt, click.Abort):
        return _fail(as_json, 130, "Interrupted", "interrupted", "")
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _fail(as_json, 1, type(error).__name__, f"{error.strerror or 'input or output failed'}{where}", "")
    except Exception as error:  # a fault of ours; what it says may hold a memory, so it stays out of sight
        if call.verbose:
            raise
        hint = "Run it again with -v to see where, and report it."
        return _fail(as_json, 1, type(error).__name__, "this is a fault of memgraph", hint)


def _fail(as_json: bool, code: int, name: str, message: str, hint: str, retryable: bool = False) -> int:
    """Report a failure on standard error and return its exit code."""
    try:
        if as_json:
            say(json.dumps({"error": name, "message": message, "retryable": retryable, "hint": hint}), err=True)
        else:
            say(escape(f"memgraph: {message}"), err=True)
            if hint:
                say(escape(hint), err=True)
    except BrokenPipeError:
        pass  # nobody listens; the exit code says it
    return code


def _complete(group: click.Group) -> None:
    """Answer the shell when it asks for completions, and end there."""
    asked = os.environ.get("_MEMGRAPH_COMPLETE")
    if asked:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(group, {}, "memgraph", "_MEMGRAPH_COMPLETE", asked))


def _prepare_streams() -> None:
    """What a code page cannot show is printed as an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere instead of failing again."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        sys.stdout = None
