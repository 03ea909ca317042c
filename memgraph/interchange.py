"""The export file: a namespace as operations, one JSON object a line, and the same bytes for the same contents.

::

    {"memgraph":"export","format":1,"namespace":"acme","subtree":false}
    {"tombstone":{...}}                      what purges left, secrets included, as the backend gives them
    {"format":1,"op":"remember",...}         operations by version; fields that are null are left out
    {"end":2,"sha256":"..."}                 how many lines lie between, and the digest of all bytes before this line

An embedding is base64 of little-endian floats, "f32:..." where that loses nothing, else "f64:...".
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from memgraph import checks
from memgraph.clock import parse_version
from memgraph.errors import (
    InvalidInputError,
    MemgraphError,
    StoreCorruptError,
    StoreVersionError,
)
from memgraph.inplace import require_rereadable, writing
from memgraph.operations import Operation, Origin, Reinforce, Relate, Remember, Unknown, parse
from memgraph.textlines import Skip, judge, utf8_lines

__all__ = ["FORMAT", "Header", "Item", "Items", "moved", "read", "write"]

FORMAT: Final = 1
Item = Operation | Unknown | dict[str, Any]
_PROGRESS_EVERY: Final = 1000
_NOT_NAMES: Final = ("op", "format", "version", "receipt", "heads", "trust", "cause", "field")
_EMBEDDINGS: Final = {"f32": ("f", 4), "f64": ("d", 8)}


@dataclass(frozen=True)
class Header:
    """What an export covers: a namespace, with `subtree` its descendants too.

    items: how many tombstones and operations there are. newest: the greatest version among the operations, empty
    without any. Both are found by `read` and ignored by `write`.
    """

    namespace: str
    subtree: bool = False
    items: int = 0
    newest: str = ""


def write(
    path: str | Path,
    header: Header,
    items: Iterable[Item],
    progress: Callable[[int], object] | None = None,
) -> int:
    """Write an export; the file appears whole or not at all, readable by its owner only.

    items: tombstones as dicts of JSON values, then stamped operations. progress: called now and then with the number of
    items written. Returns how many items there were. Raises InvalidInputError for what strict JSON cannot hold, ReadOnlyError where
    the file may not be written, StoreFullError without room.
    """
    with writing(Path(path)) as file:
        count = _fill(file, header, items, progress)
    if progress is not None:
        progress(count)
    return count


def _fill(file: IO[bytes], header: Header, items: Iterable[Item], progress: Callable[[int], object] | None) -> int:
    digest = hashlib.sha256()
    count = 0
    for count, line in enumerate(_lines(header, items)):
        digest.update(line)
        file.write(line)
        if progress is not None and count % _PROGRESS_EVERY == 0:
            progress(count)
    file.write(_line({"end": count, "sha256": digest.hexdigest()}))
    file.flush()
    return count


def _lines(header: Header, items: Iterable[Item]) -> Iterator[bytes]:
    yield _line({"memgraph": "export", "format": FORMAT, "namespace": header.namespace, "subtree": header.subtree})
    for item in items:
        yield _line(_encode(item))


def _line(value: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except (ValueError, TypeError):
        raise InvalidInputError("holds a value that strict JSON does not know", field="items") from None


def _encode(item: Item) -> dict[str, Any]:
    if isinstance(item, Unknown):
        return item.payload
    if isinstance(item, dict):
        return {"tombstone": item}
    found = {name: value for name, value in item.model_dump().items() if value is not None}
    for name in ("valid_from", "valid_to", "expires_at"):
        if name in found:
            found[name] = found[name].isoformat(timespec="microseconds").replace("+00:00", "Z")
    if "embedding" in found:
        found["embedding"] = _pack(found["embedding"])
    return found


def _pack(vector: tuple[float, ...]) -> str:
    for name, (code, _) in _EMBEDDINGS.items():
        try:
            packed = struct.pack(f"<{len(vector)}{code}", *vector)
        except OverflowError:
            continue
        if struct.unpack(f"<{len(vector)}{code}", packed) == vector:
            return f"{name}:{base64.b64encode(packed).decode()}"
    raise InvalidInputError("holds a number that is not finite", field="embedding")


def _unpack(text: str) -> list[float]:
    name, _, coded = text.partition(":")
    code, width = _EMBEDDINGS[name]
    packed = base64.b64decode(coded, validate=True)
    return list(struct.unpack(f"<{len(packed) // width}{code}", packed))


@dataclass(frozen=True)
class Items:
    """What a checked export holds; it may be gone through again as long as the file stays as it was.

    bad: the numbers of lines that were refused, which are left out.
    """

    path: Path
    header: Header
    state: tuple[int, ...]
    bad: frozenset[int]

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self.lines())

    def lines(self) -> Iterator[tuple[int, Item]]:
        """Each item behind the number of its line, counted from 1."""
        with self.path.open("rb") as file:
            if _state(os.fstat(file.fileno())) != self.state:
                raise StoreCorruptError("the file was changed while it was being read", hint="Export again.")
            for number, line in enumerate(utf8_lines(file), 1):
                if 1 < number < self.header.items + 2 and number not in self.bad:
                    yield number, _decode(line, self.header)


def read(path: str | Path, skip: Skip | None = None) -> tuple[Header, Items]:
    """Check an export from its first byte to its last, then give its header and its items.

    Items are tombstones, as dicts, and operations in their stored form, which passed the checks at the door and lie in
    the header's namespaces. A byte order mark, CRLF and UTF-16 are understood. skip: told of each line that is refused,
    which is left out then; None: one such line refuses the file.

    Raises StoreCorruptError, naming the line, for a file that is damaged, cut or no export; StoreVersionError for one of
    another format; InvalidInputError for a file that cannot be opened and, naming the lines, for an intact one with
    operations that are refused.
    """
    source = Path(path)
    require_rereadable(source)
    try:
        header, state, bad = _verify(source)
    except OSError as error:
        raise InvalidInputError(f"{source}: {error.strerror or type(error).__name__}", field="path") from error
    judge(bad, header.items - len(bad), skip)
    return header, Items(source, header, state, frozenset(bad))


def _verify(path: Path) -> tuple[Header, tuple[int, ...], dict[int, MemgraphError]]:
    digest = hashlib.sha256()
    header: Header | None = None
    newest = ""
    bad: dict[int, MemgraphError] = {}
    number, last = 0, b""
    with path.open("rb") as file:
        state = _state(os.fstat(file.fileno()))
        for number, line in enumerate(utf8_lines(file), 1):
            if header is None:
                header = _header(line)
            elif number > 2:
                digest.update(last)
                try:
                    item = _decode(last, header)
                    newest = max(newest, "" if isinstance(item, dict) else item.version)
                except MemgraphError as error:
                    bad[number - 1] = error
            if number == 1:
                digest.update(line)
            last = line
    if header is None:
        raise StoreCorruptError("line 1: the file is empty", hint="Export again.")
    _check_end(last, number, digest.hexdigest(), next(iter(bad), None))
    return Header(header.namespace, header.subtree, number - 2, newest), state, bad


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _header(line: bytes) -> Header:
    found = _json(line)
    if found is None or found.get("memgraph") != "export" or type(found.get("format")) is not int:
        raise StoreCorruptError(
            "line 1: this is no memgraph export", hint="Choose a file that `memgraph export` wrote."
        )
    if found["format"] != FORMAT:
        raise StoreVersionError(
            f"the export has format {found['format']}, this build reads format {FORMAT}", hint="Upgrade memgraph."
        )
    try:
        namespace = checks.namespace(found.get("namespace"))
    except InvalidInputError:
        raise StoreCorruptError("line 1: the header names no namespace") from None
    return Header(namespace, found.get("subtree") is True)


def _check_end(last: bytes, number: int, digest: str, bad: int | None) -> None:
    end = _json(last)
    if end is not None and "sha256" in end and not last.endswith(b"\n"):
        raise StoreCorruptError(f"line {number}: the last line end is missing", hint="Add it, or export again.")
    if number < 2 or end is None or set(end) != {"end", "sha256"}:
        raise StoreCorruptError(
            f"line {number}: the file ends without its closing line; it was cut or added to", hint="Export again."
        )
    if end["end"] != number - 2:
        raise StoreCorruptError(
            f"line {number}: there are {number - 2} items, the closing line says otherwise", hint="Export again."
        )
    if end["sha256"] != digest:
        where = f"line {bad}" if bad else f"lines 1 to {number - 1}"
        raise StoreCorruptError(f"{where}: the contents are not those that were written", hint="Export again.")


def _json(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(name: str) -> Any:
    raise ValueError(name)


_SECRET: Final = {"secret": r"[0-9a-f]{8}", "value": r"(?:[0-9a-f]{2}){16,64}"}
_TOMBSTONE: Final = {"tombstone": r"[0-9a-f]{64}", "secret": r"[0-9a-f]{8}", "receipt": r"[0-9a-f-]{0,64}"}


def _buried(found: dict[str, Any], header: Header) -> dict[str, Any]:
    """A secret or a tombstone, whose namespace must be one that the header names."""
    shape = _TOMBSTONE if "tombstone" in found else _SECRET
    if not all(isinstance(found.get(name), str) and re.fullmatch(form, found[name]) for name, form in shape.items()):
        raise InvalidInputError("is no tombstone", field="tombstone")
    if shape is _TOMBSTONE:
        parse_version(str(found.get("version")))
        if not _inside(checks.namespace(found.get("namespace")), header):
            raise InvalidInputError("lies outside what the header names", field="namespace")
    return dict(found)


def _inside(namespace: str, header: Header) -> bool:
    return namespace == header.namespace or (header.subtree and namespace.startswith(header.namespace + "/"))


def _decode(line: bytes, header: Header) -> Item:
    found = _json(line)
    if found is None:
        raise InvalidInputError("is no JSON object", field="op")
    if isinstance(found.get("tombstone"), dict) and len(found) == 1:
        return _buried(found["tombstone"], header)
    if isinstance(found.get("embedding"), str):
        try:
            found["embedding"] = _unpack(found["embedding"])
        except (ValueError, KeyError, struct.error):
            raise InvalidInputError("is not base64 of floats", field="embedding") from None
    operation = parse(found)
    if not _inside(operation.namespace, header):
        raise InvalidInputError("lies outside what the header names", field="namespace")
    return operation if isinstance(operation, Unknown) else _admitted(operation)


def _admitted(operation: Operation) -> Operation:
    """The operation in its stored form; InvalidInputError if the door would not let it in."""
    found: dict[str, Any] = {}
    for name, value in operation:
        if value is not None and name not in _NOT_NAMES and (name, value) != ("new_id", ""):
            found[name] = _stored_form(name, value)
    if isinstance(operation, Remember):
        found["tags"] = checks.names(operation.tags, "tags")
        found["aliases"] = checks.names(operation.aliases, "aliases")
        found["confidence"] = checks.fraction(operation.confidence, "confidence")
    elif isinstance(operation, Reinforce):
        found["signal"] = checks.fraction(operation.signal, "signal", -1.0)
    elif isinstance(operation, Relate) and not math.isfinite(operation.weight):
        raise InvalidInputError("must be a finite number", field="weight")
    return operation.model_copy(update=found)


def _stored_form(name: str, value: Any) -> Any:
    if name == "content":
        return checks.content(value, max_bytes=sys.maxsize)  # the store that wrote it may allow more than the default
    if name in ("title", "reason", "note"):
        return checks.label(value, name)
    if name == "metadata":
        return checks.metadata(value)
    if name == "namespace":
        return checks.namespace(value)
    if name == "type":
        return checks.relation_type(value)
    if name in ("valid_from", "valid_to", "expires_at"):
        return checks.instant(value, name)
    if name in ("new_version", "old_version"):
        parse_version(value)
    if name == "embedding" and not all(map(math.isfinite, value)):
        raise InvalidInputError("holds a number that is not finite", field=name)
    if isinstance(value, Origin):
        parse_version(value.version)
        return value.model_copy(update={"id": checks.name(value.id, name)})
    return checks.name(value, name) if isinstance(value, str) else value


def moved(operation: Operation | Unknown, source: str, target: str) -> Operation | Unknown:
    """The same operation in another namespace: what lay in `source` or below lies in `target` or below.

    A tombstone cannot be moved: its hash covers the namespace.
    """
    namespace = target + operation.namespace[len(source) :]
    update: dict[str, Any] = {"namespace": namespace}
    if isinstance(operation, Unknown):
        update["payload"] = operation.payload | {"namespace": namespace}
    elif getattr(operation, "field", None) == "namespace":
        update["value"] = namespace
    return operation.model_copy(update=update)
