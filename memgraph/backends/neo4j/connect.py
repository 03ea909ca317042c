"""Making a database a store: schema, the first secret, and a look at what is there already."""

from __future__ import annotations

import secrets
from typing import Any, Final

from memgraph.errors import StoreVersionError
from memgraph.storage import queries
from memgraph.storage.bolt import Bolt

__all__ = ["SCHEMA_VERSION", "prepare", "set_up"]

SCHEMA_VERSION: Final = 1


def prepare(bolt: Bolt) -> None:
    """Make sure that the database is a store of this schema; set it up if it is none. Raises StoreVersionError."""
    bolt.connect()
    rows = bolt.run("write/schema_version")
    if not rows:
        set_up(bolt)
    elif rows[0]["schema"] > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{bolt.where} was set up by a newer memgraph (schema {rows[0]['schema']}, this one knows {SCHEMA_VERSION})",
            hint="Update memgraph.",
        )


def set_up(bolt: Bolt) -> list[str]:
    """Apply the schema; again changes nothing, and several processes may do it at once. Returns the names of the statements."""
    names = queries.names("schema")
    for name in names:
        bolt.execute(queries.statement(name))
    fresh: dict[str, Any] = {"name": secrets.token_hex(4), "value": secrets.token_bytes(32).hex()}
    bolt.transaction(lambda tx: tx.run("write/store", **fresh))
    return names
