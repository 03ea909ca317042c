"""Purging on Neo4j: the plan, carrying it out in pages of bounded memory, and tombstones from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from memgraph.backends.base import Scope
from memgraph.backends.neo4j import lines, reads
from memgraph.backends.neo4j.damage import is_version
from memgraph.backends.neo4j.tombs import Secrets, SecretsOf
from memgraph.backends.neo4j.writes import PAGE, REMOVED, Put, add, bury, feed
from memgraph.models import PurgePlan, Selector
from memgraph.operations import PURGE_FIELDS, Purge
from memgraph.rules.selection import Going, going, purge_plan
from memgraph.storage.bolt import Bolt, Runner

__all__ = ["apply", "dead", "first", "heads_of", "pages", "plan", "sweep", "take_in"]

Counts = dict[str, int]
_STATEMENT: Final = {"key": "write/purge_page_key"}


# ---- the plan


def plan(runner: Runner, scope: Scope, selector: Selector, now: datetime, store: str) -> PurgePlan:
    """What a purge of this selector would remove now, restored copies included."""
    found = [going(entry) for entry in lines.select(runner, scope, selector, now)]
    found += _copies(runner, found, now)
    return purge_plan(scope.namespace, scope.subtree, selector, found, now, store, {"neo4j": len(found)})


def _copies(runner: Runner, found: Sequence[Going], now: datetime) -> list[Going]:
    have: dict[str, set[str]] = {}
    for each in found:
        have.setdefault(each.namespace, set()).add(each.id)
    copies: list[Going] = []
    for path, ids in have.items():
        listed, more = sorted(ids), set[str]()
        for start in range(0, len(listed), PAGE):
            rows = runner.run("write/copies", namespace=path, ids=listed[start : start + PAGE])
            more |= {row["id"] for row in rows}
        copies += map(going, reads.by_ids(runner, path, sorted(more - ids), now).values())
    return copies


def heads_of(runner: Runner, path: str, ids: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The keys whose newest version is among these ids, with that version."""
    heads: dict[str, str] = {}
    for start in range(0, len(ids), PAGE):
        for row in runner.run("write/heads", namespace=path, ids=list(ids[start : start + PAGE])):
            heads[row["key"]] = row["version"]
    return tuple(sorted(heads.items()))


# ---- carrying it out


def first(runner: Runner, secrets: Secrets, operations: Sequence[Purge], version: str) -> tuple[Counts, int]:
    """The tombstones of one namespace's purges, but those of ids: what must be committed before anything is removed.

    Closes the transaction with the namespace's feed. Returns what changed, and the feed's number.
    """
    path = operations[0].namespace
    done, counts = Put(version=version), Counter[str]()
    for operation in operations:
        common = {"namespace": path, "secret": secrets.name, "receipt": operation.receipt}
        rows: list[dict[str, Any]] = []
        for key, newest in operation.heads:
            every = secrets.all("slot", path, key)
            rows.append({"key": key, "hash": every[0], "hashes": every, "version": newest})
        for start in range(0, len(rows), PAGE):
            part = rows[start : start + PAGE]
            counts["new"] += runner.run("write/purge_slots", rows=part, **common)[0]["new"]
            done.hashes += [row["hash"] for row in part]
        if operation.field != "id":
            value = {"hash": secrets.one(operation.field, path, operation.value), "version": operation.version}
            counts["new"] += runner.run("write/purge_values", rows=[value], **common)[0]["new"]
            done.hashes.append(value["hash"])
    number = feed(runner, secrets, path, done, purged=any(each.field != "id" for each in operations))
    return dict(counts), number


def pages(bolt: Bolt, secrets: SecretsOf, operations: Sequence[Purge]) -> Counts:
    """Remove what purges of one namespace name, a page a transaction. After a crash between pages, run them again."""
    counts: Counts = {}
    ids = sorted({operation.value for operation in operations if operation.field == "id"})
    if ids:
        one = next(operation for operation in operations if operation.field == "id")
        for start in range(0, len(ids), PAGE):
            add(counts, _page(bolt, secrets, one, ids[start : start + PAGE]))
    for operation in operations:
        if operation.field != "id":
            add(counts, _by_value(bolt, secrets, operation))
    return counts


def _page(bolt: Bolt, secrets: SecretsOf, operation: Purge, ids: Sequence[str]) -> Counts:
    def work(tx: Runner) -> Counts:
        now = secrets(tx)
        removed, hashes = bury(tx, now, operation.namespace, ids, operation.version, operation.receipt)
        feed(tx, now, operation.namespace, Put(hashes=hashes, version=operation.version))
        return removed

    return bolt.transaction(work)


def _by_value(bolt: Bolt, secrets: SecretsOf, operation: Purge) -> Counts:
    counts: Counts = {}
    path, after = operation.namespace, ""
    given: dict[str, Any] = {"namespace": path, "value": operation.value, "version": operation.version, "limit": PAGE}
    if operation.field != "key":
        given["field"] = operation.field
    while rows := bolt.run(_STATEMENT.get(operation.field, "write/purge_page"), after=after, **given):
        add(counts, _page(bolt, secrets, operation, [row["id"] for row in rows]))
        if len(rows) < PAGE:
            break
        after = rows[-1]["version"]
    if operation.field == "namespace":

        def rest(tx: Runner) -> Counts:
            return dict(tx.run("write/purge_foreign", namespace=path, quoted=[], version=operation.version)[0])

        add(counts, bolt.transaction(rest))
    return counts


def apply(bolt: Bolt, secrets: SecretsOf, operation: Purge) -> Counts:
    """One stamped purge as it comes from elsewhere."""

    def work(tx: Runner) -> Counts:
        return first(tx, secrets(tx), [operation], operation.version)[0]

    counts = bolt.transaction(work)
    add(counts, pages(bolt, secrets, [operation]))
    return counts


def removed(counts: Counts) -> Counts:
    """The counts of a receipt."""
    return {name: counts.get(name, 0) for name in REMOVED}


# ---- tombstones from elsewhere


def take_in(runner: Runner, items: Iterable[dict[str, Any]]) -> tuple[int, list[str]]:
    """Add what `operations` gave; returns how many were new or newer, and the namespaces where something may be dead by them."""
    found, tombs = [], dict[str, list[dict[str, Any]]]()
    for item in items:
        if "secret" in item and "value" in item:
            found.append({"name": item["secret"], "value": item["value"]})
        else:
            row = {"hash": item["tombstone"]} | {name: item[name] for name in ("version", "secret", "receipt")}
            tombs.setdefault(item["namespace"], []).append(row)
    changed = runner.run("write/take_secret", rows=found)[0]["new"] if found else 0
    secrets = Secrets(runner.run("write/secrets"))
    for path, rows in sorted(tombs.items()):
        rows.sort(key=lambda row: str(row["hash"]))
        hashes: list[str] = []
        for start in range(0, len(rows), PAGE):
            new = runner.run("write/take_tombstones", namespace=path, rows=rows[start : start + PAGE])
            hashes += [row["hash"] for row in new]
        if hashes:  # what is written from now on has a greater version than they have, or they would take it
            newest = max(row["version"] for row in rows)
            feed(runner, secrets, path, Put(hashes=hashes, version=newest), purged=True)
        changed += len(hashes)
    return changed, sorted(tombs)


def sweep(bolt: Bolt, secrets: SecretsOf, spaces: Iterable[str]) -> Counts:
    """Remove what the tombstones of these namespaces say is dead: needed after some were taken in, or a purge was interrupted."""
    counts: Counts = {}
    for path in spaces:
        after = ""
        while rows := bolt.run("write/sweep_page", namespace=path, after=after, limit=PAGE):
            _sweep_page(bolt, secrets, path, rows, counts)
            if len(rows) < PAGE:
                break
            after = rows[-1]["id"]
    return counts


def _sweep_page(bolt: Bolt, secrets: SecretsOf, path: str, rows: list[dict[str, Any]], counts: Counts) -> None:
    gone = dead(bolt, secrets(bolt), path, rows)
    if gone:
        version = max((row["version"] for row in rows if is_version(row["version"])), default="")
        add(counts, _page(bolt, secrets, Purge(op_id="", namespace=path, field="id", value="", version=version), gone))
    keys = sorted({row["key"] for row in rows if isinstance(row["key"], str)})
    if keys:
        bolt.transaction(lambda tx: _hold_slots(tx, secrets(tx), path, keys))


def dead(runner: Runner, secrets: Secrets, path: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The ids of those memories and places that the tombstones refuse.

    rows: their properties, as far as there are any of id, version, origin, origin_version and what can be purged by value.
    """

    @cache  # subjects, sources and so on are few
    def hashes(name: str, value: str) -> list[str]:
        return secrets.all(name, path, value)

    found = []
    for row in rows:
        ids = [("id", row["id"]), ("id", row.get("origin"))]
        values = [(name, path if name == "namespace" else row.get(name)) for name in PURGE_FIELDS]
        buried, named = (
            [each for name, value in pairs if isinstance(value, str) and value for each in hashes(name, value)]
            for pairs in (ids, values)
        )
        stands_for = row.get("origin_version") or row.get("version")
        found.append({"id": row["id"], "hashes": buried + named, "buried": buried, "stands_for": stands_for})
    return [row["id"] for row in runner.run("write/sweep_dead", namespace=path, rows=found)]


def _hold_slots(tx: Runner, secrets: Secrets, path: str, keys: Sequence[str]) -> None:
    """Have no memory stand on a key that is older than what a tombstone says was purged from it."""
    slots = {key: secrets.all("slot", path, key) for key in keys}
    rows = [{"key": key, "hashes": hashes} for key, hashes in slots.items()]
    held = tx.run("write/sweep_slots", namespace=path, rows=rows)
    if held:
        again = [row | {"hashes": slots[row["key"]]} for row in sorted(held, key=lambda row: str(row["key"]))]
        tx.run("write/purge_slots", namespace=path, secret=secrets.name, receipt="", rows=again)
        feed(tx, secrets, path, Put(hashes=[row["hash"] for row in again]))
