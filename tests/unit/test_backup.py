"""Backups of a local store: what they hold, what they refuse, and that a restore is whole, seen by all, and raises no dead."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.admin import backup as admin
from memgraph.admin.backup import verify
from memgraph.backends.local import restore as restoring
from memgraph.errors import (
    ClockDriftError,
    ConflictError,
    InvalidInputError,
    LegalHoldError,
    NotFoundError,
    ReadOnlyError,
    StoreCorruptError,
    StoreLockedError,
    StoreVersionError,
    UnsupportedError,
)
from memgraph.ledger import operator
from memgraph.models import Filters, RestoreReport, Selector
from memgraph.operations import Remember
from memgraph.storage.sqlite.schema import MIGRATIONS
from tests.conftest import FrozenClock
from tests.contract.test_export import fill
from tests.views import view_of

ANY = Filters(status="any")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is: in a folder of its own."""
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "memory.db"


@pytest.fixture
def memory(path: Path, clock: FrozenClock) -> Iterator[Memory]:
    with Memory.open(path, clock=clock, lock_timeout=1) as found:
        yield found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Where the backup goes."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "agent.backup"


def restore(store: Path, backup: Path, **options: Any) -> RestoreReport:
    """At the time of the frozen clocks, as what a restore writes down may not be ahead of them."""
    return admin.restore(store, backup, clock=lambda: FrozenClock._reached.timestamp(), **options)


def _no_act(path: str, details: dict[str, Any]) -> Remember:
    raise AssertionError("what is refused is not written down")


def texts(memory: Memory) -> set[str]:
    return {entry.content for entry in memory.list(ANY, limit=1000)}


# ---- making one


def test_a_backup_is_the_store_whole_and_opens_by_itself(memory: Memory, copy: Path, clock: FrozenClock) -> None:
    """B068: everything is in it, in one file; opened as a store it is equal, and every law holds."""
    ns = fill(memory, clock)
    elsewhere = memory.namespace("elsewhere").remember("in another namespace")
    memory.check(reindex=True)
    made = memory.backup(copy)
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]
    assert made == verify(copy)
    assert made.made_at == clock.now
    assert made.namespaces == {ns: memory.count(ANY), "elsewhere": 1}
    assert made.memories == sum(made.namespaces.values())
    assert made.newest == elsewhere.version
    assert made.tombstones > 0
    assert made.bytes == copy.stat().st_size
    before = view_of(memory.backend, [ns, "elsewhere"], clock.now)
    with Memory.open(copy, clock=clock) as opened:
        assert view_of(opened.backend, [ns, "elsewhere"], clock.now) == before
        assert opened.check().ok
        assert opened.search("step").hits


def test_only_its_owner_may_read_it_and_it_takes_no_ones_place(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one")
    copy.write_bytes(b"something else")
    with pytest.raises(ConflictError):
        memory.backup(copy)
    assert copy.read_bytes() == b"something else"
    memory.backup(copy, force=True)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert verify(copy).memories == 1
    for own in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with pytest.raises(InvalidInputError):
            memory.backup(own, force=True)
    with pytest.raises(InvalidInputError):
        memory.backup(copy.parent, force=True)
    with pytest.raises(InvalidInputError):
        memory.backup(copy.parent / "no such folder" / "b")
    assert texts(memory) == {"one"}
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]


def test_another_store_is_not_overwritten_even_by_force(memory: Memory, copy: Path, tmp_path: Path) -> None:
    memory.remember("one")
    with Memory.open(tmp_path / "other.db") as other:
        other.remember("theirs")
        with pytest.raises(InvalidInputError, match="another store"):
            memory.backup(tmp_path / "other.db", force=True)
        assert texts(other) == {"theirs"}
        other.backup(copy)
    memory.backup(copy, force=True)
    assert verify(copy).memories == 1


def test_a_link_is_followed_and_a_link_to_the_store_is_the_store(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one")
    link, mine = copy.with_name("link"), copy.with_name("mine")
    link.symlink_to(copy)
    mine.symlink_to(path)
    memory.backup(link)
    assert link.is_symlink()
    assert verify(copy).memories == 1
    with pytest.raises(InvalidInputError):
        memory.backup(mine, force=True)


def test_it_is_of_one_instant_while_others_write(memory: Memory, copy: Path, path: Path) -> None:
    """Batches that others commit while it is made are in it whole or not at all."""
    stop = threading.Event()

    def write() -> None:
        with Memory.open(path) as other:
            n = 0
            while not stop.is_set():
                n += 1
                other.remember_many([{"content": f"{n}.{part}", "tags": [f"b{n}"]} for part in range(5)])

    memory.remember_many([f"filler {n} " + "x" * 500 for n in range(2000)])
    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for n in range(5):
            memory.backup(copy.with_name(f"b{n}"))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    for n in range(5):
        assert (verify(copy.with_name(f"b{n}")).memories - 2000) % 5 == 0


def test_what_was_purged_is_in_no_byte_of_a_backup(memory: Memory, copy: Path, path: Path) -> None:
    """Not even while a reader keeps the store's own pages from being cleared."""
    memory.remember_many([f"CANARY{n:03d} " + "x" * 7 * n for n in range(200)])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from memory").fetchone()
        assert not memory.purge(Selector(text="CANARY1")).scrubbed
        memory.backup(copy)
    data = copy.read_bytes()
    assert b"CANARY1" not in data
    assert b"CANARY099" in data
    with Memory.open(copy) as opened:
        assert not opened.status().scrub_pending


def test_a_view_of_one_namespace_cannot_copy_the_others(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one")
    with pytest.raises(UnsupportedError) as refused:
        memory.namespace("acme").backup(copy)
    assert "export" in refused.value.hint
    assert not copy.exists()


def test_of_memories_in_no_file(copy: Path) -> None:
    with Memory.open(":memory:") as memory:
        memory.remember("only here")
        memory.backup(copy)
    with Memory.open(copy) as opened:
        assert texts(opened) == {"only here"}


def test_a_damaged_store_makes_no_backup(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember_many([f"memory {n} " + "x" * 500 for n in range(500)])
    memory.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    with Memory.open(path, preload=False) as hurt, pytest.raises(StoreCorruptError):
        hurt.backup(copy)
    assert list(copy.parent.iterdir()) == []


def test_a_full_device_leaves_nothing(memory: Memory, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    memory.remember("one")
    monkeypatch.setattr("os.fsync", lambda file: os.write(os.open("/dev/full", os.O_WRONLY), b"x"))
    with pytest.raises(Exception, match="no room"):
        memory.backup(copy)
    assert list(copy.parent.iterdir()) == []


# ---- verifying


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    at = data.index(b"canary")
    return data[:at] + b"c4nary" + data[at + 6 :]


def zeroed(data: bytes) -> bytes:
    return data[: 4096 * 5] + bytes(4096) + data[4096 * 6 :]


@pytest.mark.parametrize("harm", [cut, flipped, zeroed, lambda data: b"not a store" * 100, lambda data: data[:50]])
def test_b068_harm_is_noticed_and_the_store_stays_as_it_was(
    harm: Callable[[bytes], bytes], memory: Memory, copy: Path, path: Path
) -> None:
    memory.remember_many([f"canary {n} " + "x" * 300 for n in range(100)])
    memory.backup(copy)
    copy.write_bytes(harm(copy.read_bytes()))
    memory.remember("later")
    before = texts(memory)
    for attempt in (lambda: verify(copy), lambda: restore(path, copy), lambda: restore(path, copy, dry_run=True)):
        with pytest.raises(StoreCorruptError) as refused:
            attempt()
        assert "canary" not in str(refused.value)
    with pytest.raises(StoreCorruptError):
        restore(path.with_name("new.db"), copy)
    assert texts(memory) == before
    assert {each.name for each in path.parent.iterdir()} == {path.name, f"{path.name}-wal", f"{path.name}-shm"}


def test_other_files_are_named_for_what_they_are(memory: Memory, copy: Path, path: Path, tmp_path: Path) -> None:
    memory.remember("one")
    with pytest.raises(NotFoundError):
        verify(copy)
    with pytest.raises(NotFoundError):
        restore(path, copy)
    memory.backup(copy)
    memory.namespace("x").remember("two")
    other = tmp_path / "other.db"
    with Memory.open(other) as store:
        store.remember("a store, but no backup")
    with pytest.raises(InvalidInputError, match="no backup"):
        verify(other)
    with pytest.raises(InvalidInputError, match="the store itself"):
        restore(path, path)
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        connection.execute("pragma user_version = 99")
    with pytest.raises(StoreVersionError):
        restore(path, copy)
    assert texts(memory) == {"one"}


def test_a_backup_that_was_written_to_as_a_store_is_one_no_more(memory: Memory, copy: Path, tmp_path: Path) -> None:
    memory.remember("one", id="a")
    made = memory.backup(copy)
    with Memory.open(copy) as opened:
        opened.get("a")
    assert verify(copy).model_copy(update={"bytes": made.bytes}) == made
    with Memory.open(copy) as opened:
        opened.remember("two")
        opened.backup(tmp_path / "again")
    with pytest.raises(StoreCorruptError):
        verify(copy)
    assert verify(tmp_path / "again").memories == 2


def test_a_backup_that_can_only_be_read(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one")
    memory.backup(copy)
    copy.chmod(0o400)
    copy.parent.chmod(0o500)
    before = copy.read_bytes()
    try:
        assert verify(copy).memories == 1
        memory.purge(Selector(everything=True))
        memory.remember("two")
        assert restore(path, copy).newer == {"default": 1}
        assert [each.name for each in copy.parent.iterdir()] == [copy.name]
    finally:
        copy.parent.chmod(0o700)
    assert copy.read_bytes() == before


def test_a_backup_of_an_older_build(copy: Path, path: Path) -> None:
    """A file of the first schema, in which an older tokenizer made the index, is verified, restored, and brought up to date."""
    with Memory.open(path) as memory:
        memory.remember("the zebra", key="k")
        memory.backup(copy)
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        for table in ("outbox", "dead_letter", "cursor"):
            connection.execute(f"drop table {table}")
        connection.execute("update meta set value = 'older' where name = 'text'")
        connection.execute(f"pragma user_version = {len(MIGRATIONS) - 1}")
        from memgraph.storage.sqlite.copy import digest

        sha = digest(connection, ("meta", "backup"))
        connection.execute("update meta set value = json_set(value, '$.sha256', ?) where name = 'backup'", (sha,))
    assert verify(copy).memories == 1
    new = path.with_name("new.db")
    admin.restore(new, copy)
    with Memory.open(new) as memory:
        assert [hit.entry.key for hit in memory.search("zebra")] == ["k"]
        assert memory.check().ok


# ---- restoring


def test_a_restore_is_whole_and_says_what_it_takes_away(
    memory: Memory, copy: Path, path: Path, clock: FrozenClock
) -> None:
    ns = fill(memory, clock)
    kept = memory.remember("kept", id="kept")
    memory.backup(copy)
    before = view_of(memory.backend, [ns], clock.now)
    clock.advance()
    memory.remember("a newer value", key="k", id="newer")
    memory.forget(kept.id)
    memory.namespace("elsewhere").remember_many([{"content": f"new {n}", "id": f"e{n}"} for n in range(7)])
    held = memory.stats().store_entries
    planned = restore(path, copy, dry_run=True)
    assert memory.get("kept").status == "forgotten"
    assert planned.dry_run
    assert planned.rollback is None
    assert planned.held == held
    assert planned.newer == {ns: 1, "elsewhere": 7}
    assert planned.newer_ids == {ns: ("newer",), "elsewhere": ("e6", "e5", "e4", "e3", "e2")}
    assert planned.changed == {ns: 1}
    assert planned.purged == {}
    assert [each.name for each in path.parent.glob("*before*")] == []
    done = restore(path, copy)
    assert done.model_copy(update={"dry_run": True, "rollback": None}) == planned
    assert done.scrubbed
    assert view_of(memory.backend, [ns], clock.now) == before
    assert memory.namespaces() == [ns]
    assert memory.check().ok
    assert done.rollback is not None
    assert stat.S_IMODE(Path(done.rollback).stat().st_mode) == 0o600
    back = restore(path, done.rollback)
    assert back.newer == {}
    assert memory.get("newer").status == "active"
    assert memory.get("kept").status == "forgotten"
    assert memory.namespace("elsewhere").count() == 7


def test_everybody_who_has_the_store_open_sees_it(memory: Memory, copy: Path, path: Path, clock: FrozenClock) -> None:
    """Graph, text index, statistics and snapshots of handles that were there before follow, over and over."""
    memory.remember_many([{"content": f"zebra {n}", "id": f"z{n}", "key": f"k{n % 10}"} for n in range(300)])
    memory.relate("z1", "z2", "knows")
    memory.check(reindex=True)
    memory.backup(copy)
    with Memory.open(path, clock=clock) as other:
        for turn in range(3):
            for each in (memory, other):
                each.remember_many([{"content": f"giraffe {turn} {n}", "key": f"k{n % 10}"} for n in range(40)])
                each.relate("z3", "z4", "knows")
                assert each.search("giraffe").hits
                assert each.graph().number_of_nodes() == each.count(ANY)
            memory.check(reindex=True)
            restore(path, copy)
            for each in (memory, other):
                assert each.search("giraffe", include_inactive=True).hits == ()
                assert {hit.entry.id for hit in each.search("zebra", limit=20)} == {f"z{n}" for n in range(290, 300)}
                assert each.graph().number_of_nodes() == 300
                assert [edge.target_id for edge in each.neighbours("z1").edges if edge.type == "knows"] == []
                assert len(each.lineage("k3").entries) == 30
                assert each.current("k3").id == "z293"
                assert each.check().ok


def test_the_backup_of_another_store_is_searched_as_its_own(
    memory: Memory, copy: Path, path: Path, tmp_path: Path
) -> None:
    """Its parts of the index have numbers that this process knows as those of other parts."""
    with Memory.open(tmp_path / "other.db", namespace="default") as other:
        for store, animal, step in ((other, "giraffe", 7), (memory, "zebra", 5)):
            store.remember_many([{"content": f"{animal} {n} word{n % step}", "id": f"{animal}{n}"} for n in range(300)])
            store.check(reindex=True)
        assert len(memory.search("word3", limit=100).hits) == 60
        Memory(other.backend).backup(copy)
        expected = {hit.entry.id: hit.score for hit in other.search("word3", limit=100)}
    admin.restore(path, copy)
    assert {hit.entry.id: hit.score for hit in memory.search("word3", limit=100)} == expected
    assert {hit.entry.id for hit in memory.search("giraffe 17")} >= {"giraffe17"}
    assert memory.search("zebra").hits == ()


def test_a_reader_keeps_its_snapshot(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("old")
    memory.backup(copy)
    memory.remember("new")
    facts = "select count(*) from memory where kind = 'fact'"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("begin")
        assert reader.execute(facts).fetchone() == (2,)
        done = restore(path, copy, lock_timeout=0.5)
        assert not done.scrubbed
        assert reader.execute(facts).fetchone() == (2,)
        reader.execute("rollback")
        assert reader.execute(facts).fetchone() == (1,)
    assert memory.status().scrub_pending
    memory.close()
    with Memory.open(path) as again:
        assert not again.status().scrub_pending
        assert texts(again) == {"old"}


def test_a_held_write_lock_is_waited_for_and_named(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("old")
    memory.backup(copy)
    memory.remember("new")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        with pytest.raises(StoreLockedError):
            restore(path, copy, lock_timeout=0.2)
        writer.execute("rollback")
    assert texts(memory) == {"old", "new"}
    assert list(path.parent.glob("*before*")) == []


def test_what_fails_before_the_swap_changes_nothing(
    memory: Memory, copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("old")
    memory.backup(copy)
    memory.remember("new")

    def fail(*arguments: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(restoring.merge, "complete", fail)
    with pytest.raises(Exception, match="temporary copy"):
        restore(path, copy)
    assert texts(memory) == {"old", "new"}
    assert memory.remember("goes on").version
    assert list(path.parent.glob("*before*")) == []


def test_nothing_acknowledged_before_the_swap_is_in_neither(memory: Memory, copy: Path, path: Path) -> None:
    """What others wrote until the very moment of the restore is in the rollback copy, what they wrote after it in the store."""
    memory.remember_many([f"filler {n} " + "x" * 300 for n in range(3000)])
    memory.backup(copy)
    said: list[str] = []
    stop = threading.Event()

    def write() -> None:
        with Memory.open(path, lock_timeout=60) as other:
            while not stop.is_set():
                said.append(other.remember("while it goes on").id)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(said) < 20:
            pass
        done = restore(path, copy, lock_timeout=60)
        after = len(said) + 20
        while len(said) < after:
            pass
    finally:
        stop.set()
        writer.join()
    assert done.rollback is not None
    with Memory.open(done.rollback) as kept:
        before = {entry.id for entry in kept.list(ANY, limit=10_000)}
    now = {entry.id for entry in memory.list(ANY, limit=10_000)}
    assert set(said) <= before | now
    assert set(said) - before
    assert not set(said) & before & now
    assert {problem.code for problem in memory.check().problems} <= {"future"}, "the children's clock is the real one"


def test_versions_go_on_from_what_the_store_had_seen(
    memory: Memory, copy: Path, path: Path, clock: FrozenClock
) -> None:
    memory.remember("one", key="k")
    memory.backup(copy)
    clock.advance(1000)
    last = memory.remember("two", key="k").version
    clock.advance(-1000)
    restore(path, copy)
    with Memory.open(path, clock=clock, max_clock_drift=1e6) as again:
        assert again.remember("three", key="k").version > last


def test_a_backup_from_the_future_is_refused_where_it_would_be_news(
    memory: Memory, copy: Path, path: Path, clock: FrozenClock
) -> None:
    clock.now = datetime(2200, 1, 1, tzinfo=UTC)
    memory.remember("one")
    memory.backup(copy)
    assert restore(path, copy).newer == {}, "the store itself is as far ahead"
    new = path.with_name("new.db")
    for dry_run in (True, False):
        with pytest.raises(ClockDriftError):
            restore(new, copy, dry_run=dry_run)
    assert not new.exists()
    assert restore(new, copy, max_clock_drift=1e10).held == 0


def test_to_a_store_that_is_not_there(memory: Memory, copy: Path, tmp_path: Path) -> None:
    memory.remember("one")
    made = memory.backup(copy)
    new = tmp_path / "new" / "memory.db"
    assert restore(new, copy, dry_run=True).held == 0
    assert not new.parent.exists()
    done = restore(new, copy)
    assert done.backup == made
    assert done.rollback is None
    assert [each.name for each in new.parent.iterdir()] == ["memory.db"]
    with Memory.open(new) as opened:
        assert texts(opened) == {"one"}
        with pytest.raises(InvalidInputError):
            verify(new)


def test_a_damaged_store_is_not_overwritten(memory: Memory, copy: Path, path: Path) -> None:
    """Its purge ledger cannot be read for sure; once it was repaired, or moved away, it can be restored."""
    memory.remember_many([f"memory {n} " + "x" * 500 for n in range(500)])
    memory.backup(copy)
    memory.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match="purged") as refused:
        restore(path, copy)
    assert "doctor --repair" in refused.value.hint
    assert path.read_bytes() == before
    with Memory.open(path, preload=False) as hurt:
        hurt.check(repair=True)
    restore(path, copy)
    with Memory.open(path) as mended:
        assert mended.count() == 500
        assert mended.check().ok


def test_stores_that_cannot_be_written_or_have_other_pages(copy: Path, path: Path) -> None:
    with Memory.open(path) as memory:
        memory.remember("one")
        memory.backup(copy)
        memory.remember("two")
    odd = path.with_name("odd.db")
    shutil.copy(path, odd)
    with contextlib.closing(sqlite3.connect(odd, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = delete")
        connection.execute("pragma page_size = 8192")
        connection.execute("vacuum")
    with pytest.raises(UnsupportedError, match="8192"):
        restore(odd, copy)
    with Memory.open(path, read_only=True) as reader, pytest.raises(ReadOnlyError):
        reader.backend.restore_backup(copy, False, _no_act)  # type: ignore[attr-defined]
    with Memory.open(":memory:") as nowhere, pytest.raises(UnsupportedError):
        nowhere.backend.restore_backup(copy, False, _no_act)  # type: ignore[attr-defined]
    for each in (path, odd):
        with Memory.open(each) as memory:
            assert texts(memory) == {"one", "two"}


# ---- the purge ledger


@pytest.mark.parametrize(
    "selector",
    [
        Selector(ids=["zebra"]),
        Selector(key="zoo"),
        Selector(subject="ann"),
        Selector(text="stripes"),
        Selector(everything=True),
    ],
    ids=["id", "key", "subject", "text", "everything"],
)
def test_what_was_purged_after_the_backup_stays_so(memory: Memory, copy: Path, path: Path, selector: Selector) -> None:
    memory.remember("a zebra with stripes", id="zebra", key="zoo", subject="ann", tags=["stripes"])
    memory.remember("a bystander", id="other")
    memory.relate("other", "zebra", "knows", note="stripes again")
    memory.backup(copy)
    memory.purge(selector)
    done = restore(path, copy)
    assert done.purged["memories"] == (2 if selector.everything else 1)
    assert not any("zebra" in text for text in texts(memory))
    assert memory.search("zebra", include_inactive=True).hits == ()
    for word in (b"zebra with", b"stripes"):
        assert word not in b"".join(
            each.read_bytes() for each in path.parent.iterdir() if "before-restore" not in each.name
        )
    assert memory.check().ok
    assert ("other" in {entry.id for entry in memory.list(ANY)}) is not bool(selector.everything)
    memory.remember("a new owner", key="zoo", subject="ann")
    assert memory.current("zoo").content == "a new owner"


def test_what_is_purged_while_a_restore_is_prepared_stays_so_too(
    memory: Memory, copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("first", id="a")
    memory.remember("second", id="b")
    memory.remember("third", id="c")
    memory.backup(copy)
    memory.purge(Selector(ids=["a"]))
    bury = restoring.merge.bury

    def and_then_somebody_purges(old: sqlite3.Connection, new: sqlite3.Connection) -> dict[str, int]:
        found = bury(old, new)
        monkeypatch.setattr(restoring.merge, "bury", bury)
        memory.purge(Selector(ids=["b"]))
        memory.remember("written meanwhile")
        return found

    monkeypatch.setattr(restoring.merge, "bury", and_then_somebody_purges)
    done = restore(path, copy)
    assert texts(memory) == {"third"}
    assert done.purged["memories"] == 2
    assert done.newer == {"default": 1}
    assert done.rollback is not None
    assert verify(done.rollback).memories == 2


def test_what_the_ledger_removes_is_in_no_page_that_is_written(
    memory: Memory, copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before the old pages are cleared either, and whether or not SQLite was built to overwrite what it deletes."""
    staged = restoring.files.staged

    def careless(connection: sqlite3.Connection) -> sqlite3.Connection:
        found = staged(connection)
        found.execute("pragma secure_delete = off")
        return found

    monkeypatch.setattr(restoring.files, "staged", careless)
    memory.remember_many([{"content": f"canary {n} " + "x" * 9 * n, "subject": f"s{n % 2}"} for n in range(200)])
    memory.backup(copy)
    memory.purge(Selector(subject="s1"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from memory").fetchone()
        assert not restore(path, copy, lock_timeout=0.2).scrubbed
        data = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert [n for n in range(200) if b"canary %d " % n in data] == list(range(0, 200, 2))


def test_the_ledgers_of_both_count(memory: Memory, copy: Path, path: Path, tmp_path: Path) -> None:
    """Tombstones of the backup's own store stay, each under its own secret, also where neither store knew the other."""
    memory.remember("mine", id="mine")
    memory.remember("shared", id="shared")
    memory.export_to(tmp_path / "mine.jsonl")
    memory.purge(Selector(ids=["mine"]))
    memory.backup(copy)
    with Memory.open(tmp_path / "other.db") as other:
        other.remember("shared", id="shared")
        other.remember("theirs", id="theirs")
        other.export_to(tmp_path / "theirs.jsonl")
        other.purge(Selector(ids=["shared", "theirs"]))
        done = restore(tmp_path / "other.db", copy)
        assert done.purged["memories"] == 1
        for file in ("mine.jsonl", "theirs.jsonl"):
            other.import_from(tmp_path / file)
        assert texts(other) == set()


def test_a_purge_names_the_rollback_copies_that_it_cannot_reach(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("old", id="a")
    memory.backup(copy)
    memory.remember("new")
    done = restore(path, copy)
    receipt = memory.purge(Selector(ids=["a"]))
    assert done.rollback is not None
    assert f"the rollback copy {Path(done.rollback).name}" in receipt.not_reached


def test_what_a_killed_restore_left_beside_is_named_and_goes_with_the_next(
    memory: Memory, copy: Path, path: Path
) -> None:
    memory.remember("old", id="a")
    memory.backup(copy)
    left = path.with_name(f".{path.name}.before-restore-20260101-000000-000000.0badcafe.tmp")
    left.touch()
    assert f"the rollback copy {left.name}" in memory.purge(Selector(ids=["a"])).not_reached
    restore(path, copy)
    assert not left.exists()


def test_when_it_was_made_is_the_stores_clock(memory: Memory, copy: Path, clock: FrozenClock) -> None:
    clock.now = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert memory.backup(copy).made_at == clock.now


def test_a_server_alone_has_no_file(copy: Path) -> None:
    from memgraph.backends.neo4j.backend import Neo4jBackend

    with (
        Memory(Neo4jBackend("bolt://127.0.0.1:1", connect=False)) as memory,
        pytest.raises(UnsupportedError) as refused,
    ):
        memory.backup(copy)
    assert "export" in refused.value.hint
    assert not copy.exists()


def test_holds_and_what_was_done_outlive_a_restore(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one", id="one")
    memory.backup(copy)
    hold = memory.hold({"ids": ["one"]})
    memory.remember("two", id="two")
    memory.purge({"ids": ["two"]}, by="dpo")
    assert restore(path, copy).newer == {}
    assert [each.id for each in memory.holds()] == [hold.id]
    *_, purged, restored = memory.audit()
    assert [(act.what, act.by) for act in (purged, restored)] == [("purge", "dpo"), ("backup restored", operator())]
    assert restored.details == {"backup of": verify(copy).made_at.isoformat(), "gone": 0}
    memory.forget(memory.remember("three").id)
    restore(path, copy, by="ops")
    *_, forgot, restored = memory.audit()
    assert forgot.what == "forget", "a restore takes back what was done, not that it was"
    assert (restored.by, restored.details["gone"]) == ("ops", 1)


def test_a_restore_that_would_take_what_is_held_out_of_use_is_refused(
    memory: Memory, copy: Path, path: Path, clock: FrozenClock
) -> None:
    memory.remember("evidence", id="e", subject="bob")
    clock.advance()
    released = memory.release("evidence")
    memory.backup(copy)
    clock.advance()
    memory.undo(released.id)
    memory.hold({"subject": "bob"})
    with pytest.raises(LegalHoldError):
        restore(path, copy)
    assert memory.get("e").status == "active"


def test_a_damaged_index_is_damage(memory: Memory, copy: Path, path: Path) -> None:
    """It would find one memory under the id of another."""
    memory.remember_many([{"content": f"row {n}", "id": f"r{n:03d}"} for n in range(200)])
    memory.backup(copy)
    data = copy.read_bytes()
    found = [at for at in range(len(data)) if data.startswith(b"r066", at)]
    assert len(found) > 1, "in the table and in an index"
    told = 0
    for at in found:
        copy.write_bytes(data[: at + 3] + b"7" + data[at + 4 :])
        try:
            verify(copy)
        except StoreCorruptError:
            told += 1
    assert told == len(found)
    copy.write_bytes(data)
    assert verify(copy).memories == 200


def test_a_damaged_schema_is_damage(memory: Memory, copy: Path, path: Path) -> None:
    """Whatever a byte of it becomes, also one that is no text: it is harmless, such as in a type's name, or said to be damage."""
    memory.remember("one")
    memory.backup(copy)
    data = copy.read_bytes()
    start = data.lower().index(b"create table")
    places = range(start, start + 400, 7)
    refused = 0
    for at in places:
        for byte in (b"\xff", b"q"):
            copy.write_bytes(data[:at] + byte + data[at + 1 :])
            try:
                restore(path, copy, dry_run=True)
            except (StoreCorruptError, InvalidInputError):
                refused += 1
    assert refused > len(places) / 2
    assert texts(memory) == {"one"}


def test_a_text_that_is_none_is_damage_and_is_not_repeated(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("a canary in a text")
    memory.backup(copy)
    data = copy.read_bytes()
    assert b"a canary in" in data
    copy.write_bytes(data.replace(b"a canary in", b"a can\xffry in"))
    for attempt in (lambda: verify(copy), lambda: restore(path, copy)):
        with pytest.raises(StoreCorruptError) as refused:
            attempt()
        assert "can" not in str(refused.value).replace("cannot", "")


def test_a_restore_does_not_refuse_for_good_what_a_hold_names(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one", id="one")
    memory.purge({"subject": "bob"})
    memory.backup(copy)
    memory.hold({"subject": "bob"})
    restore(path, copy, dry_run=True)  # it is refused here as well
    with Memory.open(path.with_name("other.db"), preload=False) as other:
        other.remember("one", id="one")
        hold = other.hold({"subject": "bob"})
        with pytest.raises(LegalHoldError, match=hold.id):
            restore(path.with_name("other.db"), copy)
        assert [each.id for each in other.holds()] == [hold.id]


@pytest.mark.parametrize("selector", [{"key": "k"}, {"ids": ["e"]}, {"everything": True}], ids=["key", "id", "all"])
@pytest.mark.parametrize("below", [False, True], ids=["here", "below"])
def test_a_restore_does_not_refuse_for_good_what_a_hold_names_in_an_empty_namespace(
    memory: Memory, copy: Path, path: Path, selector: dict[str, Any], below: bool
) -> None:
    space = memory.namespace("case", "bob")
    space.remember("evidence", id="e", key="k")
    space.purge(selector)
    space.remember("newer")
    memory.backup(copy)
    elsewhere = path.with_name("other.db")
    with Memory.open(elsewhere, preload=False) as other:
        other.remember("one")
        hold = other.namespace("case", *(() if below else ("bob",))).hold(selector, subtree=below)
    for dry_run in (True, False):
        with pytest.raises(LegalHoldError, match=hold.id):
            restore(elsewhere, copy, dry_run=dry_run)


def test_a_restore_that_would_take_what_is_held_is_refused(memory: Memory, copy: Path, path: Path) -> None:
    memory.remember("one", id="one", subject="bob")
    memory.backup(copy)
    memory.remember("evidence", id="e", subject="bob")
    hold = memory.hold({"subject": "bob"})
    for dry_run in (True, False):
        with pytest.raises(LegalHoldError, match=hold.id):
            restore(path, copy, dry_run=dry_run)
    assert memory.get("e").content == "evidence"
    memory.lift_hold(hold.id)
    restore(path, copy)
    assert memory.count() == 1
