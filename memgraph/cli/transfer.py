"""Commands that move memories in and out: export, import, graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memgraph.cli.call import PARTIAL, Call, pass_call, say, verb
from memgraph.cli.files import check_free, force_option, write_file
from memgraph.cli.options import by_option, subtree_option, yes_option
from memgraph.cli.output import progress
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.memory import Memory
    from memgraph.models import ImportPlan

_CHAT_FIELDS = "content, actor, session, valid_from, namespace, key, id"


@verb("export", "memgraph export backup.jsonl", "memgraph --namespace acme export acme.jsonl --subtree")
@click.argument("file", type=click.Path(dir_okay=False))
@subtree_option
@force_option
@pass_call
def export_command(call: Call, file: str, subtree: bool, force: bool) -> None:
    """Write the namespace to a file, without loss.

    `import` reads it back. What is purged later stays in such a file; keep track of your copies.
    """
    if file == "-":
        raise click.UsageError("Give a file; /dev/stdout is one too, where there is such a thing.")
    check_free(call, Path(file), force=force)
    memory = call.memory()
    with progress(call, "exporting") as advance:
        count = memory.export_to(file, subtree=subtree, progress=advance)
    call.show({"exported": count, "file": file}, lambda: [f"exported {count} operations"])


@verb(
    "import",
    "memgraph import backup.jsonl",
    "memgraph import backup.jsonl --strict --dry-run",
    "memgraph import talk.json --format chat --map content=text,actor=speaker,valid_from=time --timezone UTC",
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--format", "format_", type=click.Choice(("jsonl", "chat")), default="jsonl", show_default=True)
@click.option(
    "--map", "mapping", metavar="FIELD=NAME,...", help=f"For chat: which name each field has: {_CHAT_FIELDS}."
)
@click.option("--timezone", metavar="ZONE", help="For chat: the zone of times that name none, such as UTC.")
@click.option("--move", is_flag=True, help="Put what lay in the export's namespace into this one.")
@click.option("--strict", is_flag=True, help="Import nothing if there is a line that cannot be taken.")
@by_option
@click.option("--dry-run", is_flag=True, help="Check the file against the store, and change nothing.")
@yes_option
@pass_call
def import_command(
    call: Call,
    file: str,
    format_: str,
    mapping: str | None,
    timezone: str | None,
    move: bool,
    strict: bool,
    by: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Read an export or a transcript into the store.

    Importing twice changes nothing. Into a store that holds memories it asks first. Lines that cannot be taken, such as those of
    an id that names another memory there, are left out, listed with their numbers and reasons, and make it end with exit
    code 6. An export that was damaged or cut is refused as a whole. The file may be UTF-8 or UTF-16, with a byte order mark
    or without, with LF or CRLF at the ends of lines.
    """
    if format_ == "jsonl" and (mapping or timezone):
        raise click.UsageError("--map and --timezone go with --format chat.")
    if format_ == "chat" and move:
        raise click.UsageError("--move goes with an export.")
    fields = _mapping(mapping)
    bad: list[tuple[int, str]] = []
    skip = None if strict else lambda number, reason: bad.append((number, reason))

    def into(memory: Memory) -> int:
        with progress(call, "importing") as advance:
            if format_ == "jsonl":
                return memory.import_from(file, move=move, progress=advance, skip=skip, by=by)
            from memgraph.integrations.importers import import_chat

            return import_chat(memory, file, fields, timezone or "UTC", progress=advance, skip=skip, by=by)

    def plan(memory: Memory) -> ImportPlan:
        if format_ == "jsonl":
            return memory.plan_import(file, move=move, skip=skip)
        from memgraph.integrations.importers import import_chat
        from memgraph.models import ImportPlan

        return ImportPlan(new=import_chat(memory, file, fields, timezone or "UTC", skip=skip, dry_run=True))

    if dry_run:
        _show(call, _rehearse(call, plan), None, bad)
        return
    rehearsed = _rehearse(call, plan) if call.is_new() else None  # what is refused makes no store
    memory = call.memory(create=True)
    held = memory.stats().store_entries
    planned = rehearsed or plan(memory)
    bad.clear()  # the import tells of them once more
    if held:
        deletes = f", which deletes {planned.purged} memories for good," if planned.purged else ""
        call.confirm(f"import {planned.new} new memories{deletes} into a store that holds {held} memories", yes=yes)
    _show(call, planned, into(memory), bad)


def _show(call: Call, plan: ImportPlan, done: int | None, bad: list[tuple[int, str]]) -> None:
    """What was imported (done: None for a dry run), and what was not and why: exit code 6 if there is such."""
    purged, dead = plan.purged, plan.dead
    count = plan.new if done is None else done

    def lines() -> Iterator[str]:
        if done is None:
            yield f"{count} would be new; nothing was changed"
        else:
            yield (
                f"imported {done} operations, {plan.new} of them new memories"
                if done != plan.new
                else f"imported {done}"
            )
        if purged:
            verb = "were" if done is not None else "would be"
            yield f"{purged} memories {verb} deleted for good, as they were purged where it comes from"
        if dead:
            yield f"{dead} memories of the file were purged here, and stay so"
        if bad:
            yield f"{len(bad)} lines {'were left out' if done is not None else 'cannot be taken'}:"
        yield from (f"  line {number}: {escape(reason)}" for number, reason in bad)

    left_out = [{"line": number, "reason": reason} for number, reason in bad]
    call.show(
        {
            "imported": count,
            "new": plan.new,
            "purged": purged,
            "dead": dead,
            "dry_run": done is None,
            "left_out": left_out,
        },
        lines,
    )
    if bad:
        click.get_current_context().exit(PARTIAL)


def _rehearse(call: Call, plan: Callable[[Memory], ImportPlan]) -> ImportPlan:
    """What the import would do here; where there is no store yet, in an empty one in this process's memory."""
    from memgraph import Memory

    if call.is_new():
        settings = call.settings().arguments()
        here = {name: settings[name] for name in ("namespace", "max_clock_drift")}
        with Memory.open(":memory:", **here, preload=False) as empty:
            return plan(empty)
    return plan(call.memory())


def _mapping(text: str | None) -> dict[str, str]:
    """`content=text,actor=speaker` as a mapping."""
    fields: dict[str, str] = {}
    for part in text.split(",") if text else ():
        field, equals, name = part.partition("=")
        if not (field.strip() and equals and name.strip()):
            raise click.UsageError(f"--map: {part!r} is not field=name")
        fields[field.strip()] = name.strip()
    return fields


@verb("graph", "memgraph graph graph.graphml --format graphml", "memgraph graph - | jq '.nodes | length'")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--format", "format_", type=click.Choice(("json", "graphml")), default="json", show_default=True,
    help="json is networkx's node-link form.",
)  # fmt: skip
@force_option
@pass_call
def graph_command(call: Call, file: str, format_: str, force: bool) -> None:
    """Write the namespace's graph for other programs.

    It holds every memory and every edge, without loss. FILE may be `-` for standard output. In GraphML each node and
    edge holds itself as JSON too, since GraphML has no lists and XML no control characters.
    """
    from memgraph.cli.graphfile import as_graphml, as_node_link, collect

    if file != "-":
        check_free(call, Path(file), force=force)
    memory = call.memory()
    nodes, edges = collect(memory)
    data = as_graphml(nodes, edges) if format_ == "graphml" else json.dumps(as_node_link(nodes, edges), allow_nan=False)
    if file == "-":
        say(data)
        return
    write_file(Path(file), data.encode() + b"\n")

    def lines() -> Iterator[str]:
        yield f"wrote {len(nodes)} memories and {len(edges)} edges"

    call.show({"nodes": len(nodes), "edges": len(edges), "file": file}, lines)
