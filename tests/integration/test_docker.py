"""docker/compose.yaml: what it promises, and that a real server takes its settings. No Docker engine is needed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import neo4j
import pytest

from memgraph.browser import kit
from tests.integration import compose
from tests.integration.conftest import COMPOSE, OwnServer
from tests.neo4j_server import VERSIONS, free_port

SERVICE = compose.service()
FILES = compose.service("browser-files")


def test_the_image_is_the_release_that_the_tests_run_on() -> None:
    assert SERVICE["image"] == f"neo4j:{VERSIONS['5.26'][0]}-community"


def test_ports_are_open_to_this_machine_only() -> None:
    ports = [compose.filled_in(port, {}) for port in SERVICE["ports"]]
    assert ports == ["127.0.0.1:7474:7474", "127.0.0.1:7687:7687"]
    assert [compose.filled_in(port, {}) for port in FILES["ports"]] == ["127.0.0.1:7475:7475"]


def test_the_password_comes_from_the_environment_and_must_be_there() -> None:
    with pytest.raises(KeyError, match="at least 8 characters"):
        compose.filled_in(SERVICE["environment"]["NEO4J_AUTH"], {})
    assert compose.filled_in(SERVICE["environment"]["NEO4J_AUTH"], COMPOSE) == f"neo4j/{COMPOSE['NEO4J_PASSWORD']}"
    example = (compose.FILE.parent / ".env.example").read_text(encoding="utf-8")
    assert re.search(r"^NEO4J_PASSWORD=$", example, re.MULTILINE), "nobody starts with a password that is known"


def test_every_variable_is_in_the_example() -> None:
    example = (compose.FILE.parent / ".env.example").read_text(encoding="utf-8")
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", compose.FILE.read_text(encoding="utf-8")))
    assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) == used


def test_the_data_is_in_a_named_volume() -> None:
    assert SERVICE["volumes"] == ["memgraph-neo4j:/data"]
    assert "\nvolumes:\n  memgraph-neo4j:\n" in compose.FILE.read_text(encoding="utf-8")


def test_health_is_a_query_whose_password_is_not_on_the_command_line() -> None:
    how, script = SERVICE["healthcheck"]["test"]
    words = shlex.split(compose.filled_in(script, {}))
    assert how == "CMD-SHELL"
    assert words[-4:] == ["cypher-shell", "-a", "bolt://localhost:7687", "RETURN 1"]
    assert words[:-4] == ["NEO4J_USERNAME=neo4j", "NEO4J_PASSWORD=${NEO4J_AUTH#neo4j/}"]


def test_names_are_translated_as_the_image_does() -> None:
    assert compose.settings(COMPOSE)["db.tx_log.rotation.retention_policy"] == "1 files"
    assert compose.settings({})["server.memory.heap.max_size"] == "1G"


def test_browser_loads_what_the_second_container_serves(tmp_path: Path) -> None:
    """Its command runs with its volumes and no library beside Python's own; the settings name the port that is published."""
    for volume in FILES["volumes"]:
        source, target, mode = volume.split(":")
        assert mode == "ro"
        shutil.copytree(compose.FILE.parent / source, tmp_path / target.lstrip("/"))
    program, *arguments = FILES["command"]
    assert program == "python"
    port = free_port()
    command = [sys.executable, "-S", *arguments, "--port", str(port)]  # -S: without what is installed beside it
    process = subprocess.Popen(command, cwd=tmp_path / FILES["working_dir"].lstrip("/"), env={})
    try:
        asked = compose.settings({"MEMGRAPH_BROWSER_PORT": str(port)})["browser.post_connect_cmd"]
        style, guide = re.fullmatch(r"style (http://\S+); play (http://\S+)", asked).groups()  # type: ignore[union-attr]
        assert _get(style, process) == kit.style()
        assert _get(guide, process) == kit.guide(f"http://localhost:{port}")
    finally:
        process.terminate()
        assert process.wait(20) == 0


def _get(url: str, process: subprocess.Popen[bytes]) -> str:
    """What a server answers, once it does."""
    for _ in range(200):
        try:
            with urlopen(url, timeout=10) as found:
                return str(found.read().decode())
        except URLError:
            assert process.poll() is None
            time.sleep(0.05)
    raise AssertionError("it does not answer")


@pytest.mark.neo4j
def test_a_server_takes_the_settings(own: OwnServer) -> None:
    """`own` was started with them; a server refuses to start with one that it does not know."""
    query = "SHOW SETTINGS YIELD name, value RETURN name, value"
    with neo4j.GraphDatabase.driver(own.server.uri, auth=own.server.auth) as driver:
        values = dict(driver.execute_query(query).records)  # type: ignore[arg-type]
        wanted = compose.settings(COMPOSE)
        assert {name: _bytes(values[name]) for name in wanted} == {
            name: _bytes(value) for name, value in wanted.items()
        }
        with pytest.raises(neo4j.exceptions.ClientError, match="at least 8 characters"):
            driver.execute_query(
                "ALTER CURRENT USER SET PASSWORD FROM $old TO $new",
                old=COMPOSE["NEO4J_PASSWORD"],
                new="seven77",
                database_="system",
            )


def _bytes(value: str) -> str:
    """A size in one spelling: the server says 4.00MiB where 4M was asked for."""
    found = re.fullmatch(r"(\d+)(?:\.00)?([kmg])(?:iB)?", value, re.IGNORECASE)
    return f"{found[1]}{found[2].lower()}" if found else value
