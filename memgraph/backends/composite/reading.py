"""How a read is answered: by the primary, by the local store, or by both, as the mode says and as the primary lets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Final, Literal, TypeVar

from memgraph.backends.base import Backend, Primary, Scope
from memgraph.backends.composite.breaker import Patience
from memgraph.backends.composite.link import Link
from memgraph.backends.composite.pull import BusyError
from memgraph.checks import LEDGER
from memgraph.errors import UnavailableError
from memgraph.models import Entry, Lineage, Neighbourhood, Page, SearchResult

__all__ = ["Answer", "Mode", "Reading"]

Mode = Literal["failover", "merge", "local_first"]
T = TypeVar("T")
Answer = tuple[T, str | None]

_AWAY: Final = "the primary cannot be reached; the local store answers"
_SLOW: Final = "the primary does not answer in time; the local store answers"
_BEHIND: Final = "catching up: writes of this store have not reached the primary yet; the local store answers"
_AHEAD: Final = "writes of this store run ahead of the primary's clock, and wait for it; the local store answers"
_OURS: Final = (_BEHIND, _AHEAD)  # of no account where nothing of ours waits
_REFUSED: Final = "the primary refuses this connection; reads raise what it says, until it takes it"
_LOST: Final = "the primary lacks some of what is here, and gets it; the local store answers"
_UNPULLED: Final = "catching up: what others wrote has not been pulled yet; the local store answers"


class Reading:
    """Reads over a link. Safe for threads. deadline (seconds): as for CompositeBackend."""

    def __init__(self, link: Link, deadline: float) -> None:
        self.link, self.deadline = link, deadline
        self.local, self.primary = link.local, link.primary
        self._patience = Patience()

    def answer(
        self,
        mode: Mode,
        scope: Scope,
        ask: Callable[[Backend], T],
        enough: Callable[[T], bool] | None = None,
        endless: bool = False,
    ) -> Answer[T]:
        """An answer by the mode, and why it may be incomplete. enough: whether `local_first` need not ask the primary.

        endless: of any length, so that each of its statements has the deadline, and not all of them together.
        """
        self.link.follow(scope.namespace)
        if mode == "local_first" and enough is not None:
            found = ask(self.local)
            if enough(found):
                return found, None
        if mode == "failover" and not self.link.outbox.set_aside(scope):
            return self._from_primary(scope, ask, endless)
        return self._merged(scope, ask)  # also where the primary refused something for good: it must not vanish here

    def _from_primary(self, scope: Scope, ask: Callable[[Backend], T], endless: bool = False) -> Answer[T]:
        """The primary's answer, if it has our writes; else the local one."""
        reason = self.cannot_ask(scope)
        if reason is None:
            try:
                with nullcontext() if endless else self.primary.within(self.deadline):
                    if self.link.puller.has_lost(self.primary, scope.namespace):
                        self.link.pull_soon()
                        return ask(self.local), _LOST
                    found = ask(self.primary)
            except UnavailableError as error:
                reason = self.failed(error)
            else:
                self._patience.renew()
                if scope.namespace.split("/")[0] != LEDGER:
                    for version in _versions(
                        found
                    ):  # what is written after a read wins over it, whatever the clocks say
                        self.local.saw(version)
                return found, None
        return ask(self.local), reason

    @property
    def doubt(self) -> str | None:
        """Why the primary would not be asked now, as far as it is known without asking."""
        if not self.link.breaker.closed:
            if self.link.problem is not None:
                return _REFUSED
            return _AWAY if self.link.breaker.state == "open" else _BEHIND
        return _SLOW if self.link.in_doubt else self._patience.lost

    @property
    def loss(self) -> str | None:
        """What is to be said while the primary lacks something of a namespace that was read."""
        return _LOST if self.link.puller.lost else None

    def cannot_ask(self, scope: Scope) -> str | None:
        """Why the primary is not to be asked now; waits, within the deadline, for our own writes to reach it."""
        link = self.link
        link.complain()
        doubt, number = self.doubt, link.outbox.newest(scope)
        if doubt is not None and (number or doubt not in _OURS or not link.breaker.closed):
            return doubt
        if number and not link.wait(number, scope, self.deadline):
            link.complain()
            if not link.breaker.closed:
                return _AWAY
            reason = _SLOW if link.in_doubt else _AHEAD if link.held else _BEHIND
            self._patience.lose(reason)
            return reason
        return None

    def failed(self, error: UnavailableError) -> str:
        """Take note that the primary did not answer; returns what to say of it."""
        if getattr(error, "slow", False):
            self.link.forget()
            self._patience.lose(_SLOW)
            return _SLOW
        self.link.breaker.fail(str(error))
        self.link.wake()
        return _AWAY

    def renew(self) -> None:
        """The primary has just been seen to answer: ask it again."""
        self._patience.renew()

    def _merged(self, scope: Scope, ask: Callable[[Backend], T]) -> Answer[T]:
        """The local answer after pulling what others wrote: applying operations is what merges two sides by the laws."""
        link = self.link
        link.complain()
        doubt = self.doubt
        if doubt is not None and (doubt not in _OURS or not link.breaker.closed):
            return ask(self.local), doubt
        until, pulled = time.monotonic() + self.deadline, True
        try:
            with self.primary.within(self.deadline):
                for path in link.puller.names(scope, self.primary):
                    if link.pull(path, max(0.0, until - time.monotonic())) is None:
                        pulled = False
                        break
            if not pulled:
                found, reason = self._from_primary(scope, ask)
                return found, reason and _UNPULLED
        except BusyError:
            return ask(self.local), _UNPULLED
        except UnavailableError as error:
            reason = self.failed(error)
            return ask(self.local), reason
        self._patience.renew()
        return ask(self.local), None

    def reachable(self, scope: Scope) -> tuple[Primary, ...]:
        """The primary, with its long deadlines, if it gives a sign of life within the short one and has our writes."""
        if self.cannot_ask(scope) is not None:
            return ()
        try:
            self.primary.ping()
        except UnavailableError as error:
            self.failed(error)
            return ()
        return (self.link.pusher,)

    def at_hand(self) -> Primary:
        """The primary, with its long deadlines, for what cannot be answered without it. Raises UnavailableError, soon."""
        self.link.complain()
        try:
            if self.link.breaker.state == "open":
                raise UnavailableError(self.link.breaker.error or f"{self.primary.where} cannot be reached")
            return self.sign_of_life()
        except UnavailableError as error:
            raise UnavailableError(
                f"this needs what others wrote on the primary: {error}",
                hint="Try again when it is back; open the file without a primary to see what it holds itself.",
            ) from None

    def sign_of_life(self, slowly: bool = False) -> Primary:
        """The primary, with its long deadlines, once it has answered something within the short one, or was merely slow.

        slowly: for somebody who asked for this very thing: a way that is slow is given longer.
        Raises UnavailableError, soon, if nothing comes from it.
        """
        try:
            self.primary.ping()
        except UnavailableError as error:
            self.link.forget()
            if not getattr(error, "slow", False) and not (slowly and self._answers_slowly()):
                self.failed(error)
                raise
        return self.link.pusher

    def _answers_slowly(self) -> bool:
        try:
            return self.link.patient is not None and self.link.patient.ping() > 0
        except UnavailableError:
            return False


def _versions(found: object) -> Iterator[str]:
    """The versions of what a read found, and of what had happened to it as far as that is shown."""
    match found:
        case Entry():
            yield found.version
        case Mapping():
            for each in found.values():
                yield from _versions(each)
        case Page():
            yield from (each.version for each in found.items if isinstance(each, Entry))
        case SearchResult():
            yield from (hit.entry.version for hit in found.hits)
        case Lineage():
            yield from (entry.version for entry in found.entries)
            yield from (event.version for event in found.events)
        case Neighbourhood():
            yield from (each.version for each in (found.centre, *found.entries))
