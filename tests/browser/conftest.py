"""The sample on a real server, for the tests of what people see in Neo4j Browser."""

from __future__ import annotations

import pytest

from tests.browser.sample import Sample, fill
from tests.conftest import RUN
from tests.neo4j_server import Server


@pytest.fixture(scope="session")
def sample(neo4j_server: Server) -> Sample:
    """One namespace for all tests that only look."""
    return fill(neo4j_server, f"browser{RUN}")
