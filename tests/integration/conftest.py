"""A Neo4j server that a test may kill, freeze and be locked out of, set up as docker/compose.yaml says, with TLS; and replicas."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import AuthError
from tests.conftest import without_server
from tests.integration import compose
from tests.integration.replicas import Laptop, fresh_namespace
from tests.neo4j_server import NoServerError, Server, maven, set_password

PASSWORD = "staple-battery-horse"
COMPOSE = {"NEO4J_PASSWORD": PASSWORD, "NEO4J_HEAP": "512m", "NEO4J_PAGE_CACHE": "64m"}
CAP = "64m"  # of a transaction


@dataclass
class OwnServer:
    """certificate: self-signed, for localhost and 127.0.0.1; None without openssl.

    first_words: what was said of the default password.
    """

    server: Server
    certificate: Path | None
    first_words: str


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory, neo4j_version: str) -> Iterator[OwnServer]:
    """One for all tests; its database is empty at first. Encryption is optional there."""
    settings = compose.settings(COMPOSE) | {"dbms.security.auth_lock_time": "2s", "db.memory.transaction.max": CAP}
    certificate = None
    if shutil.which("openssl"):
        folder = tmp_path_factory.mktemp("tls")
        certificate = folder / "public.crt"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        command += ["-keyout", str(folder / "private.key"), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
        policy = {"enabled": "true", "base_directory": str(folder), "client_auth": "NONE"}
        settings |= {f"dbms.ssl.policy.bolt.{name}": value for name, value in policy.items()}
        settings["server.bolt.tls_level"] = "OPTIONAL"
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(maven(neo4j_version, heap="512m", fresh_password=True, **settings))
        except NoServerError as error:
            without_server(str(error))
        first_words = ""
        try:
            Neo4jBackend(server.uri, auth=("neo4j", "neo4j"), timeout=20)
        except AuthError as error:
            first_words = str(error)
        server.auth = ("neo4j", PASSWORD)
        set_password(server.uri, PASSWORD)
        yield OwnServer(server, certificate, first_words)


@pytest.fixture
def namespace() -> str:
    """One that no other test uses."""
    return fresh_namespace()


@pytest.fixture
def laptop(neo4j_server: Server, tmp_path: Path, namespace: str) -> Iterator[Callable[..., Laptop]]:
    """Makes replicas of the server by name, each behind a cable of its own."""
    made: list[Laptop] = []

    def make(name: str, **options: Any) -> Laptop:
        made.append(Laptop(tmp_path / f"{name}.db", namespace, neo4j_server, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
