"""Taking in what others wrote on the primary: per namespace, by the number of its feed, a page at a time, to be resumed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from memgraph.backends.base import Changes, Primary, Scope
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, UNPUSHED, advance, append_each, drop_dead
from memgraph.backends.local.outbox import Outbox, note_time
from memgraph.checks import from_micros, ledgers_of
from memgraph.errors import UnavailableError

__all__ = ["BusyError", "Progress", "Puller"]

Progress = Callable[[int], object]
_OVERLAP = 3  # numbers of a feed that are looked at once more before a pull goes on
_SPACES = 3  # by which it is seen before a pull of all whether the primary has what it had
_WITNESSES = 60  # memories, the newest of each writer, that are looked for there
_FEEDS = 500  # that are asked for at once
_TRUSTED = 300.0  # seconds that a namespace passes for the one that was pulled, unless the primary was away


class BusyError(UnavailableError):
    """What was asked did not come in time, and nothing says that the primary is away."""

    slow = True


class Puller:
    """Pulls into a local store. Safe for threads.

    primary: asked where somebody waits, pusher: where nobody does. queued: called when a pull has put something into the outbox.
    stuck: called when a pull waits for another one that takes long.
    """

    def __init__(
        self,
        local: LocalBackend,
        outbox: Outbox,
        primary: Primary,
        pusher: Primary,
        queued: Callable[[], object],
        stuck: Callable[[], object],
    ) -> None:
        self.local, self.outbox, self.primary, self.pusher = local, outbox, primary, pusher
        self._queued, self._stuck = queued, stuck
        self._met = False
        self._locks: dict[str, threading.Lock] = {}
        self._trusted: dict[str, float] = {}
        self._in_step: set[str] = set()
        self.lost: set[str] = set()  # namespaces of which the primary was seen to lack something
        self._looked = False
        self._resting: Collection[str] = ()

    def distrust(self) -> None:
        """The primary was away: it may have been restored, or replaced by another, and is looked at once more."""
        self._trusted.clear()
        self._in_step.clear()
        self._looked = False

    def has_lost(self, primary: Primary, namespace: str) -> bool:
        """Whether the primary lacks what it had of a namespace, as one that was restored does, or never got what was here before.

        It is looked at once a contact.
        """
        if namespace in self._in_step:
            return False
        if self.outbox.is_unsent(namespace):
            self.lost.add(namespace)
            return True
        cursor = self.outbox.cursor(namespace)
        if cursor >= 0:
            number = primary.feeds([namespace])[namespace]
            if number < cursor or (number == cursor and self._has_lost(primary, namespace)):
                self.lost.add(namespace)
                return True
        self._in_step.add(namespace)
        return False

    def look_before_a_push(self) -> None:
        """After a first contact: whose feeds are behind what was pulled is another, which our own push might hide."""
        if self._looked:
            return
        cursors = {path: number for path, number in self.outbox.cursors().items() if number >= 0}
        names = sorted(cursors)
        for start in range(0, len(names), _FEEDS):
            feeds = self.pusher.feeds(names[start : start + _FEEDS])
            for path in [path for path, number in feeds.items() if number < cursors[path]]:
                self.pull(path)
        self._looked = True

    def after_fork(self) -> None:
        """Locks of the parent process are not ours."""
        self._locks = {}

    def pull_known(self, followed: Collection[str]) -> int:
        """Pull every namespace that this store holds, and these; returns how many operations were news."""
        cursors = self.outbox.cursors()
        self._met = False  # whoever stands behind the address may have changed
        known = {*cursors, *self.local.namespaces(None), *followed}
        names = sorted(known.union(*map(ledgers_of, known)))  # holds are to be known here when the primary is away
        news = 0
        newest = [path for path in self.outbox.newest_spaces(_SPACES) if cursors.get(path, ALL) >= 0]
        if any(self._has_lost(self.pusher, path) for path in newest):
            self.distrust()
            return sum(self.pull(path) or 0 for path in names)
        for start in range(0, len(names), _FEEDS):
            part = names[start : start + _FEEDS]
            feeds = self.pusher.feeds(part)
            for path in [path for path in part if cursors.get(path) != feeds[path]]:
                if path not in self._resting:  # a purge may take long, and the queue is not to wait for it
                    news += self.pull(path) or 0
        return news

    @contextmanager
    def resting(self, namespaces: Collection[str], seconds: float) -> Iterator[None]:
        """Pull none of these namespaces meanwhile; whose pull does not end within so many seconds is left alone.

        Who asks for one waits, what happens by itself leaves it out.
        """
        until, held = time.monotonic() + seconds, list[threading.Lock]()
        try:
            for path in sorted(namespaces):
                lock = self._locks.setdefault(path, threading.Lock())
                if lock.acquire(timeout=max(0.0, until - time.monotonic())):
                    held.append(lock)
            self._resting = namespaces
            yield
        finally:
            self._resting = ()
            for lock in held:
                lock.release()

    def pull(self, namespace: str, seconds: float | None = None, progress: Progress | None = None) -> int | None:
        """Pull what others wrote in a namespace; returns how much was news here.

        seconds: None for as long as it takes. Resumes where the last pull ended; None if it is not done in time.
        A namespace from before there was a primary, or whose feed is not the one that was pulled (the primary was restored from
        an older copy, or is another), is pushed as a whole too.
        """
        until = None if seconds is None else time.monotonic() + seconds
        lock = self._locks.setdefault(namespace, threading.Lock())
        if not lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds)):
            self._stuck()
            raise BusyError(f"{namespace!r} is being pulled already", hint="Try again later.")
        primary = self.pusher if seconds is None else self.primary
        try:
            number = primary.feeds([namespace])[namespace]
            self._meet(primary)
            cursor = self.outbox.cursor(namespace)
            witnesses = self._witnesses(namespace) if cursor >= 0 else []  # before what comes now hides them
            other = number < cursor or (number > cursor and self._is_other(primary, namespace, cursor))
            news: int | None = 0
            if number > cursor >= 0 and not other:
                news = self._pages(primary, namespace, cursor, number, until, progress, echo=False)
                cursor = number
            if news is not None and cursor >= 0 and not other:
                other = self._lacks(primary, namespace, witnesses)  # what was purged there is gone here too by now
            if cursor == UNPUSHED or other:
                mine = self.outbox.sendable(self.local.operations(Scope(namespace)))
                self.outbox.enqueue_all(namespace, mine)
                self._queued()
                cursor = ALL
            if number > cursor and news is not None:
                more = self._pages(primary, namespace, cursor, number, until, progress, echo=other)
                news = None if more is None else news + more
            self.lost.discard(namespace)
            return news
        finally:
            lock.release()

    def _has_lost(self, primary: Primary, namespace: str) -> bool:
        """Whether the primary lacks what it had.

        Its feed may have gone on by as much as it had lost, or further, so that its number says nothing.
        """
        return self._lacks(primary, namespace, self._witnesses(namespace))

    def _witnesses(self, namespace: str) -> list[str]:
        """The ids of what the primary had, to see whether it has it still; none if that was looked at a short while ago."""
        if time.monotonic() - self._trusted.get(namespace, -_TRUSTED) < _TRUSTED:
            return []
        return self.outbox.acknowledged(namespace, _WITNESSES)

    def _lacks(self, primary: Primary, namespace: str, ids: list[str]) -> bool:
        """Whether the primary lacks one of these memories, that are here."""
        if not ids:
            return False
        now = from_micros(time.time_ns() // 1000)
        here = self.local.get(namespace, ids, now)
        if len(primary.get(namespace, list(here), now)) < len(here):
            return True
        self._trusted[namespace] = time.monotonic()
        return False

    def _meet(self, primary: Primary) -> None:
        if not self._met:
            secrets = primary.secrets()
            self.local.couple(primary.where)
            self.local.meet(secrets)
            self._met = True

    def _is_other(self, primary: Primary, namespace: str, cursor: int) -> bool:
        """Whether the feed is not the one that was pulled up to here: what has a number that we had already is news.

        So it is where the primary was restored from an older copy and others have written there since.
        """
        if cursor <= 0:
            return False
        seen = primary.changes(namespace, (cursor - _OVERLAP, ""), until=cursor)
        return self.local.receive(seen.operations, [], lambda *_: None) > 0

    def _pages(
        self,
        primary: Primary,
        namespace: str,
        cursor: int,
        number: int,
        until: float | None,
        progress: Progress | None,
        echo: bool,
    ) -> int | None:
        """Pull page by page. echo: queue what comes too, so that it gets new numbers, as other replicas have yet to notice."""
        news, place = 0, (cursor + 1, "")
        while True:
            page = primary.changes(namespace, place)
            news += self._receive(namespace, page, cursor, number, echo)
            if progress is not None:
                progress(len(page.operations))
            if not page.more:
                return news
            place = page.place
            if until is not None and time.monotonic() >= until:
                return None

    def _receive(self, namespace: str, page: Changes, cursor: int, number: int, echo: bool) -> int:
        reached = max(cursor, page.place[0] - 1) if page.more else number

        def then(connection: Any, _: Any) -> None:
            advance(connection, namespace, reached)
            note_time(connection, "pulled")
            if echo:
                append_each(connection, page.operations)
            if page.tombstones:
                drop_dead(connection, {namespace})

        return self.local.receive(page.operations, page.tombstones, then)

    def names(self, scope: Scope, primary: Primary) -> list[str]:
        """The namespaces of a scope on either side."""
        if not scope.subtree:
            return [scope.namespace]
        return sorted(
            {
                scope.namespace,
                *self.local.namespaces(scope.namespace),
                *primary.namespaces(scope.namespace),
            }
        )
