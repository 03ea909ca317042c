"""Filters and selectors choose the same memories on values and in SQL."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import checks
from memgraph.backends.local.where import clause, selector_clause
from memgraph.clock import recorded_at
from memgraph.models import Condition, Entry, Filters, Selector, Status, Trust
from memgraph.rules.selection import conditions_match, is_empty, matches, selector_matches, value_purges
from memgraph.storage.sqlite.schema import MIGRATIONS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STORED = ("active", "superseded", "forgotten", "released", "pruned")
BASE = int(NOW.timestamp() * 1000)


def version_at(ms: int, counter: int = 0) -> str:
    return f"{ms:012x}-{counter:04x}-0badcafe"


def an_entry(id: str = "a", ms: int = BASE, **fields: Any) -> Entry:
    version = version_at(ms)
    return Entry(
        **{"id": id, "namespace": "n", "content": "text", "version": version, "recorded_at": recorded_at(version)}
        | fields
    )


names = st.sampled_from(["a", "b", "A", "é", "日本", "x'y", 'q"r', "a\\b"])
maybe = st.none() | names
near = st.integers(-3, 3)
instants = st.builds(
    lambda ms, us: NOW + timedelta(milliseconds=ms, microseconds=us), near, st.sampled_from([-1, 0, 1])
)


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        expires = draw(st.none() | instants)
        status = draw(st.sampled_from(STORED))
        if status == "active" and expires is not None and expires <= NOW:
            status = "expired"
        found.append(
            an_entry(
                id=f"i{number}",
                ms=BASE + draw(near),
                content=draw(st.sampled_from(["Straße", "STRASSE", "İstanbul", "plain text", "日本語"])),
                key=draw(maybe),
                kind=draw(names),
                subject=draw(maybe),
                session=draw(maybe),
                actor=draw(maybe),
                source=draw(names),
                tags=tuple(draw(st.lists(names, max_size=3, unique=True))),
                trust=draw(st.sampled_from(Trust)),
                pinned=draw(st.booleans()),
                metadata=draw(st.dictionaries(names, st.integers(0, 2) | st.booleans(), max_size=2)),
                status=status,
                expires_at=expires,
            )
        )
    return found


few = st.lists(names, max_size=2)
filter_fields = {
    "kinds": few,
    "tags": st.lists(names, max_size=1),
    "subject": maybe,
    "session": maybe,
    "actor": maybe,
    "source": maybe,
    "trust": st.lists(st.sampled_from(Trust), max_size=2),
    "pinned": st.none() | st.booleans(),
    "status": st.none() | st.just("any") | st.lists(st.sampled_from(Status), max_size=3),
    "since": st.none() | instants,
    "until": st.none() | instants,
    "where": st.dictionaries(names, st.integers(0, 2) | st.booleans(), max_size=1),
}
filters = st.fixed_dictionaries({}, optional=filter_fields).map(lambda fields: Filters(**fields))
selectors = st.fixed_dictionaries(
    {},
    optional=filter_fields
    | {
        "ids": st.lists(st.sampled_from(["i0", "i1", "i7"]), max_size=2),
        "key": maybe,
        "text": st.sampled_from(["strasse", "TEXT", "i̇st", "日"]),
        "lineage": st.booleans(),
        "everything": st.booleans(),
    },
).map(lambda fields: Selector(**fields))


class Table(sqlite3.Connection):
    """A connection that closes when nobody has it any more."""

    def __del__(self) -> None:
        self.close()


def table_of(entries: list[Entry]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", factory=Table)
    connection.executescript(MIGRATIONS[0])
    for e in entries:
        stored = "active" if e.status is Status.EXPIRED else e.status
        connection.execute(
            "insert into memory(ns, id, version, status, key, kind, subject, tags, metadata, source, actor, session,"
            " trust, pinned, expires_at, content) values (1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                e.id, e.version, STORED.index(stored), e.key, e.kind, e.subject, json.dumps(e.tags, ensure_ascii=False),
                json.dumps(e.metadata), e.source, e.actor, e.session, e.trust.value, int(e.pinned),
                None if e.expires_at is None else checks.micros(e.expires_at), e.content,
            ),
        )  # fmt: skip
    connection.execute("insert into memory(ns, id) values (1, 'place')")
    return connection


def chosen(connection: sqlite3.Connection, where: tuple[str, list[Any]]) -> set[str]:
    sql, values = where
    return {row[0] for row in connection.execute(f"select id from memory where ns = 1 and ({sql})", values)}


@settings(max_examples=80)
@given(entries(), filters, st.sampled_from(["active", "any"]))
def test_sql_chooses_what_matches_chooses(found: list[Entry], asked: Filters, default: Any) -> None:
    by_id = {e.id: e for e in found}
    rows = chosen(table_of(found), clause(asked, NOW, default))
    rows = {name for name in rows if conditions_match(by_id[name].metadata, asked.where)}
    assert rows == {e.id for e in found if matches(e, asked, NOW, default)}


@settings(max_examples=80)
@given(entries(), selectors)
def test_sql_of_a_selector_is_exact_but_for_text_and_conditions(found: list[Entry], asked: Selector) -> None:
    rows = chosen(table_of(found), selector_clause(asked, NOW))
    wanted = {e.id for e in found if selector_matches(e, asked, NOW)}
    assert rows >= wanted
    if asked.text is None and not asked.where:
        assert rows == wanted


def test_all_subsets_of_the_filters_make_valid_sql_b042() -> None:
    values = {
        "kinds": ("fact",), "tags": ("t",), "subject": "s", "session": "s", "actor": "a", "source": "agent",
        "trust": ("agent",), "pinned": False, "status": ("active", "pruned"), "since": NOW, "until": NOW,
    }  # fmt: skip
    entry = an_entry(tags=("t",), subject="s", session="s", actor="a")
    connection = table_of([entry])
    fields = list(values)
    for mask in range(1 << len(fields)):
        asked = Filters(**{name: values[name] for bit, name in enumerate(fields) if mask >> bit & 1})
        assert chosen(connection, clause(asked, NOW)) == {"a"}


def test_values_are_bound_never_pasted() -> None:
    hostile = "x' or 1=1 --"
    sql, values = selector_clause(
        Selector(key=hostile, subject=hostile, tags=hostile, kinds=hostile, ids=(hostile,)), NOW
    )
    assert "or 1=1" not in sql
    assert chosen(table_of([an_entry()]), (sql, values)) == set()


def test_since_and_until_include_their_instant() -> None:
    entry = an_entry()
    at = entry.recorded_at
    tick = timedelta(microseconds=1)
    for asked, wanted in [
        (Filters(since=at), True),
        (Filters(since=at + tick), False),
        (Filters(until=at), True),
        (Filters(until=at - tick), False),
        (Filters(since=datetime.min.replace(tzinfo=UTC), until=datetime.max.replace(tzinfo=UTC)), True),
        (Filters(until=datetime(1960, 1, 1, tzinfo=UTC)), False),
    ]:
        assert matches(entry, asked, NOW) is wanted
        assert bool(chosen(table_of([entry]), clause(asked, NOW))) is wanted


def test_expiry_is_judged_by_the_given_now() -> None:
    entry = an_entry(expires_at=NOW)
    assert not matches(entry, Filters(), NOW)
    assert matches(entry, Filters(), NOW - timedelta(microseconds=1))
    assert matches(entry, Filters(status="expired"), NOW)
    assert matches(entry, Filters(), NOW, "any")
    assert not matches(entry, Filters(status="active"), NOW, "any")


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (Condition(field="n", value=1.0), True),
        (Condition(field="n", value=True), False),
        (Condition(field="n", value="1"), False),
        (Condition(field="n", op="ne", value="1"), True),
        (Condition(field="t", value=True), True),
        (Condition(field="t", value=1), False),
        (Condition(field="z", value=None), True),
        (Condition(field="gone", value=None), False),
        (Condition(field="gone", op="ne", value=None), True),
        (Condition(field="gone", op="exists", value=False), True),
        (Condition(field="gone", op="exists"), False),
        (Condition(field="z", op="exists"), True),
        (Condition(field="z", op="exists", value=False), False),
        (Condition(field="n", op="lt", value=1.5), True),
        (Condition(field="n", op="lt", value=True), False),
        (Condition(field="n", op="lt", value="2"), False),
        (Condition(field="t", op="le", value=True), False),
        (Condition(field="s", op="ge", value="ab"), True),
        (Condition(field="s", op="gt", value="abc"), False),
        (Condition(field="s", op="le", value="abc"), True),
        (Condition(field="n", op="in", value=[True, 1]), True),
        (Condition(field="n", op="in", value=[True, "1"]), False),
        (Condition(field="n", op="in", value=1), False),
        (Condition(field="s", op="in", value="abc"), False),
        (Condition(field="l", op="contains", value=2), True),
        (Condition(field="l", op="contains", value=True), False),
        (Condition(field="s", op="contains", value="bc"), True),
        (Condition(field="s", op="contains", value=1), False),
        (Condition(field="o", op="contains", value="x"), False),
        (Condition(field="l", value=[1.0, 2, {"k": None}]), True),
        (Condition(field="l", value=[1, 2]), False),
        (Condition(field="o", value={"x": {"y": 3.0}}), True),
        (Condition(field=("o", "x", "y"), op="gt", value=2), True),
        (Condition(field="o.x.y", value=3), False),
        (Condition(field="a.b", value=7), True),
        (Condition(field=("l", "0"), op="exists"), False),
        (Condition(field="n", value=9007199254740993), False),
        (Condition(field="big", value=9007199254740993), True),
        (Condition(field="big", value=9007199254740992.0), False),
    ],
)
def test_conditions_keep_json_types_apart(condition: Condition, wanted: bool) -> None:
    metadata = {
        "n": 1, "t": True, "z": None, "s": "abc", "l": [1, 2, {"k": None}], "o": {"x": {"y": 3}},
        "a.b": 7, "big": 9007199254740993,
    }  # fmt: skip
    assert conditions_match(metadata, [condition]) is wanted
    assert matches(an_entry(metadata=metadata), Filters(where=(condition,)), NOW) is wanted


def test_nothing_named_is_empty_and_never_everything_b047() -> None:
    for asked in (
        Selector(),
        Selector(lineage=True),
        Selector(status="any"),
        Selector(ids=()),
        Selector(kinds=[], where={}),
    ):
        assert is_empty(asked)
        assert not selector_matches(an_entry(), asked, NOW)
        assert chosen(table_of([an_entry()]), selector_clause(asked, NOW)) == set()
        assert value_purges(asked, "n") == []
    for asked in (
        Selector(everything=True),
        Selector(pinned=False),
        Selector(status="forgotten"),
        Selector(where={"x": 1}),
    ):
        assert not is_empty(asked)


def test_text_is_a_case_folded_substring_of_any_status() -> None:
    forgotten = an_entry(content="Haus in der STRASSE 5", status=Status.FORGOTTEN)
    assert selector_matches(forgotten, Selector(text="straße 5"), NOW)
    assert not selector_matches(forgotten, Selector(text="strasse 5", key="k"), NOW)


def test_a_purge_by_value_is_one_value_and_nothing_else() -> None:
    for name in ("key", "subject", "session", "actor", "source"):
        assert value_purges(Selector(**{name: "v"}), "n") == [(name, "v")]
        assert value_purges(Selector(**{name: "v"}, status="any"), "n") == [(name, "v")]
        assert value_purges(Selector(**{name: "v"}, status="active"), "n") == []
        assert value_purges(Selector(**{name: "v"}, lineage=True), "n") == []
        assert value_purges(Selector(**{name: "v"}, kinds="fact"), "n") == []
        assert value_purges(Selector(**{name: "v"}, pinned=False), "n") == []
        assert value_purges(Selector(**{name: "v"}, everything=True), "n") == []
    assert value_purges(Selector(key="k", subject="s"), "n") == []
    assert value_purges(Selector(everything=True), "n/m") == [("namespace", "n/m")]
    assert value_purges(Selector(everything=True, lineage=True), "n") == [("namespace", "n")]
    assert value_purges(Selector(ids=("a",)), "n") == []
    assert value_purges(Selector(text="t"), "n") == []
