"""A local store and its primary in forks, event loops and threads: they work, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memgraph import AsyncMemory, Memory
from memgraph.models import Filters
from tests.integration.replicas import (
    again,
    in_touch,
    nothing_lost,
    replica,
)
from tests.neo4j_server import Server
from tests.proxy import Proxy

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
CANARY = "the canary sings"

# ---- processes, loops and threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_writes_and_closes(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = replica(tmp_path / "a.db", namespace, neo4j_server)
    memory.remember("before the fork", id="before")
    in_touch(memory)
    pid = os.fork()
    if not pid:
        try:
            memory.remember("by the child", id="child")
            assert memory.get("child").content == "by the child"
            assert memory.get("before").degraded is None
            memory.close()
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    memory.remember("by the parent", id="parent")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert memory.get("child").degraded is None
    assert memory.get("child").version[-8:] != memory.get("parent").version[-8:], "another writer"
    in_touch(memory)
    nothing_lost(
        neo4j_server,
        memory,
        {"before": "before the fork", "child": "by the child", "parent": "by the parent"},
    )
    memory.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_while_the_primary_was_away_judges_conditions_when_it_is_back(
    neo4j_server: Server, tmp_path: Path, namespace: str
) -> None:
    proxy = Proxy(neo4j_server.port)
    proxy.refuse()
    memory = replica(tmp_path / "a.db", namespace, neo4j_server, proxy.uri)
    memory.remember("a note")
    until = time.monotonic() + 30
    while memory.degraded is None and time.monotonic() < until:
        time.sleep(0.02)
    assert memory.degraded
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.read(reading, 1)
            assert memory.degraded is None, "nothing is known of it here"
            again(lambda: memory.remember("by the child", key="k", if_absent=True))
            memory.close()
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    proxy.heal()
    os.write(writing, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    memory.close()
    proxy.close()


AT_THE_END = """
import sys
from memgraph import Memory
path, uri, namespace, user, password, what = sys.argv[1:]
class Agent:
    def __init__(self):
        self.memory = Memory.open(path or None, primary=uri, auth=(user, password) if password else None, namespace=namespace)
        self.memory.remember("a note", key="k")
        self.memory.search("note")
    def __del__(self):
        try:
            if what == "read":
                self.memory.current("k")
            elif what == "write":
                self.memory.remember("the last")
        except ImportError:
            pass  # nothing is imported any more then
        self.memory.close()
        print("closed", flush=True)
def held(agent):
    yield agent
    del agent
agent = held(Agent()) if what == "generator" else Agent()
if what == "generator":
    next(agent)
"""


@pytest.mark.parametrize("what", ["close", "read", "write", "generator"])
@pytest.mark.parametrize("beside_a_file", [True, False])
def test_closing_while_the_interpreter_ends_comes_to_its_end(
    neo4j_server: Server, tmp_path: Path, namespace: str, beside_a_file: bool, what: str
) -> None:
    """Other threads do not run any more then: who waits for one waits for ever."""
    path = tmp_path / "a.db" if beside_a_file else ""
    values = [path, neo4j_server.uri, namespace, *(neo4j_server.auth or ("", "")), what]
    command = [sys.executable, "-c", AT_THE_END, *map(str, values)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr


def test_three_event_loops_in_a_row(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = AsyncMemory(replica(tmp_path / "a.db", namespace, neo4j_server))

    async def life(turn: int) -> None:
        entries = await asyncio.gather(*(memory.remember(f"note {turn} {n}") for n in range(5)))
        assert (await memory.get(entries[0].id)).degraded is None
        assert await memory.count() == 5 * (turn + 1)
        found = await memory.search(f"note {turn}", limit=20)
        assert {hit.entry.id for hit in found} >= {entry.id for entry in entries}

    for turn in range(3):
        asyncio.run(life(turn))
    asyncio.run(memory.close())


def test_verbs_work_inside_a_running_loop(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    async def main() -> None:
        with replica(tmp_path / "a.db", namespace, neo4j_server, write_concern="primary") as memory:
            entry = memory.remember("called from a coroutine", key="k")
            assert entry.stored_on == ("local", "neo4j")
            assert memory.current("k") == entry
            assert memory.sync().waiting == 0

    asyncio.run(main())


def test_sixteen_threads_see_what_they_wrote(neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    memory = replica(tmp_path / "a.db", namespace, neo4j_server)
    written: dict[str, str] = {}
    errors: list[BaseException] = []
    barrier = threading.Barrier(16)

    def work(name: int) -> None:
        try:
            barrier.wait()
            for n in range(6):
                entry = memory.remember(f"note {n} of {name}", key=f"k{name}", id=f"{name}-{n}")
                written[entry.id] = entry.content
                found = memory.current(f"k{name}")
                assert found is not None
                assert (found.id, found.degraded) == (entry.id, None)
                assert len(memory.history(f"k{name}")) == n + 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    in_touch(memory)
    nothing_lost(neo4j_server, memory, written)
    assert memory.count() == 16
    memory.close()


LIFE = """
import sys
from memgraph import Memory
with Memory.open(sys.argv[1], primary=sys.argv[2], auth=(sys.argv[4], sys.argv[5]) if sys.argv[5] else None,
                 namespace=sys.argv[3], preload=False) as memory:
    for n in range(20):
        memory.remember(f"note {n}", key="k")
    memory.current("k"), memory.search("note"), memory.history("k"), memory.count(), memory.status()
    memory.graph()
    print(memory.count(), file=sys.stdout)
"""


@pytest.mark.parametrize("state", ["well", "refused", "never closed"])
def test_no_warning_is_printed(state: str, neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    proxy = Proxy(neo4j_server.port)
    if state == "refused":
        proxy.refuse()
    values = [tmp_path / "a.db", proxy.uri, namespace, *(neo4j_server.auth or ("", ""))]
    life = LIFE
    if state == "never closed":
        life = LIFE.replace("with Memory", "for memory in [Memory").replace(" as memory:", "]:")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", life, *map(str, values)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    proxy.close()
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
@pytest.mark.parametrize("state", ["well", "refused", "black hole", "black hole in a push"])
def test_no_thread_and_no_socket_is_left(state: str, neo4j_server: Server, tmp_path: Path, namespace: str) -> None:
    before = _left()
    proxy = Proxy(neo4j_server.port)
    memory = Memory.open(
        tmp_path / "a.db", primary=proxy.uri, auth=neo4j_server.auth, namespace=namespace, preload=False
    )
    memory.remember("a note", id="a")
    again(lambda: in_touch(memory))
    assert _left()[0] > before[0]
    if state == "refused":
        proxy.refuse()
    elif state == "black hole":
        proxy.black_hole()
    elif state == "black hole in a push":
        time.sleep(1)
        proxy.black_hole()
        memory.remember("stuck")
        time.sleep(0.2)
    memory.remember("the last")
    assert memory.get("a").content == "a note"
    memory.close()
    again(lambda: _no_thread(before), 30)
    proxy.close()
    again(lambda: _no_socket(before), 30)


def _left() -> tuple[int, int]:
    """How many threads of ours, and how many connections to servers, there are."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("memgraph")]
    return len(threads), sum(_is_socket(path) for path in Path("/proc/self/fd").iterdir())


def _is_socket(path: Path) -> bool:
    try:
        return str(path.readlink()).startswith("socket:")
    except OSError:
        return False


def _no_thread(before: tuple[int, int]) -> None:
    assert _left()[0] <= before[0]


def _no_socket(before: tuple[int, int]) -> None:
    assert _left()[1] <= before[1]
