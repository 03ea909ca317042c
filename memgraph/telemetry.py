"""The logger of this package: silent unless the program that uses it asks; its lines hold ids, never content."""

from __future__ import annotations

import logging

__all__ = ["logger"]

logger = logging.getLogger("memgraph")
logger.addHandler(logging.NullHandler())
