"""Commands that take many memories out of use: release, rewind, undo, consolidate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.options import (
    build,
    by_option,
    filter_options,
    reason_option,
    yes_option,
)
from memgraph.cli.output import facts
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import ChangeSet, ConsolidationReport


@verb("release", "memgraph release old project plan --dry-run", "memgraph release --session s-17 --yes")
@click.argument("query", nargs=-1)
@filter_options
@reason_option
@by_option
@click.option("--dry-run", is_flag=True, help="Only show what would be released.")
@yes_option
@pass_call
def release_command(
    call: Call,
    query: tuple[str, ...],
    filters: dict[str, Any],
    reason: str | None,
    by: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take all matching memories out of use.

    Those match that hold every word of QUERY and pass the filters; there is no upper limit. Pinned ones stay.
    Nothing is deleted; `undo` takes it back as one.
    """
    from memgraph.models import Filters

    if not query and not filters:
        raise click.UsageError("Say what to release: words, filters, or both.")
    chosen = {"query": " ".join(query) or None, "filters": build(Filters, filters)}
    memory = call.memory()
    preview = memory.release(**chosen, dry_run=True)
    if dry_run:
        _show_changes(call, preview)
        call.note("nothing was changed")
        return
    call.confirm(f"release {len(preview.changes)} memories", yes=yes)
    _show_changes(call, memory.release(**chosen, reason=reason, by=by))


@verb(
    "rewind",
    "memgraph rewind --session s-17 --dry-run",
    "memgraph rewind --actor crawler --since 2026-05-01T00:00:00Z --yes",
)
@filter_options
@reason_option
@by_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@yes_option
@pass_call
def rewind_command(
    call: Call, filters: dict[str, Any], reason: str | None, by: str | None, dry_run: bool, yes: bool
) -> None:
    """Take back what a run or a poisoned source wrote.

    What it wrote goes out of use, and what it had replaced becomes current again. Nothing is deleted; `undo` reverses it.
    """
    from memgraph.models import Filters

    if not filters:
        raise click.UsageError("Say what to take back: --actor, --session, --source, --since, or another filter.")
    memory, chosen = call.memory(), build(Filters, filters)
    preview = memory.rewind(chosen, dry_run=True)
    if dry_run:
        _show_changes(call, preview)
        call.note("nothing was changed")
        return
    call.confirm(_action(preview), yes=yes)
    _show_changes(call, memory.rewind(chosen, reason=reason, by=by))


@verb("undo", "memgraph undo CHANGESET-ID --dry-run", "memgraph undo CHANGESET-ID --yes")
@click.argument("changeset")
@reason_option
@by_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@yes_option
@pass_call
def undo_command(call: Call, changeset: str, reason: str | None, by: str | None, dry_run: bool, yes: bool) -> None:
    """Take back a release, a rewind or a consolidation as one.

    Or any other change-set that `audit` lists. It shows first what would change.
    """
    take_back(call, changeset, reason, by, dry_run, yes)


def take_back(call: Call, changeset: str, reason: str | None, by: str | None, dry_run: bool, yes: bool) -> None:
    """Undo a change-set, after showing what that changes and asking."""
    memory = call.memory()
    preview = memory.undo(changeset, dry_run=True)
    if not preview.dry_run:
        nothing = preview.model_copy(update={"changes": (), "dry_run": dry_run})
        call.show(nothing, lambda: [f"it was taken back already, by {escape(preview.id)}; nothing to change"])
        return
    if dry_run:
        _show_changes(call, preview)
        call.note("nothing was changed")
        return
    for line in _change_lines(preview):
        call.note(line)
    call.confirm(_action(preview), yes=yes)
    _show_changes(call, memory.undo(changeset, reason, by=by))


def _action(preview: ChangeSet) -> str:
    back = sum(change.after.value == "active" for change in preview.changes)
    return f"take {len(preview.changes) - back} memories out of use and bring {back} back"


def _change_lines(changes: ChangeSet) -> Iterator[str]:
    for change in changes.changes:
        key = f"  {escape(change.key)}" if change.key else ""
        restored = f" as {escape(change.restored_as)}" if change.restored_as else ""
        yield f"  {escape(change.id)}{key}  {change.before.value} -> {change.after.value}{restored}"


def _show_changes(call: Call, changes: ChangeSet) -> None:
    def lines() -> Iterator[str]:
        if not changes.changes:
            yield f"{changes.cause}: nothing to change"
            return
        yield f"change-set {escape(changes.id)}: {changes.cause}, {len(changes.changes)} memories"
        yield from _change_lines(changes)
        if not changes.dry_run and not changes.undoes:
            call.note(f"take it back with: memgraph undo {changes.id}")

    call.show(changes, lines)


@verb("consolidate", "memgraph consolidate --dry-run", "memgraph consolidate --yes")
@by_option
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@yes_option
@pass_call
def consolidate_command(call: Call, by: str | None, dry_run: bool, yes: bool) -> None:
    """Prune worthless memories, report near-duplicates.

    Memories are pruned that nothing speaks for any more. Pinned memories and those of users and of the system are
    never pruned; `undo` takes prunes back.
    """
    memory = call.memory()
    preview = memory.consolidate(dry_run=True)
    if dry_run:
        call.show(preview, lambda: _report_lines(preview))
        call.note("nothing was changed")
        return
    if preview.pruned:
        call.confirm(f"prune {len(preview.pruned)} memories", yes=yes)
    report = memory.consolidate(by=by)
    call.show(report, lambda: _report_lines(report))


def _report_lines(report: ConsolidationReport) -> Iterator[str]:
    yield f"{report.before} active memories before, {report.after} after"
    yield from facts(
        (
            ("pruned", len(report.pruned)),
            ("expired", report.expired),
            ("near-duplicates", len(report.duplicates)),
            ("change-set", report.changeset),
        )
    )
    for pair in report.duplicates:
        yield f"  {escape(pair.a)} and {escape(pair.b)} are {pair.similarity:.0%} alike"
