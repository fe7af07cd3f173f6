"""What the reader knows of words: short vectors (projected e5) and how rare they are in its training paragraphs.

Vectors of known words come from a table; those of other words are computed by e5 when they are met, and kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import TextEmbedder

Floats = NDArray[np.float32]
DIMENSIONS = 24
_REMEMBERED = 50_000
_LONGEST = 64
"""Letters of a word that are looked at; what is longer is no word, and costs as much as a page."""


class WordKnowledge:
    """The table of one language. Not safe to change from several threads at once; each reader has its own."""

    def __init__(self, stored: dict[str, np.ndarray], embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self._mean: Floats = stored["mean"].astype(np.float32)
        self._projection: Floats = stored["projection"].astype(np.float32)
        scale = stored["scale"].astype(np.float32)
        rows = stored["vectors"].astype(np.float32) * scale
        self._vectors: dict[str, Floats] = dict(zip(stored["words"].tolist(), rows, strict=True))
        self._met: dict[str, Floats] = {}
        self.rarity, self.unseen = rarities(stored)

    def vectors(self, words: Sequence[str]) -> Floats:
        """One row a word."""
        if not words:
            return np.zeros((0, DIMENSIONS), np.float32)
        if len(self._met) > _REMEMBERED:
            self._met.clear()
        unknown = sorted({word for word in words if word not in self._vectors and word not in self._met})
        if unknown:
            rows = (self._embedder.passages([word[:_LONGEST] for word in unknown]) - self._mean) @ self._projection
            self._met.update(zip(unknown, rows, strict=True))
        return np.stack([self._met[word] if word in self._met else self._vectors[word] for word in words])


def rarities(stored: dict[str, np.ndarray]) -> tuple[dict[str, float], float]:
    """How rare each key of a table is in the training paragraphs, and how rare those are that it lacks."""
    total = int(stored["paragraphs"])
    counts = zip(stored["keys"].tolist(), stored["counts"].tolist(), strict=True)
    return {key: math.log((total + 1) / (count + 0.5)) for key, count in counts}, math.log((total + 1) / 0.5)
