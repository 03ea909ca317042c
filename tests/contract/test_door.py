"""What stands at the door: a value that cannot be kept is refused before anything is written, naming its field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import Memory
from memgraph.checks import MAX_CONTENT_BYTES, MAX_NAME_BYTES
from memgraph.errors import InvalidInputError, MemgraphError
from memgraph.models import Filters

ANY = Filters(status="any")
TOO_MUCH = "x" * (MAX_CONTENT_BYTES + 1)
LONG = "k" * (MAX_NAME_BYTES + 1)
LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


REFUSED = [
    *[("content", bad) for bad in ("", "  \n\t", "\u200b\ufeff", None, 7, b"bytes", "half \ud83d", TOO_MUCH)],
    *[("key", bad) for bad in ("", " ", "a\nb", "a\x00b", LONG, "語" * 342, 7, "\ud83d")],
    *[("id", bad) for bad in ("", "a\tb", LONG, 7)],
    *[("kind", bad) for bad in ("", "a\x1bb", LONG, None)],
    *[("subject", bad) for bad in ("", LONG, 7)],
    *[("actor", bad) for bad in ("", "\x07")],
    *[("session", bad) for bad in ("", LONG)],
    *[("source", bad) for bad in ("", LONG, None)],
    *[("title", bad) for bad in (7, "half \ud83d")],
    *[("tags", bad) for bad in ("one", [""], ["a\x00"], [LONG], [7], 7)],
    *[("aliases", bad) for bad in ("one", [""], [None])],
    *[("metadata", bad) for bad in ([], "x", {"x": float("nan")}, {"x": float("inf")}, {1: "x"}, {"x": {1, 2}})],
    *[("metadata", bad) for bad in ({"x": b"b"}, {"x": 2**63}, {"x": object()}, LOOP, {"x": "\ud83d"}, {"x": (1,)})],
    *[("trust", bad) for bad in ("nobody", "", None, 1)],
    *[("confidence", bad) for bad in (-0.1, 1.1, float("nan"), "high", True, None)],
    *[("ttl", bad) for bad in (0, -1, float("nan"), "1h")],
    *[("pinned", bad) for bad in ("yes", 1, None)],
    *[("reason", bad) for bad in (7, "r" * 20000)],
    *[("relates_to", bad) for bad in ("id", [7])],
]


@pytest.mark.parametrize(("field", "value"), REFUSED, ids=[f"{field}-{n}" for n, (field, _) in enumerate(REFUSED)])
def test_remember_refuses(memory: Memory, field: str, value: object) -> None:
    """Whatever is wrong raises InvalidInputError with the field's name; nothing of the call stays."""
    with pytest.raises(InvalidInputError) as caught:
        memory.remember(**{"content": "fine", "key": "k", field: value})
    assert caught.value.field == field
    assert memory.count(ANY) == 0
    assert memory.current("k") is None


def test_a_refusal_does_not_repeat_what_was_said(memory: Memory) -> None:
    """An error never holds content, keys or tags."""
    for values in (
        {"content": "canary \ud83d"},
        {"key": "canary\n"},
        {"tags": ["canary\x00"]},
        {"metadata": {"canary": {1}}},
    ):
        with pytest.raises(InvalidInputError) as caught:
            memory.remember(**{"content": "fine", **values})
        assert "canary" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


def test_limits_are_in_bytes(memory: Memory) -> None:
    """What just fits is kept: 1,024 bytes of a name, 1 MiB of content."""
    key = "é" * (MAX_NAME_BYTES // 2)
    content = "x" * MAX_CONTENT_BYTES
    assert memory.remember(content, key=key).content == content
    assert memory.current(key).content == content


def test_every_name_argument_is_checked(memory: Memory) -> None:
    """Every call that takes a key or an id refuses what is none."""
    memory.remember("a", id="a")
    for bad in ("", " ", "a\nb", LONG, None, 7):
        for call in (memory.get, memory.history, memory.lineage, memory.neighbours, memory.restore, memory.current):
            with pytest.raises(InvalidInputError):
                call(bad)


def test_names_are_composed(memory: Memory) -> None:
    """Keys, tags, subjects and ids are the same composed and decomposed; content is kept as given."""
    memory.remember("cafe\u0301", id="cafe\u0301", tags=["cafe\u0301"], subject="cafe\u0301")
    entry = memory.get("caf\u00e9")
    assert (entry.content, entry.tags, entry.subject) == ("cafe\u0301", ("caf\u00e9",), "caf\u00e9")
    assert memory.count(Filters(tags=["cafe\u0301"])) == memory.count(Filters(subject="caf\u00e9")) == 1


def test_metadata_shadows_nothing(memory: Memory) -> None:
    """Metadata named like system fields is metadata and nothing else; changing the caller's dict changes nothing."""
    said = {"namespace": "b", "id": "x", "status": "forgotten", "pinned": True, "created_at": "1999", "version": "z"}
    entry = memory.remember("x", metadata=said)
    before = memory.get(entry.id)
    said["later"] = 1
    assert (before.pinned, before.status, before.id != "x") == (False, "active", True)
    assert "later" not in memory.get(entry.id).metadata


def test_an_unknown_argument_is_refused(memory: Memory) -> None:
    """A misspelt argument is never swallowed."""
    with pytest.raises(TypeError):
        memory.remember("x", tag=["a"])
    with pytest.raises((InvalidInputError, TypeError)):
        memory.remember_many([{"content": "x", "tag": ["a"]}])
    with pytest.raises((InvalidInputError, TypeError)):
        memory.remember_many([{"key": "no content"}])
    assert memory.count() == 0


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(value=json_values, content=st.text(min_size=1))
def test_what_is_accepted_comes_back_equal(make_memory: Callable[..., Memory], value: Any, content: str) -> None:
    """Any text and any JSON value is either kept exactly or refused as InvalidInputError; never anything else."""
    memory = make_memory()
    try:
        entry = memory.remember(content, metadata={"value": value})
    except InvalidInputError:
        return
    finally:
        memory.close()
    again = make_memory()
    found = again.get(entry.id)
    again.close()
    assert found == entry
    assert repr(found.metadata) == repr({"value": value})
    assert found.content == content.encode("utf-16", "surrogatepass").decode("utf-16")


def test_every_error_is_ours(memory: Memory) -> None:
    """One tree: every refusal above is a MemgraphError and what Python users expect besides."""
    assert issubclass(InvalidInputError, MemgraphError)
    with pytest.raises(ValueError):
        memory.remember("")
    with pytest.raises(LookupError):
        memory.get("no-such-id")
