"""Purged means gone from every byte of every file of the store."""

from __future__ import annotations

import logging
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.models import Filters, Selector
from memgraph.operations import Unknown
from tests.integration.child import start

FIELDS = ("content", "key", "tag", "alias", "name", "value", "note", "type", "actor", "reason", "title", "subject")
FIELDS += ("session", "source", "kind", "id", "forgetreason", "restorereason", "supersedereason", "payload")
CANARIES = {field: f"canary{field}4711" for field in FIELDS}


def plant(memory: Memory) -> str:
    """Memories that say a canary in every field and every event around them; returns the first one's id."""
    c = CANARIES
    said: dict[str, Any] = {
        "content": f"hello {c['content']} world",
        "key": c["key"],
        "tags": [c["tag"]],
        "aliases": [c["alias"]],
        "metadata": {c["name"]: [c["value"]]},
        "actor": c["actor"],
        "reason": c["reason"],
        "title": c["title"],
        "subject": c["subject"],
        "session": c["session"],
        "source": c["source"],
        "kind": c["kind"],
    }
    other = memory.remember("a bystander")
    first = memory.remember(id=c["id"], **said)
    second = memory.remember(**said)
    memory.remember(**{**said, "key": None, "content": f"{c['content']} once more"})
    memory.relate(first.id, other.id, c["type"], note=c["note"])
    memory.relate(other.id, second.id, c["type"], note=c["note"])
    memory.relate(other.id, first.id, "knows", note=c["note"])
    memory.unrelate(other.id, first.id, "knows")
    memory.feedback([first.id, second.id], 1.0, actor=c["actor"])
    memory.forget(second.id, reason=c["forgetreason"])
    memory.restore(first.id, reason=c["restorereason"])
    old = memory.remember("an old bystander")
    new = memory.remember(**{**said, "key": None})
    memory.supersede(old.id, new.id, reason=c["supersedereason"])
    memory.search(c["content"], include_inactive=True)
    memory.release(c["content"], reason=c["reason"])
    version = memory.get(new.id).version
    payload = {
        "op": "later",
        "op_id": "u",
        "namespace": memory.path,
        "version": version,
        "id": c["id"],
        "x": c["payload"],
    }
    memory.backend.apply([Unknown(op_id="u", namespace=memory.path, version=version, payload=payload)])
    return first.id


def found(folder: Path) -> dict[str, set[str]]:
    """Which canaries lie in which file, in any case, in UTF-8 or UTF-16."""
    hits: dict[str, set[str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = file.read_bytes().lower()
            for name, canary in CANARIES.items():
                if any(canary.encode(code) in data for code in ("utf-8", "utf-16-le")):
                    hits.setdefault(file.name, set()).add(name)
    return hits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the store and nothing else is."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(
    "selector",
    [
        Selector(everything=True),
        Selector(subject=CANARIES["subject"]),
        Selector(tags=[CANARIES["tag"]]),
        Selector(text=CANARIES["content"]),
        Selector(actor=CANARIES["actor"], status="any"),
    ],
    ids=["everything", "subject", "tag", "text", "actor"],
)
def test_nothing_is_left(folder: Path, caplog: pytest.LogCaptureFixture, selector: Selector, sealed: bool) -> None:
    """B020: whatever a purge selected by, no field of what it took is left, while the store is open and after; logs included."""
    caplog.set_level(logging.DEBUG)
    memory = Memory.open(folder / "memory.db", namespace="ns")
    memory.remember_many([{"content": f"filler {n}"} for n in range(50)])
    plant(memory)
    if sealed:
        memory.check(reindex=True)
    assert set().union(*found(folder).values()) == set(CANARIES), "the search finds what is there"
    receipt = memory.purge(selector)
    assert receipt.scrubbed
    assert found(folder) == {}
    assert "canary" not in receipt.model_dump_json()
    kept = {entry.content for entry in memory.list(Filters(status="any"), limit=1000)}
    assert not any("canary" in text for text in kept)
    if not selector.everything:
        assert {"a bystander", "an old bystander", "filler 7"} <= kept
    assert memory.check(reindex=True).ok
    memory.close()
    assert found(folder) == {}
    assert "canary" not in caplog.text.replace(CANARIES["id"], ""), "a log line names ids and nothing else"


def test_a_namespace_is_forgotten_by_name(folder: Path) -> None:
    """After everything of a namespace was purged its name is nowhere either."""
    memory = Memory.open(folder / "memory.db", namespace=CANARIES["subject"])
    memory.remember("content", key="k")
    memory.namespace(CANARIES["session"]).remember("below")
    memory.purge(Selector(everything=True), subtree=True)
    memory.close()
    assert found(folder) == {}


def test_updates_leave_nothing_behind_either(folder: Path) -> None:
    """Pages that were freed by many edits before a purge hold nothing of what they held."""
    memory = Memory.open(folder / "memory.db")
    for n in range(200):
        memory.remember(f"{CANARIES['content']} {n} " + "x" * n * 20, key="k", subject="ann")
    memory.purge(Selector(subject="ann"))
    memory.close()
    assert found(folder) == {}


def test_a_reader_in_the_way_is_said_and_waited_for(folder: Path) -> None:
    """While another process reads an older state the receipt says so; the log is emptied at the next chance."""
    path = folder / "memory.db"
    memory = Memory.open(path)
    plant(memory)
    with start("read", path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        began = time.monotonic()
        receipt = memory.purge(Selector(subject=CANARIES["subject"]))
        assert time.monotonic() - began < 8, "it does not wait for the reader as long as a write waits for a lock, 10 s"
        assert not receipt.scrubbed
        assert memory.status().scrub_pending
        assert [act.details["scrubbed"] for act in memory.audit() if act.what == "purge"] == [False]
        reader.communicate()
    memory.remember("the next write")
    assert not memory.status().scrub_pending
    assert [act.details["scrubbed"] for act in memory.audit() if act.what == "purge"] == [True], (
        "the receipt stays as it was signed"
    )
    assert found(folder) == {}
    memory.close()
    assert found(folder) == {}


def test_an_unfinished_scrub_is_finished_by_the_next_to_open(folder: Path) -> None:
    """A scrub that was still to do when the process ended is done when the store is opened again."""
    path = folder / "memory.db"
    memory = Memory.open(path, lock_timeout=0.5)
    plant(memory)
    with start("read", path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        memory.purge(Selector(subject=CANARIES["subject"]))
        memory.close()
        reader.kill()
    with Memory.open(path) as again:
        again.remember("the next write")
        assert found(folder) == {}
    assert found(folder) == {}


@pytest.mark.parametrize(
    "bring_back",
    [
        lambda memory, export: memory.import_from(export),
        lambda memory, export: memory.check(repair=True, reindex=True),
    ],
    ids=["import", "repair"],
)
def test_nothing_brings_it_back(folder: Path, tmp_path: Path, bring_back: Callable[[Memory, Path], Any]) -> None:
    """An import of an older export, or a repair, puts no byte of it into the store again."""
    memory = Memory.open(folder / "memory.db", namespace="ns")
    plant(memory)
    memory.export_to(tmp_path / "before.jsonl")
    memory.purge(Selector(subject=CANARIES["subject"]))
    bring_back(memory, tmp_path / "before.jsonl")
    memory.close()
    left = found(folder)
    assert {name for names in left.values() for name in names} <= {"payload", "id"}, "an unknown operation may wait"
    with Memory.open(folder / "memory.db", namespace="ns") as again:
        assert len(again.search(CANARIES["content"], include_inactive=True)) == 0


@pytest.mark.parametrize("seed", [2, 14])
def test_no_page_keeps_a_copy_of_what_moved_away(tmp_path: Path, seed: int) -> None:
    """SQLite leaves copies of cells in the unused middle of pages that it rebalanced; a purge clears them."""
    chance = random.Random(seed)
    memory = Memory.open(tmp_path / "memory.db", durability="normal", preload=False)
    sizes = [chance.choice([20, 200, 600, 1500]) for _ in range(300)]
    entries = memory.remember_many([f"MARK{number:04d}Q " + "w" * size for number, size in enumerate(sizes)])
    order = list(range(300))
    chance.shuffle(order)
    for number in order[:200]:
        assert memory.purge(Selector(ids=[entries[number].id])).scrubbed
    assert memory.check().ok
    memory.close()
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [number for number in order[:200] if b"MARK%04dQ" % number in data] == []
    assert all(b"MARK%04dQ" % number in data for number in order[200:])
