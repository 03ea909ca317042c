"""Transcripts of other programs become memories: one turn, one memory."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memgraph import checks
from memgraph.errors import ConflictError, InvalidInputError, MemgraphError, PurgedError
from memgraph.importing import taken
from memgraph.inplace import require_rereadable
from memgraph.models import Entry, Trust
from memgraph.textlines import Skip, judge, utf8_lines

if TYPE_CHECKING:
    from memgraph.memory import Memory

__all__ = ["FIELDS", "import_chat"]

_BATCH: Final = 1000
_TIMES: Final = ("valid_from", "valid_to", "expires_at")
_NAMES: Final = ("id", "key", "kind", "subject", "source", "actor", "session", "namespace")
_LABELS: Final = ("title", "reason")
FIELDS: Final = ("content", *_NAMES, *_LABELS, *_TIMES, "tags", "aliases", "metadata", "trust", "pinned", "confidence")
_TURN: Final = uuid.UUID("8a0f3c52-5f0b-5a3e-9d0c-6b1f5b7c2e11")  # the root of the ids made here; never to change


_TAKEN: Final = ConflictError(
    "its id names a memory with other content, or another key, there", hint="Map another field as the id, or none."
)


def import_chat(
    memory: Memory,
    path: str | Path,
    mapping: Mapping[str, str],
    timezone: str = "UTC",
    progress: Callable[[int], object] | None = None,
    skip: Skip | None = None,
    by: str | None = None,
    dry_run: bool = False,
) -> int:
    """Remember the turns of a transcript, in order; a second import changes nothing. Returns how many were new.

    path: a file of JSON lines, or one JSON array, of objects; a byte order mark, CRLF and UTF-16 are understood.
    mapping: names of `FIELDS` to the names that the file has for them; `content` is needed. A field that is missing, null or
    empty counts as not given. `namespace` is one more segment below the memory's own. Numbers may stand for names; a time is
    ISO 8601, or Unix seconds.
    timezone: the IANA name of the zone of times that have none. progress: called with the number of turns done.
    skip: called with the number of each line that cannot be taken, and why; the others are imported. None: one such line
    refuses the whole. by: who imports, for the audit; else the operating system's user. dry_run: check all that, write nothing,
    and return how many turns are not there.

    Without a mapped `id`, the id is made of the turn's place in the file and its values. The whole file is checked
    before anything is written. Raises InvalidInputError naming the lines (in an array, the elements), counted from 1, and
    ConflictError for ids that name other memories there; then nothing was written. A turn that was purged stays so and is
    passed over.
    """
    fields = _fields(mapping)
    zone = _zone(timezone)
    source = Path(path)
    seen: dict[tuple[str | None, str], tuple[str, str | None]] = {}
    lines: dict[tuple[str | None, str], list[int]] = {}
    bad: dict[int, MemgraphError] = {}
    for number, row in _rows(source):
        try:
            namespace, turn = _turn(number, row, fields, zone)
            if seen.setdefault((namespace, turn["id"]), says := (turn["content"], turn.get("key"))) != says:
                raise InvalidInputError("an earlier turn with other content has this id")
            lines.setdefault((namespace, turn["id"]), []).append(number)
        except InvalidInputError as error:
            bad[number] = error
    clashes, known = _there(memory, seen)
    bad |= {number: _TAKEN for name in clashes for number in lines[name]}
    judge(bad, len(seen) - len(clashes), skip)
    if dry_run:
        return len(seen) - known - len(clashes)
    done = 0
    news: Counter[str | None] = Counter()
    waiting: dict[str | None, list[dict[str, Any]]] = {}
    for number, row in _rows(source):
        if number in bad:
            continue
        namespace, turn = _turn(number, row, fields, zone)
        batch = waiting.setdefault(namespace, [])
        batch.append(turn)
        if len(batch) < _BATCH:
            continue
        news[namespace] += _remember(memory, namespace, waiting.pop(namespace))
        done += _BATCH
        if progress is not None:
            progress(done)
    for namespace, batch in waiting.items():
        news[namespace] += _remember(memory, namespace, batch)
        done += len(batch)
        if progress is not None:
            progress(done)
    for namespace, new in news.items():
        _place(memory, namespace)._note_import(new, by)
    return sum(news.values())


def _place(memory: Memory, namespace: str | None) -> Memory:
    return memory if namespace is None else memory.namespace(namespace)


def _there(
    memory: Memory, seen: Mapping[tuple[str | None, str], tuple[str, str | None]]
) -> tuple[set[tuple[str | None, str]], int]:
    """Which of these ids name other memories in the store; and how many are there as they are."""
    clashes: set[tuple[str | None, str]] = set()
    known = 0
    for namespace in {namespace for namespace, _ in seen}:
        place = _place(memory, namespace)
        turns = iter([(id, says) for (path, id), says in seen.items() if path == namespace])
        while batch := dict(itertools.islice(turns, _BATCH)):
            other = taken(place.backend, place.path, batch, datetime.now(UTC))
            clashes |= {(namespace, id) for id in other}
            known += len(place.backend.get(place.path, list(batch), datetime.now(UTC))) - len(other)
    return clashes, known


def _remember(memory: Memory, namespace: str | None, batch: list[dict[str, Any]]) -> int:
    """Remember a batch; returns how many of it were new."""
    place = _place(memory, namespace)
    ids = [turn["id"] for turn in batch]
    known = place.backend.get(place.path, ids, datetime.now(UTC))
    try:
        written = place.remember_many(batch)
    except PurgedError:  # what was purged stays so; the rest of the transcript comes in
        written = [entry for turn in batch for entry in _unless_purged(place, turn)]
    return sum(entry.id not in known for entry in written)


def _unless_purged(place: Memory, turn: dict[str, Any]) -> list[Entry]:
    try:
        return [place.remember(**turn)]
    except PurgedError:
        return []


def _fields(mapping: Mapping[str, str]) -> dict[str, str]:
    for name, theirs in mapping.items():
        if name not in FIELDS:
            raise InvalidInputError(f"{name!r} is no field", field="map", hint=f"Choose from: {', '.join(FIELDS)}.")
        if not isinstance(theirs, str) or not theirs:
            raise InvalidInputError(f"{name!r} has no name in the file", field="map")
    if "content" not in mapping:
        raise InvalidInputError("does not say which field is the content", field="map", hint="Add content=FIELD.")
    return dict(mapping)


def _zone(name: str) -> tzinfo:
    if name == "UTC":  # known without a time zone database
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInputError(
            "no such time zone on this machine",
            field="timezone",
            hint="Give an IANA name such as Europe/Berlin, or UTC.",
        ) from None


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """What a file holds, line by line as text or element by element, with numbers; blank lines are skipped but counted."""
    require_rereadable(path)
    try:
        with path.open("rb") as file:
            lines = enumerate(utf8_lines(file), 1)
            start, first = next(((number, line) for number, line in lines if line.strip()), (0, b""))
            if first.lstrip().startswith(b"["):
                text = b"".join([first, *(line for _, line in lines)])
                try:
                    yield from enumerate(_json(text), 1)
                except InvalidInputError as error:
                    raise InvalidInputError(f"line {start}: {error}", field="path") from None
                return
            for number, line in itertools.chain([(start, first)], lines):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or type(error).__name__}", field="path") from error


def _json(text: bytes) -> Any:
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        raise InvalidInputError("is not valid JSON in UTF-8") from None


def _turn(number: int, row: Any, fields: dict[str, str], zone: tzinfo) -> tuple[str | None, dict[str, Any]]:
    """The namespace segment of a row, and the arguments of `remember` that it stands for."""
    if isinstance(row, bytes):
        row = _json(row)
    if not isinstance(row, dict):
        raise InvalidInputError("is not a JSON object")
    turn: dict[str, Any] = {}
    name = ""
    try:
        for name, theirs in fields.items():
            value = row.get(theirs)
            if name == "content":
                turn[name] = checks.content(value)
            elif value is not None and value not in ("", [], {}):
                turn[name] = _value(name, value, zone)
        name = "valid_to"
        if "valid_from" in turn and "valid_to" in turn and turn["valid_to"] <= turn["valid_from"]:
            raise InvalidInputError("must be after valid_from")
    except InvalidInputError as error:
        raise InvalidInputError(f"field {fields.get(name, name)!r}: {error}", hint=error.hint) from None
    namespace = turn.pop("namespace", None)
    if "id" not in turn:
        facts = [namespace, number, *sorted((field, str(value)) for field, value in turn.items())]
        turn["id"] = str(uuid.uuid5(_TURN, json.dumps(facts)))
    return namespace, turn


def _value(name: str, value: Any, zone: tzinfo) -> Any:
    if name in _TIMES:
        return _time(value, name, zone)
    if name in _NAMES:
        text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        return checks.namespace((text,)) if name == "namespace" else checks.name(text, name)
    if name in _LABELS:
        return checks.label(value, name)
    if name in ("tags", "aliases"):
        return checks.names([value] if isinstance(value, str) else value, name)
    if name == "metadata":
        return checks.metadata(value)
    if name == "confidence":
        return checks.fraction(value, name)
    if name == "pinned" and not isinstance(value, bool):
        raise InvalidInputError("must be true or false", field=name)
    if name == "trust" and value not in list(Trust):
        raise InvalidInputError(f"must be one of {', '.join(Trust)}", field=name)
    return value


def _time(value: Any, name: str, zone: tzinfo) -> datetime:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(value)
        aware = found.replace(tzinfo=zone) if found.tzinfo is None else found
        return checks.instant(aware.astimezone(UTC), name)
    except (ValueError, TypeError, OverflowError, OSError):
        raise InvalidInputError("is no time in ISO 8601 or Unix seconds", field=name) from None
