"""The real Neo4j Browser, served by a real server that is set up as docker/compose.yaml says, in Chromium.

Browser drops words from a caption that does not fit, without a sign; so it is compared with the title, word by word.
"""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from memgraph import Entry, Memory
from memgraph.backends.neo4j.backend import Neo4jBackend
from memgraph.backends.neo4j.damage import LABELS
from memgraph.browser import kit
from memgraph.browser.server import make_server
from memgraph.cli.main import cli
from tests.browser.sample import CITY, HOMES, HOSTILE, Sample, on_server
from tests.conftest import without_server
from tests.integration import compose
from tests.neo4j_server import NoServerError, Server, maven

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.neo4j, pytest.mark.chromium]

WELCOME = "Which memory is current, and what did it replace?"
NODES = """() => [...document.querySelectorAll('g.node')].map(node => [
  [...node.querySelectorAll('text')].map(text => text.textContent.trim()).filter(text => text).join(' '),
  node.querySelector('circle.b-outline').getAttribute('fill')])"""
ARROWS = """() => [...document.querySelectorAll('g.relationship')].map(arrow =>
  [...arrow.querySelectorAll('text')].map(text => text.textContent.trim()).join(' '))"""
WORDS = """the a of user Ada prefers meetings on Monday Wednesday afternoon budget quarterly deployment payments Kubernetes
cluster password rotated every thirty days WARNING must MUST not never always mammoth WWW QUARTERLY customer wants invoice address
changed Prenzlauer Friedrichshain internationalization I it is in lives moved March December 15 2026 12:00 e-mail"""


@dataclass
class Shown:
    """A server with Browser and the sample, and the files that it loads on connect."""

    server: Server
    sample: Sample
    entries: dict[str, Entry]

    @property
    def bolt(self) -> str:
        return self.server.uri.replace("127.0.0.1", "localhost")

    @property
    def browser(self) -> str:
        return f"{self.server.http}/browser/"


@pytest.fixture(scope="module")
def shown(chromium: Any) -> Iterator[Shown]:
    """Started once; `chromium` comes first, since without it nothing is started."""
    with contextlib.ExitStack() as stack:
        files = stack.enter_context(make_server(0))
        threading.Thread(target=files.serve_forever, daemon=True).start()
        stack.callback(files.shutdown)
        settings = compose.settings({"MEMGRAPH_BROWSER_PORT": str(files.server_port)})
        settings["dbms.security.auth_enabled"] = "false"
        try:
            server = stack.enter_context(maven("5.26", heap="768m", browser=True, **settings))
        except NoServerError as error:
            without_server(str(error))
        sample = on_server(server, "people")
        with Memory(Neo4jBackend(server.uri, timeout=20), namespace="people") as memory:
            entries = {entry.id: entry for entry in memory.list({"status": "any"}, limit=1000)}
        yield Shown(server, sample, entries)


@pytest.fixture
def browser(shown: Shown, open_page: Callable[..., Page]) -> Page:
    """Browser, connected, with the guide open."""
    page = open_page(viewport={"width": 1200, "height": 800})
    connect(page, f"{shown.browser}?dbms={shown.bolt}")
    return page


def connect(page: Page, address: str) -> None:
    """Open Browser without a password; on connect it loads style and guide."""
    from playwright.sync_api import expect

    page.goto(f"{address}&preselectAuthMethod=NO_AUTH")
    expect(page.get_by_text(WELCOME)).to_be_visible()


def run_query(page: Page, text: str) -> None:
    """Type a query over what stands in the editor, and run it."""
    page.locator("#monaco-main-editor").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)
    page.locator('[data-testid="editor-Run"]').click()


def clear(page: Page) -> None:
    """Take all frames away."""
    from playwright.sync_api import expect

    run_query(page, ":clear")
    expect(page.locator('[data-testid="frame"]')).to_have_count(0)
    expect(page.locator("g.node")).to_have_count(0)


def drop(page: Page, name: str, data: bytes) -> None:
    """Drop a file on Browser's window, as a person drags it from a folder."""
    make = """([text, name]) => { const data = Uint8Array.from(atob(text), c => c.charCodeAt(0));
      const dropped = new DataTransfer(); dropped.items.add(new File([data], name)); return dropped }"""
    dropped = page.evaluate_handle(make, [base64.b64encode(data).decode(), name])
    for event in ("dragenter", "dragover", "drop"):
        page.locator(".filedrop").first.dispatch_event(event, {"dataTransfer": dropped})


def colours() -> dict[str, str]:
    """The colour of each label that the style has a rule for."""
    return dict(re.findall(r"node\.(\w+) \{[^}]*?\n  color: (#\w+);", kit.style()))


def is_whole(caption: str, title: str) -> bool:
    """Whether a caption is its title, or the beginning of its one long word with a sign that something is left out."""
    return caption == title or (" " not in title and title.startswith(caption.removesuffix("…")) and caption[-1] == "…")


def check_graph(page: Page, entries: list[Entry], keys: list[str]) -> None:
    """Each memory is there with its whole title in the colour of its status, each key with its name, and nothing else."""
    from playwright.sync_api import expect

    expect(page.locator("g.node")).to_have_count(len(entries) + len(keys))
    seen = sorted(page.evaluate(NODES))
    palette = colours()
    # What expired by the clock alone keeps the label that it had.
    labels = [LABELS["active" if entry.status == "expired" else entry.status.value] for entry in entries]
    wanted = sorted(
        [[entry.title, palette[label]] for entry, label in zip(entries, labels, strict=True)]
        + [[key, palette["MemoryKey"]] for key in keys]
    )
    assert [colour for _, colour in seen] == [colour for _, colour in wanted]
    assert all(is_whole(got, title) for (got, _), (title, _) in zip(seen, wanted, strict=True)), (seen, wanted)


def test_style_and_guide_load_on_connect_and_a_lineage_is_read(
    browser: Page, shown: Shown, picture: Callable[[str], Path]
) -> None:
    """A person types a namespace and a key into the guide, and runs its query: nothing else is needed."""
    from playwright.sync_api import expect

    expect(browser.get_by_text("node.Superseded").first).to_be_attached()
    for box, text in (("namespace", shown.sample.namespace), ("key", CITY)):
        browser.locator(f'input[value-for="{box}"]').fill("")
        browser.locator(f'input[value-for="{box}"]').press_sequentially(text)
    browser.locator("pre.runnable i").nth(0).click()
    expect(browser.get_by_text("Successfully set your parameters")).to_be_visible()
    browser.locator("pre.runnable i").nth(1).click()
    line = [entry for entry in shown.entries.values() if entry.key == CITY]
    check_graph(browser, line, [CITY])
    expect(browser.get_by_text("Displaying 7 nodes, 7 relationships.")).to_be_visible()
    arrows = browser.evaluate(ARROWS)
    for _, reason in HOMES[1:]:
        assert reason is not None
        assert any(len(arrow) > 5 and reason.startswith(arrow.removesuffix("…").strip()) for arrow in arrows), arrows
    assert sorted(arrows)[:3] == ["CURRENT", "LATEST", "PAST"]
    browser.get_by_title("Fullscreen", exact=True).first.click()
    browser.get_by_label("Collapse the node properties display").click()
    browser.get_by_label("zoom-to-fit").click()
    browser.wait_for_timeout(1500)  # it glides there
    browser.screenshot(path=picture("browser-lineage.png"))


def test_quotes_typed_into_the_guide_break_nothing(browser: Page, shown: Shown) -> None:
    from playwright.sync_api import expect

    for box, text in (("namespace", shown.sample.namespace), ("key", HOSTILE)):
        browser.locator(f'input[value-for="{box}"]').fill("")
        browser.locator(f'input[value-for="{box}"]').press_sequentially(text)
    browser.locator("pre.runnable i").nth(0).click()
    expect(browser.get_by_text("Successfully set your parameters")).to_be_visible()
    browser.locator("pre.runnable i").nth(1).click()
    expect(browser.locator("g.node")).to_have_count(3)
    assert browser.evaluate("() => document.querySelectorAll('g.node script').length") == 0


def test_every_favourite_is_imported_and_runs(browser: Page, shown: Shown) -> None:
    """The zip is dropped on the window; each favourite is found by its title, clicked, and run with parameters."""
    from playwright.sync_api import expect

    ids = shown.sample.ids
    parameters = {"namespace": shown.sample.namespace, "key": CITY, "id": ids["lesson"], "subject": "ada", "days": 300}
    drop(browser, "memgraph.zip", kit.favourites())
    run_query(browser, f":params {json.dumps(parameters | {'known_at': shown.sample.between.isoformat()})}")
    expect(browser.get_by_text("Successfully set your parameters")).to_be_visible()
    browser.locator('[data-testid="navigationFavorites"]').click()
    browser.get_by_text("memgraph", exact=True).first.click()
    rows = {"lineage_timeline": 6, "known_at": 1, "restorable": 5, "purges": 1, "integrity": 0}
    nodes = {"lineage_graph": 7, "around_memory": 4, "subject": 22}
    for query in kit.shipped():
        clear(browser)
        browser.get_by_text(query.title, exact=True).first.click()
        expect(browser.locator("#monaco-main-editor .view-lines")).to_contain_text(query.title.split(",")[0])
        browser.locator('[data-testid="editor-Run"]').click()
        if query.name in nodes:
            expect(browser.locator("g.node")).to_have_count(nodes[query.name])
        elif query.name == "integrity":
            expect(browser.get_by_text("(no changes, no records)")).to_be_visible()
        else:
            ended = browser.get_by_text(re.compile(r"Started streaming \d+ records")).first
            expect(ended).to_be_visible()
            (count,) = re.findall(r"streaming (\d+) records", ended.inner_text())
            assert int(count) == rows.get(query.name, int(count)) > 0


def test_everything_about_a_subject_has_its_title_and_colour(browser: Page, shown: Shown) -> None:
    about = [entry for entry in shown.entries.values() if entry.subject == "ada"]
    clear(browser)
    run_query(browser, kit.filled_in("subject", {"namespace": shown.sample.namespace, "subject": "ada"}))
    keys = sorted({entry.key for entry in about if entry.key is not None})
    check_graph(browser, [*about, shown.entries[shown.sample.ids["plan"]]], keys)


def test_no_title_loses_a_word(browser: Page, shown: Shown) -> None:
    """Sentences of long, wide and short words, cut to titles of 30 characters."""
    chosen = random.Random(1)
    contents = [" ".join(chosen.choices(WORDS.split(), k=9)) for _ in range(90)]
    with Memory(Neo4jBackend(shown.server.uri, timeout=20), namespace="titles") as memory:
        entries = memory.remember_many([{"content": content, "subject": "titles"} for content in contents])
    clear(browser)
    run_query(browser, kit.filled_in("subject", {"namespace": "titles", "subject": "titles"}))
    check_graph(browser, entries, [])


def test_a_dropped_style_is_taken(browser: Page) -> None:
    """By those who have no server for it."""
    from playwright.sync_api import expect

    run_query(browser, ":style reset")
    clear(browser)
    drop(browser, "memgraph.grass", kit.style().encode())
    expect(browser.get_by_text("node.Superseded").first).to_be_attached()
    expect(browser.get_by_text("node.SetAside").first).to_be_attached()


@pytest.mark.parametrize(("what", "nodes"), [(HOSTILE, 3), ("lesson", 4)])
def test_a_link_opens_browser_with_the_query_filled_in(
    what: str, nodes: int, shown: Shown, open_page: Callable[..., Page]
) -> None:
    """As the command prints it, of a key with everything that could end a text or a link, and of an id."""
    from playwright.sync_api import expect

    words = ["--primary", shown.bolt, "-n", shown.sample.namespace, "browser", "link", "--browser", shown.browser]
    result = CliRunner().invoke(cli, [*words, "--", shown.sample.ids.get(what, what)])
    assert result.exit_code == 0, result.output
    page = open_page()
    connect(page, result.stdout.strip())
    page.locator('[data-testid="editor-Run"]').click()
    expect(page.locator("g.node")).to_have_count(nodes)
