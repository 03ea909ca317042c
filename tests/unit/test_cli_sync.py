"""`memgraph sync` where there is no server: it says what to do, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memgraph.cli.main import cli

AWAY = "bolt://127.0.0.1:1"


@pytest.fixture
def run(tmp_path: Path) -> object:
    def run(*words: str, primary: str | None = AWAY) -> Result:
        options = ["--store", str(tmp_path / "agent.db")] + (["--primary", primary] if primary else [])
        return CliRunner().invoke(cli, [*words, *options])

    return run


def test_a_store_without_a_primary_is_told_so(run: object) -> None:
    assert run("remember", "tea", primary=None).exit_code == 0  # type: ignore[operator]
    for words in (("sync",), ("sync", "status"), ("sync", "diff"), ("sync", "retry")):
        done = run(*words, primary=None)  # type: ignore[operator]
        assert done.exit_code == 1, words
        assert "primary" in done.stderr


def test_away_is_exit_5_and_the_queue_is_shown(run: object) -> None:
    assert run("remember", "tea", "--key", "drink").exit_code == 0  # type: ignore[operator]
    done = run("sync")  # type: ignore[operator]
    assert done.exit_code == 5
    assert "connection refused" in done.stderr
    found = json.loads(run("sync", "status", "--json").stdout)  # type: ignore[operator]
    assert (found["queued"], found["breaker"], found["local_entries"], found["primary_entries"]) == (1, "open", 1, None)
    shown = run("status").stdout  # type: ignore[operator]
    assert "1 operations" in shown
    assert "did not answer" in shown


def test_reads_are_answered_here_and_say_so(run: object) -> None:
    run("remember", "tea", "--key", "drink")  # type: ignore[operator]
    done = run("current", "drink")  # type: ignore[operator]
    assert "tea" in done.stdout
    assert "may be incomplete" in done.stderr
    assert done.exit_code == 6


def test_a_condition_needs_the_primary(run: object) -> None:
    done = run("remember", "tea", "--key", "drink", "--if-absent")  # type: ignore[operator]
    assert done.exit_code == 5
    assert json.loads(run("count", "--json", primary=None).stdout) == {"count": 0}  # type: ignore[operator]


def test_a_primary_in_the_wrong_form_is_refused(run: object) -> None:
    assert run("sync", primary="localhost").exit_code == 2  # type: ignore[operator]


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("search", "tea"),
        ("current", "drink"),
        ("lineage", "drink"),
        ("count",),
        ("namespaces",),
        ("diff", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("stats",),
        ("audit",),
    ],
)
def test_what_is_read_while_the_primary_is_away_is_exit_6(words: tuple[str, ...], run: object) -> None:
    assert run("remember", "tea", "--key", "drink").exit_code == 0  # type: ignore[operator]
    done = run(*words)  # type: ignore[operator]
    assert done.exit_code == 6, done.output
    assert "may be incomplete" in done.stderr


def test_what_is_not_found_while_the_primary_is_away_may_be_there(run: object) -> None:
    assert run("remember", "tea", "--key", "drink").exit_code == 0  # type: ignore[operator]
    for words in (("get", "elsewhere"), ("current", "elsewhere"), ("lineage", "elsewhere")):
        done = run(*words)  # type: ignore[operator]
        assert done.exit_code == 3
        assert "may be on the primary" in done.stderr
