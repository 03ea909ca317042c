"""Plans and receipts of purges as files; receipts signed with an Ed25519 key, and checked again against the store's bytes.

Signing needs the extra `memgraph-store[sign]`. Keys are PEM files, as `openssl genpkey -algorithm ed25519` makes them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from memgraph.errors import ConflictError, InvalidInputError, UnsupportedError
from memgraph.models import PurgePlan, PurgeReceipt
from memgraph.textlines import utf8_lines

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["count_in_file", "is_signed_by", "read", "read_plan", "require_key", "require_unchanged", "sign"]

_BLOCK: Final = 1 << 20


def read(data: bytes) -> PurgeReceipt:
    """A receipt from its JSON, in any encoding that an import takes. Raises InvalidInputError, also if it names a field twice."""
    try:
        return PurgeReceipt.model_validate_json(_json(data))
    except ValueError:  # pydantic's, and json's
        raise InvalidInputError("is not the receipt of a purge", field="receipt") from None


def read_plan(data: bytes) -> PurgePlan:
    """A plan from its JSON, like a receipt. Raises InvalidInputError, ConflictError for one that was changed since it was made."""
    try:
        plan = PurgePlan.model_validate_json(_json(data))
    except ValueError:
        hint = "Make one with `memgraph plan-purge --out`."
        raise InvalidInputError("is not a plan", field="plan", hint=hint) from None
    require_unchanged(plan)
    return plan


def require_unchanged(plan: PurgePlan) -> None:
    """Raise ConflictError for a plan whose seal is not that of what it says."""
    if plan.seal != plan.sealed().seal:
        raise ConflictError(
            "the plan was changed since it was made, or is one of an older memgraph", hint="Make a new plan."
        )


def _json(data: bytes) -> bytes:
    """JSON as UTF-8. Raises ValueError for what is none, and for an object that names something twice: readers may differ on it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("named twice")
        return found

    text = b"".join(utf8_lines(io.BytesIO(data)))
    try:
        json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return text


def sign(receipt: PurgeReceipt, key: Path) -> PurgeReceipt:
    """The same with a signature over everything else in it.

    key: a PEM file with an Ed25519 private key. Raises InvalidInputError for another, UnsupportedError without the extra.
    """
    return receipt.model_copy(update={"signature": _private(key).sign(_signed_bytes(receipt)).hex()})


def require_key(key: Path) -> None:
    """Raise what `sign` would raise for this key."""
    _private(key)


def is_signed_by(receipt: PurgeReceipt, key: Path) -> bool:
    """Whether the holder of a key signed just this receipt.

    key: a PEM file with the Ed25519 public key, or the private one. Raises InvalidInputError, UnsupportedError.
    """
    from cryptography.exceptions import InvalidSignature

    if receipt.signature is None:
        return False
    try:
        _public(key).verify(bytes.fromhex(receipt.signature), _signed_bytes(receipt))
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed_bytes(receipt: PurgeReceipt) -> bytes:
    """Everything but the signature, in one form: keys sorted, nothing that stands for itself (RFC 8785 in spirit, ASCII only)."""
    left_out = {"signature"} | (
        set() if receipt.removed_before else {"removed_before"}
    )  # younger than the first receipts
    fields: dict[str, Any] = receipt.model_dump(mode="json", exclude=left_out)
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _private(path: Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, OSError):
        raise _no_key(path) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _no_key(path)
    return cast("Ed25519PrivateKey", key)


def _public(path: Path) -> Ed25519PublicKey:
    serialization, ed25519 = _library()
    try:
        data = path.read_bytes()
        if b"PRIVATE KEY" in data:
            return _private(path).public_key()
        key = serialization.load_pem_public_key(data)
    except (ValueError, OSError):
        raise _no_key(path) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _no_key(path)
    return cast("Ed25519PublicKey", key)


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise UnsupportedError(
            "signatures need the package cryptography", hint="pip install 'memgraph-store[sign]'"
        ) from None
    return serialization, ed25519


def _no_key(path: Path) -> InvalidInputError:
    return InvalidInputError(
        f"{path} holds no Ed25519 key without a password",
        field="key",
        hint="openssl genpkey -algorithm ed25519 -out key.pem",
    )


def count_in_file(path: Path, texts: Iterable[str]) -> int:
    """How often any of these texts stands in a file, byte for byte in UTF-8, as it is or as JSON writes it."""
    forms = {
        form
        for text in texts
        for form in (text, *(json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (False, True)))
    }
    return sum(sum(1 for _ in _places(path, form.encode())) for form in forms)


def _places(path: Path, wanted: bytes) -> Iterator[int]:
    with path.open("rb") as file:
        before, start = b"", 0
        while block := file.read(_BLOCK):
            data = before + block
            at = data.find(wanted)
            while at >= 0:
                yield start + at
                at = data.find(wanted, at + 1)
            keep = min(len(wanted) - 1, len(data))
            start += len(data) - keep
            before = data[len(data) - keep :]
