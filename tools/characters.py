"""Character forms: traditional and simplified, full and half width, with the way back to the original."""

from __future__ import annotations

import unicodedata

from retrieval.text.tokens import simplified
from retrieval.types import Frozen


class Normalized(Frozen):
    """A text in simplified, half-width characters. `origin[i]` is where `text[i]` stands in `original`."""

    original: str
    text: str
    origin: tuple[int, ...]

    def original_span(self, start: int, stop: int) -> tuple[int, int]:
        """The span of the original that `text[start:stop]` came from."""
        if start >= stop:
            return (self.origin[start], self.origin[start]) if start < len(self.origin) else (len(self.original),) * 2
        return self.origin[start], self.origin[stop - 1] + 1

    def quote(self, start: int, stop: int) -> str:
        """The original characters of `text[start:stop]`."""
        first, last = self.original_span(start, stop)
        return self.original[first:last]


def normalize(text: str) -> Normalized:
    """Simplified, half-width form of a text, every character of it mapped to its origin.

    Each run of Chinese characters is converted as a phrase; where that changes its length, character by character.
    """
    out: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(text):
        folded = unicodedata.normalize("NFKC", char)
        out.append(folded)
        origin.extend([index] * len(folded))
    joined = "".join(out)
    if joined.isascii():
        return Normalized(original=text, text=joined, origin=tuple(origin))
    converted = simplified(joined)
    if len(converted) != len(joined):
        converted = "".join(_single(char) for char in joined)
    return Normalized(original=text, text=converted, origin=tuple(origin))


def _single(char: str) -> str:
    converted = simplified(char)
    return converted if len(converted) == 1 else char
