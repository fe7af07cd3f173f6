"""What an embedder must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


class TextEmbedder(Protocol):
    """Maps texts to unit vectors whose dot product is their similarity."""

    @property
    def name(self) -> str:
        """Model name and version: vectors of different names are never compared."""

    def queries(self, texts: Sequence[str]) -> Matrix:
        """One row a query, each of length 1."""

    def passages(self, texts: Sequence[str]) -> Matrix:
        """One row a passage, each of length 1."""
