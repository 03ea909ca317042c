"""Files that are put in their place whole: the move itself, and what to say where it fails."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Final

from memgraph.errors import InvalidInputError, MemgraphError, ReadOnlyError, StoreFullError

__all__ = ["file_error", "put_in_place"]

_REPLACE_TRIES: Final = 3  # on some systems a scanner or an indexer may hold the old file open for a moment
_REPLACE_WAIT: Final = 0.05  # seconds


def put_in_place(source: Path, target: Path) -> None:
    """Move a file that is written and synced over its place, durably. Raises OSError."""
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


def file_error(error: OSError, target: Path) -> MemgraphError:
    """The error of ours that says what to do about a file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreFullError(f"there is no room for {target}", hint="Free some space, or choose another folder.")
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return ReadOnlyError(f"{target} cannot be written", hint="Choose another folder, or close what holds it open.")
    return InvalidInputError(f"{target}: {error.strerror or type(error).__name__}", field="path")
