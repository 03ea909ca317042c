"""What `list`, `count` and the filters promise."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from pydantic import ValidationError

from memgraph import Memory
from memgraph.errors import InvalidInputError
from memgraph.models import Condition, Filters, Status
from tests.conftest import FrozenClock


def names(memory: Memory, **filters: object) -> set[str]:
    """The ids that filters let through; `count` must agree."""
    wanted = Filters(**filters)
    found = {entry.id for entry in memory.list(wanted, limit=1000)}
    assert memory.count(wanted) == len(found)
    return found


def test_newest_first_page_by_page(memory: Memory) -> None:
    """Pages follow each other without gap or repeat, newest first, also while somebody writes."""
    ids = [memory.remember(f"n{n}").id for n in range(25)]
    first = memory.list(limit=10)
    memory.remember("newer than the first page")
    second = memory.list(limit=10, after=first.next)
    third = memory.list(limit=10, after=second.next)
    assert third.next is None
    assert [e.id for page in (first, second, third) for e in page] == ids[::-1]


def test_exactly_one_page(memory: Memory) -> None:
    """A page that holds all there is has no next."""
    for n in range(3):
        memory.remember(f"n{n}")
    assert memory.list(limit=3).next is None
    assert memory.namespace("empty").list().items == ()


def test_a_foreign_cursor_is_refused(memory: Memory) -> None:
    """A cursor that no page gave is refused, not taken for a beginning."""
    memory.remember("a")
    with pytest.raises(InvalidInputError):
        memory.list(after="not a cursor")
    for limit in (0, -1, True):
        with pytest.raises(InvalidInputError):
            memory.list(limit=limit)


def test_every_filter(memory: Memory, clock: FrozenClock) -> None:
    """Each filter narrows by what it says; several narrow together."""
    attributes = {
        "kind": ("fact", "preference"),
        "tags": (("a",), ("a", "b")),
        "subject": (None, "ann"),
        "session": (None, "s"),
        "actor": (None, "bob"),
        "source": ("agent", "tool"),
        "trust": ("agent", "user"),
        "pinned": (False, True),
    }
    for n in range(64):
        values = {name: pair[n >> bit & 1] for bit, (name, pair) in enumerate(list(attributes.items())[:6])}
        memory.remember(f"n{n}", id=f"n{n}", trust=attributes["trust"][n & 1], pinned=bool(n & 2), **values)
    filters = {
        "kinds": (["preference"], lambda e: e.kind == "preference"),
        "tags": (["a", "b"], lambda e: {"a", "b"} <= set(e.tags)),
        "subject": ("ann", lambda e: e.subject == "ann"),
        "session": ("s", lambda e: e.session == "s"),
        "actor": ("bob", lambda e: e.actor == "bob"),
        "source": ("tool", lambda e: e.source == "tool"),
        "trust": (["user", "system"], lambda e: e.trust == "user"),
        "pinned": (False, lambda e: not e.pinned),
    }
    every = memory.list(limit=100).items
    assert len(every) == 64
    for size in (0, 1, 2, 3):
        for chosen in itertools.combinations(filters, size):
            want = {e.id for e in every if all(filters[name][1](e) for name in chosen)}
            assert names(memory, **{name: filters[name][0] for name in chosen}) == want


def test_status(memory: Memory, clock: FrozenClock) -> None:
    """Active ones by default; any status, or some, when asked."""
    for name in ("active", "forgotten", "released", "expired"):
        memory.remember(name, id=name, key=f"k-{name}", ttl=60 if name == "expired" else None)
    memory.remember("old", id="superseded", key="k")
    memory.remember("new", id="new", key="k")
    memory.forget("forgotten")
    memory.release("released")
    clock.advance(60)
    assert names(memory) == {"active", "new"}
    assert names(memory, status="any") == {"active", "new", "forgotten", "released", "expired", "superseded"}
    for status in (Status.FORGOTTEN, Status.RELEASED, Status.EXPIRED, Status.SUPERSEDED):
        assert names(memory, status=status) == {str(status)}
    assert names(memory, status=["forgotten", "expired"]) == {"forgotten", "expired"}


def test_since_and_until_include_their_ends(memory: Memory, clock: FrozenClock) -> None:
    """`since` and `until` filter recorded_at, both ends included."""
    times = []
    for n in range(3):
        times.append(clock.advance())
        memory.remember(f"n{n}", id=f"n{n}")
    assert names(memory, since=times[1]) == {"n1", "n2"}
    assert names(memory, until=times[1]) == {"n0", "n1"}
    assert names(memory, since=times[1], until=times[1]) == {"n1"}
    assert names(memory, since=times[1] + timedelta(milliseconds=1), until=times[2]) == {"n2"}
    assert names(memory, until=times[1] - timedelta(microseconds=1)) == {"n0"}


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ({"n": 1}, {"one", "float"}),
        ({"n": True}, {"true"}),
        ({"s": "x"}, {"one"}),
        (Condition(field="n", op="gt", value=0.5), {"one", "float", "two"}),
        (Condition(field="n", op="le", value=1), {"one", "float"}),
        (Condition(field="n", op="ne", value=1), {"two", "true", "none", "text"}),
        (Condition(field="n", op="in", value=[2, "1"]), {"two", "text"}),
        (Condition(field="n", op="exists", value=True), {"one", "float", "two", "true", "text"}),
        (Condition(field="n", op="exists", value=False), {"none"}),
        (Condition(field=("deep", "a"), value=1), {"one"}),
        (Condition(field="deep.a", value=1), {"two"}),
        (Condition(field="l", op="contains", value="a"), {"one"}),
        (Condition(field="s", op="contains", value="y"), {"two"}),
    ],
)
def test_metadata_conditions(memory: Memory, condition: object, want: set[str]) -> None:
    """Conditions compare JSON values of one type; a missing field matches `ne` and `exists=False` only."""
    memory.remember("a", id="one", metadata={"n": 1, "s": "x", "deep": {"a": 1}, "l": ["a", None]})
    memory.remember("a", id="float", metadata={"n": 1.0})
    memory.remember("a", id="two", metadata={"n": 2, "deep.a": 1, "s": "xyz"})
    memory.remember("a", id="true", metadata={"n": True})
    memory.remember("a", id="text", metadata={"n": "1"})
    memory.remember("a", id="none")
    where = condition if isinstance(condition, dict) else (condition,)
    assert names(memory, where=where) == want


def test_filters_hold_text_literally(memory: Memory) -> None:
    """A filter's value is never a pattern or a piece of a query."""
    memory.remember("a", id="a", subject="a%b_c", metadata={"x') or 1=1 --": 1})
    memory.remember("b", id="b", subject="axbxc")
    for value in ("%", "a_b_c", "' or '1'='1", "*", "a%"):
        assert names(memory, subject=value) == set()
    assert names(memory, subject="a%b_c") == {"a"}
    assert names(memory, where={"x') or 1=1 --": 1}) == {"a"}
    assert names(memory, where={'x"': 1}) == set()


def test_what_filters_refuse() -> None:
    """Unknown fields, unknown statuses, naive times and blank names are refused."""
    for bad in ({"colour": "red"}, {"status": "deleted"}, {"subject": ""}, {"tags": ["a", ""]}):
        with pytest.raises((InvalidInputError, ValidationError)):
            Filters(**bad)


def test_pages_of_names_that_look_like_cursors(memory: Memory) -> None:
    """Whatever a namespace and an id hold, a page goes on where it ended."""
    odd = memory.namespace("a~b", "~5~c")
    ids = [f"~{n}~x/{n}" for n in range(7)]
    odd.remember_many([{"content": f"note {n}", "id": id} for n, id in enumerate(ids)])
    found, after = [], None
    while True:
        page = odd.list(limit=2, after=after)
        found += [entry.id for entry in page]
        after = page.next
        if after is None:
            break
    assert found == ids[::-1]
