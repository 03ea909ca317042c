"""Cases about finding: B015 to B018, B021, B042, B047."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from memgraph import Memory
from memgraph.errors import InvalidInputError
from memgraph.models import Filters, Selector
from tests.cases.reading import lines, table

ANY = Filters(status="any")


@pytest.mark.parametrize("tenant", ["plain", "ap-erp", "main", "AND", "0b0e2c3c-7f5c-7e8a-9d43-1f1f6a1c0a00"])
def test_b015_a_query_is_plain_text(make_memory: Callable[..., Memory], tenant: str) -> None:
    """B015: no character of a query has a meaning: no error, nothing listed that does not match, what matches is found."""
    memory = make_memory(tenant)
    for line in lines("lucene_docs.jsonl"):
        memory.remember(line["content"], id=str(line["n"]))
    wrong = {}
    for line in lines("lucene_queries.jsonl"):
        if line["must_hit"] is None:
            with pytest.raises(InvalidInputError):
                memory.search(line["q"])
            continue
        found = [int(hit.entry.id) for hit in memory.search(line["q"], limit=20)]
        if not set(line["must_hit"]) <= set(found) or len(found) > line.get("max_hits", 19):
            wrong[line["q"]] = (line["must_hit"], found)
    assert wrong == {}


def test_b015_wildcards_list_nothing(memory: Memory) -> None:
    """B015: a star or a field name does not list the store."""
    memory.remember_many([{"content": f"note {n}"} for n in range(50)])
    for query in ("*", "*:*", "?", "content:*", "n*te", "no?e", "note~", "/n.*/", "[a TO z]"):
        assert len(memory.search(query, limit=100)) in (0, 50 if "note" in query else 0)


def test_b016_long_queries(memory: Memory) -> None:
    """B016: a pasted document is a query like any other; its rare words are not dropped."""
    memory.remember_many([{"content": f"filler number {n} of many"} for n in range(200)])
    rare = memory.remember("the xylophone in the attic")
    assert memory.search(" ".join(f"w{n}" for n in range(1100))).hits == ()
    prose = "filler number of many " * 9000 + "xylophone attic " + "filler of many " * 500
    assert len(prose) > 200_000
    assert rare.id in {hit.entry.id for hit in memory.search(prose, limit=10)}


@pytest.mark.parametrize(
    "row", table("cjk_recall.tsv"), ids=lambda row: "-".join(row).encode("unicode_escape").decode()
)
def test_b017_any_script(memory: Memory, row: list[str]) -> None:
    """B017: words of scripts without spaces are found by parts of a sentence; what was not said is not found first."""
    content, query, want = row
    entry = memory.remember(content)
    memory.remember("an unrelated line of text")
    found = [hit.entry.id for hit in memory.search(query)]
    if want == "hit":
        assert found == [entry.id]
    elif want == "miss-or-low":
        assert len(found) <= 1


def test_b018_the_replaced_does_not_come_back(memory: Memory) -> None:
    """B018: no read path shows a replaced value as if it were current; asked for, it names its successor."""
    v1 = memory.remember("ssh listens on port 22", key="ssh-port", tags=["net"])
    other = memory.remember("the gate is guarded")
    memory.relate(other.id, v1.id)
    v2 = memory.remember("remote login moved to 49222", key="ssh-port", tags=["net"])
    assert v1.id not in {hit.entry.id for hit in memory.search("ssh port 22")}
    assert v1.id not in {hit.entry.id for hit in memory.search("ssh port 22", context="port 22 ssh listens")}
    assert v1.id not in {entry.id for entry in memory.list()}
    assert v1.id not in {entry.id for entry in memory.list(Filters(tags=["net"]))}
    assert v1.id not in {entry.id for entry in memory.neighbours(other.id, depth=3).entries}
    assert v1.id not in {change.id for change in memory.release("ssh port 22", dry_run=True).changes}
    shown = {hit.entry.id: hit.entry for hit in memory.search("ssh port 22", include_inactive=True)}
    assert (shown[v1.id].status, shown[v1.id].superseded_by) == ("superseded", v2.id)


def test_b021_nothing_derived_outlives_a_purge(memory: Memory) -> None:
    """B021: after a purge neither consolidation, nor a rebuilt index, nor a second search knows the text."""
    memory.remember("the zebra is in the attic of the house", id="a")
    memory.remember("the zebra is in the attic of that house", id="b")
    assert len(memory.search("zebra attic")) == 2
    assert len(memory.consolidate().duplicates) == 1
    memory.purge(Selector(ids=["a"]))
    assert memory.consolidate().duplicates == ()
    memory.check(reindex=True)
    assert [hit.entry.id for hit in memory.search("zebra attic", include_inactive=True)] == ["b"]


def test_b042_every_subset_of_filters(memory: Memory) -> None:
    """B042: any combination of optional filters is a valid question, the same for list, count, search and purge."""
    dice = random.Random(1)
    for n in range(40):
        memory.remember(
            f"zebra number {n}",
            id=str(n),
            kind=dice.choice(("fact", "note")),
            tags=dice.choice(((), ("t",))),
            subject=dice.choice((None, "ann")),
            session=dice.choice((None, "s")),
            source=dice.choice(("agent", "tool")),
            pinned=dice.choice((True, False)),
            metadata=dice.choice(({}, {"n": 1})),
        )
    choices = {
        "kinds": ["fact"],
        "tags": ["t"],
        "subject": "ann",
        "session": "s",
        "source": "tool",
        "pinned": True,
        "where": {"n": 1},
        "since": memory.get("0").recorded_at,
    }
    for size in range(len(choices) + 1):
        for names in itertools.combinations(choices, size):
            chosen = {name: choices[name] for name in names}
            listed = {entry.id for entry in memory.list(Filters(**chosen))}
            assert memory.count(Filters(**chosen)) == len(listed)
            assert {hit.entry.id for hit in memory.search("zebra", filters=Filters(**chosen), limit=100)} == listed
            if chosen:
                planned = memory.plan_purge(Selector(**chosen)).ids
                assert {id for ids in planned.values() for id in ids} == listed


def test_b047_no_read_leaves_its_tenant(make_memory: Callable[..., Memory]) -> None:
    """B047: with random data of three tenants every read of one shows only its own."""
    dice = random.Random(2)
    tenants = {name: make_memory(name) for name in ("a", "b", "ab")}
    for n in range(60):
        name, memory = dice.choice(list(tenants.items()))
        entry = memory.remember(f"zebra {n} of {name}", key=dice.choice((None, "k", "j")), id=f"i{n % 20}-{n}")
        if dice.random() < 0.2:
            memory.forget(entry.id)
    for name, memory in tenants.items():
        every = memory.list(ANY, limit=1000).items
        own = {entry.id for entry in every}
        assert all(entry.content.endswith(f" of {name}") for entry in every)
        assert {hit.entry.id for hit in memory.search("zebra", limit=100, include_inactive=True)} <= own
        assert {hit.entry.content.rpartition(" ")[2] for hit in memory.search("zebra a b ab", limit=100)} <= {name}
        assert set(memory.graph().nodes) == own
        assert memory.stats().entries == memory.count(ANY) == len(own)
        assert {entry.namespace for entry in memory.list(ANY, limit=1000, subtree=True)} == {memory.path}
        assert {id for ids in memory.plan_purge(Selector(text="zebra")).ids.values() for id in ids} == own
        for key in ("k", "j"):
            assert all(entry.namespace == memory.path for entry in memory.history(key))
