"""English stems: the Snowball English stemmer (Porter 2) as of Snowball 3.1, written for Python.

Source: https://snowballstem.org/algorithms/english/stemmer.html. It is our own so that every machine makes the same terms,
whatever is installed there, and because it is several times faster than the generated one.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["stem"]

_WHOLE: Final = {
    **{word: word for word in ("andes", "atlas", "bias", "cosmos", "howe", "news", "sky")},
    "early": "earli",
    "gently": "gentl",
    "idly": "idl",
    "only": "onli",
    "singly": "singl",
    "skies": "sky",
    "skis": "ski",
    "ugly": "ugli",
}
_CONSONANT_Y: Final = re.compile(r"(^|[aeiouy])y")
_REGION: Final = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_FIRST_REGION: Final = re.compile(
    r"arsen|commun|emerg|gener|inter|later|organ|past|univers|[^aeiouy]*[aeiouy]+[^aeiouy]"
)
_VOWEL: Final = re.compile(r"[aeiouy]")
_SHORT: Final = re.compile(r"(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|past)\Z")
_POSSESSIVE: Final = re.compile(r"'(?:s'?)?\Z")
_DOUBLES: Final = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
_ING_KEPT: Final = frozenset(("inn", "out", "cann", "herr", "earr", "even"))

_STEP_2: Final = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "fulli": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogist": "og",
    "ogi": "og",  # after l
    "lessli": "less",
    "li": "",  # after one of cdeghkmnrt
}
_STEP_3: Final = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",  # in the second region
}
_STEP_4: Final = frozenset(  # ion: after s or t
    (
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
        "ion",
    )
)


def _ending(word: str, endings: dict[str, str] | frozenset[str], longest: int) -> str:
    """The longest of these endings that a word has, or an empty text."""
    for size in range(min(longest, len(word)), 1, -1):
        if word[-size:] in endings:
            return word[-size:]
    return ""


def _step_1a(word: str) -> str:
    if word[-1] != "s" and word[-3:] != "ied":
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not _VOWEL.search(word, 0, len(word) - 2):
        return word
    return word[:-1]


def _step_1b(word: str, r1: int) -> str:
    for ending in ("eedly", "ingly", "edly", "eed", "ing", "ed"):
        if word.endswith(ending):
            break
    else:
        return word
    stump = word[: -len(ending)]
    if ending in ("eed", "eedly"):
        return stump + "ee" if r1 <= len(stump) and stump not in ("succ", "proc", "exc") else word
    if ending == "ing":
        if stump in _ING_KEPT:
            return word
        if len(stump) == 2 and stump[1] == "y" and stump[0] not in "aeiouy":
            return stump[0] + "ie"
    if not _VOWEL.search(stump):
        return word
    if stump.endswith(("at", "bl", "iz")):
        return stump + "e"
    if stump[-2:] in _DOUBLES:
        return stump if len(stump) == 3 and stump[0] in "aeo" else stump[:-1]
    return stump + "e" if len(stump) == r1 and _SHORT.search(stump) else stump


def _steps_2_to_5(word: str, r1: int, r2: int) -> str:
    ending = _ending(word, _STEP_2, 7)
    at = len(word) - len(ending)
    if ending and r1 <= at:
        before = word[at - 1 : at]
        if not (ending == "ogi" and before != "l") and not (ending == "li" and before not in "cdeghkmnrt"):
            word = word[:at] + _STEP_2[ending]
    ending = _ending(word, _STEP_3, 7)
    at = len(word) - len(ending)
    if ending and r1 <= at and (ending != "ative" or r2 <= at):
        word = word[:at] + _STEP_3[ending]
    ending = _ending(word, _STEP_4, 5)
    at = len(word) - len(ending)
    if ending and r2 <= at and (ending != "ion" or word[at - 1 : at] in ("s", "t")):
        word = word[:at]
    at = len(word) - 1
    if word[-1:] == "e":
        if r2 <= at or (r1 <= at and not _SHORT.search(word[:at])):
            word = word[:at]
    elif word[-2:] == "ll" and r2 <= at:
        word = word[:at]
    return word


def stem(word: str) -> str:
    """The stem of a lower-case word. Words that are not English come back almost as they are."""
    if len(word) < 3:
        return word
    known = _WHOLE.get(word)
    if known is not None:
        return known
    word = word.removeprefix("'")
    marked = "y" in word
    if marked:
        word = _CONSONANT_Y.sub(r"\1Y", word)
    r1 = r2 = len(word)
    region = _FIRST_REGION.match(word)
    if region:
        r1 = region.end()
        region = _REGION.match(word, r1)
        if region:
            r2 = region.end()
    if "'" in word:
        word = _POSSESSIVE.sub("", word)
    if not word:
        return word
    word = _step_1b(_step_1a(word), r1)
    if word[-1] in "yY" and len(word) > 2 and word[-2] not in "aeiouy":
        word = word[:-1] + "i"
    if r1 < len(word):
        word = _steps_2_to_5(word, r1, r2)
    return word.replace("Y", "y") if marked else word
