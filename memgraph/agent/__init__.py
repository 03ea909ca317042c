"""What an agent loop calls: a learning session, the hooks of a loop, and a judge before a write. It sees Memory only."""

from __future__ import annotations

from memgraph.agent.config import LearnConfig
from memgraph.agent.judge import Judge, Judged, remember_judged, remember_judged_async
from memgraph.agent.loop import LoopMemory, Run, after_run, after_tool, agent_run, before_turn
from memgraph.agent.session import AsyncLearnSession, LearnSession, Outcome, Reflector, repeated

__all__ = [
    "AsyncLearnSession",
    "Judge",
    "Judged",
    "LearnConfig",
    "LearnSession",
    "LoopMemory",
    "Outcome",
    "Reflector",
    "Run",
    "after_run",
    "after_tool",
    "agent_run",
    "before_turn",
    "remember_judged",
    "remember_judged_async",
    "repeated",
]
