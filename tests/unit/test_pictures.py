"""A lineage as a page and as diagrams: complete, and whatever memories say is text there."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import shutil
import subprocess
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from memgraph.models import Edge, Entry, Event, Lineage, Status
from memgraph.storage import queries
from memgraph.views.diagram import COLOURS, dot, mermaid
from memgraph.views.page import page
from memgraph.views.picture import Picture
from memgraph.views.plain import escape, shorten
from tests.conftest import without
from tests.unit.test_views import DANGEROUS, HARD, T0, edge, entry

HOSTILE = (
    *HARD,
    "<script>alert(1)</script>",
    "</style></title><img src=x onerror=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "' onmouseover='alert(1)",
    "&lt;b&gt; &amp; &#60;",
    "<!-- <![CDATA[ ]]> -->",
    '"]; m1 -> m2 [label="',
    '"] click m1 href "javascript:alert(1)"',
    "%%{init: {'theme': 'dark'}}%%",
    "1. first # ; `code` $$x$$ **bold**",
    "a\\nb",
)
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "p", "h1", "h2", "div", "span", "b", "bdi", "nav"),
    *("ul", "ol", "li", "a", "article", "dl", "dt", "dd", "code", "details", "summary", "footer"),
}
VOID = {"meta"}


class Parsed(HTMLParser):
    """What a browser makes of a page: its tags with their attributes, its text, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def related(a: Entry, b: Entry, type: str = "about", note: str | None = None) -> Edge:
    values = {
        "namespace": "acme",
        "source_id": a.id,
        "target_id": b.id,
        "version": a.version,
        "type": type,
        "note": note,
    }
    return Edge.model_validate({"label": "RELATES_TO", "weight": 1.0, **values})


def line_of(*entries: Entry, reasons: tuple[str | None, ...] = (), **fields: Any) -> Lineage:
    steps = tuple(
        edge(new, old, reason=reason)
        for (old, new), reason in itertools.zip_longest(itertools.pairwise(entries), reasons[: len(entries) - 1])
    )
    return Lineage(namespace="acme", key="k", entries=entries, edges=steps, **fields)


def facts(shown: str, name: str) -> dict[str, str]:
    """The facts that stand in the card of a memory."""
    card = re.search(rf'<li class="\w+" id="{name}">(.*?)</li>', shown, re.DOTALL)
    assert card
    found: dict[str, str] = {}
    for term, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card[1]):
        found[term] = "".join(Parsed(value).texts)
    return found


def test_the_page_tells_the_whole_story() -> None:
    """What replaced what and why, who wrote it and where, when it was true, what it is related to, what happened to it."""
    porto = entry("a", "Ada lives in Porto", 0, key="k", actor="ada", session="s-1", trust="user", valid_from=T0)
    berlin = entry("b", "Ada lives in Berlin", 1, Status.FORGOTTEN, key="k", source="mail", tags=("home",))
    again = entry(
        "c", "Ada lives in Berlin", 2, Status.ACTIVE, key="k", restores="b", expires_at=T0 + timedelta(days=9)
    )
    trip = entry("t", "A trip", 0, Status.ACTIVE)
    events = (
        Event(
            id="b", cause="forgotten", version=berlin.version, at=T0 + timedelta(minutes=1), reason="stale", actor="bob"
        ),
    )
    line = line_of(porto, berlin, again, reasons=("she moved", "by mistake"), events=events, current="c")
    back = Edge(label="RESTORES", namespace="acme", source_id="c", target_id="b", version=again.version)
    line = line.model_copy(update={"edges": (*line.edges, back)})
    shown = page(Picture("k", "acme", (line,), (related(trip, porto, note="in May"),), (trip,)), T0)
    assert facts(shown, "m1") == {
        "Replaced by": "Ada lives in Berlin",
        "Written by": "ada in session s-1 (trust: user)",
        "True": "from 1 May 2026 on",
        "Related": "A trip → about → this: in May",
        "Id": "a",
    }
    assert facts(shown, "m2") == {
        "Replaced": "Ada lives in Porto: she moved",
        "Replaced by": "Ada lives in Berlin",
        "Restored as": "Ada lives in Berlin",
        "Written by": "mail (trust: agent)",
        "Forgotten": "1 May 2026, 12:01:00 UTC by bob: stale",
        "Tags": "home",
        "Id": "b",
    }
    assert facts(shown, "m3")["Restores"] == "Ada lives in Berlin"
    assert facts(shown, "m3")["Expires"] == "10 May 2026, 12:00:00 UTC"
    parsed = Parsed(shown)
    assert [attributes["class"] for tag, attributes in parsed.tags if tag == "li"] == [
        "active",
        "forgotten",
        "superseded",
    ]
    assert "Current valueAda lives in Berlin" in parsed.text.replace("\n", "")
    assert "Namespace acme · 3 memories · 1 May 2026" in parsed.text


def test_a_key_without_a_value_and_a_memory_of_the_past_are_told_so() -> None:
    over = entry("a", "Porto", 0, key="k", valid_to=T0 - timedelta(days=1))
    parsed = Parsed(page(Picture("k", "acme", (line_of(over),)), T0))
    assert "There is no current value." in parsed.text
    assert "of the past" in parsed.text
    assert "Nothing is left of it." in Parsed(page(Picture("k", "acme", (line_of(),)), T0)).text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_b064_what_a_memory_says_is_text_on_the_page(hostile: str) -> None:
    """In whatever place it stands; and the page asks for nothing from anywhere."""
    fields = dict.fromkeys(("reason", "actor", "session", "source", "kind", "title"), hostile)
    old = entry(hostile, hostile, 0, key=hostile, tags=(hostile,), **fields)
    new = entry("b", hostile, 1, Status.ACTIVE, key=hostile, **fields)
    other = entry("c", hostile, 2, **fields)
    events = (Event(id="b", cause=hostile, version=new.version, at=T0, reason=hostile, actor=hostile),)
    line = line_of(old, new, reasons=(hostile,), events=events, current="b")
    picture = Picture(hostile, hostile, (line, line), (related(new, other, hostile, hostile),), (other,))
    shown = page(picture, T0)
    parsed = Parsed(shown)
    assert {tag for tag, _ in parsed.tags} <= ALLOWED
    for tag, attributes in parsed.tags:
        assert set(attributes) <= {"class", "id", "href", "dir", "lang", "charset", "content", "name", "http-equiv"}
        assert (attributes.get("href") or "#").startswith("#"), tag
    assert escape(hostile).replace("\\r\\n", "\n") in parsed.text.replace("\\r\\n", "\n")
    assert not DANGEROUS.search(shown.replace("\n", ""))


def test_the_page_allows_itself_one_style_and_nothing_else() -> None:
    shown = page(Picture("k", "acme", (line_of(entry("a", "x", 0)),)), T0)
    (policy,) = [a["content"] for tag, a in Parsed(shown).tags if a.get("http-equiv") == "Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", shown, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|https?:", style)


def test_a_long_line_and_a_long_text_are_folded_and_whole() -> None:
    entries = [entry(f"i{n}", f"text {n}", n, key="k") for n in range(40)]
    shown = page(Picture("k", "acme", (line_of(*entries, current="i39"),)), T0)
    before, _, rest = shown.partition('<details class="more">')
    inside, _, after = rest.partition("</details>")
    assert [len(re.findall(r"<li class", part)) for part in (before, inside, after)] == [8, 31, 1]
    assert "31 older ones in between" in inside
    assert re.findall(r">text (\d+)</div><dl>", shown) == [str(n) for n in range(39, -1, -1)]

    long = "Größe 👩‍👩‍👧‍👦 " * 100
    shown = page(Picture("k", "acme", (line_of(entry("a", long, 0)),)), T0)
    assert long in Parsed(shown).text
    (beginning,) = re.findall(r'<summary><span class="says" dir="auto">(.*?)…</span>', shown)
    assert long.startswith(beginning)
    assert 350 < len(beginning) <= 400
    assert not beginning.endswith("\u200d")


def test_thousands_of_versions_make_a_page_in_reasonable_size() -> None:
    entries = [entry(f"i{n}", f"v{n}", n, key="k") for n in range(3000)]
    shown = page(Picture("k", "acme", (line_of(*entries),)), T0)
    assert shown.count("<article>") == 3000
    assert len(shown) < 3_000_000


def hostile_picture() -> Picture:
    entries = [entry(f"i{n}", text, n, key=text) for n, text in enumerate(HOSTILE)]
    other = entry("other", "other", 99, Status.RELEASED)
    return Picture(
        "k", "acme", (line_of(*entries, reasons=HOSTILE),), (related(entries[0], other, HOSTILE[0]),), (other,)
    )


def test_b064_what_a_memory_says_is_text_in_mermaid() -> None:
    """No quote, bracket, backslash or mark of its own is left; only numbers that Mermaid turns into characters."""
    lines = mermaid(hostile_picture()).split("\n")
    assert lines[0] == "flowchart TB"
    text = r"(?:[^\x00-\x7f]|[A-Za-z0-9 .,:/\-_()!?+=]|#\d+;)*"
    node = re.compile(rf'  m\d+\["{text}(?:<br/>){text}"\]:::\w+')
    arrow = re.compile(rf'  m\d+ (?:-->|==>|-\.->)\|"{text}"\| m\d+')
    count = len(HOSTILE) + 1
    assert all(node.fullmatch(each) for each in lines[1 : 1 + count])
    assert all(arrow.fullmatch(each) for each in lines[1 + count : -len(COLOURS)])
    shown = [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), each).replace("\u2060", "") for each in lines]
    for number, hostile in enumerate(HOSTILE, 1):
        assert shown[number].startswith(f'  m{number}["{shorten(hostile, 72)}<br/>')


def test_b064_what_a_memory_says_is_text_in_graphviz() -> None:
    """Nothing ends a quote."""
    for each in dot(hostile_picture()).split("\n")[4:-1]:
        assert re.fullmatch(r'  m\d+ (?:-> m\d+ )?\[(?:\w+=(?:"(?:[^"\\]|\\["\\n])*"|\w+)(?:, )?)+\]', each), each


def test_graphviz_draws_each_text_as_it_is() -> None:
    if shutil.which("dot") is None:
        without("WITH GRAPHVIZ", "install it (on Debian: apt-get install graphviz)")
    done = subprocess.run(["dot", "-Tsvg"], input=dot(hostile_picture()).encode(), capture_output=True, check=True)
    drawn = {"".join(text.itertext()).replace("\xa0", " ") for text in ET.fromstring(done.stdout).iter() if text.text}
    for hostile in HOSTILE:
        assert shorten(hostile, 72).replace("\xa0", " ") in drawn


def test_diagrams_show_steps_restores_relations_and_statuses() -> None:
    old, new = entry("a", "old", 0, Status.FORGOTTEN, key="k"), entry("b", "new", 1, Status.ACTIVE, key="k")
    back = Edge(label="RESTORES", namespace="acme", source_id="b", target_id="a", version=new.version)
    line = line_of(old, new, reasons=("why",))
    other = entry("c", "pruned", 2, Status.PRUNED)
    picture = Picture(
        "k", "acme", (line.model_copy(update={"edges": (*line.edges, back)}),), (related(new, other),), (other,)
    )
    drawn = mermaid(picture)
    for part in (
        'm1["old<br/>k, forgotten, 2026-05-01 12:00 UTC"]:::forgotten',
        ":::active",
        'm3["pruned<br/>pruned, 2026-05-01 12:02 UTC"]:::expired',
        'm2 -->|"replaces: why"| m1',
        'm2 ==>|"restores"| m1',
        'm2 -.->|"about"| m3',
    ):
        assert part in drawn
    drawn = dot(picture)
    assert 'm2 -> m1 [label="replaces: why", style=solid]' in drawn
    assert 'm2 -> m3 [label="about", style=dashed]' in drawn


def test_a_relation_to_what_is_gone_is_not_drawn() -> None:
    here = entry("a", "here", 0, key="k")
    picture = Picture("k", "acme", (line_of(here),), (related(here, entry("gone", "gone", 1)),))
    assert "gone" not in mermaid(picture) + dot(picture) + page(picture, T0)


def test_the_colours_are_those_of_the_browser() -> None:
    """A person who goes from the diagram to Neo4j Browser finds the same ones."""
    grass = (queries.root() / "browser" / "memgraph.grass").read_text(encoding="utf-8")
    for status, (fill, border, ink) in COLOURS.items():
        (rule,) = re.findall(rf"node\.{status.capitalize()} \{{(.*?)\}}", grass, re.DOTALL)
        assert re.findall(r"#[0-9A-F]{6}", rule) == [fill, border, ink]
