"""How far a memory is to be trusted now: a pure function of its start value, its feedback and its age, never stored."""

from __future__ import annotations

from typing import Final

from memgraph import checks

__all__ = ["effective", "weight"]

_PER_SIGNAL: Final = 0.1  # aegis: one reinforcement of 1.0 adds a tenth
_MOST_DECAY: Final = 0.3  # aegis: what a year takes away, and the most that age takes at all
_DECAY_DAYS: Final = 365.0


def weight(signal: float, verified: bool = False) -> float:
    """What one feedback adds to a memory's `feedback_sum`: the signal, twice if it was verified.

    signal: -1 (harmful) to 1 (useful); anything else raises InvalidInputError.
    """
    return checks.fraction(signal, "signal", -1.0) * (2.0 if verified else 1.0)


def effective(confidence: float, feedback_sum: float, age_days: float, pinned: bool = False) -> float:
    """Confidence now, from 0 to 1.

    confidence: as given at the write. feedback_sum: the sum of the weights of all feedback. age_days: days since it was
    recorded (less than 0 counts as 0). pinned: a pinned memory does not fade with age.

    confidence + 0.1 * feedback_sum - min(0.3 * age_days / 365, 0.3), cut to 0..1: aegis-agent-memory 1.0.7,
    `effective_confidence` and `reinforce`, without its bonus for reads (reads write nothing here), and with the lower
    end that it lacks. Feedback has no bound of its own: enough harmful signals bring any memory to 0.
    """
    faded = 0.0 if pinned else min(_MOST_DECAY * max(age_days, 0.0) / _DECAY_DAYS, _MOST_DECAY)
    return min(max(confidence + _PER_SIGNAL * feedback_sum - faded, 0.0), 1.0)
