"""Files that are written for a user: where one may be, how it comes to its place whole, and what to say where that fails."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from memgraph.errors import ConflictError, InvalidInputError, MemgraphError, ReadOnlyError, StoreFullError

__all__ = ["is_special", "replacing", "require_apart", "require_free", "require_place", "require_rereadable", "writing"]

_REPLACE_TRIES: Final = 3  # on some systems a scanner or an indexer may hold the old file open for a moment
_REPLACE_WAIT: Final = 0.05  # seconds
_NAMES: Final = ("", "-wal", "-shm", "-journal", "-purge-key")  # of a store's own files, behind its name
_KEPT: Final = (".before-restore-", ".damaged-")  # of the copies that a restore or a repair leaves beside it


def require_apart(path: Path, store: Path) -> None:
    """Raise InvalidInputError for a file that is a store's, or a copy kept beside it, by whatever name or link."""
    store, target = store.expanduser(), os.path.realpath(path)
    for own in {store, Path(os.path.realpath(store))}:  # a store that is a link has files beside both
        beside = (
            each
            for each in own.parent.glob(f"{glob.escape(own.name)}*")
            if each.name[len(own.name) :] in _NAMES or each.name[len(own.name) :].startswith(_KEPT)
        )
        named = target in {os.path.realpath(f"{own}{name}") for name in _NAMES}
        if named or (path.exists() and any(map(path.samefile, beside))):
            raise InvalidInputError("is a file of the store itself", field="path", hint="Name another file.")


def require_free(path: Path, force: bool) -> None:
    """Raise ConflictError if there is a file already and nobody said that it may be replaced, InvalidInputError for a folder.

    A pipe or a terminal is free: nothing of it is replaced.
    """
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder", field="path", hint="Name a file in it.")
    if not force and (path.is_file() or path.is_block_device()):
        raise ConflictError(f"nothing was written: {path} is there already", hint="Choose another name, or force it.")


def require_place(path: Path) -> None:
    """Raise what `writing` would raise where no file can be made, or the one that is there cannot be written."""
    folder = Path(os.path.realpath(path)).parent
    with _explained(path):
        if not is_special(path):
            tempfile.TemporaryFile(dir=folder).close()
        elif not os.access(path, os.W_OK):
            raise PermissionError


def is_special(path: Path) -> bool:
    """Whether a pipe, a device or the like is there: these are written to, never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def require_rereadable(path: Path) -> None:
    """Raise InvalidInputError for what can be read only once, such as a pipe."""
    if is_special(path):
        raise InvalidInputError(
            f"{path} is a pipe or a device", field="path", hint="Save it as a file: it is read twice."
        )


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written, which is there whole or not at all, readable by its owner only; what is there is replaced.

    Through a link it goes to what that names, and into a pipe or a device. Raises InvalidInputError, ReadOnlyError where it may
    not be written, StoreFullError without room.
    """
    if is_special(path):
        with _explained(path), path.open("wb") as file:
            yield file
    else:
        with replacing(path) as beside, beside.open("wb") as file:
            yield file


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside a place, for who needs its name to write it; then it is synced and moved there. Raises as `writing`."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.tmp")
    with _explained(path):
        try:
            os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            yield beside
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            _put_in_place(beside, target)
        finally:
            beside.unlink(missing_ok=True)


def _put_in_place(source: Path, target: Path) -> None:
    """Move a file that is written and synced over its place, durably."""
    for left in reversed(range(_REPLACE_TRIES)):
        try:
            source.replace(target)
            break
        except PermissionError:
            if not left:
                raise
            time.sleep(_REPLACE_WAIT)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what to do about a file that could not be written, with an error of ours."""
    try:
        yield
    except MemgraphError:  # some of ours are OSErrors too
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            hint = "Free some space, or choose another folder."
            raise StoreFullError(f"there is no room for {path}", hint=hint) from error
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            hint = "Choose another folder, or close what holds it open."
            raise ReadOnlyError(f"{path} cannot be written", hint=hint) from error
        raise InvalidInputError(f"{path}: {error.strerror or type(error).__name__}", field="path") from error
