"""What is given to Neo4j Browser: style, guide, favourites and links, and the server of the first three."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from memgraph.browser import kit
from memgraph.browser.server import FAVOURITES, GUIDE, STYLE, make_server
from memgraph.errors import InvalidInputError
from memgraph.storage import queries
from tests.unit.conftest import Run

PACKAGE = Path(queries.__file__).parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with make_server(0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def answer(
    port: int, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers or {})
    found = connection.getresponse()
    body = found.read()
    connection.close()
    return found.status, {name.lower(): value for name, value in found.getheaders()}, body


# ---- style and favourites


def test_the_style_selects_labels_with_the_statuses_after_all_memories() -> None:
    """Later rules win, and Browser's language knows labels only."""
    rules = re.findall(r"^((?:node|relationship)(?:\.\w+)?) \{$", kit.style(), re.MULTILINE)
    assert len(rules) == len(set(rules)) == kit.style().count("{\n")
    statuses = ["node.Active", "node.Superseded", "node.Forgotten", "node.Expired"]
    assert [rules.index(rule) > rules.index("node.Memory") for rule in statuses] == [True] * 4
    labels = {rule.partition(".")[2] for rule in rules} - {""}
    primed = queries.statement("schema/018_prime_names")
    assert labels - {"SET_ASIDE"} <= set(re.findall(r":(\w+)", primed)), "a label that no memory has"
    memory = re.search(r"node\.Memory \{(.*?)^\}", kit.style(), re.DOTALL | re.MULTILINE)
    assert memory
    assert "diameter: 100px" in memory[1]
    assert 'caption: "{title}"' in memory[1]


def test_favourites_are_the_files_in_one_folder() -> None:
    assert kit.favourites() == kit.favourites()
    with zipfile.ZipFile(io.BytesIO(kit.favourites())) as archive:
        names = archive.namelist()
        texts = [archive.read(name).decode() for name in names]
    assert [f"browser/{name.removeprefix('memgraph/').removesuffix('.cypher')}" for name in names] == queries.names(
        "browser"
    )
    for query, text in zip(kit.shipped(), texts, strict=True):
        assert text.startswith(f"// {query.title}\n")
        assert query.statement in text
        assert 10 < len(query.title) < 60
    assert len({query.title for query in kit.shipped()}) == len(texts)


# ---- the guide


class Guide(HTMLParser):
    """The guide's inputs, the parts of its texts that they fill in, and its runnable texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inputs: dict[str, str] = {}
        self.filled: dict[str, str] = {}
        self.runnable: list[str] = []
        self.tags: set[str] = set()
        self._pre = False
        self._key: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        if tag == "pre":
            self._pre = True
            self.runnable.append("")
        self._key = given.get("value-key")
        if given.get("value-for"):
            self.inputs[str(given["value-for"])] = str(given["value"])

    def handle_endtag(self, tag: str) -> None:
        self._pre = self._pre and tag != "pre"
        self._key = None

    def handle_data(self, data: str) -> None:
        if self._pre:
            self.runnable[-1] += data
        if self._key:
            self.filled[self._key] = data


def test_the_guide_holds_every_query_as_it_is_shipped() -> None:
    guide = Guide(kit.guide("http://localhost:1234"))
    assert "{{" not in kit.guide("http://localhost:1234")
    assert {query.statement for query in kit.shipped()} <= set(guide.runnable)
    assert "slide" in guide.tags
    assert "script" not in guide.tags
    assert 'exec-topic="style http://localhost:1234/memgraph.grass"' in kit.guide("http://localhost:1234")
    assert 'exec-topic="style http://&quot;' in kit.guide('http://"')


def test_the_guide_has_a_box_for_every_parameter() -> None:
    """Each is set by one of its lines, within backticks: a quote typed in means nothing there."""
    guide = Guide(kit.guide("http://localhost:1234"))
    wanted = {name for query in kit.shipped() for name in re.findall(r"\$(\w+)", query.statement)}
    assert set(guide.inputs) == set(guide.filled) == wanted
    lines = [text for text in guide.runnable if text.startswith(":param")]
    for name in wanted:
        (line,) = [text for text in lines if re.search(rf"[{{,] ?{name}\b", text.partition("=>")[0])]
        assert f"keys({{`{guide.filled[name]}`: 0}})[0]" in line


# ---- links


@pytest.mark.parametrize(
    "text", ["plain", "it's", 'a "b"', "back\\slash \\u0041", "a\nb\tc\r", "$key", "\u202e\u0007", "日本"]
)
def test_a_text_in_a_query_is_one_literal(text: str) -> None:
    shown = kit.literal(text)
    assert re.fullmatch(r"'(?:[^'\\\n\r]|\\['\\nrt]|\\u[0-9a-f]{4})*'", shown)
    assert shown.isprintable()
    assert not set(shown) & set("&%#"), "they would end the query in a link"


def test_a_query_is_filled_in_once() -> None:
    """A value that looks like a parameter is a value."""
    filled = kit.filled_in("lineage_graph", {"namespace": "$key", "key": "ada's"})
    assert filled.startswith("// Lineage of a key, as a graph\nMATCH ")
    assert "memory.namespace = '$key' AND memory.key = 'ada\\'s'" in filled


def test_a_link_holds_everything() -> None:
    url = kit.link("http://localhost:7474/browser/", "neo4j://localhost:7687", "RETURN '&#?+ '", "people")
    assert urlsplit(url).path == "/browser/"
    assert parse_qs(urlsplit(url).query) == {
        "dbms": ["neo4j://localhost:7687"],
        "db": ["people"],
        "cmd": ["edit"],
        "arg": ["RETURN '&#?+ '"],
    }
    assert "+" not in url, "a blank that is written as + would stay one"


# ---- the server


def test_the_server_gives_its_files_to_pages_from_anywhere(port: int) -> None:
    wanted = {
        STYLE: ("text/plain; charset=utf-8", kit.style().encode()),
        GUIDE: ("text/html; charset=utf-8", kit.guide(f"http://127.0.0.1:{port}").encode()),
        FAVOURITES: ("application/zip", kit.favourites()),
    }
    for path, (kind, body) in wanted.items():
        for asked in (path, f"{path}?x=1"):
            status, headers, got = answer(port, asked)
            assert (status, headers["content-type"], got) == (200, kind, body)
            assert headers["access-control-allow-origin"] == "*"
            assert headers["x-content-type-options"] == "nosniff"
        status, headers, got = answer(port, path, "HEAD")
        assert (status, headers["content-length"], got) == (200, str(len(body)), b"")
    for path in (STYLE, GUIDE, FAVOURITES):
        assert path.encode() in answer(port, "/")[2]


def test_the_server_answers_what_browser_asks_first(port: int) -> None:
    """`:play` sends pragma and cache-control, so Chromium asks whether it may."""
    headers = {"Origin": "http://localhost:7474", "Access-Control-Request-Headers": "cache-control,pragma"}
    status, found, _ = answer(port, GUIDE, "OPTIONS", headers | {"Access-Control-Request-Private-Network": "true"})
    assert (status, found["access-control-allow-origin"], found["access-control-allow-headers"]) == (204, "*", "*")
    assert found["access-control-allow-private-network"] == "true"
    assert "access-control-allow-private-network" not in answer(port, GUIDE, "OPTIONS", headers)[1]


@pytest.mark.parametrize(
    "path", ["/x", "/../pyproject.toml", "/cypher/browser/guide.html", "/%2e%2e/", "/memgraph.grass/"]
)
def test_the_server_gives_out_nothing_else(path: str, port: int) -> None:
    assert answer(port, path)[0] == 404
    assert answer(port, STYLE, "POST")[0] == 501


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost:9", "http://localhost:9"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("evil.example", None),
        ('localhost:9"><script>', None),
        ("localhost:9.evil.example", None),
    ],
)
def test_the_guide_names_the_address_that_it_was_asked_at_if_that_is_this_machine(
    host: str, address: str | None, port: int
) -> None:
    body = answer(port, GUIDE, headers={"Host": host})[2].decode()
    assert f'"style {address or f"http://localhost:{port}"}/memgraph.grass"' in body


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InvalidInputError, match=r"port \d+ cannot be had") as caught:
            make_server(other.getsockname()[1])
    assert "--port" in (caught.value.hint or "")


@pytest.mark.parametrize("words", [["-m", "memgraph", "--json", "browser", "serve"], ["-S", "-m", "memgraph.browser"]])
def test_it_serves_until_it_is_told_to_stop(words: list[str]) -> None:
    """Also without a single library (-S): so it runs in a container that has Python alone."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, *words, "--port", str(port)]
    process = subprocess.Popen(command, cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if "memgraph" in words:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["style"] == f"http://localhost:{port}{STYLE}"
        for _ in range(200):
            try:
                assert answer(port, STYLE)[2] == kit.style().encode()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == (130 if "memgraph" in words else 0)
    assert "Traceback" not in said


# ---- the command


def test_favourites_are_written_once(run: Run) -> None:
    run("browser", "favourites", "memgraph.zip")
    assert Path("memgraph.zip").read_bytes() == kit.favourites()
    assert "--force" in run("browser", "favourites", "memgraph.zip", code=4).stderr
    run("browser", "favourites", "memgraph.zip", "--force")


def test_a_link_is_printed_or_opened(run: Run, store: Path) -> None:
    """The file answers what the link leads to, also while its primary is away. BROWSER names the program that opens links."""
    run("remember", "Porto", "--key", "ada's city")
    for primary, browser in (
        ("neo4j://127.0.0.1:9", "http://127.0.0.1:7474/browser/"),
        ("bolt+s://[::1]:9", "https://[::1]:7473/browser/"),
    ):
        url = run("browser", "link", "ada's city", "--primary", primary).stdout.strip()
        asked = parse_qs(urlsplit(url).query)
        assert url.startswith(f"{browser}?")
        assert asked["dbms"] == [primary]
        assert asked["arg"] == [kit.filled_in("lineage_graph", {"namespace": "default", "key": "ada's city"})]
    opener = store.parent / "opener"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > "{store.parent}/opened"\n')
    opener.chmod(0o700)
    words = ["browser", "link", "ada's city", "--primary", "bolt+s://[::1]:9", "--open"]
    for program, shown, opened in ((f"{opener} %s", "", True), ("/nowhere %s", f"{url}\n", False)):
        environ = {**os.environ, "BROWSER": program, "PATH": "/nowhere"}
        done = subprocess.run(
            [sys.executable, "-m", "memgraph", *words],
            env=environ,
            cwd=PACKAGE,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == shown
        assert ("opened in the web browser" in done.stderr) is opened
    assert (store.parent / "opened").read_text() == url


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["link"], 2, "key"),
        (["serve", "x"], 2, "nothing to serve"),
        (["favourites"], 2, "file"),
        (["link", "k", "--port", "1"], 2, "--port goes with serve"),
        (["serve", "--open"], 2, "--open goes with link"),
        (["link", "k"], 1, "lineage KEY --html"),
        (["link", "k", "--primary", "neo4j://127.0.0.1:9"], 3, "no memory has this key or id"),
    ],
)
def test_what_cannot_be_done_is_refused(words: list[str], code: int, told: str, run: Run) -> None:
    assert told in run("browser", *words, code=code).stderr
