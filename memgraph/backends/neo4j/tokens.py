"""What the full-text index of Neo4j holds of a memory, and how a query asks for it: tokens that were made here, never text.

The index is split at blanks and takes each token as it stands. `terms` are the words, by `rules/text.py`; `scope` holds one
token each for the namespace, kind, subject, session and every tag, so that these narrow inside the index. Half of all memories
hold the token `z1` as well, a quarter `z2`, and so on, by a hash of their id: what is too much to be counted is counted by sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

from memgraph.clock import recorded_at
from memgraph.models import Filters
from memgraph.operations import Remember
from memgraph.rules.text import terms

__all__ = [
    "MAX_SAMPLE",
    "any_term",
    "of_spaces",
    "sample_clause",
    "scope_clauses",
    "scope_token",
    "session_clause",
    "tokens",
]

MAX_LENGTH: Final = 65_535
MAX_SAMPLE: Final = 16
_SCOPES: Final = {"namespace": "n", "kind": "k", "subject": "s", "session": "e", "tag": "t"}
_SPECIAL: Final = re.compile(r"([^\w'])", re.ASCII)


def tokens(operation: Remember) -> dict[str, Any]:
    """The engine-private properties of a stamped Remember: `terms`, `scope`, and length and flags for the ranking."""
    found = terms(
        operation.content,
        key=operation.key,
        tags=operation.tags,
        aliases=operation.aliases,
        actor=operation.actor,
        when=operation.valid_from or recorded_at(operation.version),
    )
    pairs = [("namespace", operation.namespace), ("kind", operation.kind)]
    pairs += [(field, value) for field in ("subject", "session") if (value := getattr(operation, field)) is not None]
    pairs += [("tag", tag) for tag in operation.tags]
    scope = [scope_token(field, value) for field, value in pairs]
    scope += [f"z{level}" for level in range(1, _samples(operation.id) + 1)]
    return {
        "terms": " ".join(found.tokens),
        "terms_length": min(found.length, MAX_LENGTH),
        "terms_flags": found.flags,
        "scope": " ".join(scope),
    }


def _samples(id: str) -> int:
    """In how many samples a memory is: n with a chance of one in 2 to the n + 1."""
    bits = int.from_bytes(blake2b(id.encode(), digest_size=8).digest())
    return min(64 - bits.bit_length(), MAX_SAMPLE)


def scope_token(field: str, value: str) -> str:
    """The token that stands for a namespace, kind, subject, session or tag: a letter and 16 hex digits."""
    return _SCOPES[field] + blake2b(value.encode(), digest_size=8).hexdigest()


def any_term(terms: Iterable[str]) -> str:
    """A clause of the index's query language that asks for any of these terms."""
    return f"+terms:({' '.join(_quoted(term) for term in terms)})"


def scope_clauses(namespace: str | None, filters: Filters) -> str:
    """Clauses that ask for a namespace and for what filters say of kind, subject, session and tags. They add nothing to a score."""
    clauses = [] if namespace is None else [scope_token("namespace", namespace)]
    clauses += [
        scope_token(field, value) for field in ("subject", "session") if (value := getattr(filters, field)) is not None
    ]
    clauses += [scope_token("tag", tag) for tag in filters.tags]
    if filters.kinds:
        clauses.append(f"({' '.join(scope_token('kind', kind) for kind in filters.kinds)})")
    return " ".join(f"+scope:{clause}^0" for clause in clauses)


def session_clause(sessions: Iterable[str]) -> str:
    """A clause that asks for memories of any of these sessions."""
    return f"+scope:({' '.join(scope_token('session', session) for session in sessions)})^0"


def of_spaces(namespaces: Iterable[str]) -> str:
    """A clause that asks for memories of any of these namespaces."""
    return f"+scope:({' '.join(scope_token('namespace', namespace) for namespace in namespaces)})^0"


def sample_clause(level: int) -> str:
    """A clause that asks for one memory in 2 to the `level`; none where that is every memory."""
    return f"+scope:z{level}^0" if level else ""


def _quoted(term: str) -> str:
    return _SPECIAL.sub(r"\\\1", term)
