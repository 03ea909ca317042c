"""What child processes of the integration tests run: `python -m tests.integration.child VERB ARGUMENTS…`."""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memgraph import Memory
from memgraph.admin.backup import restore
from memgraph.backends.local import merge
from memgraph.backends.local.backend import LocalBackend
from memgraph.errors import MemgraphError, StoreFullError
from memgraph.models import Filters, Selector

ROOT = Path(__file__).parents[2]
ANY = Filters(status="any")


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a child."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.child", *map(str, arguments)], cwd=ROOT, text=True, **options
    )


def ask(process: subprocess.Popen[str], verb: str, *arguments: Any) -> Any:
    """Have a `serve` child call a verb, and wait for its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([verb, *arguments]) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def say(*words: object) -> None:
    """One line, out of this process before the next statement."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def write(path: str, name: str, seed: str) -> None:
    """Write until it is killed or its parent is gone, saying each verb before and after it."""
    parent = os.getppid()
    dice = random.Random(int(seed))
    memory = Memory.open(path, lock_timeout=60)
    own: list[str] = []
    n = 0
    while os.getppid() == parent:
        n += 1
        id = f"{name}-{n}"
        verb = dice.choice(("remember",) * 5 + ("batch", "forget", "restore", "relate", "purge"))
        if verb == "remember" or not own:
            say("doing", "remember", id)
            memory.remember(f"note {n} of {name}", id=id, key=dice.choice((None, f"k{dice.randrange(8)}")))
            own.append(id)
            say("done", "remember", id)
        elif verb == "batch":
            say("doing", "batch", id)
            memory.remember_many([{"content": f"part {part}", "id": f"{id}.{part}", "tags": [id]} for part in range(5)])
            say("done", "batch", id)
        elif verb == "relate":
            memory.relate(dice.choice(own), memory.remember("other end", id=id).id)
        elif verb == "purge":
            gone = own.pop(dice.randrange(len(own)))
            say("doing", "purge", gone)
            memory.purge(Selector(ids=[gone]))
            say("done", "purge", gone)
        else:
            target = dice.choice(own)
            if verb == "forget":
                memory.forget(target)
            else:
                memory.restore(target)


def serve(path: str, namespace: str) -> None:
    """Answer calls from standard input, one JSON line each, until it ends."""
    memory = Memory.open(path, namespace=namespace)
    verbs: dict[str, Callable[..., Any]] = {
        "remember": lambda content, **values: memory.remember(content, **values).id,
        "current": lambda key: (entry := memory.current(key)) and entry.content,
        "count": lambda: memory.count(ANY),
        "search": lambda query: [hit.entry.id for hit in memory.search(query)],
        "lineage": lambda name: [[edge.source_id, edge.target_id] for edge in memory.lineage(name).edges],
        "neighbours": lambda one: [entry.id for entry in memory.neighbours(one).entries],
        "relate": lambda a, b: memory.relate(a, b).type,
        "forget": lambda one: memory.forget(one).status,
        "purge": lambda one: memory.purge(Selector(ids=[one])).removed["memories"],
        "nodes": lambda: memory.graph().number_of_nodes(),
    }
    say(json.dumps("ready"))
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        values = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        try:
            say(json.dumps(verbs[verb](*arguments, **values)))
        except MemgraphError as error:
            say(json.dumps({"error": type(error).__name__}))


def fill(path: str, namespace: str, name: str, count: str) -> None:
    """Write `count` values to five keys that all children share."""
    memory = Memory.open(path, namespace=namespace, lock_timeout=60)
    for n in range(int(count)):
        memory.remember(f"{name} {n}", id=f"{name}-{n}", key=f"k{n % 5}")
    memory.close()


def hold(path: str) -> None:
    """Hold the write lock until standard input ends."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("begin immediate")
    say("holding")
    sys.stdin.read()
    connection.execute("rollback")


def read(path: str) -> None:
    """Keep a snapshot open until standard input ends."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("begin")
    connection.execute("select count(*) from memory").fetchone()
    say("reading")
    sys.stdin.read()
    connection.execute("rollback")
    connection.close()


def leave(path: str, count: str) -> None:
    """Write some values, say so, and die without closing anything."""
    memory = Memory.open(path)
    for n in range(int(count)):
        memory.remember(f"value {n}", id=f"i{n}", key="k")
    say("written")
    os.kill(os.getpid(), 9)


def full(path: str) -> None:
    """Meet a limit on the size of files: write until it refuses, look, raise the limit, write again."""
    memory = Memory.open(path)
    memory.remember("before the limit", id="i0", key="k")
    room = Path(path).stat().st_size + 400_000
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    written = ["i0"]
    refused = 0
    for n in range(1, 400):
        try:
            memory.remember(f"value {n} " + "x" * 20_000, id=f"i{n}", key="k")
            written.append(f"i{n}")
        except StoreFullError:
            refused += 1
            if refused == 3:
                break
    after = {
        "refused": refused,
        "current": memory.current("k").id,
        "count": memory.count(ANY),
        "history": [entry.id for entry in memory.history("k")],
        "found": len(memory.search("before the limit", include_inactive=True)),
    }
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    written.append(memory.remember("after the limit", id="last", key="k").id)
    say(json.dumps({"written": written, **after}))
    memory.close()


def back_up(path: str, *targets: str) -> None:
    """Make backups, one after the other over those that are there, until it is killed or its parent is gone."""
    parent = os.getppid()
    memory = Memory.open(path)
    while os.getppid() == parent:
        for target in targets:
            memory.backup(target, force=True)
            say("done")


def put_back(path: str, *backups: str) -> None:
    """Restore backups, one after the other, until it is killed or its parent is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        for backup in backups:
            restore(path, backup)
            say("done")


def put_back_until(moment: str, path: str, backup: str) -> None:
    """Restore a backup up to a moment, say so, and wait there until it is killed.

    before: the write lock is held and the new contents are made. after: they are committed, the old pages not cleared yet.
    """
    place, name = {"before": (merge, "_missing"), "after": (LocalBackend, "_tidy")}[moment]

    def wait(*arguments: object) -> None:
        say(moment)
        sys.stdin.read()

    setattr(place, name, wait)
    restore(path, backup)


def purge_by_pages(uri: str, auth: str, namespace: str, selector: str, size: str) -> None:
    """Purge on a server in pages of `size` memories; after each say so, and go on when a line comes."""
    from memgraph.backends.neo4j import purge

    remove = purge._page

    def page(*arguments: Any) -> dict[str, int]:
        removed = remove(*arguments)
        say("page")
        sys.stdin.readline()
        return removed

    purge.PAGE, purge._page = int(size), page  # type: ignore[misc]
    credentials = json.loads(auth)
    memory = Memory.open(primary=uri, auth=credentials and tuple(credentials), namespace=namespace)
    memory.purge(Selector(**json.loads(selector)))


def die_at(point: str, store: str, primary: str, auth: str, namespace: str, verb: str, argument: str) -> None:
    """Call a verb and die at a commit of it: 1 before the first, 2 after it, and so on. Say so if it ends before that."""
    from memgraph.storage.bolt import Bolt
    from memgraph.storage.sqlite.database import Database

    credentials = json.loads(auth)
    memory = Memory.open(
        store or None, primary=primary or None, auth=credentials and tuple(credentials), namespace=namespace
    )
    memory.count()
    left = int(point)

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)

    def watched(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def call(self: Any, work: Any) -> Any:
            step()
            answer = plain(self, work)
            step()
            return answer

        return call

    for room, name in ((Database, "write"), (Bolt, "transaction")):
        setattr(room, name, watched(getattr(room, name)))
    do(memory, verb, argument)
    left = -1
    memory.close()
    say("done")


def do(memory: Memory, verb: str, argument: str) -> None:
    """What an administrator does that takes something away or brings much back."""
    if verb == "import":
        memory.import_from(argument, move=True)
    elif verb == "purge":
        memory.purge(json.loads(argument))
    elif verb == "rewind":
        memory.rewind(json.loads(argument))
    elif verb == "consolidate":
        memory.consolidate(threshold=float(argument))
    elif verb == "undo":
        memory.undo(argument)


def try_all(memory: Memory) -> dict[str, Any]:
    """Read in every way, then try to write."""
    head = memory.current("k")
    answer: dict[str, Any] = {
        "current": head.content,
        "found": [hit.entry.content for hit in memory.search("value")],
        "history": len(memory.history("k")),
        "neighbours": len(memory.neighbours(head.id).entries),
        "read_only": memory.status().read_only,
        "check": memory.check().ok,
    }
    writes: dict[str, Callable[[], Any]] = {
        "remember": lambda: memory.remember("new"),
        "forget": lambda: memory.forget(head.id),
        "purge": lambda: memory.purge(Selector(ids=[head.id])),
    }
    for verb, write in writes.items():
        try:
            write()
            answer[verb] = "written"
        except MemgraphError as error:
            answer[verb] = type(error).__name__
    return answer


def look(path: str, user: str) -> None:
    """Open a store where nothing can be written, as a user who is not root."""
    with Memory.open(":memory:") as memory:  # loads what a user without rights may not be able to
        memory.remember("value", key="k")
        try_all(memory)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    memory = Memory.open(path)
    say(json.dumps(try_all(memory)))
    memory.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
