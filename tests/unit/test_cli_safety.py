"""The command where it hurts: hostile content, narrow columns, closed pipes, and nobody there to ask."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import regex
from click.testing import CliRunner, Result

from memgraph import Filters, Memory
from memgraph.cli.main import cli
from memgraph.errors import InvalidInputError
from memgraph.views.plain import columns, escape, graphemes

Run = Callable[..., Result]
posix_only = pytest.mark.skipif(os.name != "posix", reason="terminals and signals of POSIX")
DANGEROUS = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

# Pairs of keys that a slug, a path, a case fold or a parser would take for one (B008).
TRICKY_PAIRS = (
    ("a/b", "a-b"),
    ("Key", "key"),
    ("k", "k "),
    (" k", "k"),
    ("a//b", "a/b"),
    ("a/b", "a/b/"),
    ("../../x", "x"),
    ("a%2Fb", "a/b"),
    ("\u00df", "ss"),
    ("\uff11", "1"),
    ("\ufb01", "fi"),
    ("a\u200bb", "ab"),
    ("user:1", "user:10"),
    ("-k", "k"),
    ("--help", "help"),
    ("*", "?"),
    ("null", "None"),
    ("1", "1.0"),
    ("`x`", "x"),
    ("$k", "k"),
    ("the red belt line at the north outpost is jammed", "the red belt line at the south outpost is fine"),
    ("CON", "con.txt"),
    ("\u65e5\u672c", "\u65e5\u672c\u8a9e"),
    ("\U0001f9e0", "\U0001f9e0\ufe0f"),
)
HOSTILE = (
    "ctrl \x07 bell \x1b[31mred\x1b[0m \x9b2J",
    "clear \x1b[2J\x1b]0;title\x07",
    "bidi \u202eevil\u202c \u2066x\u2069",
    "W\x00s\x00l\x00",
    "line\u2028sep nel\x85end\rback",
    "fake\nid: 1\nstatus  active",
    "zero\u200bwidth\ufeff",
    "family \U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 end",
    "flags \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 skin \U0001f44d\U0001f3fd key 1\ufe0f\u20e3",
    "zalgo z\u0337\u0327\u0322a\u0334l\u0337g\u0338o \u1112\u1161\u11ab \u65e5\u672c\u8a9e",
)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of this test's store, in a folder of its own."""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORE", str(tmp_path / "data" / "memory.db"))
    return tmp_path / "data" / "memory.db"


@pytest.fixture
def run(store: Path) -> Run:
    """Run the command in this process; the exit code must be `code`."""

    def call(*arguments: str, code: int = 0, input: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, list(arguments), input=input)
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        return result

    return call


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, "-m", "memgraph", *arguments], timeout=60, **options)


def contents(store: Path) -> set[tuple[str, str]]:
    """What the store holds, and each memory's status."""
    with Memory.open(store, preload=False) as memory:
        return {(entry.id, entry.status.value) for entry in memory.list(Filters(status="any"), limit=10_000)}


# ---- hostile content


@pytest.mark.parametrize(("a", "b"), TRICKY_PAIRS)
def test_b008_tricky_keys_stay_apart(a: str, b: str, run: Run, tmp_path: Path) -> None:
    for key in (a, b):
        run("remember", f"value of {key!r}", f"--key={key}")
    for key in (a, b):
        assert json.loads(run("--json", "current", "--", key).stdout)["content"] == f"value of {key!r}"
        assert len(json.loads(run("history", "--json", "--", key).stdout)["entries"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_b008_keys_that_cannot_be(run: Run) -> None:
    for key in ("", " ", "a\x00b", "k\n2"):
        run("remember", "x", f"--key={key}", code=2)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_b064_no_output_for_people_is_obeyed_by_a_terminal(hostile: str, run: Run, store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        fields: dict[str, Any] = {"metadata": {hostile: hostile}, "reason": hostile}
        old = memory.remember(f"canary {hostile}", key="k", **fields)
        new = memory.remember(f"canary 2 {hostile}", key="k", title=hostile, **fields)
        other = memory.remember(hostile, tags=["\u202etag"], id="\u202eid", subject="a\u2066b")
        memory.relate(new.id, other.id, note=hostile)
    commands = (
        ("get", new.id),
        ("current", "k"),
        ("list", "--status", "any"),
        ("history", "k"),
        ("lineage", "k"),
        ("neighbours", new.id),
        ("search", "canary"),
        ("search", "--explain", "canary"),
        ("diff", "2020-01-01T00:00:00Z", "now"),
        ("get", other.id),
        ("forget", old.id, "--reason", hostile.replace("\x00", "")),
        ("release", "canary", "--dry-run"),
        ("plan-purge", "--everything"),
        ("get", "--", f"no {hostile.replace(chr(0), '')}"),
        (hostile.replace("\x00", ""),),
        ("list", f"--{hostile}".replace("\x00", "")),
    )
    for command in commands:
        result = CliRunner().invoke(cli, command)
        assert result.exit_code in (0, 2, 3), result.stderr
        for line in (result.stdout + result.stderr).split("\n"):
            assert not DANGEROUS.search(line), (command, line)
        as_json = CliRunner().invoke(cli, ("--json", *command))
        assert (as_json.stdout + as_json.stderr).isascii()
        json.loads(as_json.stdout or as_json.stderr)


def test_what_a_memory_says_cannot_pass_for_our_own_lines(run: Run) -> None:
    id = run("-q", "remember", "first\nstatus  active\n\nmemgraph: done").stdout.strip()
    text = run("get", id).stdout
    assert text.endswith("\n\n  first\n  status  active\n  \n  memgraph: done\n")


@pytest.mark.parametrize("width", [1, 2, 5, 10, 17])
def test_b065_width_is_kept_and_no_grapheme_is_split(width: int, run: Run, store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        for text in HOSTILE:
            memory.remember(text)
    rows = run("-q", "list", "--width", str(width)).stdout.rstrip("\n").split("\n")
    assert len(rows) == len(HOSTILE)
    for row, text in zip(rows, reversed(HOSTILE), strict=True):
        shown = regex.split(r"  -  ?", row, maxsplit=1)[1]
        assert columns(shown) <= width
        if shown == escape(text):
            continue
        assert shown.endswith("…")
        pieces = [escape(piece) for piece in graphemes(text)]
        assert shown[:-1].rstrip() in {"".join(pieces[:n]).rstrip() for n in range(len(pieces))}


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_code_page_that_lacks_the_characters(encoding: str, store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember("日本 – é 👍🏽", key="k")
        memory.remember("Größe", key="k")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for command in (
        ("list", "--status", "any", "--width", "4"),
        ("lineage", "k"),
    ):
        done = process(*command, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        done.stdout.decode(encoding)
    assert done.stdout.count(b"\n* ") == 1


@posix_only
def test_a_reader_that_stops_reading(store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember_many([f"memory {n} " + "x" * 200 for n in range(2000)])
    for flags in ((), ("--json",)):
        command = [sys.executable, "-m", "memgraph", "list", "--limit", "2000", *flags]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(10)
            child.stdout.close()
            assert child.stderr.read() == b""
            assert child.wait(60) == 0


@posix_only
def test_output_that_cannot_be_written_is_an_error(store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember("x")
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        assert process("list", stdout=full).returncode == 1


@posix_only
def test_streams_that_are_closed(store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember("x")
    command = f'"{sys.executable}" -m memgraph'
    for line, code in (
        ("list >&-", 0),
        ("list 2>&-", 0),
        ("remember - <&-", 2),
        ("purge --everything <&- >&- 2>&-", 4),
    ):
        assert subprocess.run(f"{command} {line}", shell=True, capture_output=True, timeout=60).returncode == code
    assert len(contents(store)) == 1


# ---- nobody there to ask


@pytest.fixture
def filled(store: Path) -> tuple[Path, dict[str, str]]:
    """A store in which every destructive command has something to do, and the ids that they need."""
    with Memory.open(store, preload=False) as memory:
        gone = memory.remember("forgotten one")
        memory.forget(gone.id)
        memory.remember("kept", key="k")
        worthless = memory.remember("worthless", confidence=0.0)
        memory.export_to("backup.jsonl")
        memory.backup("agent.backup")
        memory.remember("after the backup")
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("insert into life(seq, version, cause) values (99, '0', 'forgotten')")  # of no memory
    return store, {"gone": gone.id, "worthless": worthless.id}


def destructive(ids: dict[str, str]) -> list[list[str]]:
    return [
        ["purge", "--everything"],
        ["purge", "--key", "k"],
        ["restore", ids["gone"]],
        ["release", "kept"],
        ["consolidate"],
        ["import", "backup.jsonl"],
        ["backup", "restore", "agent.backup"],
        ["doctor", "--repair"],
    ]


@pytest.mark.parametrize("input", [None, "", "n\n", "y\n", "yes\nyes\n"])
def test_b067_without_a_terminal_nothing_is_taken_for_a_yes(
    input: str | None, filled: tuple[Path, dict[str, str]], run: Run
) -> None:
    store, ids = filled
    before = contents(store)
    for command in destructive(ids):
        result = run(*command, code=4, input=input)
        assert "--yes" in result.stderr
        assert str(store) in result.stderr
        assert result.stdout == ""
        told = json.loads(run("--json", *command, code=4, input=input).stderr)
        assert "--yes" in told["hint"]
        assert str(store) in told["message"]
    assert contents(store) == before


def test_b067_a_closed_standard_input_is_no_yes(filled: tuple[Path, dict[str, str]]) -> None:
    store, _ = filled
    before = contents(store)
    done = process("purge", "--everything")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"--yes" in done.stderr
    assert contents(store) == before


def test_b067_a_dry_run_changes_nothing_even_with_yes(filled: tuple[Path, dict[str, str]], run: Run) -> None:
    store, ids = filled
    before = contents(store)
    for command in destructive(ids):
        code = int(command[0] == "doctor")  # it says that something is wrong
        run(*command, "--dry-run", code=code)
        run(*command, "--dry-run", "--yes", code=code)
        json.loads(run("--json", *command, "--yes", "--dry-run", code=code).stdout)
    assert contents(store) == before


def test_the_doctor_shows_what_a_repair_would_do_and_asks_only_if_there_is_something(
    filled: tuple[Path, dict[str, str]], run: Run
) -> None:
    store, _ = filled
    result = run("doctor", "--repair", code=4)
    assert "stray: records belong to no memory\n    -> delete them" in result.stderr
    result = run("doctor", "--repair", "--yes")
    assert result.stderr.index("-> delete them") < result.stderr.index(f"repair 1 thing (store {store}")
    assert "mended   stray: 1" in result.stdout
    for flags in ((), ("--reindex",), ("--reindex", "--yes")):
        result = run("doctor", "--repair", *flags)
        assert "no problems" in result.stdout
        assert result.stderr == ""
    told = json.loads(run("--json", "doctor", "--repair").stdout)
    assert (told["ok"], told["mended"], told["problems"]) == (True, {}, [])
    assert told["facts"]["library"].startswith("SQLite ")


def test_b067_yes_works_without_a_terminal_and_the_target_comes_first(
    filled: tuple[Path, dict[str, str]], run: Run
) -> None:
    store, ids = filled
    for command in reversed(destructive(ids)):
        result = run(*command, "--yes")
        if command != ["purge", "--everything"]:
            assert str(store) in result.stderr
    assert contents(store) == set()


def terminal(arguments: list[str], typed: bytes = b"", **environment: str) -> tuple[int, bytes]:
    """Run the command on a terminal of its own, type when it asks, and return its exit code and all that it showed."""
    import pty

    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", **environment}
    take_terminal = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    program = take_terminal + "from memgraph.cli.main import main; sys.argv[0] = 'memgraph'; main()"
    command = [sys.executable, "-c", program, *arguments]
    shown = b""
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=env, start_new_session=True
    ) as child:
        os.close(follower)
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
            if typed and b"[y/N] " in shown:
                os.write(leader, typed)
                typed = b""
        code = child.wait(60)
    os.close(leader)
    return code, shown


@posix_only
def test_on_a_terminal_it_asks(filled: tuple[Path, dict[str, str]]) -> None:
    store, _ = filled
    before = contents(store)
    for typed in (b"n\n", b"\x04"):
        code, shown = terminal(["purge", "--key", "k"], typed)
        assert code == 4
        assert b"nothing was changed" in shown
        assert str(store).encode() in shown
    assert contents(store) == before
    code, shown = terminal(["purge", "--key", "k"], b"y\n")
    assert code == 0
    assert b"receipt" in shown
    assert len(contents(store)) == len(before) - 1


@posix_only
def test_an_interrupted_question_changes_nothing(filled: tuple[Path, dict[str, str]]) -> None:
    store, _ = filled
    before = contents(store)
    code, shown = terminal(["purge", "--everything"], b"\x03")
    assert code == 130
    assert b"Traceback" not in shown
    assert contents(store) == before


@posix_only
def test_no_color_and_the_terminals_width_are_honoured(store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember("x" * 500)
    code, plain = terminal(["list"], NO_COLOR="1")
    assert code == 0
    assert b"\x1b" not in plain
    assert max(len(line) for line in plain.decode().split("\r\n")) <= 80
    assert b"exporting" in terminal(["export", "out.jsonl"], NO_COLOR="1")[1]
    code, bold = terminal(["list"])
    assert b"\x1b[1m" in bold


@posix_only
def test_an_interrupt_ends_with_130(store: Path) -> None:
    command = [sys.executable, "-u", "-m", "memgraph", "tour", "--keep", str(store.parent / "tour")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        assert child.stderr.read() == b"memgraph: interrupted\n"
        assert child.wait(60) == 130


# ---- purging


def test_b019_purging_covers_every_match_and_counts_it(run: Run, store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        view = memory.namespace("t")
        view.remember_many([{"content": f"m{n}", "key": f"k{n % 1000}"} for n in range(2000)])
        view.remember_many([f"plain {n}" for n in range(501)])
        view.release("plain", Filters())
        memory.remember("of another namespace")
    receipt = json.loads(run("--json", "-n", "t", "purge", "--everything", "--yes").stdout)
    assert receipt["removed"]["memories"] == 2501
    assert run("-n", "t", "count", "--status", "any").stdout == "0\n"
    assert run("count").stdout == "1\n"


def test_b024_ids_that_are_not_there_are_named_and_the_exit_code_says_so(run: Run) -> None:
    id = run("-q", "remember", "x").stdout.strip()
    result = run("purge", "--id", id, "--id", "no-such-id", "--yes", code=6)
    assert "no-such-id" in result.stderr
    assert json.loads(run("--json", "plan-purge", "--id", id).stdout)["by_status"] == {}
    assert "no-such-id" in run("purge", "--id", "no-such-id", "--yes", code=3).stderr
    run("forget", "no-such-id", code=3)


def test_a_purge_leaves_no_byte(run: Run, store: Path) -> None:
    canary = "canary-7f3a"
    run(
        "remember", f"{canary} content", "--key", f"{canary}/key", "--tag", canary, "--metadata", f'{{"x": "{canary}"}}'
    )
    run("remember", f"{canary} again", "--key", f"{canary}/key", "--actor", canary, "--reason", canary)
    run("search", canary)
    run("purge", "--key", f"{canary}/key", "--yes")
    assert not [path for path in store.parent.iterdir() if canary.encode() in path.read_bytes()]


# ---- files that the user names


WRITERS = (
    ("plan-purge", "--everything", "--force", "--out"),
    ("purge", "--everything", "--yes", "--force", "--out"),
    ("export", "--force"),
    ("graph", "--force"),
    ("lineage", "k", "--force", "--html"),
    ("backup", "create", "--force"),
    ("browser", "favourites", "--force"),
)
UNFORCED = [tuple(word for word in command if word != "--force") for command in WRITERS]


@pytest.mark.parametrize("command", WRITERS, ids=lambda command: command[0])
def test_no_command_writes_over_the_store_or_its_companions(command: tuple[str, ...], run: Run, store: Path) -> None:
    run("remember", "x", "--key", "k")
    run("backup", "create", f"{store}.before-restore-1")
    Path(f"{store}-purge-key").write_bytes(b"key")
    Path("symbolic").symlink_to(store)
    os.link(store, "hard")
    (store.parent / "hard-key").hardlink_to(f"{store}-purge-key")
    before = {path: path.read_bytes() for path in store.parent.iterdir()}
    names = [f"{store}{end}" for end in ("", "-wal", "-shm", "-journal", "-purge-key", ".before-restore-1")]
    for name in (*names, "data/../data/memory.db", "symbolic", "hard", "data/hard-key"):
        assert "file of the store" in run(*command, name, code=2).stderr, name
    assert {path: path.read_bytes() for path in store.parent.iterdir()} == before
    assert len(contents(store)) == 1


def test_an_export_in_python_does_not_write_over_the_store_either(store: Path) -> None:
    with Memory.open(store, preload=False) as memory:
        memory.remember("x")
        for name in (store, f"{store}-wal"):
            with pytest.raises(InvalidInputError, match="file of the store"):
                memory.export_to(name)
    assert len(contents(store)) == 1


@pytest.mark.parametrize("command", UNFORCED, ids=lambda command: command[0])
def test_a_file_that_is_there_is_replaced_by_force_only(command: tuple[str, ...], run: Run, store: Path) -> None:
    """Before anything is done; and where it cannot be written nothing is done either."""
    run("remember", "x", "--key", "k")
    Path("out").write_text("mine")
    Path("link").symlink_to("out")
    for name in ("out", "link"):
        refused = run(*command, name, code=4)
        assert f"nothing was written: {name} is there already" in refused.stderr
        assert "--force" in refused.stderr
    run(*command, "no/such/folder/out", code=2)
    assert Path("out").read_text() == "mine"
    assert len(contents(store)) == 1
    run(*command, "link", "--force")
    assert Path("link").is_symlink()
    assert Path("out").read_bytes() not in (b"", b"mine")
    assert not [path for path in Path().iterdir() if path.name.endswith(".tmp")]


@posix_only
@pytest.mark.parametrize("command", UNFORCED, ids=lambda command: command[0])
def test_a_pipe_is_written_into_and_stays_one(command: tuple[str, ...], run: Run, store: Path) -> None:
    run("remember", "x", "--key", "k")
    os.mkfifo("pipe")
    if command[0] == "backup":
        assert "no regular file" in run(*command, "pipe", code=2).stderr
    else:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            read = pool.submit(Path("pipe").read_bytes)
            run(*command, "pipe")
            assert len(read.result(60)) > 20
    assert Path("pipe").is_fifo()


def test_a_purge_that_was_cut_off_is_repeated_with_the_same_words(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "x", "--key", "k")
    run("plan-purge", "--key", "k", "--out", "plan.json")
    again = ("purge", "--apply", "plan.json", "--yes", "--out", "receipt.json")
    with monkeypatch.context() as patch:
        patch.setattr("memgraph.backends.local.backend.LocalBackend.purge", interrupted)
        run(*again, code=130)
    assert not Path("receipt.json").exists()
    run(*again)
    assert json.loads(Path("receipt.json").read_text())["removed"]["memories"] == 1


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_receipt_that_cannot_be_written_is_shown(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "x", "--key", "k")
    monkeypatch.setattr("memgraph.inplace._put_in_place", full)
    done = run("purge", "--key", "k", "--yes", "--out", "receipt.json", code=1)
    assert "memories: 1" in done.stdout
    assert "no room for receipt.json" in done.stderr
    assert not Path("receipt.json").exists()


def full(*_: Path) -> None:
    raise OSError(errno.ENOSPC, "full")
