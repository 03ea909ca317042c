"""The Bolt connection: driver, retries, deadlines; runs statements of `cypher/` by name. No driver error leaves this module.

Promises: a server that is dead, frozen or cut off is reported within about `timeout`, also in the middle of a statement,
while a slow statement on a living server may take its time; credentials that are refused rest for a while; what the server
asks to repeat is repeated with jitter; a read sees every write that this object has made in any thread; a fork gets its own
connections; a signal that raises in the main thread ends what that thread waits for, and nothing else.
"""

from __future__ import annotations

import atexit
import logging
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import ConnectionAcquisitionTimeoutError, DriverError, Forbidden, IncompleteCommit, Neo4jError
from neo4j.time import DateTime

from memgraph.errors import (
    AuthError,
    ClosedError,
    InvalidInputError,
    MemgraphError,
    UnavailableError,
    UnsupportedError,
)
from memgraph.storage.bolt_errors import LOST, is_again, is_ahead_of_the_server, is_out_of_memory, translated
from memgraph.storage.bolt_watch import Allowance, Flight, SlowError, Watch
from memgraph.storage.queries import statement
from memgraph.threads import aside, is_alone

__all__ = ["MINIMUM", "SCHEMES", "Again", "Bolt", "OutcomeUnknownError", "Runner", "require_version", "version_of"]

SCHEMES: Final = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
MINIMUM: Final = (5, 26)
_BACK_OFF: Final = 0.02  # seconds; grows to eleven times that
_LOST_RETRIES: Final = 2
_REFUSED_FOR: Final = 10.0  # seconds for which credentials that were refused are not tried again
_MEMORY_RETRIES: Final = 1
_CONTACT: Final = 8.0  # seconds at most to connect, or to see that a connection that rested still leads somewhere
logging.getLogger("neo4j").addHandler(
    logging.NullHandler()
)  # errors are raised; without it the driver prints them as well
_open: weakref.WeakSet[Bolt] = weakref.WeakSet()
_orphans: list[Any] = []  # drivers of the parent process: not ours to close

T = TypeVar("T")
Rows = list[dict[str, Any]]


class Again(Exception):  # noqa: N818 - no error: it never leaves `transaction`
    """Raised by a transaction's work to have it rolled back and run once more."""


class OutcomeUnknownError(UnavailableError):
    """The connection broke during the commit: it may have happened or not."""


class Runner(Protocol):
    """Something that runs statements: a connection (each in a transaction of its own, for reading) or a transaction."""

    def run(self, name: str, /, **parameters: Any) -> Rows:
        """Run the statement of this name, such as "read/current", and return all rows as plain Python values."""
        ...

    def run_each(self, name: str, /, each: Iterable[dict[str, Any]]) -> Iterator[Rows]:
        """Run a statement once for each set of parameters, in order; a set is made while the server runs the one before it."""
        ...


class Bolt:
    """Connections to one database of one server or cluster. Safe for threads and forks.

    uri: one of SCHEMES. auth: (user, password), or None where the server asks for none. database: None is the user's home.
    timeout: seconds until a server that does not answer is reported. retry_time: seconds in which what the server asks to
    repeat is repeated. statement_limit: seconds after which the server ends a statement. pool: connections at most.
    read_limit: seconds after which a read is given up, also if the server is there; None for as long as the server works on it.
    """

    def __init__(
        self,
        uri: str,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        *,
        timeout: float = 0.8,
        retry_time: float = 30.0,
        statement_limit: float = 120.0,
        read_limit: float | None = None,
        pool: int = 8,
    ) -> None:
        parts = urlsplit(uri)
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise InvalidInputError(f"must begin with one of {', '.join(SCHEMES)} and name a host", field="primary")
        if parts.path.strip("/"):
            raise InvalidInputError(
                "must end with the port", field="primary", hint="Name a database by `database` or NEO4J_DATABASE."
            )
        if parts.username is not None or parts.password is not None:
            raise InvalidInputError(
                "must not hold credentials",
                field="primary",
                hint="Give them as `auth`, or in NEO4J_USERNAME and NEO4J_PASSWORD.",
            )
        self._uri, self._auth, self.database = uri, auth, database
        self.where = f"{parts.scheme}://{parts.netloc}" + (f"/{database}" if database else "")
        self.timeout, self._retry_time, self._limit, self._pool = timeout, retry_time, statement_limit, pool
        self._read_limit, self._contact = read_limit, min(timeout, _CONTACT)
        self._allowances = threading.local()
        self.version: tuple[int, ...] = ()
        self._closed = False
        self._refused: MemgraphError | None = None
        self._refused_at = 0.0
        self._on_fork: list[Callable[[], None]] = []
        self._fresh()
        _open.add(self)

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._driver: neo4j.Driver | None = None
        self._failure = f"{self.where} cannot be reached"
        self._connecting = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._pool)
        self._watch = Watch(self.timeout)

    def __repr__(self) -> str:
        return f"<Bolt {self.where}>"

    def on_fork(self, call: Callable[[], None]) -> None:
        """Have this called in a new process before its first statement."""
        self._on_fork.append(call)

    # ---- running

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Have all that this thread asks meanwhile take no longer than this; what would raises UnavailableError that is slow.

        Of a write that was ended so it is not known whether it was done.
        """
        before = self._allowance
        self._allowances.of = Allowance(time.monotonic() + seconds)
        try:
            yield
        finally:
            self._allowances.of = before

    @property
    def _allowance(self) -> Allowance:
        """The time that this thread has."""
        return getattr(self._allowances, "of", None) or Allowance()

    def _apart(self, work: Callable[[], T]) -> T:
        """Do this where no signal can raise: the driver does not survive that in the middle of an answer, and hangs.

        Who is interrupted ends what was begun.
        """
        if threading.current_thread() is not threading.main_thread() or is_alone():
            return work()
        allowance = Allowance(self._allowance.until)

        def with_it() -> T:
            self._allowances.of = allowance
            try:
                return work()
            finally:
                self._allowances.of = None

        try:
            call = aside(with_it)
        except RuntimeError:  # the interpreter is ending, and starts no thread any more
            return work()
        try:
            return call.result()
        finally:
            allowance.until = 0.0

    def forget(self) -> None:
        """Wait no longer for what was seen of the server: one that was restored never comes to it.

        Nothing on a cluster, whose members need it to show what was written.
        """
        if self._uri.startswith("bolt"):
            self._bookmarks = neo4j.GraphDatabase.bookmark_manager()

    def run(self, name: str, /, **parameters: Any) -> Rows:
        """Run one reading statement in a transaction of its own."""
        text, values = statement(name), _for_driver(parameters)

        def once(session: neo4j.Session, _: _Attempt) -> Rows:
            return _rows(session.run(neo4j.Query(text, timeout=self._limit), values))

        return self._retrying(once, neo4j.READ_ACCESS)

    def run_each(self, name: str, /, each: Iterable[dict[str, Any]]) -> Iterator[Rows]:
        """Run one reading statement for each set of parameters, each in a transaction of its own."""
        for parameters in each:
            yield self.run(name, **parameters)

    def execute(self, text: str) -> None:
        """Run one statement of the schema, whose text is given, by itself."""

        def once(session: neo4j.Session, _: _Attempt) -> None:
            session.run(text).consume()

        self._retrying(once, neo4j.WRITE_ACCESS)

    def transaction(self, work: Callable[[Runner], T]) -> T:
        """Run `work` in one writing transaction and commit it; it is run again where the server asks for that.

        Raises what `work` raises (then nothing is written), UnavailableError, and OutcomeUnknownError.
        """

        def once(session: neo4j.Session, attempt: _Attempt) -> T:
            transaction = session.begin_transaction(timeout=self._limit)
            attempt.connected = True
            result = work(_Transaction(transaction))
            transaction.commit()
            return result  # closing the session rolls back; `transaction.close` could reach a connection that has a new owner

        return self._retrying(once, neo4j.WRITE_ACCESS)

    def _retrying(self, once: Callable[[neo4j.Session, _Attempt], T], access: str) -> T:
        return self._apart(lambda: self._tries(once, access))

    def _tries(self, once: Callable[[neo4j.Session, _Attempt], T], access: str) -> T:
        began, attempts, lost, memory = time.monotonic(), 0, 0, 0
        while True:
            attempt = _Attempt()
            try:
                with self._session(access, attempt) as session:
                    return once(session, attempt)
            except Again:
                pass
            except MemgraphError:
                raise
            except (Neo4jError, DriverError, OSError) as error:
                memory += is_out_of_memory(error)
                if is_ahead_of_the_server(error):
                    self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
                if isinstance(error, (*LOST, ConnectionAcquisitionTimeoutError)):
                    lost += 1
                    has_time = time.monotonic() - began < self.timeout - self._contact
                    again = lost <= _LOST_RETRIES and (has_time or attempt.may_be_repeated(self.timeout))
                    if isinstance(error, IncompleteCommit):
                        raise OutcomeUnknownError(
                            f"the connection to {self.where} broke during a commit",
                            hint="Write again with the same id.",
                        ) from None
                else:
                    again = is_again(error) and memory <= _MEMORY_RETRIES
                if not again or time.monotonic() - began > self._retry_time:
                    raise self._translated(error) from None
            attempts += 1
            if time.monotonic() - began > self._retry_time:
                raise UnavailableError(
                    f"{self.where} asked to repeat this for {self._retry_time:.0f} s", hint="Try again later."
                )
            time.sleep(_BACK_OFF * random.random() * (1 + min(attempts, 10)))  # noqa: S311 - jitter

    def _translated(self, error: BaseException) -> MemgraphError:
        found = translated(error, self.where, self.database)
        if isinstance(found, AuthError) and not isinstance(error, Forbidden):
            self._refused, self._refused_at = found, time.monotonic()
        return found

    @contextmanager
    def _session(self, access: str, attempt: _Attempt) -> Iterator[neo4j.Session]:
        driver = self._connected()
        allowance = self._allowance
        with self._watch.turn(self._slots, self.where, allowance):
            if self._closed:  # while this waited
                raise ClosedError("the connection was closed", hint="Open the store again.")
            limit = self._limit_now(access, allowance)
            session = driver.session(
                database=self.database, bookmark_manager=self._bookmarks, default_access_mode=access, fetch_size=2000
            )
            with self._watch.over(session, self.where, limit, allowance) as attempt.flight:
                try:
                    yield session
                finally:
                    try:
                        session.close()
                    except (Neo4jError, DriverError, OSError):
                        pass  # what was read or committed stays so; a broken connection leaves the pool by itself

    def _limit_now(self, access: str, allowance: Allowance) -> float:
        """Seconds that a session may take now."""
        limit = self._limit + self.timeout  # by then the server has ended it, or a connection that looks sound is not
        left = allowance.until - time.monotonic()
        if left <= 0:
            raise SlowError(f"{self.where} did not answer in time", hint="Try again later.")
        return min(limit, self._read_limit if access == neo4j.READ_ACCESS and self._read_limit else limit)

    # ---- connecting

    def connect(self) -> None:
        """Connect now, instead of at the first statement. Raises UnavailableError, AuthError, UnsupportedError and others."""
        self._apart(self._connected)

    def _connected(self) -> neo4j.Driver:
        if self._pid != os.getpid():
            _orphans.append(self._driver)
            self._fresh()
            for call in self._on_fork:
                call()
        if self._closed:
            raise ClosedError("the connection was closed", hint="Open the store again.")
        self._complain()
        if self._driver is not None:
            return self._driver
        failures = self._watch.failures
        with self._connecting:
            if self._driver is not None:
                return self._driver
            self._complain()
            if failures != self._watch.failures:
                raise UnavailableError(self._failure, hint="Is the server running?")  # as somebody else has just found
            try:
                self._driver = self._open()
            except UnavailableError as error:
                self._watch.failures += 1
                self._failure = str(error)
                raise
            if self._closed:  # while this was connecting
                self._driver.close()
                raise ClosedError("the connection was closed", hint="Open the store again.")
            return self._driver

    def _complain(self) -> None:
        """Raise what the server has against the credentials; they are not tried again at once, as it would lock them."""
        refused = self._refused
        if refused is not None:
            if time.monotonic() - self._refused_at < _REFUSED_FOR:
                raise type(refused)(str(refused), hint=refused.hint)
            self._refused = None

    def _open(self) -> neo4j.Driver:
        driver = None
        try:
            driver = neo4j.GraphDatabase.driver(
                self._uri,
                auth=self._auth,
                connection_acquisition_timeout=self._contact,
                connection_timeout=self._contact * 0.75,
                connection_write_timeout=30.0,
                liveness_check_timeout=self._contact / 4,
                max_connection_pool_size=self._pool + 1,
                max_transaction_retry_time=0,
                keep_alive=True,
                telemetry_disabled=True,
                notifications_min_severity="OFF",
            )
            info = driver.get_server_info()
        except (Neo4jError, DriverError, OSError, ValueError) as error:
            if driver is not None:
                driver.close()
            raise self._translated(error) from None
        try:
            self.version = require_version(self.where, info.agent)
        except UnsupportedError:
            driver.close()
            raise
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
        self._watch.home = (info.address[0], info.address[1])
        return driver

    def close(self) -> None:
        """Give the connections up. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._driver is not None:
            self._apart(self._hang_up)
        self._watch.stop()

    def _hang_up(self) -> None:
        """Give up the connections that there are; who asks again gets new ones, unless this was closed."""
        if self._pid != os.getpid():
            return  # they are the parent's
        driver, self._driver = self._driver, None
        if driver is not None:
            self._watch.ground()
            driver.close()


@atexit.register
def _hang_up_all() -> None:
    """Give up connections that nobody closed; an exit handler of somebody else may still ask."""
    for bolt in list(_open):
        bolt._hang_up()


class _Attempt:
    """One try of a unit of work."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.connected = False
        self.flight: Flight | None = None

    def may_be_repeated(self, timeout: float) -> bool:
        """Whether a lost connection is likely to be that connection's own trouble.

        It stood, or it broke at once, or the server answered others while it did not.
        """
        if self.connected or time.monotonic() - self.began < timeout / 4:
            return True
        return self.flight is not None and self.flight.answered


class _Transaction:
    """A running transaction as a Runner."""

    def __init__(self, transaction: neo4j.Transaction) -> None:
        self._transaction = transaction

    def run(self, name: str, /, **parameters: Any) -> Rows:
        return _rows(self._transaction.run(statement(name), _for_driver(parameters)))

    def run_each(self, name: str, /, each: Iterable[dict[str, Any]]) -> Iterator[Rows]:
        text, before = statement(name), None
        for parameters in each:
            result = self._transaction.run(text, _for_driver(parameters))
            if before is not None:
                yield _rows(before)
            before = result
        if before is not None:
            yield _rows(before)


def require_version(where: str, agent: str) -> tuple[int, ...]:
    """The version of a server that is new enough. Raises UnsupportedError."""
    found = version_of(agent)
    if not found:
        raise UnsupportedError(f"{where} is no Neo4j server", hint="Check the address.")
    if found < MINIMUM:
        raise UnsupportedError(
            f"{where} is {agent}; memgraph needs Neo4j {MINIMUM[0]}.{MINIMUM[1]} or newer", hint="Update the server."
        )
    return found


def version_of(agent: str) -> tuple[int, ...]:
    """The numbers in a server's name, such as "Neo4j/5.26.20" or "Neo4j/5.27-aura"; none in that of another product."""
    found = re.fullmatch(r"Neo4j/(\d+(?:\.\d+)*)(?:[-+][\w.+-]*)?", agent)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


# ---- values


def _rows(result: neo4j.Result) -> Rows:
    return [{name: _plain(value) for name, value in record.items()} for record in result]  # type: ignore[no-untyped-call]


def _plain(value: Any) -> Any:
    """What a statement returned, with Python's own times in UTC."""
    if isinstance(value, DateTime):
        return value.to_native().astimezone(UTC)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list) and value and not isinstance(value[0], str | float | int):
        return [_plain(each) for each in value]
    return value


def _for_driver(value: Any) -> Any:
    """Parameters with every time at a fixed offset: a named zone can crash the driver."""
    kind = type(value)
    if kind is str or kind is float or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, datetime):
        return value if value.tzinfo is UTC else value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: _for_driver(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        if value and type(value[0]) is float:
            return list(value)
        return [_for_driver(each) for each in value]
    return value
