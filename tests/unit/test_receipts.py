"""Receipts of purges: signatures, and a second look at the store and the bytes of its files."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from memgraph import Memory
from memgraph.clock import version_floor
from memgraph.errors import InvalidInputError
from memgraph.operations import parse
from memgraph.receipts import count_in_file, is_signed_by, read, read_plan, sign
from tests.unit.conftest import Run
from tests.unit.test_cli import process

CANARY = "the canary of Rua Nova 7"


def key(folder: Path, name: str = "key.pem") -> Path:
    made = Ed25519PrivateKey.generate()
    private = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / name).write_bytes(private)
    public = made.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"public-{name}").write_bytes(public)
    return folder / name


def test_a_signature_is_of_one_receipt_and_one_key(tmp_path: Path) -> None:
    mine, other = key(tmp_path), key(tmp_path, "other.pem")
    with Memory.open(":memory:", preload=False) as memory:
        memory.remember(CANARY, subject="ada")
        receipt = memory.purge({"subject": "ada"})
    signed = sign(receipt, mine)
    again = read(signed.model_dump_json().encode())
    assert again == signed
    assert is_signed_by(again, tmp_path / "public-key.pem")
    assert is_signed_by(again, mine)
    assert not is_signed_by(again, tmp_path / "public-other.pem")
    assert not is_signed_by(again, other)
    assert not is_signed_by(receipt, mine), "one without a signature"
    for name, value in (("version", "x"), ("removed", {"memories": 0}), ("by", "somebody else"), ("signature", "zz")):
        assert not is_signed_by(signed.model_copy(update={name: value}), mine), name
    (tmp_path / "none.pem").write_text("no key")
    with pytest.raises(InvalidInputError, match="Ed25519"):
        sign(receipt, tmp_path / "none.pem")
    with pytest.raises(InvalidInputError):
        read(b"{}")


def test_a_second_look_finds_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, preload=False) as memory:
        memory.remember(CANARY, subject="ada")
        memory.remember("a bystander")
        receipt = memory.purge({"text": "canary"})
        check = memory.verify_purge(receipt, {"text": "canary"}, [CANARY, "Rua Nova"])
        assert (check.ok, check.found, check.tombstones) == (True, {}, receipt.tombstones)
        assert {f"bytes of {path}", f"bytes of {path}-wal"} <= set(check.looked_at)
        with pytest.raises(InvalidInputError, match="not the one"):
            memory.verify_purge(receipt, {"text": "bystander"})
        later = memory.remember(f"{CANARY}, written again")
        assert memory.verify_purge(receipt, {"text": "canary"}).ok, "what is written afterwards is not its business"
        found = memory.verify_purge(receipt, {"text": "canary"}, [CANARY])
        assert not found.ok
        assert sum(found.found.values()) >= 1
        memory.purge({"ids": [later.id]})
        assert memory.verify_purge(receipt, {"text": "canary"}, [CANARY]).ok
    with sqlite3.connect(path) as connection:
        connection.execute("delete from tombstone")
    connection.close()
    with Memory.open(path, preload=False) as memory:
        assert memory.verify_purge(receipt).found == {"tombstones that are missing": receipt.tombstones}


def test_a_second_look_misses_a_part_of_the_tombstones(tmp_path: Path) -> None:
    """Later purges of the same memories' keys take some over, which is no loss."""
    path = tmp_path / "a.db"
    with Memory.open(path, preload=False) as memory:
        memory.remember_many({"content": CANARY, "key": f"k{n}", "subject": "ada"} for n in range(4))
        receipt = memory.purge({"subject": "ada"})
        memory.remember_many({"content": "again", "key": f"k{n}"} for n in range(4))
        memory.purge({"key": "k1"})
        check = memory.verify_purge(receipt)
        assert check.ok
        assert check.tombstones < receipt.tombstones
    with sqlite3.connect(path) as connection:
        connection.execute(
            "delete from tombstone where receipt = ?1 and hash > (select min(hash) from tombstone where receipt = ?1)",
            (receipt.id,),
        )
    connection.close()
    with Memory.open(path, preload=False) as memory:
        assert "tombstones that are missing" in memory.verify_purge(receipt).found


@pytest.mark.parametrize("held", ["nothing", "a memory", "an unknown operation"])
def test_the_name_of_a_purged_namespace_is_not_in_the_file(tmp_path: Path, held: str) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, preload=False) as memory:
        memory.remember("a bystander")
        space = memory.namespace("clinic-of-ada")
        if held == "a memory":
            space.remember(CANARY)
        elif held == "an unknown operation":
            payload = {
                "op": "new",
                "op_id": "o1",
                "version": f"{version_floor(datetime(2026, 1, 1, tzinfo=UTC))}-00000000",
                "x": CANARY,
            }
            space.backend.apply([parse(payload | {"namespace": space.path, "format": 1})])
        for selector in ({"subject": "ann"}, {"everything": True}, {"everything": True}):
            receipt = space.purge(selector)
            assert receipt.scrubbed
        assert memory.namespaces() == [memory.path]
        assert space.verify_purge(receipt, {"everything": True}, ["clinic-of-ada", CANARY]).found == {}
    assert b"clinic-of-ada" not in path.read_bytes()


def test_what_lies_beside_a_store_lies_beside_its_real_name(tmp_path: Path) -> None:
    real, other = tmp_path / "real.db", tmp_path / "elsewhere"
    other.mkdir()
    (other / "link.db").symlink_to(real)
    (tmp_path / "real.db.before-restore-1").write_bytes(b"")
    with Memory.open(other / "link.db", preload=False) as memory:
        memory.remember(CANARY, subject="ada")
        receipt = memory.purge({"subject": "ada"})
        looked = memory.verify_purge(receipt, None, [CANARY]).looked_at
        assert {f"bytes of {real}", f"bytes of {real}-wal"} <= set(looked)
    assert any("before-restore" in place for place in receipt.not_reached)
    assert [file.name for file in other.iterdir()] == ["link.db"]


def test_reading_with_a_primary_that_never_answers_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, preload=False) as memory:
        memory.remember(CANARY, subject="ada")
    before = path.read_bytes()
    with Memory.open(path, primary="bolt://127.0.0.1:9", preload=False) as memory:
        assert [entry.content for entry in memory.list()] == [CANARY]
        assert memory.search("canary").hits
    assert path.read_bytes() == before
    with Memory.open(path, preload=False) as memory:
        assert not memory.purge({"subject": "ada"}).pending


def test_texts_are_found_across_the_blocks_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph.receipts._BLOCK", 7)
    file = tmp_path / "file"
    file.write_bytes(b"xx" + "é canary".encode() * 3 + b"canarycanary" + b"y" * 50)
    assert count_in_file(file, ["canary"]) == 5
    assert count_in_file(file, ["é canary", "yyyyyyyyyyyyyyyyyy"]) == 3 + 34
    assert count_in_file(file, ["nowhere"]) == 0


def test_from_the_command_line(ask: Callable[..., Any], run: Run, tmp_path: Path) -> None:
    mine = key(tmp_path)
    run("remember", CANARY, "--subject", "ada")
    run("plan-purge", "--subject", "ada", "--out", str(tmp_path / "plan.json"))
    assert "canary" not in (tmp_path / "plan.json").read_text()
    receipt = tmp_path / "receipt.json"
    apply = ("purge", "--apply", str(tmp_path / "plan.json"), "--yes", "--by", "dpo", "--out", str(receipt))
    run(*apply, "--key-file", str(mine))
    said = ask("purge", "verify", str(receipt), "--subject", "ada", "--grep", CANARY, "--key-file", str(mine))
    assert (said["ok"], said["signed"]) == (True, True)
    unsigned = json.loads(receipt.read_text()) | {"signature": None}
    Path("unsigned.json").write_text(json.dumps(unsigned))
    verify = ("purge", "verify", "unsigned.json", "--key-file", str(mine))
    assert "the receipt is not signed" in run(*verify, code=1).stdout
    assert ask(*verify, code=1)["signed"] is False
    assert "signature" not in run("purge", "verify", "unsigned.json").stdout
    assert (
        "not by this key"
        in run("purge", "verify", str(receipt), "--key-file", str(key(tmp_path, "x.pem")), code=1).stdout
    )
    assert ask("audit")[-1]["by"] == "dpo"
    run("remember", CANARY)
    assert "something is left" in run("purge", "verify", str(receipt), "--grep", CANARY, code=1).stdout
    run("purge", "verify", code=2)
    run("purge", "--grep", "x", "--subject", "ada", code=2)
    run("purge", "verify", str(receipt), "--subject", "bo", code=2)


def test_a_purge_without_the_extra_says_what_is_missing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from memgraph import Memory; from memgraph.receipts import sign; from pathlib import Path\n"
        "m = Memory.open(':memory:', preload=False); m.remember('x', id='x'); r = m.purge({'ids': ['x']})\n"
        f"sign(r, Path({str(key(tmp_path))!r}))"
    )
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "memgraph-store[sign]" in done.stderr or "need the package" in done.stderr
    assert process("purge", "--help").returncode == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_plans_and_receipts_are_read_as_any_shell_saves_them(encoding: str, run: Run, tmp_path: Path) -> None:
    """Windows PowerShell makes UTF-16 with a mark and CRLF of a program's output."""
    run("remember", CANARY, "--subject", "ada")
    plan = run("--json", "plan-purge", "--subject", "ada").stdout
    (tmp_path / "plan.json").write_bytes(plan.replace("\n", "\r\n").encode(encoding))
    receipt = run("--json", "purge", "--apply", "plan.json", "--yes").stdout
    (tmp_path / "receipt.json").write_bytes(receipt.replace("\n", "\r\n").encode(encoding))
    assert "nothing is left" in run("purge", "verify", "receipt.json", "--subject", "ada").stdout


def test_what_names_something_twice_is_neither_a_plan_nor_a_receipt(tmp_path: Path) -> None:
    """One reader would take the first, and another the last."""
    with Memory.open(":memory:", preload=False) as memory:
        memory.remember(CANARY, subject="ada")
        plan = memory.plan_purge({"subject": "ada"})
        receipt = memory.purge(plan)
    for written, take in ((receipt, read), (plan, read_plan)):
        text = written.model_dump_json()
        assert take(text.encode()) == written
        name = next(iter(written.model_dump(mode="json")))
        doubled = f'{{"{name}":"x",{text[1:]}'
        nested = text.replace('{"memories":', '{"memories":0,"memories":').replace('{"fact":', '{"fact":0,"fact":')
        for wrong in (doubled, nested, text[:-1], "[" * 100_000, text.encode("utf-32")):
            assert wrong != text
            with pytest.raises(InvalidInputError, match=r"is not (the receipt|a plan)"):
                take(wrong if isinstance(wrong, bytes) else wrong.encode())
