"""The command `browser`: what people need to look at memories in Neo4j Browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from memgraph import checks
from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.files import check_free, write_file
from memgraph.errors import UnsupportedError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.config import Settings

_OPTIONS = {"port": "serve", "browser": "link", "open": "link", "force": "favourites"}


@verb(
    "browser",
    "memgraph browser serve",
    "memgraph browser link ada/city --primary neo4j://localhost:7687 --open",
    "memgraph browser favourites memgraph.zip",
)
@click.argument("action", type=click.Choice(("serve", "link", "favourites")))
@click.argument("what", required=False, metavar="[KEY|ID|FILE]")
@click.option("--port", type=click.IntRange(0, 65535), help="For serve: the port, by default 7475; 0 takes a free one.")
@click.option(
    "--browser",
    metavar="URL",
    help="For link: where Neo4j Browser is, by default the server's own, such as http://host:7474/browser/.",
)
@click.option("--open", "open_", is_flag=True, help="For link: open it, instead of printing it.")
@click.option("--force", is_flag=True, help="For favourites: replace a file that is there already.")
@pass_call
def browser_command(
    call: Call, action: str, what: str | None, port: int | None, browser: str | None, open_: bool, force: bool
) -> None:
    """Look at memories in Neo4j Browser.

    serve: give Browser the colours and the guide, on this machine only, until Ctrl-C. It says what to type in Browser. Nothing
    of any store is served.

    link: the address that opens Browser with the lineage of a key in its editor, or with what lies around a memory. The key or
    the id is in it.

    favourites: a zip file with the queries; drop it on Browser's window.
    """
    given = {"port": port is not None, "browser": browser is not None, "open": open_, "force": force}
    for name, of in _OPTIONS.items():
        if given[name] and action != of:
            raise click.UsageError(f"--{name} goes with {of}.")
    if (what is None) != (action == "serve"):
        raise click.UsageError("Give a key or an id to link, a file for favourites, and nothing to serve.")
    if action == "serve":
        _serve(call, port)
    elif action == "link":
        assert what is not None
        _link(call, what, browser, open_)
    else:
        assert what is not None
        _favourites(call, Path(what), force)


def _serve(call: Call, port: int | None) -> None:
    from memgraph.browser import server

    with server.make_server(server.DEFAULT_PORT if port is None else port) as running:
        address = f"http://localhost:{running.server_port}"
        files = {"style": server.STYLE, "guide": server.GUIDE, "favourites": server.FAVOURITES}

        def lines() -> Iterator[str]:
            yield f"serving {address} until Ctrl-C; in Neo4j Browser's editor:"
            yield f"  :style {address}{server.STYLE}"
            yield f"  :play {address}{server.GUIDE}"
            yield f"favourites: save {address}{server.FAVOURITES} and drop it on Browser's window"

        call.show({name: address + path for name, path in files.items()}, lines)
        sys.stdout.flush()  # a pipe would keep it until the end
        running.serve_forever()


def _link(call: Call, key_or_id: str, browser: str | None, open_: bool) -> None:
    from memgraph.browser import kit

    settings = call.settings()
    address = _primary(settings)
    memory = call.memory()
    name = checks.name(key_or_id, "key_or_id")
    if memory.lineage(name).key is not None:
        query = kit.filled_in("lineage_graph", {"namespace": memory.path, "key": name})
    else:
        query = kit.filled_in("around_memory", {"namespace": memory.path, "id": name})
    parts = urlsplit(address)
    server = f"{parts.scheme}://{parts.netloc}"
    url = kit.link(browser or _browser_of(address), server, query, settings.neo4j_database)
    opened = False
    if open_:
        import webbrowser

        opened = webbrowser.open(url)
        call.note("opened in the web browser" if opened else "no web browser could be opened here; this is the link")
    call.show({"link": url, "opened": opened}, lambda: [] if opened else [url])


def _primary(settings: Settings) -> str:
    """The address of the primary. Raises UnsupportedError where there is none."""
    if settings.primary is not None:
        return settings.primary.get_secret_value()
    if "://" in settings.store:
        return settings.store
    raise UnsupportedError(
        "Neo4j Browser shows a primary, and this store is a file alone",
        hint="Name the primary with --primary, or draw the lineage of a file with `memgraph lineage KEY --html FILE`.",
    )


def _browser_of(address: str) -> str:
    """Where a server has its own Browser, unless somebody changed that."""
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"https://{host}:7473/browser/" if "+" in parts.scheme else f"http://{host}:7474/browser/"


def _favourites(call: Call, path: Path, force: bool) -> None:
    from memgraph.browser import kit

    check_free(call, path, force=force)
    write_file(path, kit.favourites())
    count = len(kit.shipped())
    call.show(
        {"file": str(path), "favourites": count},
        lambda: [f"wrote {count} favourites to {escape(str(path))}; drop it on Neo4j Browser's window"],
    )
