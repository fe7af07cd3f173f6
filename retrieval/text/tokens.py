"""Terms that text is indexed and searched by, English and Chinese.

English words are lower-cased and stemmed (Snowball), numbers lose their thousands separators, Han text is folded to
simplified characters (OpenCC) and cut into overlapping pairs of characters and single characters; kana and hangul are
cut the same way. Pairs need no dictionary, so classical text and names come out as well as modern prose.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cached_property

import opencc
import Stemmer

_CJK_RANGES = (
    "\u3040-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    "\uac00-\ud7af"  # hangul
)
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_{_CJK_RANGES}]+|[{_CJK_RANGES}]+")
_CJK = re.compile(f"[{_CJK_RANGES}]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")

ENGLISH_STOP_WORDS = frozenset(
    """
    a an the of in on at to for from by with as is are was were be been being it its this that these those and or but
    what which who whom whose when where why how do does did done has have had can could will would shall should may
    might must not no nor so than then there their they them he she his her i you your we our us me my if into about
    over under between during each any all both more most some such only own same too very s t please according
    answer write
    """.split()
)
CHINESE_STOP_CHARACTERS = frozenset("的了是在和与及或之其这那哪什么谁吗呢啊于为以")


class _Thread(threading.local):
    """What can't be shared between threads."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english")

    @cached_property
    def simplifier(self) -> opencc.OpenCC:
        """Loaded with the first Chinese text."""
        return opencc.OpenCC("t2s")


_THREAD = _Thread()


def is_cjk(character: str) -> bool:
    """True for a Han, kana or hangul character."""
    return bool(_CJK.match(character))


def simplified(text: str) -> str:
    """`text` with traditional characters as simplified ones; other characters stay."""
    return str(_THREAD.simplifier.convert(text)) if _CJK.search(text) else text


def stem(word: str) -> str:
    """The stem of one English word in lower case."""
    return str(_THREAD.stemmer.stemWord(word))


def terms(text: str) -> list[str]:
    """The index terms of `text` in order, stop words left out."""
    folded = text.lower() if text.isascii() else simplified(unicodedata.normalize("NFKC", text)).lower()
    words: list[str] = []
    for word in _WORD.findall(folded):
        first = word[0]
        if first.isdigit():
            words.append(word.replace(",", "") if _THOUSANDS.fullmatch(word) else word)
        elif first > "\u2e7f" and is_cjk(first):
            words.extend(_characters(word))
        elif word not in ENGLISH_STOP_WORDS:
            words.append(word)
    return list(_THREAD.stemmer.stemWords(words))


def _characters(run: str) -> list[str]:
    singles = [c for c in run if c not in CHINESE_STOP_CHARACTERS]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return singles + pairs
