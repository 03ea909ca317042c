"""Text that is safe to show: control codes become visible escapes, and no cut splits what a reader sees as a character.

A terminal obeys what it prints, so nothing that a memory says may reach it raw. Pure functions of text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

__all__ = ["columns", "escape", "escape_lines", "graphemes", "shorten"]

# Joiners that scripts and emoji need, and the Arabic, Syriac and Kaithi signs that are visible although of category Cf.
_KEPT: Final = frozenset(
    "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_PLAIN: Final = re.compile(r"[\x20-\x7e]*\Z")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _unsafe(character: str) -> bool:
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return True
    if category == "Cf":
        return character not in _KEPT
    code = ord(character)
    return category == "Cn" and (code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF)


def _visible(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def escape(text: str) -> str:
    """The text on one line, with control, bidirectional, invisible and invalid characters as backslash escapes.

    Kept as they are: everything printable, combining marks, and the joiners that emoji and scripts need.
    """
    if _PLAIN.match(text):
        return text
    return "".join(_visible(c) if _unsafe(c) else c for c in text)


def escape_lines(text: str) -> list[str]:
    """The lines of a text, each escaped; tabs become spaces. A line feed ends a line, after a carriage return too."""
    return [escape(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def graphemes(text: str) -> Iterator[str]:
    """The text in pieces that a reader sees as one character. Source: UAX #29, as the `regex` package has it."""
    if _PLAIN.match(text):
        yield from text
        return
    import regex  # loaded for the texts that need it only: a command line starts often

    for match in regex.finditer(r"\X", text):
        yield match.group()


def columns(text: str) -> int:
    """How many terminal columns a text takes: two for wide characters and emoji, none for marks. Source: UAX #11."""
    return len(text) if _PLAIN.match(text) else sum(_cells(g) for g in graphemes(text))


def _cells(grapheme: str) -> int:
    if len(grapheme) == 1 and "\x20" <= grapheme <= "\x7e":
        return 1
    if "\ufe0f" in grapheme or (len(grapheme) > 1 and all("\U0001f1e6" <= c <= "\U0001f1ff" for c in grapheme)):
        return 2
    spacing = [c for c in grapheme if unicodedata.category(c) not in ("Mn", "Me", "Cf")]
    if any(unicodedata.east_asian_width(c) in "WF" for c in spacing):
        return 2
    return len(spacing)


def shorten(text: str, width: int, marker: str = "…") -> str:
    """The text escaped, in at most `width` columns: cut between graphemes, and ended by `marker` if it was longer.

    Where the marker itself does not fit, as much of it as does. Columns are counted as `columns` counts them.
    """
    room = width - columns(marker)
    kept: list[str] = []
    used = 0
    fits = 0  # how many pieces leave room for the marker
    for piece in map(escape, graphemes(text)):
        used += columns(piece) if piece.startswith("\\") else _cells(piece)
        if used > width:
            return "".join(kept[:fits]) + (marker if room >= 0 else marker[: max(width, 0)])
        kept.append(piece)
        if used <= room:
            fits = len(kept)
    return "".join(kept)
