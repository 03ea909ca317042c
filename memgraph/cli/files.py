"""Files that commands write: whole or not at all, for their owner's eyes only."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from memgraph.cli.call import RefusedError

__all__ = ["check_free", "write_file"]


def check_free(path: Path, *, force: bool) -> None:
    """Raise RefusedError if there is a file already and nobody said that it may be replaced."""
    if path.exists() and not force:
        raise RefusedError(f"nothing was written: {path} is there already", "Choose another name, or pass --force.")


def require_place(path: Path) -> None:
    """Raise OSError where `write_file` could not write."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder", str(path.parent))
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    os.close(handle)
    Path(name).unlink()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))


def write_file(path: Path, data: bytes) -> None:
    """Write a file beside its place, sync it, and move it there; on any failure nothing is left behind."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
