"""Every error that memgraph raises, in one tree.

::

    MemgraphError
     +-- InvalidInputError (ValueError)       a value was refused at the door; `.field` names it
     +-- NotFoundError (LookupError)          no such memory, key or change-set in this namespace
     +-- ConflictError                        the id, the version or the plan no longer fits what is stored
     +-- ClockDriftError                      the clock runs too far ahead to stamp a version
     +-- UnavailableError (ConnectionError)   a store cannot be reached now; retryable
     +-- AuthError                            wrong or expired credentials; tried once
     +-- StoreCorruptError                    the file is damaged or is no store of ours
     +-- StoreVersionError                    the file was written by a newer memgraph
     +-- StoreLockedError (TimeoutError)      another process held the file's write lock too long; retryable
     +-- StoreFullError (OSError)             no room on the device; nothing was written; retryable
     +-- ReadOnlyError                        the file or its folder cannot be written
     +-- LegalHoldError                       a legal hold forbids this removal
     +-- PurgedError                          the id was purged and cannot be used again
     +-- ClosedError                          the store was closed
     +-- UnsupportedError                     this store or build cannot do that

Messages say what to do next and never hold what a memory says.
"""

from __future__ import annotations

__all__ = [
    "AuthError",
    "ClockDriftError",
    "ClosedError",
    "ConflictError",
    "InvalidInputError",
    "LegalHoldError",
    "MemgraphError",
    "NotFoundError",
    "PurgedError",
    "ReadOnlyError",
    "StoreCorruptError",
    "StoreFullError",
    "StoreLockedError",
    "StoreVersionError",
    "UnavailableError",
    "UnsupportedError",
]


class MemgraphError(Exception):
    """Base of all errors of this package.

    `retryable` says whether the same call may succeed later without a change by the caller.
    `hint` is what to do next, in one sentence, or empty where the message says it already.
    """

    retryable: bool = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InvalidInputError(MemgraphError, ValueError):
    """A value was refused before anything was written; `field` is the argument's name."""

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message, hint=hint)
        self.field = field


class NotFoundError(MemgraphError, LookupError):
    """There is no such memory, key or change-set in this namespace."""


class ConflictError(MemgraphError):
    """What is stored no longer fits the call: an id with other content, another version, a stale plan."""


class ClockDriftError(MemgraphError):
    """The version clock runs further ahead of the wall clock than `max_clock_drift` allows."""


class UnavailableError(MemgraphError, ConnectionError):
    """A store cannot be reached now."""

    retryable = True


class AuthError(MemgraphError):
    """The primary refused the credentials."""


class StoreCorruptError(MemgraphError):
    """The store's file is damaged, or is not a memgraph store."""


class StoreVersionError(MemgraphError):
    """The store's file was written by a newer memgraph; it was left untouched."""


class StoreLockedError(MemgraphError, TimeoutError):
    """Another process held the write lock longer than `lock_timeout`; nothing was written."""

    retryable = True


class StoreFullError(MemgraphError, OSError):
    """There is no room left on the device; nothing was written and reads go on."""

    retryable = True


class ReadOnlyError(MemgraphError):
    """The store is open for reading only."""


class LegalHoldError(MemgraphError):
    """A legal hold forbids removing one of the memories."""


class PurgedError(MemgraphError):
    """The id was purged; it is dead for good."""


class ClosedError(MemgraphError):
    """The store was closed; open it again."""


class UnsupportedError(MemgraphError):
    """This store, or this build, cannot do that."""
