"""How answers look to a person: blocks, tables and progress. Every line that leaves here is safe for a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from memgraph.cli.call import Call, is_terminal
from memgraph.views.plain import columns, escape, escape_lines, shorten

if TYPE_CHECKING:
    from memgraph.models import Edge, Entry

__all__ = [
    "bold",
    "can_draw",
    "edge_line",
    "entry_block",
    "entry_table",
    "facts",
    "marker",
    "progress",
    "table",
    "when",
]

_NARROWEST: Final = 20
_KEY_WIDTH: Final = 32


def when(instant: datetime) -> str:
    """A time to the second, in UTC."""
    return f"{instant.isoformat(' ', 'seconds')[:19]} UTC"


def bold(text: str) -> str:
    """The text in bold, on a terminal that is not told otherwise by NO_COLOR."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or os.name == "nt"
    return text if plain or not is_terminal(sys.stdout) else f"\x1b[1m{text}\x1b[0m"


def can_draw() -> bool:
    """Whether standard output's encoding has box characters."""
    try:
        "│├●○…".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def marker() -> str:
    """What stands for the text that was cut off."""
    return "…" if can_draw() else "..."


def facts(pairs: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Names and values, one a line; values that are not there are left out."""
    shown = [(name, value) for name, value in pairs if value not in (None, "", (), {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        yield f"  {name:<{width}}  {escape(_text(value))}"


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return str(value)


def entry_block(entry: Entry) -> Iterator[str]:
    """Everything that is known of a memory; what it says comes last, indented, so that it cannot pass for ours."""
    yield bold(escape(entry.key if entry.key is not None else entry.title or entry.id))
    yield from facts(
        (
            ("id", entry.id),
            ("namespace", entry.namespace),
            ("status", entry.status.value),
            ("superseded by", entry.superseded_by),
            ("restores", entry.restores),
            ("recorded", entry.recorded_at),
            ("version", entry.version),
            ("valid from", entry.valid_from),
            ("valid to", entry.valid_to),
            ("expires", entry.expires_at),
            ("kind", entry.kind),
            ("subject", entry.subject),
            ("tags", entry.tags),
            ("aliases", entry.aliases),
            ("metadata", entry.metadata),
            ("source", entry.source),
            ("actor", entry.actor),
            ("session", entry.session),
            ("trust", entry.trust.value),
            ("pinned", entry.pinned or None),
            ("confidence", f"{entry.confidence:g}"),
            ("feedback", f"{entry.feedback_count} ({entry.feedback_sum:+g})" if entry.feedback_count else None),
            ("reason", entry.reason),
        )
    )
    yield ""
    yield from (f"  {line}" for line in escape_lines(entry.content))


def entry_table(
    call: Call, entries: Sequence[Entry], width: int | None, scores: Sequence[float] | None = None
) -> Iterator[str]:
    """Memories, one a line; what they say comes last.

    width: the columns for that. None: what a terminal leaves; all of it where nobody looks.
    """
    status = any(entry.status != "active" for entry in entries)
    namespace = len({entry.namespace for entry in entries}) > 1
    head = ["score"] if scores else []
    head += ["id", "recorded"] + ["status"] * status + ["namespace"] * namespace + ["key", "content"]
    rows = []
    for index, entry in enumerate(entries):
        row = [f"{scores[index]:.3f}"] if scores else []
        row += [escape(entry.id), when(entry.recorded_at)[:16]]
        row += [entry.status.value] * status + [escape(entry.namespace)] * namespace
        rows.append([*row, shorten(entry.key or "-", _KEY_WIDTH, marker()), entry.content])
    return table(None if call.quiet else head, rows, width)


def table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """Rows in columns. All cells but the last must be safe already; the last is made so, and cut to `width` columns."""
    if not rows:
        return
    sizes = [max(columns(row[i]) for row in ([head] if head else []) + list(rows)) for i in range(len(rows[0]) - 1)]
    stacked = False
    if width is None and is_terminal(sys.stdout):
        available = shutil.get_terminal_size().columns
        left = available - sum(sizes) - 2 * len(sizes)
        stacked = left < _NARROWEST  # too little beside the others: the last cell goes below them
        width = available - 2 if stacked else left

    def line(cells: Sequence[str], last: str) -> str:
        first = "".join(f"{cell}{' ' * (size - columns(cell))}  " for cell, size in zip(cells, sizes, strict=False))
        return f"{first.rstrip()}\n  {last}" if stacked else f"{first}{last}".rstrip()

    if head:
        yield bold(line(head, head[-1]))
    for row in rows:
        yield line(row, escape(row[-1]) if width is None else shorten(row[-1], width, marker()))


def edge_line(edge: Edge) -> str:
    """An edge on one line."""
    name = edge.type if edge.label == "RELATES_TO" and edge.type else edge.label
    detail = "".join(
        f"  {label} {escape(str(value))}"
        for label, value in (("weight", edge.weight), ("note", edge.note), ("reason", edge.reason))
        if value is not None and value != 1.0
    )
    return f"{escape(edge.source_id)} -[{escape(name)}]-> {escape(edge.target_id)}{detail}"


@contextmanager
def progress(call: Call, label: str) -> Iterator[Callable[..., None] | None]:
    """A progress bar on standard error for long work; None where nobody would see it."""
    if call.as_json or call.quiet or not is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)

        def advance(done: int, total: int | None = None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
