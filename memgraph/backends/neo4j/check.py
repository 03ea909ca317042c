"""The doctor of the Neo4j store: server and schema, and whether what is derived in the graph follows from the versions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memgraph.backends.neo4j import connect, purge, repair
from memgraph.backends.neo4j.damage import Verdict, is_version
from memgraph.backends.neo4j.tombs import Secrets
from memgraph.clock import millis
from memgraph.errors import MemgraphError
from memgraph.models import CheckReport, Problem
from memgraph.storage.bolt import Bolt, Runner

__all__ = ["check"]

_PAGE: Final = 500
_SHOWN: Final = 5  # examples of each problem
_ROUNDS: Final = 5  # mending one thing may uncover another
_MEND: Final = "Run `memgraph doctor --repair`."
_TEXTS: Final = {  # code: what is wrong, what a repair does about it, what to do where it can do nothing
    "secret": (
        "the store's node and the secrets of tombstones do not agree, so that nothing can be written",
        "make the node say how many there are",
        "",
    ),
    "tombstone": (
        "tombstones were made with a secret that is gone: what they buried can come back",
        "",
        "Restore the nodes labelled Secret from a backup, or purge the same again.",
    ),
    "odd": (
        "nodes labelled Memory have no namespace and no id: another program's, or made by hand",
        "",
        "If nobody needs them, delete them; give other programs a database or a label of their own.",
    ),
    "dead": (
        "memories are there that a tombstone refuses: a purge was interrupted",
        "finish it: remove them for good",
        "",
    ),
    "made": (
        "nodes labelled Memory were made or changed by hand and are no memories",
        "take them out of the store under the label SetAside, with all that is written on them",
        "",
    ),
    "place": (
        "places for memories that have not come have something written on them by hand",
        "take that out of the store to a node labelled SetAside",
        "",
    ),
    "lost": ("memories have lost the label Memory", "give it back to them", ""),
    "fields": (
        "memories have properties that are missing or of the wrong kind",
        "give these properties their defaults",
        "",
    ),
    "two-active": ("keys have two active memories", "leave the newest one active", ""),
    "status": (
        "memories have a status that does not follow from what happened to them",
        "give them the one that does",
        "",
    ),
    "label": ("memories have a label that does not say their status", "give them the one that does", ""),
    "line": (
        "memories stand wrongly on their key's line",
        "draw CURRENT, LATEST and SUPERSEDES of these keys again",
        "",
    ),
    "edge": (
        "edges were drawn or changed by hand, and no operation made them",
        "make SET_ASIDE edges of them; say the same with `memgraph supersede` or `relate`",
        "",
    ),
    "tokens": (
        "the text index does not say what memories say: their content, tags or names were changed by hand",
        "make their index tokens again",
        "",
    ),
    "feed": ("namespaces have no Feed, or one that is behind or spoiled", "give it a number above all others", ""),
    "number": ("memories have no number that replicas pull by", "number them", ""),
    "stray": ("records belong to no memory", "join them to it, or delete them if it is not there", ""),
}

_Seen = dict[tuple[str | None, str], tuple[int, int, str]]


@dataclass
class _Found:
    """What is wrong in one namespace."""

    path: str
    counts: Counter[str] = field(default_factory=Counter)
    where: dict[str, list[str]] = field(default_factory=dict)  # code -> ids and keys
    ids: dict[str, None] = field(default_factory=dict)  # of the memories to mend, in order
    dead: list[str] = field(default_factory=list)  # ids of those to remove
    keys: set[str] = field(default_factory=set)  # theirs
    aside: list[str] = field(default_factory=list)  # nodes that are clones of memories
    orphans: list[str] = field(default_factory=list)
    number: int | None = None  # what the Feed must be given
    newest: str = ""
    memories: int = 0

    def add(self, code: str, name: str) -> None:
        self.counts[code] += 1
        self.where.setdefault(code, []).append(f"{self.path}: {name}")


def check(bolt: Bolt, mend: bool, reindex: bool, max_drift: float) -> CheckReport:
    """Look at everything; mend what can be mended first if that is asked for. max_drift: seconds between both machines' clocks."""
    schema, mended, problems = connect.schema_of(bolt), Counter[str](), list[Problem]()
    facts = _server(bolt, max_drift, problems)
    if mend or reindex:
        try:
            mended["schema"] = len(connect.set_up(bolt))
            schema = connect.SCHEMA_VERSION
        except MemgraphError as error:
            problems.append(Problem(code="schema", message=f"the schema could not be completed: {error}"))
    if schema is None:
        remedy = "Run `memgraph init`, or name another database."
        problems.append(
            Problem(code="schema", message="this is no memgraph store yet", remedy=remedy, repair="set the schema up")
        )
        return CheckReport(ok=False, store=bolt.where, checked={}, problems=tuple(problems), facts=facts)
    facts["schema"] = str(schema)
    problems += _indexes(bolt, facts, tried=mend)
    found = _everything(bolt)
    if mend:
        before = _counts(found)
        for _ in range(_ROUNDS):
            if not _mend(bolt, found):
                break
            last, found = _counts(found), _everything(bolt)
            if _counts(found) == last:
                break
        mended += before - _counts(found)
    if reindex:
        for each in found.spaces:
            repair.tokens_again(bolt, each.path)
    checked = {"memories": sum(each.memories for each in found.spaces), "namespaces": len(found.spaces)}
    problems += _problems(found)
    problems += _future(bolt, found, max_drift)
    return CheckReport(
        ok=not problems,
        store=bolt.where,
        checked=checked,
        problems=tuple(problems),
        facts=facts,
        mended={code: number for code, number in mended.items() if number},
    )


# ---- server and schema


def _server(bolt: Bolt, max_drift: float, problems: list[Problem]) -> dict[str, str]:
    rows = bolt.run("read/check_server")
    if not rows:  # a proxy or a service that hides it
        return {}
    ahead = rows[0]["clock"] / 1000 - time.time()
    if abs(ahead) > max_drift:
        problems.append(
            Problem(
                code="clock",
                message=f"the server's clock and this machine's are {abs(ahead):.0f} s apart",
                remedy="Set both by a time server: versions carry this machine's time.",
            )
        )
    aside = {"set aside": f"{rows[0]['aside']} nodes labelled SetAside"} if rows[0]["aside"] else {}
    return {"server": f"Neo4j {rows[0]['version']} {rows[0]['edition']}", **aside}


def _indexes(bolt: Bolt, facts: dict[str, str], tried: bool) -> Iterator[Problem]:
    there, wanted = connect.indexes(bolt), connect.wanted()
    missing = [name for name in wanted if name not in there]
    failed = [name for name in wanted if name in there and there[name]["state"] == "FAILED"]
    filling = [name for name in wanted if name in there and there[name]["state"] == "POPULATING"]
    facts["indexes"] = f"{len(wanted) - len(missing) - len(failed) - len(filling)} of {len(wanted)} online"
    if missing:
        remedy = "Something else of the same form is in the way: look at SHOW INDEXES." if tried else _MEND
        yield Problem(
            code="schema",
            message=f"indexes or constraints are missing: {', '.join(missing)}",
            remedy=remedy,
            count=len(missing),
            repair="make them",
        )
    if failed:
        drop = "; ".join(f"DROP {wanted[name].upper()} {name}" for name in failed)
        yield Problem(
            code="index",
            message=f"indexes have failed: {', '.join(failed)}",
            remedy=f"Run {drop} in Neo4j Browser, then `memgraph doctor --repair`; the server's log says why.",
            count=len(failed),
        )
    if filling:
        done = ", ".join(f"{name} ({there[name]['done']:.0f} %)" for name in filling)
        yield Problem(
            code="index",
            message=f"indexes are being filled: {done}",
            remedy="Wait, then look again.",
            count=len(filling),
        )


# ---- the graph


@dataclass
class _All:
    """What is wrong anywhere."""

    spaces: list[_Found]
    odd: dict[str, list[str]]  # kind -> nodes
    secrets: Secrets
    disagree: bool


def _everything(bolt: Bolt) -> _All:
    odd: dict[str, list[str]] = {}
    for row in bolt.run("read/check_odd"):
        odd.setdefault(row["kind"], []).append(row["name"])
    said, rows = bolt.run("read/check_secrets"), bolt.run("write/secrets")
    secrets = Secrets([row for row in rows if isinstance(row["value"], str)])
    feeds = {row["namespace"]: row for row in bolt.run("read/check_feeds")}
    spaces = [_namespace(bolt, secrets, path, feeds.get(path)) for path in sorted({*feeds, *odd.pop("unfed", [])})]
    disagree = not said or said[0]["said"] != said[0]["there"] or not said[0]["there"]
    return _All(spaces, odd, secrets, disagree)


def _namespace(bolt: Bolt, secrets: Secrets, path: str, feed: dict[str, Any] | None) -> _Found:
    found = _look(bolt, secrets, path, _ids(bolt, path), clones=True)
    if found.ids or found.dead:  # somebody may have been writing there: what is wrong now must be so still
        lines = [row["id"] for row in bolt.run("read/lines", namespace=path, keys=sorted(found.keys))]
        again = _look(bolt, secrets, path, dict.fromkeys([*found.ids, *found.dead, *lines]), clones=False)
        again.memories, again.newest, again.aside = found.memories, found.newest, found.aside
        found = again
    for element in found.aside:
        found.add("made", f"node {element}")
    if feed is not None and is_version(feed["version"]):
        found.newest = max(found.newest, feed["version"])
    top = max((number for name in ("memories", "tombstones") if (number := (feed or {}).get(name))), default=0)
    if feed is None or not isinstance(feed["n"], int) or feed["n"] < top or not _seen(feed["version"]):
        found.number = top + repair.FEED_JUMP
        found.counts["feed"] += 1
        found.where["feed"] = [path]
    found.orphans = [row["key"] for row in bolt.run("read/check_keys", namespace=path)]
    for key in found.orphans:
        found.add("stray", f"key {key}")
    for row in bolt.run("read/check_strays", namespace=path):
        found.add("stray", f"feedback on {row['memory']}")
    for row in bolt.run("read/check_tombstones", namespace=path):
        found.add("tombstone", row["hash"])
    return found


def _seen(version: object) -> bool:
    """Whether this is what a Feed says of the greatest version it has seen."""
    return version == "" or is_version(version)


def _ids(runner: Runner, path: str) -> Iterator[str]:
    after = ""
    while rows := runner.run("read/check_ids", namespace=path, after=after, limit=_PAGE):
        yield from (row["id"] for row in rows)
        if len(rows) < _PAGE:
            return
        after = rows[-1]["id"]


def _look(runner: Runner, secrets: Secrets, path: str, ids: Iterable[str], clones: bool) -> _Found:
    """Judge memories of a namespace and the edges that begin at them. clones: look for nodes copied with their version too."""
    found, active = _Found(path), Counter[str]()
    seen: _Seen = {}
    for part in _parts(ids):
        for verdict, row in repair.verdicts(runner, secrets, path, part):
            active[verdict.key or ""] += verdict.active
            found.memories += bool(verdict.version)
            found.newest = max(found.newest, verdict.version)
            _note(found, verdict)
            clone = _clone(seen, verdict, row) if clones else None
            if clone:
                found.aside.append(clone)
        for row in runner.run("read/check_edges", namespace=path, ids=part):
            found.add("edge", f"{row['label']} from {row['source']}")
            found.ids[row["source"]] = None
    for key, number in active.items():
        if key and number > 1:
            found.add("two-active", f"key {key}")
    return found


def _note(found: _Found, verdict: Verdict) -> None:
    for code in sorted(verdict.codes):
        found.add(code, verdict.id)
    if "dead" in verdict.codes:
        found.dead.append(verdict.id)
    elif verdict.codes:
        found.ids[verdict.id] = None
        if verdict.key is not None:
            found.keys.add(verdict.key)


def _clone(seen: _Seen, verdict: Verdict, row: dict[str, Any]) -> str | None:
    """A node that was copied with its key and version: of two, the one with fewer edges on the line, else the younger."""
    if not verdict.version:
        return None
    element: str = row["element"]
    edges: int = sum(len(row[name]) for name in ("current", "latest", "pasts", "below")) + row["above"]
    mine = (edges, -int(element.rpartition(":")[2]), element)
    name = verdict.key, verdict.version
    other = seen.setdefault(name, mine)
    if other == mine:
        return None
    seen[name] = max(mine, other)
    return min(mine, other)[2]


def _parts(ids: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for id in ids:
        part.append(id)
        if len(part) == _PAGE:
            yield part
            part = []
    if part:
        yield part


# ---- mending and telling


def _mend(bolt: Bolt, found: _All) -> bool:
    """Mend what was found. Returns whether there was anything to mend."""
    todo = False
    if found.disagree:
        todo = repair.secrets(bolt)
        found.secrets = Secrets(bolt.run("write/secrets"))
    for part in _parts(found.odd.get("lost", ())):
        repair.labels(bolt, part)
        todo = True
    for part in _parts(found.odd.get("made", ())):
        repair.nodes(bolt, part)
        todo = True
    for each in found.spaces:
        if not any(_TEXTS[code][1] for code in each.counts):
            continue
        todo = True
        if each.dead:
            purge.sweep(bolt, lambda runner: Secrets(runner.run("write/secrets")), [each.path])
        for part in _parts(each.aside):
            repair.nodes(bolt, part)
        if each.number is not None:
            repair.feed_again(bolt, each.path, each.number, each.newest)
        for ids in _parts(each.ids) if each.ids else [[]]:
            repair.memories(bolt, found.secrets, each.path, ids)
        repair.strays(bolt, found.secrets, each.path, each.orphans)
    return todo


def _counts(found: _All) -> Counter[str]:
    counts: Counter[str] = Counter({kind: len(nodes) for kind, nodes in found.odd.items()})
    counts["secret"] += found.disagree
    for each in found.spaces:
        counts += each.counts
    return counts


def _problems(found: _All) -> Iterator[Problem]:
    counts = _counts(found)
    for code, (message, mending, remedy) in _TEXTS.items():
        if counts[code]:
            examples: Sequence[str] = [name for each in found.spaces for name in each.where.get(code, ())][:_SHOWN]
            yield Problem(
                code=code,
                message=message,
                remedy=remedy or _MEND,
                count=counts[code],
                repair=mending,
                examples=tuple([*(f"node {name}" for name in found.odd.get(code, ())), *examples][:_SHOWN]),
            )


def _future(bolt: Bolt, found: _All, max_drift: float) -> Iterator[Problem]:
    """Namespaces that have seen a version further ahead of the server's clock than writers may be: they refuse to write there."""
    clock: int = bolt.run("read/clock")[0]["clock"]  # now: looking may have taken longer than that
    ahead = {each.path: (millis(each.newest) - clock) / 1000 for each in found.spaces if each.newest}
    late = {path: seconds for path, seconds in ahead.items() if seconds > max_drift}
    if late:
        yield Problem(
            code="future",
            message="the newest versions of namespaces are further ahead of the server's clock than max_clock_drift allows",
            remedy="Set the clock right of whoever wrote them; until then, raise max_clock_drift to write there.",
            count=len(late),
            examples=tuple(f"{path}: {seconds:.0f} s ahead" for path, seconds in late.items())[:_SHOWN],
        )
