"""Purges by what makes no tombstone of its own (a text, tags, a kind, a time) while the primary is away.

What the file does not know of them only the primary can find, so the selector waits in the file until it is back. It may name
what is to vanish: it is encrypted with a key in a file beside the store, and the key is deleted with the last that waits.
Needs the extra `memgraph-store[sign]`, which brings cryptography.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgraph.backends.base import Primary, Scope, entries_of
from memgraph.backends.composite import guard
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.outbox import Outbox
from memgraph.checks import from_micros, micros
from memgraph.ledger import CARRIED_OUT, Ledger, operator
from memgraph.models import PurgePlan, PurgeReceipt, Selector

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

__all__ = ["carry_out", "put", "settle", "unreadable"]

_log = logging.getLogger("memgraph")


def put(local: LocalBackend, planned: PurgePlan, selector: Selector, receipt: PurgeReceipt) -> bool:
    """Have the selector of a purge wait for the primary. False where it cannot: in memory, or without the library."""
    path = local.database.path
    if path is None:
        return False
    box = _box(path, create=True)
    if box is None:
        return False
    waiting = {
        "namespace": planned.namespace,
        "subtree": planned.subtree,
        "selector": json.loads(selector.model_dump_json(exclude_defaults=True)),
        "at": micros(planned.at),
        "version": receipt.version,
    }
    Outbox(local).put_selector(f"{receipt.id} {planned.selector_digest}", box.encrypt(json.dumps(waiting).encode()))
    return True


def carry_out(local: LocalBackend, primary: Primary) -> list[str]:
    """Purge on the primary what waited for it; returns the namespaces that are to be pulled. Raises what the primary raises.

    What cannot be read any more goes on waiting until somebody purges by the same once more.
    """
    outbox = Outbox(local)
    touched: set[str] = set()
    for name, sealed in outbox.selectors():
        waiting = _opened(local, sealed)
        if waiting is None:
            continue
        done = _purge(primary, waiting)
        if done is None:
            _log.warning("a purge that waited for %s goes on waiting: a legal hold covers some of it", primary.where)
            continue
        touched.update(done)
        receipt, _, digest = name.partition(" ")
        _note(local, waiting["namespace"], receipt, list(done.values()))
        outbox.drop_selector(name)
        settle(local, waiting["namespace"], digest)
    path = local.database.path
    if path is not None and len(unreadable(local)) == len(outbox.selectors()):
        _key_file(path).unlink(missing_ok=True)
    return sorted(touched)


def unreadable(local: LocalBackend) -> list[str]:
    """What waits and cannot be read any more, as its key is gone: a backup, for one, does not hold it."""
    return [name for name, sealed in Outbox(local).selectors() if _opened(local, sealed) is None]


def settle(local: LocalBackend, namespace: str, selector_digest: str) -> None:
    """The primary has purged by what has this digest: what waits for that and cannot be read does so no more."""
    for name in unreadable(local):
        receipt, _, digest = name.partition(" ")
        if digest == selector_digest:
            _note(local, namespace, receipt)
            Outbox(local).drop_selector(name)


def _note(local: LocalBackend, namespace: str, receipt: str, there: Sequence[str] = ()) -> None:
    """Write down that a purge was carried out on the primary, as the audit tells of its receipt elsewhere too.

    there: the receipts that its tombstones bear there.
    """
    ledger = Ledger(local, namespace, lambda: from_micros(time.time_ns() // 1000))
    ledger.note(CARRIED_OUT, operator(), {"carried_out": receipt, "receipts": list(there)}, f"carried out {receipt}")


def _purge(primary: Primary, waiting: dict[str, Any]) -> dict[str, str] | None:
    """The namespaces in which something went, each with its receipt; None if a hold is on some of it: then nothing went."""
    now = from_micros(waiting["at"])
    found: dict[str, list[str]] = {}
    for entry in primary.select(Scope(waiting["namespace"], waiting["subtree"]), Selector(**waiting["selector"]), now):
        if entry.version <= waiting["version"]:
            found.setdefault(entry.namespace, []).append(entry.id)
    plans = {path: primary.plan_purge(Scope(path), Selector(ids=tuple(ids)), now) for path, ids in found.items()}
    for path, planned in plans.items():  # with the restored copies
        ids = planned.ids.get(path, ())
        if guard.held(primary, path, lambda path=path, ids=ids: entries_of([primary], path, ids, now), now):  # type: ignore[misc]
            return None
    return {path: primary.purge(planned, now).id for path, planned in plans.items()}


def _opened(local: LocalBackend, sealed: bytes) -> dict[str, Any] | None:
    box = None if local.database.path is None else _box(local.database.path, create=False)
    if box is None:
        return None
    from cryptography.fernet import InvalidToken

    try:
        opened: dict[str, Any] = json.loads(box.decrypt(sealed))
    except InvalidToken:
        return None
    return opened


def _key_file(path: Path) -> Path:
    return Path(f"{path}-purge-key")


def _box(path: Path, create: bool) -> Fernet | None:
    try:
        from cryptography.fernet import Fernet
    except ImportError:
        return None
    file = _key_file(path)
    if create and not file.exists():
        try:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as key:
                key.write(Fernet.generate_key())
        except FileExistsError:
            pass  # another process was faster
    return Fernet(file.read_bytes()) if file.exists() else None
