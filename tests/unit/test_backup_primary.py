"""Restoring a store that has a primary: nothing that is owed to it is lost, and everything is pushed and pulled anew."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.admin.backup import restore
from memgraph.backends.base import Scope
from memgraph.backends.local.backend import LocalBackend
from memgraph.backends.local.journal import ALL, UNPUSHED, advance, set_cursor
from memgraph.backends.local.outbox import Outbox, refuse
from memgraph.checks import ledger_of
from memgraph.models import Filters, Selector
from memgraph.operations import Purge, Remember
from tests.unit.test_outbox import names

ANY = Filters(status="any")
SECRETS = [{"secret": "0a0b0c0d", "value": "11" * 32}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "agent.backup"


@pytest.fixture
def local(path: Path) -> Iterator[LocalBackend]:
    found = LocalBackend(path)
    found.couple("bolt://primary")
    found.meet(SECRETS)
    yield found
    found.close()


@pytest.fixture
def memory(local: LocalBackend) -> Memory:
    return Memory(local, namespace="acme")


def sent(local: LocalBackend) -> None:
    """As if the primary had taken everything, and everything of the primary had been pulled."""
    outbox = Outbox(local)
    outbox.done(outbox.units(1000), {})
    for path in local.namespaces(None):
        local.database.write(lambda connection, path=path: set_cursor(connection, path, 7))


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def cursors(local: LocalBackend) -> dict[str, int]:
    """Those of namespaces that callers know; what a restore writes down is to be pushed from the start."""
    found = Outbox(local).cursors()
    ledgers = {path: number for path, number in found.items() if path.startswith("~ledger/")}
    assert set(ledgers.values()) <= {UNPUSHED}
    return {path: number for path, number in found.items() if path not in ledgers}


def ids(memory: Memory) -> set[str]:
    return {entry.id for entry in memory.list(ANY)}


def test_everything_is_to_be_pushed_and_pulled_again(
    memory: Memory, local: LocalBackend, copy: Path, path: Path
) -> None:
    """Cursors of the store say that it holds what it does not hold any more, so they begin anew, in every namespace it knew."""
    memory.remember("one", id="a")
    sent(local)
    local.backup(copy, False)
    memory.remember("two", id="b")
    Memory(local, namespace="later").remember("three", id="c")
    sent(local)
    Memory(local, namespace="never pulled").remember("four", id="d")
    Outbox(local).done(Outbox(local).units(1000), {})
    done = restore(path, copy)
    assert (done.coupled, done.unsent, done.newer) == (True, 0, {"acme": 1, "later": 1, "never pulled": 1})
    assert ids(memory) == {"a"}
    assert cursors(local) == dict.fromkeys(("acme", "later", "never pulled"), UNPUSHED)
    assert Outbox(local).cursors()[ledger_of("acme")] == UNPUSHED
    assert Outbox(local).newest() == 0
    pushed = [each.id for each in local.operations(Scope("acme")) if isinstance(each, Remember)]
    assert pushed == ["a"], "what the puller queues for such a namespace"


def test_what_the_primary_does_not_have_yet_is_kept_in_the_store_and_in_the_queue(
    memory: Memory, local: LocalBackend, copy: Path, path: Path
) -> None:
    """What a write returned reaches the primary: under its number, as another process may be sending it right now."""
    memory.remember("one", id="a", key="k")
    sent(local)
    local.backup(copy, False)
    memory.remember("sent", id="b")
    sent(local)
    memory.remember_many([{"content": "two", "id": "c", "key": "k"}, {"content": "three", "id": "d"}])
    memory.forget("a")
    waiting = rows(path, "select * from outbox order by n")
    taken = Outbox(local).units(1000)
    done = restore(path, copy)
    assert (done.unsent, done.newer) == (4, {"acme": 1}), "who forgot is a memory of the ledger"
    assert rows(path, "select * from outbox order by n") == waiting
    assert ids(memory) == {"a", "c", "d"}
    assert memory.current("k").id == "c"
    assert memory.get("a").status == "forgotten"
    memory.remember("after", id="e")
    Outbox(local).done(taken, {"acme": 8})
    assert names(Outbox(local)) == [["e"]], "what was being sent meanwhile is done, and nothing else"
    assert cursors(local).keys() == {"acme"}
    assert set(Outbox(local).cursors().values()) == {UNPUSHED}
    assert local.check().ok


def test_a_purge_that_waits_still_reaches_the_primary(
    memory: Memory, local: LocalBackend, copy: Path, path: Path
) -> None:
    memory.remember("the zebra", id="z", subject="ann")
    local.backup(copy, False)
    assert [len(unit.items) for unit in Outbox(local).units(10)] == [1]
    sent(local)
    memory.purge(Selector(subject="ann"))
    done = restore(path, copy)
    assert done.purged["memories"] == 1
    assert ids(memory) == set()
    (purge,) = (each for unit in Outbox(local).units(10) for each in unit.operations if isinstance(each, Purge))
    assert (purge.field, purge.value) == ("subject", "ann")
    assert "zebra" not in str(rows(path, "select payload from outbox union all select payload from dead_letter"))
    ledger = [each for each in local.operations(Scope("acme")) if isinstance(each, dict) and "tombstone" in each]
    assert ledger, "its tombstones are among what is pushed anew"
    assert {each["secret"] for each in ledger} == {SECRETS[0]["secret"]}
    assert cursors(local).keys() == {"acme"}
    assert set(Outbox(local).cursors().values()) == {UNPUSHED}


def test_what_was_refused_is_kept_from_both(memory: Memory, local: LocalBackend, copy: Path, path: Path) -> None:
    for id in ("both", "old", "purged"):
        memory.remember(f"{id} ones", id=id)
        local.database.write(lambda connection: refuse(connection, Outbox(local).units(1)[0].number, "because"))
    local.backup(copy, False)
    local.database.write(lambda connection: connection.execute("delete from dead_letter where a = 'old'"))
    memory.purge(Selector(ids=["purged"]))
    memory.remember("new", id="new")
    sent(local)
    memory.remember("refused", id="refused")
    local.database.write(lambda connection: refuse(connection, Outbox(local).units(1)[0].number, "because"))
    restore(path, copy)
    found = rows(path, "select a, reason from dead_letter order by a")
    assert found == [("both", "because"), ("old", "because"), ("refused", "because")]
    assert len({letter.unit for letter in Outbox(local).dead_letters()}) == 3
    assert Outbox(local).retry() == 3
    memory.remember("next", id="next")
    assert sorted(names(Outbox(local))) == [["both"], ["next"], ["old"], ["refused"]]
    assert "purged ones" not in str(rows(path, "select payload from outbox"))


def test_a_new_file_takes_the_place_of_a_lost_one(
    memory: Memory, local: LocalBackend, copy: Path, tmp_path: Path
) -> None:
    """The backup's own queue is not needed where everything is pushed; namespaces that are only in the queue are not forgotten."""
    memory.remember("unsent", id="a")
    Memory(local, namespace="gone").remember("purged", id="g")
    Memory(local, namespace="gone").purge(Selector(everything=True))
    local.backup(copy, False)
    new = tmp_path / "new.db"
    assert restore(new, copy).coupled
    with Memory.open(new, namespace="acme") as opened:
        backend = opened.backend
        assert isinstance(backend, LocalBackend)
        assert ids(opened) == {"a"}
        assert cursors(backend) == dict.fromkeys(("acme", "gone"), UNPUSHED)
        assert Outbox(backend).newest() == 0
        assert [each for each in backend.operations(Scope("gone")) if isinstance(each, dict) and "tombstone" in each]
        backend.meet(SECRETS)
        opened.remember("queued at once", id="b")
        assert names(Outbox(backend)) == [["b"]]


def test_a_backup_from_before_there_was_a_primary(tmp_path: Path, copy: Path) -> None:
    """The store stays coupled, under the primary's secret."""
    with Memory.open(tmp_path / "memory.db", namespace="acme") as memory:
        backend = memory.backend
        assert isinstance(backend, LocalBackend)
        memory.remember("early", id="a")
        backend.backup(copy, False)
        backend.couple("bolt://primary")
        backend.meet(SECRETS)
        memory.remember("later", id="b")
        sent(backend)
        assert restore(tmp_path / "memory.db", copy).coupled
        assert cursors(backend) == {"acme": UNPUSHED}
        memory.remember("x", id="x")
        assert names(Outbox(backend)) == [["x"]]
        memory.purge(Selector(ids=["a"]))
        assert rows(tmp_path / "memory.db", "select distinct secret from tombstone") == [(SECRETS[0]["secret"],)]


def test_a_pull_that_goes_on_over_a_restore_does_not_pass_for_one_of_the_new_contents(
    memory: Memory, local: LocalBackend, copy: Path, path: Path
) -> None:
    memory.remember("one", id="a")
    sent(local)
    local.backup(copy, False)
    restore(path, copy)
    local.receive([], [], lambda connection, _: advance(connection, "acme", 9))
    local.receive([], [], lambda connection, _: advance(connection, "other", 3))
    assert cursors(local) == {"acme": UNPUSHED, "other": 3}
    Outbox(local).enqueue_all("acme", local.operations(Scope("acme")))
    assert Outbox(local).cursors()["acme"] == ALL
    local.receive([], [], lambda connection, _: advance(connection, "acme", 9))
    assert cursors(local) == {"acme": 9, "other": 3}
