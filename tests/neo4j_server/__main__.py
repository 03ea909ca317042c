"""Start a server and print its address."""

from __future__ import annotations

import sys
import threading

from tests.neo4j_server import maven

with maven(sys.argv[1] if len(sys.argv) > 1 else "5.26", dbms__security__auth_enabled="false") as server:
    print(server.uri, server.home, server.process.pid if server.process else "", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
