"""A restored file and its real primary: nothing acknowledged is lost, nothing purged comes back, both end equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph import Memory
from memgraph.admin.backup import restore
from memgraph.errors import UnsupportedError
from memgraph.models import Filters, Selector
from tests.integration.replicas import held, replica, sides, synced
from tests.neo4j_server import Server

pytestmark = pytest.mark.neo4j
ANY = Filters(status="any")


def ids(memory: Memory) -> set[str]:
    return {entry.id for entry in sides(memory).local.list(memory._scope(), ANY, memory._now(), 1000, None)}


@pytest.mark.parametrize("running", [False, True], ids=["closed", "open"])
def test_a_restored_file_gets_back_in_step(neo4j_server: Server, namespace: str, tmp_path: Path, running: bool) -> None:
    """With the composite closed meanwhile, or open and pulling by itself."""
    path, backup = tmp_path / "a.db", tmp_path / "a.backup"
    with replica(tmp_path / "b.db", namespace, neo4j_server) as other:
        mine = replica(path, namespace, neo4j_server)
        mine.remember("old", id="old", key="k")
        mine.remember("to be purged", id="gone", subject="ann")
        synced(mine)
        Memory(mine.backend).backup(backup)
        mine.remember("sent later", id="sent", key="k")
        other.remember("from elsewhere", id="theirs")
        other.relate("theirs", other.remember("and more", id="more").id, "knows")
        synced(mine)
        synced(other)
        synced(mine)
        if not running:
            mine.close()
        with Memory.open(path, namespace=namespace) as alone:
            alone.remember("not sent yet", id="unsent")
            alone.purge(Selector(subject="ann"))
            done = restore(path, backup)
        assert done.coupled
        assert done.purged["memories"] == 1
        if not running:
            assert done.unsent > 0
            assert done.newer == {namespace: 3}
            mine = replica(path, namespace, neo4j_server)
            assert ids(mine) == {"old", "unsent"}
        synced(mine)
        synced(other)
        everything = {"old", "sent", "theirs", "more", "unsent"}
        assert set(held(neo4j_server, namespace)) == everything
        for each in (mine, other):
            assert ids(each) == everything
            assert each.current("k").id == "sent"
            assert not each.sync_diff().buckets
            assert each.check().ok
        mine.close()


def test_a_primary_that_lost_what_the_backup_holds_gets_it_again(
    neo4j_server: Server, namespace: str, tmp_path: Path
) -> None:
    """A namespace that the server does not know stands for a server that was set up anew: all of the file is pushed."""
    path = tmp_path / "a.db"
    with Memory.open(path, namespace=namespace) as alone:
        alone.remember_many([{"content": f"memory {n}", "id": f"m{n}"} for n in range(20)])
        backend = alone.backend
        backend.couple("bolt://primary")  # type: ignore[attr-defined]
        backend.database.write(lambda connection: connection.execute("update cursor set n = 7"))  # type: ignore[attr-defined]
        Memory(backend).backup(tmp_path / "a.backup")
    restore(tmp_path / "new.db", tmp_path / "a.backup")
    with replica(tmp_path / "new.db", namespace, neo4j_server) as memory:
        synced(memory)
    assert len(held(neo4j_server, namespace)) == 20


def test_a_server_alone_says_how_it_is_copied(neo4j_server: Server, namespace: str, tmp_path: Path) -> None:
    with Memory.open(primary=neo4j_server.uri, auth=neo4j_server.auth) as memory:
        with pytest.raises(UnsupportedError) as refused:
            memory.backup(tmp_path / "x")
        assert "export" in refused.value.hint
        there = memory.namespace(*namespace.split("/"))
        there.remember("kept", id="a", key="k")
        there.export_to(tmp_path / "x.jsonl")
        there.purge(Selector(everything=True))
        there.import_from(tmp_path / "x.jsonl")
        assert there.count(ANY) == 0, "purged stays purged"
        with Memory.open(tmp_path / "file.db", namespace=namespace) as file:
            assert file.import_from(tmp_path / "x.jsonl") == 1
            assert file.current("k").id == "a"


def test_what_waits_for_the_primary_outlives_a_restore(neo4j_server: Server, namespace: str, tmp_path: Path) -> None:
    """A purge by a text that was queued while the primary was away is carried out there all the same."""
    path, backup = tmp_path / "a.db", tmp_path / "a.backup"
    with replica(tmp_path / "b.db", namespace, neo4j_server) as other:
        mine = replica(path, namespace, neo4j_server)
        mine.remember("old", id="old")
        synced(mine)
        Memory(mine.backend).backup(backup)
        other.remember("a canary that only the primary has", id="theirs")
        synced(other)
        sides(mine).link.breaker.fail("it was cut")
        assert mine.purge({"text": "canary"}).pending
        mine.close()
        restore(path, backup)
        mine = replica(path, namespace, neo4j_server)
        synced(mine)
        assert set(held(neo4j_server, namespace)) == {"old"}
        assert not list(tmp_path.glob("*-purge-key"))
        mine.close()
