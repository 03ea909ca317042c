"""The command for copies of the whole store: backup create, verify and restore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import PARTIAL, Call, pass_call, say, verb
from memgraph.cli.files import check_free
from memgraph.cli.options import by_option, yes_option
from memgraph.cli.output import facts, when
from memgraph.errors import NotFoundError, UnsupportedError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import BackupReport, RestoreReport


@verb(
    "backup",
    "memgraph backup create agent.backup",
    "memgraph backup verify agent.backup",
    "memgraph backup restore agent.backup --dry-run",
    "memgraph backup restore agent.backup --store agent.db --yes",
)
@click.argument("action", type=click.Choice(("create", "verify", "restore")))
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="For create: replace a file that is there already.")
@click.option(
    "--dry-run", is_flag=True, help="For restore: check the backup, show what it would change, and change nothing."
)
@by_option
@yes_option
@pass_call
def backup_command(call: Call, action: str, file: str, force: bool, dry_run: bool, by: str | None, yes: bool) -> None:
    """Copy the whole store while it is in use, or put a copy back.

    create: every namespace as it is now, in one file that opens by itself. What is purged later stays in it; keep track
    of your copies.

    verify: look at all of a backup as `doctor` does, compare it with what was written, and say what it holds.

    restore: replace what the store holds, in one step that programs with the store open survive. It shows first what is newer
    there, asks, and keeps that in a rollback copy beside the store. What was purged stays so. A store with a primary keeps
    what it has not sent yet, and gets what the primary has again. A server alone has no such file: see `export`.
    """
    if force and action != "create":
        raise click.UsageError("--force goes with create.")
    if (dry_run or by) and action != "restore":
        raise click.UsageError(f"{'--dry-run' if dry_run else '--by'} goes with restore.")
    if call.namespace is not None:
        raise click.UsageError("A backup is of every namespace; for one of them, use `memgraph export`.")
    if action == "create":
        _create(call, file, force)
    elif action == "verify":
        from memgraph.admin.backup import verify

        found = verify(file)
        call.show(found, lambda: _backup_lines(found, "sound"))
    else:
        _restore(call, file, dry_run, by, yes)


def _settings(call: Call) -> dict[str, Any]:
    """How the file is to be opened: all of it, and without its primary, which a backup has nothing to do with."""
    found = call.settings().arguments()
    path = found["path"]
    if path is None or "://" in path:
        raise UnsupportedError(
            "a backup is of a store's file, and a server alone has none",
            hint="Use `memgraph export` and `memgraph import`, or the server's own backup; or name the file with --store.",
        )
    return {name: found[name] for name in ("path", "durability", "lock_timeout", "max_clock_drift")}


def _create(call: Call, file: str, force: bool) -> None:
    from memgraph import Memory

    settings = _settings(call)
    if settings["path"] != ":memory:" and not Path(settings["path"]).exists():
        raise NotFoundError(
            f"there is no store at {settings['path']}", hint="Name the store with --store, or in MEMGRAPH_STORE."
        )
    check_free(call, Path(file), force=force)
    with Memory.open(**settings, preload=False) as memory:
        made = memory.backup(file, force=force)
    call.show(made, lambda: _backup_lines(made, "made"))


def _backup_lines(found: BackupReport, word: str) -> Iterator[str]:
    yield f"{escape(found.file)}: {word}"
    yield from facts(found.model_dump(exclude={"file"}).items())


def _restore(call: Call, file: str, dry_run: bool, by: str | None, yes: bool) -> None:
    from memgraph.admin.backup import restore

    settings = _settings(call)
    store = settings.pop("path")
    plan = restore(store, file, dry_run=True, **settings)
    if dry_run:
        call.show(plan, lambda: _restore_lines(plan))
        call.note("nothing was changed")
        return
    if plan.held or plan.unsent:
        if not (call.as_json or call.quiet):
            for line in _restore_lines(plan):
                say(line, err=True)
        action = f"replace the {plan.held} memories of the store by the {plan.backup.memories} of a backup"
        call.confirm(f"{action} of {when(plan.backup.made_at)}", yes=yes, everywhere=True)
    done = restore(store, file, **settings, by=by)
    call.show(done, lambda: _restore_lines(done))
    if done.rollback:
        call.note(f"take it back with: memgraph backup restore {done.rollback}")
    if not done.scrubbed:
        call.note("a reader is in the way of clearing the old pages; the next who opens the store goes on with it")
        click.get_current_context().exit(PARTIAL)


def _restore_lines(report: RestoreReport) -> Iterator[str]:
    verb = "would be restored to" if report.dry_run else "was restored to"
    yield f"{escape(report.backup.file)} {verb} {escape(report.store)}"
    yield from facts(
        (
            ("backup of", report.backup.made_at),
            ("it holds", report.backup.namespaces),
            ("the store held", report.held),
            ("newer there", report.newer),
            ("changed there since", report.changed),
            ("stays purged", report.purged),
            ("tombstones", report.tombstones),
            ("kept for the primary", report.unsent or None),
            ("rollback copy", report.rollback),
            ("files scrubbed", None if report.dry_run else report.scrubbed),
        )
    )
    for path, ids in report.newer_ids.items():
        more = report.newer[path] - len(ids)
        yield f"  newer in {escape(path)}: {', '.join(map(escape, ids))}{f' and {more} more' if more else ''}"
    if report.coupled:
        yield "  what its primary holds comes back with the next sync"
