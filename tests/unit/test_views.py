"""Pure text: what is shown is inert, and no cut splits a character."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memgraph.models import Edge, Entry, Event, Lineage, Status
from memgraph.views.lineage import tree
from memgraph.views.plain import columns, escape, escape_lines, graphemes, shorten

T0 = datetime(2026, 5, 1, 12, tzinfo=UTC)

# One text for each way in which a cut or a terminal has gone wrong (B064, B065).
HARD = (
    "caf\u00e9 NFC",
    "cafe\u0301 NFD",
    "family \U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 end",
    "flag \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 end",
    "skin \U0001f44d\U0001f3fd end",
    "keycap 1\ufe0f\u20e3 end",
    "ext-B \U00020bb7\u91ce\u5bb6",
    "rtl \u05e9\u05dc\u05d5\u05dd abc",
    "bidi override \u202eevil\u202c end",
    "isolate \u2066x\u2069",
    "zero\u200bwidth\u200cjoin\u200der\ufeffbom",
    "combining z\u0337\u0327\u0322a\u0334l\u0337g\u0338o",
    "hangul jamo \u1112\u1161\u11ab",
    "line\u2028sep para\u2029sep nel\u0085end",
    "ctrl \u0007 bell \u001b[31mred\u001b[0m\u009b2J",
    "crlf\r\nline cr\rline",
    "tabs\tand\u00a0nbsp\u3000ideographic",
    "noncharacters \ufdd0 \uffff \U0001ffff",
    "W\x00s\x00l\x00",
    "devanagari \u0915\u094d\u0937\u093f",
    "plain backslashes \\ud83d\\ude00",
)
DANGEROUS = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@pytest.mark.parametrize("text", HARD)
def test_b064_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not DANGEROUS.search(escape(text))
    assert escape(escape(text)) == escape(text)


@given(st.text())
def test_escape_is_inert_and_stable_for_any_text(text: str) -> None:
    shown = escape(text)
    assert not DANGEROUS.search(shown)
    assert escape(shown) == shown


def test_escapes_name_the_character() -> None:
    assert escape("a\x1b[2J\u202eb\x00\n") == "a\\x1b[2J\\u202eb\\x00\\n"
    assert escape("\U000e0041") == "\\U000e0041"


def test_what_people_write_stays_as_it_is() -> None:
    for text in ("Größe – „quoted“", "日本語", "שלום", "👩‍👩‍👧‍👦 👍🏽 🇩🇪", "क्षि", "a\\nb"):
        assert escape(text) == text


@pytest.mark.parametrize("text", HARD)
def test_b065_every_cut_keeps_whole_graphemes_and_the_width(text: str) -> None:
    whole = [escape(piece) for piece in graphemes(text)]
    for width in range(columns(escape(text)) + 3):
        shown = shorten(text, width)
        assert columns(shown) <= width
        shown.encode()
        if shown == escape(text):
            continue
        if width:
            assert shown.endswith("…")
        kept = shown.removesuffix("…")
        assert kept == "" or any(kept == "".join(whole[:n]) for n in range(len(whole)))


@given(st.text(max_size=40), st.integers(0, 30))
def test_shorten_never_exceeds_its_width(text: str, width: int) -> None:
    shown = shorten(text, width)
    assert columns(shown) <= width
    assert not DANGEROUS.search(shown)
    if columns(escape(text)) <= width:
        assert shown == escape(text)


def test_shorten_with_a_marker_of_several_columns() -> None:
    assert shorten("abcdefgh", 6, "...") == "abc..."
    assert shorten("abcdefgh", 2, "...") == ".."
    assert shorten("abcdef", 6, "...") == "abcdef"
    assert shorten("abcdef", 0) == ""


def test_shorten_does_not_read_a_long_text_to_its_end() -> None:
    assert shorten("é" * 5_000_000, 10) == "é" * 9 + "…"


def test_columns_count_what_a_terminal_shows() -> None:
    assert [columns(text) for text in ("abc", "日本", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "1\ufe0f\u20e3", "한")] == [
        3,
        4,
        1,
        2,
        2,
        2,
        2,
    ]


def test_lines_end_at_line_feeds_only() -> None:
    assert escape_lines("a\tb\r\nc\u2028d\x1b\n") == ["a   b", "c\\u2028d\\x1b", ""]


def entry(id: str, content: str, minutes: int, status: Status = Status.SUPERSEDED, **fields: object) -> Entry:
    at = T0 + timedelta(minutes=minutes)
    version = f"{int(at.timestamp() * 1000):012x}-0000-00000001"
    return Entry.model_validate(
        {
            "id": id,
            "namespace": "acme",
            "content": content,
            "version": version,
            "recorded_at": at,
            "status": status,
            **fields,
        }
    )


def edge(new: Entry, old: Entry, via: str = "key", reason: str | None = None) -> Edge:
    return Edge.model_validate(
        {
            "label": "SUPERSEDES",
            "namespace": "acme",
            "source_id": new.id,
            "target_id": old.id,
            "version": new.version,
            "via": via,
            "reason": reason,
        }
    )


def test_lineage_of_a_key_is_one_trunk_newest_first() -> None:
    porto, berlin = entry("a", "Porto", 0, key="city"), entry("b", "Berlin", 1, Status.ACTIVE, key="city")
    lineage = Lineage(
        namespace="acme", key="city", entries=(porto, berlin), edges=(edge(berlin, porto, reason="moved"),), current="b"
    )
    assert tree(lineage) == (
        "city  (namespace acme)\n"
        "● Berlin\n"
        "│   active, recorded 2026-05-01 12:01:00 UTC, b\n"
        "│   replaces a: moved\n"
        "○ Porto\n"
        "    superseded, recorded 2026-05-01 12:00:00 UTC, a"
    )


def test_lineage_draws_what_was_replaced_beside_the_line_as_a_branch() -> None:
    old, other, new = entry("a", "Porto", 0), entry("b", "Lisbon", 1), entry("c", "Berlin", 2, Status.ACTIVE)
    lineage = Lineage(
        namespace="acme",
        entries=(old, other, new),
        edges=(edge(new, old), edge(new, other, via="explicit", reason="same person")),
        current="c",
    )
    drawn = tree(lineage, ascii_only=True).split("\n")
    assert drawn[1] == "* Berlin"
    assert "|-o Lisbon" in drawn
    assert drawn.index("|-o Lisbon") < drawn.index("o Porto")
    assert "|   replaces b: same person" in drawn
    assert all(line.isascii() for line in drawn)


def test_lineage_shows_events_restores_and_times() -> None:
    old = entry("a", "Porto", 0, Status.FORGOTTEN, valid_from=T0, expires_at=T0 + timedelta(days=9))
    copy = entry("b", "Porto", 5, Status.ACTIVE, restores="a", reason="by mistake")
    event = Event(
        id="a", cause="forgotten", version=old.version, at=T0 + timedelta(minutes=2), reason="stale", actor="ada"
    )
    lineage = Lineage(namespace="acme", key="k", entries=(old, copy), edges=(), events=(event,), current="b")
    drawn = tree(lineage)
    for part in (
        "restores a",
        "reason: by mistake",
        "forgotten 2026-05-01 12:02:00 UTC by ada: stale",
        "true from 2026-05-01 12:00:00 UTC",
        "expires 2026-05-10 12:00:00 UTC",
    ):
        assert part in drawn


@pytest.mark.parametrize("hostile", HARD)
def test_b064_a_hostile_memory_cannot_act_on_the_terminal(hostile: str) -> None:
    old = entry("a", hostile, 0, key="k", reason=hostile)
    new = entry("b", hostile, 1, Status.ACTIVE, key="k")
    event = Event(id="a", cause="forgotten", version=old.version, at=T0, reason=hostile, actor="x")
    lineage = Lineage(
        namespace="acme", key="k", entries=(old, new), edges=(edge(new, old, reason=hostile),), events=(event,)
    )
    for line in tree(lineage, width=12).split("\n"):
        assert not DANGEROUS.search(line)


def test_a_line_of_thousands_of_versions_is_drawn_flat() -> None:
    entries = [entry(f"m{n}", f"v{n}", n, key="k") for n in range(3000)]
    edges = tuple(edge(new, old) for old, new in itertools.pairwise(entries))
    drawn = tree(Lineage(namespace="acme", key="k", entries=tuple(entries), edges=edges)).split("\n")
    assert max(map(len, drawn)) < 100
    assert [line for line in drawn if line.startswith("○")][:2] == ["○ v2999", "○ v2998"]


def test_a_memory_that_two_newer_ones_replaced_is_drawn_once() -> None:
    old, left, right = entry("a", "old", 0), entry("b", "left", 1), entry("c", "right", 2)
    drawn = tree(Lineage(namespace="acme", entries=(old, left, right), edges=(edge(left, old), edge(right, old))))
    assert drawn.count("recorded") == 3
    assert "shown above, a" in drawn


def test_a_lineage_with_nothing_left_says_so() -> None:
    assert "nothing is left" in tree(Lineage(namespace="acme", key="k"))
