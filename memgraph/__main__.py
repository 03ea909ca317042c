"""`python -m memgraph` is the command `memgraph`."""

from __future__ import annotations

from memgraph.cli.main import main

if __name__ == "__main__":
    main()
