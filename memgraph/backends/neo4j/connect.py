"""Making a database a store: schema, the first secret, and a look at what is there already."""

from __future__ import annotations

import re
import secrets
from typing import Any, Final

from memgraph.errors import NotFoundError, StoreVersionError
from memgraph.storage import queries
from memgraph.storage.bolt import Bolt

__all__ = ["SCHEMA_VERSION", "indexes", "prepare", "schema_of", "set_up", "wanted"]

SCHEMA_VERSION: Final = 1
_MADE_BY: Final = re.compile(r"(CONSTRAINT|INDEX) (\w+) IF NOT EXISTS")


def prepare(bolt: Bolt, create: bool = True) -> None:
    """Make sure that the database is a store of this schema; set it up if it is none.

    create: whether it may be set up; else NotFoundError. Raises StoreVersionError.
    """
    if schema_of(bolt) is not None:
        return
    if not create:
        raise NotFoundError(
            f"there is no store at {bolt.where}",
            hint="Set it up with `memgraph init`, or name another database with MEMGRAPH_NEO4J_DATABASE.",
        )
    set_up(bolt)


def schema_of(bolt: Bolt) -> int | None:
    """The schema of the store in this database; None if there is no store. Raises StoreVersionError if it is newer than ours."""
    rows = bolt.run("write/schema_version")
    if not rows:
        return None
    found: int = rows[0]["schema"]
    if found > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{bolt.where} was set up by a newer memgraph (schema {found}, this one knows {SCHEMA_VERSION})",
            hint="Update memgraph.",
        )
    return found


def wanted() -> dict[str, str]:
    """What the schema consists of: names of constraints and indexes, and which of these each is."""
    texts = [queries.statement(name) for name in queries.names("schema")]
    return {match[2]: match[1].lower() for text in texts if (match := _MADE_BY.search(text))}


def indexes(bolt: Bolt) -> dict[str, dict[str, Any]]:
    """Every index of the database by name, those of constraints included, as `read/check_indexes` gives them."""
    return {row["name"]: row for row in bolt.run("read/check_indexes")}


def set_up(bolt: Bolt) -> list[str]:
    """Apply the schema; again changes nothing, and several processes may do it at once. Returns what was made, in words."""
    fresh = schema_of(bolt) is None
    before = indexes(bolt)
    for name in queries.names("schema"):
        bolt.execute(queries.statement(name))
    secret: dict[str, Any] = {"name": secrets.token_hex(4), "value": secrets.token_bytes(32).hex()}
    bolt.transaction(lambda tx: tx.run("write/store", **secret))
    after = indexes(bolt)
    made = [f"{kind} {name}" for name, kind in wanted().items() if name in after and name not in before]
    return made + [f"store, schema {SCHEMA_VERSION}"] * fresh
