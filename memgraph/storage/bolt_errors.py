"""What the errors of server and driver mean to us. Their texts may hold values, so only their codes are repeated."""

from __future__ import annotations

from typing import Final

from neo4j.exceptions import (
    AuthError as DriverAuthError,
)
from neo4j.exceptions import (
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    Forbidden,
    IncompleteCommit,
    Neo4jError,
    ResultFailedError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
    UnsupportedServerProduct,
)

from memgraph.errors import (
    AuthError,
    InvalidInputError,
    MemgraphError,
    StoreFullError,
    UnavailableError,
    UnsupportedError,
)

__all__ = ["LOST", "TooLargeError", "is_again", "is_ahead_of_the_server", "is_out_of_memory", "translated"]

LOST: Final = (ServiceUnavailable, SessionExpired, IncompleteCommit)
"""The connection is gone; another may work."""

_AGAIN: Final = frozenset(
    {
        "Neo.ClientError.Statement.EntityNotFound",  # deleted while its lock was waited for
        "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",  # two set the schema up at once; IF NOT EXISTS sees it now
    }
)
_AUTH: Final = (
    "Neo.ClientError.Security.Unauthorized",
    "Neo.ClientError.Security.AuthenticationRateLimit",
    "Neo.ClientError.Security.CredentialsExpired",
    "Neo.ClientError.Security.TokenExpired",
)
_TOO_LARGE: Final = "Neo.TransientError.General.TransactionOutOfMemoryError"  # the limit of a single transaction
_ABSENT: Final = ("Neo.ClientError.Database.DatabaseNotFound",)
_SYSTEM: Final = (
    "Neo.ClientError.Statement.NotSystemDatabaseError",
    "Neo.ClientError.Statement.UnsupportedAdministrationCommand",
)
_ENDED: Final = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    "Neo.ClientError.Transaction.LockClientStopped",
    "Neo.ClientError.General.DatabaseUnavailable",
)


class TooLargeError(StoreFullError):
    """The server has no memory for a transaction of this size: by its limit for one, or as others hold the rest (retryable)."""

    suspect = True  # what was sent may be the reason


class FaultError(UnavailableError):
    """The server failed inside: as a whole, or at just what it was asked to do."""

    suspect = True


def _code(error: BaseException) -> str:
    return getattr(error, "code", None) or ""


def is_again(error: BaseException) -> bool:
    """Whether the server asks to run the same once more, or a transaction failed through an earlier result of its own."""
    if _code(error) == _TOO_LARGE:
        return False
    return isinstance(error, TransientError | ResultFailedError) or _code(error) in _AGAIN


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a transaction reached a memory limit of the server: repeating that helps only where others use it too."""
    return "OutOfMemory" in _code(error)


def is_ahead_of_the_server(error: BaseException) -> bool:
    """Whether what was written here is not there: the server was restored from an older copy."""
    return _code(error) == "Neo.TransientError.Transaction.BookmarkTimeout"


def translated(error: BaseException, where: str, database: str | None) -> MemgraphError:
    """The error of ours that says what to do."""
    code = _code(error)
    if code.endswith("CredentialsExpired"):
        return AuthError(f"the password for {where} has expired", hint="Change it on the server, then try again.")
    if code.endswith("AuthenticationRateLimit"):
        return AuthError(
            f"{where} has locked these credentials after failed attempts", hint="Wait, then try the right ones once."
        )
    if isinstance(error, DriverAuthError) or code in _AUTH:
        return AuthError(f"{where} refused the credentials", hint="Check NEO4J_USERNAME and NEO4J_PASSWORD.")
    if isinstance(error, Forbidden):
        return AuthError(f"{where} does not allow this user to do that ({code})", hint="Ask for the rights.")
    if code in _SYSTEM:
        return InvalidInputError("is the server's own and holds no memories", field="database")
    if code in _ABSENT:
        return InvalidInputError(
            f"{where} has no database {database!r}" if database else f"{where} has no such database", field="database"
        )
    if isinstance(error, UnsupportedServerProduct):
        return UnsupportedError(f"{where} is no Neo4j server that this build can talk to", hint="Update the server.")
    if isinstance(error, ConfigurationError) and "bolt protocol" in str(error).lower():
        return UnsupportedError(
            f"{where} is older than memgraph needs", hint="Update the server to Neo4j 5.26 or newer."
        )
    if isinstance(error, ConfigurationError | ValueError):
        return InvalidInputError("cannot be used to connect", field="primary", hint="Check address and credentials.")
    if is_out_of_memory(error):
        full = TooLargeError(
            f"{where} has not enough memory for a transaction of this size; nothing was written ({code})",
            hint="Use a smaller batch, or raise db.memory.transaction.max and dbms.memory.transaction.total.max there.",
        )
        full.retryable = code != _TOO_LARGE
        return full
    if isinstance(error, TransientError):
        return UnavailableError(f"{where} is busy ({code})", hint="Try again later.")
    if code in _ENDED:
        return UnavailableError(f"{where} ended the transaction ({code})", hint="Try again later, or ask for less.")
    if code.startswith("Neo.DatabaseError"):
        return FaultError(f"{where} failed inside ({code})", hint="Look into the server's log; try again later.")
    if isinstance(error, Neo4jError):
        return MemgraphError(f"{where} refused a statement ({code})", hint="Run `memgraph doctor`.")
    if isinstance(error, (*LOST, ConnectionAcquisitionTimeoutError, OSError)):
        return UnavailableError(f"{where} cannot be reached{_why(error)}", hint="Is the server running?")
    return UnavailableError(
        f"{where} does not speak Bolt, or broke off ({type(error).__name__})", hint="Check the port."
    )


def _why(error: BaseException) -> str:
    causes = "\n".join(_causes(error, 8)).lower()
    if "certificate" in causes or "ssl" in causes:
        return ": no trusted TLS connection"
    if "timed out" in causes:
        return ": no answer in time"
    if "http" in causes or "handshake" in causes or "magic" in causes:
        return ": the port does not speak Bolt"
    if "refused" in causes:
        return ": connection refused"
    if "dns resolve" in causes or "name or service" in causes or "cannot resolve" in causes:
        return ": unknown host"
    return ""


def _causes(error: BaseException, depth: int) -> list[str]:
    """The texts of an error and of those that led to it."""
    further = [*getattr(error, "exceptions", ()), error.__cause__ or error.__context__]
    return [str(error)] + [text for each in further if each and depth for text in _causes(each, depth - 1)]
