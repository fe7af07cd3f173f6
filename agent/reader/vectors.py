"""What the reader knows of words: short vectors (projected e5) and how rare they are in its training paragraphs.

Vectors of known words come from a table; those of other words are computed by e5 when they are met, and kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from agent.reader.tokens import Language
from retrieval.embedders.base import TextEmbedder

Floats = NDArray[np.float32]
DIMENSIONS = 24


class WordKnowledge:
    """The table of one language. Not safe to change from several threads at once; each reader has its own."""

    def __init__(self, stored: dict[str, np.ndarray], embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self._mean: Floats = stored["mean"].astype(np.float32)
        self._projection: Floats = stored["projection"].astype(np.float32)
        scale = stored["scale"].astype(np.float32)
        rows = stored["vectors"].astype(np.float32) * scale
        self._vectors: dict[str, Floats] = dict(zip(stored["words"].tolist(), rows, strict=True))
        total = int(stored["paragraphs"])
        counts = zip(stored["keys"].tolist(), stored["counts"].tolist(), strict=True)
        self.rarity: dict[str, float] = {key: math.log((total + 1) / (count + 0.5)) for key, count in counts}
        self.unseen = math.log((total + 1) / 0.5)

    def vectors(self, words: Sequence[str]) -> Floats:
        """One row a word."""
        unknown = sorted({word for word in words if word not in self._vectors})
        if unknown:
            rows = (self._embedder.passages(unknown) - self._mean) @ self._projection
            self._vectors.update(zip(unknown, rows, strict=True))
        if not words:
            return np.zeros((0, DIMENSIONS), np.float32)
        return np.stack([self._vectors[word] for word in words])


@lru_cache(maxsize=2)
def stored_words(language: Language) -> dict[str, np.ndarray]:
    """The word table that ships for a language."""
    with resources.files("agent.reader.models").joinpath(f"{language}-words.npz").open("rb") as file:
        return dict(np.load(file, allow_pickle=False))
