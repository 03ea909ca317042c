"""The command line on a primary alone: every verb, setting it up, and the doctor beside people who edit the graph by hand."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest
from click.testing import CliRunner, Result

from memgraph import Memory
from memgraph.backends.neo4j import repair
from memgraph.cli.main import SECTIONS, cli
from memgraph.errors import NotFoundError, StoreCorruptError
from tests.conftest import started
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j

Run = Callable[..., Result]
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def neo4j_server(neo4j_version: str) -> Iterator[Server]:
    """One of these tests' own: the doctor reads everything that is there."""
    yield from started(neo4j_version)


@pytest.fixture(scope="module")
def driver(neo4j_server: Server) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=neo4j_server.auth) as found:
        yield found


@pytest.fixture
def space(driver: neo4j.Driver) -> Iterator[str]:
    """A namespace of this test's own; what people left in it goes in the end."""
    name = f"cli/{uuid.uuid4().hex[:8]}"
    yield name
    by_hand(driver, "MATCH (n) WHERE n.namespace = $ns OR n.hand = $ns DETACH DELETE n", name)


@pytest.fixture
def run(neo4j_server: Server, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with --primary and nothing else that names a store; the exit code must be `code`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("MEMGRAPH_MAX_CLOCK_DRIFT", "1e9")  # other tests' clocks are years off, on the same server
    if neo4j_server.auth:
        monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.auth[1])

    def call(*words: str, code: int | None = 0, input: str | None = None, **environ: str) -> Result:
        result = CliRunner().invoke(cli, ["--primary", neo4j_server.uri, "-n", space, *words], input=input, env=environ)
        assert code is None or result.exit_code == code, (words, result.stdout, result.stderr, result.exception)
        if neo4j_server.auth:
            assert neo4j_server.auth[1] not in result.output
        return result

    return call


@pytest.fixture
def ask(run: Run) -> Ask:
    """Run the command with --json and return what it answers."""

    def call(*words: str, code: int | None = 0, **more: Any) -> Any:
        return json.loads(run("--json", *words, code=code, **more).stdout)

    return call


def by_hand(driver: neo4j.Driver, query: str, ns: str) -> None:
    """Do what a person types into Neo4j Browser."""
    with driver.session() as session:
        session.run(query, ns=ns).consume()  # type: ignore[arg-type]


# ---- every verb


def test_every_verb_works_with_a_primary_alone(run: Run, ask: Ask, space: str, tmp_path: Path) -> None:
    """Each command once; no file of a local store is made."""
    used: set[str] = set()

    def say(*words: str, **more: Any) -> Any:
        used.add(words[0])
        run(*words, **more)
        return ask(*words, **more) if words[0] in SECTIONS["Read"] else None

    def make(*words: str) -> Any:
        used.add(words[0])
        return ask(*words)

    make("init")
    old = make("remember", "Ada lives in Porto", "--key", "ada/city")
    new = make("remember", "Ada lives in Berlin", "--key", "ada/city", "--reason", "moved")
    bridge = make("remember", "Ada builds a bridge", "--subject", "ada", "--tag", "work")
    used.add("remember-many")
    many = ask("remember-many", "-", input='{"content": "one apple"}\n{"content": "two apples"}\n')["entries"]
    make("relate", new["id"], bridge["id"], "--type", "because_of")
    make("feedback", bridge["id"], "--signal", "1")
    make("supersede", many[0]["id"], "--by", many[1]["id"])

    assert say("get", old["id"])["status"] == "superseded"
    assert say("current", "ada/city")["content"] == "Ada lives in Berlin"
    assert len(say("history", "ada/city")["entries"]) == 2
    assert say("lineage", "ada/city")["current"] == new["id"]
    assert [entry["id"] for entry in say("neighbours", new["id"])["entries"]] == [bridge["id"]]
    assert len(say("list")["entries"]) == 3
    assert say("count", "--tag", "work") == {"count": 1}
    assert say("search", "where", "does", "Ada", "live")["hits"][0]["entry"]["id"] == new["id"]
    assert len(say("diff", "2020-01-01T00:00:00Z", "now")["added"]) == 3
    assert say("namespaces")["namespaces"] == [space]

    say("unrelate", new["id"], bridge["id"], "--type", "because_of")
    assert make("forget", "--key", "ada/city")["status"] == "forgotten"
    assert make("restore", new["id"], "--yes")["content"] == "Ada lives in Berlin"
    changes = make("release", "apples", "--yes")
    assert make("undo", changes["id"], "--yes")["undoes"] == changes["id"]
    assert make("consolidate", "--yes")["after"] == 3
    assert len(make("rewind", "--tag", "work", "--dry-run")["changes"]) == 1
    hold = make("hold", "add", "--subject", "nobody")
    assert [act["what"] for act in make("audit")][-1] == "hold"
    make("hold", "lift", hold["id"], "--yes")

    assert make("export", "out.jsonl")["exported"] > 0
    assert make("import", "out.jsonl", "--dry-run")["imported"] == 0, "it is there already"
    assert make("import", "out.jsonl", "--yes")["imported"] == 0
    assert make("graph", "graph.json")["nodes"] == 6

    assert make("status")["backend"] == "neo4j"
    assert make("stats")["entries"] == 6
    assert make("doctor")["ok"]
    assert make("doctor", "--reindex")["ok"]
    assert make("config")["settings"]["primary"]["origin"] == "argument"

    assert make("plan-purge", "--key", "ada/city", "--out", "plan.json")["by_status"]["active"] == 1
    used.add("purge")
    assert ask("purge", "--plan", "plan.json", "--yes")["removed"]["memories"] == 3
    run("current", "ada/city", code=3)
    assert used >= {name for section in ("Read", "Write", "Clean", "Move") for name in SECTIONS[section]} - {"backup"}
    assert not (tmp_path / "data").exists()


def test_what_destroys_names_its_target_first_and_needs_a_yes(run: Run, ask: Ask, neo4j_server: Server) -> None:
    id = ask("remember", "before", "--key", "k")["id"]
    ask("remember", "worthless", "--confidence", "0", "--key", "k")
    ask("export", "out.jsonl")
    for words in (
        ["purge", "--everything"],
        ["restore", id],
        ["release", "worthless"],
        ["consolidate"],
        ["import", "out.jsonl"],
    ):
        result = run(*words, code=4)
        assert neo4j_server.uri in result.stderr
        assert "--yes" in result.stderr
        assert result.stdout == ""
    assert ask("count") == {"count": 1}


def test_the_environment_alone_will_do(neo4j_server: Server, ask: Ask, space: str, tmp_path: Path) -> None:
    """MEMGRAPH_PRIMARY in place of the option, in a process of its own; what is logged holds no content."""
    ask("remember", "the canary sings", "--key", "k")
    environ = os.environ | {"MEMGRAPH_PRIMARY": neo4j_server.uri, "MEMGRAPH_NAMESPACE": space}
    command = [sys.executable, "-m", "memgraph", "-vv", "--json", "search", "canary"]
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["hits"]) == 1
    assert "canary" not in done.stderr


def test_wrong_credentials_are_told_once_and_not_repeated(run: Run, neo4j_server: Server) -> None:
    if neo4j_server.auth is None:
        pytest.skip("this server asks for no password")
    result = run("--json", "count", code=4, NEO4J_PASSWORD="not-the-s3cret")
    told = json.loads(result.stderr)
    assert (told["error"], told["retryable"]) == ("AuthError", False)
    assert "not-the-s3cret" not in result.output


# ---- setting it up


@pytest.fixture
def no_store(run: Run, driver: neo4j.Driver) -> Iterator[None]:
    """The server without what says that it is a store."""
    run("init")
    by_hand(driver, "MATCH (s:Store {name: 'memgraph'}) SET s.name = 'kept'", "")
    yield
    by_hand(driver, "MATCH (s:Store {name: 'memgraph'}) DELETE s", "")
    by_hand(driver, "MATCH (s:Store {name: 'kept'}) SET s.name = 'memgraph'", "")


def test_reading_sets_nothing_up(no_store: None, run: Run, ask: Ask, driver: neo4j.Driver) -> None:
    """Another program's database stays as it is; the doctor says what to do."""
    for words in (["list"], ["current", "k"], ["purge", "--everything", "--yes"], ["export", "out.jsonl"]):
        assert "memgraph init" in run(*words, code=3).stderr
    report = ask("doctor", code=1)
    assert [problem["code"] for problem in report["problems"]] == ["schema"]
    assert "Neo4j" in report["facts"]["server"]
    assert "memgraph init" in report["problems"][0]["remedy"]
    with driver.session() as session:
        assert session.run("MATCH (s:Store {name: 'memgraph'}) RETURN count(s)").single(strict=True)[0] == 0


def test_init_says_what_it_made_and_again_changes_nothing(run: Run, ask: Ask, driver: neo4j.Driver) -> None:
    run("init")
    assert "nothing was changed" in run("init").stdout
    by_hand(driver, "DROP INDEX memory_session", "")
    report = ask("doctor", code=1)
    assert "memory_session" in report["problems"][0]["message"]
    online, wanted = map(int, report["facts"]["indexes"].removesuffix(" online").split(" of "))
    assert online == wanted - 1
    assert "made index memory_session" in run("init").stdout
    assert ask("init")["made"] == []
    by_hand(driver, "DROP CONSTRAINT foreign_id", "")
    assert ask("doctor", "--repair", "--yes")["mended"] == {"schema": 1}
    assert ask("doctor")["ok"]


# ---- the doctor


KEYED = "MATCH (k:MemoryKey {namespace: $ns, key: 'k'})"
HEAD = "MATCH (new:Active {namespace: $ns, key: 'k'})"
OLD = "MATCH (old:Superseded {namespace: $ns, key: 'k'}) WITH * ORDER BY old.version LIMIT 1"
LOOSE = "MATCH (loose:Active {namespace: $ns}) WHERE loose.key IS NULL"
COPY = "SET x = properties(new), x.id = 'copy'"
BY_HAND = "content: 'by hand', hand: $ns"
PLANTED = {  # what a person did, and what the doctor calls it
    "a second label Active": ("two-active", f"{OLD} SET old:Active"),
    "a second active memory": ("two-active", f"{OLD} SET old:Active, old.status = 'active' REMOVE old:Superseded"),
    "a status that the label does not say": ("status", f"{HEAD} SET new.status = 'forgotten'"),
    "a status that there is not": ("status", f"{HEAD} SET new.status = 'done'"),
    "no status": ("status", f"{HEAD} REMOVE new.status"),
    "a node without id": ("made", f"CREATE (:Memory:Active {{namespace: $ns, status: 'active', {BY_HAND}}})"),
    "a node with a content only": ("made", f"CREATE (:Memory {{{BY_HAND}}})"),
    "a node without version": ("place", f"CREATE (:Memory:Active {{namespace: $ns, id: 'x', key: 'k', {BY_HAND}}})"),
    "a version of its own": ("made", f"CREATE (:Memory {{namespace: $ns, id: 'x', version: 1, {BY_HAND}}})"),
    "a copy of a memory": (
        "made",
        f"{HEAD} WITH new {{.*, id: 'copy', hand: $ns}} AS copy CREATE (x:Memory:Active) SET x = copy",
    ),
    "SUPERSEDES by hand": ("edge", f"{OLD} WITH old {HEAD} CREATE (old)-[:SUPERSEDES]->(new)"),
    "SUPERSEDES across": (
        "edge",
        f"{HEAD} WITH new {LOOSE} CREATE (new)-[:SUPERSEDES {{via: 'explicit', version: new.version}}]->(loose)",
    ),
    "RELATES_TO by hand": ("edge", f"{HEAD} WITH new {LOOSE} CREATE (new)-[:RELATES_TO]->(loose)"),
    "a weight in words": ("edge", "MATCH ({namespace: $ns})-[r:RELATES_TO]->() SET r.weight = 'heavy'"),
    "no MemoryKey": ("line", f"{KEYED} DETACH DELETE k"),
    "no CURRENT": ("line", f"{KEYED}-[r:CURRENT]->() DELETE r"),
    "two CURRENT": ("line", f"{KEYED} WITH k {OLD} CREATE (k)-[:CURRENT]->(old)"),
    "no LATEST": ("line", f"{KEYED}-[r:LATEST]->() DELETE r"),
    "a gap in the line": ("line", f"{HEAD} MATCH (new)-[r:SUPERSEDES]->() DELETE r"),
    "another key": ("line", f"{HEAD} SET new.key = 'other'"),
    "a memory deleted": ("line", f"{HEAD} DETACH DELETE new"),
    "no label Memory": ("lost", f"{HEAD} REMOVE new:Memory"),
    "no tags": ("fields", f"{HEAD} REMOVE new.tags"),
    "tags as a text": ("fields", f"{HEAD} SET new.tags = 'travel'"),
    "tags as numbers": ("fields", f"{LOOSE} SET loose.tags = [1, 2]"),
    "metadata in words": ("fields", f"{LOOSE} SET loose.metadata = 'since May'"),
    "metadata as a list": ("fields", f"{LOOSE} SET loose.metadata = '[1, 2]'"),
    "a day as a text": ("fields", f"{HEAD} SET new.recorded_at = '2026-05-01'"),
    "a kind as a number": ("fields", f"{LOOSE} SET loose.kind = 7"),
    "a time in words": ("fields", f"{HEAD} SET new.valid_to = 'tomorrow'"),
    "life spoiled": ("fields", "MATCH (m:Forgotten {namespace: $ns}) SET m.life = m.life + ['x']"),
    "no terms": ("tokens", f"{LOOSE} REMOVE loose.terms"),
    "no Feed": ("feed", "MATCH (f:Feed {namespace: $ns}) DELETE f"),
    "feedback cut off": ("stray", "MATCH (f:Feedback {namespace: $ns})-[r:ABOUT]->() DELETE r"),
}
GONE = {"another key", "a memory deleted"}  # what a person did away with cannot come back
HEALED = {"no CURRENT"}  # by the next write
UNREADABLE = {"a version of its own", "a time in words"}  # reads that meet it say so, until it is mended


@pytest.mark.parametrize("planted", PLANTED)
def test_the_doctor_names_and_mends_what_people_did(
    planted: str, run: Run, ask: Ask, driver: neo4j.Driver, space: str
) -> None:
    """What is planted by hand is named; reads and writes go on beside it; a dry run changes nothing; a repair mends it."""
    code, query = PLANTED[planted]
    lines = [{"content": f"value {n}", "key": "k"} for n in range(3)]
    lines += [{"content": "about kiwis"}, {"content": "a forgotten kiwi"}]
    *_, loose, gone = ask("remember-many", "-", input="\n".join(map(json.dumps, lines)))["entries"]
    ask("forget", gone["id"])
    ask("relate", gone["id"], loose["id"], "--type", "of")
    ask("feedback", loose["id"], "--signal", "1")
    by_hand(driver, query, space)

    report = ask("doctor", "--repair", "--dry-run", code=1)
    named = {problem["code"]: problem for problem in report["problems"]}
    assert code in named
    assert named[code]["repair"]
    assert named[code]["examples"]

    if planted not in UNREADABLE:
        assert ask("search", "kiwis")["degraded"] is None
        assert ask("list", "--status", "any")["entries"]
        assert ask("list", "--tag", "other")["entries"] == []
        assert ask("search", "kiwis", "--tag", "other")["hits"] == []
    if planted not in GONE:
        assert ask("history", "k")["entries"]
    assert ask("remember", "newest", "--key", "k")["status"] == "active"
    assert ask("current", "k")["content"] == "newest"

    mended = ask("doctor", "--repair", "--yes")
    assert mended["ok"], mended["problems"]
    assert mended["mended"] or planted in HEALED
    assert ask("current", "k")["content"] == "newest"
    others = ["value 2"] if planted == "another key" else []
    assert sorted(entry["content"] for entry in ask("list")["entries"]) == ["about kiwis", "newest", *others]
    assert "about kiwis" in run("search", "kiwis").stdout
    assert ask("export", "out.jsonl")["exported"] > 0


@pytest.mark.parametrize(
    ("spoiled", "field", "default"),
    [
        ("m.tags = 'travel'", "tags", []),
        ("m.tags = [1, 2]", "tags", []),
        ("m.metadata = '[1]'", "metadata", {}),
        ("m.kind = 7", "kind", "fact"),
        ("m.subject = 7", "subject", None),
        ("m.actor = [7]", "actor", None),
        ("m.session = [7]", "session", None),
        ("m.trust = ['user']", "trust", "agent"),
        ("m.terms_flags = 'x', m.feedback_sum = 'much'", "feedback_sum", 0.0),
        ("m.pinned = 'yes'", "pinned", False),
        ("m.confidence = 'high'", "confidence", 0.8),
    ],
)
def test_what_has_the_wrong_kind_is_read_as_its_default(
    spoiled: str, field: str, default: object, ask: Ask, driver: neo4j.Driver, space: str
) -> None:
    """By every read, until the doctor has written the default in its place."""
    id = ask("remember", "Ada lives in Porto", "--key", "k", "--tag", "home", "--subject", "ada")["id"]
    by_hand(driver, f"MATCH (m:Memory {{namespace: $ns}}) SET {spoiled}", space)
    (listed,), (hit,) = ask("list")["entries"], ask("search", "Porto")["hits"]
    assert [each[field] for each in (ask("get", id), ask("current", "k"), listed, hit["entry"])] == [default] * 4
    assert ask("export", "out.jsonl")["exported"] == 1
    assert ask("doctor", "--repair", "--yes")["ok"]
    assert ask("get", id)[field] == default


def test_what_people_add_to_memories_is_theirs(run: Run, ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """Labels, properties and notes of their own beside ours are no damage, stand in no way, and stay through writes and repairs."""
    old = ask("remember", "Ada lives in Porto", "--key", "k")["id"]
    by_hand(
        driver,
        "MATCH (m:Memory {namespace: $ns}) SET m:Important, m.colour = 'red', m.seen = date('2026-05-01')",
        space,
    )
    by_hand(
        driver,
        "MATCH (m:Memory {namespace: $ns}) CREATE (:Note {hand: $ns, text: 'ask her'})-[:ON {by: 'bob'}]->(m)",
        space,
    )
    assert ask("get", old)["content"] == "Ada lives in Porto"
    assert ask("search", "Porto")["hits"]
    assert ask("list")["entries"]
    assert ask("doctor")["ok"]
    assert ask("remember", "Ada lives in Berlin", "--key", "k")["status"] == "active"
    assert ask("doctor", "--repair", "--reindex", "--yes")["ok"]
    assert ask("history", "k")["entries"][0]["status"] == "superseded"
    with driver.session() as session:
        query = "MATCH (:Note)-[r:ON]->(m:Memory:Superseded:Important {namespace: $ns}) RETURN r.by, m.colour, toString(m.seen)"
        assert session.run(query, ns=space).values() == [["bob", "red", "2026-05-01"]]
    by_hand(driver, "MATCH (n:Note {hand: $ns}) DETACH DELETE n", space)


def test_content_changed_by_hand_is_named_and_found_again(
    run: Run, ask: Ask, driver: neo4j.Driver, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the index tokens are made of: the doctor makes them anew and compares, some contents at a time."""
    monkeypatch.setattr(repair, "_CONTENTS", 30)
    city = ask("remember", "Ada lives in Porto")["id"]
    tagged = ask("remember", "a bridge", "--tag", "work", "--subject", "ada")["id"]
    counted = ask("remember", "three kiwis")["id"]
    ask("remember", "nothing happened to this")
    assert ask("doctor")["ok"]
    for id, change in (
        (city, "m.content = 'Ada lives in Berlin'"),
        (tagged, "m.tags = ['home'], m.subject = 'bob'"),
        (counted, "m.terms_length = 1000"),
    ):
        by_hand(driver, f"MATCH (m:Memory {{namespace: $ns, id: '{id}'}}) SET {change}", space)
    assert not ask("search", "Berlin")["hits"]
    (problem,) = ask("doctor", code=1)["problems"]
    assert (problem["code"], problem["count"]) == ("tokens", 3)
    assert set(problem["examples"]) == {f"{space}: {id}" for id in (city, tagged, counted)}
    assert ask("doctor", "--repair", "--yes")["mended"] == {"tokens": 3}
    assert [hit["entry"]["id"] for hit in ask("search", "Berlin")["hits"]] == [city]
    assert not ask("search", "Porto")["hits"]
    assert [hit["entry"]["id"] for hit in ask("search", "bridge", "--tag", "home", "--subject", "bob")["hits"]] == [
        tagged
    ]
    assert ask("doctor")["ok"]


SPOILED = {  # what a person did, and the calls that cannot go on with it
    "a version in words": ("m.version = 'zzz'", {"current", "history", "search", "search then", "export", "remember"}),
    "a version among the others": (
        "m.version = '0a0a'",
        {"current", "current then", "history", "list", "search", "search then", "export", "remember"},
    ),
    "a version beyond all years": (
        "m.version = 'ffffffffffff-0000-00000000'",
        {"current", "current then", "history", "list", "search", "search then", "export", "remember"},
    ),
    "a number as a version": ("m.version = 5", {"current", "search", "search then", "remember"}),
    "expires_at in words": ("m.expires_at = '2020'", {"graph", "export", "current then", "search then"}),
    "valid_from in words": ("m.valid_from = '2020'", {"export", "current then", "search then"}),
    "valid_to as a number": ("m.valid_to = 2020", {"export", "current then", "search then"}),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_cannot_be_read_is_said_with_what_to_do(
    spoiled: str, neo4j_server: Server, driver: neo4j.Driver, space: str, tmp_path: Path
) -> None:
    """Never an error of Python's own, whatever is called; the doctor mends it."""
    change, refused = SPOILED[spoiled]
    with Memory.open(primary=neo4j_server.uri, auth=neo4j_server.auth, namespace=space) as memory:
        memory.remember("Ada lives in Porto", key="k")
        memory.remember("Ada builds a bridge", key="other", expires_at=datetime(2999, 1, 1, tzinfo=UTC))
        by_hand(driver, f"MATCH (m:Memory {{namespace: $ns, key: 'k'}}) SET {change}", space)
        then = datetime.now(UTC)
        calls: dict[str, Callable[[], Any]] = {
            "current": lambda: memory.current("k"),
            "current then": lambda: memory.current("k", known_at=then) or memory.current("k", valid_at=then),
            "history": lambda: memory.history("k"),
            "list": memory.list,
            "search": lambda: memory.search("who lives in Porto"),
            "search then": lambda: memory.search("who lives in Porto", valid_at=then),
            "graph": memory.graph,
            "export": lambda: memory.export_to(tmp_path / "out.jsonl"),
            "stats": memory.stats,
            "remember": lambda: memory.remember("Ada lives in Berlin", key="k"),
        }
        hints: dict[str, str | None] = {}
        for name, call in calls.items():
            try:
                call()
            except StoreCorruptError as error:
                hints[name] = error.hint
            except NotFoundError:
                assert spoiled == "a number as a version"  # such a node is on no line
        assert set(hints) == refused
        assert all("memgraph doctor" in (hint or "") for hint in hints.values())
        assert memory.check(repair=True).mended
        for call in calls.values():
            with contextlib.suppress(NotFoundError):  # what was no memory is set aside
                call()
        content = "Ada lives in Berlin"
        assert memory.remember(content, key="k").content == memory.search("where is Berlin")[0].entry.content == content


def test_a_feed_that_was_spoiled_is_said_and_mended(
    neo4j_server: Server, driver: neo4j.Driver, space: str, run: Run, ask: Ask
) -> None:
    ask("remember", "one")
    by_hand(driver, "MATCH (f:Feed {namespace: $ns}) SET f.version = 'zzz'", space)
    with Memory.open(primary=neo4j_server.uri, auth=neo4j_server.auth, namespace=space) as memory:
        for call in (lambda: memory.remember("two"), memory.status):
            with pytest.raises(StoreCorruptError):
                call()
    assert [problem["code"] for problem in ask("doctor", code=1)["problems"]] == ["feed"]
    assert ask("doctor", "--repair", "--yes")["mended"] == {"feed": 1}
    ask("remember", "two")


def test_a_version_from_the_future_is_named(run: Run, ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """Somebody's clock was wrong, or somebody wrote it by hand: writes there are refused, so it is said where and by how much."""
    one = ask("remember", "one")
    ahead = f"{int((time.time() + 5000) * 1000):012x}-0000-00000000"
    by_hand(driver, f"MATCH (m:Memory {{namespace: $ns}}) SET m.version = '{ahead}'", space)
    for drift, late in (("4000", True), ("6000", False)):
        report = ask("doctor", "--repair", "--yes", code=None, MEMGRAPH_MAX_CLOCK_DRIFT=drift)
        found = [problem for problem in report["problems"] if problem["code"] == "future"]
        told = [example for problem in found for example in problem["examples"] if example.startswith(f"{space}: ")]
        assert bool(told) == late
        if late:
            assert 4900 < float(told[0].removeprefix(f"{space}: ").removesuffix(" s ahead")) <= 5000
            assert found[0]["repair"] == ""
    assert ask("get", one["id"])["version"] == ahead


def test_a_repair_is_shown_first_and_needs_a_yes(run: Run, ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """A dry run and a repair that nobody confirms change nothing; where there is nothing to mend it does not ask."""
    ask("remember", "old", "--key", "k")
    ask("remember", "new", "--key", "k")
    by_hand(driver, f"{OLD} SET old:Active", space)
    before = ask("doctor", code=1)["problems"]
    assert ask("doctor", "--repair", "--dry-run", "--yes", code=1)["problems"] == before
    refused = run("doctor", "--repair", code=4)
    assert "label: memories have a label that does not say their status" in refused.stderr
    assert "-> give them the one that does" in refused.stderr
    assert refused.stderr.startswith("bolt://")
    assert refused.stdout == ""
    assert json.loads(run("--json", "doctor", "--repair", code=4).stderr)["error"] == "RefusedError"
    assert ask("doctor", code=1)["problems"] == before
    done = run("doctor", "--repair", "--yes")
    assert done.stderr.index("->") < done.stderr.index("repair 2 things (store ")
    assert "every namespace)" in done.stderr
    assert "no problems" in done.stdout
    assert "no problems" in run("doctor", "--repair").stdout


def test_a_repair_deletes_nothing_that_people_wrote(ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """Nodes and edges made by hand leave the store, with all that is written on them."""
    a, b = ask("remember", "one")["id"], ask("remember", "two")["id"]
    by_hand(driver, "CREATE (:Memory:Active {namespace: $ns, content: 'by hand', mine: 1, hand: $ns})", space)
    by_hand(
        driver,
        "MATCH (a:Memory {namespace: $ns}), (b:Memory {namespace: $ns}) WHERE a.content = 'one' AND b.content = 'two' "
        "CREATE (a)-[:RELATES_TO {since: 2020}]->(b)",
        space,
    )
    assert ask("doctor", "--repair", "--yes")["mended"] == {"made": 1, "edge": 1}
    with driver.session() as session:
        node = session.run("MATCH (n:SetAside {namespace: $ns}) RETURN n {.*} AS n", ns=space).single(strict=True)["n"]
        edge = session.run(
            "MATCH (:Memory {namespace: $ns, id: $a})-[r:SET_ASIDE]->({id: $b}) RETURN r {.*} AS r", ns=space, a=a, b=b
        ).single(strict=True)["r"]
    assert (node["content"], node["mine"]) == ("by hand", 1)
    assert edge == {"since": 2020, "was": "RELATES_TO"}
    assert ask("count", "--status", "any") == {"count": 2}


def test_other_programs_nodes_are_left_alone(run: Run, ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """A node labelled Memory with nothing of ours on it is named, and not touched."""
    by_hand(driver, "CREATE (:Memory {name: 'Ada', type: 'person', hand: $ns})", space)
    for words in (["doctor"], ["doctor", "--repair", "--yes"]):
        report = ask(*words, code=1)
        assert [(problem["code"], problem["repair"]) for problem in report["problems"]] == [("odd", "")]
    with driver.session() as session:
        assert session.run("MATCH (m:Memory {hand: $ns}) RETURN count(m)", ns=space).single(strict=True)[0] == 1


def test_a_line_that_is_drawn_again_keeps_its_reasons(ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """People read them on the arrows."""
    ask("remember", "old", "--key", "k")
    ask("remember", "new", "--key", "k", "--reason", "moved")
    by_hand(driver, "MATCH ({namespace: $ns})-[r:SUPERSEDES]->() DELETE r", space)
    assert set(ask("doctor", "--repair", "--yes")["mended"]) == {"line"}
    with driver.session() as session:
        arrows = session.run("MATCH ({namespace: $ns})-[r:SUPERSEDES]->() RETURN r.reason AS reason", ns=space).value()
    assert arrows == ["moved"]


def test_a_purge_holds_after_people_deleted_the_key(run: Run, ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """The doctor draws a deleted MemoryKey again with what a purge left on it: nothing older becomes current."""
    ask("remember", "old", "--key", "k")
    new = ask("remember", "new", "--key", "k")["id"]
    ask("purge", "--id", new, "--yes")
    run("current", "k", code=3)
    assert ask("doctor")["ok"]
    by_hand(driver, f"{KEYED} DETACH DELETE k", space)
    assert ask("doctor", code=1)["problems"][0]["code"] == "line"
    assert ask("doctor", "--repair", "--yes")["ok"]
    run("current", "k", code=3)
    assert ask("history", "k")["entries"][0]["status"] == "superseded"


def test_a_store_whose_secrets_were_deleted_can_be_written_again(ask: Ask, driver: neo4j.Driver, space: str) -> None:
    """The node that counts the secrets of tombstones is put right; secrets themselves cannot come back, and that is said."""
    ask("remember", "one")
    by_hand(driver, "MATCH (s:Store {name: 'memgraph'}) SET s.secrets = s.secrets + 1", space)
    assert [problem["code"] for problem in ask("doctor", code=1)["problems"]] == ["secret"]
    assert ask("doctor", "--repair", "--yes")["mended"] == {"secret": 1}
    ask("remember", "two")
    by_hand(driver, "CREATE (:Tombstone {namespace: $ns, hash: 'x', version: '', secret: 'nobody', seq: 1})", space)
    problems = ask("doctor", "--repair", "--yes", code=1)["problems"]
    assert [(problem["code"], problem["repair"]) for problem in problems] == [("tombstone", "")]
