"""Which store a call touches, and how: an argument, then a MEMGRAPH_* variable, then memgraph.toml, then the default.

`memgraph.toml` is read from the working folder, then from the user's configuration folder; each value is taken from
the first place that has it. A relative store path in a file is relative to that file. A variable or a value that is set
but empty is refused, not passed over: an unset shell variable must not send a tenant's memories to another's namespace.

`NEO4J_USERNAME`, `NEO4J_PASSWORD` and `NEO4J_DATABASE` fill in credentials; `NEO4J_URI` is never followed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from memgraph import checks
from memgraph.errors import InvalidInputError

__all__ = ["FILE_NAME", "NAMES", "Secret", "Settings", "default_store", "resolve"]

FILE_NAME: Final = "memgraph.toml"
_PREFIX: Final = "MEMGRAPH_"
_CREDENTIALS: Final = {
    "neo4j_username": "NEO4J_USERNAME",
    "neo4j_password": "NEO4J_PASSWORD",
    "neo4j_database": "NEO4J_DATABASE",
}


class Secret:
    """A text that is shown only to who asks for it by name."""

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """The text."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret('**********')"


def _text(value: Any, field: str) -> str:
    return checks.text(value, field)


def _secret(value: Any, field: str) -> Secret:
    return value if isinstance(value, Secret) else Secret(checks.text(value, field))


def _address(value: Any, field: str) -> str:
    """The address of a primary, without credentials: those would be seen in process lists, logs and this very message."""
    text = checks.text(value, field)
    try:
        parts = urlsplit(text)
        secret = parts.username is not None or parts.password is not None
    except ValueError:
        raise InvalidInputError("is no address", field=field, hint="Write it as neo4j://host:7687.") from None
    if secret:
        raise InvalidInputError(
            "must not hold a user or a password", field=field, hint="Give them in NEO4J_USERNAME and NEO4J_PASSWORD."
        )
    return text


def _store(value: Any, field: str) -> str:
    return _address(value, field) if isinstance(value, str) and "://" in value else _text(value, field)


def _primary(value: Any, field: str) -> Secret:
    if isinstance(value, str) and value and "://" not in value:
        raise InvalidInputError("must be an address", field=field, hint="Write it as neo4j://host:7687.")
    return Secret(_address(value, field))


def _one_of(*allowed: str) -> Callable[[Any, str], str]:
    def form(value: Any, field: str) -> str:
        if value not in allowed:
            raise InvalidInputError(f"must be one of {', '.join(map(repr, allowed))}", field=field)
        return str(value)

    return form


def _seconds(value: Any, field: str) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise InvalidInputError("must be a number of seconds", field=field) from None
    return checks.fraction(value, field, 0.0, 1e9)


_FORMS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "store": _store,
    "namespace": checks.namespace,
    "durability": _one_of("full", "normal"),
    "lock_timeout": _seconds,
    "max_clock_drift": _seconds,
    "primary": _primary,
    "mode": _one_of("failover", "merge", "local_first"),
    "write_concern": _one_of("local", "primary"),
    "neo4j_username": _text,
    "neo4j_password": _secret,
    "neo4j_database": _text,
}
NAMES: Final = tuple(_FORMS)
"""The names of the settings."""


@dataclass(frozen=True)
class Settings:
    """What to open and how.

    store: a path, ":memory:", or the address of a primary. namespace: its segments joined by "/".
    durability: "full" syncs every commit; "normal" may lose the last moments to a power cut, never to a crash.
    lock_timeout: seconds to wait for another process's write lock.
    max_clock_drift: seconds that the version clock may run ahead of this machine's.
    mode, write_concern: how a file and a primary over it answer reads, and when a write returns; as for `Memory.open`.
    primary: the address of the durable primary, if there is one. neo4j_*: its credentials; a password is never printed.
    origins: where the values that were set came from, by name.
    """

    store: str = field(default_factory=lambda: default_store())
    namespace: str = "default"
    durability: str = "full"
    lock_timeout: float = 10.0
    max_clock_drift: float = 300.0
    primary: Secret | None = None
    mode: str = "failover"
    write_concern: str = "local"
    neo4j_username: str | None = None
    neo4j_password: Secret | None = None
    neo4j_database: str | None = None
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def arguments(self) -> dict[str, Any]:
        """The arguments for `Memory.open`. A namespace that nobody named stays None, so that all can be reached.

        Raises InvalidInputError where a file in the working folder names an address that credentials of the environment,
        meant for another, would be sent to.
        """
        address = "store" if "://" in self.store else "primary" if self.primary is not None else None
        found: dict[str, Any] = {
            "path": self.store,
            "namespace": None if self.origin("namespace") == "default" else self.namespace,
            "durability": self.durability,
            "lock_timeout": self.lock_timeout,
            "max_clock_drift": self.max_clock_drift,
        }
        if address is None:
            return found
        if self.origin(address).endswith(FILE_NAME) and self.origin("neo4j_password") == "NEO4J_PASSWORD":
            raise InvalidInputError(
                f"NEO4J_PASSWORD is not sent to an address that {self.origin(address)} names",
                field=address,
                hint="Name the address with MEMGRAPH_PRIMARY, or the password with MEMGRAPH_NEO4J_PASSWORD.",
            )
        if self.primary is not None:
            found["primary"] = self.primary.get_secret_value()
            if self.origin("store") == "default":
                found["path"] = None
            else:
                found |= {"mode": self.mode, "write_concern": self.write_concern}
        if self.neo4j_password is not None:
            found["auth"] = (self.neo4j_username or "neo4j", self.neo4j_password.get_secret_value())
        return found | {"database": self.neo4j_database}

    @property
    def where(self) -> str:
        """Which store a call touches: a file, an address with its database, or both."""
        address = self.primary.get_secret_value() if self.primary is not None else ""
        if "://" in self.store:
            address = address or self.store
        if address and self.neo4j_database:
            address = f"{address.rstrip('/')}/{self.neo4j_database}"
        if address and (self.origin("store") == "default" or "://" in self.store):
            return address
        return f"{self.store} with {address}" if address else self.store

    def origin(self, name: str) -> str:
        """Where a value came from: "argument", a variable's name, a file's path, or "default"."""
        if name not in _FORMS:
            raise InvalidInputError(f"there is no setting {name!r}", field="name")
        return self.origins.get(name, "default")


def default_store() -> str:
    """The path of the store that is used when nothing names another: in the platform's folder for user data."""
    from platformdirs import user_data_path

    return str(user_data_path("memgraph", appauthor=False) / "memory.db")


def resolve(
    store: str | os.PathLike[str] | None = None,
    namespace: str | Sequence[str] | None = None,
    *,
    primary: str | None = None,
    durability: str | None = None,
    lock_timeout: float | None = None,
    max_clock_drift: float | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings that are in force. What is None was not given as an argument.

    environ: the variables, by default those of the process.
    folder: where to look for memgraph.toml first, by default the working folder.
    Raises InvalidInputError for a value that cannot be used and for a name in a file that is no setting; it names the
    setting and where it was set.
    """
    given = {
        "store": None if store is None else os.fspath(store),
        "namespace": namespace,
        "primary": primary,
        "durability": durability,
        "lock_timeout": lock_timeout,
        "max_clock_drift": max_clock_drift,
    }
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, name, value in _layers(given, os.environ if environ is None else environ, folder or Path.cwd()):
        if name not in values:
            values[name], origins[name] = value, origin
    for name, value in values.items():
        if value == "":
            raise InvalidInputError(
                f"is set but empty ({origins[name]})", field=name, hint="Unset it or give it a value."
            )
        try:
            values[name] = _FORMS[name](value, name)
        except InvalidInputError as error:
            message = str(error).removeprefix(f"{name}: ")
            raise InvalidInputError(f"{message} ({origins[name]})", field=name, hint=error.hint) from None
    return Settings(**values, origins=origins)


def _layers(given: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Every value that was set anywhere, as (origin, name, value), the strongest first."""
    for name, value in given.items():
        if value is not None:
            yield "argument", name, _at(value, Path()) if name == "store" else value
    for name in _FORMS:
        value = environ.get(_PREFIX + name.upper())
        if value is not None:
            yield _PREFIX + name.upper(), name, _at(value, Path()) if name == "store" else value
    for path in _files(folder):
        for name, value in _read(path).items():
            if name not in _FORMS:
                raise InvalidInputError(f"is no setting of memgraph ({path})", field=name)
            yield str(path), name, _at(value, path.parent) if name == "store" else value
    for name, variable in _CREDENTIALS.items():
        if environ.get(variable):
            yield variable, name, environ[variable]


def _files(folder: Path) -> Iterator[Path]:
    from platformdirs import user_config_path

    for place in (folder, user_config_path("memgraph", appauthor=False)):
        if (place / FILE_NAME).is_file():
            yield place / FILE_NAME


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InvalidInputError(f"{path} is not valid TOML", field=FILE_NAME) from None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}", field=FILE_NAME) from None


def _at(store: Any, folder: Path) -> Any:
    """A store's path with `~` opened and a relative one placed in `folder`; an address or ":memory:" as it is."""
    if not isinstance(store, str) or not store or store == ":memory:" or "://" in store:
        return store
    return str(folder / Path(store).expanduser())
