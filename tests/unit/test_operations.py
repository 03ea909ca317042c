"""Operations survive their JSON form; what is unknown is kept, what is broken is refused without repeating it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from memgraph.clock import recorded_at
from memgraph.errors import InvalidInputError
from memgraph.operations import (
    FORMAT,
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
    parse,
)

AT = "019ca98e7600-0001-0badcafe"
BASE: dict[str, Any] = {"op_id": "o1", "namespace": "acme/b", "version": AT}
REMEMBER = BASE | {"format": 1, "op": "remember", "id": "a", "content": "secret-canary"}

ALL = [
    Remember(**BASE, id="a", content="x", key="k", tags=("t",), metadata={"a": [None, 1]},
             valid_to=datetime(2026, 1, 1, tzinfo=UTC), trust="user", restores=Origin(id="z", version=AT),
             embedding=(0.5,), embedding_model="m"),
    Supersede(**BASE, new_id="n", new_version=AT, old_id="o", old_version=AT, reason="r"),
    Relate(**BASE, a="a", b="b", type="t", weight=0.5, note="n"),
    Unrelate(**BASE, a="a", b="b", type="t"),
    Retire(**BASE, id="a", cause="forgotten"),
    Restore(**BASE, id="a"),
    Reinforce(**BASE, id="a", feedback_id="f", signal=-0.5, verified=True),
    Purge(**BASE, field="session", value="s", heads=(("k", AT),)),
]  # fmt: skip


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.op)
def test_an_operation_comes_back_from_its_json(operation: Any) -> None:
    line = json.loads(operation.model_dump_json())
    assert line["format"] == FORMAT
    assert parse(line) == operation


@pytest.mark.parametrize(
    "line",
    [
        BASE | {"format": 2, "op": "remember", "of": [1.5, None]},
        BASE | {"format": 1, "op": "dream"},
        BASE | {"format": 1, "op": ["odd"]},
        BASE | {"format": 1},
        dict(BASE),
    ],
)
def test_what_is_unknown_is_kept_whole(line: dict[str, Any]) -> None:
    found = parse(line)
    assert found == Unknown(op_id="o1", version=AT, namespace="acme/b", payload=line)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (REMEMBER | {"confidence": "secret-canary"}, "confidence"),
        (REMEMBER | {"surprise": "secret-canary"}, "surprise"),
        (REMEMBER | {"version": "secret-canary"}, "version"),
        (REMEMBER | {"version": ""}, "version"),
        (REMEMBER | {"namespace": ""}, "namespace"),
        ({name: value for name, value in REMEMBER.items() if name != "content"}, "content"),
        (BASE | {"format": 1, "op": "retire", "id": "a", "cause": "secret-canary"}, "cause"),
        (BASE | {"format": 1, "op": "purge", "field": "secret-canary", "value": "v"}, "field"),
        ({"op": "dream", "namespace": "n"}, "op"),
        ({"op": "dream", "op_id": "o", "version": 5, "namespace": "n"}, "op"),
        ({"op": "dream", "op_id": "o", "version": "soon", "namespace": "n"}, "version"),
        ({"op": "dream", "op_id": "o", "version": AT, "namespace": "a//b"}, "namespace"),
        ({}, "op"),
    ],
)
def test_what_is_broken_is_refused_without_repeating_it(line: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse(line)
    assert error.value.field == field
    assert "canary" not in repr(error.value)


def test_operations_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        ALL[0].content = "y"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "over_after", "past"),
    [
        ("k", timedelta(0), True),
        ("k", timedelta(microseconds=1), False),
        (None, timedelta(days=-1), False),
        ("k", None, False),
    ],
)
def test_a_keyed_memory_that_was_over_when_it_was_recorded_describes_the_past(
    key: str | None, over_after: timedelta | None, past: bool
) -> None:
    valid_to = None if over_after is None else recorded_at(AT) + over_after
    assert Remember(**BASE, id="a", content="x", key=key, valid_to=valid_to).describes_past is past
