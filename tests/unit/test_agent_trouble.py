"""LearnSession when the store fails: it never stands in the way of a turn, and says what it missed; its settings."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memgraph import LearnConfig, LearnSession, Memory
from memgraph.agent import Outcome
from memgraph.errors import ClosedError, InvalidInputError, UnavailableError
from tests.unit.agent_talk import ASK, shown


@pytest.fixture
def session(memory: Memory) -> Iterator[LearnSession]:
    with LearnSession(memory, LearnConfig()) as found:
        yield found


# ---- when the store fails


def test_a_failing_store_leaves_the_turn_as_it_is(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is added, the reason is there and in the log, and nothing that anybody said is."""
    session = LearnSession(memory, LearnConfig())
    memory.remember("Ada lives in Porto")
    session.enrich_messages(ASK)
    ids = session.last_recalled_ids
    assert ids
    memory.close()
    with caplog.at_level(logging.DEBUG, "memgraph"):
        assert session.enrich_messages(ASK) == ASK
        assert session.last_recalled_ids == (), "what a failed recall did not show is not credited"
        assert session.degraded == "ClosedError"
        assert session.feedback(1) == Outcome("success", 1.0, ())
        assert session.feedback_entries(ids).ids == ()
        session.end()
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
    assert not any(word in caplog.text for word in ("Ada", "Porto"))


def test_a_store_that_must_not_fail_raises(memory: Memory) -> None:
    session = LearnSession(memory, LearnConfig(fail_open=False))
    id = memory.remember("Ada lives in Porto").id
    memory.close()
    for call in (lambda: session.enrich_messages(ASK), lambda: session.feedback_entries([id]), session.end):
        with pytest.raises(ClosedError):
            call()
    session.end()


def test_a_record_that_failed_is_never_passed_over(memory: Memory, session: LearnSession) -> None:
    memory.close()
    with pytest.raises(ClosedError):
        session.record("Ada lives in Porto")


class Slow:
    """An embedder that waits for its gate."""

    model = "slow"

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
        self.gate.wait(30)
        return [[float(len(text)), 1.0] for text in texts]


def test_a_slow_store_is_not_waited_for_and_asked_again_next_time(tmp_path: Path) -> None:
    """The time-out ends one recall; the next works: the seed turned recall off for good at the first failure."""
    slow = Slow()
    with Memory.open(tmp_path / "slow.db", embedder=slow) as memory:
        memory.remember("Ada lives in Porto")
        session = LearnSession(memory, LearnConfig(timeout=0.1))
        strict = LearnSession(memory, LearnConfig(timeout=0.1, fail_open=False))
        slow.gate.clear()
        assert session.enrich_messages(ASK) == ASK
        assert session.degraded == "TimeoutError"
        with pytest.raises(UnavailableError, match="too long") as caught:
            strict.enrich_messages(ASK)
        assert caught.value.hint
        slow.gate.set()
        patient = LearnSession(memory, LearnConfig(timeout=30))
        assert "Porto" in shown(patient.enrich_messages(ASK))
        assert patient.degraded is None


def test_an_embedder_that_fails_does_not_end_the_turn(tmp_path: Path) -> None:
    class Broken(Slow):
        def __call__(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
            if not self.gate.is_set():
                raise RuntimeError("no model")
            return super().__call__(texts)

    broken = Broken()
    with Memory.open(tmp_path / "broken.db", embedder=broken) as memory:
        memory.remember("Ada lives in Porto")
        broken.gate.clear()
        session = LearnSession(memory, LearnConfig())
        assert session.enrich_messages(ASK) == ASK
        assert session.degraded == "RuntimeError"
        broken.gate.set()
        assert "Porto" in shown(session.enrich_messages(ASK))
        assert session.degraded is None


# ---- settings


def test_defaults_and_variables(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> None:
    """An argument is stronger than a variable, a variable than the default; a session without a config reads them."""
    assert LearnConfig.from_env({}) == LearnConfig()
    assert (LearnConfig().timeout, LearnConfig().cache_seconds, LearnConfig().cache_size) == (5.0, 30.0, 100)
    environ = {
        "MEMGRAPH_LEARN_KINDS": "fact, insight",
        "MEMGRAPH_LEARN_BUDGET": "300",
        "MEMGRAPH_LEARN_POSITION": "prepend",
        "MEMGRAPH_LEARN_CACHE_SECONDS": "1.5",
        "MEMGRAPH_LEARN_CACHE_SIZE": "7",
        "MEMGRAPH_LEARN_FAIL_OPEN": "No",
        "MEMGRAPH_LEARN_TIMEOUT": "3",
        "MEMGRAPH_LEARN_REFLECT_EVERY": "4",
        "MEMGRAPH_STORE": "elsewhere.db",
    }
    wanted = LearnConfig(("fact", "insight"), 300, "prepend", 1.5, 7, False, 3.0, 4)
    assert LearnConfig.from_env(environ) == wanted
    assert LearnConfig.from_env(environ, budget=10).budget == 10
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert LearnSession(memory).config == wanted


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kinds", "fact"),
        ("kinds", [""]),
        ("budget", 0),
        ("budget", 2.5),
        ("budget", True),
        ("position", "somewhere"),
        ("cache_seconds", -1),
        ("cache_seconds", math.nan),
        ("cache_size", -1),
        ("fail_open", 1),
        ("timeout", 0.05),
        ("reflect_every", -1),
    ],
)
def test_what_a_config_refuses(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        LearnConfig(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BUDGET", ""),
        ("BUDGET", "many"),
        ("FAIL_OPEN", "perhaps"),
        ("TIMEOUT", "0"),
        ("KINDS", "a,,b"),
        ("POSITION", "top"),
    ],
)
def test_variables_that_cannot_be_used(name: str, value: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        LearnConfig.from_env({f"MEMGRAPH_LEARN_{name}": value})
    assert caught.value.field == name.lower()
