"""How much there is in a store."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any, Final

from memgraph.backends.local import reads
from memgraph.backends.local.rows import STATUSES
from memgraph.checks import LEDGER
from memgraph.clock import EPOCH
from memgraph.models import Stats, Status

__all__ = ["stats"]

_DATA: Final = f"path not glob '{LEDGER}/*'"  # without what is kept beside it


def stats(connection: sqlite3.Connection, namespace: str, now: datetime, bytes_on_disk: int) -> Stats:
    """How much there is in a namespace and in the store."""
    ns = reads.namespace_number(connection, namespace)
    by_status = dict.fromkeys(Status, 0)
    rows = connection.execute(
        "select status, expires_at is not null and expires_at <= ?, count(*) from memory"
        " where ns = ? and version is not null group by 1, 2",
        ((now - EPOCH).total_seconds() * 1e6, ns),
    )
    for code, expired, number in rows:
        by_status[Status.EXPIRED if code == 0 and expired else Status(STATUSES[code])] += number

    def one(query: str, *values: Any) -> int:
        found: int = connection.execute(query, values).fetchone()[0]
        return found

    by_kind = connection.execute(
        "select kind, count(*) from memory where ns = ? and version is not null group by kind order by kind",
        (ns,),
    ).fetchall()
    return Stats(
        namespace=namespace,
        entries=sum(by_status.values()),
        by_status={status.value: number for status, number in by_status.items() if number},
        by_kind=dict(by_kind),
        keys=one("select count(distinct key) from memory where ns = ? and version is not null", ns),
        relations=one(
            "select count(*) from relation join memory on memory.seq = relation.a where ns = ? and gone = 0", ns
        ),
        store_entries=one(
            f"select count(*) from memory join namespace using(ns) where version is not null and {_DATA}"
        ),
        store_namespaces=one(
            f"select count(*) from namespace where {_DATA} and exists (select 1 from memory"
            " where memory.ns = namespace.ns and version is not null)"
        ),
        bytes=bytes_on_disk,
        unsealed=one("select count(*) from unsealed where ns = ?", ns),
    )
