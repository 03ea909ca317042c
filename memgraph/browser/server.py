"""A small web server for the files that Neo4j Browser loads: style, guide, favourites. It gives out nothing of any store."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from memgraph.browser import kit
from memgraph.errors import InvalidInputError

__all__ = ["DEFAULT_PORT", "FAVOURITES", "GUIDE", "STYLE", "make_server"]

DEFAULT_PORT: Final = 7475
STYLE: Final = "/memgraph.grass"
GUIDE: Final = "/guide.html"
FAVOURITES: Final = "/favourites.zip"
_LOCAL: Final = re.compile(r"(?:localhost|127\.0\.0\.1)(?::\d{1,5})?\Z")
_log: Final = logging.getLogger("memgraph.browser")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class _Files(BaseHTTPRequestHandler):
    """Answers GET and HEAD for our files, and OPTIONS, which Browser asks before it loads a guide from another place."""

    server_version = "memgraph"
    sys_version = ""
    timeout = 10  # seconds for a client to say what it wants

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_OPTIONS(self) -> None:
        self.send_response(HTTPStatus.NO_CONTENT)
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        if self.headers.get("Access-Control-Request-Private-Network") == "true":  # Chromium, of a page from elsewhere
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    def _answer(self, *, with_body: bool) -> None:
        made = _FILES.get(self.path.partition("?")[0])
        if made is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, make = made
        body = make(self._address())
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _address(self) -> str:
        """Where the asker reached us: behind a container's port that is another than ours."""
        asked = self.headers.get("Host", "")
        return f"http://{asked}" if _LOCAL.match(asked) else f"http://localhost:{self.connection.getsockname()[1]}"

    def end_headers(self) -> None:
        """Every answer may be read by a page from anywhere: the files are the same for everybody."""
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """What was asked for may be anything, so it is not logged."""
        _log.debug("%s answered", self.command)


def _index(address: str) -> bytes:
    return "\n".join(
        (
            "memgraph for Neo4j Browser. In Browser's editor:",
            f"  :style {address}{STYLE}",
            f"  :play {address}{GUIDE}",
            f"Favourites: save {address}{FAVOURITES} and drop it on Browser's window.",
            "",
        )
    ).encode()


_FILES: Final[dict[str, tuple[str, Callable[[str], bytes]]]] = {
    "/": ("text/plain; charset=utf-8", _index),
    STYLE: ("text/plain; charset=utf-8", lambda address: kit.style().encode()),
    GUIDE: ("text/html; charset=utf-8", lambda address: kit.guide(address).encode()),
    FAVOURITES: ("application/zip", lambda address: kit.favourites()),
}


def make_server(port: int = DEFAULT_PORT, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """A server that listens already; `serve_forever` answers, `server_close` ends it.

    port: 0 takes a free one. host: the address to listen on; nothing but loopback is reachable from elsewhere.
    Raises InvalidInputError where the port cannot be had.
    """
    try:
        return _Server((host, port), _Files)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(
            f"port {port} cannot be had: {getattr(error, 'strerror', None) or 'no such port'}",
            field="port",
            hint="Choose another with --port; 0 takes a free one.",
        ) from None
