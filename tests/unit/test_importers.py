"""A transcript is imported whole, in order and once, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memgraph import Memory
from memgraph.errors import ConflictError, InvalidInputError
from memgraph.integrations.importers import import_chat

MAPPING = {"content": "content", "actor": "speaker", "session": "session", "valid_from": "time", "namespace": "scope"}
TURNS: list[dict[str, Any]] = [
    {"scope": "c1", "session": "s1", "time": "2025-07-01T10:00:00", "speaker": "Ann", "content": "Hello Bo"},
    {"scope": "c2", "session": "s1", "time": "2025-07-01T10:00:00", "speaker": "Cy", "content": "Hello Bo"},
    {"scope": "c1", "session": "s1", "time": "2025-07-01T10:00:05", "speaker": "Bo", "content": "Hello Ann"},
    {"scope": "c1", "session": "s1", "time": "2025-07-01T10:00:05", "speaker": "Bo", "content": "Hello Ann"},
    {"scope": "c1", "session": 2, "time": "2025-12-01T10:00:00+09:00", "speaker": "", "content": "日本 🧠\u2028x"},
]


def lines(path: Path, turns: list[Any]) -> Path:
    path.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), encoding="utf-8")
    return path


def held(memory: Memory) -> int:
    return sum(memory.namespace(*path.split("/")[-1:]).count() for path in memory.namespaces() if path != memory.path)


def test_turns_come_in_order_into_their_namespaces(memory: Memory, tmp_path: Path) -> None:
    assert import_chat(memory, lines(tmp_path / "x", TURNS), MAPPING, "Europe/Berlin") == 5
    found = [*memory.namespace("c1").list()][::-1]
    assert [(e.content, e.actor, e.session) for e in found] == [
        ("Hello Bo", "Ann", "s1"),
        ("Hello Ann", "Bo", "s1"),
        ("Hello Ann", "Bo", "s1"),
        ("日本 🧠\u2028x", None, "2"),
    ]
    assert found[0].valid_from == datetime(2025, 7, 1, 8, tzinfo=UTC)
    assert found[3].valid_from == datetime(2025, 12, 1, 1, tzinfo=UTC)
    assert memory.namespace("c2").count() == 1
    assert memory.count() == 0


def test_times_are_fixed_utc_in_both_folds_b050(memory: Memory, tmp_path: Path) -> None:
    turns = [
        {"t": t, "text": t} for t in ("2025-10-26T02:30:00", "2025-10-26T02:30:00+01:00", 1761442200, 1761442200.5)
    ]
    import_chat(
        memory,
        lines(tmp_path / "x", [t | {"text": str(t["text"])} for t in turns]),
        {"content": "text", "valid_from": "t"},
        "Europe/Berlin",
    )
    found = [entry.valid_from for entry in memory.list()][::-1]
    assert [time.isoformat() for time in found if time] == [
        "2025-10-26T00:30:00+00:00",
        "2025-10-26T01:30:00+00:00",
        "2025-10-26T01:30:00+00:00",
        "2025-10-26T01:30:00.500000+00:00",
    ]
    assert all(time is not None and time.tzinfo is UTC for time in found)


@pytest.mark.parametrize("mapping", [MAPPING, MAPPING | {"id": "id"}])
def test_a_second_import_changes_nothing(memory: Memory, tmp_path: Path, mapping: dict[str, str]) -> None:
    turns = [turn | {"id": f"t{n}"} for n, turn in enumerate(TURNS)]
    path = lines(tmp_path / "x", turns)
    import_chat(memory, path, mapping)
    before = [*memory.namespace("c1").list()]
    assert import_chat(memory, path, mapping) == 0
    assert [*memory.namespace("c1").list()] == before
    lines(path, [*turns, turns[0] | {"id": "new"}])
    import_chat(memory, path, mapping)
    assert memory.namespace("c1").count() == len(before) + 1


def test_a_dry_run_looks_at_the_store_and_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    mapping = {"content": "content", "id": "id", "namespace": "scope"}
    turns = [{"content": f"turn {n}", "id": str(n), "scope": "ab"[n % 2]} for n in range(4)]
    memory.namespace("a").remember("turn 0", id="0")
    assert import_chat(memory, lines(tmp_path / "x", turns), mapping, dry_run=True) == 3
    assert held(memory) == 1
    assert memory.namespace("a").audit() == []
    memory.namespace("a").remember("another", id="2")
    with pytest.raises(ConflictError, match="line 3"):
        import_chat(memory, tmp_path / "x", mapping, dry_run=True)
    bad: list[int] = []
    assert import_chat(memory, tmp_path / "x", mapping, skip=lambda number, _: bad.append(number), dry_run=True) == 2
    assert bad == [3]
    assert held(memory) == 2


def test_an_array_is_read_like_lines(memory: Memory, make_memory: Callable[..., Memory], tmp_path: Path) -> None:
    array = tmp_path / "array.json"
    array.write_text("\ufeff\n " + json.dumps(TURNS, indent=1), encoding="utf-8")
    assert import_chat(memory, array, MAPPING) == 5
    other = make_memory("other")
    assert import_chat(other, lines(tmp_path / "x", TURNS), MAPPING) == 5
    assert [e.id for e in memory.namespace("c1").list()] == [e.id for e in other.namespace("c1").list()]


def test_every_field_reaches_its_argument(memory: Memory, tmp_path: Path) -> None:
    turn = {
        "content": "x", "id": "i", "key": "k", "kind": "note", "subject": "s", "source": "chat", "title": "t", "reason": "r",
        "tags": "one", "aliases": ["a", "b"], "metadata": {"n": [1]}, "trust": "user", "pinned": True, "confidence": 0.5,
        "valid_from": "2025-01-01", "valid_to": "2035-01-01T00:00Z", "expires_at": "2999-01-01",
    }  # fmt: skip
    import_chat(memory, lines(tmp_path / "x", [turn]), {name: name for name in turn})
    entry = memory.get("i")
    assert entry.tags == ("one",)
    assert entry.valid_to == datetime(2035, 1, 1, tzinfo=UTC)
    for name in ("key", "kind", "subject", "source", "title", "reason", "metadata", "trust", "pinned", "confidence"):
        assert getattr(entry, name) == turn[name]


@pytest.mark.parametrize(
    "bad",
    [
        {"content": " "},
        {"content": None},
        {"content": 7},
        {"time": "yesterday"},
        {"time": 1e300},
        {"time": True},
        {"speaker": ["x"]},
        {"speaker": "a\x00b"},
        {"scope": "a/b"},
        {"session": "s" * 2000},
        {"metadata": {"n": 1 << 70}},
        {"pinned": "yes"},
        {"trust": "god"},
        {"confidence": 3},
        {"tags": 5},
        {"until": "2020-01-01"},
        "not an object",
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(memory: Memory, tmp_path: Path, bad: Any) -> None:
    turn = TURNS[2] | bad if isinstance(bad, dict) else bad
    mapping = (
        MAPPING | {name: name for name in ("metadata", "pinned", "trust", "confidence", "tags")} | {"valid_to": "until"}
    )
    path = lines(tmp_path / "x", [*TURNS, turn])
    with pytest.raises(InvalidInputError, match="line 6") as error:
        import_chat(memory, path, mapping)
    assert "Hello" not in str(error.value)
    assert held(memory) == 0


@pytest.mark.parametrize("text", ["{", "\xff", '{"content": NaN', "[1, 2", '{"content": "\\ud800"}'])
def test_damaged_text_is_named(memory: Memory, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'{"content": "good"}\n\n' + text.encode("latin-1") + b"\n")
    with pytest.raises(InvalidInputError, match="line 3"):
        import_chat(memory, path, {"content": "content"})
    assert memory.count() == 0


def test_one_id_with_two_contents_is_named_before_anything_is_written(memory: Memory, tmp_path: Path) -> None:
    path = lines(tmp_path / "x", [{"id": "a", "content": "x"}, {"id": "a", "content": "y"}])
    with pytest.raises(InvalidInputError, match="line 2"):
        import_chat(memory, path, {"content": "content", "id": "id"})
    assert memory.count() == 0


def test_an_id_that_is_taken_in_the_store_is_a_conflict(memory: Memory, tmp_path: Path) -> None:
    """Named by its line before anything is written; with somebody who hears of it the others come in."""
    memory.namespace("b").remember("other", id="t1100")
    turns = [{"id": f"t{n}", "content": f"turn {n}", "who": "a" if n < 1050 else "b"} for n in range(1200)]
    path = lines(tmp_path / "x", turns)
    mapping = {"content": "content", "id": "id", "namespace": "who"}
    with pytest.raises(ConflictError, match=r"line 1101: .*nothing was imported"):
        import_chat(memory, path, mapping)
    assert memory.count(subtree=True) == 1
    bad: list[int] = []
    assert import_chat(memory, path, mapping, skip=lambda number, _: bad.append(number), by="ada") == 1199
    assert bad == [1101]
    assert memory.namespace("b").get("t1100").content == "other"
    told = [(act.namespace, act.by, act.details["news"]) for act in memory.audit(subtree=True)]
    assert sorted(told) == [(f"{memory.path}/a", "ada", 1050), (f"{memory.path}/b", "ada", 149)]


@pytest.mark.parametrize(
    ("mapping", "timezone", "field"),
    [
        ({"actor": "speaker"}, "UTC", "map"),
        ({"content": "content", "version": "v"}, "UTC", "map"),
        ({"content": ""}, "UTC", "map"),
        (MAPPING, "Mars/Base", "timezone"),
        (MAPPING, "../etc/passwd", "timezone"),
    ],
)
def test_a_bad_mapping_or_zone_is_named(
    memory: Memory, tmp_path: Path, mapping: dict[str, str], timezone: str, field: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        import_chat(memory, lines(tmp_path / "x", TURNS), mapping, timezone)
    assert error.value.field == field


def test_a_missing_file_is_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as error:
        import_chat(memory, tmp_path / "no", MAPPING)
    assert error.value.field == "path"


def test_an_empty_file_has_no_turns(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    assert import_chat(memory, tmp_path / "x", MAPPING) == 0


def test_more_than_a_batch_keeps_its_order_and_reports_progress(memory: Memory, tmp_path: Path) -> None:
    turns = [{"content": f"turn {n}", "scope": "ab"[n % 3 == 0]} for n in range(2600)]
    seen: list[int] = []
    assert (
        import_chat(
            memory, lines(tmp_path / "x", turns), {"content": "content", "namespace": "scope"}, progress=seen.append
        )
        == 2600
    )
    assert seen == sorted(seen)
    assert seen[-1] == 2600
    for name in "ab":
        found = [entry.content for entry in memory.namespace(name).list(limit=2600)]
        assert found == [turn["content"] for turn in turns if turn["scope"] == name][::-1]


def test_what_was_purged_is_passed_over(tmp_path: Path) -> None:
    """A transcript that grew comes in again although one of its turns was purged."""
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps({"text": f"turn {number}"}) + "\n" for number in range(5)))
    with Memory.open(":memory:", preload=False) as memory:
        assert import_chat(memory, path, {"content": "text"}, "UTC") == 5
        memory.purge({"text": "turn 3"})
        with path.open("a") as file:
            file.write(json.dumps({"text": "turn 5"}) + "\n")
        assert import_chat(memory, path, {"content": "text"}, "UTC") == 1
        assert sorted(entry.content for entry in memory.list()) == [f"turn {number}" for number in (0, 1, 2, 4, 5)]
