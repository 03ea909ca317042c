"""A whole agent in plain Python: a model that asks for tools, a loop that runs them, and a memory that both work with.

`model` is any callable that takes messages and returns one: a text answer, or a call of a tool. Here is all that it takes to give
an agent a long-term memory; the test beside this runs it with a scripted model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memgraph import LearnSession, Memory, remember_judged
from memgraph.models import Entry

Message = Mapping[str, Any]
Model = Callable[[list[Message]], Message]
Tool = Callable[..., str]
MOST_TURNS = 10


def replaces(new: str, old: Entry) -> str:
    """The judge: a note about the same subject replaces the old one. An LLM would be asked here."""
    return "supersede" if new.split(":")[0] == old.content.split(":")[0] else "keep_both"


def answer(memory: Memory, session: LearnSession, model: Model, tools: Mapping[str, Tool], question: str) -> str:
    """Let the model answer a question with its tools, over as many turns as it takes (10 at most)."""

    def remember(slot: str, value: str) -> str:
        """A keyed fact: the newest value of a slot counts."""
        return f"kept {session.record(value, key=slot).id}"

    def note(text: str) -> str:
        """A loose note: the judge says which earlier ones it replaces."""
        return f"replaced {len(remember_judged(memory, replaces, text, session=session.id).superseded)}"

    tools = {"remember": remember, "note": note, **tools}
    messages: list[Message] = [{"role": "system", "content": "You help Ada."}, {"role": "user", "content": question}]
    for _ in range(MOST_TURNS):
        reply = model(session.enrich_messages(messages))
        messages.append(reply)
        if "tool" not in reply:
            return str(reply["content"])
        try:
            result = tools[reply["tool"]](**reply["arguments"])
        except (KeyError, ValueError) as error:
            result = f"error: {type(error).__name__}"
        messages.append({"role": "tool", "content": result})
    return "I could not find out."
