"""The sample on a real server, and Chromium, for the tests of what people see.

Chromium is Debian's, or another that is installed, driven by playwright, which needs no browser of its own then.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.sample import Sample, on_server
from tests.conftest import RUN, without
from tests.neo4j_server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",  # a container's root has no namespaces to make one of
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Web fonts are asked for by Neo4j Browser: without a network each page would wait for them half a minute.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)
PATIENCE = 60_000  # milliseconds


@pytest.fixture(scope="session")
def sample(neo4j_server: Server) -> Sample:
    """One namespace for all tests that only look."""
    return on_server(neo4j_server, f"browser{RUN}")


@pytest.fixture(scope="package")  # not longer: while it runs, no test can run an event loop of its own
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None or importlib.util.find_spec("playwright") is None:
        without(
            "IN CHROMIUM",
            "install Chromium (on Debian: apt-get install chromium) and playwright (pip install -e '.[dev]')",
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open a window of its own: `open_page(color_scheme="dark", viewport={"width": 360, "height": 800})`."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    contexts = []

    def make(**options: Any) -> Page:
        contexts.append(chromium.new_context(**{"viewport": {"width": 1400, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        return page

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    """Where a picture goes: with --memgraph-pictures to that folder, else away with the test."""
    folder: Path = request.config.getoption("--memgraph-pictures") or tmp_path
    return lambda name: folder / name
