"""What the tests of learning sessions share: a question, and a look at what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgraph.models import Filters
from memgraph.rules.context import CLOSE, OPEN

ASK = [{"role": "user", "content": "Where does Ada live?"}]
REFLECTIONS = Filters(source="reflection")


def shown(messages: Sequence[Any]) -> str:
    """The text of the block in messages; empty without one."""
    text = "\n".join(str(message["content"]) for message in messages)
    return text.partition(OPEN)[2].partition(CLOSE)[0].strip()
