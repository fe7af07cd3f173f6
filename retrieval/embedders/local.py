"""Models of page images in this process: batches, lengths and memory, whatever the family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL import Image

from retrieval.embedders.base import EmbedderCard, Matrix
from retrieval.embedders.batches import Batches, TooLarge
from retrieval.embedders.loading import free_memory
from retrieval.errors import InputError


class Encoder(Protocol):
    """A family's model and processor. Its vectors are whole and of any length; padding is left out."""

    dimension: int
    multi: bool
    preprocessing: str

    def page_tokens(self, width: int, height: int) -> int:
        """Roughly how many tokens an image of this size takes; ValueError for a size that the model can't take."""

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        """One matrix an image (RGB), in one batch."""

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix a question, in one batch."""


class LocalPageEmbedder:
    """A PageEmbedder over a family's encoder. Not for several threads at once.

    `dimension` cuts vectors (Matryoshka); they are of length 1 after it.
    """

    def __init__(self, encoder: Encoder, card: EmbedderCard, *, batch_tokens: int) -> None:
        self._encoder: Encoder | None = encoder
        self._card = card
        self._page_batches = Batches(batch_tokens)
        self._query_batches = Batches(batch_tokens)

    @property
    def card(self) -> EmbedderCard:
        """What the vectors depend on."""
        return self._card

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        """One matrix a page, in order; InputError for a page that the model can't take or that the memory can't."""
        encoder = self._open()
        costs = [self._tokens(encoder, image) for image in images]

        def work(batch: list[int]) -> list[Matrix]:
            return [self._finished(matrix) for matrix in encoder.pages([as_rgb(images[item]) for item in batch])]

        try:
            return self._page_batches.run(costs, work)
        except TooLarge as error:
            image = images[error.item]
            raise InputError(
                f"the memory doesn't suffice for one page of {image.width} by {image.height} pixels",
                remedy="lower max_pixels of the embedder, or take a smaller model or dtype",
            ) from error

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix a question, in order; InputError for one that the memory can't take."""
        encoder = self._open()
        costs = [len(text) + _PROMPT for text in texts]

        def work(batch: list[int]) -> list[Matrix]:
            return [self._finished(matrix) for matrix in encoder.queries([texts[item] for item in batch])]

        try:
            return self._query_batches.run(costs, work)
        except TooLarge as error:
            raise InputError(
                f"the memory doesn't suffice for one question of {len(texts[error.item])} characters",
                remedy="ask a shorter one, or take a smaller model or dtype",
            ) from error

    def close(self) -> None:
        """Give the memory back; the embedder can't be used afterwards."""
        if self._encoder is not None:
            self._encoder = None
            free_memory()

    def _open(self) -> Encoder:
        if self._encoder is None:
            raise RuntimeError("the embedder is closed")
        return self._encoder

    def _tokens(self, encoder: Encoder, image: Image.Image) -> int:
        try:
            return encoder.page_tokens(image.width, image.height) + _PROMPT
        except ValueError as error:
            raise InputError(
                f"{self._card.model} can't take a page of {image.width} by {image.height} pixels: {error}",
                remedy="cut it into pieces",
            ) from error

    def _finished(self, vectors: Matrix) -> Matrix:
        """The vectors cut to the card's dimension, each of length 1; InputError when one has no direction."""
        cut = np.ascontiguousarray(vectors[:, : self._card.dimension], np.float32)
        lengths = np.linalg.norm(cut, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise InputError(
                f"{self._card.model} gave vectors that are no numbers (NaN, infinite) or of length 0",
                remedy="set dtype to bfloat16 or float32, and check the checkpoint's weights",
            )
        result: Matrix = cut / lengths
        return result


_PROMPT = 24
"""Tokens of the prompt around a picture or a question, roughly."""


def as_rgb(image: Image.Image) -> Image.Image:
    """The image in RGB; what is transparent becomes white, as paper is."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        return Image.alpha_composite(white, clear).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")
