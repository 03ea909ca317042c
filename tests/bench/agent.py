"""What a learning session and the hooks of a loop add to the search itself, as ratios in one run: python -m tests.bench.agent [N]

Twins are measured in turn, one call after the other, on the same questions. CPU time is the process's, threads included.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memgraph import LearnConfig, LearnSession, LoopMemory, Memory
from memgraph.agent import after_tool, before_turn
from memgraph.rules.context import BUDGET, memory_block
from tests.bench.speed import build, words

Times = tuple[list[float], list[float]]


def timed(call: Callable[[Any], object], argument: Any, times: Times) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    call(argument)
    times[0].append((time.process_time() - cpu) * 1e3)
    times[1].append((time.perf_counter() - wall) * 1e3)


def twins(
    one: Callable[[Any], object], other: Callable[[Any], object], arguments: Sequence[Any]
) -> tuple[Times, Times]:
    """Milliseconds (CPU, wall) of two calls on each argument; who goes first changes, as the second finds things warm."""
    first: Times = ([], [])
    second: Times = ([], [])
    for number, argument in enumerate(arguments):
        for call, times in ((one, first), (other, second))[:: 1 if number % 2 else -1]:
            timed(call, argument, times)
    return first, second


def said(times: Times) -> str:
    high = sorted(times[1])[int(len(times[1]) * 0.95)]
    cpu, wall = (statistics.median(each) for each in times)
    return f"cpu {cpu:.2f} ms, wall {wall:.2f} ms (p95 {high:.2f})"


def main(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        build(path, size)
        with Memory.open(path) as memory:
            memory.lineage("mem-7")  # the graph is loaded before anything is measured
            measure(memory)


def measure(memory: Memory) -> None:
    source = random.Random(12)
    questions = [words(source, source.randint(3, 6)) for _ in range(800)]
    for question in questions[:50]:
        memory.search(question)

    def bare(question: str) -> None:
        memory_block([hit.entry for hit in memory.search(question)], BUDGET)

    def asked(session: LearnSession) -> Callable[[str], object]:
        return lambda question: session.enrich_messages([{"role": "user", "content": question}])

    fresh = LearnSession(memory, LearnConfig(cache_size=0), reflector=None)
    plain, enriched = twins(bare, asked(fresh), questions)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"search and block: {said(plain)}")
    print(
        f"enrich_messages:  {said(enriched)}; {ratios(enriched[0], plain[0])} in cpu, {ratios(enriched[1], plain[1])} in wall"
    )

    again = LearnSession(memory, LearnConfig(cache_seconds=1e6), reflector=None)
    for question in questions[:100]:
        asked(again)(question)
    cached: Times = ([], [])
    for _ in range(4):
        for question in questions[:100]:
            timed(asked(again), question, cached)
    print(f"cached:           {said(cached)}")

    loop = LoopMemory(memory, ranking="memgraph")
    recall, hook = twins(loop.retrieve, lambda question: before_turn(loop, question), questions[:400])
    print(f"retrieve:         {said(recall)}")
    print(f"before_turn:      {said(hook)}; {median_of(hook, recall):+.3f} ms cpu")
    scripted = [f"the result of call {n} " * 20 for n in range(400)]
    plain, noted = twins(
        lambda result: memory.remember(f"tool=echo; input=hello; result={result}", kind="trajectory"),
        lambda result: after_tool(loop, "echo", "hello", result),
        scripted,
    )
    print(f"remember:         {said(plain)}")
    print(f"after_tool:       {said(noted)}; {median_of(noted, plain):+.3f} ms cpu")
    exact = LoopMemory(memory)
    seed: Times = ([], [])
    for question in questions[:20]:
        timed(exact.retrieve, question, seed)
    print(f"loopctl's own score, which reads every memory: {said(seed)}")


def ratios(one: list[float], other: list[float], rounds: int = 8) -> str:
    """How many times as long one of two twins takes, by medians: over all, and the least and the most of some rounds."""
    step = len(one) // rounds
    parts = [slice(None), *(slice(at, at + step) for at in range(0, step * rounds, step))]
    whole, *each = [statistics.median(one[part]) / statistics.median(other[part]) for part in parts]
    return f"{whole:.2f} times ({min(each):.2f} to {max(each):.2f} in {rounds} rounds)"


def median_of(one: Times, other: Times) -> float:
    """By how much CPU time one of two twins is the slower, call by call: the median."""
    return statistics.median(a - b for a, b in zip(one[0], other[0], strict=True))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
