"""Files of lines that others wrote: the text as it was meant, and what is said of lines that cannot be taken."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Final

from memgraph.errors import ConflictError, InvalidInputError, MemgraphError

__all__ = ["Skip", "judge", "utf8_lines"]

Skip = Callable[[int, str], object]
"""Called with the number of a line that cannot be taken, counted from 1, and why. The reason holds nothing of the line."""

_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # what some shells make of a program's output
_UTF_16_UNMARKED: Final = {b"{\0": "utf-16-le", b"[\0": "utf-16-le", b"\0{": "utf-16-be", b"\0[": "utf-16-be"}
_UTF_32: Final = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_NAMED: Final = 10  # bad lines that a refusal names


def utf8_lines(file: IO[bytes]) -> Iterator[bytes]:
    r"""The lines of JSON text, as UTF-8 that end in `\n`, however it was saved: with a byte order mark, with CRLF, as UTF-16.

    file: open at its beginning. Raises InvalidInputError for what is no UTF-16 although it begins so, and for UTF-32.
    """
    first = file.read(4)
    file.seek(len(_UTF_8_MARK) if first.startswith(_UTF_8_MARK) else 0)
    encoding = _UTF_16.get(first[:2]) or _UTF_16_UNMARKED.get(first[:2])
    if first in _UTF_32 or (encoding is None and first.strip(b" \r\n\t\0") and 0 in first):
        raise InvalidInputError(
            "the file is no UTF-8, but something like UTF-16 or UTF-32", field="path", hint="Save it as UTF-8."
        )
    if encoding is None:
        for line in file:
            yield line[:-2] + b"\n" if line.endswith(b"\r\n") else line
        return
    text = io.TextIOWrapper(file, encoding=encoding)
    try:
        for words in text:
            yield words.encode()
    except UnicodeError:
        raise InvalidInputError(
            "the file begins as UTF-16, and is none further on", field="path", hint="Save it as UTF-8."
        ) from None
    finally:
        text.detach()


def judge(bad: Mapping[int, MemgraphError], good: int, skip: Skip | None) -> None:
    """Tell of each bad line; without anybody to tell, or without a good line beside them, they refuse the whole file.

    Raises InvalidInputError naming the first of them, or ConflictError if nothing is wrong but with what is there already.
    """
    if bad and (skip is None or not good):
        named = "; ".join(f"line {number}: {error}" for number, error in sorted(bad.items())[:_NAMED])
        more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        hint = next(iter(bad.values())).hint
        if all(isinstance(error, ConflictError) for error in bad.values()):
            raise ConflictError(f"{named}{more}; nothing was imported", hint=hint)
        raise InvalidInputError(f"{named}{more}", field="path", hint=hint)
    for number, error in sorted(bad.items()):
        if skip is not None:
            skip(number, str(error))
