"""Commands that look after the store and the command itself: status, stats, doctor, config, completion."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, say, verb
from memgraph.cli.options import yes_option
from memgraph.cli.output import facts, table
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import CheckReport


@verb("status", "memgraph status", "memgraph status --json")
@pass_call
def status_command(call: Call) -> None:
    """Show which store this is and how it is doing."""
    status = call.memory().status()
    call.show(status, lambda: facts(status.model_dump().items()))
    call.degraded(status.degraded)


@verb("stats", "memgraph stats --namespace acme")
@pass_call
def stats_command(call: Call) -> None:
    """Count what is in the namespace and in the store."""
    stats = call.memory().stats()
    call.show(stats, lambda: facts(stats.model_dump().items()))


@verb("doctor", "memgraph doctor", "memgraph doctor --repair --yes", "memgraph doctor --reindex")
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@click.option("--reindex", is_flag=True, help="Build the text index again from the memories.")
@click.option("--dry-run", is_flag=True, help="Only look, even with --repair or --reindex.")
@yes_option
@pass_call
def doctor_command(call: Call, repair: bool, reindex: bool, dry_run: bool, yes: bool) -> None:
    """Look for damage and broken laws in the store. Exit code 1 if there is any."""
    memory = call.memory()
    if repair and not dry_run:
        call.confirm("repair what is broken", yes=yes)
    report = memory.check(repair=repair and not dry_run, reindex=reindex and not dry_run)
    call.show(report, lambda: _check_lines(report))
    if dry_run:
        call.note("nothing was changed")
    if not report.ok:
        click.get_current_context().exit(1)


def _check_lines(report: CheckReport) -> Iterator[str]:
    yield f"{escape(report.store)}: {'no problems' if report.ok else f'{len(report.problems)} problems'}"
    yield from facts((("checked", report.checked),))
    for problem in report.problems:
        count = f" ({problem.count} times)" if problem.count > 1 else ""
        yield f"  {escape(problem.code)}: {escape(problem.message)}{count}"
        if problem.remedy:
            yield f"    {escape(problem.remedy)}"


@verb("config", "memgraph config", "MEMGRAPH_NAMESPACE=acme memgraph config --json")
@pass_call
def config_command(call: Call) -> None:
    """Show every setting in force and where it came from. Secrets are not shown."""
    from memgraph.config import NAMES

    settings = call.settings()
    values = {name: _shown(getattr(settings, name)) for name in NAMES}
    ignored = [name for name in ("NEO4J_URI",) if os.environ.get(name)]
    answer = {
        "settings": {name: {"value": value, "origin": settings.origin(name)} for name, value in values.items()},
        "ignored": ignored,
    }

    def lines() -> Iterator[str]:
        rows = [
            [name, escape(settings.origin(name)), "-" if value is None else str(value)]
            for name, value in values.items()
        ]
        yield from table(None if call.quiet else ["setting", "from", "value"], rows)
        for name in ignored:
            call.note(f"{name} is set, but not followed; name the primary with MEMGRAPH_PRIMARY")

    call.show(answer, lines)


def _shown(value: Any) -> Any:
    return "(set, not shown)" if hasattr(value, "get_secret_value") else value


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
