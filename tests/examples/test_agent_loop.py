"""The agent of agent_loop.py over a file and a real server, which dies in the middle of a conversation and comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from memgraph import LearnConfig, LearnSession, Memory
from memgraph.agent import LoopMemory, agent_run
from memgraph.models import Filters, Status
from tests.examples.agent_loop import answer
from tests.integration.replicas import Laptop, held, in_touch, nothing_lost, synced
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
PATIENT = LearnConfig(timeout=60.0, cache_seconds=0, fail_open=False)  # of a busy machine
ANY = Filters(status="any")


class Scripted:
    """A model that says its lines in order. A line may be a function of what it was shown, which is kept."""

    def __init__(self, *lines: Any) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        self.shown.append("\n".join(str(message["content"]) for message in messages if message["role"] == "system"))
        line = self.lines.pop(0)
        return line(self.shown[-1]) if callable(line) else line


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": f"I use {tool}.", "tool": tool, "arguments": arguments}


def say(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def city(shown: str) -> dict[str, Any]:
    """Answers from the memory that it is shown, and from nothing else."""
    known = [name for name in ("Porto", "Berlin", "Oslo") if name in shown]
    return say(" and ".join(known) or "I do not know.")


def ask(memory: Memory, session: LearnSession, question: str, *lines: Any, tools: Mapping[str, Any] = {}) -> str:
    model = Scripted(*lines)
    found = answer(memory, session, model, tools, question)
    assert model.lines == [], "every line was said"
    return found


def test_the_primary_dies_in_the_middle_of_a_conversation(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    """The agent goes on with all it knows, loses nothing it learns, and another agent of the team knows it afterwards."""
    a = laptop("a", pull_every=0.5)
    where = "Where does Ada live?"
    with LearnSession(a.memory, PATIENT, id="talk") as session:
        assert ask(a.memory, session, where, city) == "I do not know."
        lines = call("remember", slot="ada/city", value="Ada lives in Porto"), city
        assert ask(a.memory, session, where, *lines) == "Porto"
        assert ask(a.memory, session, "Note it", call("note", text="tea: Ada takes milk"), say("Noted.")) == "Noted."
        synced(a.memory)
        assert ask(a.memory, session, where, city) == "Porto"
        assert session.degraded is None

        def deploy() -> str:
            a.cable.refuse()  # in the middle of a turn: the next recall and all writes after it find it dead
            return "the build needs make clean first"

        lines = call("deploy"), call("remember", slot="ada/city", value="Ada lives in Berlin"), city
        assert ask(a.memory, session, where, *lines, tools={"deploy": deploy}) == "Berlin"
        assert session.degraded, "and it says that it may have missed something"
        assert a.memory.current("ada/city").id in session.feedback(1, verified=True).ids
        assert ask(a.memory, session, "Note", call("note", text="tea: Ada takes lemon"), say("Noted.")) == "Noted."
        for _ in range(2):
            session.record("the build needs make clean first")
        assert ask(a.memory, session, where, city) == "Berlin", "neither what was replaced nor nothing"

        a.cable.heal()
        in_touch(a.memory)
        assert ask(a.memory, session, where, city) == "Berlin"
        assert session.degraded is None
    synced(a.memory)

    acknowledged = {entry.id: entry.content for entry in a.memory.list(ANY)}
    assert len(acknowledged) == 7
    nothing_lost(neo4j_server, a.memory, acknowledged)
    there = held(neo4j_server, a.memory.path)
    contents = {entry.content: entry for entry in there.values() if entry.status is Status.ACTIVE}
    assert contents.keys() == {"Ada lives in Berlin", "tea: Ada takes lemon", "the build needs make clean first"}
    assert contents["Ada lives in Berlin"].feedback_sum == 2.0
    assert [entry.content for entry in a.memory.list(Filters(kinds=("insight",)))] == [
        "the build needs make clean first"
    ]

    b = laptop("b")
    with LearnSession(b.memory, PATIENT) as session:
        assert ask(b.memory, session, where, city) == "Berlin"
        assert "make clean" in session.enrich_messages([{"role": "user", "content": "build"}])[0]["content"]


def test_the_hooks_of_a_loop_while_the_primary_is_away(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    """Tool calls are noted, turns are told what is known, and the clean-up of a good run reaches the primary later."""
    a = laptop("a", pull_every=0.5)
    memory = LoopMemory(a.memory)
    memory.store("worth nothing", "fact", relevance=0.01)
    memory.store("port 443 is for https", "fact", relevance=0.9)
    synced(a.memory)
    with agent_run(memory, "which port is https") as run:
        message = run.before_turn([])
        assert message is not None
        assert "port 443 is for https" in message["content"]
        a.cable.refuse()
        assert run.after_tool("scan", {"host": "db"}, "7687 is open") is not None
        message = run.before_turn([{"role": "tool", "content": "7687 is open"}])
        assert message is not None
        assert "7687 is open" in message["content"]
    assert len(memory) == 2
    a.cable.heal()
    in_touch(a.memory)
    synced(a.memory)
    there = {entry.content: entry.status for entry in held(neo4j_server, a.memory.path).values()}
    assert there == {
        "worth nothing": Status.PRUNED,
        "port 443 is for https": Status.ACTIVE,
        'tool=scan; input={"host": "db"}; result=7687 is open': Status.ACTIVE,
    }


def test_what_a_dead_primary_left_out_is_not_kept(laptop: Callable[..., Laptop]) -> None:
    """An answer that may miss something is not cached; one that is cached says so when the primary is away."""
    a, b = laptop("a", pull_every=0.5), laptop("b")
    a.memory.remember("Ada lives in Porto")
    synced(a.memory)
    session = LearnSession(a.memory, LearnConfig(timeout=60.0, cache_seconds=1e6))
    question = [[{"role": "user", "content": text}] for text in ("Where is Ada?", "Where does Ada live?")]
    session.enrich_messages(question[0])
    assert session.degraded is None
    a.cable.refuse()
    b.memory.remember("Ada lives by the sea")
    synced(b.memory)
    for each in question:
        assert "sea" not in str(session.enrich_messages(each))
        assert session.degraded
    a.cable.heal()
    in_touch(a.memory)
    assert "sea" in str(session.enrich_messages(question[1]))
    assert session.degraded is None
