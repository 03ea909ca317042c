"""Commands that write: remember, remember-many, supersede, relate, unrelate, feedback, forget, restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memgraph.cli.call import Call, pass_call, verb
from memgraph.cli.options import (
    DURATION,
    INSTANT,
    JSON_OBJECT,
    TRUSTS,
    by_option,
    given,
    instant,
    reason_option,
    strict_json,
    yes_option,
)
from memgraph.cli.output import edge_line, entry_block, entry_table
from memgraph.clock import parse_version
from memgraph.errors import InvalidInputError
from memgraph.views.plain import escape

if TYPE_CHECKING:
    from memgraph.models import Edge, Entry

_TIMES = ("valid_from", "valid_to", "expires_at")


@verb(
    "remember",
    "memgraph remember Berlin --key ada/city --reason 'moved in May'",
    "git log -1 --format=%B | memgraph remember - --tag release",
)
@click.argument("content")
@click.option("--key", metavar="KEY", help="The slot whose current value this becomes.")
@click.option("--kind", metavar="KIND", help="What sort of memory it is. [fact]")
@click.option("--id", metavar="ID", help="Its id; writing it twice changes nothing.")
@click.option("--subject", metavar="NAME", help="Whom or what it is about.")
@click.option("--title", metavar="TEXT", help="A caption of at most 30 characters.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be given again.")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="Another word to find it by; may be given again."
)
@click.option("--metadata", type=JSON_OBJECT, metavar="JSON", help="Fields of your own, as a JSON object.")
@click.option("--source", metavar="NAME", help="Where it comes from. [agent]")
@click.option("--actor", metavar="NAME", help="Who said it.")
@click.option("--session", metavar="NAME", help="The conversation it belongs to.")
@click.option("--trust", type=click.Choice(TRUSTS), help="Who vouches for it. [agent]")
@click.option("--pinned", is_flag=True, help="Never prune it.")
@click.option("--confidence", type=float, metavar="0..1", help="How sure it is. [0.8]")
@click.option("--valid-from", type=INSTANT, help="True in the world from then.")
@click.option("--valid-to", type=INSTANT, help="True in the world until then.")
@click.option("--expires-at", type=INSTANT, help="No longer current or found from then.")
@click.option("--ttl", type=DURATION, help="Expire after 90s, 15m, 12h, 30d or 2w.")
@click.option("--relates-to", multiple=True, metavar="ID", help="Relate it to this memory; may be given again.")
@reason_option
@click.option("--expected-version", metavar="VERSION", help="Only if the key's current memory has this version.")
@click.option("--if-absent", is_flag=True, help="Only if the key has no current memory.")
@pass_call
def remember_command(call: Call, /, content: str, **options: Any) -> None:
    """Write a memory. With --key, the latest write is the key's current value and replaces the one before.

    CONTENT is the text, or `-` for standard input (UTF-8; one line end at its end is left out).
    """
    text = _standard_input() if content == "-" else content
    entry = call.memory(create=True).remember(text, **given(**options))
    _show_written(call, entry)
    call.degraded(entry.degraded)


@verb("remember-many", "memgraph remember-many facts.jsonl", "cat facts.jsonl | memgraph remember-many -")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@pass_call
def remember_many_command(call: Call, file: str) -> None:
    """Write many memories at once: all of them, in order, or none.

    FILE holds one JSON object a line with the arguments of `remember`, `content` being the only one needed; `-` is
    standard input.
    """
    text = _standard_input() if file == "-" else _decode(Path(file).read_bytes(), file)
    items = list(_items(text))
    entries = call.memory(create=True).remember_many(items)
    call.show({"entries": entries}, lambda: (escape(entry.id) for entry in entries))
    call.note(f"remembered {len(entries)} memories")


@verb("supersede", "memgraph supersede OLD-ID --by NEW-ID --reason 'the second reading is right'")
@click.argument("old")
@click.option("--by", "new", required=True, metavar="ID", help="The newer memory that takes its place.")
@reason_option
@pass_call
def supersede_command(call: Call, old: str, new: str, reason: str | None) -> None:
    """Say that a newer memory replaces an older one."""
    _show_edge(call, call.memory().supersede(old, new, reason=reason))


@verb("relate", "memgraph relate A-ID B-ID --type works_at --note 'since 2024'")
@click.argument("a")
@click.argument("b")
@click.option("--type", "type_", metavar="NAME", help="What kind of relation it is. [related]")
@click.option("--weight", type=float, help="How strong it is. [1.0]")
@click.option("--note", metavar="TEXT", help="A remark that is kept with it.")
@pass_call
def relate_command(call: Call, a: str, b: str, type_: str | None, weight: float | None, note: str | None) -> None:
    """Relate one memory to another."""
    _show_edge(call, call.memory().relate(a, b, **given(type=type_, weight=weight, note=note)))


@verb("unrelate", "memgraph unrelate A-ID B-ID --type works_at")
@click.argument("a")
@click.argument("b")
@click.option("--type", "type_", metavar="NAME", default="related", show_default=True, help="The relation's type.")
@pass_call
def unrelate_command(call: Call, a: str, b: str, type_: str) -> None:
    """Take a relation back."""
    edge = call.memory().unrelate(a, b, type_)
    call.show(edge, lambda: [f"{edge_line(edge)}  (taken back)"])


@verb("feedback", "memgraph feedback ID --signal 1 --verified", "memgraph feedback ID ID --signal -0.5")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--signal", type=float, required=True, help="From -1 (harmful) to 1 (useful).")
@click.option("--verified", is_flag=True, help="The outcome was checked, so it counts more.")
@click.option("--actor", metavar="NAME", help="Who says it.")
@pass_call
def feedback_command(call: Call, ids: tuple[str, ...], signal: float, verified: bool, actor: str | None) -> None:
    """Say how useful memories were."""
    entries = call.memory().feedback(list(ids), signal, verified=verified, actor=actor)
    call.show({"entries": entries}, lambda: entry_table(call, entries, None))


@verb("forget", "memgraph forget ID --reason outdated", "memgraph forget --key ada/city")
@click.argument("id", required=False)
@click.option("--key", metavar="KEY", help="Forget the current memory of this key.")
@reason_option
@by_option
@pass_call
def forget_command(call: Call, id: str | None, key: str | None, reason: str | None, by: str | None) -> None:
    """Take a memory out of use. It stays in the history, and `restore` brings it back; to delete it, `purge` it."""
    if (id is None) == (key is None):
        raise click.UsageError("Give either an ID or --key.")
    _show_written(call, call.memory().forget(id, **given(key=key, reason=reason, by=by)))


@verb(
    "restore",
    "memgraph restore ID --yes",
    "memgraph restore --key ada/city --to 2026-05-01T00:00:00Z --dry-run",
    "memgraph restore --changeset CHANGESET-ID --dry-run",
)
@click.argument("id", required=False)
@click.option("--key", metavar="KEY", help="A value of this key; without --to the newest that is not current.")
@click.option("--to", metavar="VERSION|TIME", help="Which value: a version, or what was current at a time.")
@click.option("--changeset", metavar="ID", help="All that a release, a rewind or a consolidation took out of use.")
@reason_option
@by_option
@click.option("--dry-run", is_flag=True, help="Only say what would be restored.")
@yes_option
@pass_call
def restore_command(
    call: Call,
    id: str | None,
    key: str | None,
    to: str | None,
    changeset: str | None,
    reason: str | None,
    by: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Bring a memory back.

    One with a key comes back as a copy that becomes the key's current value, one without as it is; one that has expired as
    a copy that no longer expires, once. With --changeset all that one took out of use comes back, as by `undo`, but what has
    expired since. It shows first what is there and what would be.
    """
    if sum(each is not None for each in (id, key, changeset)) != 1 or (to is not None and key is None):
        raise click.UsageError("Give an ID, or --key with or without --to, or --changeset.")
    if changeset is not None:
        from memgraph.cli.clean import take_back

        take_back(call, changeset, reason, by, dry_run, yes)
        return
    memory = call.memory()
    chosen: dict[str, Any] = given(id=id, key=key, to=None if to is None else _value_of(to))
    entry = memory.restorable(**chosen)
    if entry.status == "active":
        _show_written(call, entry)
        call.note(f"nothing was changed; memory {entry.id} is active already")
        return
    now = None if entry.key is None else memory.current(entry.key)
    lapsed = entry.expires_at is not None and entry.expires_at <= datetime.now(UTC)
    unlimited = "; it would no longer expire" if lapsed else ""
    call.note(f"before: {_told(now)}")
    call.note(f"after:  {_told(entry)}{unlimited}")
    if dry_run:
        call.show(entry, lambda: entry_block(entry))
        call.note(f"nothing was changed; this {entry.status.value} memory would be restored{unlimited}")
        return
    what = f"restore memory {entry.id}" + ("" if entry.key is None else f" as the value of key {entry.key!r}")
    call.confirm(what, yes=yes)
    _show_written(call, memory.restore(**chosen, **given(reason=reason, by=by)))


def _told(entry: Entry | None) -> str:
    return "nothing" if entry is None else f"{entry.content[:80]} ({entry.status.value}, {entry.version})"


def _value_of(to: str) -> str | datetime:
    """A version as it is, anything else as a time."""
    try:
        parse_version(to)
    except InvalidInputError:
        found: datetime = INSTANT(to)
        return found
    return to


def _show_written(call: Call, entry: Entry) -> None:
    call.show(entry, lambda: [escape(entry.id)] if call.quiet else entry_table(call, [entry], None))


def _show_edge(call: Call, edge: Edge) -> None:
    call.show(edge, lambda: [edge_line(edge)])


def _standard_input() -> str:
    """All of standard input, without one line end at its end."""
    if sys.stdin is None:
        raise InvalidInputError("standard input is closed", field="content")
    text = _decode(sys.stdin.buffer.read(), "standard input")
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{where} is not UTF-8", field="content", hint="Convert it to UTF-8 first.") from None


def _items(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL text, their times as datetimes. Raises InvalidInputError naming the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = strict_json(line)
            if not isinstance(item, dict):
                raise ValueError("not an object")  # noqa: TRY004 - it is told as a fault of the line, below
            item |= {name: instant(item[name]) for name in _TIMES if isinstance(item.get(name), str)}
        except ValueError:
            raise InvalidInputError(
                f"line {number} is not a JSON object with valid times", field="file", hint="Write one object a line."
            ) from None
        yield item
