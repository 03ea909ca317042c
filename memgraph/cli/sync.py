"""The command that keeps a file and its primary in step: sync, and what it has to say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import PARTIAL, Call, pass_call, verb
from memgraph.cli.options import subtree_option, yes_option
from memgraph.cli.output import facts, progress, table, when
from memgraph.errors import NotFoundError, UnsupportedError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.memory import Memory
    from memgraph.models import DeadLetter, SyncDiff, SyncReport, SyncStatus

_ACTIONS = ("now", "status", "diff", "repair", "refused", "retry", "drop")


@verb(
    "sync",
    "memgraph sync --store agent.db --primary neo4j://localhost:7687",
    "memgraph sync status",
    "memgraph sync diff --subtree",
    "memgraph sync repair --from primary --dry-run",
    "memgraph sync refused",
    "memgraph sync retry",
    "memgraph sync drop --unit 17",
)
@click.argument("action", type=click.Choice(_ACTIONS), default="now")
@subtree_option
@click.option(
    "--from",
    "source",
    type=click.Choice(("primary", "local", "newest")),
    default="newest",
    show_default=True,
    help="For repair: which side is sent to the other; newest: each sends what the other lacks.",
)
@click.option("--dry-run", is_flag=True, help="For repair: only show what differs.")
@click.option("--unit", "units", type=int, multiple=True, help="For retry and drop: only this one; may be repeated.")
@yes_option
@pass_call
def sync_command(
    call: Call, action: str, subtree: bool, source: str, dry_run: bool, units: tuple[int, ...], yes: bool
) -> None:
    """Push what waits for the primary and pull what others wrote.

    It happens by itself while a program has the store open; this does it now. status: how both sides are doing, and what the
    primary refused. diff: compare what each has and what happened to it, not contents. repair: send each side what it
    lacks; nothing is deleted but what was purged on one side. refused: show what was refused for good, with its content.
    retry: queue it again. drop: delete it, with the memories that were written so and never got there.
    """
    if units and action not in ("retry", "drop"):
        raise click.UsageError("--unit goes with retry and drop.")
    memory = call.memory()
    if action == "now":
        _now(call, memory, subtree)
    elif action == "status":
        _status(call, memory)
    elif action == "retry":
        count = memory.retry_dead_letters(units or None)
        if units and not count:
            raise NotFoundError("unit: nothing of it was refused", hint="`memgraph sync refused` lists what was.")
        call.show({"queued": count}, lambda: [f"queued {count} operations again"])
    elif action == "refused":
        _refused(call, memory.dead_letters())
    elif action == "drop":
        letters = [letter for letter in memory.dead_letters() if not units or letter.unit in units]
        if units and not letters:
            raise NotFoundError("unit: nothing of it was refused", hint="`memgraph sync refused` lists what was.")
        if any(letter.op == "purge" for letter in letters):
            call.note("a purge is among them: here it stays done, and on the primary it will not be done")
        if letters:
            call.confirm(f"delete {len(letters)} refused operations for good", yes=yes)
        count = memory.drop_dead_letters(units or None)
        call.show({"deleted": count}, lambda: [f"deleted {count} operations"])
    else:
        _compare(call, memory, subtree, source if action == "repair" else None, dry_run, yes)


def _now(call: Call, memory: Memory, subtree: bool) -> None:
    with progress(call, "pulling") as advance:
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            if advance is not None:
                advance(done)

        report = memory.sync(subtree=subtree, progress=count)
    call.show(report, lambda: _report_lines(report))
    if report.waiting or report.dead_letters or report.purges:
        call.note("not everything reached the primary; see `memgraph sync status`")
        click.get_current_context().exit(PARTIAL)


def _report_lines(report: SyncReport) -> Iterator[str]:
    yield f"pushed {report.pushed}, pulled {report.pulled} operations"
    waiting = report.waiting or None
    yield from facts(
        (
            ("still waiting", waiting),
            ("refused for good", report.dead_letters or None),
            ("purges that wait", report.purges or None),
        )
    )


def _status(call: Call, memory: Memory) -> None:
    found = memory.status().sync
    if found is None:
        raise UnsupportedError("this store has no primary", hint="Name a file and a primary: --store and --primary.")
    letters = memory.dead_letters()
    answer = found.model_dump(mode="json") | {
        "refused": [letter.model_dump(mode="json", exclude={"payload"}) for letter in letters]
    }
    call.show(answer, lambda: (*sync_lines(found), *_letter_lines(letters)))


def sync_lines(found: SyncStatus) -> Iterator[str]:
    """How both sides are doing, one fact a line."""
    away = "not known: the primary did not answer" if found.primary_entries is None else found.primary_entries
    yield from facts(
        (
            ("primary", found.primary),
            ("mode", f"{found.mode}, write concern {found.write_concern}"),
            ("breaker", found.breaker),
            ("last error", found.error),
            ("waiting", f"{found.queued} operations" if found.queued else "nothing"),
            ("waiting since", found.oldest),
            ("ahead of the clocks", found.held or None),
            ("refused for good", found.dead_letters or None),
            ("purges that wait", found.purges or None),
            ("last sent", found.pushed_at),
            ("last received", found.pulled_at),
            ("memories here", f"{found.local_entries}"),
            ("memories there", f"{away}"),
            ("clock of the primary", None if found.clock_drift is None else f"{found.clock_drift:+.1f} s"),
            ("namespaces followed", found.cursors),
        )
    )


def _letter_lines(letters: list[DeadLetter]) -> Iterator[str]:
    rows = [
        [str(letter.unit), escape(letter.namespace), letter.op, when(letter.at), letter.reason] for letter in letters
    ]
    yield from table(["unit", "namespace", "operation", "refused", "why"], rows)


def _refused(call: Call, letters: list[DeadLetter]) -> None:
    def lines() -> Iterator[str]:
        for letter in letters:
            yield f"unit {letter.unit}, {escape(letter.namespace)}, {when(letter.at)}: {escape(letter.reason)}"
            yield f"  {escape(json.dumps(letter.payload, ensure_ascii=False, sort_keys=True))}"
        if not letters:
            call.note("nothing was refused")

    call.show({"refused": [letter.model_dump(mode="json") for letter in letters]}, lines)


def _compare(call: Call, memory: Memory, subtree: bool, source: Any, dry_run: bool, yes: bool) -> None:
    found = memory.sync_diff(subtree=subtree)
    if source is not None and not dry_run and not found.equal:
        call.confirm(f"send what differs, from {source}", yes=yes)
        found = memory.sync_repair(source, subtree=subtree)
    call.show(found.model_dump(mode="json") | {"equal": found.equal}, lambda: _diff_lines(call, found, source))
    if found.left or (found.repaired is not None and _stays(found, source)):
        click.get_current_context().exit(PARTIAL)
    if not found.equal and found.repaired is None:
        click.get_current_context().exit(1)


def _stays(found: SyncDiff, source: str | None) -> int:
    """How many facts a repair from one side leaves where they are: those that only the other has."""
    return {"primary": found.only_local, "local": found.only_primary}.get(source or "", 0)


def _diff_lines(call: Call, found: SyncDiff, source: str | None) -> Iterator[str]:
    if found.equal:
        yield f"both sides are equal: {found.compared} memories compared"
        return
    head = ["namespace", "bucket", "local", "primary", "missing here", "missing there", "different"]
    rows = [
        [
            escape(each.namespace),
            each.bucket,
            *(
                str(number)
                for number in (each.local, each.primary, each.missing_local, each.missing_primary, each.different)
            ),
        ]
        for each in found.buckets
    ]
    yield from table(None if call.quiet else head, rows)
    yield f"{found.only_local} facts are here only, {found.only_primary} on the primary only"
    here = found.only_local if source in ("local", "newest") else 0
    there = found.only_primary if source in ("primary", "newest") else 0
    if found.repaired is not None:
        yield f"sent or brought {found.repaired} operations"
    elif source is not None:
        yield f"repair --from {source} would send {here} facts to the primary, and bring {there} here"
    if stays := _stays(found, source):
        yield f"{stays} facts stay on one side only: `--from newest` sends both ways"
    if found.left:
        yield f"{found.left} memories were purged on the side that lacks them, which nothing brings back; purge them for both"
