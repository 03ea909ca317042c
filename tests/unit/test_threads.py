"""Calls in other threads, with a deadline and without, and waiting that a signal cannot break."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from typing import Any

import pytest

from memgraph import threads
from memgraph.agent.deadline import attempt
from memgraph.threads import Call, Event, aside


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
    monkeypatch.setattr(threads, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(threads, "_idle", [])
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
    calls = [aside(lambda n=n: n * n) for n in range(200)]
    assert [call.result() for call in calls] == [n * n for n in range(200)]


def test_a_call_raises_what_it_raised_whenever_it_is_asked() -> None:
    call = aside(lambda: [][0])
    for _ in range(2):
        with pytest.raises(IndexError):
            call.result()
    assert call.done


def test_an_event_wakes_all_who_wait() -> None:
    event, woken = Event(), []
    waiting = [threading.Thread(target=lambda: woken.append(event.wait(30))) for _ in range(8)]
    for thread in waiting:
        thread.start()
    assert not event.wait(0.02)
    event.set()
    for thread in waiting:
        thread.join(30)
    assert woken == [True] * 8
    assert event.wait()
    event.clear()
    assert not event.wait(0)
    assert not event.wait(-1)


def test_a_pulse_wakes_who_waits_now_and_nobody_later() -> None:
    event, woken = Event(), []
    thread = threading.Thread(target=lambda: woken.append(event.wait(30)))
    thread.start()
    until = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < until:
        event.pulse()
        time.sleep(0.001)
    assert woken == [False]
    assert not event.wait(0.01)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a platform without timers that interrupt")
def test_who_sets_an_event_or_ends_a_call_does_not_hang_after_a_signal() -> None:
    """Python's own Event and Future hang here within some thousand rounds: the one who waits leaves their lock taken."""
    armed = False

    def interrupt(*_: Any) -> None:
        if armed:
            raise InterruptedError

    def wait(
        call: Call[int], event: Event
    ) -> None:  # a call of its own: a jump back may lie outside the `try` around it
        call.result()
        while not event.wait(0.00001):
            pass

    before = signal.signal(signal.SIGALRM, interrupt)
    rounds = interrupted = 0
    until = time.monotonic() + 2
    try:
        while time.monotonic() < until:
            event, call = Event(), aside(lambda: 7)
            rounds += 1
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.00001 + 0.0003 * (rounds % 97) / 97)
                wait(call, event)
            except InterruptedError:
                interrupted += 1
            armed = False
            setting = threading.Thread(target=event.set, daemon=True)
            setting.start()
            setting.join(30)
            assert not setting.is_alive()
            assert call.wait(30)
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == rounds > 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a platform without fork")
def test_a_forked_child_has_threads_of_its_own() -> None:
    attempt(lambda: 7, 30)
    child = os.fork()
    if child == 0:
        os._exit(0 if attempt(lambda: 7, 10) == (7, None) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
