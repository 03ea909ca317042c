"""The doctor of the local store: damage in the file, broken laws in the tables, and what stands beside them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memgraph.backends.local import apply, index, restamp
from memgraph.backends.local.graph import LiveGraph
from memgraph.errors import StoreCorruptError, StoreLockedError
from memgraph.models import CheckReport, Problem
from memgraph.storage.sqlite import repair as files
from memgraph.storage.sqlite.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from memgraph.backends.local.backend import LocalBackend

__all__ = ["check"]

_TABLES: Final = {
    "memory": ("seq",),
    "namespace": ("ns",),
    "meta": ("name",),
    "life": ("seq", "version", "cause"),
    "relation": ("a", "b", "type"),
    "feedback": ("seq", "feedback_id"),
    "embedding": ("seq",),
    "secret": ("name",),
    "tombstone": ("hash",),
    "foreign_operation": ("op_id",),
}
_GIVE: Final = "give them the one that does"
_TWO_ACTIVE: Final = (
    "select count(*) from (select 1 from memory where key is not null and version is not null and status = 0"
    " group by ns, key having count(*) > 1)"
)
_STRAY: Final = (
    "select (select count(*) from relation where a not in (select seq from memory) or b not in (select seq from memory))"
    " + (select count(*) from life where seq not in (select seq from memory))"
    " + (select count(*) from feedback where seq not in (select seq from memory))"
)


def check(store: LocalBackend, repair: bool, reindex: bool) -> CheckReport:
    """Look at everything; mend first what was asked to be mended."""
    database = store.database
    problems: list[Problem] = []
    with database.read() as connection:
        broken = files.damage(connection)
    if broken and repair and database.path is not None:
        problems += _salvage(store, database.path)
        database = store.database
        with database.read() as connection:
            broken = files.damage(connection)
    if broken:
        problems.append(
            Problem(
                code="damaged",
                message=f"the file is damaged: {broken[0]}",
                remedy="Run `memgraph doctor --repair`, or restore a backup.",
                count=len(broken),
                repair="save what can be read into a new file, and keep the damaged one beside it",
            )
        )
        return CheckReport(ok=False, store=database.where, checked={}, problems=tuple(problems), facts=_facts())
    if reindex:
        database.write(index.rebuild)
    mended = Counter[str]()
    if repair:
        with database.read() as connection:
            mended = _counts(_laws(connection))
        database.write(_settle)
        mended["future"] = store.restamp()
    with database.read() as connection:
        laws = _laws(connection)
        problems += laws
        future = len(restamp.ahead(connection, store.latest()))
        if future:
            problems.append(
                Problem(
                    code="future",
                    message="versions are further ahead of this machine's clock than max_clock_drift allows: nothing can be"
                    " written until it has caught up",
                    remedy="Set the clock right, or run `memgraph doctor --repair`.",
                    count=future,
                    repair="give them versions of now, in the same order",
                )
            )
        fresh = LiveGraph()
        fresh.catch_up(connection)
        checked = {
            "memories": connection.execute("select count(*) from memory where version is not null").fetchone()[0],
            "edges": fresh.graph.number_of_edges(),
            "documents": connection.execute("select coalesce(sum(n), 0) from segment").fetchone()[0]
            + connection.execute("select count(*) from unsealed").fetchone()[0],
        }
    different = store.graph_differences()
    if different:
        problems.append(
            Problem(
                code="graph",
                message="the graph in memory is not what the tables say",
                remedy="Open the store again, and report this.",
                count=different,
            )
        )
    return CheckReport(
        ok=not problems,
        store=database.where,
        checked=checked,
        problems=tuple(problems),
        facts=_facts(),
        mended=dict(mended - _counts(laws)),
    )


def _facts() -> dict[str, str]:
    return {"library": f"SQLite {sqlite3.sqlite_version}", "schema": str(SCHEMA_VERSION)}


def _counts(problems: list[Problem]) -> Counter[str]:
    return Counter({problem.code: problem.count for problem in problems})


def _laws(connection: sqlite3.Connection) -> list[Problem]:
    found = []
    wrong = sum(1 for _ in _wrong_statuses(connection))
    two, stray = (connection.execute(query).fetchone()[0] for query in (_TWO_ACTIVE, _STRAY))
    for code, count, message, repair in (
        ("two-active", two, "keys have two active memories", "leave the newest one active"),
        ("status", wrong, "memories have a status that does not follow from what happened to them", _GIVE),
        ("stray", stray, "records belong to no memory", "delete them"),
        ("index", _unindexed(connection), "memories are missing in the text index", ""),
    ):
        if count:
            remedy = f"Run `memgraph doctor {'--repair' if repair else '--reindex'}`."
            found.append(Problem(code=code, message=message, remedy=remedy, count=count, repair=repair))
    if index.is_stale(connection):
        found.append(
            Problem(
                code="stale-index",
                message="the text index was made by another version",
                remedy="Run `memgraph doctor --reindex`.",
            )
        )
    return found


def _unindexed(connection: sqlite3.Connection) -> int:
    row = connection.execute(
        "select count(*) from memory m where m.version is not null and not exists"
        " (select 1 from unsealed u where u.ns = m.ns and u.doc = m.doc) and not exists"
        " (select 1 from segment s where s.ns = m.ns and s.doc <= m.doc and s.doc + s.n > m.doc)"
    ).fetchone()
    count: int = row[0]
    return count


def _wrong_statuses(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    applier = apply.Applier(connection)
    rows = connection.execute(
        "select path, seq, status from memory join namespace using(ns) where version is not null"
    ).fetchall()
    return [(path, seq) for path, seq, code in rows if applier.status_of(path, seq) not in (code, None)]


def _settle(connection: sqlite3.Connection) -> None:
    """Derive every status again and drop what belongs to no memory."""
    applier = apply.Applier(connection)
    for path, seq in _wrong_statuses(connection):
        applier.settle(path, seq)
    for table, column in (("relation", "a"), ("relation", "b"), ("life", "seq"), ("feedback", "seq")):
        connection.execute(f"delete from {table} where {column} not in (select seq from memory)")
    applier.finish()


def _salvage(store: LocalBackend, path: Path) -> list[Problem]:
    store.finish_loading()
    store.database.close()
    try:
        files.require_alone(path)
        saved = files.salvage(path, _TABLES)
    except StoreLockedError:
        store.reopen()
        raise
    except (sqlite3.Error, OSError) as error:
        raise StoreCorruptError(
            f"{path} could not be repaired ({error}); it was left as it is", hint="Restore a backup."
        ) from None
    store.reopen()
    store.database.write(index.rebuild)
    return [
        Problem(
            code="salvaged",
            message=f"table {table}: {rows} rows were saved, others could not be read; keys may show an older value now",
            remedy="The damaged file is kept beside the store: compare it with a backup, then delete it.",
            count=lost,
        )
        for table, (rows, lost) in saved.items()
        if lost
    ]
