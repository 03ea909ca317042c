"""`python -m memgraph.browser --host 0.0.0.0`: serve the files for Neo4j Browser where only a bare Python is, as in a container."""

from __future__ import annotations

import argparse
import signal
import sys

from memgraph.browser.server import DEFAULT_PORT, make_server


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m memgraph.browser", description="Serve the files for Neo4j Browser."
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with make_server(arguments.port, arguments.host) as server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
