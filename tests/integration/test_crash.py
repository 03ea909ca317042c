"""kill -9 loses nothing that was acknowledged."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.models import Filters, Selector
from tests.integration.child import start

ANY = Filters(status="any")


def rounds(folder: Path, count: int, writers: int) -> None:
    """Kill writers at random moments, over and over on one file, and look at what is left."""
    path = folder / "memory.db"
    dice = random.Random(7)
    said: list[list[str]] = []
    for turn in range(count):
        logs = [folder / f"log-{turn}-{n}" for n in range(writers)]
        children = []
        for n, log in enumerate(logs):
            with log.open("wb") as out:
                children.append(start("write", path, f"r{turn}w{n}", turn * writers + n, stdout=out))
        try:
            while not all(b"done" in log.read_bytes() for log in logs):
                assert all(child.poll() is None for child in children), "a writer ended by itself"
                time.sleep(0.01)
            time.sleep(dice.random() / 4)
        finally:
            for child in children:
                child.send_signal(signal.SIGKILL)
            for child in children:
                child.wait()
        said += [line.split() for log in logs for line in log.read_text().splitlines()]
        look(path, said)
        assert sum(words[0] == "done" for words in said) > turn * writers


def look(path: Path, said: list[list[str]]) -> None:
    """Everything acknowledged is there, everything half done is there whole or not at all, and the laws hold."""
    with Memory.open(path) as memory:
        entries = {}
        after = None
        while True:
            page = memory.list(ANY, limit=10_000, after=after)
            entries.update({entry.id: entry for entry in page})
            after = page.next
            if after is None:
                break
        done = {(verb, id) for word, verb, id in said if word == "done"}
        purging = {id for _, verb, id in said if verb == "purge"}
        lost = {id for verb, id in done if verb == "remember" and id not in purging} - set(entries)
        assert not lost
        assert not {id for verb, id in done if verb == "purge"} & set(entries)
        batches = Counter(tag for entry in entries.values() for tag in entry.tags)
        assert set(batches.values()) <= {5}, "a batch is whole"
        assert {id for verb, id in done if verb == "batch"} <= set(batches)
        heads = Counter(entry.key for entry in entries.values() if entry.key and entry.status == "active")
        assert set(heads.values()) <= {1}
        for key in {entry.key for entry in entries.values() if entry.key}:
            line = sorted(entry.version for entry in entries.values() if entry.key == key)
            edges = [edge for edge in memory.lineage(key).edges if edge.via == "key"]
            assert len(edges) == len(line) - 1
        assert memory.graph().number_of_nodes() == len(entries)
        report = memory.check()
        cut = purging - {id for verb, id in done if verb == "purge"}
        assert {problem.code for problem in report.problems} <= ({"unfinished-purge"} if cut else set())
        for id in cut:  # the remedy
            memory.purge(Selector(ids=[id]))
        report = memory.check()
        assert report.ok, report.problems


def test_twenty_kills(tmp_path: Path) -> None:
    """Two writers, killed twenty times."""
    rounds(tmp_path, count=20, writers=2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills(tmp_path: Path) -> None:
    """Three writers, killed two hundred times."""
    rounds(tmp_path, count=200, writers=3)
