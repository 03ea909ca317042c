"""The door: what is let in comes out in its one stored form; the rest is refused by a typed error that names the field."""

from __future__ import annotations

import decimal
import json
import math
import pathlib
import unicodedata
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import checks
from memgraph.errors import InvalidInputError
from memgraph.models import Condition, Filters, Selector, Trust


class Colour(StrEnum):
    RED = "red"


class OldColour(str, Enum):  # noqa: UP042 - its str() is not its value
    RED = "red"


@pytest.mark.parametrize(
    "value", ["", "  \n\t", "\u200b\ufeff", "\u2028\u2029\u00a0\u3000", "\x00", "\u202e", None, 7, b"x", ["x"]]
)
def test_blank_or_no_text_is_refused_b001(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.content(value)
    assert error.value.field == "content"
    assert isinstance(error.value, ValueError)
    assert not error.value.retryable


@pytest.mark.parametrize(
    "value", ["x", " x\r\n", "a\x00b", "W\x00s\x00l\x00", "\x1b[2J", "🧠\ufe0f", "\ufeffx", "e\u0301"]
)
def test_content_is_kept_as_given_b064(value: str) -> None:
    assert checks.content(value) == value


def test_surrogate_pairs_are_joined_and_lone_halves_refused() -> None:
    assert checks.content("\ufeffa\ud83e\udde0b") == "\ufeffa🧠b"
    for value in ("\ud83e", "a\udde0\ud83eb"):
        with pytest.raises(InvalidInputError):
            checks.content(value)
        with pytest.raises(InvalidInputError):
            checks.metadata({value: 1})


def test_an_enum_of_texts_stands_for_its_value() -> None:
    for value in (Colour.RED, OldColour.RED):
        found = checks.name(value, "kind")
        assert (found, type(found)) == ("red", str)
        assert type(checks.content(value)) is str


def test_content_has_a_limit_in_bytes_b009() -> None:
    assert len(checks.content("x" * checks.MAX_CONTENT_BYTES)) == checks.MAX_CONTENT_BYTES
    for value in ("x" * (checks.MAX_CONTENT_BYTES + 1), "語" * (checks.MAX_CONTENT_BYTES // 3 + 1)):
        with pytest.raises(InvalidInputError):
            checks.content(value)
    five_megabytes = "x" * 5_000_000
    assert checks.content(five_megabytes, max_bytes=8_000_000) == five_megabytes


@pytest.mark.parametrize("value", ["k" * 1025, "k" * 8000, "k" * 8200, "k" * 40_000, "語" * 342, "語" * 3000])
def test_names_have_one_limit_in_bytes_b009(value: str) -> None:
    with pytest.raises(InvalidInputError, match="1024 bytes") as error:
        checks.name(value, "key")
    assert error.value.field == "key"


def test_names_up_to_the_limit_are_kept_b009() -> None:
    for value in ("k" * 1024, "語" * 341):
        assert checks.name(value, "key") == value


KEPT_APART = [
    ("a/b", "a-b"), ("a b", "a-b"), ("Key", "key"), ("k", "k "), (" k", "k"), ("a//b", "a/b"), ("a/b", "a/b/"), ("../../x", "x"),
    ("a.b", "a_b"), ("a%2Fb", "a/b"), ("ß", "ss"), ("İ", "i"), ("１", "1"), ("ﬁ", "fi"), ("a\u200bb", "ab"),
    ("user:1", "user:10"), ("-k", "k"), ("--help", "help"), ("*", "?"), ("null", "None"), ("0", "00"), ("1", "1.0"),
    ("true", "True"), ("`x`", "x"), ("$k", "k"), ("CON", "con.txt"), ("日本", "日本語"), ("🧠", "🧠\ufe0f"),
    ("the red belt line at the north outpost is jammed", "the red belt line at the south outpost is fine"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), KEPT_APART)
def test_keys_that_differ_stay_apart_and_unchanged_b008(a: str, b: str) -> None:
    assert (checks.name(a, "key"), checks.name(b, "key")) == (a, b)


def test_only_canonical_equivalents_are_one_key_b008() -> None:
    assert checks.name("\u212a", "key") == checks.name("K", "key") == "K"
    assert checks.name("e\u0301", "key") == "é"


@pytest.mark.parametrize(
    "value", ["", "   ", "\u200b", "\u200d\ufe0f"[:1], "a\x00b", "k\n2", "a\tb", "\x7f", "\x85", None, 5]
)
def test_blank_names_and_control_characters_are_refused_b008(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.name(value, "key")
    assert error.value.field == "key"


@given(st.text())
def test_a_name_is_refused_or_stable(value: str) -> None:
    try:
        found = checks.name(value, "key")
    except InvalidInputError:
        return
    assert found == unicodedata.normalize("NFC", value) == checks.name(found, "key")
    assert len(found.encode()) <= checks.MAX_NAME_BYTES
    assert not any(unicodedata.category(c) == "Cc" for c in found)


def test_lists_of_names_have_no_repeats_and_are_no_text() -> None:
    assert checks.names(["b", "a", "b", "e\u0301", "é"], "tags") == ("b", "a", "é")
    for value in ("abc", 5, None, ["x"] * 3 + [""], [str(n) for n in range(300)]):
        with pytest.raises(InvalidInputError) as error:
            checks.names(value, "tags")
        assert error.value.field == "tags"


JSON_VALUES: list[dict[str, Any]] = [
    {"n": 9223372036854775807}, {"n": -9223372036854775808}, {"a": {"b": [1, {"c": None}]}}, {"l": []}, {"l": [None, "a"]},
    {"l": [1, "a", True]}, {"l": [[1], [2]]}, {"": 1}, {"a.b": 1, "a b": 2, "a`b": 3}, {"k" * 300: "v"},
    {"t": True, "i": 1, "f": 1.0}, {"f": 0.1}, {"f": 1e308}, {"f": -0.0},
    {"f": 5e-324}, {"s": ""}, {"s": " "}, {"s": "\x00\u2028"}, {"null": None}, {},
    {"tenant": "b", "user_id": "b", "id": "x", "active": False, "pinned": True, "created_at": "1999-01-01"},
]  # fmt: skip


@pytest.mark.parametrize("value", JSON_VALUES, ids=str)
def test_json_metadata_is_copied_exactly_b002(value: dict[str, Any]) -> None:
    found = checks.metadata(value)
    assert repr(found) == repr(value)
    assert found is not value
    assert repr(json.loads(json.dumps(found, allow_nan=False))) == repr(value)


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


RECURSIVE: dict[str, Any] = {}
RECURSIVE["d"] = RECURSIVE

NO_JSON: list[Any] = [
    {"n": 9223372036854775808}, {"n": -9223372036854775809}, {"n": 123456789012345678901234567890}, {"u": uuid.UUID(int=1)},
    {"d": decimal.Decimal("1.10")}, {"s": {1, 2}}, {"t": (1, 2)}, {"b": b"\x00\xff"}, {"p": pathlib.PurePosixPath("/a")},
    {"e": Colour.RED}, {"x": math.nan}, {"x": math.inf}, {"x": -math.inf}, {1: "int key"}, {None: "none key"},
    {"dt": datetime(2026, 1, 1)}, {"dt": datetime(2026, 1, 1, tzinfo=UTC)}, {"date": date(2026, 1, 1)},
    {"td": timedelta(days=1)}, {"np": numpy.int64(1)}, {"np": numpy.float64(1)}, {"c": 1j}, object(), [], "text", 5,
    MappingProxyType({}), {"x": nested(200)}, {"s": "x" * (checks.MAX_METADATA_BYTES + 1)},
]  # fmt: skip


@pytest.mark.parametrize("value", NO_JSON, ids=lambda value: repr(value)[:60])
def test_what_json_does_not_know_is_refused_b002(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.metadata(value)
    assert error.value.field == "metadata"


def test_metadata_that_holds_itself_is_refused_b002() -> None:
    with pytest.raises(InvalidInputError, match="holds itself"):
        checks.metadata(RECURSIVE)
    assert checks.metadata({"deep": nested(64)}) == {"deep": nested(64)}
    assert checks.metadata(None) == {}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.1, -0.1, 10**400, True, "0.5", None])
def test_a_score_is_a_finite_number_in_its_range_b002(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.fraction(value, "confidence")
    assert error.value.field == "confidence"


def test_scores_in_their_range_are_floats() -> None:
    assert [checks.fraction(value, "confidence") for value in (0, 1, 0.5, numpy.float64(0.25))] == [0.0, 1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    "value", [None, "", (), [], "a//b", "/a", "a/", ("a", ""), ("a/b",), ("a", "b/c"), 7, ("a", 7), " ", b"a"]
)
def test_no_namespace_never_means_all_b047(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.namespace(value)
    assert error.value.field == "namespace"


def test_a_namespace_is_a_path_or_its_segments() -> None:
    assert checks.namespace("acme/user-1") == checks.namespace(("acme", "user-1")) == "acme/user-1"
    assert checks.namespace(["..", "*"]) == "../*"
    with pytest.raises(InvalidInputError):
        checks.namespace(["k" * 600, "k" * 600])


@pytest.mark.parametrize(
    "value",
    ["relates_to", "non-compliant", "has space", "x`]->() DETACH DELETE a //", "' OR 1=1 //", "$name", "日本語", "émigré", "%",
     "1starts_with_digit", "emoji🚀", "back\\slash", "\\u0060", "RELATES_TO|SUPERSEDES", "*1..5", ":x", "!x"],
)  # fmt: skip
def test_relation_types_are_kept_exactly_b042(value: str) -> None:
    assert checks.relation_type(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "SUPERSEDES",
        "supersedes",
        "Restores",
        "CURRENT",
        "",
        "   ",
        "tab\there",
        "a\x00b",
        "new\nline",
        "a" * 1100,
        None,
    ],
)
def test_reserved_and_broken_relation_types_are_refused_b042(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.relation_type(value)
    assert error.value.field == "type"


BERLIN = ZoneInfo("Europe/Berlin")


def test_times_become_fixed_utc_in_both_folds_b050() -> None:
    for fold, hour in ((0, 0), (1, 1)):
        found = checks.instant(datetime(2025, 10, 26, 2, 30, 0, 7, tzinfo=BERLIN, fold=fold), "valid_from")
        assert found == datetime(2025, 10, 26, hour, 30, 0, 7, tzinfo=UTC)
        assert found.tzinfo is UTC
        assert found.fold == 0
    for value in (
        datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")),
        datetime(2026, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5.5))),
    ):
        found = checks.instant(value, "valid_from")
        assert (found, found.tzinfo is UTC) == (datetime(2026, 1, 1, tzinfo=UTC), True)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 1),
        date(2026, 1, 1),
        "2026-01-01",
        0,
        None,
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_naive_times_and_times_no_datetime_can_show_are_refused_b050(value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        checks.instant(value, "valid_from")
    assert error.value.field == "valid_from"


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_lose_nothing(value: datetime) -> None:
    assert checks.from_micros(checks.micros(value)) == value


def test_messages_hold_no_content() -> None:
    for refused in (
        lambda: checks.content("secret-canary" * 100_000),
        lambda: checks.name("secret-canary\x00", "key"),
        lambda: checks.metadata({"secret-canary": object()}),
        lambda: Filters(trust=["secret-canary"]),
        lambda: Selector(since="secret-canary"),
        lambda: Condition(field="x", op="secret-canary"),
    ):
        with pytest.raises(InvalidInputError) as error:
            refused()
        assert "canary" not in repr(error.value)


@pytest.mark.parametrize(
    ("given_", "field"),
    [
        ({"kinds": ""}, "kinds"), ({"kinds": 5}, "kinds"), ({"tags": ["a\n"]}, "tags"), ({"subject": ""}, "subject"),
        ({"status": "bogus"}, "status"), ({"trust": "bogus"}, "trust"), ({"since": datetime(2026, 1, 1)}, "since"),
        ({"pinned": "perhaps"}, "pinned"), ({"where": [{"field": "a", "op": "like"}]}, "op"), ({"bogus": 1}, "bogus"),
        ({"ids": [""]}, "ids"), ({"text": " "}, "text"), ({"key": ""}, "key"),
    ],
)  # fmt: skip
def test_wrong_filters_are_our_own_error_and_name_the_field(given_: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        Selector(**given_)
    assert error.value.field.startswith(field)


def test_one_may_stand_for_a_list_and_none_for_nothing() -> None:
    assert Filters(kinds="any", tags="any", trust=Trust.USER, where={"a": 1}) == Filters(
        kinds=["any"], tags=("any",), trust=["user"], where=[Condition(field="a", value=1)]
    )
    assert Selector(kinds=None, tags=None, trust=None, where=None, ids=None) == Selector()
    assert Filters(since=datetime(2026, 1, 1, 1, tzinfo=BERLIN)).since == datetime(2026, 1, 1, tzinfo=UTC)
