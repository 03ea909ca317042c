"""The full matrix, by hand (`pytest -m matrix`): contract, cases, seeds and the tests on real servers, on every Neo4j version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.neo4j_server import VERSIONS

ROOT = Path(__file__).parents[1]


@pytest.mark.matrix
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("version", VERSIONS)
def test_everything_on(version: str) -> None:
    """CI=true: a server that is missing is a failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--memgraph-neo4j={version}"]
    command += ["--memgraph-backend=neo4j,composite", "-m", "neo4j and not soak and not matrix and not bench", "tests"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"CI": "true"}, check=False)
    assert done.returncode == 0
