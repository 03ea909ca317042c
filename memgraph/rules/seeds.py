"""The rankings of the stores that memgraph grew out of, as they are there: choose them by name to compare, or to keep an order."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

__all__ = ["aegis", "loopctl"]


def loopctl(
    query: str, contents: Sequence[str], tags: Sequence[Sequence[str]], relevances: Sequence[float]
) -> list[float]:
    """Scores of loopctl 0.1 and 0.2, `InMemoryStore::retrieve`; every entry has one.

    0.5 * relevance + 0.4 * (query words in the text / query words) + 0.3 if a tag contains the whole query + 0.1. Words are
    split at blanks and found as parts of the lower-cased text. A relevance outside 0 to 1 counts 0 (later versions of it).
    """
    whole = query.lower()
    words = whole.split()
    found = []
    for content, labels, relevance in zip(contents, tags, relevances, strict=True):
        text = content.lower()
        matched = sum(word in text for word in words) / len(words) if words else 0.0
        tagged = bool(words) and any(whole in label.lower() for label in labels)
        found.append(0.5 * (relevance if 0 <= relevance <= 1 else 0.0) + 0.4 * matched + 0.3 * tagged + 0.1)
    return found


_AEGIS_STOP: Final = (
    " the a an of to in is are was were and or for on at it we i you what did do does about that this with my our be as by if "
    "so me "
)
_NOT_WORD: Final = re.compile(r"[\W_]+")


def aegis(
    query: str, contents: Sequence[str], tags: Sequence[Sequence[str]], confidences: Sequence[float]
) -> list[float]:
    """Scores of aegis-agent-memory 1.0.7, `MemoryGraph::search`; 0 for what it does not find.

    Terms: the query split at what is no letter or digit, two characters or more, less 35 stop words. Each adds
    ln((n - df + .5) / (df + .5) + 1) * tf * 2.5 / (tf + 1.5), tf the times it is part of the lower-cased content and tags; 2
    more if these hold the whole query. The sum times (.6 + .4 * confidence). Without terms: confidence, where the whole query
    is found. confidences: effective ones, 0 to 1.
    """
    whole = query.strip().lower()
    texts = [f"{content.lower()} {' '.join(labels).lower()}" for content, labels in zip(contents, tags, strict=True)]
    terms = [word for word in _NOT_WORD.split(whole) if len(word) >= 2 and f" {word} " not in _AEGIS_STOP]
    if not whole or not texts:
        return [0.0] * len(texts)
    if not terms:
        return [confidence if whole in text else 0.0 for text, confidence in zip(texts, confidences, strict=True)]
    lexical = [2.0 if whole in text else 0.0 for text in texts]
    for term in terms:
        times = [text.count(term) for text in texts]
        holding = max(sum(map(bool, times)), 1)
        idf = math.log((len(texts) - holding + 0.5) / (holding + 0.5) + 1)
        for place, tf in enumerate(times):
            if tf:
                lexical[place] += idf * tf * 2.5 / (tf + 1.5)
    return [value * (0.6 + 0.4 * confidence) for value, confidence in zip(lexical, confidences, strict=True)]
