"""Opening the Neo4j backend in tests of the connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import neo4j

from memgraph import Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.errors import UnavailableError
from tests.conftest import RUN
from tests.neo4j_server import Server

__all__ = ["again", "empty", "memory_of", "opened", "quick"]

T = TypeVar("T")


def opened(server: Server, port: int | None = None, scheme: str = "bolt", **options: Any) -> Neo4jBackend:
    """A patient backend, through a relay's port if one is given."""
    return Neo4jBackend(f"{scheme}://127.0.0.1:{port or server.port}", auth=server.auth, **{"timeout": 20, **options})


def quick(server: Server, port: int | None = None, scheme: str = "bolt", **options: Any) -> Neo4jBackend:
    """A backend with the default deadline whose pool has a connection; on a busy machine it may take a few tries."""
    for _ in range(50):
        try:
            found = opened(server, port, scheme, timeout=0.8, **options)
            found.namespaces(None)
            return found
        except UnavailableError:
            time.sleep(0.2)
    raise AssertionError("the server is slower than a dead one")


def again(call: Callable[[], T]) -> T:
    """The answer of a call, once the server is back."""
    for _ in range(100):
        try:
            return call()
        except UnavailableError:
            time.sleep(0.1)
    return call()


def memory_of(backend: Neo4jBackend, name: str) -> Memory:
    return Memory(backend, namespace=(f"connection{RUN}", name))


def empty(server: Server, schema: bool) -> None:
    """Delete every node, and constraints and indexes too if the schema is to go."""
    with neo4j.GraphDatabase.driver(server.uri, auth=server.auth) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        if schema:
            for row in driver.execute_query("SHOW CONSTRAINTS YIELD name").records:
                driver.execute_query(f"DROP CONSTRAINT {row['name']}")
            for row in driver.execute_query("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'").records:
                driver.execute_query(f"DROP INDEX {row['name']}")
