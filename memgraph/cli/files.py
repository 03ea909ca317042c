"""Files that commands write for the user: what is asked of one before anything is done."""

from __future__ import annotations

from pathlib import Path

import click

from memgraph.cli.call import Call, RefusedError
from memgraph.errors import ConflictError
from memgraph.inplace import require_apart, require_free, require_place, writing

__all__ = ["check_free", "force_option", "write_file"]

force_option = click.option("--force", is_flag=True, help="Replace a file that is there already.")


def check_free(call: Call, path: Path, *, force: bool) -> None:
    """Raise what speaks against a file: RefusedError if it is there and nobody said that it may be replaced.

    InvalidInputError and others if it is one of the store's own, or there is no place for it.
    """
    store = call.settings().arguments()["path"]
    if store is not None:
        require_apart(path, Path(store))
    try:
        require_free(path, force)
    except ConflictError as error:
        raise RefusedError(str(error), "Choose another name, or pass --force.") from None
    require_place(path)


def write_file(path: Path, data: bytes) -> None:
    """Write a file: whole or not at all, for its owner's eyes only."""
    with writing(path) as file:
        file.write(data)
