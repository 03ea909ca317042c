"""The lineage page in Chromium: light, dark, narrow and printed, without a request, a script or a warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from memgraph.backends.local.backend import LocalBackend
from memgraph.cli.main import cli
from tests.browser.sample import CITY, HOSTILE, Days, fill

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.chromium

LONG = "Ärger " + "x" * 300 + " end. " + "Grüße aus Berlin. " * 60

# Every text that is seen, its colour and that of what lies behind it, as [text, colour, background].
COLOURS = """() => [...document.querySelectorAll('main *')]
  .filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()) && each.checkVisibility())
  .map(each => {
    let behind = each
    while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement
    return [each.textContent, getComputedStyle(each).color, getComputedStyle(behind).backgroundColor]
  })"""
PAGES = {"city": [CITY], "hostile": ["--", HOSTILE], "subject": ["--subject", "ada"], "long": ["long"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample in a file's store, and the pages of it."""
    found = tmp_path_factory.mktemp("pages")
    days = Days(200)
    fill(LocalBackend(found / "memory.db", clock=days), "acme", days)
    for number in range(30):
        write(found, "remember", f"{number} {LONG}", "--key", "long")
    for name, words in PAGES.items():
        write(found, "lineage", "--html", str(found / f"{name}.html"), *words)
    return found


def write(folder: Path, *words: str) -> None:
    result = CliRunner().invoke(cli, ["--store", str(folder / "memory.db"), "-n", "acme", *words])
    assert result.exit_code == 0, result.output


def look(page: Page, file: Path) -> list[str]:
    """Open a page; what it asks for, says or does besides being shown is returned."""
    odd: list[str] = []
    page.on("request", lambda request: odd.append(request.url) if request.url != file.as_uri() else None)
    page.on("console", lambda message: odd.append(message.text))
    page.on("pageerror", lambda error: odd.append(str(error)))
    page.on("dialog", lambda dialog: odd.append(dialog.message))
    page.goto(file.as_uri())
    return odd


def channel(value: float) -> float:
    return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`. Source: WCAG 2."""
    red, green, blue = (channel(int(part) / 255) for part in colour[4:-1].split(", "))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["city", "subject"])
def test_every_text_can_be_read(
    name: str, scheme: str, folder: Path, open_page: Callable[..., Page], picture: Callable[[str], Path]
) -> None:
    """With the contrast of WCAG 2 AA, 4.5 to 1, in light and in dark."""
    page = open_page(color_scheme=scheme, viewport={"width": 900, "height": 800})
    assert look(page, folder / f"{name}.html") == []
    page.screenshot(path=picture(f"page-{name}-{scheme}.png"))
    seen = page.evaluate(COLOURS)
    assert len(seen) > 30
    for text, colour, behind in seen:
        darker, lighter = sorted((luminance(colour), luminance(behind)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, colour, behind)
    (ground,) = {behind for text, _, behind in seen if text.startswith("Made by")}
    assert (luminance(ground) > 0.5) == (scheme == "light")


def test_b064_a_hostile_page_does_nothing(folder: Path, open_page: Callable[..., Page]) -> None:
    page = open_page()
    assert look(page, folder / "hostile.html") == []
    assert (
        page.evaluate("() => document.scripts.length + document.querySelectorAll('main b:not([class] b)').length") >= 0
    )
    assert page.evaluate("() => document.scripts.length") == 0
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator(".now .says").inner_text() == HOSTILE + "!"


def test_the_policy_holds(folder: Path, open_page: Callable[..., Page]) -> None:
    """Were there a hole in our escaping, nothing would come of it: a script put into the page does not run."""
    file = folder / "holed.html"
    city = (folder / "city.html").read_text(encoding="utf-8")
    hole = (
        "<script>document.title = 'run'</script><img src='http://localhost:9/x.png' onerror=\"document.title = 'run'\">"
    )
    file.write_text(city.replace("<main>", f"<main>{hole}<style>h1 {{ color: red }}</style>"), encoding="utf-8")
    page = open_page()
    refused = look(page, file)
    assert page.title() == f"{CITY}: lineage"
    assert len([each for each in refused if "Content Security Policy" in each]) >= 3
    assert page.locator("h1").evaluate("e => getComputedStyle(e).color") != "rgb(255, 0, 0)"


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_telephone(name: str, folder: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(viewport={"width": 360, "height": 800})
    assert look(page, folder / f"{name}.html") == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_what_is_folded_opens_and_is_printed(folder: Path, open_page: Callable[..., Page]) -> None:
    page = open_page()
    look(page, folder / "long.html")
    cards = page.locator("article")
    assert cards.count() == 30
    hidden = cards.nth(15)
    assert not hidden.is_visible()
    assert not page.locator(".now div.says").is_visible()
    page.get_by_text("21 older ones in between").click()
    assert hidden.is_visible()
    page.reload()
    assert not hidden.is_visible()
    page.emulate_media(media="print")
    assert all(card.is_visible() for card in cards.all())
    assert page.locator(".now div.says").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_links_lead_to_memories(folder: Path, open_page: Callable[..., Page]) -> None:
    page = open_page()
    look(page, folder / "city.html")
    page.locator("li.active dd a").first.click()
    target: Any = page.locator("li:target article > .says")
    assert target.inner_text() == "Ada is in Berlin for a while"
