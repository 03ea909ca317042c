"""Start a server and print its address; with --java only say whether a Java that runs it is there."""

from __future__ import annotations

import sys
import threading

from tests.neo4j_server import VERSIONS, java, maven

arguments = [word for word in sys.argv[1:] if word != "--java"]
version = arguments[0] if arguments else "5.26"
if "--java" in sys.argv:
    sys.exit(0 if java(VERSIONS[version][1]) else 1)
with maven(version, dbms__security__auth_enabled="false") as server:
    print(server.uri, server.home, server.process.pid if server.process else "", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
