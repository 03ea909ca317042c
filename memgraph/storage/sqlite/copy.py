"""Copies of a database in use, through SQLite's backup API: their digest, and how they become files, whole or not at all."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from memgraph.inplace import replacing, require_free

__all__ = ["digest", "save", "staged"]


def staged(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A private copy of a database as it is at this instant, to be changed at will and closed by the caller.

    It lies in a temporary file that has no name, so that nothing of it is left behind, even by a kill. Writers of the
    original do not wait for it, nor it for them.
    """
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        connection.backup(copy)
        copy.execute("pragma journal_mode = memory")
    except BaseException:
        copy.close()
        raise
    return copy


def digest(connection: sqlite3.Connection, without: tuple[str, str]) -> str:
    """SHA-256 over every row of every table, the one aside that is (table, name): it may hold the digest itself."""
    found = hashlib.sha256()
    tables = connection.execute(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite!_%' escape '!' order by name"
    ).fetchall()
    for (table,) in tables:
        found.update(f"{table}\n".encode())
        keys = [row[1] for row in connection.execute(f"pragma table_info({table})") if row[5]]
        where = "where name <> ?" if table == without[0] else ""
        bound = without[1:] if where else ()
        for row in connection.execute(f"select * from {table} {where} order by {', '.join(keys)}", bound):
            found.update(repr(row).encode())
    return found.hexdigest()


def save(staged: sqlite3.Connection, target: Path, force: bool = False) -> None:
    """Write a staged copy to a file that only its owner can read: it is there whole and on the device, or not at all.

    The file is packed anew, row by row: no page of it keeps anything that was deleted. What is at `target` is replaced with
    `force`, else that is ConflictError. Raises StoreFullError, ReadOnlyError, InvalidInputError for a folder that is not there.
    """
    require_free(target, force)
    with replacing(target) as beside:
        staged.execute("vacuum into ?", (str(beside),))
        require_free(target, force)
