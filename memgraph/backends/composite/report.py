"""How both sides are doing: one sync now, one screen of status, one look for damage."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memgraph.backends.base import Scope
from memgraph.backends.composite import pending
from memgraph.backends.composite.link import Link
from memgraph.backends.composite.pull import Progress
from memgraph.checks import from_micros, ledgers_of
from memgraph.errors import MemgraphError, UnavailableError
from memgraph.models import CheckReport, Problem, StoreStatus, SyncReport, SyncStatus

if TYPE_CHECKING:
    from memgraph.backends.composite.backend import CompositeBackend

__all__ = ["check", "status", "sync"]


def sync(link: Link, scope: Scope, progress: Progress | None) -> SyncReport:
    """Push what waits, and pull what others wrote in a scope. Raises UnavailableError and others."""
    before = link.taken
    link.puller.distrust()
    link.look_at_clock(link.pusher)
    names = link.puller.names(scope, link.pusher)
    pulled = sum(link.pull(path, progress=progress) or 0 for path in names)
    for path in sorted({ledger for each in names for ledger in ledgers_of(each)}):
        link.pull(path)
    link.push()
    link.purge_pending()
    pulled += sum(link.pull(path, progress=progress) or 0 for path in names)
    link.problem = None
    depth = link.outbox.depth()
    return SyncReport(
        namespaces=tuple(names),
        pushed=link.taken - before,
        pulled=pulled,
        waiting=depth.queued,
        dead_letters=depth.dead_letters,
        purges=len(link.outbox.selectors()),
    )


def check(whole: CompositeBackend, repair: bool, reindex: bool) -> CheckReport:
    """Look for damage and broken laws on both sides; a primary that is away is one of the problems."""
    here = whole.local.check(repair, reindex)
    lost = pending.unreadable(whole.local)
    if lost:
        named = ", ".join(name.partition(" ")[0] for name in lost)
        problem = Problem(
            code="lost_purges",
            message=f"{len(lost)} purges that wait for the primary cannot be read any more, as their key is gone ({named})",
            remedy="Purge by the same once more; until then the primary may hold what they were to remove.",
        )
        here = here.model_copy(update={"ok": False, "problems": (*here.problems, problem)})
    try:
        there = whole.reading.sign_of_life().check(repair, reindex)
    except UnavailableError as error:
        whole.reading.failed(error)
        away = Problem(
            code="away", message=f"{error}; only the local store was looked at", remedy="Check again when it is back."
        )
        return here.model_copy(update={"ok": False, "problems": (*here.problems, away)})
    return here.model_copy(
        update={
            "ok": here.ok and there.ok,
            "store": f"{here.store} with {there.store}",
            **{
                part: {
                    **getattr(here, part),
                    **{f"primary {name}": each for name, each in getattr(there, part).items()},
                }
                for part in ("checked", "facts", "mended")
            },
            "problems": (
                *here.problems,
                *(each.model_copy(update={"message": f"on the primary: {each.message}"}) for each in there.problems),
            ),
        }
    )


def status(whole: CompositeBackend, namespace: str) -> StoreStatus:
    """Which store this is and how both sides are doing, as far as the primary answers within the deadline."""
    now, there = from_micros(time.time_ns() // 1000), None
    link = whole.link
    link.resume()
    if link.breaker.closed:
        try:
            link.look_at_clock()
            there = whole.primary.stats(namespace, now).entries
        except UnavailableError as error:
            whole.reading.failed(error)
        except MemgraphError as error:
            link.problem = error
    depth = link.outbox.depth()
    sync = SyncStatus(
        primary=whole.primary.where,
        mode=whole.mode,
        write_concern=whole.write_concern,
        breaker=link.breaker.state,
        error=link.breaker.error or (str(link.problem) if link.problem else None),
        queued=depth.queued,
        oldest=depth.oldest,
        held=link.held,
        dead_letters=depth.dead_letters,
        pushed_at=depth.pushed_at,
        pulled_at=depth.pulled_at,
        purges=len(link.outbox.selectors()),
        clock_drift=link.drift,
        cursors=depth.cursors,
        local_entries=whole.local.stats(namespace, now).entries,
        primary_entries=there,
    )
    return whole.local.status(namespace).model_copy(
        update={
            "backend": whole.name,
            "sync": sync,
            "degraded": whole.degraded,
            "opened_without": None,
            "queued": depth.queued,
        }
    )
