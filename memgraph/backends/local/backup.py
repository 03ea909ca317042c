"""Backups of the local store: a copy that is a store by itself and knows when it was made and what it then held."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.backends.local.apply import newest_version
from memgraph.checks import LEDGER, from_micros
from memgraph.errors import InvalidInputError, StoreCorruptError
from memgraph.inplace import is_special, require_apart, require_free
from memgraph.models import BackupReport
from memgraph.storage.sqlite import copy as files
from memgraph.storage.sqlite import repair
from memgraph.storage.sqlite.database import translate
from memgraph.storage.sqlite.schema import APPLICATION_ID

if TYPE_CHECKING:
    from memgraph.backends.local.backend import LocalBackend

__all__ = ["create", "describe"]

_NOTE = ("meta", "backup")  # the row that says when a backup was made, and the digest of all the others


def create(store: LocalBackend, path: Path, force: bool) -> BackupReport:
    """Copy the store as it is at this instant into a file; ConflictError if that is there and not to be replaced."""
    where = store.database.where
    own = store.database.path
    if own is not None:
        require_apart(path, own)
    require_free(path, force)
    if is_special(path):
        raise InvalidInputError(f"{path} is no regular file", field="path", hint="A backup must be one: name another.")
    if path.exists() and _is_store_in_use(path):
        raise InvalidInputError("is another store, and no backup", field="path", hint="Name another file.")
    with store.database.read(snapshot=False) as connection:
        copy = files.staged(connection)
    with closing(copy):
        broken = repair.damage(copy)
        if broken:
            raise StoreCorruptError(
                f"{where} is damaged ({broken[0]}); no backup was made", hint="Run `memgraph doctor --repair`."
            )
        try:
            copy.execute("delete from meta where name = 'scrub'")  # the copy is packed anew, and needs none
            at = int(store.wall() * 1_000_000)
            note = json.dumps({"at": at, "sha256": files.digest(copy, _NOTE)})
            copy.execute("insert or replace into meta values(?, ?)", (_NOTE[1], note))
            files.save(copy, path, force)
            return _report(copy, path, at)
        except sqlite3.Error as error:
            raise translate(error, str(path)) from None


def _is_store_in_use(path: Path) -> bool:
    """Whether a file is a store that is no backup: nobody means to lose it, and whoever has it open would not notice."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            if connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
                return False
            return connection.execute("select 1 from meta where name = ?", _NOTE[1:]).fetchone() is None
    except sqlite3.DatabaseError:
        return False


def describe(store: LocalBackend) -> BackupReport:
    """What a store that is a backup holds. It is looked at as by the doctor, and compared with what was written.

    Raises StoreCorruptError for damage of any kind, InvalidInputError for a store that is no backup.
    """
    where, path = store.database.where, store.database.path
    # no damage: an index of an older build, which whoever opens the store for writing makes anew, and a clock that was ahead
    problems = [problem for problem in store.check().problems if problem.code not in ("stale-index", "future")]
    if problems:
        raise StoreCorruptError(f"{where} is damaged: {problems[0].message}", hint="Use another backup.")
    with store.database.read() as connection:
        row = connection.execute("select value from meta where name = ?", _NOTE[1:]).fetchone()
        if row is None or path is None:
            raise InvalidInputError(
                f"{where} is a store, but no backup", field="path", hint="Make one of it with `memgraph backup create`."
            )
        note = json.loads(row[0])
        if files.digest(connection, _NOTE) != note["sha256"]:
            raise StoreCorruptError(
                f"{where} does not hold what was written to it when it was made",
                hint="Use another backup; if it was written to as a store, make a backup of it.",
            )
        return _report(connection, path, note["at"])


def _report(connection: sqlite3.Connection, path: Path, at: int) -> BackupReport:
    spaces = dict(
        connection.execute(
            "select path, count(*) from memory join namespace using(ns) where version is not null and path not glob ?"
            " group by path order by path",
            (f"{LEDGER}/*",),
        ).fetchall()
    )
    return BackupReport(
        file=str(path),
        made_at=from_micros(at),
        memories=sum(spaces.values()),
        namespaces=spaces,
        tombstones=connection.execute("select count(*) from tombstone").fetchone()[0],
        newest=newest_version(connection),
        bytes=path.stat().st_size,
    )
