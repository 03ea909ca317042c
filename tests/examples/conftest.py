"""Replicas of a real server, for an agent whose primary dies."""

from __future__ import annotations

from tests.integration.conftest import laptop, namespace

__all__ = ["laptop", "namespace"]
