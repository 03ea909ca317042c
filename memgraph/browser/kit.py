"""Style, guide and favourites for Neo4j Browser, made of the files in `cypher/browser/`, and links that open it with a query."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from memgraph.storage import queries

__all__ = ["Query", "favourites", "filled_in", "guide", "link", "literal", "shipped", "style"]

_FOLDER: Final = "memgraph"  # of the favourites
_ADDRESS: Final = "{{address}}"  # in the guide: where its files are served
_QUERY: Final = re.compile(r"\{\{query (\w+)\}\}")
_PARAMETER: Final = re.compile(r"\$(\w+)")
_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OF_LINKS: Final = (
    "&%#"  # Browser decodes a whole link before it takes it apart, so that these would end the query there
)


@dataclass(frozen=True)
class Query:
    """A query for people. text: the whole file, whose first line is `// title`."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The title, as Browser shows it among its favourites."""
        return self.text.partition("\n")[0].removeprefix("// ")

    @property
    def statement(self) -> str:
        """The query without its comment."""
        return queries.statement(f"browser/{self.name}")


def _text(name: str) -> str:
    return (queries.root() / "browser" / name).read_text(encoding="utf-8")


def shipped() -> list[Query]:
    """The queries for people, by name."""
    names = [name.partition("/")[2] for name in queries.names("browser")]
    return [Query(name, _text(f"{name}.cypher").rstrip()) for name in names]


def style() -> str:
    """The style sheet in Browser's own language."""
    return _text("memgraph.grass")


def guide(address: str) -> str:
    """The guide as Browser plays it, with the queries as they are shipped. address: where it is served, such as http://localhost:7475."""
    known = {query.name: query for query in shipped()}

    def block(match: re.Match[str]) -> str:
        query = known[match[1]]
        code = html.escape(query.statement)
        return f'<h4>{html.escape(query.title)}</h4>\n<pre class="pre-scrollable code runnable">{code}</pre>'

    return _QUERY.sub(block, _text("guide.html")).replace(_ADDRESS, html.escape(address))


def favourites() -> bytes:
    """A zip file which, dropped on Browser's window, makes each query a favourite in a folder of ours. The same bytes each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for query in shipped():
            archive.writestr(zipfile.ZipInfo(f"{_FOLDER}/{query.name}.cypher"), f"{query.text}\n")
    return made.getvalue()


def literal(text: str) -> str:
    """A text as Cypher writes it, for a query that is put into a person's editor. What we run ourselves has parameters."""
    shown = (_ESCAPES.get(c) or (c if c.isprintable() and c not in _OF_LINKS else _by_number(c)) for c in text)
    return f"'{''.join(shown)}'"


def _by_number(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def filled_in(name: str, values: Mapping[str, str]) -> str:
    """A query with texts in place of its parameters, under its title."""
    query = next(query for query in shipped() if query.name == name)
    statement = _PARAMETER.sub(lambda match: literal(values[match[1]]), query.statement)
    return f"// {query.title}\n{statement}"


def link(browser: str, server: str, query: str, database: str | None = None) -> str:
    """The address that opens Browser, connecting to a server, with a query in its editor.

    browser: where Browser is, such as http://localhost:7474/browser/. server: neo4j://host:port or bolt://host:port.
    """
    asked = {"dbms": server, **({"db": database} if database else {}), "cmd": "edit", "arg": query}
    return f"{browser}?{urlencode(asked, quote_via=quote)}"
