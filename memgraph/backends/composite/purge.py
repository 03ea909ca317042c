"""Purging on both sides: one plan of what either holds, carried out there first and then here, or here and later there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memgraph.backends.base import Backend, Primary, Scope, entries_of
from memgraph.backends.composite import pending
from memgraph.backends.local.journal import drop_dead, note
from memgraph.errors import UnavailableError
from memgraph.models import PurgePlan, PurgeReceipt, Selector
from memgraph.rules.reached import NAMES_WAIT, QUEUED, SELECTOR_WAITS, beside_a_primary, on_a_server
from memgraph.rules.selection import going, purge_plan, same_set, says_all

if TYPE_CHECKING:
    from memgraph.backends.composite.backend import CompositeBackend

__all__ = ["plan", "purge"]


def plan(
    whole: CompositeBackend, scope: Scope, selector: Selector, now: datetime, reachable: Sequence[Primary]
) -> PurgePlan:
    """What a purge would remove from the sides that can be reached: what either of them holds, each memory once."""
    sides: list[Backend] = [whole.local, *reachable]
    wanted: dict[str, dict[str, None]] = {}
    by_store: dict[str, int] = {}
    for side in sides:
        planned = side.plan_purge(scope, selector, now)
        by_store |= planned.by_store
        for path, ids in planned.ids.items():
            wanted.setdefault(path, {}).update(dict.fromkeys(ids))
    found = [going(entry) for path, ids in wanted.items() for entry in entries_of(sides, path, list(ids), now)]
    store = f"{whole.local.database.where} with {whole.primary.where}"
    told = store if reachable else f"{store} (away)"
    return purge_plan(scope.namespace, scope.subtree, selector, found, now, told, by_store)


def purge(whole: CompositeBackend, planned: PurgePlan, now: datetime, reachable: Sequence[Primary]) -> PurgeReceipt:
    """Carry a plan out. While the primary is away it is done here, and waits in the outbox for there."""
    whole.link.couple()
    spaces = {planned.namespace, *planned.ids}
    with whole.link.puller.resting(spaces, whole.deadline):  # else what goes there may go here too before it is counted
        receipt = _purge(whole, planned, spaces, now, reachable)
    if not receipt.pending:
        try:
            for path in sorted(spaces):
                whole.link.pull(path)
        except UnavailableError as error:  # the next pull brings it
            whole.reading.failed(error)
    return receipt


def _purge(
    whole: CompositeBackend, planned: PurgePlan, spaces: set[str], now: datetime, reachable: Sequence[Primary]
) -> PurgeReceipt:
    scope = Scope(planned.namespace, planned.subtree)
    same_set(plan(whole, scope, planned.selector, planned.at, reachable), planned)
    mine = whole.local.plan_purge(scope, planned.selector, planned.at)
    if not reachable:
        return _here(whole, planned, mine, now)
    primary = reachable[0]
    try:
        theirs = primary.plan_purge(scope, planned.selector, planned.at)
        there = primary.purge(theirs, now)
    except UnavailableError as error:
        whole.link.breaker.fail(str(error))
        return _here(whole, planned, mine, now)

    def then(connection: Any, _: Any) -> None:
        drop_dead(connection, spaces)

    here = whole.local.purge_at(mine, now, there.version, then, there.id)
    pending.settle(whole.local, planned.namespace, planned.selector_digest)
    both = {name: max(here.removed.get(name, 0), there.removed.get(name, 0)) for name in here.removed | there.removed}
    both["memories"] = planned.total
    apart = {
        f"{side.name} {name}": count
        for side, done in ((whole.local, here), (primary, there))
        for name, count in done.removed.items()
    }
    return there.model_copy(
        update={
            "store": planned.store,
            "namespaces": tuple(planned.ids) or (planned.namespace,),
            "plan_digest": planned.digest,
            "removed": both | apart,
            "scrubbed": here.scrubbed,
            "not_reached": _each_once(there.not_reached, here.not_reached, beside_a_primary(planned.selector)),
            "unknown_ids": len(set(planned.selector.ids) - {id for ids in planned.ids.values() for id in ids}),
        }
    )


def _here(whole: CompositeBackend, planned: PurgePlan, mine: PurgePlan, now: datetime) -> PurgeReceipt:
    """Purge here, and have it done there when the primary is back."""
    receipt = whole.local.purge_at(mine, now, None, note)
    elsewhere = _elsewhere(planned.selector, mine)
    waits = elsewhere is not None and pending.put(whole.local, planned, elsewhere, receipt)
    whole.link.wake()
    not_reached = _each_once(
        receipt.not_reached,
        on_a_server(planned.selector),
        beside_a_primary(planned.selector),
        _pending(whole, elsewhere is not None, waits),
    )
    return receipt.model_copy(update={"not_reached": not_reached, "pending": True})


def _each_once(*places: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for some in places for place in some))


def _elsewhere(selector: Selector, mine: PurgePlan) -> Selector | None:
    """What is to be looked for on the primary, beside the operations that are queued; None if they say it all.

    Of ids, those that this store does not hold: what it held goes by its operations, which know whose memory they mean.
    """
    if says_all(selector) and not mine.subtree:
        return None  # below a namespace there may be others that only the primary knows
    if not selector.ids:
        return selector
    held = {id for ids in mine.ids.values() for id in ids}
    others = tuple(id for id in selector.ids if id not in held)
    return selector.model_copy(update={"ids": others}) if others else None


def _pending(whole: CompositeBackend, looks: bool, waits: bool) -> list[str]:
    where = whole.primary.where
    if not looks:
        return [f"{where}: away; the purge {QUEUED} back", NAMES_WAIT]
    if waits:
        return [f"{where}: away; the purge {QUEUED} back", NAMES_WAIT, SELECTOR_WAITS]
    unseen = (
        f"memories that only {where} holds: they were not looked at, as a selector waits only with the extra"
        " memgraph-store[sign] and in a file; purge again when it is back"
    )
    return [f"{where}: away; the purge of what was here {QUEUED} back", NAMES_WAIT, unseen]
