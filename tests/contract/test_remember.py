"""What `remember` and `remember_many` promise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memgraph import Memory
from memgraph.clock import parse_version, recorded_at
from memgraph.errors import ConflictError, InvalidInputError, NotFoundError, PurgedError
from memgraph.models import Filters, Selector
from tests.conftest import FrozenClock
from tests.views import everything

ALL = {
    "content": "Ada lives in Porto",
    "key": "ada/city",
    "kind": "preference",
    "id": "my-id",
    "subject": "ada",
    "title": "Where Ada lives",
    "tags": ("home", "città"),
    "aliases": ("residence",),
    "metadata": {"n": 1, "nested": {"list": [None, True, 1.5, "x"]}},
    "source": "chat",
    "actor": "bob",
    "session": "s-1",
    "trust": "user",
    "pinned": True,
    "confidence": 0.5,
    "valid_from": datetime(2020, 1, 1, tzinfo=UTC),
    "valid_to": datetime(2036, 1, 1, tzinfo=UTC),
    "expires_at": datetime(2035, 1, 1, tzinfo=UTC),
    "reason": "she said so",
}


def test_every_attribute_comes_back(memory: Memory) -> None:
    """What was given is what the entry, and every later read of it, shows."""
    entry = memory.remember(**ALL)
    assert {name: getattr(entry, name) for name in ALL} == ALL
    assert entry.status == "active"
    assert memory.get("my-id") == memory.current("ada/city") == memory.list()[0] == entry


def test_defaults(memory: Memory, clock: FrozenClock) -> None:
    """What is left out has the defaults that the signature says."""
    entry = memory.remember("A fact")
    assert (entry.kind, entry.source, entry.trust, entry.confidence, entry.pinned) == (
        *("fact", "agent", "agent", 0.8, False),
    )
    assert (entry.key, entry.subject, entry.actor, entry.session, entry.tags, entry.metadata) == (*[None] * 4, (), {})
    assert entry.recorded_at == recorded_at(entry.version) == clock.now
    assert parse_version(entry.version)


def test_an_id_is_made(memory: Memory) -> None:
    """Without an id each call is a memory of its own, even with the same text."""
    a, b = memory.remember("same"), memory.remember("same")
    assert a.id != b.id
    assert a.id[14] == "7", "a UUID of version 7"
    assert memory.count() == 2


def test_the_title_is_given_or_cut_at_a_word(memory: Memory) -> None:
    """A title has at most 30 characters and, when cut from the content, ends at a word."""
    assert memory.remember("Short and sweet").title == "Short and sweet"
    assert memory.remember("x", title="A caption").title == "A caption"
    assert len(memory.remember("x", title="A caption that goes on and on and on").title) <= 30
    cut = memory.remember("The quick brown fox jumps over the lazy dog").title
    assert 0 < len(cut) <= 30
    assert cut.rstrip("….").strip() in "The quick brown fox jumps over the lazy dog"
    assert "The quick brown fox jumps over the lazy dog"[len(cut.rstrip("… ")) :][:1] in ("", " ")


def test_versions_grow(memory: Memory, clock: FrozenClock) -> None:
    """Each write has a greater version than all before it, however the clock moves."""
    seen = [memory.remember(f"note {n}").version for n in range(3)]
    clock.advance(-100)
    seen.append(memory.remember("after the clock went back").version)
    clock.advance(200)
    seen.append(memory.remember("later").version)
    assert seen == sorted(set(seen))


def test_the_id_is_the_idempotency_key(memory: Memory) -> None:
    """The same id with the same content and key is the same write; with others it is a conflict."""
    first = memory.remember("one", id="i", key="k")
    assert memory.remember("one", id="i", key="k", tags=["ignored"]) == first
    for content, key in (("two", "k"), ("one", "other"), ("one", None)):
        with pytest.raises(ConflictError):
            memory.remember(content, id="i", key=key)
    assert memory.history("k").items == (first,)


def test_the_same_id_lives_in_two_namespaces(make_memory: Callable[..., Memory]) -> None:
    """(namespace, id) names a memory, not the id alone."""
    a, b = make_memory("a"), make_memory("b")
    a.remember("in a", id="i", key="k")
    b.remember("in b", id="i", key="k")
    assert (a.get("i").content, b.get("i").content) == ("in a", "in b")
    b.forget("i")
    assert a.current("k").content == "in a"


def test_content_is_kept_as_given(memory: Memory) -> None:
    """Content is neither normalised nor trimmed."""
    for text in ("  spaces  ", "cafe\u0301", "crlf\r\nline", "nul \x00 bell \x07", "\ud83d\ude80", "\ue000\uffff"):
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16")
        assert memory.get(memory.remember(text).id).content == joined


def test_times_become_utc(memory: Memory) -> None:
    """An aware time comes back as the same instant in UTC, to the microsecond."""
    zone = timezone(timedelta(hours=5, minutes=45))
    entry = memory.remember("a", valid_from=datetime(2020, 1, 1, 0, 0, 0, 123456, tzinfo=zone))
    assert entry.valid_from == datetime(2019, 12, 31, 18, 15, 0, 123456, tzinfo=UTC)
    assert memory.get(entry.id).valid_from.tzinfo is UTC


def test_ttl_is_an_expiry(memory: Memory, clock: FrozenClock) -> None:
    """`ttl` is `expires_at` counted from now, in seconds or as a timedelta; both at once are refused."""
    entry = memory.remember("soon gone", key="k", ttl=60)
    assert entry.expires_at == clock.now + timedelta(seconds=60)
    assert memory.remember("b", ttl=timedelta(minutes=1)).expires_at == entry.expires_at
    with pytest.raises(InvalidInputError):
        memory.remember("c", ttl=60, expires_at=clock.now)


def test_expiry_is_seen_by_every_read(memory: Memory, clock: FrozenClock) -> None:
    """From `expires_at` on a memory is neither current, listed, counted nor found; its key has no current value."""
    memory.remember("the old value", key="k")
    entry = memory.remember("temporary password hint", key="k", ttl=60)
    other = memory.remember("a neighbour")
    memory.relate(other.id, entry.id)
    clock.advance(59)
    assert memory.current("k").id == entry.id
    clock.advance(1)
    assert memory.current("k") is None
    assert [e.id for e in memory.list()] == [other.id]
    assert memory.count() == 1
    assert len(memory.search("temporary password hint")) == 0
    assert memory.neighbours(other.id).entries == ()
    assert memory.get(entry.id).status == "expired"
    assert {e.id for e in memory.list(Filters(status="expired"))} == {entry.id}


def test_relates_to(memory: Memory) -> None:
    """`relates_to` writes the relations with the memory; an unknown end refuses all of it."""
    a = memory.remember("a")
    b = memory.remember("b", relates_to=[a.id])
    assert [e.id for e in memory.neighbours(b.id).entries] == [a.id]
    with pytest.raises(NotFoundError):
        memory.remember("c", relates_to=[a.id, "no-such-id"])
    assert memory.count() == 2


def test_remember_many_is_in_order_and_all_or_none(memory: Memory) -> None:
    """A batch comes back in order with growing versions; one bad item refuses the whole batch."""
    entries = memory.remember_many([{"content": f"item {n}", "key": "k", "id": f"i{n}"} for n in range(5)])
    assert [e.id for e in entries] == [f"i{n}" for n in range(5)]
    assert [e.version for e in entries] == sorted({e.version for e in entries})
    assert memory.current("k").id == "i4"
    for bad, error in (({"content": ""}, InvalidInputError), ({"content": "x", "id": "i1"}, ConflictError)):
        with pytest.raises(error):
            memory.remember_many([{"content": "good", "id": "good"}, bad])
    assert memory.count(Filters(status="any")) == 5
    assert memory.remember_many([]) == []


def test_a_batch_has_a_limit(memory: Memory) -> None:
    """More than 10,000 items are refused before anything is written."""
    with pytest.raises(InvalidInputError):
        memory.remember_many({"content": "x"} for _ in range(10_001))
    assert memory.count() == 0


def test_a_purged_id_is_dead(memory: Memory) -> None:
    """An id that was purged cannot be used again."""
    entry = memory.remember("secret", id="i")
    memory.purge(Selector(ids=["i"]))
    with pytest.raises(PurgedError):
        memory.remember("secret", id="i")
    assert entry.id not in {e.id for e in everything(memory.backend, entry.namespace, entry.recorded_at)}


def test_equal_whatever_store_answered(memory: Memory) -> None:
    """Where an entry was read from, and how well that store was, are no part of its equality."""
    entry = memory.remember("a")
    elsewhere = entry.model_copy(update={"stored_on": ("elsewhere",), "degraded": "slow"})
    assert elsewhere == entry
    assert hash(elsewhere) == hash(entry)
    assert entry.model_copy(update={"content": "b"}) != entry


def test_b003_a_repeated_write_leaves_its_relations_alone(memory: Memory) -> None:
    """B003: what happened to a relation since is not undone by repeating the write that made it."""
    a = memory.remember("a")
    memory.remember("b", id="b", relates_to=[a.id])
    memory.relate("b", a.id, weight=5.0, note="mine")
    memory.remember("b", id="b", relates_to=[a.id])
    assert [edge.weight for edge in memory.neighbours("b").edges] == [5.0]
    memory.unrelate("b", a.id)
    memory.remember("b", id="b", relates_to=[a.id])
    assert memory.neighbours("b").edges == ()


@pytest.mark.parametrize("vectors", [[[float("nan")]], [[1e300]], [], [[1.0], [2.0]], [[]], None, [["x"]]])
def test_what_an_embedder_must_not_return(make_memory: Callable[..., Memory], vectors: object) -> None:
    """A broken embedder is a typed error, and nothing was written."""

    class Broken:
        model = "broken"

        def __call__(self, texts: object) -> object:
            return vectors

    memory = make_memory(embedder=Broken())
    with pytest.raises(InvalidInputError, match="embedder"):
        memory.remember("a")
    assert memory.count() == 0


def test_an_expired_write_says_so(memory: Memory, clock: FrozenClock) -> None:
    """What is written with an expiry that is over comes back as expired, as every read shows it."""
    entry = memory.remember("a", expires_at=clock.now - timedelta(seconds=1))
    assert entry.status == "expired"
    assert memory.get(entry.id) == entry
