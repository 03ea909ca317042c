"""Comparing a store with its primary: sums of digests by bucket, then fact by fact where these differ; and mending that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice

import memgraph.operations as ops
from memgraph.backends.base import Facts, Primary, Scope
from memgraph.backends.composite.link import Link
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, Item, append_each, set_cursor
from memgraph.models import BucketDiff, SyncDiff, SyncSource

__all__ = ["diff", "repair"]

_PAGE = 1000


def _digest(text: str) -> int:
    """40 bits of BLAKE2b."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=5).digest(), "big")


def _bucket(id: str) -> str:
    return hashlib.blake2b(id.encode(), digest_size=1).hexdigest()


def _sums(facts: Iterable[Facts]) -> dict[str, tuple[int, int, int]]:
    """By bucket: how many memories, how many facts, and the sum of the digests of the facts."""
    found: dict[str, tuple[int, int, int]] = {}
    for each in facts:
        if each.known:
            bucket = _bucket(each.id)
            memories, number, total = found.get(bucket, (0, 0, 0))
            total += sum(_digest(f"{each.id}|{fact}") for fact in each.known)
            found[bucket] = (memories + 1, number + len(each.known), total)
    return found


def diff(local: LocalBackend, primary: Primary, names: Sequence[str]) -> tuple[SyncDiff, dict[str, set[str]]]:
    """Where the two sides differ in these namespaces; and the ids that differ, by namespace."""
    buckets: list[BucketDiff] = []
    ids: dict[str, set[str]] = {}
    compared = only_local = only_primary = 0
    for path in names:
        here, there = _sums(local.facts(path)), _sums(primary.facts(path))
        compared += sum(memories for memories, _, _ in here.values())
        wrong = sorted(bucket for bucket in here.keys() | there.keys() if here.get(bucket) != there.get(bucket))
        if not wrong:
            continue
        mine, theirs = _known(local.facts(path), wrong), _known(primary.facts(path), wrong)
        for bucket in wrong:
            ours, others = mine.get(bucket, {}), theirs.get(bucket, {})
            different = {id for id in ours.keys() & others.keys() if ours[id] != others[id]}
            for id in ours.keys() | others.keys():
                only_local += len(ours.get(id, frozenset()) - others.get(id, frozenset()))
                only_primary += len(others.get(id, frozenset()) - ours.get(id, frozenset()))
            ids.setdefault(path, set()).update(ours.keys() ^ others.keys(), different)
            buckets.append(
                BucketDiff(
                    namespace=path,
                    bucket=bucket,
                    local=len(ours),
                    primary=len(others),
                    missing_local=len(others.keys() - ours.keys()),
                    missing_primary=len(ours.keys() - others.keys()),
                    different=len(different),
                )
            )
    found = SyncDiff(
        namespaces=tuple(names),
        compared=compared,
        buckets=tuple(buckets),
        only_local=only_local,
        only_primary=only_primary,
    )
    return found, ids


def _known(facts: Iterable[Facts], buckets: Sequence[str]) -> dict[str, dict[str, frozenset[str]]]:
    wanted, found = set(buckets), dict[str, dict[str, frozenset[str]]]()
    for each in facts:
        if each.known and (bucket := _bucket(each.id)) in wanted:
            found.setdefault(bucket, {})[each.id] = each.known
    return found


def repair(local: LocalBackend, link: Link, names: Sequence[str], source: SyncSource, dry_run: bool) -> SyncDiff:
    """Send each side what it lacks, by the laws: nothing is deleted but what tombstones say is dead."""
    found, ids = diff(local, link.pusher, names)
    if dry_run:
        return found
    news = 0
    for path, wanted in ids.items():
        if source in ("primary", "newest"):
            local.database.write(lambda connection, path=path: set_cursor(connection, path, ALL))  # type: ignore[misc]
            news += link.pull(path) or 0
        if source in ("local", "newest"):
            mine = link.outbox.sendable(local.operations(Scope(path)))
            items = (item for item in mine if _touches(item, wanted))
            while part := list(islice(items, _PAGE)):
                local.database.write(lambda connection, part=part: append_each(connection, part))  # type: ignore[misc]
            news += link.push()
    link.push()
    after = diff(local, link.pusher, list(ids))[0].buckets
    left = sum(each.missing_local for each in after if source != "local")
    left += sum(each.missing_primary for each in after if source != "primary")
    return found.model_copy(update={"repaired": news, "left": left})


def _touches(item: Item, ids: set[str]) -> bool:
    if isinstance(item, dict | ops.Unknown):
        return True
    return any(getattr(item, name, None) in ids for name in ("id", "a", "old_id"))
