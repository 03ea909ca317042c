"""What has to be asked on the primary before a purge that waited is carried out there: a purge cannot be taken back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

import memgraph.operations as ops
from memgraph.backends.base import Backend, Primary, Scope, entries_of
from memgraph.backends.local.outbox import Outbox, Unit
from memgraph.checks import from_micros
from memgraph.ledger import CARRIED_OUT, REFUSED, Ledger, fate, operator
from memgraph.models import Entry, Selector
from memgraph.rules.tombstones import hits

__all__ = ["held", "note_refusal", "note_success", "objections"]

_Entries = Callable[[], Iterable[Entry]]
_LAST: Final = "~"  # after every version
_HELD: Final = "a legal hold on the primary covers it ({}); queue it again when that is lifted"
_CLASH: Final = (
    "its id names a memory on the primary that this store did not write: look at it there, and purge it there"
)


def objections(outbox: Outbox, primary: Primary, units: Sequence[Unit], now: datetime) -> dict[int, str]:
    """Why some of these units must not be carried out: by number. Those without a purge cost nothing."""
    found = _of_tombstones(outbox, primary, units, now)
    clashing: set[tuple[str, str]] = set()
    for unit in units:
        purges = [each for each in unit.operations if isinstance(each, ops.Purge)]
        if not purges:
            continue
        clashes = _clashes(outbox, primary, purges, now, clashing)
        if clashes:
            clashing |= clashes
            found[unit.number] = _CLASH
            continue
        for path in dict.fromkeys(each.namespace for each in purges):
            mine = [each for each in purges if each.namespace == path]
            named = [(each.field, each.value) for each in mine]
            hold = held(primary, path, lambda mine=mine, path=path: _victims(primary, path, mine, now), now, named)  # type: ignore[misc]
            if hold is not None:
                found[unit.number] = _HELD.format(hold)
    return found


def _of_tombstones(outbox: Outbox, primary: Primary, units: Sequence[Unit], now: datetime) -> dict[int, str]:
    """Tombstones, which come with an import or where everything is sent once more, of what is under a hold there."""
    spaces: dict[str, dict[str, int]] = {}
    for unit in units:
        for item in unit.tombstones:
            if "tombstone" in item:
                spaces.setdefault(item["namespace"], {})[item["tombstone"]] = unit.number
    found: dict[int, str] = {}
    for path, numbers in spaces.items():
        for hold in Ledger(primary, path, lambda: now).holds():
            items = [each for unit in units for each in unit.tombstones if each.get("namespace") == path]
            held = primary.select(Scope(path), hold.selector, now)
            for tombstone, _ in hits([*outbox.secrets(), *items], held):
                found[numbers[tombstone]] = _HELD.format(hold.id)
    return found


def note_refusal(local: Backend, unit: Unit) -> None:
    """Write down that a purge was not carried out on the primary, as the audit tells of its receipt there too."""
    for ledger, receipt in _receipts(local, unit):
        ledger.note(REFUSED, operator(), {"refused": receipt}, f"refused {receipt}")


def note_success(local: Backend, unit: Unit) -> None:
    """Write down that a purge that was refused once has been carried out on the primary."""
    for ledger, receipt in _receipts(local, unit):
        last = fate(ledger.acts(), receipt)
        if last is not None and last.what == REFUSED:
            ledger.note(CARRIED_OUT, operator(), {"carried_out": receipt}, f"carried out {receipt}")


def _receipts(local: Backend, unit: Unit) -> Iterator[tuple[Ledger, str]]:
    """Of the purges of a unit, each with the ledger that tells of it."""
    found = {(each.namespace, each.receipt) for each in unit.operations if isinstance(each, ops.Purge)}
    found |= {(each["namespace"], each["receipt"]) for each in unit.tombstones if "tombstone" in each}
    for path, receipt in sorted(found):
        if receipt:
            yield Ledger(local, path, lambda: from_micros(time.time_ns() // 1000)), receipt


def held(
    primary: Primary, path: str, entries: _Entries, now: datetime, named: Sequence[tuple[str, str]] = ()
) -> str | None:
    """The id of a hold that covers one of these memories of a namespace, as the primary has it. They are read only if needed.

    named: the fields and values by which what arrives later is refused; a hold may name one of them.
    """
    ledger = Ledger(primary, path, lambda: now)
    if not ledger.holds():
        return None
    return next(iter([*ledger.naming(named), *ledger.held(entries()).values()]), None)


def _clashes(
    outbox: Outbox, primary: Primary, purges: Sequence[ops.Purge], now: datetime, clashing: set[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The ids that these purges mean as ours, and that name another memory there.

    A purge without a receipt took the place of a write that was never sent, under its version.
    """
    found: set[tuple[str, str]] = set()
    for purge in purges:
        if purge.field != "id":
            continue
        name = (purge.namespace, purge.value)
        if purge.receipt:
            if name in clashing or outbox.was_refused(*name):
                found.add(name)
        else:
            there = primary.get(purge.namespace, [purge.value], now).get(purge.value)
            if there is not None and there.version != purge.version:
                found.add(name)
    return found


def _victims(primary: Primary, path: str, purges: Iterable[ops.Purge], now: datetime) -> Iterator[Entry]:
    """What these purges of one namespace would take there, restored copies of it included."""
    ids = tuple(each.value for each in purges if each.field == "id")
    wanted = [(Selector(ids=ids), _LAST)] if ids else []
    for each in purges:
        if each.field != "id":
            selector = Selector(everything=True) if each.field == "namespace" else Selector(**{each.field: each.value})
            wanted.append((selector, each.version))
    for selector, version in wanted:
        going = primary.plan_purge(Scope(path), selector, now).ids.get(path, ())
        there = entries_of([primary], path, going, now)
        yield from (entry for entry in there if (entry.restores_version or entry.version) <= version)
