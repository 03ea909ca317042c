"""Files that others saved: marks, line ends, UTF-16; lines that cannot be taken, by number and reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memgraph import Memory
from memgraph.cli.main import cli
from memgraph.errors import InvalidInputError, StoreCorruptError
from memgraph.integrations.importers import import_chat
from memgraph.models import Filters, Selector
from memgraph.textlines import utf8_lines
from tests.unit.test_interchange import common, forged

ANY = Filters(status="any")
SAVED: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "marked": lambda text: text.encode("utf-8-sig"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "marked crlf": lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    "utf-16 marked": lambda text: text.encode("utf-16"),
    "utf-16 little": lambda text: text.encode("utf-16-le"),
    "utf-16 big": lambda text: text.encode("utf-16-be"),
    "utf-16 big marked crlf": lambda text: ("\ufeff" + text.replace("\n", "\r\n")).encode("utf-16-be"),
}
TALK = [{"text": "I moved to Pörto ☕ \u2028 yes", "who": "ada"}, {"text": "line\r\none\x85two", "who": "bob"}]
MAPPING = {"content": "text", "actor": "who"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        yield memory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.jsonl"


def talk(turns: list[Any]) -> str:
    return "".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns)


@pytest.mark.parametrize("saved", SAVED)
def test_an_export_is_the_same_however_it_was_saved(saved: str, memory: Memory, file: Path) -> None:
    memory.remember("Pörto ☕ \u2028 line\r\none\x85two", key="city", tags=["ü"])
    memory.remember("purged", id="p")
    memory.purge(Selector(ids=["p"]))
    memory.export_to(file)
    whole = file.read_bytes().decode()
    file.write_bytes(SAVED[saved](whole))
    with Memory.open(":memory:") as other:
        other.import_from(file)
        assert other.list(ANY).items == memory.list(ANY).items
        other.export_to(file.with_name("again"))
    assert file.with_name("again").read_bytes().decode() == whole


@pytest.mark.parametrize("saved", SAVED)
def test_so_is_a_transcript(saved: str, memory: Memory, file: Path) -> None:
    for text in (talk(TALK), "\n\n" + talk(TALK), json.dumps(TALK, indent=1, ensure_ascii=False)):
        if not text.startswith("\n") or saved not in ("utf-16 little", "utf-16 big"):
            file.write_bytes(SAVED[saved](text))
            with Memory.open(":memory:") as other:
                assert import_chat(other, file, MAPPING) == 2
                assert [entry.content for entry in other.list()] == [turn["text"] for turn in reversed(TALK)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_broken_utf_16_is_named(encoding: str, memory: Memory, file: Path) -> None:
    file.write_bytes(talk(TALK).encode(encoding) + "\ud800".encode(encoding, "surrogatepass")[-2:] + b"{\0")
    with pytest.raises(InvalidInputError, match="UTF-16"):
        import_chat(memory, file, MAPPING)
    memory.export_to(file, subtree=True)
    file.write_bytes(file.read_text(encoding="utf-8").encode("utf-16")[:-1])
    with pytest.raises((InvalidInputError, StoreCorruptError)):
        memory.import_from(file)
    assert memory.count() == 0


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"\xff\xfe", b"a", b"a\r\n\r\nb", b"\r", b"a\xff\n"])
def test_lines_of_little_files(data: bytes, file: Path) -> None:
    file.write_bytes(data)
    with file.open("rb") as opened:
        found = b"".join(utf8_lines(opened))
        assert not opened.closed
    assert found == data.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").replace(b"\r\n", b"\n")


# ---- lines that cannot be taken


def good(counter: int) -> dict[str, Any]:
    return {"format": 1} | common(counter, "default", op="remember", id=f"i{counter}", content=f"canary {counter}")


BAD: list[dict[str, Any]] = [
    good(2) | {"content": " "},
    good(3) | {"namespace": "elsewhere"},
    good(4) | {"key": "a\nb"},
    {"tombstone": {"tombstone": "canary"}},
    good(5) | {"confidence": 7},
]


def test_good_lines_of_an_intact_export_are_taken_and_bad_ones_told(memory: Memory, file: Path) -> None:
    forged(file, good(1), *BAD, good(9), header={"namespace": "default"})
    told: dict[int, str] = {}
    with pytest.raises(InvalidInputError) as refused:
        memory.import_from(file)
    assert [f"line {number}" in str(refused.value) for number in range(2, 9)] == [False, *[True] * 5, False]
    assert memory.count() == 0
    assert memory.import_from(file, skip=told.__setitem__) == 2
    assert list(told) == [3, 4, 5, 6, 7]
    assert {entry.id for entry in memory.list()} == {"i1", "i9"}
    for text in (*told.values(), str(refused.value)):
        assert "canary" not in text
    told.clear()
    assert memory.import_from(file, skip=told.__setitem__) == 0
    assert list(told) == [3, 4, 5, 6, 7]


def test_where_nothing_is_good_nothing_is_partial(memory: Memory, file: Path) -> None:
    forged(file, *BAD, header={"namespace": "default"})
    told: dict[int, str] = {}
    with pytest.raises(InvalidInputError, match="line 2"):
        memory.import_from(file, skip=told.__setitem__)
    file.write_text(talk(TALK))
    with pytest.raises(InvalidInputError, match=r"line 1.*line 2"):
        import_chat(memory, file, {"content": "no such field"}, skip=told.__setitem__)
    assert told == {}


def test_damage_is_no_bad_line(memory: Memory, file: Path) -> None:
    """An export that does not hold what was written is refused as a whole, whatever may be left out."""
    forged(file, good(1), good(2), header={"namespace": "default"})
    file.write_bytes(file.read_bytes().replace(b"canary 2", b"c4nary 2"))
    with pytest.raises(StoreCorruptError):
        memory.import_from(file, skip=lambda number, reason: None)
    assert memory.count() == 0


def test_good_turns_of_a_transcript_are_taken_under_the_ids_that_they_would_have(memory: Memory, file: Path) -> None:
    turns = [{"text": f"turn {n}", "who": "ada"} for n in range(6)]
    file.write_text(talk(turns))
    with Memory.open(":memory:") as other:
        import_chat(other, file, MAPPING)
        everything = {entry.content: entry.id for entry in other.list()}
    spoiled: list[Any] = [*turns]
    spoiled[1], spoiled[3] = {"text": " "}, ["canary"]
    file.write_text(talk(spoiled).replace(json.dumps(spoiled[3]), "{canary"))
    told: dict[int, str] = {}
    with pytest.raises(InvalidInputError, match=r"line 2.*line 4"):
        import_chat(memory, file, MAPPING)
    assert import_chat(memory, file, MAPPING, skip=told.__setitem__) == 4
    assert list(told) == [2, 4]
    assert "canary" not in str(told)
    assert {entry.content: entry.id for entry in memory.list()} == {
        turn["text"]: everything[turn["text"]] for turn in (turns[0], *turns[2:3], *turns[4:])
    }
    file.write_text(talk(turns))
    assert import_chat(memory, file, MAPPING) == 2, "mended, the rest comes in"


def test_many_bad_lines_are_not_all_in_the_message(memory: Memory, file: Path) -> None:
    file.write_text(talk([{"text": "one"}, *[{"text": " "}] * 25]))
    with pytest.raises(InvalidInputError, match=r"line 11:.*and 15 more"):
        import_chat(memory, file, MAPPING)


def test_on_the_command_line(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B061: partial says so by exit code 6, strict refuses with 2, and neither shows what a line says."""
    monkeypatch.setenv("MEMGRAPH_STORE", str(tmp_path / "memory.db"))

    def run(*arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(cli, ["import", str(file), *arguments])
        return done.exit_code, done.stdout, done.stderr

    forged(file, good(1), *BAD[:2], header={"namespace": "default"})
    code, out, err = run("--strict")
    assert (code, out) == (2, "")
    assert "line 3: content" in err
    assert "line 4: namespace" in err
    assert not (tmp_path / "memory.db").exists() or Memory.open(tmp_path / "memory.db").count() == 0
    code, out, _ = run("--dry-run")
    assert code == 6
    assert "1 would be new" in out
    assert "2 lines cannot be taken" in out
    code, out, _ = run("--json")
    assert code == 6
    answer = json.loads(out)
    assert (answer["imported"], [each["line"] for each in answer["left_out"]]) == (1, [3, 4])
    code, out, _ = run("--yes")
    assert code == 6
    assert out.splitlines()[:2] == ["imported 0", "2 lines were left out:"]
    assert "canary" not in out
    forged(file, good(1), header={"namespace": "default"})
    assert run("--yes", "--strict")[0] == run("--yes")[0] == 0
    file.write_text(talk([*TALK, {"text": " "}]))
    chat = ("--format", "chat", "--map", "content=text", "--yes")
    assert run(*chat, "--strict")[0] == 2
    assert run(*chat)[0] == 6
    with Memory.open(tmp_path / "memory.db") as memory:
        assert memory.count() == 3
