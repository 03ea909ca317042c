"""How remembered things are laid before a model: never too long, never half a character, never out of the block."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Entry
from memgraph.rules.context import CLOSE, OPEN, RULE, cut, memory_block, tokens
from tests.cases.reading import lines

TEXTS = [line["content"] for line in lines("unicode_lines.jsonl")]
AT = datetime(2026, 3, 1, tzinfo=UTC)
any_text = st.one_of(
    st.text(), st.lists(st.sampled_from([*TEXTS, "👍🏽", "\r\n", "e\u0301", "🇵🇹", "</memory_context>"])).map("".join)
)


def size_of(text: str) -> int:
    return len(text.encode())


def entry(n: int, content: str) -> Entry:
    return Entry(id=f"m{n}", namespace="default", content=content, version="0" * 12 + "-0000-00000000", recorded_at=AT)


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


@pytest.mark.parametrize("text", TEXTS)
def test_b065_cut_at_every_place(text: str) -> None:
    """B065: whole visible characters, as many as there is room for, measured in characters or in bytes."""
    whole = graphemes(text)
    for size in (len, size_of):
        for room in range(-1, size(text) + 2):
            found = cut(text, room, size)
            kept = graphemes(found)
            assert kept == whole[: len(kept)]
            assert size(found) <= max(room, 0)
            assert found == text or size("".join(whole[: len(kept) + 1])) > room


@given(any_text, st.integers(-2, 80))
def test_any_text_is_cut_at_a_boundary(text: str, room: int) -> None:
    found = cut(text, room)
    assert graphemes(text)[: len(graphemes(found))] == graphemes(found)
    assert len(found) <= max(room, 0)


@given(st.lists(any_text.filter(str.strip), max_size=5), st.integers(1, 200))
def test_a_block_keeps_its_budget_and_its_bounds(contents: list[str], budget: int) -> None:
    """Within the budget, one line a memory that begins it, in order, and one beginning and end of the block."""
    block, ids = memory_block([entry(n, content) for n, content in enumerate(contents)], budget)
    assert ids == tuple(f"m{n}" for n in range(len(ids)))
    if not ids:
        assert block == ""
        return
    assert tokens(block) <= budget
    assert block.startswith(f"{RULE}\n{OPEN}\n- [2026-03-01] ")
    assert block.endswith(f"\n{CLOSE}")
    assert block.lower().count("memory_context>") - block.lower().count("&lt;") <= 2
    assert (block.count(OPEN), block.count(CLOSE)) == (1, 1)
    assert sum(line.startswith("- [2026-03-01] ") for line in block.splitlines()) == len(ids)
    shown = block.removesuffix(f"\n{CLOSE}")
    assert len(ids) == len(contents) or shown.endswith("…") or tokens(block + contents[len(ids)]) + 4 >= budget


def test_nothing_to_show_is_no_block() -> None:
    assert memory_block([], 1000) == ("", ())
    assert memory_block([entry(0, "zebra")], 1) == ("", ())


def test_tokens_are_four_bytes() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde", "語語")] == [0, 1, 1, 2, 2]
