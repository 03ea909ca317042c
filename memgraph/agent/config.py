"""How a learning session behaves: arguments, then MEMGRAPH_LEARN_* variables, then defaults."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from memgraph import checks
from memgraph.agent.inject import POSITIONS, Position
from memgraph.errors import InvalidInputError
from memgraph.rules.context import BUDGET

__all__ = ["LearnConfig"]

_PREFIX: Final = "MEMGRAPH_LEARN_"
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")


@dataclass(frozen=True)
class LearnConfig:
    """How a learning session behaves.

    kinds: what to recall, all kinds if empty. budget: tokens that the block of memories may take, at four bytes of UTF-8 each.
    position: where the block goes: "system" (added to a leading system message, or one of its own), "prepend" (a system message
    before all others), "last_system" (one right before the last user message). cache_seconds: how long an answer may be shown
    again, 0 for never. cache_size: how many are kept. fail_open: whether a failing store leaves the turn as it is instead of
    raising. timeout: seconds that a recall or a feedback may take, 0.1 or more; a recall from a file alone, which waits for
    nobody, is not timed. reflect_every: reflect after so many calls, 0 for only at the end.

    Raises InvalidInputError, which names the field.
    """

    kinds: tuple[str, ...] = ()
    budget: int = BUDGET
    position: Position = "system"
    cache_seconds: float = 30.0
    cache_size: int = 100
    fail_open: bool = True
    timeout: float = 5.0
    reflect_every: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", checks.names(self.kinds, "kinds"))
        for name, least, most in (("budget", 1, 10**7), ("cache_size", 0, 10**6), ("reflect_every", 0, 10**9)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InvalidInputError(f"must be a whole number from {least} to {most}", field=name)
        if self.position not in POSITIONS:
            raise InvalidInputError(f"must be one of {', '.join(map(repr, POSITIONS))}", field="position")
        object.__setattr__(self, "cache_seconds", checks.fraction(self.cache_seconds, "cache_seconds", 0.0, 1e9))
        object.__setattr__(self, "timeout", checks.fraction(self.timeout, "timeout", 0.1, 1e6))
        if not isinstance(self.fail_open, bool):
            raise InvalidInputError("must be True or False", field="fail_open")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **given: Any) -> LearnConfig:
        """What the arguments say, then the variables MEMGRAPH_LEARN_KINDS (with commas), MEMGRAPH_LEARN_BUDGET and so on.

        environ: the variables, by default those of the process. Raises InvalidInputError, also for a variable that is empty.
        """
        found = os.environ if environ is None else environ
        for field in fields(cls):
            variable = _PREFIX + field.name.upper()
            if field.name in given or variable not in found:
                continue
            if not found[variable].strip():
                raise InvalidInputError(
                    f"is set but empty ({variable})", field=field.name, hint="Unset it or give it a value."
                )
            try:
                given[field.name] = _FORMS.get(field.name, str)(found[variable].strip())
            except ValueError:
                raise InvalidInputError(f"cannot be read ({variable})", field=field.name) from None
        return cls(**given)


def _truth(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError
    return text.lower() in _YES


_FORMS: Final[dict[str, Callable[[str], Any]]] = {
    "kinds": lambda text: [part.strip() for part in text.split(",")],
    "budget": int,
    "cache_seconds": float,
    "cache_size": int,
    "fail_open": _truth,
    "timeout": float,
    "reflect_every": int,
}
