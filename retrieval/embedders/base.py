"""What an embedder must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

from retrieval.types import Frozen

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


class EmbedderCard(Frozen):
    """What the vectors of page images depend on: those of different cards are never compared.

    `model` is a folder or hub name, `revision` the commit or a hash of the files, `family` the architecture. `multi`:
    a page has many vectors, compared by MaxSim; else one, compared by dot product. `preprocessing` says the limits of
    pixels, the instruction, and whatever else changes vectors.
    """

    model: str
    revision: str
    family: str
    dimension: int
    multi: bool
    preprocessing: str = ""


class PageEmbedder(Protocol):
    """Maps page images, and questions about them, to vectors in one space. Not for several threads at once."""

    @property
    def card(self) -> EmbedderCard:
        """What the vectors depend on."""

    def pages(self, images: Sequence[Image]) -> list[Matrix]:
        """One matrix a page, in order: a row a vector, each of length 1; one row where the card is not `multi`."""

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix a question, as for pages."""

    def close(self) -> None:
        """Give the memory back; the embedder can't be used afterwards."""
