"""The export file is lossless, the same bytes for the same contents, whole or not there, and checked before it is used."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import inplace
from memgraph.errors import InvalidInputError, ReadOnlyError, StoreCorruptError, StoreLockedError, StoreVersionError
from memgraph.interchange import Header, Item, moved, read, write
from memgraph.operations import (
    Origin,
    Purge,
    Reinforce,
    Relate,
    Remember,
    Restore,
    Retire,
    Supersede,
    Unknown,
    Unrelate,
)

HEADER = Header("acme", subtree=True)


def at(counter: int) -> str:
    return f"019ca98e7600-{counter:04x}-0badcafe"


def common(counter: int, namespace: str = "acme", **more: Any) -> dict[str, Any]:
    return {"op_id": f"op{counter}", "version": at(counter), "namespace": namespace} | more


def refuse(name: str) -> Any:
    raise ValueError(name)


EVERYTHING: list[Item] = [
    {"secret": "ab12cd34", "value": "00ff" * 16},
    {"tombstone": "be" * 32, "namespace": "acme", "version": at(0), "secret": "ab12cd34", "receipt": "0"},
    Remember(
        **common(1, changeset="cs"),
        id="a/b",
        content="line one\r\nline two\u2028\u0085\x00 🧠 日本語",
        key="k",
        kind="fact",
        subject="s",
        title="t",
        tags=("x", "y"),
        aliases=("z",),
        metadata={"z": None, "a": [1, 1.0, -0.0, True, {"": "\u2029"}], "n": 9223372036854775807, "f": 5e-324},
        source="user",
        actor="ann",
        session="s1",
        trust="user",
        pinned=True,
        confidence=0.1,
        valid_from=datetime(1, 1, 1, tzinfo=UTC),
        valid_to=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        expires_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        reason="why",
        restores=Origin(id="o", version=at(0)),
        embedding=(0.5, -1.25, 3.4028234663852886e38),
        embedding_model="m",
    ),
    Remember(**common(2, "acme/b"), id="e", content="x", embedding=(0.1, 1e300)),
    Supersede(**common(3), new_id="n", new_version=at(2), old_id="o", old_version=at(1), reason="r"),
    Supersede(**common(4), new_id="", new_version=at(2), old_id="o", old_version=at(1)),
    Relate(**common(5), a="a", b="b", type="x`]->() //", weight=-2.5, note="n"),
    Unrelate(**common(6), a="a", b="b", type="t"),
    Retire(**common(7), id="a", cause="pruned", reason="", actor="x"),
    Restore(**common(8), id="a"),
    Reinforce(**common(9), id="a", feedback_id="f", signal=-1.0, verified=True),
    Purge(**common(10), field="key", value="k", heads=(("k", at(1)),), receipt="r"),
    Unknown(
        op_id="u",
        version=at(11),
        namespace="acme",
        payload={"format": 2, "op": "dream", "op_id": "u", "version": at(11), "namespace": "acme", "of": [None, 1.5]},
    ),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    write(path, HEADER, EVERYTHING)
    return path


def test_every_field_comes_back_and_again_the_same_bytes_b061(file: Path) -> None:
    header, items = read(file)
    found = list(items)
    assert header == Header("acme", subtree=True, items=len(EVERYTHING), newest=at(11))
    assert found == EVERYTHING
    assert repr(found) == repr(EVERYTHING)  # -0.0, 1 and 1.0, True are told apart
    again = file.with_name("again.jsonl")
    assert write(again, header, found) == len(EVERYTHING)
    assert again.read_bytes() == file.read_bytes()


def test_every_line_is_strict_json_b002(file: Path) -> None:
    lines = file.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert all(isinstance(json.loads(line, parse_constant=refuse), dict) for line in lines)


@pytest.mark.parametrize(
    "item",
    [
        Remember(**common(1), id="a", content="x", metadata={"x": float("nan")}),
        Remember(**common(1), id="a", content="x", confidence=float("inf")),
        Remember(**common(1), id="a", content="x", embedding=(float("nan"),)),
        {"secret": b"bytes"},
    ],
)
def test_what_strict_json_cannot_hold_is_refused_and_leaves_no_file_b002(tmp_path: Path, item: Item) -> None:
    with pytest.raises(InvalidInputError):
        write(tmp_path / "x.jsonl", HEADER, [item])
    assert list(tmp_path.iterdir()) == []


def test_an_empty_export_is_a_valid_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    assert write(path, Header("acme"), []) == 0
    header, items = read(path)
    assert (header.items, header.newest, list(items)) == (0, "", [])


def test_a_file_cut_anywhere_is_refused_b054(file: Path) -> None:
    whole = file.read_bytes()
    for length in {*range(0, len(whole), 7), len(whole) - 1}:
        file.write_bytes(whole[:length])
        with pytest.raises(StoreCorruptError, match=r"line [0-9]+: "):
            read(file)


def test_a_file_with_a_changed_byte_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for place in range(whole.index(b"\n") + 1, len(whole), 11):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StoreCorruptError, match=r"lines? [0-9]+"):
            read(file)


@pytest.mark.parametrize("more", [b"\n", b"\x00" * 64, b'{"x":1}\n'])
def test_a_file_with_something_after_its_end_is_refused(file: Path, more: bytes) -> None:
    file.write_bytes(file.read_bytes() + more)
    with pytest.raises(StoreCorruptError):
        read(file)


def test_lines_that_changed_places_went_missing_or_came_twice_are_noticed(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    for damaged in (
        [*lines[:2], lines[3], lines[2], *lines[4:]],
        [*lines[:5], *lines[6:]],
        [*lines[:5], lines[4], *lines[5:]],
    ):
        file.write_bytes(b"".join(damaged))
        with pytest.raises(StoreCorruptError):
            read(file)


def forged(path: Path, *lines: dict[str, Any], header: dict[str, Any] | None = None) -> Path:
    """A file with a right digest around whatever lines."""
    first = {"memgraph": "export", "format": 1, "namespace": "acme", "subtree": False} | (header or {})
    body = b"".join(json.dumps(line).encode() + b"\n" for line in (first, *lines))
    end = {"end": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(body + json.dumps(end).encode() + b"\n")
    return path


GOOD = {"format": 1, "op": "remember", "id": "a", "content": "x"} | common(1)


def test_a_newer_format_is_refused_untouched(tmp_path: Path) -> None:
    with pytest.raises(StoreVersionError):
        read(forged(tmp_path / "x", header={"format": 2}))


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", "[]\n", '{"memgraph":"export","format":true}\n', "\x00\n"])
def test_what_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(StoreCorruptError, match="line 1"):
        read(path)


@pytest.mark.parametrize(
    "change",
    [
        {"content": "  "},
        {"content": None},
        {"id": ""},
        {"key": "a\x00b"},
        {"key": "k" * 2000},
        {"namespace": "other"},
        {"namespace": "acme/below"},
        {"version": "later"},
        {"confidence": 2},
        {"metadata": {"n": 1 << 64}},
        {"metadata": [1]},
        {"valid_from": "2026-01-01T00:00:00"},
        {"tenant": "b"},
        {"embedding": "f32:%%"},
        {"embedding": "f16:AAA="},
        {"embedding": "f32:AADAfw=="},
        {"op": "relate", "a": "a", "b": "b", "type": "SUPERSEDES"},
    ],
)
def test_the_door_stands_at_the_import_too_b045(tmp_path: Path, change: dict[str, Any]) -> None:
    bad = {name: value for name, value in (GOOD | change).items() if value is not None}
    if "op" in change:
        bad = {name: value for name, value in bad.items() if name not in ("id", "content")}
    path = forged(tmp_path / "x", GOOD, bad)
    with pytest.raises(InvalidInputError, match="line 3"):
        read(path)


def test_system_fields_in_metadata_stay_in_metadata_b045(tmp_path: Path) -> None:
    mine = {"tenant": "b", "id": "…", "namespace": "b", "pinned": True, "version": "0"}
    _, items = read(forged(tmp_path / "x", GOOD | {"metadata": mine}))
    (found,) = items
    assert isinstance(found, Remember)
    assert (found.metadata, found.id, found.namespace, found.pinned) == (mine, "a", "acme", False)


def test_names_are_brought_to_their_stored_form(tmp_path: Path) -> None:
    _, items = read(forged(tmp_path / "x", GOOD | {"key": "e\u0301", "tags": ["a", "a"]}))
    (found,) = items
    assert isinstance(found, Remember)
    assert (found.key, found.tags) == ("é", ("a",))


def test_messages_hold_no_content(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as error:
        read(forged(tmp_path / "x", GOOD | {"content": "secret-canary", "confidence": "secret-canary"}))
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("failures", [2, 99])
def test_replacing_a_file_that_is_held_open_is_tried_again_b056(
    file: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    before = file.read_bytes()
    replace, left = os.replace, [failures]

    def held(source: Any, target: Any, **options: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "held open")
        replace(source, target, **options)

    monkeypatch.setattr(os, "replace", held)
    monkeypatch.setattr(inplace, "_REPLACE_WAIT", 0.0)
    if failures == 2:
        write(file, HEADER, [])
        assert file.read_bytes() != before
    else:
        with pytest.raises(ReadOnlyError):
            write(file, HEADER, [])
        assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_items_that_fail_halfway_leave_the_old_file_and_keep_their_error(file: Path) -> None:
    before = file.read_bytes()

    def failing() -> Iterator[Item]:
        yield EVERYTHING[2]
        raise StoreLockedError("held")

    with pytest.raises(StoreLockedError):
        write(file, HEADER, failing())
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
def test_only_the_owner_may_read_it(file: Path) -> None:
    assert file.stat().st_mode & 0o077 == 0


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    for action in (lambda path: write(path, HEADER, []), read):
        with pytest.raises(InvalidInputError) as error:
            action(tmp_path / "no" / "x.jsonl")
        assert error.value.field == "path"


def test_progress_ends_at_the_number_of_items(tmp_path: Path) -> None:
    seen: list[int] = []
    write(tmp_path / "x", HEADER, [{"secret": str(n), "value": ""} for n in range(2500)], seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 2500


def test_operations_move_to_another_namespace_b044() -> None:
    memory = Remember(**common(1, "acme/b"), id="a", content="x")
    assert moved(memory, "acme", "other/c") == memory.model_copy(update={"namespace": "other/c/b"})
    purge = Purge(**common(2), field="namespace", value="acme")
    assert moved(purge, "acme", "o") == purge.model_copy(update={"namespace": "o", "value": "o"})
    unknown = EVERYTHING[-1]
    assert isinstance(unknown, Unknown)
    found = moved(unknown, "acme", "o")
    assert isinstance(found, Unknown)
    assert found.payload == unknown.payload | {"namespace": "o"}
    assert found.namespace == "o"


@given(
    st.text().filter(lambda text: text.strip() and text.isprintable()),
    st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text(), max_size=3
    ),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)
def test_any_content_metadata_and_vector_survive(
    tmp_path_factory: pytest.TempPathFactory, text: str, metadata: dict[str, Any], vector: list[float]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    item = Remember(**common(1), id="a", content=text, metadata=metadata, embedding=tuple(vector))
    write(path, HEADER, [item])
    assert list(read(path)[1]) == [item]
