"""Commands that only read: get, current, history, neighbours, list, count, search, diff, namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.options import INSTANT, build, filter_options, given, subtree_option
from memgraph.cli.output import edge_line, entry_block, entry_table, when
from memgraph.errors import NotFoundError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import Diff, Neighbourhood, Page, SearchResult

width_option = click.option(
    "--width", type=click.IntRange(min=1), help="Columns for each text shown; by default what the terminal has."
)
known_at_option = click.option("--known-at", type=INSTANT, help="As it was known at that time.")
valid_at_option = click.option("--valid-at", type=INSTANT, help="What was true in the world at that time.")


@verb("get", "memgraph get 0197f3a2-5f0e-7c1b-9a44-6a3d5f1c2b77")
@click.argument("id")
@pass_call
def get_command(call: Call, id: str) -> None:
    """Show one memory, by its id."""
    entry = call.memory().get(id)
    call.show(entry, lambda: entry_block(entry))
    call.degraded(entry.degraded)


@verb("current", "memgraph current ada/city", "memgraph current ada/city --known-at 2026-05-01T12:00:00Z")
@click.argument("key")
@known_at_option
@valid_at_option
@pass_call
def current_command(call: Call, key: str, known_at: datetime | None, valid_at: datetime | None) -> None:
    """Show the current value of a key, or what it was at a time.

    Exit code 3 if the key has none.
    """
    memory = call.memory()
    entry = memory.current(key, known_at=known_at, valid_at=valid_at)
    if entry is None:
        doubt = memory.degraded
        raise NotFoundError(
            f"key {key!r} has no value in namespace {call.settings().namespace!r}"
            + (" at that time" if known_at or valid_at else ""),
            hint=f"It may be on the primary: {doubt}." if doubt else "See its past with `memgraph history`.",
        )
    call.show(entry, lambda: entry_block(entry))
    call.degraded(entry.degraded)


@verb("history", "memgraph history ada/city")
@click.argument("key_or_id")
@width_option
@pass_call
def history_command(call: Call, key_or_id: str, width: int | None) -> None:
    """List every version of a key, or of an id's line, oldest first."""
    page = call.memory().history(key_or_id)
    _show_page(call, page, width)


@verb("neighbours", "memgraph neighbours 0197f3a2-5f0e-7c1b-9a44-6a3d5f1c2b77 --depth 2")
@click.argument("id")
@click.option("--depth", type=click.IntRange(min=1), default=1, show_default=True, help="How many edges away.")
@width_option
@pass_call
def neighbours_command(call: Call, id: str, depth: int, width: int | None) -> None:
    """Show what a memory is connected to, nearest first."""
    found: Neighbourhood = call.memory().neighbours(id, depth=depth)

    def lines() -> Iterator[str]:
        yield from entry_table(call, [found.centre, *found.entries], width)
        yield from (edge_line(edge) for edge in found.edges)

    call.show(found, lines)
    call.degraded(found.degraded)


@verb("list", "memgraph list --tag travel --limit 20", "memgraph list --status any --where 'city=Porto' --json")
@filter_options
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@click.option("--after", metavar="CURSOR", help="Go on after the page that ended with this cursor.")
@subtree_option
@width_option
@pass_call
def list_command(
    call: Call, filters: dict[str, Any], limit: int, after: str | None, subtree: bool, width: int | None
) -> None:
    """List memories, newest first. Only active ones, unless --status says otherwise."""
    from memgraph.models import Filters

    memory = call.memory()
    page = memory.list(build(Filters, filters), limit=limit, after=after, subtree=subtree)
    _show_page(call, page, width)


@verb("count", "memgraph count --kind fact --subtree")
@filter_options
@subtree_option
@pass_call
def count_command(call: Call, filters: dict[str, Any], subtree: bool) -> None:
    """Count memories. Only active ones, unless --status says otherwise."""
    from memgraph.models import Filters

    count = call.memory().count(build(Filters, filters), subtree=subtree)
    call.show({"count": count} | ({"degraded": count.degraded} if count.degraded else {}), lambda: [str(count)])
    call.degraded(count.degraded)


@verb("search", "memgraph search where does ada live", "memgraph search --limit 3 --explain -- -v flag")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many.")
@filter_options
@click.option("--context", metavar="TEXT", help="Words of the conversation around the question.")
@known_at_option
@valid_at_option
@click.option("--include-inactive", is_flag=True, help="Replaced and forgotten memories too.")
@click.option("--min-score", type=float, help="Leave out hits whose text scores less.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option(
    "--ranking",
    type=click.Choice(("memgraph", "loopctl", "aegis")),
    default="memgraph",
    show_default=True,
    help="The recipe that orders the hits.",
)
@subtree_option
@width_option
@pass_call
def search_command(
    call: Call,
    /,
    query: tuple[str, ...],
    limit: int,
    filters: dict[str, Any],
    subtree: bool,
    width: int | None,
    explain: bool,
    **options: Any,
) -> None:
    """Find the memories that answer a question, best first."""
    from memgraph.models import Filters

    result: SearchResult = call.memory().search(
        " ".join(query),
        limit=limit,
        filters=build(Filters, filters),
        explain=explain,
        subtree=subtree,
        **given(**options),
    )
    answer = {
        "hits": [{"entry": hit.entry, "score": hit.score, "why": hit.why} for hit in result],
        "degraded": result.degraded,
    }

    def lines() -> Iterator[str]:
        if not result:
            call.note(f"nothing found in namespace {call.settings().namespace}")
        entries, scores = [hit.entry for hit in result], [hit.score for hit in result]
        rows = entry_table(call, entries, width, scores)
        if not explain:
            yield from rows
            return
        if result and not call.quiet:
            yield next(rows)
        for row, hit in zip(rows, result, strict=True):
            yield row
            yield "  " + ", ".join(f"{escape(name)} {value:.3f}" for name, value in (hit.why or {}).items())

    call.show(answer, lines)
    call.degraded(result.degraded)


@verb("diff", "memgraph diff 2026-05-01T00:00:00Z now")
@click.argument("known_at_a", type=INSTANT)
@click.argument("known_at_b", type=INSTANT)
@width_option
@pass_call
def diff_command(call: Call, known_at_a: datetime, known_at_b: datetime, width: int | None) -> None:
    """Show what became known between two times.

    That is what was added, what was removed or replaced, and what came back.
    """
    memory = call.memory()
    found: Diff = memory.diff(known_at_a, known_at_b)

    def lines() -> Iterator[str]:
        yield f"from {when(found.known_at_a)} to {when(found.known_at_b)}"
        for name in ("added", "removed", "restored"):
            entries = getattr(found, name)
            yield f"{name}: {len(entries)}"
            yield from (f"  {row}" for row in entry_table(call, entries, width))

    call.show(found, lines)
    call.degraded(memory.degraded)


@verb("namespaces", "memgraph namespaces acme")
@click.argument("prefix", required=False)
@pass_call
def namespaces_command(call: Call, prefix: str | None) -> None:
    """List the namespaces that hold memories. With PREFIX, that one and its descendants."""
    memory = call.memory()
    found = memory.namespaces(prefix or ())
    call.show({"namespaces": found}, lambda: map(escape, found))
    call.degraded(memory.degraded)


def _show_page(call: Call, page: Page[Any], width: int | None) -> None:
    answer = {"entries": list(page), "next": page.next, "degraded": page.degraded}

    def lines() -> Iterator[str]:
        if not page:
            call.note(f"no memories in namespace {call.settings().namespace}")
        yield from entry_table(call, list(page), width)
        if page.next:
            call.note(f"there are more; go on with --after {page.next}")

    call.show(answer, lines)
    call.degraded(page.degraded)
