"""The checks at the door: pure functions that return a value in its one stored form, or raise InvalidInputError naming the field.

They are the same for every backend, so that what one engine accepts the others accept too.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memgraph.clock import EPOCH
from memgraph.errors import InvalidInputError

__all__ = [
    "MAX_BATCH",
    "MAX_CONTENT_BYTES",
    "MAX_METADATA_BYTES",
    "MAX_NAME_BYTES",
    "content",
    "few",
    "fraction",
    "from_micros",
    "instant",
    "label",
    "metadata",
    "micros",
    "name",
    "names",
    "namespace",
    "relation_type",
    "text",
]

MAX_NAME_BYTES: Final = 1024
MAX_CONTENT_BYTES: Final = 1 << 20
MAX_METADATA_BYTES: Final = 1 << 18
MAX_METADATA_DEPTH: Final = 100
MAX_BATCH: Final = 10_000
MAX_TAGS: Final = 256
_INT64: Final = 1 << 63
LEDGER: Final = "~ledger"
"""The first segment of namespaces that hold what is kept beside the data; no caller can name one."""

_RESERVED_TYPES: Final = frozenset({"supersedes", "restores", "unrelated", "current", "latest", "past", "about"})
_UNSEEN: Final = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def _blank(value: str) -> bool:
    if value and value[0].isalnum():  # nearly every text, and no need to look further
        return False
    return not value or value.isspace() or all(unicodedata.category(c) in _UNSEEN for c in value)


def text(value: object, field: str) -> str:
    """Valid Unicode as given: a pair of surrogate escapes is joined, a lone one refused."""
    if not isinstance(value, str):
        raise InvalidInputError(f"must be text, not {type(value).__name__}", field=field)
    value = str.__str__(value)  # of an enum its value, not its name
    try:
        value.encode()
    except UnicodeEncodeError:
        try:
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidInputError(
                "holds half of a surrogate pair, which is not valid Unicode", field=field, hint="Decode the text again."
            ) from None
    return value


def content(value: object, field: str = "content", max_bytes: int = MAX_CONTENT_BYTES) -> str:
    """What a memory says: kept as given, not blank, at most `max_bytes` of UTF-8."""
    found = text(value, field)
    if len(found) * 4 > max_bytes and len(found.encode()) > max_bytes:
        raise InvalidInputError(
            f"is longer than {max_bytes} bytes", field=field, hint="Split it, or store where it can be found."
        )
    if _blank(found):
        raise InvalidInputError("is blank", field=field, hint="Say something to remember.")
    return found


def name(value: object, field: str) -> str:
    """A key, id, kind, tag or other name: NFC, no control characters, not blank, at most 1,024 bytes of UTF-8."""
    found = text(value, field)
    if not (found.isascii() and found.isprintable()):
        found = unicodedata.normalize("NFC", found)
        if any(unicodedata.category(c) == "Cc" for c in found):
            raise InvalidInputError("holds a control character", field=field)
    if _blank(found):
        raise InvalidInputError("is blank", field=field)
    if len(found) * 4 > MAX_NAME_BYTES and len(found.encode()) > MAX_NAME_BYTES:
        raise InvalidInputError(f"is longer than {MAX_NAME_BYTES} bytes of UTF-8", field=field)
    return found


def label(value: object, field: str) -> str:
    """Free text beside a memory (a title, a reason, a note): valid Unicode, at most 16 times a name's length."""
    found = text(value, field)
    if len(found.encode()) > 16 * MAX_NAME_BYTES:
        raise InvalidInputError(f"is longer than {16 * MAX_NAME_BYTES} bytes of UTF-8", field=field)
    return found


def names(values: object, field: str) -> tuple[str, ...]:
    """Names without repeats, in the order given."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError("must be a list of names", field=field, hint=f"Write {field}=[…].")
    found = tuple(dict.fromkeys(name(v, field) for v in values))
    if len(found) > MAX_TAGS:
        raise InvalidInputError(f"holds more than {MAX_TAGS} names", field=field)
    return found


def namespace(value: object, field: str = "namespace", *, ledger: bool = False) -> str:
    """A namespace as one path. Takes `"acme/user-1"` or its segments `("acme", "user-1")`; none or empty is refused.

    ledger: whether it may be one that no caller can name.
    """
    parts: list[str] = []
    if isinstance(value, str):
        parts = value.split("/")
    elif isinstance(value, Iterable):
        for part in value:
            if isinstance(part, str) and "/" in part:
                raise InvalidInputError("a segment must not hold '/'", field=field, hint="Give it as segments.")
            parts.append(part)
    if not parts:
        raise InvalidInputError("is empty; every call names one namespace", field=field)
    if "" in parts:
        raise InvalidInputError("has an empty segment", field=field)
    if parts[0] == LEDGER and not ledger:
        raise InvalidInputError(f"{LEDGER!r} is reserved", field=field, hint="Choose another first segment.")
    return name("/".join(name(part, field) for part in parts), field)


def ledger_of(namespace: str) -> str:
    """The namespace that holds the ledger of a namespace, under digests of its name's parts; a descendant's lies below it."""
    parts = namespace.split("/")
    heads = ("/".join(parts[: length + 1]) for length in range(len(parts)))
    return "/".join([LEDGER, *(hashlib.sha256(head.encode()).hexdigest()[:12] for head in heads)])


def ledgers_of(namespace: str) -> list[str]:
    """The ledgers whose holds may concern a namespace: its own and those of its ancestors; none for a ledger itself."""
    parts = namespace.split("/")
    if parts[0] == LEDGER:
        return []
    return [ledger_of("/".join(parts[: length + 1])) for length in range(len(parts))]


def relation_type(value: object, field: str = "type") -> str:
    """A relation's type: a name that is not one of ours."""
    found = name(value, field)
    if found.casefold() in _RESERVED_TYPES:
        raise InvalidInputError("is a reserved relation type", field=field, hint="Choose another name.")
    return found


def instant(value: object, field: str) -> datetime:
    """An aware datetime as fixed UTC, to the microsecond; naive ones are refused."""
    if not isinstance(value, datetime):
        raise InvalidInputError(f"must be a datetime, not {type(value).__name__}", field=field)
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInputError(
            "has no time zone", field=field, hint="Use datetime.now(UTC) or give the time its zone."
        )
    try:
        return datetime.fromtimestamp(0, UTC) + (value - EPOCH)
    except OverflowError:
        raise InvalidInputError("is outside the years 1 to 9999", field=field) from None


def few(items: Sequence[object], most: int) -> str:
    """The first of these, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{', '.join(map(str, items[:most]))}{more}"


def micros(value: datetime) -> int:
    """Microseconds since 1970 in UTC."""
    return (value - EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """The inverse of `micros`."""
    return EPOCH + timedelta(microseconds=value)


def fraction(value: object, field: str, low: float = 0.0, high: float = 1.0) -> float:
    """A finite number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == math.inf:
        raise InvalidInputError("must be a finite number", field=field)
    if not low <= value <= high:
        raise InvalidInputError(f"must be from {low:g} to {high:g}", field=field)
    return float(value)


def metadata(value: object, field: str = "metadata") -> dict[str, Any]:
    """A copy of strict JSON: text keys, null, booleans, 64-bit integers, finite floats, text, lists, objects."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInputError(f"must be a dict, not {type(value).__name__}", field=field)
    found: dict[str, Any] = _json(value, field, 0) if value else {}
    if found and len(json.dumps(found, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise InvalidInputError(f"is larger than {MAX_METADATA_BYTES} bytes of JSON", field=field)
    return found


def _json(value: object, field: str, depth: int) -> Any:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInputError(f"is nested deeper than {MAX_METADATA_DEPTH} levels, or holds itself", field=field)
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return text(value, field)
    if kind is int:
        if not -_INT64 <= value < _INT64:  # type: ignore[operator]
            raise InvalidInputError("holds an integer that does not fit 64 bits", field=field)
        return value
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise InvalidInputError("holds NaN or an infinity, which JSON does not know", field=field)
        return value
    if isinstance(value, list) and kind is list:
        return [_json(v, field, depth + 1) for v in value]
    if isinstance(value, dict) and kind is dict:
        if any(type(k) is not str for k in value):
            raise InvalidInputError("holds a key that is not text", field=field)
        return {text(k, field): _json(v, field, depth + 1) for k, v in value.items()}
    raise InvalidInputError(
        f"holds a {kind.__name__}, which JSON does not know", field=field, hint="Convert it to text or numbers."
    )
