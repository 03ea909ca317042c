"""Replicas of a real server, for the holes of a seed's composites."""

from __future__ import annotations

from tests.integration.conftest import laptop, namespace

__all__ = ["laptop", "namespace"]
