"""Commands that look after the store and the command itself: init, status, stats, doctor, config, completion."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, say, verb
from memgraph.cli.options import yes_option
from memgraph.cli.output import facts, table
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import CheckReport, Problem


@verb("init", "memgraph init --primary neo4j://localhost:7687", "memgraph init --store agent.db")
@pass_call
def init_command(call: Call) -> None:
    """Make the store: a server's schema, or the file.

    The first write does that too. Again it changes nothing; it makes what has been lost of the schema.
    """
    settings = call.settings()
    file = None if "://" in settings.store or settings.arguments()["path"] is None else Path(settings.store)
    made = [] if file is None or settings.store == ":memory:" or file.exists() else [f"file {file}"]
    call.note(f"setting up {settings.where}")
    memory = call.memory(create=file is not None)
    made += memory.set_up()
    status = memory.status()

    def lines() -> Iterator[str]:
        yield from (f"made {escape(each)}" for each in made)
        yield f"{escape(status.store)} is {'ready' if made else 'set up already; nothing was changed'}"

    call.show({"store": status.store, "schema_version": status.schema_version, "made": made}, lines)


@verb("status", "memgraph status", "memgraph status --json")
@pass_call
def status_command(call: Call) -> None:
    """Show which store this is and how it is doing."""
    status = call.memory().status()

    def lines() -> Iterator[str]:
        alone = status.opened_without is not None  # else the lines below tell
        yield from facts(
            status.model_dump(exclude={"sync"} | (set() if alone else {"opened_without", "queued"})).items()
        )
        if status.sync is not None:
            from memgraph.cli.sync import sync_lines

            yield from sync_lines(status.sync)

    call.show(status, lines)
    call.degraded(status.degraded)


@verb("stats", "memgraph stats --namespace acme")
@pass_call
def stats_command(call: Call) -> None:
    """Count what is in the namespace and in the store."""
    stats = call.memory().stats()
    call.show(stats, lambda: facts(stats.model_dump(exclude={"degraded"}).items()))
    call.degraded(stats.degraded)


@verb(
    "doctor",
    "memgraph doctor --primary neo4j://localhost:7687",
    "memgraph doctor --repair",
    "memgraph doctor --reindex",
)
@click.option("--repair", is_flag=True, help="Mend what can be mended, after showing it.")
@click.option("--reindex", is_flag=True, help="Build the text index again from the memories.")
@click.option("--dry-run", is_flag=True, help="Only look, even with --repair or --reindex.")
@yes_option
@pass_call
def doctor_command(call: Call, repair: bool, reindex: bool, dry_run: bool, yes: bool) -> None:
    """Look for damage and broken laws in the store.

    Of a server also its version, schema and indexes. Exit code 1 if anything is wrong.
    """
    memory = call.memory()
    wanted = reindex and not dry_run
    report = memory.check(reindex=wanted and not repair)
    if repair and not dry_run:
        todo = [problem for problem in report.problems if problem.repair]
        if todo:
            if not (call.as_json or call.quiet):
                for line in (f"{escape(report.store)}: this is wrong, and a repair would:", *_plan_lines(todo)):
                    say(line, err=True)
            number = _number(sum(problem.count for problem in todo), "thing")
            call.confirm(f"repair {number}", yes=yes, everywhere=True)
        if todo or reindex:
            report = memory.check(repair=bool(todo), reindex=reindex)
    call.show(report, lambda: _check_lines(report))
    if dry_run:
        call.note("nothing was changed")
    if not report.ok:
        click.get_current_context().exit(1)


def _check_lines(report: CheckReport) -> Iterator[str]:
    yield f"{escape(report.store)}: {'no problems' if report.ok else _number(len(report.problems), 'problem')}"
    yield from facts((*report.facts.items(), ("checked", report.checked), ("mended", report.mended)))
    for problem, below in itertools.zip_longest(report.problems, report.problems[1:]):
        yield f"  {escape(problem.code)}: {escape(problem.message)}{_times(problem)}"
        yield from (f"    {escape(example)}" for example in problem.examples)
        if problem.remedy and (below is None or below.remedy != problem.remedy):  # once for all that it mends
            yield f"    {escape(problem.remedy)}"


def _plan_lines(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        yield f"  {escape(problem.code)}: {escape(problem.message)}{_times(problem)}"
        yield from (f"    {escape(example)}" for example in problem.examples)
        yield f"    -> {escape(problem.repair)}"


def _number(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _times(problem: Problem) -> str:
    return f" ({problem.count})" if problem.count > 1 else ""


@verb("config", "memgraph config", "MEMGRAPH_NAMESPACE=acme memgraph config --json")
@pass_call
def config_command(call: Call) -> None:
    """Show every setting in force and where it came from. Secrets are not shown."""
    from memgraph.config import NAMES

    settings = call.settings()
    values = {name: _shown(name, getattr(settings, name)) for name in NAMES}
    ignored = [name for name in ("NEO4J_URI",) if os.environ.get(name)]
    answer = {
        "settings": {name: {"value": value, "origin": settings.origin(name)} for name, value in values.items()},
        "ignored": ignored,
        "touches": settings.where,
    }

    def lines() -> Iterator[str]:
        rows = [
            [name, escape(settings.origin(name)), "-" if value is None else str(value)]
            for name, value in values.items()
        ]
        yield from table(None if call.quiet else ["setting", "from", "value"], rows)
        call.note(f"a call touches {settings.where}")
        for name in ignored:
            call.note(f"{name} is set, but not followed; name the primary with MEMGRAPH_PRIMARY")

    call.show(answer, lines)


def _shown(name: str, value: Any) -> Any:
    if not hasattr(value, "get_secret_value"):
        return value
    return value.get_secret_value() if name == "primary" else "(set, not shown)"  # an address holds no credentials


@verb(
    "completion",
    'eval "$(memgraph completion bash)"',
    "memgraph completion fish > ~/.config/fish/completions/memgraph.fish",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@pass_call
def completion_command(call: Call, shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    maker = kind(click.get_current_context().find_root().command, {}, "memgraph", "_MEMGRAPH_COMPLETE")
    script = maker.source_template % maker.source_vars()
    if call.as_json:
        call.show({"shell": shell, "script": script}, lambda: ())
    else:
        say(script.rstrip())
