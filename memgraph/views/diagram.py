"""A lineage as a diagram in the languages of Mermaid and Graphviz. What memories say is text there and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memgraph.models import Edge, Entry
from memgraph.views.picture import Picture
from memgraph.views.plain import escape, shorten

__all__ = ["dot", "mermaid"]

# A status has the colours of cypher/browser/memgraph.grass: fill, border, text.
COLOURS: Final = {
    "active": ("#2E8B57", "#1F6B41", "#FFFFFF"),
    "superseded": ("#C9CED6", "#9AA1AC", "#2A2C34"),
    "forgotten": ("#FBE3E0", "#C0392B", "#C0392B"),
    "expired": ("#F2C14E", "#C99A2E", "#2A2C34"),
}
_AS_EXPIRED: Final = ("released", "pruned")
_PLAIN: Final = frozenset(" .,:/-_()!?+=")  # of ASCII, besides letters and digits: means nothing within a Mermaid text


def mermaid(picture: Picture, width: int = 72) -> str:
    """A Mermaid flowchart, newest on top, as GitHub and many wikis draw it. width: columns of what each memory says."""
    names = picture.names()
    lines = ["flowchart TB"]
    for id, entry in picture.entries.items():
        text = f"{_mermaid(shorten(entry.content, width))}<br/>{_mermaid(_under(entry))}"
        lines.append(f'  {names[id]}["{text}"]:::{_colour(entry)}')
    for edge, arrow in _edges(picture, {"SUPERSEDES": "-->", "RESTORES": "==>", "RELATES_TO": "-.->"}):
        text = _mermaid(shorten(_told(edge), width))
        lines.append(f'  {names[edge.source_id]} {arrow}|"{text}"| {names[edge.target_id]}')
    for name, (fill, border, ink) in COLOURS.items():
        lines.append(f"  classDef {name} fill:{fill},stroke:{border},color:{ink}")
    return "\n".join(lines)


def dot(picture: Picture, width: int = 72) -> str:
    """A graph in Graphviz's language, newest on top; `dot -Tsvg` draws it. width: columns of what each memory says."""
    names = picture.names()
    lines = ["digraph lineage {", '  graph [rankdir=TB, charset="UTF-8"]']
    lines.append('  node [shape=box, style="rounded,filled", fontname="sans-serif", margin="0.2,0.1"]')
    lines.append('  edge [fontname="sans-serif", fontsize=11, color="#6B7280"]')
    for id, entry in picture.entries.items():
        fill, border, ink = COLOURS[_colour(entry)]
        text = f"{_dot(shorten(entry.content, width))}\\n{_dot(_under(entry))}"
        lines.append(f'  {names[id]} [label="{text}", fillcolor="{fill}", color="{border}", fontcolor="{ink}"]')
    for edge, style in _edges(picture, {"SUPERSEDES": "solid", "RESTORES": "bold", "RELATES_TO": "dashed"}):
        text = _dot(shorten(_told(edge), width))
        lines.append(f'  {names[edge.source_id]} -> {names[edge.target_id]} [label="{text}", style={style}]')
    return "\n".join([*lines, "}"])


def _edges(picture: Picture, styles: dict[str, str]) -> Iterator[tuple[Edge, str]]:
    for edge in (*picture.steps, *picture.links):
        yield edge, styles[edge.label]


def _told(edge: Edge) -> str:
    if edge.label == "RELATES_TO":
        return edge.type or "related"
    what = "replaces" if edge.label == "SUPERSEDES" else "restores"
    return f"{what}: {edge.reason}" if edge.reason and edge.label == "SUPERSEDES" else what


def _under(entry: Entry) -> str:
    key = f"{entry.key}, " if entry.key is not None else ""
    return f"{key}{entry.status.value}, {entry.recorded_at:%Y-%m-%d %H:%M} UTC"


def _colour(entry: Entry) -> str:
    return "expired" if entry.status.value in _AS_EXPIRED else entry.status.value


def _mermaid(text: str) -> str:
    """A text within the quotes of a Mermaid label: what could mean something there is written as its number.

    Two pairs mean something even then, a line break and a formula; what keeps them apart takes no room.
    """
    apart = escape(text).replace("\\n", "\\\u2060n").replace("$$", "$\u2060$")
    return "".join(
        character if not character.isascii() or character.isalnum() or character in _PLAIN else f"#{ord(character)};"
        for character in apart
    )


def _dot(text: str) -> str:
    """A text within the quotes of a Graphviz label, where entities of HTML are read too."""
    return escape(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
