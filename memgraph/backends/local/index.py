"""The text index of the local store: which documents it holds, and when they move into it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from memgraph.checks import from_micros
from memgraph.clock import recorded_at
from memgraph.rules.text import TEXT_VERSION, terms

if TYPE_CHECKING:
    from memgraph.storage import textindex  # numpy comes with it: loaded by what needs it, not by opening a store

__all__ = ["forget", "is_stale", "loader", "rebuild", "seal"]

_AHEAD: Final = 64
_ROW: Final = (
    "select content, key, tags, aliases, actor, valid_from, version from memory where seq = ? and version is not null"
)
_ROWS: Final = (
    "select seq, content, key, tags, aliases, actor, valid_from, version from memory"
    " where seq >= ? and seq < ? and version is not null"
)


def loader(connection: sqlite3.Connection) -> Callable[[int], textindex.Document | None]:
    """A function that gives the document of a memory's number. It reads ahead, as documents are asked for in their order."""
    from memgraph.storage import textindex

    ahead: dict[int, tuple[Any, ...]] = {}
    end = 0

    def load(seq: int) -> textindex.Document | None:
        nonlocal end
        if seq not in ahead and seq >= end:
            ahead.clear()
            end = seq + _AHEAD
            ahead.update((row[0], row[1:]) for row in connection.execute(_ROWS, (seq, end)))
        row = ahead.pop(seq, None) or connection.execute(_ROW, (seq,)).fetchone()
        if row is None:
            return None
        content, key, tags, aliases, actor, valid_from, version = row
        found = terms(
            content,
            key=key,
            tags=() if tags == "[]" else json.loads(tags),
            aliases=() if aliases == "[]" else json.loads(aliases),
            actor=actor,
            when=recorded_at(version) if valid_from is None else from_micros(valid_from),
        )
        return textindex.Document(found.counts, found.length, found.flags)

    return load


def seal(connection: sqlite3.Connection) -> int:
    """Move some waiting documents into the index, a few milliseconds' worth; 0 when none is due."""
    from memgraph.storage import textindex

    return textindex.seal_step(connection, loader(connection))


def forget(connection: sqlite3.Connection, ns: int, docs: Iterable[int]) -> None:
    """Take purged documents out of the index."""
    from memgraph.storage import textindex

    textindex.remove(connection, ns, docs)


def is_stale(connection: sqlite3.Connection) -> bool:
    """Whether the index was made by another version of the tokenizer."""
    row = connection.execute("select value from meta where name = 'text'").fetchone()
    return row is None or row[0] != TEXT_VERSION


def rebuild(connection: sqlite3.Connection) -> int:
    """Make the whole index anew from the records; returns how many documents it holds."""
    from memgraph.storage import textindex

    done = textindex.rebuild(connection, loader(connection))
    connection.execute("insert or replace into meta values('text', ?)", (TEXT_VERSION,))
    return done
