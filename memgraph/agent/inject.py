"""Chat messages: which words of them to ask the memory about, and where a block goes. Nothing here changes its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from memgraph import checks
from memgraph.errors import InvalidInputError
from memgraph.rules.context import cut

__all__ = ["POSITIONS", "Message", "Position", "checked", "last_question", "placed", "text_of"]

Message = Mapping[str, Any]
Position = Literal["system", "prepend", "last_system"]
POSITIONS: Final = ("system", "prepend", "last_system")


def checked(messages: Sequence[Message]) -> list[Message]:
    """The messages in a list of their own. Raises InvalidInputError for anything but a list of mappings."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInputError("must be a list of messages", field="messages")
    if not all(isinstance(message, Mapping) for message in messages):
        raise InvalidInputError("must hold mappings with a role and a content", field="messages")
    return list(messages)


def text_of(content: object) -> str:
    """The text of a message's content: a text, or a list of parts whose texts are joined by line breaks; else nothing."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def last_question(messages: Sequence[Message], characters: int) -> tuple[int, str] | None:
    """The place and the text of the last user message that has any, at most so many characters of it; None without one."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "user":
            try:
                text = checks.text(text_of(messages[place].get("content")), "content")
                return place, checks.content(cut(text.strip(), characters))
            except InvalidInputError:  # blank or no Unicode: nothing in it can be asked about
                continue
    return None


def placed(messages: Sequence[Message], block: str, position: Position, question: int) -> list[Message]:
    """A new list of messages with the block in it.

    position: "system" adds it to a leading system message, or puts one there; "prepend" puts a system message of its own
    before all others; "last_system" puts one right before the message number `question`. Messages that are not added to are the
    caller's own, unchanged.
    """
    found = list(messages)
    own: Message = {"role": "system", "content": block}
    if position == "last_system":
        found.insert(question, own)
        return found
    if position == "system" and found and found[0].get("role") == "system":
        content = found[0].get("content")
        if isinstance(content, str):
            found[0] = {**found[0], "content": f"{content}\n\n{block}" if content else block}
            return found
        if isinstance(content, list | tuple):
            found[0] = {**found[0], "content": [*content, {"type": "text", "text": block}]}
            return found
    found.insert(0, own)
    return found
