"""Clearing what SQLite leaves behind: the unused middle of a page may hold copies of cells that were moved away.

`secure_delete` overwrites what is deleted, but not what a page keeps of a cell that moved to another page when the tree was
balanced. The unused middle of a b-tree page lies between its cell pointers and its cells; nothing reads it, so it can be
overwritten in place while nobody writes to the file. Format: https://www.sqlite.org/fileformat2.html#b_tree_pages.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["clear"]

_TREE_PAGES: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # page type: size of its header
_AMBIGUOUS: Final = 0x02000000  # from this page number on, an overflow page may begin like a tree page
_CHUNK_PAGES: Final = 1024
_FILES: Final[dict[tuple[int, int], int]] = {}
"""Files opened here, by device and inode. They stay open: closing one would drop the locks that SQLite holds on it."""


def clear(path: Path) -> bool:
    """Overwrite the unused middle of every page. The caller holds the write lock and has emptied the write-ahead log.

    False if the file is too large for its pages to be told apart (128 GiB).
    """
    found = path.stat()
    place = (found.st_dev, found.st_ino)
    if place not in _FILES:
        _FILES[place] = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    file = _FILES[place]
    size = found.st_size
    header = _read(file, 0, 100)
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    usable = page - header[20]
    if size // page >= _AMBIGUOUS:
        return False
    zeros = bytes(page)
    touched = False
    for offset in range(0, size, page * _CHUNK_PAGES):
        data = _read(file, offset, page * _CHUNK_PAGES)
        for base in range(0, len(data) - page + 1, page):
            start = base + (100 if offset + base == 0 else 0)
            size_of_header = _TREE_PAGES.get(data[start])
            if size_of_header is None:
                continue
            cells = data[start + 3] << 8 | data[start + 4]
            content = data[start + 5] << 8 | data[start + 6] or 65536
            low, high = start + size_of_header + 2 * cells, base + content
            if low < high <= base + usable and data[low:high] != zeros[: high - low]:
                os.lseek(file, offset + low, os.SEEK_SET)
                os.write(file, zeros[: high - low])
                touched = True
    if touched:
        os.fsync(file)
    return True


def _read(file: int, offset: int, length: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    parts = []
    while length and (part := os.read(file, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
