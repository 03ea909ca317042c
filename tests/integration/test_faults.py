"""Full disks, read-only media, torn and damaged files: a typed error or a whole answer, never a silent loss."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.errors import (
    MemgraphError,
    ReadOnlyError,
    StoreCorruptError,
    StoreFullError,
    StoreVersionError,
    UnavailableError,
)
from memgraph.models import Filters
from tests.integration.child import start

ANY = Filters(status="any")
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store will be."""
    return tmp_path / "memory.db"


def filled(path: Path, count: int = 300) -> Path:
    """A store with `count` values on ten keys, closed in order."""
    with Memory.open(path) as memory:
        memory.remember_many(
            [{"content": f"value {n} {'x' * 200}", "id": f"i{n}", "key": f"k{n % 10}"} for n in range(count)]
        )
        memory.relate("i0", f"i{count - 1}")
    return path


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# ---- no room


def test_a_full_disk_leaves_memory_equal_to_disk(path: Path) -> None:
    """B055: the write that finds no room raises; everything before is there, reads go on, and later writes work."""
    with start("full", path, stdout=subprocess.PIPE) as child:
        answer = json.loads(child.communicate()[0])
    assert child.returncode == 0
    assert answer["refused"] == 3
    acknowledged = answer["written"][:-1]
    assert answer["current"] == acknowledged[-1]
    assert answer["count"] == len(acknowledged)
    assert answer["history"] == acknowledged
    assert answer["found"] >= 1
    with Memory.open(path) as memory:
        assert [entry.id for entry in memory.history("k")] == answer["written"]
        assert memory.current("k").id == "last"
        assert memory.check().ok
    assert issubclass(StoreFullError, OSError)


# ---- no right to write


def test_opened_for_reading(path: Path) -> None:
    """`read_only=True` reads everything and changes no byte; every write says why not."""
    filled(path)
    before = path.read_bytes()
    with Memory.open(path, read_only=True) as memory:
        assert memory.status().read_only
        assert memory.current("k3").id == "i293"
        assert len(memory.search("value 293")) > 0
        assert len(memory.history("k3")) == 30
        assert memory.neighbours("i299").centre.id == "i299"
        for write in (
            lambda: memory.remember("x"),
            lambda: memory.forget("i293"),
            lambda: memory.relate("i1", "i2"),
            lambda: memory.purge({"ids": ["i1"]}),
        ):
            with pytest.raises(ReadOnlyError):
                write()
        memory.export_to(path.with_name("export.jsonl"))
    assert path.read_bytes() == before


def test_opened_for_reading_beside_a_writer(path: Path) -> None:
    """A reader sees what a writer wrote before each of its calls."""
    with Memory.open(path) as writer:
        writer.remember("one", key="k")
        with Memory.open(path, read_only=True) as reader:
            for n in range(5):
                writer.remember(f"value {n}", key="k")
                assert reader.current("k").content == f"value {n}"
                assert len(reader.history("k")) == n + 2


def test_nothing_to_read(path: Path) -> None:
    """Opening what is not there for reading says so and makes no file."""
    with pytest.raises(UnavailableError):
        Memory.open(path, read_only=True)
    assert not path.exists()


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that another user can reach; it may not write there."""
    folder = Path(tempfile.mkdtemp(prefix="memgraph-test-"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_read_only_media(public_folder: Path) -> None:
    """B061: a store on a medium that cannot be written opens, reads in every way, and refuses writes by name."""
    path = public_folder / "memory.db"
    with Memory.open(path) as memory:
        old = memory.remember("old value", key="k")
        new = memory.remember("new value", key="k")
        memory.relate(new.id, memory.remember("third value").id)
    assert old.id != new.id
    path.chmod(0o444)
    public_folder.chmod(0o555)
    before = bytes_of(public_folder)
    with start("look", path, NOBODY, stdout=subprocess.PIPE) as child:
        answer = json.loads(child.communicate()[0])
    assert child.returncode == 0
    refused = dict.fromkeys(("remember", "forget", "purge"), "ReadOnlyError")
    assert sorted(answer.pop("found")) == ["new value", "third value"]
    assert answer == {
        "current": "new value",
        "history": 2,
        "neighbours": 1,
        "read_only": True,
        "check": True,
        **refused,
    }
    assert bytes_of(public_folder) == before


def test_a_path_that_cannot_be_a_store(tmp_path: Path) -> None:
    """A folder, or a path below a file, is one of our errors."""
    (tmp_path / "file").write_text("x" * 5000)
    for bad in (tmp_path, tmp_path / "file" / "memory.db"):
        with pytest.raises(MemgraphError):
            Memory.open(bad)


# ---- damage


@pytest.mark.parametrize("damage", ["text", "short", "zeroed header", "another program's"])
def test_what_is_no_store_is_left_alone(path: Path, damage: str) -> None:
    """What is not a store of ours is refused by name and not touched by a byte."""
    if damage == "another program's":
        with sqlite3.connect(path) as connection:
            connection.execute("create table photos(name)")
        connection.close()
    elif damage == "zeroed header":
        data = bytearray(filled(path).read_bytes())
        data[:100] = bytes(100)
        path.write_bytes(data)
    else:
        path.write_text("no database\n" * (500 if damage == "text" else 1))
    before = bytes_of(path.parent)
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreCorruptError) as caught:
            Memory.open(path, **options)
        assert str(path) in str(caught.value)
    assert bytes_of(path.parent) == before


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    """A file without a byte is a place for a store."""
    path.touch()
    with Memory.open(path) as memory:
        memory.remember("a")


def test_a_newer_file_is_refused_untouched(path: Path) -> None:
    """A file of a newer memgraph is refused, byte for byte as it was."""
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    before = bytes_of(path.parent)
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreVersionError):
            Memory.open(path, **options)
    assert bytes_of(path.parent) == before


def reads(memory: Memory) -> dict[str, object]:
    """Every kind of read; our own errors count as an answer, an incomplete answer does not."""
    answers: dict[str, object] = {}
    for name, read in {
        "count": lambda: memory.count(ANY),
        "list": lambda: len(memory.list(ANY, limit=1000)),
        "get": lambda: [memory.get(f"i{n}").id for n in range(0, 300, 50)],
        "current": lambda: [memory.current(f"k{n}").id for n in range(10)],
        "search": lambda: len(memory.search("value", limit=1000, include_inactive=True)),
        "history": lambda: len(memory.history("k1")),
        "graph": lambda: memory.graph().number_of_nodes(),
    }.items():
        try:
            answers[name] = read()
        except MemgraphError as error:
            answers[name] = type(error).__name__
    return answers


WHOLE = {
    "count": 300,
    "list": 300,
    "get": [f"i{n}" for n in range(0, 300, 50)],
    "current": [f"i{n}" for n in range(290, 300)],
    "search": 300,
    "history": 30,
    "graph": 300,
}


@pytest.mark.parametrize("part", [0.25, 0.5, 0.9])
def test_a_cut_file_never_shrinks_silently(path: Path, part: float) -> None:
    """A file that lost its end is refused or opened for reading with the damage said; no answer is quietly smaller."""
    filled(path)
    os.truncate(path, int(path.stat().st_size * part) // 4096 * 4096)
    before = path.read_bytes()
    try:
        memory = Memory.open(path)
    except StoreCorruptError:
        assert path.read_bytes() == before
        return
    with memory:
        status = memory.status()
        assert status.read_only
        assert status.damage
        for name, answer in reads(memory).items():
            assert answer in (WHOLE[name], "StoreCorruptError"), name
        with pytest.raises(StoreCorruptError):
            memory.remember("more")
        assert not memory.check().ok
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", [0.2, 0.45, 0.6, 0.8])
def test_a_bad_page_is_an_error_where_it_matters(path: Path, place: float) -> None:
    """One garbled page: each read is whole or says that the file is damaged; the check names it; nothing shrinks."""
    filled(path)
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * place) // 4096 * 4096)
        file.write(b"\xff" * 4096)
    with Memory.open(path) as memory:
        for name, answer in reads(memory).items():
            assert answer in (WHOLE[name], "StoreCorruptError"), name
        report = memory.check()
        assert not report.ok
        assert report.problems
        assert report.problems[0].remedy


def test_repair_saves_what_can_be_read(path: Path) -> None:
    """A damaged store that is repaired is a whole store again; what it cannot save is said, not hidden."""
    filled(path)
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * 0.5) // 4096 * 4096)
        file.write(b"\xff" * 4096)
    with Memory.open(path) as memory:
        report = memory.check(repair=True)
        assert report.problems
    with Memory.open(path) as memory:
        left = memory.count(ANY)
        assert 0 < left <= 300
        assert memory.check().ok
        memory.remember("goes on", key="new")
        assert memory.current("new").content == "goes on"
        if left < 300:
            assert any(f"{left} rows were saved" in problem.message for problem in report.problems)


def crashed(folder: Path, count: int = 5) -> Path:
    """A store whose writer died: its last writes are in the write-ahead log only."""
    path = folder / "memory.db"
    with start("leave", path, count, stdout=subprocess.PIPE) as child:
        assert child.communicate()[0] == "written\n"
    assert Path(f"{path}-wal").stat().st_size > 0
    return path


def test_a_torn_log_loses_only_what_was_torn(tmp_path: Path) -> None:
    """B054: cut anywhere in its last commit, or followed by zeros, the log gives back every earlier write; later writes last."""
    path = crashed(tmp_path)
    log = Path(f"{path}-wal")
    whole, size = log.read_bytes(), log.stat().st_size
    frame = 24 + 4096
    torn = [whole[: size - cut] for cut in (1, 24, 100, frame - 1, frame)]
    torn += [whole + bytes(n) for n in (1, 24, 4096, frame * 2)]
    for n, data in enumerate(torn):
        copy = tmp_path / f"copy{n}"
        copy.mkdir()
        shutil.copy(path, copy / "memory.db")
        (copy / "memory.db-wal").write_bytes(data)
        with Memory.open(copy / "memory.db") as memory:
            found = [entry.content for entry in memory.history("k")]
            assert found in ([f"value {n}" for n in range(5)], [f"value {n}" for n in range(4)])
            if len(data) >= size:
                assert len(found) == 5
            memory.remember("after", key="k")
            assert memory.check().ok
        with Memory.open(copy / "memory.db") as memory:
            assert [entry.content for entry in memory.history("k")] == [*found, "after"]


def test_a_log_without_its_writer_is_read(tmp_path: Path) -> None:
    """What a killed writer left in the log is there for the next one, and for a reader."""
    path = crashed(tmp_path)
    with Memory.open(path, read_only=True) as memory:
        assert memory.current("k").content == "value 4"
    with Memory.open(path) as memory:
        assert memory.current("k").content == "value 4"
        assert memory.check().ok


def test_no_import_needs_a_posix_system() -> None:
    """B056: importing memgraph needs no module that only some systems have."""
    script = (
        "import sys\n"
        "for name in ('fcntl', 'resource', 'pwd', 'grp', 'termios'): sys.modules[name] = None\n"
        "import memgraph.memory, memgraph.aio, memgraph.backends.local.backend\n"
        "memory = memgraph.memory.Memory.open(':memory:')\n"
        "print(memory.remember('a', key='k').content)\n"
    )
    found = subprocess.run([__import__("sys").executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "a\n"), found.stderr
