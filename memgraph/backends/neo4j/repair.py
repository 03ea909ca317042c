"""What the doctor does about what it found: each piece in a transaction that looks again under the lock of the namespace."""

from __future__ import annotations

import secrets as random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from memgraph.backends.neo4j.damage import Verdict, corrections, is_memory, judge
from memgraph.backends.neo4j.purge import dead
from memgraph.backends.neo4j.rows import remember_of
from memgraph.backends.neo4j.tokens import tokens
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.backends.neo4j.writes import PAGE, Put, feed
from memgraph.rules.caption import caption
from memgraph.storage.bolt import Bolt, Runner

__all__ = ["FEED_JUMP", "feed_again", "labels", "memories", "nodes", "secrets", "strays", "tokens_again", "verdicts"]

FEED_JUMP: Final = 1_000_000
"""How far a Feed that was lost begins above the greatest number that is still there: above what any replica has seen."""

_CONTENTS: Final = 1 << 22  # characters that are looked at together


def verdicts(
    runner: Runner, secrets: Secrets, path: str, ids: Sequence[str]
) -> Iterator[tuple[Verdict, dict[str, Any]]]:
    """What is wrong with each of these memories and places, and its row."""
    rows = runner.run("read/check_memories", namespace=path, ids=list(ids))
    keys = {key for row in rows if isinstance(key := row["memory"].get("key"), str)}
    slots = _slots(runner, secrets, path, keys)
    refused = set(dead(runner, secrets, path, [row["memory"] for row in rows]))
    found = [(judge(row, slots.get(row["memory"].get("key"))), row) for row in rows]
    stale = _stale(runner, path, {row["memory"]["id"]: row["memory"] for verdict, row in found if verdict.version})
    for verdict, row in found:
        verdict.codes |= {code for code, ids in (("dead", refused), ("tokens", stale)) if verdict.id in ids}
        yield verdict, row


def _stale(runner: Runner, path: str, memories: dict[str, dict[str, Any]]) -> set[str]:
    """The ids of those of these memories whose index tokens do not say what they say: removed, or content and names changed."""
    found = set[str]()
    for part in _by_size(memories):
        for row in runner.run("read/check_tokens", namespace=path, ids=part):
            id, now = row["id"], row["memory"]
            if any(now[name] != value for name, value in _tokens({**memories[id], **now}).items()):
                found.add(id)
    return found


def _tokens(memory: dict[str, Any]) -> dict[str, Any]:
    return tokens(remember_of({**memory, **corrections(memory)}))


def _by_size(memories: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """The ids of memories in parts whose contents take no more than a few megabytes, or one memory."""
    part, size = list[str](), 0
    for id, memory in memories.items():
        size += memory["size"]
        if part and size > _CONTENTS:
            yield part
            part, size = [], memory["size"]
        part.append(id)
    if part:
        yield part


def _slots(runner: Runner, secrets: Secrets, path: str, keys: set[str]) -> dict[Any, str]:
    """The greatest purged version of each key that has one."""
    rows = [{"key": key, "hashes": secrets.all("slot", path, key)} for key in sorted(keys)]
    return {row["key"]: row["version"] for row in runner.run("write/sweep_slots", namespace=path, rows=rows)}


def secrets(bolt: Bolt) -> bool:
    """Make the store's node and the secrets agree. Returns whether that was needed."""

    def work(tx: Runner) -> bool:
        fresh: dict[str, Any] = {"name": random.token_hex(4), "value": random.token_bytes(32).hex()}
        there = tx.run("read/check_secrets")
        count = there[0]["there"] if there else len(tx.run("write/secrets"))
        tx.run("write/repair_secrets", count=count, **fresh)
        return True

    return bolt.transaction(work)


def labels(bolt: Bolt, elements: Sequence[str]) -> None:
    """Give nodes back the label that says they are memories."""
    bolt.transaction(lambda tx: tx.run("write/repair_labels", elements=list(elements)))


def nodes(bolt: Bolt, elements: Sequence[str]) -> None:
    """Take nodes out of the store."""
    bolt.transaction(lambda tx: tx.run("write/repair_nodes", elements=list(elements)))


def feed_again(bolt: Bolt, path: str, number: int, newest: str) -> None:
    """Give a namespace its Feed again."""
    bolt.transaction(lambda tx: tx.run("write/repair_feed", namespace=path, n=number, version=newest))


def memories(bolt: Bolt, secrets: Secrets, path: str, ids: Sequence[str]) -> None:
    """Mend these memories, all others of their keys, and the edges that begin at them."""
    if ids:
        bolt.transaction(lambda tx: _mend(tx, secrets, path, ids))


def _mend(tx: Runner, secrets: Secrets, path: str, ids: Sequence[str]) -> None:
    tx.run("write/repair_lock", namespace=path)
    first = list(verdicts(tx, secrets, path, ids))
    keys = sorted({verdict.key for verdict, _ in first if verdict.key is not None and verdict.codes})
    others = {row["id"] for row in tx.run("read/lines", namespace=path, keys=keys)} - set(ids)
    every = first + list(verdicts(tx, secrets, path, sorted(others)))
    touched = set(ids)
    aside = [row["element"] for verdict, row in every if "made" in verdict.codes]
    places = [row["element"] for verdict, row in every if "place" in verdict.codes]
    if aside or places:  # what is left of their keys is judged in the next round, without them
        tx.run("write/repair_nodes", elements=aside)
        tx.run("write/repair_places", elements=places)
    else:
        touched |= _settle(tx, secrets, path, [verdict for verdict, _ in every], keys)
    for label, statement in ((True, "write/repair_edges"), (False, "write/repair_weights")):
        edges = [row for row in tx.run("read/check_edges", namespace=path, ids=list(ids)) if row["made"] is label]
        tx.run(statement, elements=[row["element"] for row in edges])
    copies = [verdict.id for verdict, row in first if verdict.version and row["memory"].get("origin")]
    tx.run("write/repair_restores", namespace=path, ids=copies)
    feed(tx, secrets, path, Put(ids=touched))


def _settle(tx: Runner, secrets: Secrets, path: str, found: Sequence[Verdict], keys: Sequence[str]) -> set[str]:
    """Properties, tokens, statuses, labels and lines. Returns the ids of what was changed."""
    broken = [verdict.id for verdict in found if verdict.codes & {"fields", "tokens"}]
    for start in range(0, len(broken), PAGE):
        rows = tx.run("read/entries", namespace=path, ids=broken[start : start + PAGE])
        made = [{"id": row["memory"]["id"], "props": _properties(row["memory"])} for row in rows]
        tx.run("write/repair_properties", namespace=path, rows=made)
    wrong = [verdict for verdict in found if verdict.codes & {"status", "label"}]
    rows = [{"id": verdict.id, "status": verdict.status} for verdict in wrong]
    tx.run("write/repair_statuses", namespace=path, rows=rows)
    slots = _slots(tx, secrets, path, set(keys))
    tx.run("write/repair_lines", namespace=path, rows=[{"key": key, "slot": slots.get(key)} for key in keys])
    return {*broken, *(verdict.id for verdict in wrong)}


def _properties(memory: dict[str, Any]) -> dict[str, Any]:
    """What a memory's properties must be, and the tokens that follow from them."""
    found = corrections(memory)
    if found.get("title") == "":
        found["title"] = caption(memory["content"])
    return found | tokens(remember_of({**memory, **found}))


def strays(bolt: Bolt, secrets: Secrets, path: str, orphans: Sequence[str]) -> None:
    """Remove keys without memories; join feedback to its memory again, or remove it."""

    def work(tx: Runner) -> None:
        tx.run("write/repair_lock", namespace=path)
        slots = _slots(tx, secrets, path, set(orphans))
        tx.run("write/repair_lines", namespace=path, rows=[{"key": key, "slot": slots.get(key)} for key in orphans])
        tx.run("write/repair_strays", namespace=path)

    bolt.transaction(work)


def tokens_again(bolt: Bolt, path: str) -> None:
    """Make the tokens of a namespace's memories anew, a page a transaction."""
    at = {"after": "", "after_id": ""}
    secrets = Secrets(bolt.run("write/secrets"))
    while True:
        rows = bolt.run("read/remembers", namespace=path, limit=PAGE, **at)
        made = [
            {"id": row["memory"]["id"], "props": _tokens(row["memory"])} for row in rows if is_memory(row["memory"])
        ]

        def work(tx: Runner, made: list[dict[str, Any]] = made) -> None:
            tx.run("write/repair_properties", namespace=path, rows=made)
            feed(tx, secrets, path, Put(ids={row["id"] for row in made}))

        if made:
            bolt.transaction(work)
        if len(rows) < PAGE:
            return
        at = {"after": rows[-1]["memory"]["version"], "after_id": rows[-1]["memory"]["id"]}
