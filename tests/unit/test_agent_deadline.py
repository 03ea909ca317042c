"""Calls with a deadline: their threads are used again, end when idle, are not those of a parent, and keep nothing."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref

import pytest

from memgraph.agent import deadline
from memgraph.agent.deadline import aside, attempt


def test_what_a_call_returns_or_raises() -> None:
    assert attempt(lambda: 7, 30) == (7, None)
    value, error = attempt(lambda: [][0], 30)
    assert value is None
    assert isinstance(error, IndexError)


def test_a_call_that_waits_for_nobody_stays_in_its_thread() -> None:
    assert attempt(threading.get_ident, None) == (threading.get_ident(), None)
    _, error = attempt(lambda: [][0], None)
    assert isinstance(error, IndexError)
    with pytest.raises(KeyboardInterrupt):
        attempt(_interrupted, None)


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_threads_are_used_again_and_one_that_hangs_is_left_behind() -> None:
    first = attempt(threading.get_ident, 30)
    assert attempt(threading.get_ident, 30) == first
    gate = threading.Event()
    began = time.monotonic()
    _, late = attempt(lambda: gate.wait(60), 0.1)
    assert isinstance(late, TimeoutError)
    assert attempt(lambda: 7, 30) == (7, None), "the next call does not stand behind it"
    assert time.monotonic() - began < 30
    gate.set()


def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(deadline, "_idle", [])
    (thread, error) = attempt(threading.current_thread, 30)
    assert error is None
    assert thread is not None
    thread.join(30)
    assert not thread.is_alive()
    assert attempt(lambda: 7, 30) == (7, None)


def test_nothing_of_a_call_is_kept() -> None:
    class Content:
        pass

    content = Content()
    held = weakref.ref(content)
    assert attempt(lambda kept=content: kept is not None, 30) == (True, None)
    del content
    until = time.monotonic() + 5  # less than an idle thread lives
    while held() is not None and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    assert held() is None


def test_many_at_once() -> None:
    futures = [aside(lambda n=n: n * n) for n in range(200)]
    assert [future.result(30) for future in futures] == [n * n for n in range(200)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a platform without fork")
def test_a_forked_child_has_threads_of_its_own() -> None:
    attempt(lambda: 7, 30)
    child = os.fork()
    if child == 0:
        os._exit(0 if attempt(lambda: 7, 10) == (7, None) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
