"""The command `lineage`: as a tree, a page to show, or a diagram; of one line, or of all about a subject or of a session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memgraph import checks
from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.files import check_free, force_option, write_file
from memgraph.cli.options import given
from memgraph.cli.output import can_draw, progress
from memgraph.errors import NotFoundError

if TYPE_CHECKING:
    from memgraph.memory import Memory
    from memgraph.models import Lineage
    from memgraph.views.picture import Picture


@verb(
    "lineage",
    "memgraph lineage ada/city",
    "memgraph lineage ada/city --html city.html",
    "memgraph lineage --subject ada --mermaid",
    "memgraph lineage --session s-104 --dot | dot -Tsvg > session.svg",
)
@click.argument("key_or_id", required=False)
@click.option("--subject", metavar="NAME", help="The lines of all memories about this subject.")
@click.option("--session", metavar="NAME", help="The lines of all memories of this session.")
@click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page to show: no script, no network."
)
@click.option("--mermaid", is_flag=True, help="Print a Mermaid flowchart.")
@click.option("--dot", is_flag=True, help="Print a graph in Graphviz's language.")
@click.option("--width", type=click.IntRange(min=1), default=72, show_default=True, help="Columns for each text shown.")
@force_option
@pass_call
def lineage_command(
    call: Call,
    key_or_id: str | None,
    subject: str | None,
    session: str | None,
    html: str | None,
    mermaid: bool,
    dot: bool,
    width: int,
    force: bool,
) -> None:
    """Draw where memories came from: what replaced what, when and why.

    A text that is both a key and an id is taken as the key. The page and the diagrams also show what the memories are
    related to; the page shows who wrote each, and what was forgotten or restored. What is purged later stays in such a file.
    """
    chosen = given(subject=subject, session=session)
    if (key_or_id is None) == (not chosen):
        raise click.UsageError("Give a key or an id, or else --subject or --session.")
    if sum((html is not None, mermaid, dot)) > 1:
        raise click.UsageError("Give one of --html, --mermaid and --dot.")
    if force and html is None:
        raise click.UsageError("--force goes with --html.")
    if key_or_id is not None:
        key_or_id = checks.name(key_or_id, "key_or_id")
    if html is not None:
        check_free(call, Path(html), force=force)
    memory = call.memory()
    lines = [memory.lineage(key_or_id)] if key_or_id is not None else _lines_of(call, memory, chosen)
    if html is not None:
        _write_page(call, _picture(memory, key_or_id, chosen, lines), Path(html))
    elif mermaid or dot:
        from memgraph.views import diagram

        picture = _picture(memory, key_or_id, chosen, lines)
        text = diagram.mermaid(picture, width) if mermaid else diagram.dot(picture, width)
        call.show({"mermaid" if mermaid else "dot": text}, lambda: [text])
    else:
        _show_trees(call, lines, width, many=key_or_id is None)
    call.degraded(next((line.degraded for line in lines if line.degraded), None))


def _show_trees(call: Call, lines: list[Lineage], width: int, *, many: bool) -> None:
    def drawn() -> Iterator[str]:
        from memgraph.views.lineage import tree

        for number, line in enumerate(lines):
            yield from [""] if number else []
            yield tree(line, width=width, ascii_only=not can_draw())

    call.show({"lineages": lines} if many else lines[0], drawn)


def _lines_of(call: Call, memory: Memory, chosen: dict[str, str]) -> list[Lineage]:
    """The lines of all memories that a filter matches, each once, in the order of their newest memory, the newest first."""
    from memgraph.models import Filters

    found: list[Lineage] = []
    seen: set[str] = set()
    after: str | None = None
    with progress(call, "reading lines") as advance:
        while True:
            page = memory.list(Filters(status="any", **chosen), limit=1000, after=after)
            for entry in page:
                if entry.id in seen:
                    continue
                try:
                    found.append(memory.lineage(entry.key if entry.key is not None else entry.id))
                except NotFoundError:  # purged in between
                    continue
                seen.update(each.id for each in found[-1].entries)
                if advance is not None:
                    advance(len(seen))
            after = page.next
            if after is None:
                break
    if not found:
        named = " and ".join(f"{name} {value!r}" for name, value in chosen.items())
        raise NotFoundError(
            f"no memory has {named} in namespace {memory.path!r}",
            hint="See what there is with `memgraph list --status any`.",
        )
    return found


def _picture(memory: Memory, key_or_id: str | None, chosen: dict[str, Any], lines: list[Lineage]) -> Picture:
    """The lines with what their memories are related to."""
    from memgraph.views.picture import Picture

    ids = list(dict.fromkeys(entry.id for line in lines for entry in line.entries))
    relations = memory.backend.relations(memory.path, ids)
    others = dict.fromkeys(end for edge in relations for end in (edge.source_id, edge.target_id))
    for id in ids:
        others.pop(id, None)
    related = memory.backend.get(memory.path, list(others), datetime.now(UTC)).values()
    if key_or_id is not None:
        title = key_or_id if lines[0].key is not None else next(e.title for e in lines[0].entries if e.id == key_or_id)
    else:
        title = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return Picture(title, memory.path, tuple(lines), tuple(relations), tuple(related))


def _write_page(call: Call, picture: Picture, path: Path) -> None:
    from memgraph.views.page import page

    data = page(picture, datetime.now(UTC)).encode()
    write_file(path, data)
    count = sum(len(line.entries) for line in picture.lines)
    call.show(
        {"file": str(path), "lines": len(picture.lines), "memories": count},
        lambda: [f"wrote {count} {'memory' if count == 1 else 'memories'} to {path}"],
    )
