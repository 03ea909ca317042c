"""kill -9 in the middle of making or restoring a backup: the store is the old or the new one, whole, and the dead stay dead."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.admin.backup import restore, verify
from memgraph.errors import NotFoundError
from memgraph.models import Filters, Selector
from tests.integration.child import ask, start
from tests.integration.test_purge_bytes import CANARIES, found, plant

ANY = Filters(status="any")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the store and nothing else is."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def prepared(folder: Path, backups: Path) -> dict[str, set[str]]:
    """A store that has purged its canaries, and two backups from before that; what each of the three holds without them."""
    states = {}
    with Memory.open(folder / "memory.db", namespace="ns") as memory:
        memory.remember_many([{"content": f"filler {n} " + "x" * 100, "key": f"k{n % 50}"} for n in range(300)])
        plant(memory)
        chance = random.Random(2)
        for n in range(300):  # of many sizes, two of three to be purged: pages that are rebalanced keep copies of cells
            said = (
                {"content": f"{CANARIES['content']} {n} ", "subject": CANARIES["subject"]}
                if n % 3
                else {"content": "w "}
            )
            memory.remember(**{**said, "content": said["content"] + "w" * chance.choice([20, 200, 600, 1500])})
        for name in ("a", "b"):
            memory.remember(f"only since {name}", id=f"state-{name}")
            Memory(memory.backend).backup(backups / name)
        memory.remember("only now", id="state-now")
        memory.purge(Selector(subject=CANARIES["subject"]))
        ids = {entry.id for entry in memory.list(ANY, limit=1000)}
        states = {"a": ids - {"state-b", "state-now"}, "b": ids - {"state-now"}, "now": ids}
    assert found(folder) == {}
    for name in ("a", "b"):
        data = (backups / name).read_bytes()
        assert all(canary.encode() in data for canary in CANARIES.values())
    return states


def look(folder: Path, states: dict[str, set[str]]) -> str:
    """The state that the store is in: one of those, whole, without a byte of what was purged, with every law kept."""
    assert found(folder) == {}
    with Memory.open(folder / "memory.db", namespace="ns", lock_timeout=1) as memory:
        ids = {entry.id for entry in memory.list(ANY, limit=1000)}
        state = next(name for name, whole in states.items() if whole == ids)
        assert memory.search("filler 7", include_inactive=True).hits
        assert memory.search(CANARIES["content"], include_inactive=True).hits == ()
        assert memory.graph().number_of_nodes() == len(ids)
        report = memory.check()
        assert report.ok, report.problems
        memory.purge(Selector(ids=[memory.remember("the next write").id]))
        assert not memory.status().scrub_pending
    assert found(folder) == {}
    return state


@pytest.mark.parametrize(("moment", "state"), [("before", "now"), ("after", "a")])
def test_killed_right_before_and_right_after_the_swap(folder: Path, tmp_path: Path, moment: str, state: str) -> None:
    """Another process that has the store open the whole time goes on with the one or the other, and so does the next."""
    states = prepared(folder, tmp_path)
    with start("serve", folder / "memory.db", "ns", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline()) == "ready"
        assert ask(other, "nodes") == ask(other, "count") == len(states["now"])
        assert len(ask(other, "search", "filler 7")) > 0
        with start(
            "put_back_until",
            moment,
            folder / "memory.db",
            tmp_path / "a",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == f"{moment}\n"
            child.send_signal(signal.SIGKILL)
        assert found(folder) == {}
        with contextlib.closing(sqlite3.connect(folder / "memory.db")) as connection:
            pending = connection.execute("select count(*) from meta where name = 'scrub'").fetchone()[0]
        assert pending == (moment == "after"), "old pages are to be cleared by the next to open the store"
        assert ask(other, "count") == ask(other, "nodes") == len(states[state])
        if state != "now":
            ask(other, "remember", "goes on", {"id": "after"})
            assert ask(other, "search", "goes on")[0] == "after"
            states[state] = states[state] | {"after"}
        other.kill()
    assert look(folder, states) == state
    kept = [each for each in folder.iterdir() if "before-restore" in each.name]
    assert [verify(each).memories for each in kept] == [len(states["now"])]


def test_killed_at_any_moment_of_a_restore(folder: Path, tmp_path: Path) -> None:
    """Eight times or more on one store, until both backups have been seen in it; it is written to in between."""
    states = prepared(folder, tmp_path)
    dice = random.Random(11)
    seen = set()
    for turn in range(80):
        if turn >= 8 and seen == {"a", "b"}:
            break
        log = tmp_path / f"log-{turn}"
        with log.open("wb") as out:
            child = start("put_back", folder / "memory.db", tmp_path / "a", tmp_path / "b", stdout=out)
        while b"done" not in log.read_bytes():
            assert child.poll() is None
            time.sleep(0.005)
        time.sleep(dice.random() / 4)
        child.send_signal(signal.SIGKILL)
        child.wait()
        seen.add(look(folder, states))
    assert seen == {"a", "b"}
    for each in folder.iterdir():
        if "before-restore" in each.name and not each.name.startswith("."):
            verify(each)


def test_killed_at_any_moment_of_making_one(folder: Path, tmp_path: Path) -> None:
    """Under its name there is a sound backup or none, and the store does not notice."""
    path, target = folder / "memory.db", tmp_path / "backups" / "agent.backup"
    target.parent.mkdir()
    with Memory.open(path) as memory:
        memory.remember_many([f"filler {n} " + "x" * 100 for n in range(2000)])
    dice = random.Random(5)
    there = 0
    for _ in range(8):
        child = start("back_up", path, target, stdout=subprocess.PIPE)
        if there:
            assert child.stdout is not None
            child.stdout.readline()
        time.sleep(dice.random())
        child.kill()
        child.communicate()
        try:
            assert verify(target).memories == 2000
            there += 1
        except NotFoundError:
            assert not there
    assert there
    with Memory.open(path) as memory:
        assert memory.check().ok
        assert memory.count() == 2000
    restore(tmp_path / "new.db", target)
    with Memory.open(tmp_path / "new.db") as new:
        assert new.check().ok
        assert new.count() == 2000
