"""One SQLite file: opening it, snapshots for readers, and group commit for writers. No meaning lives here."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from memgraph.errors import (
    ClosedError,
    MemgraphError,
    ReadOnlyError,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    StoreVersionError,
    UnavailableError,
)
from memgraph.storage.sqlite import gaps
from memgraph.storage.sqlite.commit import GroupCommit
from memgraph.storage.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, migrate
from memgraph.threads import Event

__all__ = ["Database", "translate"]

T = TypeVar("T")
_MAGIC: Final = b"SQLite format 3\x00"
_ABANDONED: Final[list[Any]] = []  # a forked child keeps, and never closes, what belongs to its parent
_DATABASES: Final[weakref.WeakSet[Database]] = weakref.WeakSet()


def translate(error: sqlite3.Error, where: str) -> MemgraphError:
    """Our error for one of SQLite's. The message names the file, never what a statement held."""
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLockedError(
            f"another process holds the write lock of {where}", hint="Try again, or raise lock_timeout."
        )
    if primary == sqlite3.SQLITE_FULL or code in (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC):
        return StoreFullError(
            f"no room to write to {where}; nothing was written", hint="Free some space and repeat the call."
        )
    if primary == sqlite3.SQLITE_READONLY:
        return ReadOnlyError(f"{where} cannot be written", hint="Open it where the file and its folder are writable.")
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, sqlite3.DataError):
        return StoreCorruptError(
            f"{where} is damaged ({error})", hint="Run `memgraph doctor --repair`, or restore a backup."
        )
    if str(error).startswith("Could not decode"):  # and goes on with what it is that could not be
        return StoreCorruptError(
            f"{where} is damaged (a text is no UTF-8)", hint="Run `memgraph doctor --repair`, or restore a backup."
        )
    if code == sqlite3.SQLITE_ERROR and not str(error).startswith(
        "cannot "
    ):  # our statements fit the schema, so it is another
        return StoreCorruptError(
            f"{where} is damaged (its schema is not that of a store)",
            hint="Run `memgraph doctor --repair`, or restore a backup.",
        )
    if "closed" in str(error):
        return ClosedError(f"{where} was closed", hint="Open it again.")
    return UnavailableError(f"{where} cannot be used now ({error})", hint="Check the path and the device.")


class Database:
    """A store's file, or a private database in memory when `path` is None.

    durability: "full" syncs each commit to the device before it is acknowledged; "normal" may lose the last commits
    when the power fails, never when the process does. lock_timeout: seconds to wait for another process's write.

    Readers take a snapshot and wait for nobody.
    """

    def __init__(
        self, path: Path | None, *, durability: str = "full", lock_timeout: float = 10.0, read_only: bool = False
    ) -> None:
        self.path = path
        if path is not None and path.is_symlink():  # what lies beside the store lies beside its real name
            self.path = Path(os.path.realpath(path))
        self.where = ":memory:" if self.path is None else str(self.path)
        self.durability = durability
        self.lock_timeout = lock_timeout
        self.read_only = read_only
        self.damage: str | None = None
        self.unclean = False
        self._closed = False
        self._mode = "rwc"
        self._on_fork: tuple[Callable[[], None], Callable[[], None]] = (lambda: None, lambda: None)
        self._reset_locks()
        self._writer: sqlite3.Connection | None = None
        self._idle: deque[sqlite3.Connection] = deque()
        try:
            self._open()
        except BaseException as error:
            for connection in (*self._idle, self._writer):
                if connection is not None:
                    connection.close()
            if isinstance(error, sqlite3.Error):
                raise translate(error, self.where) from None
            raise
        _DATABASES.add(self)

    # ---- opening

    def _open(self) -> None:
        if self.path is not None:
            self._look(self.path)
        if self.read_only:
            connection = self._connect()
            self._push(connection)
            if (
                self.damage is not None
                and not connection.execute(
                    "select count(*) from sqlite_master where name in ('memory', 'namespace', 'meta', 'change')"
                ).fetchone()[0]
                == 4
            ):
                raise StoreCorruptError(
                    f"{self.where} is damaged ({self.damage}); nothing in it can be read", hint="Restore a backup."
                )
            if connection.execute("pragma user_version").fetchone()[0] == 0:
                raise UnavailableError(f"{self.where} holds no memories yet", hint="Open it for writing first.")
            return
        connection = self._connect()
        self._writer = connection
        try:
            self._prepare(connection)
        except sqlite3.OperationalError as error:
            if not isinstance(translate(error, self.where), ReadOnlyError):
                raise
            connection.close()
            self._writer, self.read_only, self._mode = None, True, "ro"
            self._push(self._connect())

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the file a store. SQLite does not wait for another process that is doing the same, so this does."""
        deadline = time.monotonic() + self.lock_timeout
        while True:
            try:
                if self.path is not None:
                    connection.execute("pragma journal_mode = wal")
                return migrate(connection, self.where)
            except sqlite3.OperationalError as error:
                locked = isinstance(translate(error, self.where), StoreLockedError)
                if not locked or time.monotonic() >= deadline:
                    raise
            time.sleep(0.01)

    def _look(self, path: Path) -> None:
        """Judge the file by its first bytes, before SQLite may touch it."""
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            if self.read_only:
                raise UnavailableError(f"{self.where} does not exist", hint="Check the path.") from None
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ReadOnlyError(f"cannot make the folder of {self.where} ({error.strerror})") from None
            self._create(path)
            return
        except OSError as error:
            raise UnavailableError(f"{self.where} cannot be read ({error.strerror})", hint="Check the path.") from None
        if path.is_dir():
            raise UnavailableError(f"{self.where} is a folder", hint="Name a file in it.")
        if size and not _is_open(path):
            try:
                with path.open("rb") as file:
                    header = file.read(105)
            except OSError as error:
                raise UnavailableError(
                    f"{self.where} cannot be read ({error.strerror})", hint="Check its rights."
                ) from None
            if header[:16] != _MAGIC or len(header) < 100:
                raise StoreCorruptError(
                    f"{self.where} is not a memgraph store, or its header is damaged; it was left as it is",
                    hint="Check the path, or restore a backup.",
                )
            if int.from_bytes(header[60:64], "big") > SCHEMA_VERSION:
                raise StoreVersionError(
                    f"{self.where} was written by a newer memgraph; it was left untouched",
                    hint="Upgrade memgraph-store.",
                )
            owner = int.from_bytes(header[68:72], "big")
            if owner != APPLICATION_ID and (
                owner or header[100:101] != b"\r" or header[103:105] != b"\0\0"
            ):  # 0: no table
                raise StoreCorruptError(f"{self.where} is another program's database; it was left as it is")
            wal = Path(f"{path}-wal")
            self.unclean = wal.exists() and wal.stat().st_size > 0
            page = int.from_bytes(header[16:18], "big")
            expected = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if size < expected and not self.unclean:
                self.injure(f"the file is cut: {size} of {expected} bytes are there")
                self._mode = "ro"
        if (not self.read_only and not (os.access(path, os.W_OK) or not size)) or not os.access(path.parent, os.W_OK):
            self.read_only, self._mode = True, "ro"

    def _create(self, path: Path) -> None:
        """An empty file that only its owner can read; SQLite gives the files beside it the same rights."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:  # another process was quicker
            return
        except OSError as error:
            raise ReadOnlyError(f"cannot make {self.where} ({error.strerror})", hint="Check the folder.") from None

    def injure(self, damage: str) -> None:
        """Note that the file is damaged; from now on it is only read."""
        self.damage = damage
        self.read_only = True

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return self._configured(":memory:")
        uri = f"file:{quote(str(self.path.absolute()))}?mode={'ro' if self.read_only else self._mode}"
        if not self.read_only or self.damage is not None or os.access(self.path.parent, os.W_OK):
            return self._configured(uri)
        try:
            connection = self._configured(uri)
            try:
                connection.execute("select count(*) from sqlite_master").fetchone()
            except sqlite3.Error:
                connection.close()
                raise
            return connection
        except sqlite3.OperationalError:  # the folder does not let SQLite make the file that readers share
            wal = Path(f"{self.path}-wal")
            if wal.exists() and wal.stat().st_size:
                raise UnavailableError(
                    f"the write-ahead log of {self.where} cannot be read here; without it the newest memories are missing",
                    hint="Copy the store with its -wal file to a folder that can be written, or make this one writable.",
                ) from None
            return self._configured(uri + "&immutable=1")

    def _configured(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri,
            uri=uri != ":memory:",
            isolation_level=None,
            check_same_thread=False,
            timeout=self.lock_timeout,
            cached_statements=512,
        )
        execute = connection.execute
        try:
            if self.damage is not None:  # else SQLite refuses every page of a file that is shorter than its header says
                execute("pragma writable_schema = on")
            execute("pragma secure_delete = on")
            execute("pragma temp_store = memory")
            execute("pragma cache_size = -16384")
            execute(f"pragma synchronous = {'full' if self.durability == 'full' else 'normal'}")
        except UnicodeDecodeError:  # in an error of SQLite that repeats a name
            connection.close()
            error = sqlite3.DatabaseError("its schema is no text")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error from None
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    # ---- reading

    @contextmanager
    def read(self, snapshot: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: everything read in it is of one instant.

        snapshot: False for a single statement, which is of one instant by itself.
        """
        if self._closed:
            raise ClosedError(f"{self.where} was closed", hint="Open it again.")
        if self.path is None:
            with self._write_lock:
                yield self._writer  # type: ignore[misc]
            return
        try:
            connection = self._take()
            try:
                if snapshot:
                    connection.execute("begin")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")
                self._push(connection)
                self._busy.discard(connection)
        except sqlite3.Error as error:
            raise self._judge(error) from None

    def _take(self) -> sqlite3.Connection:
        while True:
            self._gate.wait()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            self._busy.add(connection)
            if self._gate.is_set():
                return connection
            self._push(connection)  # a fork began meanwhile, and waits for the busy ones
            self._busy.discard(connection)

    def _push(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _judge(self, error: sqlite3.Error) -> MemgraphError:
        found = translate(error, self.where)
        if isinstance(found, StoreCorruptError) and self.damage is None:
            self.injure(str(error))
        return found

    # ---- writing

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a write transaction; when this returns, what it wrote is durable. `work` may run more than once."""
        if self._closed:
            raise ClosedError(f"{self.where} was closed", hint="Open it again.")
        self.require_writable()
        try:
            return self._commits.run(work)
        except sqlite3.Error as error:
            raise self._judge(error) from None

    def _writing(self) -> sqlite3.Connection:
        """The connection to write on; for who holds the write lock."""
        if self._closed:
            raise ClosedError(f"{self.where} was closed", hint="Open it again.")
        if self._writer is None:
            self._writer = self._connect()
        return self._writer

    def require_writable(self) -> None:
        """Raise the error that says why this store cannot be written, if so."""
        if self.damage is not None:
            raise StoreCorruptError(
                f"{self.where} is damaged ({self.damage}) and open for reading only",
                hint="Run `memgraph doctor --repair`, or restore a backup.",
            )
        if self.read_only:
            raise ReadOnlyError(f"{self.where} is open for reading only", hint="Open it where it can be written.")

    def scrub(self, patience: float) -> bool:
        """Leave nothing deleted in the file or its write-ahead log.

        False if another reader or writer is in the way for longer than `patience` seconds, or the lock timeout.
        """
        if self.path is None:
            return True
        with self._write_lock:
            if self._closed:
                return False
            waits = int(min(patience, self.lock_timeout) * 1000)
            try:
                connection = self._writing()
                connection.execute(f"pragma busy_timeout = {waits}")
                try:
                    if connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
                        return False
                finally:
                    connection.execute(f"pragma busy_timeout = {int(self.lock_timeout * 1000)}")
                return self._clear_gaps(self.path, waits)
            except sqlite3.Error as error:
                found = self._judge(error)
                if isinstance(found, StoreLockedError):
                    return False
                raise found from None

    def _clear_gaps(self, path: Path, waits: int) -> bool:
        """Nobody can write to the file meanwhile: we hold the write lock, and the log is empty, so none has a page to copy back.

        The commit at the end makes every connection, of other processes too, forget the pages that it has read.
        """
        connection = self._connect()
        try:
            connection.execute(f"pragma busy_timeout = {waits}")
            connection.execute("begin immediate")
            wal = Path(f"{path}-wal")
            if wal.exists() and wal.stat().st_size:
                return False
            if not gaps.clear(path):
                return False
            connection.execute(
                "insert or replace into meta values('cleared', coalesce((select value from meta where name ="
                " 'cleared'), 0) + 1)"
            )
            connection.execute("commit")
            return True
        finally:
            connection.close()

    def overwrite(self, source: sqlite3.Connection, prepare: Callable[[], None]) -> None:
        """Put the whole contents of `source` in place of this file's, in one commit that every open handle sees and survives.

        prepare: called once nobody else can write here any more and before anything is replaced; it may still write to
        `source` and read here. What it raises leaves the file as it is. Raises StoreLockedError, StoreFullError, ReadOnlyError.
        """
        self.require_writable()
        prepared = False

        def step(code: int, remaining: int, total: int) -> None:
            nonlocal prepared
            if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):  # else it would be tried for ever
                raise StoreLockedError(
                    f"another process holds the write lock of {self.where}", hint="Try again, or raise lock_timeout."
                )
            if not prepared:  # the first page was taken, and with it the write lock
                prepared = True
                prepare()

        with self._write_lock:
            if self._closed:
                raise ClosedError(f"{self.where} was closed", hint="Open it again.")
            connection = self._connect()
            try:
                source.backup(connection, pages=1, progress=step)
            except sqlite3.Error as error:
                raise self._judge(error) from None
            finally:
                connection.close()

    # ---- closing, forking

    def close(self) -> None:
        """Close every connection; the last one out empties the write-ahead log."""
        if self._closed:
            return
        with self._write_lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def bytes_on_disk(self) -> int:
        """The size of the file and its write-ahead log."""
        if self.path is None:
            return 0
        found = (Path(f"{self.path}{suffix}") for suffix in ("", "-wal"))
        return sum(path.stat().st_size for path in found if path.exists())

    def _reset_locks(self) -> None:
        self._write_lock = threading.RLock() if self.path is None else threading.Lock()
        self._commits = GroupCommit(self._writing, self._write_lock)
        self._gate = Event()
        self._gate.set()
        self._busy: set[sqlite3.Connection] = set()
        self._fork_lock_held = False

    def on_fork(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        """Have callbacks run before each fork, and after it in the child."""
        self._on_fork = (before, after)

    def before_fork(self) -> None:
        """Close every handle: SQLite's locks do not reach a child, and its handles must not be there.

        Waits for the write that is going on, and two seconds at most for readers; what a reader still holds then is abandoned
        in the child.
        """
        self._on_fork[0]()
        if self.path is None or self._closed:
            return
        self._gate.clear()
        self._fork_lock_held = self._write_lock.acquire(timeout=self.lock_timeout)
        deadline = time.monotonic() + 2.0
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.001)
        while self._idle:
            self._idle.pop().close()
        if self._fork_lock_held and self._writer is not None:
            self._writer.close()
            self._writer = None

    def after_fork_in_parent(self) -> None:
        """Go on; handles are opened again when they are needed."""
        if self._fork_lock_held:
            self._fork_lock_held = False
            self._write_lock.release()
        self._gate.set()

    def after_fork_in_child(self) -> None:
        """Begin anew: no lock, queue or handle of the parent's is touched."""
        _ABANDONED.append((self._writer if self.path else None, list(self._busy), list(self._idle)))
        self._reset_locks()
        if self.path is not None:
            self._writer = None
            self._idle = deque()
        self._on_fork[1]()


def _is_open(path: Path) -> bool:
    """Whether this process has the file open already: opening and closing it beside SQLite would drop SQLite's locks."""
    return any(
        database.path is not None and not database.closed and database.path.exists() and database.path.samefile(path)
        for database in list(_DATABASES)
    )


def _all(method: Callable[[Database], None]) -> Callable[[], None]:
    def hook() -> None:
        for database in list(_DATABASES):
            method(database)

    return hook


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_all(Database.before_fork),
        after_in_parent=_all(Database.after_fork_in_parent),
        after_in_child=_all(Database.after_fork_in_child),
    )
