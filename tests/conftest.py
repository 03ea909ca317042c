"""Fixtures that every test may use, and the choice of the backend that the contract runs on.

`--memgraph-backend` names backends, with commas: each test of tests/contract, tests/cases and tests/seeds runs on every one.
`local` is the local store, `neo4j` a real Neo4j server (`tests/neo4j_server` says where it comes from), `composite` a local
store with that server over it; only the first store of a test is there, others are local. `pkg.module:factory` is another:
`factory(folder, clock)` returns an open `memgraph.backends.base.Backend`; the same folder means the same store.
Tests are kept apart by namespace; none wipes a store.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from memgraph import Memory
    from memgraph.backends.base import Backend
    from tests.neo4j_server import Server

RUN = secrets.token_hex(3)  # in every namespace on a server, which may hold those of other runs
_names = itertools.count(1)
_skipped: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--memgraph-backend",
        default="local",
        metavar="local|neo4j|composite|pkg.module:factory,...",
        help="the backends that the contract tests run on",
    )
    parser.addoption(
        "--memgraph-mode",
        default="failover",
        choices=["failover", "merge", "local_first"],
        help="how the composite reads",
    )
    parser.addoption(
        "--memgraph-neo4j",
        default="5.26",
        choices=["5.26", "2026.01"],
        help="the version of the Neo4j server that tests get",
    )
    parser.addoption(
        "--memgraph-pictures",
        type=Path,
        metavar="FOLDER",
        help="put the README's pictures there, as tests/browser sees them",
    )
    parser.addoption("--memgraph-examples", type=int, metavar="N", help="how many examples each property test tries")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of a shell's background job: children would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    soak = config.getoption("markexpr") == "soak"
    for name, examples in (("file", 60), ("server", 12)):  # on a server each is some hundred times as slow
        settings.register_profile(
            name,
            derandomize=True,
            deadline=None,
            max_examples=config.getoption("memgraph_examples") or (2000 if soak else examples),
            stateful_step_count=50 if soak else 25,
            suppress_health_check=list(HealthCheck),
            phases=list(Phase) if soak else (Phase.explicit, Phase.generate),  # a store is slow to shrink against
        )
    settings.load_profile("file")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for told in _skipped:
        terminalreporter.write_line(told, yellow=True, bold=True)


def started(version: str) -> Iterator[Server]:
    """A running server; the test is skipped, or fails, where there is none to be had."""
    from tests.neo4j_server import NoServerError, server

    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(server(version))
        except NoServerError as error:
            without_server(str(error))
        yield found


def without_server(reason: str) -> NoReturn:
    """Skip for want of a server."""
    without("ON A REAL NEO4J SERVER", reason)


def without(which: str, reason: str) -> NoReturn:
    """Skip, and say so loudly at the end of the run; with CI=true fail. which: the tests, after the word TESTS."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    told = f"TESTS {which} WERE SKIPPED: {reason}"
    if told not in _skipped:
        _skipped.append(told)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def neo4j_version(request: pytest.FixtureRequest) -> str:
    """What `--memgraph-neo4j` says."""
    version: str = request.config.getoption("--memgraph-neo4j")
    return version


@pytest.fixture(scope="session")
def neo4j_server(neo4j_version: str) -> Iterator[Server]:
    """A real Neo4j server, one for all tests: they are kept apart by namespace."""
    yield from started(neo4j_version)


class FrozenClock:
    """Unix seconds that move only when told. Each clock begins after every reading of the ones before it."""

    _reached = datetime(2001, 3, 1, 12, tzinfo=UTC)

    def __init__(self) -> None:
        self.now = (FrozenClock._reached + timedelta(hours=1)).replace(microsecond=0)  # a float holds it exactly
        FrozenClock._reached = self.now

    def __call__(self) -> float:
        return self.now.timestamp()

    def advance(self, seconds: float = 1.0) -> datetime:
        """Move on (or back, with a negative number) and say what time it is then."""
        self.now += timedelta(seconds=seconds)
        FrozenClock._reached = max(FrozenClock._reached, self.now)
        return self.now


@pytest.fixture
def clock() -> FrozenClock:
    """The clock of this test's stores."""
    return FrozenClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend_name" in metafunc.fixturenames:
        names = metafunc.config.getoption("--memgraph-backend").split(",")
        if metafunc.definition.path.parent.name not in ("contract", "cases", "seeds"):
            names = names[:1]
        marks = {"neo4j": pytest.mark.neo4j, "composite": pytest.mark.neo4j}
        several = [pytest.param(name, marks=marks.get(name, ())) for name in names]
        metafunc.parametrize("backend_name", several, scope="session", indirect=True)


@pytest.fixture(scope="session")
def backend_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """One of those that `--memgraph-backend` names."""
    name: str = request.param
    settings.load_profile("server" if name in ("neo4j", "composite") else "file")
    yield name
    settings.load_profile("file")


@pytest.fixture
def make_memory(
    tmp_path: Path, clock: FrozenClock, backend_name: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Memory]]:
    """Open a Memory on a store of this test: `make_memory("ns", store="other")`; one name, one store."""
    from memgraph import Memory  # here, so that tests of values and rules need no store

    opened: list[Memory] = []
    root = f"t{next(_names)}" if backend_name == "local" else f"t{RUN}-{next(_names)}"

    def make(*namespace: str, store: str = "store", clock: Callable[[], float] = clock, **options: Any) -> Memory:
        folder = tmp_path / store
        folder.mkdir(exist_ok=True)
        path = (root, *namespace)
        if backend_name == "local" or (backend_name in ("neo4j", "composite") and store != "store"):
            memory = Memory.open(folder / "memory.db", namespace=path, clock=clock, **options)
        elif backend_name in ("neo4j", "composite"):
            from memgraph.backends.neo4j.backend import Neo4jBackend

            server: Server = request.getfixturevalue("neo4j_server")
            primary = Neo4jBackend(server.uri, auth=server.auth, timeout=20, clock=clock)
            primary._max_clock_drift = 1e12  # the doctor's alone: frozen clocks are years off
            backend: Backend = primary
            if backend_name == "composite":
                from memgraph.backends.composite.backend import CompositeBackend
                from memgraph.backends.local.backend import LocalBackend

                local = LocalBackend(folder / "memory.db", clock=clock)
                mode = request.config.getoption("--memgraph-mode")
                backend = CompositeBackend(
                    local, backend, mode=mode, deadline=20, max_clock_drift=1e12
                )  # frozen clocks are years off
            memory = Memory(backend, namespace=path, clock=clock, **options)
        else:
            module, _, factory = backend_name.partition(":")
            backend = getattr(importlib.import_module(module), factory)(folder, clock)
            memory = Memory(backend, namespace=path, clock=clock, **options)
        opened.append(memory)
        return memory

    yield make
    for memory in reversed(opened):
        memory.close()


@pytest.fixture
def memory(make_memory: Callable[..., Memory]) -> Memory:
    """A fresh, durable store."""
    return make_memory()


@pytest.fixture
def backend(memory: Memory) -> Backend:
    """The backend of `memory`."""
    return memory.backend


@pytest.fixture
def local_only(backend_name: str) -> None:
    """For tests of what only a local store has: files."""
    if backend_name != "local":
        pytest.skip("about the local store's files")


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the settings of whoever runs it."""
    for name in os.environ:
        if name.startswith(("MEMGRAPH_", "NEO4J_")) and not name.startswith("MEMGRAPH_TEST_"):
            monkeypatch.delenv(name)
