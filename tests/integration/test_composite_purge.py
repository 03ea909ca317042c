"""What a purge through a file reaches, and what it must leave to somebody's eyes: refused operations, holds, other people's ids."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memgraph import Memory
from memgraph.admin.backup import restore
from memgraph.backends.base import Scope
from memgraph.backends.composite import pending
from memgraph.cli.main import cli
from memgraph.errors import LegalHoldError, UnavailableError
from memgraph.models import Filters
from tests.integration.replicas import Laptop, cypher, held, in_touch, nodes, replica, synced
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")
CANARY = "the canary of Rua Nova"


def files_of(laptop: Laptop) -> bytes:
    return b"".join(file.read_bytes() for file in laptop.local.files())


def cut(laptop: Laptop) -> None:
    laptop.cable.refuse()
    laptop.link.breaker.fail("it was cut")


def back(laptop: Laptop) -> None:
    laptop.cable.heal()
    laptop.link._probe()


@pytest.fixture
def refused(laptop: Callable[..., Laptop]) -> Laptop:
    """A replica whose memory "x" was refused, as its id is another's on the primary, with what was done to it."""
    a, b = laptop("a"), laptop("b")
    a.memory.remember("theirs", id="x")
    synced(a.memory)
    cut(b)
    b.memory.remember(CANARY, id="x", subject="ann", tags=["street"])
    b.memory.feedback(["x"], 1.0)
    b.memory.remember("kept", id="y")
    back(b)
    synced(b.memory)
    assert len(b.memory.dead_letters()) == 2
    assert b.here("x") == "theirs"
    return b


@pytest.mark.parametrize("selector", [{"text": "canary"}, {"subject": "ann"}, {"tags": ["street"]}])
def test_a_purge_reaches_what_was_refused(refused: Laptop, selector: dict[str, Any], neo4j_server: Server) -> None:
    plan = refused.memory.plan_purge(selector)
    assert (plan.total, plan.by_store) == (0, {"refused": 2})
    receipt = refused.memory.purge(plan)
    assert receipt.removed["refused operations"] == 2
    assert refused.memory.dead_letters() == []
    assert CANARY.encode() not in files_of(refused)
    assert held(neo4j_server, refused.memory.path).keys() == {"x", "y"}, "what is there under that id was not meant"


@pytest.mark.parametrize("mode", ["failover", "merge", "local_first"])
def test_what_was_refused_together_goes_together_when_it_is_dropped(laptop: Callable[..., Laptop], mode: str) -> None:
    """What the primary never had does not stay here, seen by some reads and not by others."""
    a, b = laptop("a"), laptop("b", mode=mode)
    a.memory.remember("theirs", id="x")
    synced(a.memory)
    cut(b)
    b.memory.remember_many([{"content": CANARY, "id": "x"}, {"content": "innocent", "id": "i"}])
    back(b)
    synced(b.memory)
    assert {entry.id for entry in b.memory.list()} == {"x", "i"}, "nothing vanishes by itself"
    assert b.memory.drop_dead_letters() == 2
    assert [entry.content for entry in b.memory.list()] == ["theirs"]
    assert b.memory.sync_diff().equal
    assert CANARY.encode() not in files_of(b)


def test_what_was_refused_can_be_read_and_dropped(refused: Laptop, neo4j_server: Server) -> None:
    letters = refused.memory.dead_letters()
    assert letters[0].payload["content"] == CANARY
    assert CANARY not in repr(letters)
    first, second = (letter.unit for letter in letters)
    assert refused.memory.drop_dead_letters([second]) == 1
    assert refused.memory.retry_dead_letters([second]) == 0
    refused.memory.remember(letters[0].payload["content"], id="x of b")
    assert refused.memory.drop_dead_letters() == 1
    assert refused.memory.drop_dead_letters([first]) == 0
    refused.memory.purge({"ids": ["x of b"]})
    assert CANARY.encode() not in files_of(refused)


def test_the_counts_of_a_sync_are_of_what_was_taken(laptop: Callable[..., Laptop]) -> None:
    a, b = laptop("a"), laptop("b")
    a.memory.remember("theirs", id="x")
    synced(a.memory)
    cut(b)
    b.memory.remember("mine", id="x")
    b.memory.remember("one", id="y")
    b.memory.remember("two", id="z")
    back(b)
    report = b.memory.sync()
    assert (report.pushed, report.dead_letters, report.waiting) == (2, 1, 0)


def test_one_id_of_another_holds_up_nothing_of_a_store_that_gets_a_primary(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path, namespace: str
) -> None:
    other = laptop("other")
    other.memory.remember("theirs", id="n7")
    synced(other.memory)
    with Memory.open(tmp_path / "b.db", namespace=namespace) as alone:
        alone.remember_many([{"content": f"note {n}", "id": f"n{n}"} for n in range(60)])
    b = laptop("b")
    b.memory.sync()
    synced(b.memory)
    assert [letter.payload["id"] for letter in b.memory.dead_letters()] == ["n7"]
    assert held(neo4j_server, namespace).keys() == {f"n{n}" for n in range(60)}
    assert b.here("n7") == "theirs"


# ---- holds, and other people's memories


def test_a_queued_purge_waits_for_a_hold_that_was_put_meanwhile(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    a = laptop("a")
    a.memory.remember("evidence", id="e", subject="bob")
    a.memory.remember("a note", id="n", subject="eve")
    synced(a.memory)
    cut(a)
    receipt = a.memory.purge({"subject": "bob"})
    a.memory.purge({"ids": ["n"]})
    with replica(tmp_path / "counsel.db", a.memory.path, neo4j_server) as counsel:
        counsel.sync()
        hold = counsel.hold({"subject": "bob"})
        in_touch(counsel)
        back(a)
        report = a.memory.sync()
        assert (report.waiting, report.dead_letters) == (0, 1)
        assert hold.id in a.memory.dead_letters()[0].reason
        assert a.memory.verify_purge(receipt).found == {"primaries that refused it": 1}
        assert nodes(neo4j_server, a.memory.path) == ["e"]
        counsel.lift_hold(hold.id)
        in_touch(counsel)
    a.memory.retry_dead_letters()
    synced(a.memory)
    assert nodes(neo4j_server, a.memory.path) == []
    assert a.memory.dead_letters() == []
    check = a.memory.verify_purge(receipt, {"subject": "bob"})
    assert check.ok, check
    assert not any("queued" in place for place in check.not_reached)
    (told,) = (act.details for act in a.memory.audit() if act.details.get("receipt", {}).get("id") == receipt.id)
    assert (told.get("refused"), told.get("pending")) == (None, False)


@pytest.mark.parametrize("selector", [{"ids": ["e"]}, {"key": "k"}, {"text": "evidence"}])
def test_a_purge_that_waited_spares_a_held_copy_of_what_it_names(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path, selector: dict[str, Any]
) -> None:
    """A restore made a copy there meanwhile, which a purge would take along."""
    a = laptop("a")
    a.memory.remember("evidence", id="e", key="k")
    a.memory.remember("a later value", key="k")
    synced(a.memory)
    cut(a)
    a.memory.purge(selector)
    with replica(tmp_path / "counsel.db", a.memory.path, neo4j_server) as counsel:
        counsel.sync()
        copy = counsel.restore("e")
        counsel.hold({"ids": [copy.id]})
        in_touch(counsel)
        back(a)
        a.memory.sync()
        assert {"e", copy.id} <= set(nodes(neo4j_server, a.memory.path))
        assert len(a.memory.dead_letters()) + waiting_purges(a) > 0


def test_a_selector_that_waits_goes_on_waiting_under_a_hold(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    a = laptop("a")
    with replica(tmp_path / "counsel.db", a.memory.path, neo4j_server) as counsel:
        counsel.remember("evidence", id="e", subject="bob")
        in_touch(counsel)
        cut(a)
        receipt = a.memory.purge({"text": "evidence"})
        hold = counsel.hold({"subject": "bob"})
        in_touch(counsel)
        back(a)
        a.memory.sync()
        assert waiting_purges(a) == 1
        check = a.memory.verify_purge(receipt)
        assert check.found == {"primaries that have yet to carry it out": 1}
        assert check.not_reached == receipt.not_reached
        assert nodes(neo4j_server, a.memory.path) == ["e"]
        counsel.lift_hold(hold.id)
        in_touch(counsel)
        a.memory.sync()
        assert waiting_purges(a) == 0
        assert a.memory.verify_purge(receipt).ok
        assert nodes(neo4j_server, a.memory.path) == []


@pytest.mark.parametrize("way", ["key lost", "backup"])
def test_a_waiting_purge_that_cannot_be_read_any_more_is_never_called_done(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path, way: str
) -> None:
    """It is told until somebody purges by the same once more; so is one of a backup, which does not hold the key."""
    a, b = laptop("a"), laptop("b")
    a.memory.remember("evidence", id="here")
    synced(a.memory)
    cut(a)
    b.memory.remember("evidence that a has never seen", id="e")
    synced(b.memory)
    receipt = a.memory.purge({"text": "evidence"})
    path = a.path
    if way == "backup":
        path = tmp_path / "restored.db"
        with Memory.open(a.path, create=False) as whole:
            whole.backup(tmp_path / "a.backup")
        restore(path, tmp_path / "a.backup")
    else:
        path.with_name(f"{path.name}-purge-key").unlink()
    with replica(path, a.memory.path, neo4j_server) as memory:
        for _ in range(2):
            assert memory.sync().purges == 1
        assert nodes(neo4j_server, memory.path) == ["e"]
        for each in (memory, b.memory):
            each.sync()
            assert [act.details["pending"] for act in each.audit() if "receipt" in act.details] == [True]
            assert each.verify_purge(receipt).found == {"primaries that have yet to carry it out": 1}
        assert [problem.code for problem in memory.check().problems] == ["lost_purges"]
        memory.purge({"text": "evidence"})
        assert memory.sync().purges == 0
        assert nodes(neo4j_server, memory.path) == []
        assert memory.verify_purge(receipt).ok
        assert not any(act.details.get("pending") for act in memory.audit())
        assert memory.check().ok


def waiting_purges(laptop: Laptop) -> int:
    found = laptop.memory.status().sync
    assert found is not None
    return found.purges


def test_a_purge_of_ours_spares_what_is_anothers_under_the_same_id(
    laptop: Callable[..., Laptop], neo4j_server: Server
) -> None:
    """Ours was never sent; on the primary the id is another's, whom this store never saw."""
    a, b = laptop("a"), laptop("b")
    a.memory.remember("theirs", id="job")
    synced(a.memory)
    cut(b)
    b.memory.remember(CANARY, id="job", subject="ann")
    b.memory.remember("mine too", id="tool", subject="ann")
    b.memory.purge({"ids": ["job", "tool"]})
    assert CANARY.encode() not in files_of(b)
    back(b)
    report = b.memory.sync()
    assert report.waiting == 0
    assert held(neo4j_server, b.memory.path)["job"].content == "theirs"
    assert all("another" in letter.reason or "not write" in letter.reason for letter in b.memory.dead_letters())
    assert b.memory.dead_letters()
    a.memory.sync()
    assert a.here("job") == "theirs"


# ---- what is told


def test_a_purge_while_the_primary_is_away_says_so_by_its_exit_code(
    laptop: Callable[..., Laptop], neo4j_server: Server, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = laptop("a")
    a.memory.remember("a note", id="n")
    synced(a.memory)
    a.memory.close()
    a.cable.refuse()
    store = ("--store", str(a.path), "--primary", a.cable.uri, "-n", namespace)
    if neo4j_server.auth is not None:
        monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.auth[1])
    result = CliRunner().invoke(cli, ["purge", "--id", "n", "--yes", "--json", *store])
    assert result.exit_code == 6, result.output
    assert '"pending": true' in result.output


def test_a_file_opened_without_its_primary_names_it_in_the_receipt(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a")
    a.memory.remember("a note", id="n")
    synced(a.memory)
    a.memory.close()
    with Memory.open(a.path, namespace=a.memory.path) as alone:
        receipt = alone.purge({"ids": ["n"]})
        status = alone.status()
        assert (status.opened_without, status.queued > 0) == (a.cable.uri, True)
        assert alone.verify_purge(receipt).found == {"primaries that have yet to carry it out": 1}
    assert receipt.pending
    assert any(a.cable.uri.removeprefix("bolt://") in place for place in receipt.not_reached)


@pytest.mark.parametrize("selector", [{"text": "note"}, {"subject": "ann"}, {"everything": True}])
def test_a_receipt_names_what_the_primary_does_not_reach_whether_it_is_away_or_not(
    laptop: Callable[..., Laptop], selector: dict[str, Any]
) -> None:
    a = laptop("a")
    a.memory.remember("a note", subject="ann")
    synced(a.memory)
    in_touch_with = a.memory.purge(selector).not_reached
    a.memory.remember("a note", subject="ann")
    synced(a.memory)
    cut(a)
    receipt = a.memory.purge(selector)
    assert receipt.pending
    assert set(in_touch_with) < set(receipt.not_reached)
    back(a)
    a.memory.sync()
    check = a.memory.verify_purge(receipt)
    assert (check.ok, set(check.not_reached)) == (True, set(in_touch_with))


@pytest.mark.parametrize("when", ["while it is planned", "while it is carried out", "before the pull after it"])
def test_a_purge_in_whose_middle_the_primary_dies_is_done_here_and_finished_later(
    laptop: Callable[..., Laptop], neo4j_server: Server, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    a = laptop("a", timeout=2.0, deadline=2.0)
    a.memory.remember(CANARY, id="n", subject="ann")
    synced(a.memory)
    hooked, name = {
        "while it is planned": (a.link.pusher, "plan_purge"),
        "while it is carried out": (a.link.pusher, "purge"),
        "before the pull after it": (a.link, "pull"),
    }[when]
    real = getattr(hooked, name)

    def die_first(*values: Any, **named: Any) -> Any:
        cut(a)
        a.cable.cut()
        return real(*values, **named)

    monkeypatch.setattr(hooked, name, die_first)
    receipt = a.memory.purge({"subject": "ann"})
    assert receipt.removed["memories"] == 1
    assert a.local.count(Scope(a.memory.path), ANY, a.memory._now()) == 0
    monkeypatch.undo()
    back(a)
    synced(a.memory)
    assert nodes(neo4j_server, a.memory.path) == []
    assert a.memory.verify_purge(receipt, {"subject": "ann"}).ok


def test_without_the_extra_the_receipt_of_a_text_purge_promises_nothing(
    laptop: Callable[..., Laptop], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = laptop("a")
    a.memory.remember(CANARY, id="n")
    synced(a.memory)
    cut(a)
    monkeypatch.setattr(pending, "_box", lambda *_, **__: None)
    receipt = a.memory.purge({"text": "canary"})
    assert any("purge again" in place for place in receipt.not_reached)
    assert not any("the purge is queued" in place for place in receipt.not_reached)


def test_what_needs_the_primary_says_so_at_once(laptop: Callable[..., Laptop], tmp_path: Path) -> None:
    a = laptop("a", timeout=0.8, deadline=0.8)
    a.memory.remember("a note", id="n")
    synced(a.memory)
    receipt = a.memory.purge({"ids": ["n"]})
    a.cable.black_hole()
    began = time.monotonic()
    for ask in (lambda: a.memory.export_to(tmp_path / "export.jsonl"), lambda: a.memory.verify_purge(receipt)):
        with pytest.raises(UnavailableError):
            ask()
    assert a.memory.audit(), "what the file knows"
    assert a.memory.degraded is not None
    assert time.monotonic() - began < 10, "not the 30 seconds of a push"


def test_a_purge_goes_on_where_writes_wait_for_the_primary(laptop: Callable[..., Laptop], neo4j_server: Server) -> None:
    """The note that it begins is written here; only what a caller writes waits for the primary, and fails without it."""
    a = laptop("a", write_concern="primary", pull_every=30.0)
    a.memory.remember(CANARY, key="k", id="s1")
    cut(a)
    receipt = a.memory.purge({"key": "k"})
    assert receipt.pending
    assert a.here("s1") is None
    with pytest.raises(UnavailableError):
        a.memory.remember("a note")
    a.cable.heal()
    in_touch(a.memory)
    synced(a.memory)
    assert "s1" not in nodes(neo4j_server, a.memory.path)
    assert [act.what for act in a.memory.audit()] == ["purge"]


def test_what_looks_at_both_sides_hears_at_once_that_nobody_is_there(laptop: Callable[..., Laptop]) -> None:
    a = laptop("a", timeout=0.8, deadline=0.8)
    a.memory.remember("a note", id="n")
    synced(a.memory)
    a.cable.black_hole()
    for ask in (a.memory.sync, a.memory.sync_diff, lambda: a.memory.sync_repair("newest")):
        began = time.monotonic()
        with pytest.raises(UnavailableError, match=r"cannot be reached|does not answer"):
            ask()
        assert time.monotonic() - began < 5, "not the 30 seconds of a push"
    began = time.monotonic()
    assert [problem.code for problem in a.memory.check().problems] == ["away"]
    assert time.monotonic() - began < 5


def test_a_refused_purge_that_is_dropped_is_told_as_a_difference_that_stays(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    b = laptop("b")
    b.memory.remember("evidence", id="e", subject="bob")
    synced(b.memory)
    cut(b)
    b.memory.purge({"subject": "bob"})
    with replica(tmp_path / "counsel.db", b.memory.path, neo4j_server) as counsel:
        counsel.sync()
        hold = counsel.hold({"subject": "bob"})
        in_touch(counsel)
        back(b)
        assert b.memory.sync().dead_letters > 0
        b.memory.drop_dead_letters()
        counsel.lift_hold(hold.id)
        in_touch(counsel)
    for _ in range(2):
        repaired = b.memory.sync_repair("primary")
        assert (repaired.left, repaired.equal) == (1, False)
    assert b.memory.sync_repair("newest").left == 0, "what is purged on one side is purged on both"
    assert b.memory.sync_diff().equal
    assert nodes(neo4j_server, b.memory.path) == []


@pytest.mark.parametrize("way", ["repair", "emptied", "dropped", "standalone", "import"])
def test_nothing_that_a_hold_covers_is_purged_in_a_roundabout_way(
    way: str, laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    """By tombstones, which travel where everything is sent once more, or with a file."""
    a, b = laptop("a"), laptop("b")
    a.memory.remember("evidence", id="e", subject="ann")
    synced(a.memory)
    space = a.memory.path
    if way in ("standalone", "import"):
        with Memory.open(tmp_path / "alone.db", namespace=space) as alone:
            alone.remember("mine", id="e", subject="ann")
            alone.purge({"ids": ["e"]} if way == "import" else {"subject": "ann"})
            alone.remember("other", id="o")
            alone.export_to(tmp_path / "export")
    if way != "standalone":
        synced(b.memory)
        cut(b)
    hold = a.memory.hold({"ids": ["e"]})
    synced(a.memory)
    if way == "standalone":
        b.close()
        b = Laptop(tmp_path / "alone.db", space, neo4j_server)
    elif way == "import":
        b.memory.import_from(tmp_path / "export")
        back(b)
    else:
        b.memory.purge({"subject": "ann"})
        back(b)
    synced(b.memory)
    if way == "emptied":
        for label in ("Memory", "MemoryKey", "Feed", "Tombstone"):
            cypher(neo4j_server, f"MATCH (n:{label}) WHERE n.namespace STARTS WITH $s DETACH DELETE n", s=space)
        synced(a.memory)
        synced(b.memory)
    if way == "dropped":
        b.memory.drop_dead_letters()
    if way in ("repair", "dropped"):
        for source in ("local", "newest"):
            b.memory.sync_repair(source)  # type: ignore[arg-type]
    synced(b.memory)
    synced(a.memory)
    assert "e" in held(neo4j_server, space)
    assert a.here("e") == "evidence"
    assert [each.id for each in a.memory.holds()] == [hold.id]
    if way not in ("dropped", "emptied"):
        assert any("legal hold" in letter.reason for letter in b.memory.dead_letters())
    if way == "standalone":
        b.close()


def test_a_hold_covers_what_was_refused(refused: Laptop) -> None:
    """Its content is here alone; to drop it, or to purge it here, would be the end of it."""
    refused.memory.hold({"subject": "ann"})
    for attempt in (refused.memory.drop_dead_letters, lambda: refused.memory.purge({"subject": "ann"})):
        with pytest.raises(LegalHoldError):
            attempt()
    assert [letter.payload["content"] for letter in refused.memory.dead_letters() if letter.op == "remember"] == [
        CANARY
    ]


@pytest.mark.parametrize("selector", [{"key": "k"}, {"ids": ["s"]}, {"everything": True}], ids=["key", "id", "all"])
def test_a_file_brings_along_the_purge_that_emptied_its_namespace(
    selector: dict[str, Any], laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    """The file does not know the namespace by name any more, nor that it ever held anything."""
    a = laptop("a")
    a.memory.remember(CANARY, id="s", key="k")
    synced(a.memory)
    a.memory.export_to(tmp_path / "export")
    path = a.memory.path
    with Memory.open(tmp_path / "alone.db", namespace=path) as alone:
        alone.import_from(tmp_path / "export")
        receipt = alone.purge(selector)
    with replica(tmp_path / "alone.db", path, neo4j_server) as met:
        assert met.list(ANY).items == ()
        synced(met)
        assert met.verify_purge(receipt, selector, [CANARY]).ok
    synced(a.memory)
    assert nodes(neo4j_server, path) == []
    assert a.here("s") is None


def test_an_export_from_above_holds_the_purge_that_emptied_a_namespace(
    laptop: Callable[..., Laptop], neo4j_server: Server, tmp_path: Path
) -> None:
    a = laptop("a")
    a.memory.remember("above")
    below = a.memory.namespace(f"{a.memory.path}/ann")
    below.remember(CANARY, id="s", key="k")
    a.memory.sync(subtree=True)
    a.memory.export_to(tmp_path / "before", subtree=True)
    below.purge({"key": "k"})
    a.memory.export_to(tmp_path / "file", subtree=True)
    with Memory.open(primary=neo4j_server.uri, auth=neo4j_server.auth, namespace=a.memory.path) as server:
        server.export_to(tmp_path / "server", subtree=True)
    for name in ("file", "server"):
        with Memory.open(tmp_path / f"{name}.db", namespace=a.memory.path) as other:
            other.import_from(tmp_path / "before")
            assert other.plan_import(tmp_path / name).purged == 1
            other.import_from(tmp_path / name)
            assert [entry.content for entry in other.list(subtree=True)] == ["above"]


def test_a_receipt_counts_right_while_others_pull(laptop: Callable[..., Laptop]) -> None:
    """What the purge takes on the primary is not taken here by a pull before the purge counts it."""
    a = laptop("a")
    for turn in range(3):
        a.memory.remember_many({"content": f"note {turn} {n}", "subject": "ann"} for n in range(150))
        synced(a.memory)
        done = threading.Event()

        def pull(done: threading.Event = done) -> None:
            while not done.is_set():
                a.memory.sync()

        thread = threading.Thread(target=pull)
        thread.start()
        removed = a.memory.purge({"subject": "ann"}).removed
        done.set()
        thread.join()
        assert (removed["local memories"], removed["neo4j memories"]) == (150, 150)


def test_the_queue_does_not_wait_for_a_purge(laptop: Callable[..., Laptop]) -> None:
    """What is pulled by itself, by the thread that pushes, leaves out what is being purged."""
    a, b = laptop("a"), laptop("b")
    synced(a.memory)
    b.memory.remember("news", id="n")
    synced(b.memory)
    with a.link.puller.resting([a.memory.path], 1.0):
        assert a.link.puller.pull_known([a.memory.path]) == 0
    assert a.here("n") is None
    assert a.link.puller.pull_known([a.memory.path]) == 1
    assert a.here("n") == "news"
