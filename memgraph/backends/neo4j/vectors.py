"""The memories nearest to a vector: by comparing all of a small namespace, by the server's vector index in larger ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memgraph.errors import AuthError, UnsupportedError
from memgraph.rules.ranking import VECTOR_BEST
from memgraph.storage.bolt import Bolt, Runner
from memgraph.storage.queries import statement

__all__ = ["EXACT_VECTORS", "Reach"]

EXACT_VECTORS: Final = 2000
"""Up to so many memories are compared one by one: it is exact, finds new ones at once, and costs the server some 50 microseconds
for each 384 numbers, so a tenth of a second at most. The index answers in a fraction of that however many there are, but it holds
those of all namespaces (the more of them are other ones', the further it must reach) and makes every write of a vector about a
millisecond slower: so it is made when it is first needed."""

_REACH: Final = 4 * VECTOR_BEST  # nearest memories of all namespaces that the index is asked for at first
_MORE: Final = 4  # times as many, where too few of them are of the right namespaces
_FURTHEST: Final = 12_800  # beyond it, or half a namespace, comparing is no slower
_SPACES: Final = 100  # namespaces that are compared in one statement
_KEPT: Final = 1000


class Reach:
    """How far the index must reach for some namespaces, and whether it is there, as this process knows it. Safe for threads."""

    def __init__(self) -> None:
        self._ready = False
        self._refused = False
        self._known: dict[tuple[str, int], int] = {}

    def nearest(
        self,
        runner: Runner,
        newest: Mapping[str, str],
        vector: Sequence[float],
        model: str,
        statuses: Sequence[str] | None,
        size: int | None,
    ) -> dict[str, list[str]]:
        """The ids of the nearest memories of namespaces, and of those written while they were looked for, by namespace.

        newest: the greatest version of each namespace before. statuses: only these, by status. size: how many memories the
        namespaces have, None for very many.
        """
        spaces = [{"namespace": path, "newest": version} for path, version in newest.items()]
        given: dict[str, Any] = {
            "vector": list(vector),
            "model": model,
            "statuses": None if statuses is None else list(statuses),
        }
        if (size is None or size > EXACT_VECTORS) and self._is_there(runner):
            found = self._indexed(runner, spaces, given, size)
            if found is not None:
                return found
        rows = []
        for start in range(0, len(spaces), _SPACES):
            rows += runner.run("read/nearest", spaces=spaces[start : start + _SPACES], limit=VECTOR_BEST, **given)
        return _by_space(rows)

    def _indexed(
        self, runner: Runner, spaces: list[dict[str, Any]], given: dict[str, Any], size: int | None
    ) -> dict[str, list[str]] | None:
        """The same by the index; None where it would have to reach too far."""
        most = _FURTHEST if size is None else min(_FURTHEST, max(size // 2, _REACH))
        place = spaces[0]["namespace"], len(spaces)
        reach = self._known.pop(place, _REACH)
        while reach <= most:
            rows = runner.run("read/nearest_indexed", spaces=spaces, reach=reach, limit=VECTOR_BEST, **given)
            if sum(row["near"] for row in rows) == VECTOR_BEST:
                self._known[place] = reach
                if len(self._known) > _KEPT:
                    self._known.pop(next(iter(self._known)), None)
                return _by_space(rows)
            reach *= _MORE
        return None

    def _is_there(self, runner: Runner) -> bool:
        """Whether the index can be asked. If it is not there, it is made, which takes the server a while."""
        if self._ready or self._refused:
            return self._ready
        states = {row["name"]: row["state"] for row in runner.run("read/check_indexes")}
        self._ready = states.get("memory_vectors") == "ONLINE"
        if "memory_vectors" not in states and isinstance(runner, Bolt):
            try:
                runner.execute(statement("write/vector_index"))
            except (AuthError, UnsupportedError):  # a user without the right to make one compares
                self._refused = True
        return self._ready


def _by_space(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["namespace"], []).append(row["id"])
    return found
