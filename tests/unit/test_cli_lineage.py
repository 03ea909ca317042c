"""`memgraph lineage`: of a key, an id, a subject or a session, as a tree, a page or a diagram."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.conftest import Run

Ask = Callable[..., Any]


@pytest.fixture
def ids(ask: Ask) -> dict[str, str]:
    """Two values of a key and three memories without one, of a subject and a session."""
    lines = [
        {"content": "Ada lives in Porto", "key": "ada/city", "subject": "ada", "session": "s-1"},
        {"content": "Ada lives in Berlin", "key": "ada/city", "subject": "ada", "session": "s-2", "reason": "moved"},
        {"content": "Ada wants two rooms", "subject": "ada", "session": "s-2"},
        {"content": "Ada wants three rooms", "subject": "ada"},
        {"content": "A flat was found", "session": "s-2"},
        {"content": "Bob sings", "subject": "bob"},
    ]
    made = ask("remember-many", "-", input="\n".join(map(json.dumps, lines)))["entries"]
    names = ("porto", "berlin", "two", "three", "flat", "bob")
    found = {name: entry["id"] for name, entry in zip(names, made, strict=True)}
    ask("supersede", found["two"], "--by", found["three"], "--reason", "a child")
    ask("relate", found["flat"], found["berlin"], "--type", "lies_in")
    return found


def contents(line: Any) -> list[str]:
    return [entry["content"] for entry in line["entries"]]


def test_a_subject_is_all_its_lines_each_once(ids: dict[str, str], ask: Ask, run: Run) -> None:
    """A line is whole even where only a part of it is about the subject."""
    lines = ask("lineage", "--subject", "ada")["lineages"]
    assert [contents(line) for line in lines] == [
        ["Ada wants two rooms", "Ada wants three rooms"],
        ["Ada lives in Porto", "Ada lives in Berlin"],
    ]
    drawn = run("lineage", "--subject", "ada").stdout
    assert drawn.count("●") == 2
    assert "\n\nada/city  (namespace default)\n" in drawn
    assert ask("lineage", "ada/city") == lines[1]


def test_a_session_is_all_its_lines(ids: dict[str, str], ask: Ask) -> None:
    lines = ask("lineage", "--session", "s-2")["lineages"]
    assert [contents(line)[-1] for line in lines] == [
        "A flat was found",
        "Ada wants three rooms",
        "Ada lives in Berlin",
    ]
    both = ask("lineage", "--session", "s-1", "--subject", "ada")["lineages"]
    assert [line["key"] for line in both] == ["ada/city"]


def test_a_page_is_written_for_its_owner_and_never_over_a_file(ids: dict[str, str], ask: Ask, run: Run) -> None:
    assert run("lineage", "ada/city", "--html", "city.html").stdout == "wrote 2 memories to city.html\n"
    shown = Path("city.html").read_text(encoding="utf-8")
    for part in ("<h1><bdi>ada/city</bdi></h1>", "Ada lives in Porto", "moved", "A flat was found", "lies_in"):
        assert part in shown
    assert Path("city.html").stat().st_mode & 0o077 == 0
    refused = run("lineage", "ada/city", "--html", "city.html", code=4)
    assert "--force" in refused.stderr
    assert ask("lineage", "--subject", "ada", "--html", "city.html", "--force") == {
        "file": "city.html",
        "lines": 2,
        "memories": 4,
    }
    assert "<h1><bdi>subject ada</bdi></h1>" in Path("city.html").read_text(encoding="utf-8")
    run("lineage", ids["three"], "--html", "three.html")
    assert "<h1><bdi>Ada wants three rooms</bdi></h1>" in Path("three.html").read_text(encoding="utf-8")
    run("lineage", "ada/city", "--html", "nowhere/city.html", code=2)
    ask("remember", "once", "--id", "caf\u00e9")
    run("lineage", "cafe\u0301", "--html", "once.html")  # the same name, written in another way


def test_diagrams_are_printed(ids: dict[str, str], ask: Ask, run: Run) -> None:
    drawn = run("lineage", "ada/city", "--mermaid").stdout
    assert drawn.startswith("flowchart TB\n")
    assert 'm2 -->|"replaces: moved"| m1' in drawn
    assert 'm3 -.->|"lies_in"| m2' in drawn
    assert ask("lineage", "ada/city", "--mermaid") == {"mermaid": drawn.rstrip("\n")}
    drawn = run("lineage", "--session", "s-2", "--dot", "--width", "12").stdout
    assert drawn.startswith("digraph lineage {\n")
    assert 'label="A flat was …\\n' in drawn


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["ada/city", "--subject", "ada"], 2),
        (["ada/city", "--dot", "--mermaid"], 2),
        (["ada/city", "--html", "x.html", "--dot"], 2),
        (["ada/city", "--force"], 2),
        (["nobody"], 3),
        (["--subject", "nobody"], 3),
        (["--session", "nobody", "--html", "x.html"], 3),
    ],
)
def test_what_cannot_be_drawn_is_refused(words: list[str], code: int, ids: dict[str, str], run: Run) -> None:
    result = run("lineage", *words, code=code)
    assert result.stdout == ""
    assert result.stderr
    assert not Path("x.html").exists()
