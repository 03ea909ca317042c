"""Cases about writing: B001 to B004, B007 to B009, B042, B045, B064, B065."""

from __future__ import annotations

import decimal
import enum
import json
import pathlib
import unicodedata
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import regex

from memgraph import Memory
from memgraph.errors import InvalidInputError, MemgraphError, NotFoundError
from memgraph.models import Filters, Selector
from tests.cases.reading import document, lines

ANY = Filters(status="any")


class Colour(enum.StrEnum):
    """A text that is not plain text."""

    RED = "red"


RECURSIVE: dict[str, Any] = {}
RECURSIVE["d"] = RECURSIVE
NOT_JSON = [
    {"u": uuid.UUID(int=1)},
    {"d": decimal.Decimal("1.10")},
    {"s": {1, 2}},
    {"t": (1, 2)},
    {"b": b"\x00\xff"},
    {"p": pathlib.PurePosixPath("/a")},
    {"e": Colour.RED},
    {"x": float("nan")},
    {"x": float("inf")},
    {1: "int key"},
    {None: "none key"},
    {"dt": datetime(2026, 1, 1)},
    {"dt": datetime(2026, 1, 1, tzinfo=UTC)},
    {"date": date(2026, 1, 1)},
    {"td": timedelta(days=1)},
    {"np": np.int64(1)},
    {"o": object()},
    RECURSIVE,
]


@pytest.mark.parametrize("content", ["", "  \n\t", "\u200b\ufeff", None], ids=repr)
def test_b001_blank_text_leaves_nothing(memory: Memory, content: Any) -> None:
    """B001: blank text is refused before anything is written."""
    before = memory.stats()
    with pytest.raises(InvalidInputError):
        memory.remember(content, key="k")
    assert memory.stats() == before


@pytest.mark.parametrize("n", range(len(document("metadata_values.json")["json"])))
def test_b002_metadata_from_json(memory: Memory, n: int) -> None:
    """B002: a JSON value is kept exactly, or refused before anything is written: only integers beyond 64 bits are."""
    value = document("metadata_values.json")["json"][n]
    too_big = any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in value.values())
    if too_big:
        with pytest.raises(InvalidInputError):
            memory.remember("x", metadata=value)
        assert memory.count(ANY) == 0
        return
    found = memory.get(memory.remember("x", metadata=value).id).metadata
    assert json.dumps(found) == json.dumps(value)


@pytest.mark.parametrize("n", range(len(NOT_JSON)))
def test_b002_metadata_that_is_no_json(memory: Memory, n: int) -> None:
    """B002: what JSON does not know is refused before anything is written."""
    with pytest.raises(InvalidInputError):
        memory.remember("x", metadata=NOT_JSON[n])
    assert memory.count(ANY) == 0


def test_b003_a_retry_is_the_same_write(memory: Memory) -> None:
    """B003: a call repeated with its id after a lost answer is one entry; two deliberate writes are two."""
    first = memory.remember("paid", key="invoice", id="call-1")
    assert [memory.remember("paid", key="invoice", id="call-1") for _ in range(5)] == [first] * 5
    assert len(memory.history("invoice")) == 1
    assert memory.remember("same").id != memory.remember("same").id


def test_b004_no_dangling_relations(memory: Memory) -> None:
    """B004: a relation needs two memories; a batch with one bad end is refused whole."""
    a = memory.remember("a")
    gone = memory.remember("gone")
    memory.purge(Selector(ids=[gone.id]))
    for end in ("no-such-id", gone.id):
        with pytest.raises(NotFoundError):
            memory.relate(a.id, end)
        with pytest.raises(NotFoundError):
            memory.remember_many([{"content": "fine"}, {"content": "bad end", "relates_to": [end]}])
    with pytest.raises(InvalidInputError):
        memory.relate(a.id, a.id)
    assert memory.graph().number_of_edges() == 0
    assert memory.count(ANY) == 1


def test_b007_the_same_text_again(memory: Memory) -> None:
    """B007: the same text on the same key is a new version; never no current value, never an edge to itself."""
    first, second = memory.remember("same", key="k"), memory.remember("same", key="k")
    assert memory.current("k").id == second.id != first.id
    with pytest.raises(InvalidInputError):
        memory.supersede(second.id, second.id)
    assert memory.current("k").id == second.id
    assert all(edge.source_id != edge.target_id for edge in memory.lineage("k").edges)


@pytest.mark.parametrize("n", range(len(document("tricky_keys.json")["pairs"])))
def test_b008_tricky_keys(memory: Memory, tmp_path: pathlib.Path, n: int) -> None:
    """B008: two keys are two slots unless NFC says they are one; nothing is made outside of the store's folder."""
    before = set(tmp_path.rglob("*"))
    pair = document("tricky_keys.json")["pairs"][n]
    accepted = []
    for key in pair:
        if any(unicodedata.category(c) == "Cc" for c in key):
            with pytest.raises(InvalidInputError):
                memory.remember("value", key=key)
        else:
            memory.remember(f"value of {key!r}", key=key)
            accepted.append(key)
    slots = {unicodedata.normalize("NFC", key): key for key in accepted}
    assert memory.count() == len(slots)
    for key in slots.values():
        assert memory.current(key).content == f"value of {key!r}"
    assert {file.name for file in set(tmp_path.rglob("*")) - before} <= {"memory.db-wal", "memory.db-shm"}


def test_b008_no_key_is_no_slot(memory: Memory) -> None:
    """B008: two writes without a key are two entries; an empty key is refused."""
    memory.remember("a", key=None)
    memory.remember("b", key=None)
    assert memory.count() == 2
    with pytest.raises(InvalidInputError):
        memory.remember("c", key="")


def test_b009_long_keys_and_long_content(memory: Memory) -> None:
    """B009: one limit in bytes for keys, refused before a write; long content with a short key is another matter."""
    for key in ("k" * 8000, "k" * 8200, "k" * 40000, "語" * 3000, "語" * 342):
        with pytest.raises(InvalidInputError):
            memory.remember("x", key=key)
    assert memory.count(ANY) == 0
    memory.remember("fits", key="語" * 341)
    content = "word " * 200_000
    assert memory.remember(content, key="short").content == content


def test_b009_a_larger_limit_is_a_setting(make_memory: Callable[..., Memory]) -> None:
    """B009: content of 5 MB is kept where the store was opened for it."""
    memory = make_memory(max_content_bytes=8 << 20)
    content = "five megabytes " * 333_334
    memory.remember(content, key="long")
    assert memory.current("long").content == content
    assert len(memory.search("megabytes")) == 1


@pytest.mark.parametrize("n", range(len(document("relation_names.json")["names"])))
def test_b042_relation_names(memory: Memory, n: int) -> None:
    """B042: a relation's name is kept exactly or refused; nothing else in the graph changes."""
    name = document("relation_names.json")["names"][n]
    a, b, bystander = (memory.remember(text) for text in "abc")
    memory.relate(a.id, bystander.id, "before")
    try:
        edge = memory.relate(a.id, b.id, name)
    except InvalidInputError:
        assert memory.graph().number_of_edges() == 1
    else:
        assert edge.type == unicodedata.normalize("NFC", name)
        assert {e.type for e in memory.neighbours(b.id).edges} == {edge.type}
        assert memory.graph().number_of_edges() == 2
    assert memory.graph().number_of_nodes() == 3


def test_b042_reserved_names_are_refused(memory: Memory) -> None:
    """B042: our own edge names are nobody else's, whatever their case."""
    a, b = memory.remember("a"), memory.remember("b")
    for name in ("SUPERSEDES", "supersedes", "", "   ", "tab\there", "new\nline", "a\x00b"):
        with pytest.raises(InvalidInputError):
            memory.relate(a.id, b.id, name)


def test_b045_metadata_moves_nothing(memory: Memory) -> None:
    """B045: metadata named like system fields changes no system field."""
    said = {
        "tenant": "b",
        "namespace": "b",
        "user_id": "b",
        "id": "other",
        "key": "k",
        "active": False,
        "status": "forgotten",
        "pinned": True,
        "created_at": "1999-01-01",
        "version": "z",
        "confidence": 0,
    }
    entry = memory.remember("x", metadata=said)
    found = memory.get(entry.id)
    assert found.metadata == said
    assert (found.namespace, found.key, found.status, found.pinned, found.confidence) == (
        *(memory.path, None, "active", False, 0.8),
    )
    assert memory.current("k") is None


def test_b064_nul_characters(memory: Memory) -> None:
    """B064: content may hold NUL and comes back with it; keys and tags may not."""
    for text in ("a\x00b", "W\x00s\x00l\x00"):
        assert memory.get(memory.remember(text).id).content == text
        with pytest.raises(InvalidInputError):
            memory.remember("x", key=text)
        with pytest.raises(InvalidInputError):
            memory.remember("x", tags=[text])
    assert len(memory.search("a\x00b")) >= 1


@pytest.mark.parametrize("n", range(len(lines("unicode_lines.jsonl"))))
def test_b065_unicode_is_kept_and_never_split(memory: Memory, n: int) -> None:
    """B065: any text comes back as it was; a caption cut from it, anywhere, ends between two visible characters."""
    content = lines("unicode_lines.jsonl")[n]["content"]
    assert memory.get(memory.remember(content).id).content == content
    for before in range(24, 32):
        text = "x" * before + content
        title = memory.remember(text).title
        assert len(title) <= 30
        title.encode()
        kept = title.removesuffix("…")
        clusters = regex.findall(r"\X", " ".join(text.split()))
        ends = {len("".join(clusters[:count])) for count in range(len(clusters) + 1)}
        flat = " ".join(text.split())
        if flat.startswith(kept):
            assert len(kept) in ends


def test_every_refusal_is_ours(memory: Memory) -> None:
    """B002: whatever the input files hold, only our own errors come out."""
    for value in [*document("metadata_values.json")["json"], *NOT_JSON]:
        try:
            memory.remember("x", metadata=value)
        except MemgraphError:
            continue
