"""A lineage as one HTML page to show to people: plain HTML and CSS, no script, nothing from any network.

Whatever memories say is text there: escaped, and made visible where it would act on the reader's eyes. The page's own
Content-Security-Policy allows its one style sheet and nothing else.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape as html_escape
from importlib.resources import files
from typing import Final

from memgraph.models import Edge, Entry, Lineage
from memgraph.views.picture import Picture, is_of_the_past, title_of, written_by
from memgraph.views.plain import escape, escape_lines, graphemes

__all__ = ["page"]

_SHORT_LINE: Final = 12  # memories; a longer line shows its newest and its first, and the others on demand
_NEWEST: Final = 8
_LONG_TEXT: Final = 700  # characters; of a longer one the beginning, and all of it on demand
_BEGINNING: Final = 400
_DESCRIBED: Final = {
    "active": "current",
    "superseded": "replaced",
    "forgotten": "forgotten",
    "released": "released",
    "pruned": "pruned",
    "expired": "expired",
}


def page(picture: Picture, made_at: datetime) -> str:
    """The whole page as HTML.

    made_at: when it was made, for its foot. Lines stand below each other, each with the newest memory on top.
    """
    names = picture.names()
    parts = [*_head(picture), *_now(picture)]
    if len(picture.lines) > 1:
        parts += ["<nav><ul>"]
        parts += [f'<li><a href="#l{at}">{_inline(_name(line))}</a></li>' for at, line in enumerate(picture.lines, 1)]
        parts += ["</ul></nav>"]
    for at, line in enumerate(picture.lines, 1):
        if len(picture.lines) > 1:
            parts.append(f'<h2 id="l{at}">{_inline(_name(line))}</h2>')
        parts += _line(picture, line, names)
    made = f"Made by memgraph on {_date(made_at)}, {_time(made_at)}. Times are UTC. What was purged is not shown."
    parts.append(f"<footer><p>{made}</p></footer></main></body></html>\n")
    return "\n".join(parts)


@functools.cache
def _style() -> str:
    return (files("memgraph.views") / "page.css").read_text(encoding="utf-8")


def _head(picture: Picture) -> Iterator[str]:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
    yield f"<title>{_inline(picture.title)}: lineage</title><style>{_style()}</style></head><body><main>"
    yield '<p class="over">Lineage of a memory</p>' if len(picture.lines) == 1 else '<p class="over">Lineages</p>'
    yield f"<h1>{_isolated(picture.title)}</h1>"
    count = sum(len(line.entries) for line in picture.lines)
    said = [f"Namespace {_isolated(picture.namespace)}", _number(count, "memory", "memories")]
    span = picture.span()
    if span is not None:
        first, last = map(_date, span)
        said.append(first if first == last else f"{first} to {last}")
    yield f'<p class="soft">{" · ".join(said)}</p>'


def _now(picture: Picture) -> Iterator[str]:
    """What counts, of a single line."""
    if len(picture.lines) != 1:
        return
    (line,) = picture.lines
    entry = picture.entries.get(line.current or "")
    if entry is None:
        yield '<div class="now none"><p class="soft">There is no current value.</p></div>'
        return
    yield '<div class="now"><p class="soft">Current value</p>'
    yield f"{_content(entry.content)}</div>"


def _name(line: Lineage) -> str:
    if line.key is not None:
        return line.key
    return title_of(line.entries[-1]) if line.entries else "nothing is left of it"


def _line(picture: Picture, line: Lineage, names: dict[str, str]) -> Iterator[str]:
    newest_first = list(reversed(line.entries))
    if not newest_first:
        yield '<p class="soft">Nothing is left of it.</p>'
        return
    items = [_item(picture, entry, names) for entry in newest_first]
    folded = len(items) > _SHORT_LINE
    yield from _list(items[:_NEWEST] if folded else items)
    if folded:
        yield f'<details class="more"><summary>{len(items) - _NEWEST - 1} older ones in between</summary>'
        yield from _list(items[_NEWEST:-1])
        yield "</details>"
        yield from _list(items[-1:])


def _list(items: Iterable[str]) -> Iterator[str]:
    yield '<ol class="line">'
    yield from items
    yield "</ol>"


def _item(picture: Picture, entry: Entry, names: dict[str, str]) -> str:
    status = entry.status.value
    described = "of the past" if is_of_the_past(entry) and status == "superseded" else _DESCRIBED[status]
    head = [f"<b>{described}</b>", f"<span>{_inline(entry.kind)}</span>"]
    if entry.pinned:
        head.append("<span>pinned</span>")
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _facts(picture, entry, names))
    return (
        f'<li class="{status}" id="{names[entry.id]}">'
        f'<div class="when"><b>{_date(entry.recorded_at)}</b><span>{_time(entry.recorded_at)}</span></div>'
        f'<div class="memory"><article><div class="status">{"".join(head)}</div>{_content(entry.content)}'
        f"<dl>{facts}</dl></article></div></li>"
    )


def _facts(picture: Picture, entry: Entry, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What is known of a memory besides what it says, as HTML."""

    def link(id: str) -> str:
        other = picture.entries[id]
        shown = _isolated(title_of(other))
        return f'<a href="#{names[id]}">{shown}</a>' if id in picture.on_lines else shown

    steps = picture.steps_of[entry.id]
    replaced = [edge for edge in steps if edge.label == "SUPERSEDES" and edge.source_id == entry.id]
    told = [edge.reason for edge in replaced if edge.reason]
    if entry.reason and entry.reason not in told:
        yield "Why", _why(entry.reason)
    for edge in replaced:
        yield "Replaced", link(edge.target_id) + (f": {_why(edge.reason)}" if edge.reason else "")
    for edge in steps:
        if edge.label == "SUPERSEDES" and edge.target_id == entry.id:
            yield "Replaced by", link(edge.source_id)
        elif edge.label == "RESTORES":
            yield (
                ("Restores", link(edge.target_id))
                if edge.source_id == entry.id
                else (
                    "Restored as",
                    link(edge.source_id),
                )
            )
    yield "Written by", _inline(written_by(entry))
    if entry.valid_from or entry.valid_to:
        start = f"from {_date(entry.valid_from)} " if entry.valid_from else ""
        yield "True", start + (f"to {_date(entry.valid_to)}" if entry.valid_to else "on")
    if entry.expires_at:
        yield (
            "Expired" if entry.status == "expired" else "Expires",
            f"{_date(entry.expires_at)}, {_time(entry.expires_at)}",
        )
    replaced_here = any(edge.label == "SUPERSEDES" and edge.target_id == entry.id for edge in steps)
    for event in picture.events[entry.id]:
        if event.cause == "superseded" and replaced_here:  # told above
            continue
        who = f" by {_inline(event.actor)}" if event.actor else ""
        why = f": {_why(event.reason)}" if event.reason else ""
        yield _inline(event.cause).capitalize(), f"{_date(event.at)}, {_time(event.at)}{who}{why}"
    for edge in picture.links_of[entry.id]:
        if entry.id == edge.source_id:
            yield "Related", f"{_inline(edge.type or 'related')} → {link(edge.target_id)}{_note(edge)}"
        elif entry.id == edge.target_id:
            yield "Related", f"{link(edge.source_id)} → {_inline(edge.type or 'related')} → this{_note(edge)}"
    if entry.tags:
        yield "Tags", ", ".join(map(_inline, entry.tags))
    yield "Id", f"<code>{_inline(entry.id)}</code>"


def _note(edge: Edge) -> str:
    return f": {_why(edge.note)}" if edge.note else ""


def _why(text: str) -> str:
    return f'<span class="why">{_isolated(text)}</span>'


def _content(text: str) -> str:
    """A text with its line breaks; of a long one the beginning, and the whole on demand."""
    whole = f'<div class="says" dir="auto">{_block(text)}</div>'
    if len(text) <= _LONG_TEXT:
        return whole
    beginning = ""
    for piece in graphemes(text[: _BEGINNING + 64]):
        if len(beginning) + len(piece) > _BEGINNING:
            break
        beginning += piece
    rest = f'<span class="rest">all {len(text):,} characters</span>'
    return (
        f'<details><summary><span class="says" dir="auto">{_block(beginning)}…</span>{rest}</summary>{whole}</details>'
    )


def _block(text: str) -> str:
    return html_escape("\n".join(escape_lines(text)))


def _inline(text: str) -> str:
    return html_escape(escape(text))


def _isolated(text: str) -> str:
    """Text on one line whose direction does not touch what stands around it."""
    return f"<bdi>{_inline(text)}</bdi>"


def _number(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _date(instant: datetime) -> str:
    return f"{instant.day} {instant:%b %Y}"


def _time(instant: datetime) -> str:
    return f"{instant:%H:%M:%S} UTC"
