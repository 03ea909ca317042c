"""One SQLite file: opening it, snapshots for readers, and group commit for writers. No meaning lives here."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
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
from memgraph.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION

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
    if "closed" in str(error):
        return ClosedError(f"{where} was closed", hint="Open it again.")
    return UnavailableError(f"{where} cannot be used now ({error})", hint="Check the path and the device.")


class _Unit(Generic[T]):
    """One caller's part of a group commit. `wake` is released when it is done, or when its caller is to lead."""

    __slots__ = ("done", "error", "leads", "value", "wake", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.work = work
        self.wake = threading.Lock()
        self.wake.acquire()
        self.leads = False
        self.done = False
        self.error: BaseException | None = None
        self.value: T | None = None


class Database:
    """A store's file, or a private database in memory when `path` is None.

    durability: "full" syncs each commit to the device before it is acknowledged; "normal" may lose the last commits
    when the power fails, never when the process does. lock_timeout: seconds to wait for another process's write.

    Writers queue up; one of them leads: it runs the work of all that wait in one transaction (group commit), each caller's in
    a savepoint of its own, and hands the lead on. Readers take a snapshot and wait for nobody.
    """

    def __init__(
        self, path: Path | None, *, durability: str = "full", lock_timeout: float = 10.0, read_only: bool = False
    ) -> None:
        self.path = path
        self.where = ":memory:" if path is None else str(path)
        self.durability = durability
        self.lock_timeout = lock_timeout
        self.read_only = read_only
        self.damage: str | None = None
        self.unclean = False
        self._closed = False
        self._mode = "rwc"
        self._forked: Callable[[], None] | None = None
        self._reset_locks()
        self._writer: sqlite3.Connection | None = None
        self._idle: deque[sqlite3.Connection] = deque()
        try:
            self._open()
        except sqlite3.Error as error:
            raise translate(error, self.where) from None
        _DATABASES.add(self)

    # ---- opening

    def _open(self) -> None:
        if self.path is not None:
            self._look(self.path)
        if self.read_only:
            connection = self._connect()
            self._push(connection)
            if connection.execute("pragma user_version").fetchone()[0] == 0:
                raise UnavailableError(f"{self.where} holds no memories yet", hint="Open it for writing first.")
            return
        connection = self._connect()
        self._writer = connection
        try:
            if self.path is not None:
                connection.execute("pragma journal_mode = wal")
            self._migrate(connection)
        except sqlite3.OperationalError as error:
            if not isinstance(translate(error, self.where), ReadOnlyError):
                raise
            connection.close()
            self._writer, self.read_only, self._mode = None, True, "ro"
            self._push(self._connect())

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
            return
        except OSError as error:
            raise UnavailableError(f"{self.where} cannot be read ({error.strerror})", hint="Check the path.") from None
        if path.is_dir():
            raise UnavailableError(f"{self.where} is a folder", hint="Name a file in it.")
        if size:
            with path.open("rb") as file:
                header = file.read(105)
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

    def injure(self, damage: str) -> None:
        """Note that the file is damaged; from now on it is only read."""
        self.damage = damage
        self.read_only = True

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            connection = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False, cached_statements=512
            )
        else:
            mode = "ro" if self.read_only else self._mode
            uri = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
            if self.read_only and not os.access(self.path.parent, os.W_OK):
                uri += "&immutable=1"
            connection = sqlite3.connect(
                uri,
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=self.lock_timeout,
                cached_statements=512,
            )
        execute = connection.execute
        execute("pragma secure_delete = on")
        execute("pragma temp_store = memory")
        execute("pragma cache_size = -16384")
        execute(f"pragma synchronous = {'full' if self.durability == 'full' else 'normal'}")
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if connection.execute("pragma user_version").fetchone()[0] == SCHEMA_VERSION:
            return
        connection.execute("begin immediate")
        try:
            version = connection.execute("pragma user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise StoreVersionError(f"{self.where} was written by a newer memgraph", hint="Upgrade memgraph-store.")
            if version == 0 and connection.execute("select count(*) from sqlite_master").fetchone()[0]:
                raise StoreCorruptError(f"{self.where} is another program's database; it was left as it is")
            for script in MIGRATIONS[version:]:
                for statement in script.split(";"):
                    if statement.strip():
                        connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise

    # ---- reading

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: everything read in it is of one instant."""
        if self._closed:
            raise ClosedError(f"{self.where} was closed", hint="Open it again.")
        if self.path is None:
            with self._write_lock:
                yield self._writer  # type: ignore[misc]
            return
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                connection.execute("begin")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")
                self._push(connection)
        except sqlite3.Error as error:
            raise self._judge(error) from None

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
        unit = _Unit(work)
        with self._queue_lock:
            self._queue.append(unit)
            if not self._led:
                self._led = unit.leads = True
        if not unit.leads:
            self._wait(unit)
        if unit.leads:
            try:
                with self._write_lock:
                    if self._closed:  # while this waited
                        raise ClosedError(f"{self.where} was closed", hint="Open it again.")
                    self._drain()
            finally:
                with self._queue_lock:
                    if unit in self._queue:  # it was not run: nobody else is to run it
                        self._queue.remove(unit)
                self._pass_on()
        if unit.error is not None:
            if isinstance(unit.error, sqlite3.Error):
                raise self._judge(unit.error) from None
            raise unit.error
        return unit.value  # type: ignore[return-value]

    def require_writable(self) -> None:
        """Raise the error that says why this store cannot be written, if so."""
        if self.damage is not None:
            raise StoreCorruptError(
                f"{self.where} is damaged ({self.damage}) and open for reading only",
                hint="Run `memgraph doctor --repair`, or restore a backup.",
            )
        if self.read_only:
            raise ReadOnlyError(f"{self.where} is open for reading only", hint="Open it where it can be written.")

    def _wait(self, unit: _Unit[Any]) -> None:
        """Until a leader has done the unit, or its caller is to lead. Interrupted, it takes the unit back, or passes on."""
        try:
            unit.wake.acquire()
        except BaseException:
            with self._queue_lock:
                if unit in self._queue:
                    self._queue.remove(unit)
            if unit.leads:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Let the first that waits lead, or nobody."""
        with self._queue_lock:
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].wake.release()
            else:
                self._led = False

    def _drain(self) -> None:
        with self._queue_lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), 256))]
        try:
            if len(batch) == 1 or not self._together(batch):
                for unit in batch:
                    self._alone(unit)
        finally:  # after a KeyboardInterrupt in here the others run their work themselves
            with self._queue_lock:
                self._queue.extendleft(reversed([unit for unit in batch if not unit.done]))
            for unit in batch:
                if unit.done and not unit.leads:
                    unit.wake.release()

    def _alone(self, unit: _Unit[Any]) -> None:
        connection = self._writer
        assert connection is not None
        try:
            connection.execute("begin immediate")
            value = unit.work(connection)
            connection.execute("commit")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("rollback")
            unit.error, unit.done = error, True
            if not isinstance(error, Exception):
                raise
        else:
            unit.value, unit.done = value, True

    def _together(self, batch: list[_Unit[Any]]) -> bool:
        """Run a batch in one transaction. False, and nothing written, if the transaction itself failed."""
        connection = self._writer
        assert connection is not None
        results: list[tuple[Any, Exception | None]] = []
        try:
            connection.execute("begin immediate")
            for unit in batch:
                connection.execute("savepoint unit")
                try:
                    results.append((unit.work(connection), None))
                except sqlite3.Error:
                    raise
                except Exception as error:  # noqa: BLE001 - a refusal is handed to the caller whose it is
                    connection.execute("rollback to unit")
                    results.append((None, error))
                connection.execute("release unit")
            connection.execute("commit")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("rollback")
            return False
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        for unit, (value, failure) in zip(batch, results, strict=True):
            unit.value, unit.error, unit.done = value, failure, True
        return True

    def scrub(self) -> bool:
        """Empty the write-ahead log, so that nothing deleted is left in it. False if another reader still needs it."""
        if self.path is None:
            return True
        with self._write_lock:
            if self._closed:
                return False
            assert self._writer is not None
            try:
                busy: int = self._writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
            except sqlite3.OperationalError as error:
                found = self._judge(error)
                if isinstance(found, StoreLockedError):
                    return False
                raise found from None
            return busy == 0

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
        self._queue: deque[_Unit[Any]] = deque()
        self._queue_lock = threading.Lock()
        self._led = False
        self._write_lock = threading.RLock() if self.path is None else threading.Lock()

    def on_fork(self, callback: Callable[[], None]) -> None:
        """Have a callback run in a forked child, after this database has opened its own handles there."""
        self._forked = callback

    def _after_fork(self) -> None:
        self._reset_locks()
        if self._forked is not None:
            self._forked()
        if self.path is None or self._closed:
            return
        _ABANDONED.append((self._writer, list(self._idle)))
        self._idle = deque()
        self._writer = None if self.read_only else self._connect()


def _after_fork() -> None:
    for database in list(_DATABASES):
        database._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
