"""Paragraphs as the reader sees them: tokens with classes, in sentences. English by rules, Chinese by jieba."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval.text.tokens import ENGLISH_STOP_WORDS, is_cjk, simplified, stem

if TYPE_CHECKING:
    import jieba.posseg

Language = Literal["english", "chinese"]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]

_WORD = re.compile(r"\d+(?:[.,]\d+)*%?|[A-Za-zÀ-ÿ]+(?:['’][a-z]+)?|[^\sA-Za-zÀ-ÿ0-9]")
_SENTENCE = re.compile(r'(?<=[.!?])["”’)\]]?\s+(?=[A-Z"“(\d])')
_CHINESE_SENTENCE = re.compile(r"[^。！？\n]+[。！？\n]*")
_MARKS = ",.()\"“”'-–;:$£%‘’/《》「」『』、，。：；？！（）—…·"
_PREPOSITIONS = (
    "in of by to from at for as with on between during after before into through under about around than since until "
    "over near"
).split()
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million "
    "billion first second third half dozen several".split()
)
_PARTS = "n nr ns nt nz m t v vn a d p c u f r q x eng j l i b s k y".split()
_CHINESE_WORDS = "的了是在和与及或之为于由有等"
CHINESE_STOP_WORDS = frozenset("的了是在和与及或之其这那也就都而被把对从到于以为由有中上下等个")
_NAME_PARTS = ("nr", "ns", "nt", "nz")
_YEAR = re.compile(r"1\d\d\d|20\d\d")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one paragraph. `starts` and `stops` are offsets into `text`; `keys` are what is compared."""

    text: str
    language: Language
    words: tuple[str, ...]
    keys: tuple[str, ...]
    starts: Ints
    stops: Ints
    sentence: Ints
    sentences: tuple[str, ...]
    kind: Ints
    stop_word: Flags
    mark: Flags
    number: Flags
    name: Flags


def language_of(text: str) -> Language:
    """Chinese when a fifth of the letters are Han."""
    letters = [c for c in text if c.isalpha()]
    return "chinese" if sum(map(is_cjk, letters)) * 5 > len(letters) else "english"


@lru_cache(maxsize=512)
def tokenise(text: str, language: Language) -> Tokens:
    """The tokens of a paragraph; a paragraph without any has none."""
    found = _english(text) if language == "english" else _chinese(text)
    kind = [_kind(raw, part) for raw, part, *_ in found]
    words = tuple(raw.lower() for raw, *_ in found)
    sentences = _spans(text, language)
    chinese = language == "chinese"
    stops = CHINESE_STOP_WORDS if chinese else ENGLISH_STOP_WORDS
    return Tokens(
        text=text,
        language=language,
        words=words,
        keys=words if chinese else tuple(stem(word) for word in words),
        starts=np.array([start for _, _, start, _, _ in found], np.int32),
        stops=np.array([stop for _, _, _, stop, _ in found], np.int32),
        sentence=np.array([number for *_, number in found], np.int32),
        sentences=tuple(text[a:b].strip() for a, b in sentences),
        kind=np.array(kind, np.int32),
        stop_word=np.array([word in stops for word in words], bool),
        mark=np.array([not raw[0].isalnum() for raw, *_ in found], bool),
        number=np.array([raw[0].isdigit() or part in ("m", "t") for raw, part, *_ in found], bool),
        name=np.array([part in _NAME_PARTS or (not part and raw[0].isupper()) for raw, part, *_ in found], bool),
    )


def _spans(text: str, language: Language) -> list[tuple[int, int]]:
    if language == "chinese":
        return [found.span() for found in _CHINESE_SENTENCE.finditer(text)] or [(0, len(text))]
    cuts = [0, *(found.end() for found in _SENTENCE.finditer(text)), len(text)]
    return list(pairwise(cuts))


def _english(text: str) -> list[tuple[str, str, int, int, int]]:
    return [
        (found.group(), "", *found.span(), number)
        for number, (a, b) in enumerate(_spans(text, "english"))
        for found in _WORD.finditer(text, a, b)
    ]


def _chinese(text: str) -> list[tuple[str, str, int, int, int]]:
    out = []
    for number, (a, b) in enumerate(_spans(text, "chinese")):
        folded = simplified(text[a:b])
        if len(folded) != b - a:  # rare phrases change their length; then offsets would not fit
            folded = text[a:b]
        at = a
        for word, part in cut(folded):
            if word.strip():
                out.append((word, part, at, at + len(word), number))
            at += len(word)
    return out


def cut(text: str) -> Sequence[tuple[str, str]]:
    """Simplified Chinese text as (word, part of speech)."""
    return [(pair.word, pair.flag) for pair in _tagger().cut(text)]


@lru_cache(maxsize=1)
def _tagger() -> jieba.posseg.POSTokenizer:
    import logging

    import jieba
    import jieba.posseg

    jieba.setLogLevel(logging.ERROR)
    return jieba.posseg.dt


def _kind(word: str, part: str) -> int:
    """A class of tokens, as a number without order: marks, function words one by one, word shapes, parts of speech."""
    if not word[0].isalnum():
        return 1 + _MARKS.find(word[0])
    if part:
        if word in _CHINESE_WORDS:
            return 200 + _CHINESE_WORDS.index(word)
        return 150 + (_PARTS.index(part) if part in _PARTS else _PARTS.index(part[0]) if part[0] in _PARTS else 40)
    return _english_kind(word)


def _english_kind(word: str) -> int:
    lower = word.lower()
    if lower in _PREPOSITIONS:
        return 60 + _PREPOSITIONS.index(lower)
    classes = (
        (lower in ("the", "a", "an"), 100),
        (lower in ("is", "was", "are", "were", "be", "been", "being", "has", "have", "had"), 101),
        (lower in ("and", "or"), 102),
        (lower in ("called", "named", "known", "termed"), 103),
        (lower in _MONTHS, 104),
        (lower in _NUMBER_WORDS, 105),
        (_YEAR.fullmatch(word) is not None, 106),
        (word.endswith("%"), 107),
        (word[0].isdigit(), 108),
        (lower in ENGLISH_STOP_WORDS, 109),
        (word[0].isupper(), 110),
        (lower.endswith("ed"), 111),
        (lower.endswith("ing"), 112),
        (lower.endswith("s"), 113),
    )
    return next((number for holds, number in classes if holds), 114)
