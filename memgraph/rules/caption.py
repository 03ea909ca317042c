"""Captions: the few words that stand for a memory where there is no room for it. A grapheme is never split."""

from __future__ import annotations

from typing import Final

__all__ = ["CAPTION_LENGTH", "caption", "shorten"]

CAPTION_LENGTH: Final = 30


def caption(text: str) -> str:
    """At most 30 characters of a text, cut at a word."""
    return shorten(text, CAPTION_LENGTH)


def shorten(text: str, length: int) -> str:
    """The first line of blank-joined words that fits `length` characters, with an ellipsis where something was cut."""
    head = " ".join(text[: length * 8].split())
    if len(head) <= length and len(text) <= length * 8:
        return head
    room = head[: length - 1]
    if not head.isascii():
        room = _whole_graphemes(head, length - 1)
    at_word = room if head[len(room) : len(room) + 1] == " " else room.rpartition(" ")[0]
    return (at_word if len(at_word) * 2 > len(room) else room).rstrip() + "…"


def _whole_graphemes(text: str, length: int) -> str:
    import regex

    found = ""
    for grapheme in regex.findall(r"\X", text[: length + 64]):
        if len(found) + len(grapheme) > length:
            break
        found += grapheme
    return found
