"""Cases 7 and 8 of aegis's own tests, and the holes of its composites: nobody ever ran those. Each on a real server.

That no write is dropped, that both sides dead is an error, and that a primary which is back gets what was written meanwhile under
every fault, is in tests/integration/test_composite_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph import remember_judged
from memgraph.models import Entry, Filters, Selector, Status
from tests.integration.replicas import Laptop, held, in_touch, synced
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")


def test_7_and_8_the_primary_answers_the_file_stands_in_and_the_primary_is_asked_again(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """Once down it stayed down for the process, and missed all that was written meanwhile."""
    a, b = laptop("a", pull_every=0.5), laptop("b")
    b.memory.remember("only the primary knew of the zebra", id="theirs")
    synced(b.memory)
    healthy = a.memory.search("zebra")
    assert ([hit.entry.id for hit in healthy], healthy.degraded) == (["theirs"], None)
    a.memory.sync()
    a.cable.refuse()
    away = a.memory.search("zebra")
    assert [hit.entry.id for hit in away] == ["theirs"]
    assert away.degraded
    a.memory.remember("a second zebra", id="meanwhile")
    assert {hit.entry.id for hit in a.memory.search("zebra")} == {"theirs", "meanwhile"}
    a.cable.heal()
    in_touch(a.memory)
    assert held(neo4j_server, a.memory.path).keys() == {"theirs", "meanwhile"}
    back = a.memory.search("zebra")
    assert ({hit.entry.id for hit in back}, back.degraded) == ({"theirs", "meanwhile"}, None)


def test_what_a_memory_is_goes_through_whole(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    """A keyed, pinned write became a plain one under a made-up id; listing was empty, restore, release and purge did nothing."""
    a = laptop("a")
    first = a.memory.remember("pref: tea", id="p1", key="pref", kind="preference", pinned=True)
    second = a.memory.remember("pref: coffee", id="p2", key="pref", kind="preference", pinned=True)
    loose = a.memory.remember("a zebra in the yard", id="z", confidence=0.9)
    synced(a.memory)
    there = held(neo4j_server, a.memory.path)
    assert [(there[id].key, there[id].kind, there[id].pinned, there[id].status) for id in ("p1", "p2")] == [
        ("pref", "preference", True, Status.SUPERSEDED),
        ("pref", "preference", True, Status.ACTIVE),
    ]
    assert [entry.id for entry in a.memory.list(ANY)] == ["z", "p2", "p1"]
    assert a.memory.get("p1").superseded_by == second.id
    assert a.memory.search("zebra", context="the yard")[0].entry.id == loose.id
    assert a.memory.restore(first.id).content == "pref: tea"
    assert a.memory.current("pref").content == "pref: tea"
    assert [change.id for change in a.memory.release("zebra").changes] == ["z"]
    assert a.memory.purge(Selector(key="pref")).removed["memories"] == 3
    synced(a.memory)
    there = held(neo4j_server, a.memory.path)
    assert [(id, entry.status) for id, entry in there.items()] == [("z", Status.RELEASED)]


def test_what_both_know_does_not_shrink_an_answer(laptop: Callable[..., Laptop]) -> None:
    """The primary was asked for as many as were missing, and gave what was there already."""
    a, b = laptop("a", mode="local_first"), laptop("b")
    for n in range(2):
        a.memory.remember(f"zebra zebra {n}", id=f"both{n}")
    synced(a.memory)
    for n in range(3):
        b.memory.remember(f"a zebra among other animals {n}", id=f"theirs{n}")
    synced(b.memory)
    found = a.memory.search("zebra", limit=4)
    assert len(found) == len({hit.entry.id for hit in found}) == 4


def test_one_scale_for_what_two_sides_know(laptop: Callable[..., Laptop]) -> None:
    """Merged answers were sorted by two unlike scores; here they are one store's answer."""
    a, b = laptop("a", mode="merge"), laptop("b")
    for n in range(4):
        a.memory.remember(f"zebra {'stripes ' * n}of a", id=f"a{n}")
        b.memory.remember(f"zebra {'grass ' * n}of b", id=f"b{n}")
    synced(b.memory)
    synced(a.memory)
    synced(b.memory)
    merged = [hit.entry.id for hit in a.memory.search("zebra stripes", limit=10)]
    assert merged == [hit.entry.id for hit in b.memory.search("zebra stripes", limit=10)]
    assert len(merged) == 8


def test_a_judged_write_while_the_primary_is_away_and_after(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """The judge decides on what the file knows; both sides end with the old one replaced and its history whole."""
    a = laptop("a", pull_every=0.5)
    a.memory.remember("Ada lives in Porto", id="porto")
    synced(a.memory)

    def judge(new: str, old: Entry) -> Any:
        return "supersede" if "lives" in old.content else "keep_both"

    a.cable.refuse()
    found = remember_judged(a.memory, judge, "Ada lives in Berlin", id="berlin", deadline=60)
    assert (found.superseded, found.undecided) == (("porto",), None)
    a.cable.heal()
    in_touch(a.memory)
    again = remember_judged(a.memory, judge, "Ada lives in Rome", id="rome", deadline=60)
    assert again.superseded == ("berlin",)
    synced(a.memory)
    there = held(neo4j_server, a.memory.path)
    assert {id: (entry.status, entry.superseded_by) for id, entry in there.items()} == {
        "porto": (Status.SUPERSEDED, "berlin"),
        "berlin": (Status.SUPERSEDED, "rome"),
        "rome": (Status.ACTIVE, None),
    }
    assert a.memory.restore("porto").content == "Ada lives in Porto"
