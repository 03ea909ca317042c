"""The command `backup`: what it says, what it asks, and the exit code that says how it went."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memgraph import Filters, Memory
from memgraph.cli.main import cli

Run = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with two namespaces, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORE", str(tmp_path / "memory.db"))
    with Memory.open(tmp_path / "memory.db") as memory:
        memory.remember("canary Porto", key="city", id="a")
        memory.namespace("acme").remember("canary plan", id="b", subject="ann")
    return tmp_path / "memory.db"


@pytest.fixture
def run(store: Path) -> Run:
    """Run the command in this process; the exit code must be `code`."""

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(cli, list(arguments))
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        assert "canary" not in result.stderr
        assert "canary" not in result.stdout or arguments[0] != "backup"
        return result

    return call


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def state(store: Path) -> set[tuple[str, str]]:
    with Memory.open(store, preload=False) as memory:
        return {
            (space, entry.id)
            for space in memory.namespaces()
            for entry in memory.namespace(space).list(Filters(status="any"))
        }


def test_create_verify_restore(run: Run, store: Path) -> None:
    assert "agent.backup: made" in run("backup", "create", "agent.backup").stdout
    made = told(run("--json", "backup", "verify", "agent.backup"))
    assert made["namespaces"] == {"acme": 1, "default": 1}
    assert "acme: 1, default: 1" in run("backup", "verify", "agent.backup").stdout
    run("remember", "newer", "--id", "c")
    run("purge", "-n", "acme", "--subject", "ann", "--yes")
    before = state(store)
    planned = run("backup", "restore", "agent.backup", "--dry-run")
    assert "would be restored to" in planned.stdout
    assert "newer in default: c" in planned.stdout
    assert "stays purged" in planned.stdout
    asked = run("backup", "restore", "agent.backup", code=4)
    assert "newer in default: c" in asked.stderr
    assert "--yes" in asked.stderr
    assert f"store {store}, every namespace" in asked.stderr
    assert state(store) == before
    done = run("backup", "restore", "agent.backup", "--yes")
    assert state(store) == {("default", "a")}
    (kept,) = store.parent.glob("*.before-restore-*")
    assert f"memgraph backup restore {kept}" in done.stderr
    assert str(kept) in done.stdout
    answer = told(run("--json", "backup", "restore", kept.name, "--yes"))
    assert (answer["newer"], answer["dry_run"], answer["scrubbed"]) == ({}, False, True)
    assert state(store) == {("default", "a"), ("default", "c")}


def test_what_is_there_is_not_replaced_unasked(run: Run, store: Path) -> None:
    run("backup", "create", "agent.backup")
    before = Path("agent.backup").read_bytes()
    assert "--force" in run("backup", "create", "agent.backup", code=4).stderr
    assert Path("agent.backup").read_bytes() == before
    run("backup", "create", "agent.backup", "--force")
    run("backup", "create", str(store), "--force", code=2)
    run("backup", "create", "no/such/folder", code=2)
    assert state(store) == {("default", "a"), ("acme", "b")}


def test_a_new_store_is_made_without_a_question_and_none_by_a_dry_run(run: Run, store: Path) -> None:
    run("backup", "create", "agent.backup")
    run("--store", "new.db", "backup", "restore", "agent.backup", "--dry-run")
    assert not Path("new.db").exists()
    run("--store", "new.db", "backup", "restore", "agent.backup")
    assert state(Path("new.db")) == state(store)


def test_wrong_usage_and_files_that_are_not_there(run: Run, store: Path) -> None:
    run("backup", "verify", "no.backup", code=3)
    run("backup", "restore", "no.backup", "--yes", code=3)
    run("--store", "no.db", "backup", "create", "x", code=3)
    Path("empty.backup").write_bytes(b"")
    for command in (("backup", "verify", "empty.backup"), ("backup", "restore", "empty.backup", "--yes")):
        assert "is empty, and no backup" in run(*command, code=2).stderr
    assert Path("empty.backup").read_bytes() == b""
    run("backup", "verify", str(store), code=2)
    run("backup", "restore", str(store), "--yes", code=2)
    run("backup", "verify", "x", "--force", code=2)
    run("backup", "create", "x", "--dry-run", code=2)
    run("backup", code=2)
    assert "memgraph export" in run("-n", "acme", "backup", "create", "x", code=2).stderr
    assert not Path("no.db").exists()
    assert not Path("x").exists()


def test_a_damaged_backup_is_an_error_and_the_store_stays(run: Run, store: Path) -> None:
    run("backup", "create", "agent.backup")
    data = Path("agent.backup").read_bytes()
    Path("agent.backup").write_bytes(data.replace(b"canary Porto", b"canary Paris"))
    before = state(store)
    for action in ("verify", "restore"):
        failed = json.loads(run("--json", "backup", action, "agent.backup", code=1).stderr)
        assert failed["error"] == "StoreCorruptError"
    assert state(store) == before


def test_a_server_alone_has_no_file(run: Run) -> None:
    for action in ("create", "restore"):
        refused = run("--store", "bolt://localhost:1", "backup", action, "x", code=1)
        assert "memgraph export" in refused.stderr


def test_a_primary_without_a_named_file_is_a_server_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMGRAPH_STORE")
    refused = run("--primary", "bolt://localhost:1", "backup", "create", "x", code=1)
    assert "memgraph export" in refused.stderr


def test_with_a_primary_it_is_the_files_own_and_nobody_waits_for_the_server(run: Run, store: Path) -> None:
    """Nothing listens at this address."""
    both = ("--store", str(store), "--primary", "bolt://127.0.0.1:1")
    run(*both, "backup", "create", "agent.backup")
    run("remember", "newer", "--id", "c")
    run(*both, "backup", "restore", "agent.backup", "--yes")
    assert state(store) == {("default", "a"), ("acme", "b")}


def test_a_reader_in_the_way_makes_it_partial(run: Run, store: Path) -> None:
    run("backup", "create", "agent.backup")
    run("remember", "newer", "--id", "c")
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from memory").fetchone()
        done = run("backup", "restore", "agent.backup", "--yes", code=6)
    assert "files scrubbed  no" in done.stdout
    assert state(store) == {("default", "a"), ("acme", "b")}
    with Memory.open(store) as memory:
        assert not memory.status().scrub_pending
