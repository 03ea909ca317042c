"""A primary alone, as a user opens it: through `Memory.open`, through settings, and from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid

import pytest

from memgraph import Memory
from memgraph.config import resolve
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j


@pytest.fixture
def space() -> str:
    """A namespace of this test's own."""
    return f"open/{uuid.uuid4()}"


def test_memory_open(neo4j_server: Server, space: str) -> None:
    """The same life as on a file: latest wins, search shows what is current, history stays."""
    with Memory.open(neo4j_server.uri, auth=neo4j_server.auth, namespace=space) as memory:
        memory.remember("Ada lives in Porto", key="ada/city")
        memory.remember("Ada lives in Berlin", key="ada/city", reason="she moved")
        assert memory.current("ada/city").content == "Ada lives in Berlin"  # type: ignore[union-attr]
        assert [hit.entry.content for hit in memory.search("where does Ada live")] == ["Ada lives in Berlin"]
        assert [entry.content for entry in memory.history("ada/city")] == ["Ada lives in Porto", "Ada lives in Berlin"]
        assert memory.status().backend == "neo4j"


def test_settings_and_the_command_line(neo4j_server: Server, space: str) -> None:
    """MEMGRAPH_PRIMARY alone sends every verb to the server; its password is not shown."""
    environ = {"MEMGRAPH_PRIMARY": neo4j_server.uri, "MEMGRAPH_NAMESPACE": space, "PYTHONIOENCODING": "utf-8"}
    if neo4j_server.auth:
        environ |= {"NEO4J_USERNAME": neo4j_server.auth[0], "NEO4J_PASSWORD": neo4j_server.auth[1]}
    with Memory.open(**resolve(environ=environ).arguments()) as memory:
        memory.remember("written through the settings", key="k")

    def run(*words: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "memgraph", *words]
        done = subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        if neo4j_server.auth:
            assert neo4j_server.auth[1] not in done.stdout + done.stderr
        return done.stdout

    assert json.loads(run("--json", "current", "k"))["content"] == "written through the settings"
    run("remember", "from the command line", "--key", "k")
    assert "from the command line" in run("search", "command line")
    # partial: the server's transaction logs hold what was purged until they rotate, and the receipt says so
    assert "purged" in run("purge", "--key", "k", "--yes")
    assert json.loads(run("--json", "count"))["count"] == 0
    assert "MEMGRAPH_PRIMARY" in run("config")
