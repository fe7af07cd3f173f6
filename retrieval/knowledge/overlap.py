"""Which snippets share pairs of Chinese characters, or words, with a question.

An inverted index over pairs of neighbouring characters and stems of other words, in three arrays: a pair, where its
snippets begin, and the snippets. It is worked out with numpy over all texts at once: 100,000 texts take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.knowledge.characters import HAN
from retrieval.text.tokens import ENGLISH_STOP_WORDS, stem

Floats = NDArray[np.float32]
_BITS = 21
"""Of a character; and of the number of a snippet."""
_WORD = re.compile(rf"[^\W_{HAN}]{{2,}}")
_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3134F))
_CHINESE = re.compile(f"[{HAN}]")
MOST_SNIPPETS = 1 << _BITS


class Overlaps(NamedTuple):
    """By snippet: the share of a question's units that it has, weighed by their rarity, and how many of the `asked`."""

    shares: Floats
    counts: NDArray[np.int32]
    asked: int


class OverlapIndex:
    """Weighs what texts share with a question by how rare it is in them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = len(texts)
        self._stems: dict[str, int] = {}
        postings = _distinct(np.concatenate([self._word_postings(texts), _pair_postings(texts)]))
        units = postings >> np.uint64(_BITS)
        self._starts = np.flatnonzero(np.diff(units, prepend=np.uint64(0), append=np.uint64(1 << 63)))
        self._starts = self._starts if len(units) else np.zeros(1, np.intp)
        self._units = units[self._starts[:-1]]
        self._snippets = (postings & np.uint64(MOST_SNIPPETS - 1)).astype(np.int32)

    def units(self, text: str, *, leave_out: Set[str] = frozenset()) -> set[int]:
        """The pairs and words of a folded text, without the pairs that have a character of `leave_out`.

        Words that no snippet has are negative, and told apart from each other.
        """
        codes = [ord(character) for character in text]
        pairs = {
            (first << _BITS) | second
            for first, second, at in zip(codes, codes[1:], range(len(codes)), strict=False)
            if _CHINESE.match(text[at]) and _CHINESE.match(text[at + 1]) and leave_out.isdisjoint(text[at : at + 2])
        }
        words = {stem(word) for word in _WORD.findall(text) if word not in ENGLISH_STOP_WORDS}
        return pairs | {self._word_code(self._stems.get(word, -1 - n)) for n, word in enumerate(sorted(words))}

    def overlaps(self, weights: Mapping[int, float]) -> Overlaps:
        """What each snippet has of weighted units, each one weighed by its rarity, too."""
        scores = np.zeros(self._texts, np.float32)
        counts = np.zeros(self._texts, np.int32)
        whole = 0.0
        for unit, weight in weights.items():
            found = self._holders(unit)
            value = weight * float(np.log1p(self._texts / max(len(found), 1)))
            whole += value
            scores[found] += np.float32(value)
            counts[found] += 1
        return Overlaps(np.minimum(scores / np.float32(whole or 1.0), 1.0), counts, len(weights))

    def holders(self, text: str) -> int:
        """How many snippets can have a folded text: as many as have the rarest of its units."""
        return min((len(self._holders(unit)) for unit in self.units(text)), default=0)

    def _holders(self, unit: int) -> NDArray[np.int32]:
        if unit < 0:
            return self._snippets[:0]
        at = int(np.searchsorted(self._units, np.uint64(unit)))
        if at == len(self._units) or int(self._units[at]) != unit:
            return self._snippets[:0]
        return self._snippets[self._starts[at] : self._starts[at + 1]]

    def _word_code(self, number: int) -> int:
        return number if number < 0 else (1 << (2 * _BITS)) | number

    def _word_postings(self, texts: Sequence[str]) -> NDArray[np.uint64]:
        """unit << 21 | snippet of every word that is not Chinese."""
        found: list[int] = []
        stems: dict[str, int | None] = {}
        for number, text in enumerate(texts):
            for word in set(_WORD.findall(text)):
                if word not in stems:
                    stems[word] = (
                        None if word in ENGLISH_STOP_WORDS else self._stems.setdefault(stem(word), len(self._stems))
                    )
                if (code := stems[word]) is not None:
                    found.append((self._word_code(code) << _BITS) | number)
        return np.asarray(found, np.uint64)


def _distinct(postings: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each value once, ascending. `np.unique` hashes in newer numpy, which takes five times as long here."""
    postings.sort()
    first = np.ones(len(postings), bool)
    np.not_equal(postings[1:], postings[:-1], out=first[1:])
    return postings[first]


def _pair_postings(texts: Iterable[str]) -> NDArray[np.uint64]:
    """unit << 21 | snippet of every pair of Chinese characters that stand together."""
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le"), np.uint32)
    if len(codes) < 2:
        return np.zeros(0, np.uint64)
    chinese = np.zeros(len(codes), bool)
    for first, last in _RANGES:
        chinese |= (codes >= first) & (codes <= last)
    at = np.flatnonzero(chinese[:-1] & chinese[1:])
    snippet = np.cumsum(codes == ord("\n"), dtype=np.uint64)[at]
    left, right = codes[at].astype(np.uint64), codes[at + 1].astype(np.uint64)
    return (left << np.uint64(2 * _BITS)) | (right << np.uint64(_BITS)) | snippet
