"""Keeping a local store and its primary in step: one thread pushes the queue, probes a primary that is away, and has it pulled."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from time import time as machine_time
from typing import Any, Final

import memgraph.operations as ops
from memgraph.backends.base import Primary, Pushed, Scope
from memgraph.backends.composite import guard, pending
from memgraph.backends.composite.breaker import Breaker
from memgraph.backends.composite.pull import Progress, Puller
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, UNPUSHED, set_cursor
from memgraph.backends.local.outbox import Outbox, Unit, refuse, refuse_what_names
from memgraph.checks import from_micros
from memgraph.clock import millis
from memgraph.errors import (
    AuthError,
    ClosedError,
    ConflictError,
    InvalidInputError,
    MemgraphError,
    NotFoundError,
    ReadOnlyError,
    StoreFullError,
    StoreVersionError,
    UnavailableError,
    UnsupportedError,
)
from memgraph.threads import Event, is_alone

__all__ = ["Link"]

_log = logging.getLogger("memgraph")
_ROWS: Final = (50, 2000)  # of one push: at first, and at most
_QUICK, _SLOW = 1.0, 4.0  # seconds: a push under the one lets the next be larger, one over the other smaller
_QUIET, _BURST = 0.02, 0.5  # seconds: writes that follow each other so closely are pushed together, for so long at most
_DOUBT: Final = 0.1  # seconds that a push may take before the primary is asked for a sign of life beside it
_LOOK: Final = 0.02  # seconds between looks at a queue that another process may be emptying
_PAUSE: Final = 15.0  # seconds before a refused connection is looked at again
_RETRY: Final = 1.0  # seconds before what the local store refused is tried again, and what runs ahead is looked at
_PATIENT: Final = 4  # of so many probes one waits longer: a way may be too slow for the others
_TRIES: Final = 3  # of a unit that may be what the primary fails at
_SOON: Final = (
    2.0  # seconds after a first read until the first pull: a process of a moment, such as a command, begins none
)
_links: weakref.WeakSet[Link] = weakref.WeakSet()
_CONNECTION: Final = (AuthError, StoreVersionError, UnsupportedError, ReadOnlyError, ClosedError)


class Link:
    """The one way between a store and its primary. Safe for threads and forks; the thread starts when there is work.

    primary: asked by callers, with short deadlines. pusher: the same one with long deadlines, for the queue. patient: the same with
    a deadline between the two, for the first contact, as a server may have just started, and for a sync over a slow way.
    pull_every: seconds between pulls of what others wrote; None: no thread, what waits is pushed when it is waited for.
    max_drift: seconds that a version may run ahead of the primary's clock. deadline: seconds between two signs of life that
    somebody who waits for a push has the primary asked for. taken: how many operations the primary took so far.
    """

    def __init__(
        self,
        local: LocalBackend,
        primary: Primary,
        pusher: Primary,
        pull_every: float | None,
        max_drift: float,
        deadline: float,
        patient: Primary | None = None,
    ) -> None:
        self.local, self.primary, self.pusher, self.patient = local, primary, pusher, patient
        self.outbox = Outbox(local)
        self.puller = Puller(local, self.outbox, primary, pusher, queued=self.wake, stuck=self._suspect)
        self.breaker = Breaker()
        self.drift: float | None = None
        self.problem: MemgraphError | None = None
        self.held = self.taken = 0
        self.followed: set[str] = set()
        self._pull_every, self._max_drift, self._deadline = pull_every, max_drift, deadline
        self._rows = _ROWS[0]
        self._tries: dict[int, int] = {}
        self._numbers: dict[str, int] = {}  # of feeds, when something was pushed last
        self._closed = False
        self._coupled = self._ending = False
        self._fresh()
        _links.add(self)

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._wake, self._urgent, self._progress = Event(), Event(), Event()
        self._woken = 0.0
        self._pushing = threading.Lock()
        self._doubt: threading.Thread | None = None
        self._doubted = 0.0
        self._pull_due = 0.0

    def couple(self) -> None:
        """Have the store keep a journal for this primary, before the first write: reading what never answers changes nothing."""
        if not self._coupled:
            self.local.couple(self.primary.where)
            self._coupled = True

    def forget(self) -> None:
        """The primary answers late: it may wait for what it had before it was restored from an older copy."""
        for side in (self.primary, self.pusher, self.patient):
            if side is not None:
                side.forget()

    # ---- the thread

    def complain(self) -> None:
        """Raise what the primary has against this connection, such as wrong credentials."""
        if self.problem is not None:
            raise type(self.problem)(str(self.problem), hint=self.problem.hint)

    def wake(self, urgent: bool = True) -> None:
        """There is something to push. urgent: somebody waits for it; else writes that follow each other are gathered first."""
        self._running()
        self._woken = time.monotonic()
        if urgent:
            self._urgent.set()
        self._wake.set()

    def follow(self, namespace: str) -> None:
        """Pull this namespace in the background from now on. Comes before every read: in a new process all begins anew."""
        self.followed.add(namespace)
        if self._pid != os.getpid() or not self._runs:
            self._pull_due = time.monotonic() + _SOON
            self._running()

    def pull_soon(self) -> None:
        """There is something to pull, or to send once more."""
        self._pull_due = 0.0
        self.wake()

    def _gather(self) -> None:
        """Let a burst of writes pass, so that a push carries more of them, and takes less from who is writing."""
        until = time.monotonic() + _BURST
        while time.monotonic() < min(self._woken + _QUIET, until) and not self._urgent.wait(_QUIET / 2):
            pass
        self._urgent.clear()

    @property
    def _runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def resume(self) -> None:
        """In a forked child, know nothing of how the primary was to the parent."""
        if self._pid != os.getpid():
            self.breaker = Breaker()
            self.puller.after_fork()
            self._fresh()

    def _running(self) -> None:
        self.resume()
        if self._pull_every is not None and not self._runs and not self._closed and not is_alone():
            with self._starting:
                if not self._runs:
                    self._thread = threading.Thread(target=self._run, name="memgraph-link", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        while not self._closed and not self._ending:
            self._wake.clear()
            try:
                pause = self._step()
            except UnavailableError as error:
                self.breaker.fail(str(error))
                self._progress.pulse()
                pause = 0.0
            except ClosedError:
                return
            except MemgraphError as error:
                _log.warning("the queue for %s waits: %s", self.primary.where, type(error).__name__)
                pause = _RETRY
                if _of_connection(error):
                    self.problem = error
                    self.breaker.fail(str(error))
                    self._progress.pulse()
                    pause = _PAUSE
            self._wake.wait(pause)

    def _step(self) -> float:
        """Do what is due; returns the seconds until something else is."""
        if self.breaker.state == "open":
            if self.problem is None:
                self._rest(self.breaker.delay())
            if self._closed or self._ending:
                return 0.0
            self._probe()
        self._gather()
        if self.push(once=True):
            return 0.0
        self.purge_pending()
        rest = self._pull_due - time.monotonic()
        if rest <= 0:
            self.look_at_clock(
                None if self.drift is None else self.pusher
            )  # first by one connection: credentials are tried once
            self.puller.pull_known(self.followed)
            rest = self._pull_every or _PAUSE
            self._pull_due = time.monotonic() + rest
        return min(rest, _RETRY) if self.held else rest

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._closed and not self._ending and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _probe(self) -> None:
        mark = self.outbox.newest()
        patient = self.breaker.failures % _PATIENT == 0
        self.look_at_clock(self.pusher if patient else self.primary)
        self.problem = None
        self.puller.distrust()
        self.breaker.answered(mark)

    def _meet(self) -> None:
        """Reach the primary for the first time; it may have just started. Credentials are tried by one connection first."""
        try:
            self.look_at_clock()
        except UnavailableError:
            if self.patient is None:
                raise
            self.look_at_clock(self.patient)

    def look_at_clock(self, primary: Primary | None = None) -> None:
        """Reach the primary, by default in a hurry, and see how far its clock is ahead of this machine's."""
        began = self.local.wall()
        there = (primary or self.primary).ping()
        self.drift = there - (began + self.local.wall()) / 2
        self.local.is_ahead(machine_time() - there)

    def asks_the_time(self) -> bool:
        """Whether the primary told its time just now, for the first time in this process."""
        if self.drift is not None or not self.breaker.closed:
            return False
        try:
            self.look_at_clock()
        except UnavailableError as error:
            self.breaker.fail(str(error))
        except MemgraphError:
            pass  # what the connection has against it is told elsewhere
        return self.drift is not None

    @property
    def in_doubt(self) -> bool:
        """Whether neither a push nor the sign of life that was asked for beside it got an answer for most of a deadline."""
        return self._looks and time.monotonic() - self._doubted > self._deadline * 0.75

    @property
    def _looks(self) -> bool:
        return self._doubt is not None and self._doubt.is_alive()

    def _suspect(self) -> None:
        """Ask the primary for a sign of life, beside the push that may be stuck for longer than anybody should wait."""
        with self._starting:
            if not self._looks and not self._closed and not is_alone():
                self._doubted = time.monotonic()
                self._doubt = threading.Thread(target=self._look, name="memgraph-doubt", daemon=True)
                self._doubt.start()

    def _look(self) -> None:
        before = self.taken
        try:
            self.primary.ping()
        except UnavailableError as error:
            if not getattr(error, "slow", False) and self.taken == before:  # else it took something meanwhile: it lives
                self.breaker.fail(str(error))
                self._progress.pulse()
        except MemgraphError:
            pass  # it answers, and the push will hear of this itself

    def pause(self) -> None:
        """End the thread, until there is work again."""
        thread = self._thread
        if self._pid == os.getpid() and thread is not None and thread is not threading.current_thread():
            self._ending = True
            self._urgent.set()
            self._wake.set()
            thread.join(timeout=1.0)
            self._ending = False

    def close(self, patience: float) -> None:
        """Push what can be pushed within `patience` seconds, then stop."""
        if self._pid == os.getpid() and self._thread is not None and self._thread is not threading.current_thread():
            if self.breaker.closed and not self.held:
                self.wait(self.outbox.newest(), None, patience)
            self._closed = True
            self._urgent.set()
            self._wake.set()
            if is_alone():
                return
            self._thread.join(timeout=1.0 if self.breaker.closed else 0.1)  # else it waits for who is away
        self._closed = True

    def join(self) -> None:
        """Wait for the threads, once the connections that they may wait for are closed."""
        for thread in (self._thread, self._doubt):
            ours = self._pid == os.getpid() and not is_alone()
            if ours and thread is not None and thread is not threading.current_thread():
                thread.join(timeout=1.0)  # it may be in the middle of connecting, and ends by itself

    # ---- pushing

    def push(self, once: bool = False) -> int:
        """Push what waits, or one batch of it; returns how many operations the primary took, with `once` at least 1 if any waited.

        Raises what the connection raises.
        """
        total = 0
        with self._pushing:
            while units := self._due():
                self.puller.look_before_a_push()
                began = time.monotonic()
                try:
                    total += self._send(self._without_what_must_not(units))
                except UnavailableError:
                    self._rows = max(self._rows // 2, 1)  # what is too much for the way there is not sent over and over
                    raise
                took = time.monotonic() - began
                if took < _QUICK:
                    self._rows = min(self._rows * 2, _ROWS[1])
                elif took > _SLOW:  # each push costs something by itself: small ones would only take longer
                    self._rows = max(self._rows // 2, min(self._rows, _ROWS[0]))
                self.breaker.pushed(self.outbox.waits(self.breaker.mark))
                self._progress.pulse()
                if once:
                    return max(total, 1)
            if not self.held:
                self.breaker.pushed(waits=False)
                self._progress.pulse()
        return total

    def purge_pending(self) -> None:
        """Carry out there what was purged here by a selector while the primary was away."""
        if self.breaker.closed:
            for path in pending.carry_out(self.local, self.pusher):
                self.puller.pull(path)

    def _due(self) -> list[Unit]:
        """The next units, up to one that runs ahead of the primary's clock."""
        units = self.outbox.units(self._rows)
        if units and self.drift is None:
            self._meet()
        ahead = (self.local.wall() + (self.drift or 0.0) + self._max_drift) * 1000
        due = []
        for unit in units:
            version = unit.version
            if version and millis(version) > ahead:
                break
            due.append(unit)
        self.held = len(units) - len(due)
        return due

    def _without_what_must_not(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """These units without purges that would take what they must not there: such are set aside."""
        against = guard.objections(self.outbox, self.pusher, units, from_micros(time.time_ns() // 1000))
        for unit in units:
            if unit.number in against:
                self._set_aside(unit.number, against[unit.number], {})
                guard.note_refusal(self.local, unit)
        return [unit for unit in units if unit.number not in against]

    def _send(self, units: Sequence[Unit]) -> int:
        """Have the primary take these units; returns how many operations of them it took."""
        if not units:
            return 0
        tombstones = [item for unit in units for item in unit.tombstones]
        operations = [operation for unit in units for operation in unit.operations]
        before = {path: self.outbox.cursor(path) for path in {each.namespace for each in operations}}
        try:
            if tombstones:
                self.pusher.bury(tombstones)
            pushed = self.pusher.push(operations) if operations else Pushed({}, {})
        except (StoreFullError, UnavailableError) as error:
            if not getattr(error, "suspect", False):
                raise
            self._rows = max(self._rows // 4, 1)
            tries = self._tries[units[0].number] = self._tries.get(units[0].number, 0) + 1
            if len(units) == 1 and (tries < _TRIES or not self._takes_another(units[0], error)):
                raise
            return self._apart(units, error)
        except NotFoundError as error:  # the store is not there any more: the next push makes it anew
            self.puller.distrust()
            self._pull_due = 0.0
            raise UnavailableError(str(error), hint=error.hint) from None
        except MemgraphError as error:
            if _of_connection(error):
                raise
            return self._apart(units, error)
        self._give_way(pushed.earlier)  # first: whoever dies in between sends it once more and hears the same
        self.outbox.done(units, pushed.feeds)
        for unit in units:
            guard.note_success(self.local, unit)
        self._look_back(before, pushed.feeds)
        taken = sum(len(unit.items) for unit in units)
        self.taken += taken
        return taken

    def _look_back(self, before: Mapping[str, int], feeds: Mapping[str, int]) -> None:
        """Have all of a namespace sent again whose feed was further before this push: it was restored from an older copy."""
        restored = [path for path, number in feeds.items() if number <= max(before[path], self._numbers.get(path, ALL))]
        self._numbers.update(feeds)
        if restored:
            self.puller.distrust()

            def work(connection: Any) -> None:
                for path in restored:
                    set_cursor(connection, path, UNPUSHED)

            self.local.database.write(work)
            self._pull_due = 0.0

    def _takes_another(self, unit: Unit, error: MemgraphError) -> bool:
        """Whether it is this unit that the primary fails at, as it takes another; in which order they arrive is all the same."""
        if isinstance(error, StoreFullError):
            return True
        for other in self.outbox.units(_ROWS[0]):
            if other.number != unit.number and other.operations and not other.tombstones:
                try:
                    pushed = self.pusher.push(other.operations)
                except MemgraphError:
                    return False
                self._give_way(pushed.earlier)
                self.outbox.done([other], pushed.feeds)
                return True
        return False

    def _apart(self, units: Sequence[Unit], error: MemgraphError) -> int:
        """One of these units is refused: find it, and let the others pass; returns how many operations did."""
        if len(units) > 1:
            middle = len(units) // 2
            passed = self._send(units[:middle])
            numbers = {unit.number for unit in units[middle:]}  # without what a refusal took with it
            rest = [unit for unit in self.outbox.units(_ROWS[1]) if unit.number in numbers]
            return passed + self._send(rest)
        unit = units[0]
        taken = self._taken(unit) if isinstance(error, ConflictError) else {}
        self._give_way(taken)
        self._set_aside(unit.number, str(error), taken)
        return 0

    def _set_aside(self, number: int, reason: str, taken: Mapping[str, Sequence[str]]) -> None:
        """Make a unit a dead letter, and what waits about memories whose ids name others there."""
        _log.warning("unit %d was refused by %s and set aside", number, self.primary.where)

        def work(connection: Any) -> None:
            refuse(connection, number, reason)
            for path, ids in taken.items():
                refuse_what_names(connection, path, ids, reason)

        self.local.database.write(work)

    def _give_way(self, ids: Mapping[str, Sequence[str]]) -> None:
        """Ids name what the primary has under them: what stands there is to be pulled in place of ours."""
        for path, mine in ids.items():

            def then(connection: Any, _: Any, path: str = path) -> None:
                set_cursor(connection, path, ALL)

            self.local.withdraw(path, mine, then)
            self._pull_due = 0.0

    def _taken(self, unit: Unit) -> dict[str, list[str]]:
        """The ids of a unit that name other memories on the primary."""
        found: dict[str, list[str]] = {}
        now = from_micros(time.time_ns() // 1000)
        for operation in unit.operations:
            if isinstance(operation, ops.Remember):
                there = self.pusher.get(operation.namespace, [operation.id], now).get(operation.id)
                if there is not None and (there.content, there.key) != (operation.content, operation.key):
                    found.setdefault(operation.namespace, []).append(operation.id)
        return found

    def pull(self, namespace: str, seconds: float | None = None, progress: Progress | None = None) -> int | None:
        """Have a namespace pulled, as `Puller.pull` does it, and the queue pushed meanwhile."""
        self._running()
        return self.puller.pull(namespace, seconds, progress)

    def wait(self, number: int, scope: Scope | None, seconds: float) -> bool:
        """Wait until everything up to a row of a scope is acknowledged; False if it is not, or the primary is found away."""
        if not self.outbox.waits(number, scope):
            return True
        if is_alone():
            return False
        self.wake()
        if self._pull_every is None:
            return self._push_now(number, scope)
        began = time.monotonic()
        doubt = _DOUBT  # asked beside the push: whoever waits hears within one deadline that nobody is there
        while self.breaker.closed and not self.held:
            self._progress.wait(min(_LOOK, max(0.0, began + seconds - time.monotonic())))
            if not self.outbox.waits(number, scope):
                return True
            waited = time.monotonic() - began
            if waited >= min(seconds, doubt):
                self._suspect()
                doubt = waited + self._deadline
            if waited >= seconds:
                return False
        return not self.outbox.waits(number, scope)

    def _push_now(self, number: int, scope: Scope | None) -> bool:
        try:
            self.push()
        except UnavailableError as error:
            self.breaker.fail(str(error))
        return not self.outbox.waits(number, scope)


@atexit.register
def _pause_all() -> None:
    """No thread is to be in the middle of anything when the interpreter ends: what it holds then is never given back."""
    for link in list(_links):
        link.pause()


def _of_connection(error: MemgraphError) -> bool:
    """Whether an error says something of the connection, and nothing of what was sent over it."""
    return isinstance(error, _CONNECTION) or (
        isinstance(error, InvalidInputError) and error.field in ("primary", "database")
    )
