"""Text into terms: one tokenizer for what is stored and what is asked, on every engine.

What becomes a term:

* A word of letters and digits, compatibility-composed (NFKC), case-folded, a final 's dropped, English Snowball stem. Words that
  only build questions (about 95) are left out.
* Text written without blanks between words (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese): every two characters that stand
  side by side, so that any part of two or more characters is found, and every single one, which only a query of one finds.
* What is typed as one (`main.py`, `user_id-42`, `C++`, `ada@example.org`, `v1.2.3`, a path): its words, and the whole as it stands.
* An emoji, with its joined parts.

Stop words are kept in a marked form (`'the`), which only a query made of nothing else looks for. A document's length counts its
words and pairs alone; the marked, joined and single forms add nothing to it, so the scores of ordinary text are those of
ordinary BM25. No term holds a blank.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

__all__ = [
    "ASKS",
    "FIRST_PERSON",
    "HAS_TIME",
    "MAX_QUERY_TERMS",
    "MONTHS",
    "TEXT_VERSION",
    "Terms",
    "fold",
    "name_words",
    "query_terms",
    "stem",
    "terms",
]

TEXT_VERSION: Final = 1
"""Moves whenever the same text gives other terms or flags; a store indexed under another number is indexed anew."""

MAX_QUERY_TERMS: Final = 64
"""A query counts with its first so many different terms; the rest of a pasted document adds nothing."""

FIRST_PERSON: Final = 1
HAS_TIME: Final = 2
ASKS: Final = 4


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MONTHS: Final = _words("january february march april may june july august september october november december")
STOP: Final = frozenset(
    _words(
        "a an and are as at be been being but by can could did do does doing for from had has have having he her hers him "
        "his how i if in into is it its itself me my of on or our ours she should so some such than that the their theirs "
        "them then there these they this those to too very was we were what when where which while who whom why will with "
        "would you your yours am not no just about"
    )
)
_FIRST: Final = frozenset(_words("i my me we our us i'm i've i'll i'd we're we've we'll we'd"))
_TIMES: Final = frozenset(
    _words(
        "yesterday today tonight tomorrow ago last next week weekend weekends month months year years monday tuesday "
        "wednesday thursday friday saturday sunday recently since just"
    )
).union(MONTHS)
_SPECIAL: Final = frozenset((*_FIRST, *_TIMES, *(f"{word}'s" for word in _TIMES), *map(str, range(1000, 3000))))
_CONTRACTED: Final = frozenset(("s", "t", "m", "re", "ve", "ll", "d"))

_MAX_TERM: Final = 100
_MEMO: Final = 50_000
_JOINT: Final = r"[-_./\\:@&+#~=*?]"
_WORD: Final = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
_JOINED: Final = re.compile(rf"[a-z0-9]+(?:(?:{_JOINT}|://|::|:\\)[a-z0-9]+)+[+#]*|[a-z0-9]+[+#]+")
_AROUND: Final = ".,;:!?'\"()[]{}<>"
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_PATH: Final = re.compile(r"[/\\:@]+")
_PLAIN: Final = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - ", "\u2026": "..."}
)
_ASKING: Final = ("?", "\u061f")  # folded: the full-width one is "?" by now


_memo: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a document, as often as they occur.

    length: how many of them count for BM25. flags: FIRST_PERSON, HAS_TIME (names a time) and ASKS (ends in a question mark).
    """

    tokens: list[str]
    length: int
    flags: int

    @property
    def counts(self) -> Counter[str]:
        """How often each term occurs."""
        return Counter(self.tokens)


class _Stemmer(threading.local):
    """The Snowball stemmer, one a thread: it is not safe for several."""

    def __init__(self) -> None:
        import snowballstemmer

        self.stem: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord


_stemmer = functools.cache(_Stemmer)


def stem(word: str) -> str:
    """The English stem of a folded word, itself where nothing would be left."""
    return _stemmer().stem(word) or word


def _term(word: str) -> str:
    """The term of a folded word: its stem, or a stop word in its marked form."""
    found = _memo.get(word)
    if found is None:
        bare = word.removesuffix("'s")
        found = "'" + bare if bare in STOP else stem(bare[:_MAX_TERM])
        if len(_memo) >= _MEMO:
            _memo.clear()
        _memo[word] = found
    return found


def fold(text: str) -> str:
    """Text in the form in which it is compared: compatibility-composed, case-folded, with plain quotes and dashes."""
    if text.isascii():
        return text.lower()
    text = text.translate(_PLAIN)
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.replace("i\u0307", "i")  # what the Turkish capital I with a dot folds to


@functools.cache
def _patterns() -> tuple[Any, Any, Any]:
    """Words, parts of words, and emoji, for text beyond ASCII. Here, because `regex` takes long to import."""
    import regex

    unspaced = (
        r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3005-\u3007\u30fc"
    )
    emoji = (
        r"(?:\p{Regional_Indicator}{2}|\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?"
        r"(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)*)"
    )
    return (
        regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:'[\p{L}\p{N}\p{M}]+)?"),
        regex.compile(rf"(?P<run>[{unspaced}][{unspaced}\p{{M}}]*)|[^{unspaced}]+"),
        regex.compile(emoji),
    )


def _split(text: str) -> tuple[list[str], list[str], list[str]]:
    """Words and runs of unspaced script of folded text, and beside them what adds nothing to its length.

    That is: what was typed as one, its pieces that are still joined, the halves of words like O'Brien, and emoji.
    """
    words: list[str] = []
    runs: list[str] = []
    beside: list[str] = []
    if not text.isascii():
        word, parts, emoji = _patterns()
        for found in word.findall(text):
            if found.isascii():
                words.append(found)
                continue
            for part in parts.finditer(found):
                (runs if part["run"] else words).append(part[0].strip("'"))
        beside += [found.replace("\ufe0f", "") for found in emoji.findall(text)]
        text = _BEYOND_ASCII.sub(" ", text)
        odd = [chunk for chunk in text.split() if not chunk.isalnum()]
    else:
        odd = []
        for chunk in text.split():
            if chunk.isalnum():
                words.append(chunk)
            else:
                words += _WORD.findall(chunk)
                odd.append(chunk)
    for chunk in odd:
        bare = chunk.strip(_AROUND)
        if bare.isalnum():
            continue
        for joined in _JOINED.findall(bare):
            beside.append(joined[:_MAX_TERM])
            if _PATH.search(joined):
                beside += [piece[:_MAX_TERM] for piece in _PATH.split(joined) if _JOINED.fullmatch(piece)]
        if "'" in bare:
            for word in _WORD.findall(bare):
                head, apostrophe, tail = word.partition("'")
                if apostrophe and tail not in _CONTRACTED:
                    beside += [_term(head), _term(tail)]
    return words, runs, beside


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _flags(content: str, words: list[str]) -> int:
    flags = ASKS if content.rstrip().endswith(_ASKING) else 0
    special = _SPECIAL.intersection(words)
    if special:
        if not special.isdisjoint(_FIRST):
            flags |= FIRST_PERSON
        if not special <= _FIRST:
            flags |= HAS_TIME
    return flags


def terms(
    content: str,
    *,
    key: str | None = None,
    tags: Iterable[str] = (),
    aliases: Iterable[str] = (),
    actor: str | None = None,
    when: datetime | None = None,
) -> Terms:
    """The terms of a memory: of its content, key, tags, aliases and actor, and of the month and year of `when`.

    when: valid_from, or else recorded_at.
    """
    folded = fold(content)
    words, runs, beside = _split(folded)
    flags = _flags(folded, words)
    labels = "\n".join([text for text in (key, actor, *tags, *aliases) if text])
    if labels:
        for mine, more in zip((words, runs, beside), _split(fold(labels)), strict=True):
            mine += more
    if when is not None:
        words += (MONTHS[when.month - 1], str(when.year))
    tokens = [_memo.get(word) or _term(word) for word in words]
    length = len(tokens) - sum([token[0] == "'" for token in tokens])
    for run in runs:
        pairs = _pairs(run)
        length += len(pairs)
        tokens += pairs
        tokens += run
    return Terms(tokens + beside, length, flags)


def query_terms(text: str) -> list[str]:
    """The different terms that a query looks for, in its order, at most MAX_QUERY_TERMS.

    A query of stop words alone looks for these; one of punctuation alone for nothing.
    """
    words, runs, beside = _split(fold(text))
    tokens = [_term(word) for word in words]
    asked = [token for token in tokens if token[0] != "'"]
    for run in runs:
        asked += _pairs(run) if len(run) > 1 else [run]
    if not asked:
        asked = tokens
    return list(dict.fromkeys(asked + beside))[:MAX_QUERY_TERMS]


def name_words(text: str) -> tuple[str, ...]:
    """The words of a text in which names are looked up: folded, without 's, unspaced script one character each."""
    words, runs, _ = _split(fold(text))
    return tuple(word.removesuffix("'s") for word in words) + tuple(char for run in runs for char in run)
