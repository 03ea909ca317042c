"""Looking for damage in a file, and saving what can still be read into a new one."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from memgraph.errors import StoreLockedError
from memgraph.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION

__all__ = ["damage", "require_alone", "salvage"]

_STEP = 256  # rows read at once; where that fails, one by one


def damage(connection: sqlite3.Connection, quick: bool = False) -> list[str]:
    """What SQLite finds wrong with a file; empty when it is sound. quick: in its structure only, not that of its indexes."""
    try:
        rows = connection.execute(f"pragma {'quick' if quick else 'integrity'}_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    except UnicodeDecodeError:
        return ["its schema is no text"]
    return [text for (text,) in rows if text != "ok"]


def require_alone(path: Path) -> None:
    """Raise StoreLockedError while another process has the store open: what it writes to the old file would be lost."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        connection.execute("pragma writable_schema = on")
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin exclusive")
        connection.execute("rollback")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreLockedError(f"{path} is open elsewhere", hint="Close it everywhere, then repair it.") from None
    finally:
        connection.close()


def salvage(path: Path, tables: dict[str, tuple[str, ...]]) -> dict[str, tuple[int, int]]:
    """Copy all rows that can be read into a new file and put it in the place of the damaged one, which is kept beside it.

    tables: what to copy, each with the columns that name a row. The store must be closed everywhere.
    Returns, for each table, how many rows were saved and how many of its key ranges could not be read.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    fresh = path.with_name(f"{path.name}.repair-{stamp}")
    old = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    old.execute("pragma writable_schema = on")  # else SQLite refuses every page of a file that was cut
    new = sqlite3.connect(fresh, isolation_level=None)
    try:
        new.execute("pragma secure_delete = on")
        new.execute("begin")
        for script in MIGRATIONS:
            for statement in script.split(";"):
                if statement.strip():
                    new.execute(statement)
        saved = {table: _copy(old, new, table, keys) for table, keys in tables.items()}
        new.execute(f"pragma application_id = {APPLICATION_ID}")
        new.execute(f"pragma user_version = {SCHEMA_VERSION}")
        new.execute("commit")
        new.execute("pragma journal_mode = wal")
    finally:
        old.close()
        new.close()
    rows, lost = saved["memory"]
    if lost and not rows:
        fresh.unlink()
        raise sqlite3.DatabaseError("no memory in it can be read")
    for suffix in ("", "-wal", "-shm"):
        part = Path(f"{path}{suffix}")
        if part.exists():
            part.replace(f"{path}.damaged-{stamp}{suffix}")
    fresh.replace(path)
    return saved


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str, keys: tuple[str, ...]) -> tuple[int, int]:
    """Copy a table in the order of its key from the front, then from the back, so that one bad page costs only itself."""
    columns = [row[1] for row in new.execute(f"pragma table_info({table})")]
    names, marks = ", ".join(columns), ",".join("?" * len(columns))
    place = [columns.index(key) for key in keys]
    saved = lost = 0
    for direction, comparison in (("", ">"), (" desc", "<")):
        last: list[object] | None = None
        order = ", ".join(f"{key}{direction}" for key in keys)
        try:
            while True:
                where = "" if last is None else f" where ({', '.join(keys)}) {comparison} ({','.join('?' * len(keys))})"
                rows = old.execute(
                    f"select {names} from {table}{where} order by {order} limit {_STEP}", last or ()
                ).fetchall()
                if not rows:
                    return saved, lost
                saved += new.executemany(f"insert or ignore into {table}({names}) values({marks})", rows).rowcount
                last = [rows[-1][at] for at in place]
        except sqlite3.DatabaseError:
            lost += 1
            saved += _one_by_one(old, new, table, keys, last, direction, comparison)
    return saved, lost


def _one_by_one(
    old: sqlite3.Connection,
    new: sqlite3.Connection,
    table: str,
    keys: tuple[str, ...],
    last: list[object] | None,
    direction: str,
    comparison: str,
) -> int:
    """The rows up to the first that cannot be read; for tables named by a row number, those behind it too."""
    saved = 0
    where = "" if last is None else f" where ({', '.join(keys)}) {comparison} ({','.join('?' * len(keys))})"
    order = ", ".join(f"{key}{direction}" for key in keys)
    columns = [row[1] for row in new.execute(f"pragma table_info({table})")]
    names, marks = ", ".join(columns), ",".join("?" * len(columns))
    try:
        for row in old.execute(f"select {names} from {table}{where} order by {order}", last or ()):
            saved += new.execute(f"insert or ignore into {table}({names}) values({marks})", row).rowcount
    except sqlite3.DatabaseError:
        pass  # the rest is read from the other end, or range by range
    if keys == ("seq",):
        saved += _ranges(old, new, table, names, marks)
    return saved


def _ranges(old: sqlite3.Connection, new: sqlite3.Connection, table: str, names: str, marks: str) -> int:
    """Rows by number, skipping what cannot be read."""
    saved = 0
    try:
        top = old.execute(f"select max(seq) from {table}").fetchone()[0] or 0
    except sqlite3.DatabaseError:
        top = 0
    top = max(top, new.execute(f"select coalesce(max(seq), 0) from {table}").fetchone()[0])
    for low in range(0, top + 1, 16):
        for first, end in ((low, low + 16), *((each, each + 1) for each in range(low, low + 16))):
            try:
                rows = old.execute(f"select {names} from {table} where seq >= ? and seq < ?", (first, end)).fetchall()
            except sqlite3.DatabaseError:
                continue
            saved += new.executemany(f"insert or ignore into {table}({names}) values({marks})", rows).rowcount
            if end - first > 1:
                break
    return saved
