"""The command: one for every verb, with help, JSON, and the exit code that says how it went."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import click
import networkx as nx
import pytest

from memgraph import Memory, Status, Trust, __version__, errors
from memgraph.cli import options, tour
from memgraph.cli.main import SECTIONS, cli, exit_code
from tests.unit.conftest import Run, strict

COMMANDS = [name for section in SECTIONS.values() for name in section]


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "memgraph", *arguments], capture_output=True, timeout=60, **options)


# ---- the surface


def test_every_public_verb_has_a_command() -> None:
    not_commands = {"open", "from_env", "namespace", "close", "backend", "path", "degraded"}
    renamed = {
        "check": "doctor",
        "set_up": "init",
        "export_to": "export",
        "import_from": "import",
        "plan_import": "import",
    }
    renamed |= dict.fromkeys(
        ("sync_diff", "sync_repair", "dead_letters", "retry_dead_letters", "drop_dead_letters"), "sync"
    )
    renamed |= {"restorable": "restore", "verify_purge": "purge", "holds": "hold", "lift_hold": "hold"}
    verbs = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")} - not_commands
    assert {renamed.get(verb, verb.replace("_", "-")) for verb in verbs} | {
        "browser",
        "config",
        "completion",
        "tour",
    } == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_the_common_options(name: str, run: Run) -> None:
    text = run(name, "--help").stdout
    assert f"memgraph {name}" in text.partition("Example")[2] or "memgraph --namespace" in text
    for option in ("--store", "--primary", "--namespace", "--json", "--verbose", "--quiet"):
        assert option in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_one_that_the_command_takes(name: str, store: Path) -> None:
    for file in ("backup.jsonl", "talk.json", "facts.jsonl", "plan.json", "receipt.json"):
        Path(file).touch()
    with click.Context(cli, info_name="memgraph") as context:
        command = cli.get_command(context, name)
    assert command is not None
    examples = [line.strip()[2:] for line in (command.epilog or "").split("\n") if line.strip().startswith("$ ")]
    assert examples
    for example in examples:
        words = shlex.split(example.rpartition("| memgraph")[2] if "| memgraph" in example else example, comments=True)
        words = words[words.index("memgraph") + 1 :] if "memgraph" in words else words
        stops = [words.index(word) for word in ("|", ">") if word in words]
        words = words[: min(stops, default=len(words))]
        if example.startswith("eval"):
            continue
        with click.Context(cli, info_name="memgraph") as context:
            _, rest, _ = cli.make_parser(context).parse_args(words)
            assert rest[0] == name
            command.make_context(name, rest[1:], parent=context)


def test_help_and_version(run: Run) -> None:
    text = run().stdout
    assert text == run("--help").stdout == run("-h").stdout
    assert all(f"  {name} " in text for name in COMMANDS)
    assert "..." not in text.partition("Read:")[2]
    assert run("--version").stdout == f"memgraph {__version__}\n"


def test_choices_are_those_of_the_models() -> None:
    assert set(options.STATUSES) == {*Status, "any"}
    assert set(options.TRUSTS) == set(Trust)


@pytest.mark.parametrize("arguments", [["--help"], ["get", "ID"], ["remember", "--help"]])
def test_what_is_not_needed_is_not_loaded(arguments: list[str], store: Path) -> None:
    with Memory.open(store) as memory:
        id = memory.remember("Porto").id
    program = (
        "import sys\n"
        "from memgraph.cli.main import cli\n"
        f"code = cli.main({[id if a == 'ID' else a for a in arguments]!r}, standalone_mode=False)\n"
        "heavy = {'neo4j', 'networkx', 'numpy', 'rich', 'snowballstemmer', 'regex', 'asyncio'} & set(sys.modules)\n"
        "print(code, sorted(heavy), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert done.stderr == b"0 []\n"


def test_help_does_not_load_the_models() -> None:
    program = (
        "import sys\n"
        "from memgraph.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print('pydantic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert done.stdout.split()[-1] == b"False"


# ---- reading and writing


def test_a_key_from_first_value_to_history(run: Run, ask: Callable[..., Any]) -> None:
    porto = ask("remember", "Porto", "--key", "ada/city")
    berlin = ask("remember", "Berlin", "--key", "ada/city", "--reason", "moved in May")
    assert porto["content"] == "Porto"
    assert ask("current", "ada/city") == ask("get", berlin["id"])
    assert ask("get", porto["id"])["status"] == "superseded"
    assert [e["content"] for e in ask("history", "ada/city")["entries"]] == ["Porto", "Berlin"]
    assert [e["content"] for e in ask("list")["entries"]] == ["Berlin"]
    assert [e["content"] for e in ask("list", "--status", "any")["entries"]] == ["Berlin", "Porto"]
    assert ask("count") == {"count": 1}
    assert ask("current", "ada/city", "--known-at", porto["recorded_at"])["content"] in ("Porto", "Berlin")
    hits = ask("search", "ada", "city", "--explain")
    assert [hit["entry"]["content"] for hit in hits["hits"]] == ["Berlin"]
    assert hits["hits"][0]["why"]
    assert hits["degraded"] is None
    drawn = run("lineage", "ada/city").stdout
    assert "Berlin" in drawn
    assert "moved in May" in drawn
    assert ask("lineage", "ada/city")["current"] == berlin["id"]


def test_every_field_of_remember(ask: Callable[..., Any]) -> None:
    other = ask("remember", "the bridge")
    entry = ask(
        *(
            "remember",
            "Ada is in Porto",
            "--key",
            "k",
            "--kind",
            "note",
            "--id",
            "m1",
            "--subject",
            "ada",
            "--title",
            "t",
        ),
        *(
            "--tag",
            "a",
            "--tag",
            "b",
            "--alias",
            "home",
            "--metadata",
            '{"n": 1, "deep": {"x": null}}',
            "--source",
            "chat",
        ),
        *("--actor", "ada", "--session", "s1", "--trust", "user", "--pinned", "--confidence", "0.5"),
        *("--valid-from", "2026-01-01T00:00:00+02:00", "--valid-to", "2090-01-01T00:00:00Z", "--ttl", "30d"),
        *("--relates-to", other["id"], "--reason", "because", "--if-absent"),
    )
    wanted = {
        "id": "m1",
        "key": "k",
        "kind": "note",
        "subject": "ada",
        "title": "t",
        "tags": ["a", "b"],
        "aliases": ["home"],
        "metadata": {"n": 1, "deep": {"x": None}},
        "source": "chat",
        "actor": "ada",
        "session": "s1",
        "trust": "user",
        "pinned": True,
        "confidence": 0.5,
        "valid_from": "2025-12-31T22:00:00Z",
        "reason": "because",
    }
    assert {name: entry[name] for name in wanted} == wanted
    assert entry["expires_at"] is not None
    around = ask("neighbours", "m1")
    assert [e["id"] for e in around["entries"]] == [other["id"]]
    assert ask("list", "--where", "n=1", "--tag", "a", "--pinned", "--trust", "user")["entries"][0]["id"] == "m1"
    assert ask("count", "--where", "n>=2") == {"count": 0}
    assert ask("count", "--not-pinned") == {"count": 1}


def test_options_stand_before_or_after_the_command(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    run("--store", other, "-n", "acme/u1", "remember", "before")
    run("remember", "after", "--store", other, "--namespace", "acme/u2")
    assert strict(run("namespaces", "--store", other, "--json").stdout) == {"namespaces": ["acme/u1", "acme/u2"]}
    assert strict(run("--json", "--store", other, "namespaces", "acme").stdout)["namespaces"] == ["acme/u1", "acme/u2"]
    assert (
        strict(run("list", "--json", "--store", other, "-n", "acme", "--subtree").stdout)["entries"][0]["content"]
        == "after"
    )
    assert run("-n", "acme/u1", "--store", "nowhere.db", "count", "--store", other).stdout == "1\n"


def test_content_from_standard_input(ask: Callable[..., Any], run: Run) -> None:
    assert ask("remember", "-", input="two\nlines\n")["content"] == "two\nlines"
    assert ask("remember", "-", input=b"\xef\xbb\xbfwith a mark\r\n")["content"] == "with a mark"
    assert "not UTF-8" in run("remember", "-", code=2, input=b"\xff\xfea\x00").stderr
    assert ask("remember", "--", "--help")["content"] == "--help"


def test_remember_many_is_whole_or_nothing(run: Run, ask: Callable[..., Any]) -> None:
    lines = [
        '{"content": "a", "key": "k", "valid_from": "2026-01-01T00:00:00Z"}',
        "",
        '{"content": "b", "tags": ["t"]}',
    ]
    found = ask("remember-many", "-", input="\n".join(lines))
    assert [e["content"] for e in found["entries"]] == ["a", "b"]
    assert found["entries"][0]["valid_from"] == "2026-01-01T00:00:00Z"
    for bad in ("[1]", "{", '{"content": "x", "expires_at": "tomorrow"}', '{"content": "x", "metadata": {"n": NaN}}'):
        stderr = run("remember-many", "-", code=2, input=f'{{"content": "c"}}\n{bad}\n').stderr
        assert "line 2" in stderr
    run("remember-many", "-", code=2, input='{"content": "c"}\n{"content": "x", "nonsense": 1}')
    run("remember-many", "-", code=2, input='{"content": "c"}\n{"content": " "}')
    assert ask("count", "--status", "any") == {"count": 2}
    Path("facts.jsonl").write_text(lines[0])
    assert len(run("-q", "remember-many", "facts.jsonl").stdout.split()) == 1


def test_relations_and_explicit_replacement(ask: Callable[..., Any], run: Run) -> None:
    a, b = ask("remember", "first reading"), ask("remember", "second reading")
    edge = ask("relate", a["id"], b["id"], "--type", "same_as", "--weight", "0.5", "--note", "see p. 3")
    assert (edge["label"], edge["type"], edge["weight"], edge["note"]) == ("RELATES_TO", "same_as", 0.5, "see p. 3")
    assert ask("neighbours", b["id"], "--depth", "1")["edges"][0]["type"] == "same_as"
    assert "same_as" in run("neighbours", b["id"]).stdout
    ask("unrelate", a["id"], b["id"], "--type", "same_as")
    assert ask("neighbours", b["id"])["entries"] == []
    run("unrelate", a["id"], b["id"], "--type", "same_as", code=3)
    edge = ask("supersede", a["id"], "--by", b["id"], "--reason", "read again")
    assert (edge["source_id"], edge["target_id"], edge["reason"]) == (b["id"], a["id"], "read again")
    assert ask("get", a["id"])["superseded_by"] == b["id"]
    run("supersede", b["id"], "--by", a["id"], code=2)
    run("relate", a["id"], "no-such-id", code=3)


def test_feedback_forget_restore(ask: Callable[..., Any], run: Run) -> None:
    one = ask("remember", "Porto", "--key", "city")
    assert ask("feedback", one["id"], "--signal", "1", "--verified")["entries"][0]["feedback_count"] == 1
    assert ask("forget", "--key", "city", "--reason", "stale")["status"] == "forgotten"
    run("current", "city", code=3)
    copy = ask("restore", one["id"], "--yes")
    assert (copy["content"], copy["restores"], copy["status"]) == ("Porto", one["id"], "active")
    run("forget", code=2)
    run("forget", one["id"], "--key", "city", code=2)
    run("feedback", "no-such-id", "--signal", "1", code=3)


def test_restore_to_a_version_or_a_time(ask: Callable[..., Any], run: Run) -> None:
    first = ask("remember", "Porto", "--key", "city")
    then = datetime.now(UTC).isoformat()
    second = ask("remember", "Berlin", "--key", "city")
    ask("remember", "Rome", "--key", "city")
    shown = run("restore", "--key", "city", "--to", first["version"], "--dry-run")
    assert "before: Rome (active" in shown.stderr
    assert "after:  Porto (superseded" in shown.stderr
    assert ask("current", "city")["content"] == "Rome"
    assert ask("restore", "--key", "city", "--to", then, "--yes")["content"] == "Porto"
    assert ask("restore", "--key", "city", "--to", second["version"], "--yes")["content"] == "Berlin"
    assert ask("restore", "--key", "city", "--yes")["content"] == "Porto", "the newest that is not current"
    assert len(ask("history", "city")["entries"]) == 6
    released = ask("release", "--kind", "fact", "--yes")
    would = run("restore", "--changeset", released["id"], "--dry-run").stdout
    assert "city  released -> active" in would
    run("current", "city", code=3)
    assert "released -> active" in run("restore", "--changeset", released["id"], code=4).stderr
    run("restore", "--changeset", released["id"], "--yes")
    assert ask("current", "city")["content"] == "Porto"
    run("restore", "--key", "city", "--to", "2001-01-01T00:00:00Z", "--yes", code=3)
    assert (
        "lies in the future" in run("restore", "--key", "city", "--to", "2999-01-01T00:00:00Z", "--yes", code=2).stderr
    )
    run("restore", "--key", "city", "--to", "now", "--dry-run")
    for wrong in ((), ("x", "--key", "k"), ("x", "--to", then), ("--key", "city", "--to", "yesterday")):
        run("restore", *wrong, "--yes", code=2)


def test_an_expired_memory_is_restored_once_and_told_to_expire_no_longer(
    ask: Callable[..., Any], run: Run, store: Path
) -> None:
    with Memory.open(store, clock=lambda: time.time() - 60, preload=False) as memory:
        for key in (None, "k"):
            memory.remember("retain", id=f"of-{key}", key=key, ttl=30)
    for id in ("of-None", "of-k"):
        shown = run("restore", id, "--dry-run").stderr
        assert "before: nothing\n" in shown
        assert shown.count("it would no longer expire") == 2
    copy = ask("restore", "of-None", "--yes")
    assert (copy["restores"], copy["expires_at"]) == ("of-None", None)
    for words in ((), ("--dry-run",), ("--yes",)):
        again = run("restore", "of-None", *words)
        assert f"{copy['id']} is active already" in again.stderr
        assert copy["id"] in again.stdout
    assert ask("restore", "of-None")["id"] == copy["id"]
    assert ask("count") == {"count": 1}
    assert "no longer expires" in " ".join(run("restore", "--help").stdout.split())


def test_rewind_and_undo(ask: Callable[..., Any], run: Run) -> None:
    run("remember", "Porto", "--key", "city", "--actor", "ada")
    run("remember", "Hell", "--key", "city", "--actor", "mallory")
    assert "1 memories out of use and bring 1 back" in run("rewind", "--actor", "mallory", code=4).stderr
    assert [change["after"] for change in ask("rewind", "--actor", "mallory", "--dry-run")["changes"]] == [
        "released",
        "active",
    ]
    assert ask("current", "city")["content"] == "Hell"
    done = ask("rewind", "--actor", "mallory", "--yes")
    assert ask("current", "city")["content"] == "Porto"
    assert "1 memories out of use and bring 1 back" in run("undo", done["id"], code=4).stderr
    assert ask("undo", done["id"], "--dry-run")["dry_run"]
    assert ask("current", "city")["content"] == "Porto"
    ask("undo", done["id"], "--yes", "--by", "ada")
    assert ask("current", "city")["content"] == "Hell"
    assert [(act["what"], act["by"]) for act in ask("audit")][1:] == [("undo", "ada")]
    assert ask("undo", done["id"])["id"] == f"undo:{done['id']}", "taken back already: nothing to ask"
    run("rewind", code=2)


def test_release_and_undo(ask: Callable[..., Any], run: Run) -> None:
    for content in ("old plan A", "old plan B", "new plan"):
        ask("remember", content)
    assert len(ask("release", "old", "plan", "--dry-run")["changes"]) == 2
    changes = ask("release", "old", "plan", "--reason", "done", "--yes")
    assert {change["after"] for change in changes["changes"]} == {"released"}
    assert ask("count") == {"count": 1}
    assert ask("undo", changes["id"], "--yes")["undoes"] == changes["id"]
    assert ask("count") == {"count": 3}
    ask("forget", changes["changes"][0]["id"])
    for again in (("undo", changes["id"]), ("restore", "--changeset", changes["id"])):
        for way in ("--dry-run", "--yes"):
            assert ask(*again, way)["changes"] == [], "what happened since stays"
            assert "taken back already" in run(*again, way).stdout
    assert run("release", "nothing", "such", "--yes").stdout == "released: nothing to change\n"
    assert "undo" in run("release", "--kind", "fact", "--yes").stderr
    run("release", code=2)
    run("undo", "no-such-change-set", code=3)


def test_plan_and_purge(ask: Callable[..., Any], run: Run, store: Path) -> None:
    for content in ("Porto", "Berlin"):
        ask("remember", content, "--key", "city")
    plan = ask("plan-purge", "--key", "city", "--out", "plan.json")
    assert plan["by_status"] == {"active": 1, "superseded": 1}
    Path("copy.db").write_bytes(store.read_bytes())
    assert "another store" in run("purge", "--plan", "plan.json", "--yes", "--store", "copy.db", code=4).stderr
    assert ask("count", "--status", "any", "--store", "copy.db") == {"count": 2}
    assert "No such file" in run("purge", "--plan", "plan.json", "--yes", "--out", "nowhere/r.json", code=2).stderr
    receipt = ask("purge", "--plan", "plan.json", "--yes")
    assert receipt["removed"]["memories"] == 2
    assert ask("count", "--status", "any") == {"count": 0}
    run("purge", "--plan", "plan.json", "--yes", code=4)
    run("purge", "--plan", "plan.json", "--key", "x", "--yes", code=2)
    Path("plan.json").write_text("{}")
    assert "not a plan" in run("purge", "--plan", "plan.json", "--yes", code=2).stderr
    run("purge", "--yes", code=2)


def test_a_plan_is_of_its_store_wherever_that_is_named_from(
    ask: Callable[..., Any], run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("remember", "Porto", "--key", "city")
    (tmp_path / "with a copy").mkdir()
    Path("with a copy/memory.db").write_bytes(store.read_bytes())
    Path("link.db").symlink_to(store)
    for name in ("memory.db", "link.db"):
        plan = ask("plan-purge", "--key", "city", "--store", name, "--out", "plan.json", "--force")
        assert plan["store"] == str(store.resolve())
    monkeypatch.chdir("with a copy")
    assert "another store" in run("purge", "--apply", "../plan.json", "--yes", "--store", "memory.db", code=4).stderr
    run("purge", "--apply", "../plan.json", "--yes", "--store", "../memory.db")


def test_a_plan_that_somebody_changed_is_refused_before_it_is_shown(ask: Callable[..., Any], run: Run) -> None:
    ask("remember", "Porto", "--key", "city")
    ask("plan-purge", "--key", "city", "--out", "plan.json")
    written = Path("plan.json").read_text()
    for old, new in (('"fact": 1', '"junk": 99'), ('"local": 1', '"local": 99'), ('"seal"', '"at": null, "seal"')):
        assert old in written
        Path("plan.json").write_text(written.replace(old, new))
        refused = run("purge", "--apply", "plan.json", "--dry-run", code=2 if "seal" in new else 4)
        assert refused.stdout == ""
    assert ask("count") == {"count": 1}


def test_consolidate_status_stats_doctor(ask: Callable[..., Any], run: Run, store: Path) -> None:
    ask("remember", "Porto")
    assert ask("consolidate")["after"] == 1
    assert ask("status")["store"] == str(store)
    assert ask("stats")["entries"] == 1
    assert ask("doctor")["ok"] is True
    assert ask("doctor", "--reindex")["ok"] is True
    for command in ("consolidate", "status", "stats", "doctor"):
        assert run(command).stdout


def test_diff(ask: Callable[..., Any], run: Run) -> None:
    ask("remember", "Porto", "--key", "city")
    diff = ask("diff", "2020-01-01T00:00:00Z", "now")
    assert [entry["content"] for entry in diff["added"]] == ["Porto"]
    assert "added: 1" in run("diff", "2020-01-01T00:00:00Z", "now").stdout


def test_export_and_import(ask: Callable[..., Any], run: Run, tmp_path: Path) -> None:
    ask("remember", "Porto", "--key", "city")
    ask("remember", "Berlin", "--key", "city")
    assert ask("export", "out.jsonl")["exported"] > 0
    run("export", "out.jsonl", code=4)
    run("export", "out.jsonl", "--force")
    other = ("--store", str(tmp_path / "other.db"))
    assert ask("import", "out.jsonl", "--dry-run", *other)["dry_run"] is True
    assert not (tmp_path / "other.db").exists()
    assert ask("import", "out.jsonl", *other)["imported"] > 0
    assert ask("history", "city", *other) == ask("history", "city")
    run("import", "out.jsonl", *other, code=4)
    assert ask("import", "out.jsonl", "--yes", *other)["imported"] == 0
    ask("remember", "elsewhere", "-n", "acme")
    ask("export", "acme.jsonl", "-n", "acme")
    assert ask("import", "acme.jsonl", "--dry-run", *other)["imported"] > 0
    assert "1 would be new; nothing" in run("import", "acme.jsonl", "--dry-run", *other).stdout
    assert ask("import", "out.jsonl", "--dry-run", *other)["imported"] == 0, "it is looked at what the store holds"
    run("import", "acme.jsonl", "--dry-run", "-n", "walled", *other, code=2)
    run("import", "acme.jsonl", "--yes", "-n", "walled", *other, code=2)
    run("import", "no-such-file.jsonl", code=2)
    Path("broken.jsonl").write_text("{")
    assert run("import", "broken.jsonl", "--yes", code=1).stderr


def test_import_of_a_transcript(ask: Callable[..., Any], run: Run) -> None:
    turns = [
        {"text": "I moved to Porto", "speaker": "ada", "session": "s1", "time": "2026-01-01T10:00:00", "scope": "talk"},
        {"text": "How nice!", "speaker": "bob", "session": "s1", "time": "2026-01-01T10:01:00", "scope": "talk"},
    ]
    Path("talk.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    mapping = "content=text,actor=speaker,session=session,valid_from=time,namespace=scope"
    arguments = ("import", "talk.jsonl", "--format", "chat", "--map", mapping, "--timezone", "UTC")
    assert ask(*arguments)["imported"] == 2
    found = ask("search", "where did ada move", "-n", "talk")["hits"][0]["entry"]
    assert (found["content"], found["actor"], found["valid_from"]) == (
        "I moved to Porto",
        "ada",
        "2026-01-01T10:00:00Z",
    )
    assert ask(*arguments, "--yes") is not None
    assert ask("count", "-n", "talk") == {"count": 2}
    run("import", "talk.jsonl", "--format", "chat", "--map", "content", code=2)
    run("import", "talk.jsonl", "--map", mapping, code=2)


def test_b062_the_graph_comes_back_whole(ask: Callable[..., Any], run: Run) -> None:
    hard = "W\x00s\x1b[2J\r\n<&>\u202e \ufffe é 日本"
    Path("in.jsonl").write_text(
        json.dumps({"content": hard, "id": "a", "metadata": {"list": [1, None], "deep": {"x": hard}}})
    )
    ask("remember-many", "in.jsonl")
    ask("remember", "two", "--id", "b\ufffe", "--expires-at", "2090-01-01T00:00:00Z")
    ask("relate", "b\ufffe", "a", "--type", "answers", "--note", hard)
    ask("relate", "b\ufffe", "a", "--type", "follows")
    ask("supersede", "a", "--by", "b\ufffe")
    run("graph", "g.graphml", "--format", "graphml")
    ET.parse("g.graphml")
    graph = nx.read_graphml("g.graphml", force_multigraph=True)
    entries = {entry["id"]: entry for entry in (json.loads(data["entry"]) for _, data in graph.nodes(data=True))}
    assert entries["a"] == ask("get", "a")
    assert entries["b\ufffe"] == ask("get", "b\ufffe")
    kinds = sorted((data["label"], data.get("type")) for *_, data in graph.edges(data=True))
    assert kinds == [("RELATES_TO", "answers"), ("RELATES_TO", "follows"), ("SUPERSEDES", None)]
    assert hard in {json.loads(data["edge"]).get("note") for *_, data in graph.edges(data=True)}

    graph = nx.node_link_graph(strict(run("graph", "-").stdout), edges="edges")
    assert graph.number_of_edges("b\ufffe", "a") == 3
    assert graph.nodes["a"]["content"] == hard
    before = Path("g.graphml").read_bytes()
    run("graph", "g.graphml", code=4)
    assert Path("g.graphml").read_bytes() == before
    run("graph", "no-such-folder/g.json", code=2)
    assert sorted(path.suffix for path in Path().iterdir() if path.name.startswith(".")) == []


def test_config_says_where_each_value_came_from(
    ask: Callable[..., Any], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret-word")
    monkeypatch.setenv("NEO4J_URI", "neo4j://elsewhere")
    Path("memgraph.toml").write_text("lock_timeout = 3\n")
    answer = ask("config", "-n", "acme")
    assert answer["settings"]["namespace"] == {"value": "acme", "origin": "argument"}
    assert answer["settings"]["store"]["origin"] == "MEMGRAPH_STORE"
    assert answer["settings"]["lock_timeout"]["value"] == 3.0
    assert answer["settings"]["lock_timeout"]["origin"].endswith("memgraph.toml")
    assert answer["settings"]["durability"] == {"value": "full", "origin": "default"}
    assert answer["ignored"] == ["NEO4J_URI"]
    text = run("config").stdout
    assert "NEO4J_PASSWORD" in text
    assert "s3cret-word" not in text + json.dumps(answer)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, run: Run) -> None:
    assert "_MEMGRAPH_COMPLETE" in run("completion", shell).stdout


def test_completion_answers_the_shell() -> None:
    asking = {"_MEMGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "memgraph rem", "COMP_CWORD": "1"}
    done = process(env={**os.environ, **asking})
    assert [line.split(b",")[-1].strip() for line in done.stdout.splitlines()] == [b"remember", b"remember-many"]


# ---- how it ends


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidInputError("x"), 2),
        (errors.NotFoundError("x"), 3),
        (errors.ConflictError("x"), 4),
        (errors.PurgedError("x"), 4),
        (errors.LegalHoldError("x"), 4),
        (errors.ReadOnlyError("x"), 4),
        (errors.ClockDriftError("x"), 4),
        (errors.UnavailableError("x"), 5),
        (errors.StoreLockedError("x"), 5),
        (errors.StoreCorruptError("x"), 1),
        (errors.StoreFullError("x"), 1),
        (errors.AuthError("x"), 4),
    ],
)
def test_exit_codes(error: Exception, code: int) -> None:
    assert exit_code(error) == code


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["get", "no-such-id"], 3, "NotFoundError"),
        (["current", "no-such-key"], 3, "NotFoundError"),
        (["remember", " "], 2, "InvalidInputError"),
        (["remember", "x", "--key", ""], 2, "InvalidInputError"),
        (["remember", "x", "--id", "taken"], 4, "ConflictError"),
        (["list", "--namespace", ""], 2, "InvalidInputError"),
        (["list", "--since", "2026-01-01"], 2, "UsageError"),
        (["list", "--where", "n"], 2, "UsageError"),
        (["list", "--limit", "0"], 2, "UsageError"),
        (["remember", "x", "--ttl", "soon"], 2, "UsageError"),
        (["remember", "x", "--metadata", "[1]"], 2, "UsageError"),
        (["get"], 2, "UsageError"),
        (["no-such-command"], 2, "UsageError"),
        (["get", "x", "--no-such-option"], 2, "UsageError"),
        (["purge", "--key", "k"], 4, "RefusedError"),
        (["status", "--store", "no-such.db"], 3, "NotFoundError"),
        (["status", "--store", "text.db"], 1, "StoreCorruptError"),
        (["status", "--store", "bolt://127.0.0.1:1"], 5, "UnavailableError"),
    ],
)
def test_errors_are_one_object_on_standard_error(arguments: list[str], code: int, name: str, run: Run) -> None:
    run("remember", "something else", "--id", "taken", "--key", "k")
    Path("text.db").write_text("this is no store of ours, however long it is" * 9)
    result = run(*arguments, "--json", code=code)
    assert result.stdout == ""
    told = strict(result.stderr)
    assert set(told) == {"error", "message", "retryable", "hint"}
    assert (told["error"], told["retryable"]) == (name, name == "UnavailableError")
    assert told["message"]
    plain = run(*arguments, code=code)
    assert plain.stdout == ""
    assert "\nmemgraph: " in f"\n{plain.stderr}"
    assert "Traceback" not in plain.stderr


def test_reading_makes_no_store(run: Run, store: Path) -> None:
    for command in (["list"], ["count"], ["search", "x"], ["status"], ["doctor"], ["purge", "--everything", "--yes"]):
        assert "there is no store" in run(*command, code=3).stderr
    assert not store.exists()


def test_an_import_that_is_refused_makes_no_store(run: Run, store: Path) -> None:
    Path("text.jsonl").write_text("no export")
    Path("empty.jsonl").write_bytes(b"")
    Path("talk.json").write_text('[{"content": 3}]')
    with Memory.open("other.db", namespace="a", preload=False) as memory:
        memory.remember("x")
        memory.export_to("of-a.jsonl")
    for words, code in (
        (["text.jsonl"], 1),
        (["empty.jsonl"], 1),
        (["text.jsonl", "--strict"], 1),
        (["of-a.jsonl", "-n", "b"], 2),
        (["talk.json", "--format", "chat"], 2),
    ):
        run("import", *words, "--yes", code=code)
        assert not store.exists(), words
    assert run("import", "of-a.jsonl").stdout == "imported 1\n"


def test_a_hold_is_selected_when_it_is_added_only(ask: Callable[..., Any], run: Run) -> None:
    ask("remember", "x", "--subject", "ada")
    hold = ask("hold", "add", "--subject", "ada", "--reason", "case 17")
    for words in (["--subject", "bo"], ["--everything"], ["--subtree"], ["--reason", "case 17"]):
        assert "go with add" in run("hold", "list", *words, code=2).stderr
        assert "go with add" in run("hold", "lift", hold["id"], "--yes", *words, code=2).stderr
    assert ask("hold", "list") == [hold]


def test_quiet_leaves_the_answer(run: Run) -> None:
    id = run("-q", "remember", "Porto").stdout.strip()
    assert run("-q", "get", id).stdout.rstrip().endswith("Porto")
    assert run("-q", "list").stdout.startswith(id)
    assert run("list").stdout.startswith("id ")
    assert run("-q", "search", "nothing-like-it").stderr == ""
    assert run("search", "nothing-like-it").stderr == "nothing found in namespace default\n"


def test_pages_go_on(ask: Callable[..., Any], run: Run) -> None:
    for n in range(5):
        ask("remember", f"m{n}")
    first = ask("list", "--limit", "3")
    second = ask("list", "--limit", "3", "--after", first["next"])
    assert [e["content"] for e in first["entries"] + second["entries"]] == ["m4", "m3", "m2", "m1", "m0"]
    assert second["next"] is None
    assert "--after" in run("list", "--limit", "3").stderr


def test_conditions() -> None:
    assert options.condition("city=Porto") == {"field": "city", "op": "eq", "value": "Porto"}
    assert options.condition("n>=3") == {"field": "n", "op": "ge", "value": 3}
    assert options.condition('n!="3"') == {"field": "n", "op": "ne", "value": "3"}
    assert options.condition("tags~red") == {"field": "tags", "op": "contains", "value": "red"}
    assert options.condition("n?") == {"field": "n", "op": "exists", "value": True}
    assert options.condition('{"field": ["a", "b"], "op": "lt", "value": 1}')["field"] == ["a", "b"]
    for bad in ("n", "=3", "n?x", '{"n": NaN}'):
        with pytest.raises(ValueError, match=r"condition|JSON"):
            options.condition(bad)


def test_times_and_durations() -> None:
    assert options.instant("2026-05-01T12:00:00Z") == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert options.instant("2026-05-01T12:00:00+02:00") == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert [options.duration(text).total_seconds() for text in ("90", "1.5m", "2h", "1d", "2w")] == [
        90,
        90,
        7200,
        86400,
        1209600,
    ]
    for bad in ("", "h", "-1d", "1y", "9" * 99 + "w"):
        with pytest.raises(ValueError, match="duration"):
            options.duration(bad)


# ---- the tour


def test_the_tour_in_a_pipe(tmp_path: Path) -> None:
    done = process("tour", "--keep", str(tmp_path / "kept"), stdin=subprocess.DEVNULL)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    for step in tour.STEPS:
        assert step.title in text
        assert all(f">>> {line}" in text for line in step.lines)
    for result in ("'Porto'", "'Berlin'", "['Berlin']", "[]", "she moved in May", " acknowledged, 0 lost'", "\n0\n"):
        assert result in text
    assert "Where to go next" in text
    assert tour.bytes_left(str(tmp_path / "kept" / "memory.db"), "Porto", "Berlin") == 0
    with Memory.open(tmp_path / "kept" / "memory.db") as memory:
        assert memory.count() >= 26
    assert process("tour", "--keep", str(tmp_path / "kept")).returncode == 4


def test_a_tour_that_does_not_do_what_it_says_fails(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(tour, "STEPS", (tour.Step("Add", ("1 + 1",), "result == 3"),))
    assert "failed at step 1: Add" in run("tour", code=1).stderr
    monkeypatch.setattr(tour, "STEPS", (tour.Step("Add", ("1 + 1",), "result == 2"),))
    steps = strict(run("tour", "--json").stdout)["steps"]
    assert steps == [{"step": 1, "title": "Add", "lines": [{"line": "1 + 1", "result": "2"}]}]
