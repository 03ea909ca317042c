"""What an embedder adds: similarity beside words, never instead of them; its vectors travel and die with their memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.models import Filters, Selector

AXES = {"car": (1.0, 0.0, 0.0), "automobile": (0.96, 0.28, 0.0), "fruit": (0.0, 0.0, 1.0)}


class Toy:
    """Vectors for three words; what holds none of them points nowhere in particular."""

    def __init__(self, model: str = "toy-1") -> None:
        self.model = model
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str], /) -> list[tuple[float, ...]]:
        self.asked += texts
        return [next((vector for word, vector in AXES.items() if word in text), (0.0, 1.0, 0.0)) for text in texts]


@pytest.fixture
def memory(make_memory: Callable[..., Memory]) -> Memory:
    """A store whose memories have vectors."""
    memory = make_memory(embedder=Toy())
    memory.remember_many([
        {"content": "the automobile is in the garage", "id": "auto"},
        {"content": "the fruit is in the bowl", "id": "fruit"},
        {"content": "the river is wide", "id": "river"},
    ])  # fmt: skip
    return memory


def test_similarity_finds_what_words_do_not(memory: Memory, make_memory: Callable[..., Memory]) -> None:
    """A memory with no word of the query is found by its vector; without an embedder it is not."""
    assert memory.search("car")[0].entry.id == "auto"
    assert make_memory().search("car").hits == ()
    assert memory.get("auto").embedding_model == "toy-1"


def test_words_still_count(memory: Memory) -> None:
    """The word match stays ahead where both point the same way, and `explain` names both parts."""
    memory.remember("a car that is a car", id="car")
    (first, second) = memory.search("car", limit=2, explain=True)
    assert [first.entry.id, second.entry.id] == ["car", "auto"]
    assert sum(first.why.values()) == pytest.approx(first.score)


def test_filters_and_status_hold_for_vectors_too(memory: Memory) -> None:
    """A vector brings back nothing that is filtered out, forgotten or of another namespace."""
    assert [hit.entry.id for hit in memory.search("car", filters=Filters(tags=["none"]))] == []
    memory.forget("auto")
    assert "auto" not in {hit.entry.id for hit in memory.search("car")}
    assert memory.namespace("elsewhere").search("car").hits == ()


def test_vectors_of_another_model_are_not_compared(memory: Memory, make_memory: Callable[..., Memory]) -> None:
    """A store opened with another model finds by words only what the first model embedded."""
    other = make_memory(embedder=Toy("toy-2"))
    assert "auto" not in {hit.entry.id for hit in other.search("car")}
    assert other.search("garage")[0].entry.id == "auto"
    other.remember("a second automobile", id="new")
    assert [hit.entry.id for hit in other.search("car")] == ["new"]


def test_vectors_travel_and_die_with_their_memory(
    memory: Memory, make_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    """An import brings vectors along without embedding again; a purge takes them."""
    memory.export_to(tmp_path / "all.jsonl")
    toy = Toy()
    spare = make_memory(store="spare", embedder=toy)
    spare.import_from(tmp_path / "all.jsonl")
    assert toy.asked == []
    assert spare.search("car")[0].entry.id == "auto"
    spare.purge(Selector(ids=["auto"]))
    assert "auto" not in {hit.entry.id for hit in spare.search("car", include_inactive=True)}
    assert spare.check().ok


def test_a_restored_copy_keeps_its_vector(memory: Memory) -> None:
    """What comes back as a copy is found by its vector as before."""
    old = memory.remember("an automobile on a key", key="k")
    memory.forget(key="k")
    back = memory.restore(old.id)
    assert back.embedding_model == "toy-1"
    assert back.id in {hit.entry.id for hit in memory.search("car")}


def test_an_embedder_that_fails_writes_nothing(make_memory: Callable[..., Memory]) -> None:
    """If vectors cannot be made the write is refused with the embedder's own error."""

    class Broken:
        model = "broken"

        def __call__(self, texts: Sequence[str], /) -> list[tuple[float, ...]]:
            raise RuntimeError("no model")

    memory = make_memory(embedder=Broken())
    with pytest.raises(RuntimeError, match="no model"):
        memory.remember("x")
    assert memory.count(Filters(status="any")) == 0
