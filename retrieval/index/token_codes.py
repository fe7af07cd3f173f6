"""How token vectors are kept on disk: half precision, bytes with a scale a vector, or one bit a component."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix

Storage = Literal["fp16", "int8", "binary"]
Codes = NDArray[Any]
Scales = NDArray[np.float16]

_HALF_MASK = np.int32(-0x70000001)
"""Keeps the sign and the 15 bits below it of a half that was sign-extended and shifted (0x8FFFFFFF)."""
_HALF_SHIFT = np.float32(2.0**112)
"""A half's bits in a float's places read as 2^-112 of its value: the exponents' biases are 15 and 127."""
_SMALLEST_HALF = 2.0**-14
_LARGEST_HALF = 65504.0


class TokenCode(Protocol):
    """Turns vectors into codes, and codes into numbers whose products with a prepared query are the similarities.

    Reading is split so that the chunk, which is large, is touched as seldom as possible: `read` copies codes as
    numbers, `prepare` puts constant factors into the query, `finish` corrects the similarities.
    """

    dtype: np.dtype[Any]
    scaled: bool

    def width(self, dimension: int) -> int:
        """Elements of `dtype` that one vector takes."""

    def encode(self, vectors: Matrix) -> tuple[Codes, Scales | None]:
        """Codes, one row a vector, and two numbers a vector where the code is `scaled`."""

    def read(self, codes: Codes, out: Matrix) -> None:
        """Write the codes as numbers into `out`, of shape (vectors, dimension)."""

    def prepare(self, query: Matrix) -> Matrix:
        """The query's vectors as columns, of shape (dimension, vectors)."""

    def finish(self, similarities: Matrix, scales: Scales | None, query: Matrix) -> None:
        """Make (vectors, query vectors) products of what `read` and `prepare` gave the similarities, in place."""

    def decode(self, codes: Codes, scales: Scales | None, dimension: int) -> Matrix:
        """The vectors that the codes stand for."""


class FloatCode:
    """Vectors that are numbers already."""

    dtype: np.dtype[Any] = np.dtype("<f4")
    scaled = False

    def width(self, dimension: int) -> int:
        """One element a component."""
        return dimension

    def encode(self, vectors: Matrix) -> tuple[Codes, Scales | None]:
        """The vectors themselves."""
        return np.asarray(vectors, np.float32), None

    def read(self, codes: Codes, out: Matrix) -> None:
        """Copy them."""
        np.copyto(out, codes)

    def prepare(self, query: Matrix) -> Matrix:
        """The query as it is."""
        return np.ascontiguousarray(query.T)

    def finish(self, similarities: Matrix, scales: Scales | None, query: Matrix) -> None:
        """Nothing is left to do."""

    def decode(self, codes: Codes, scales: Scales | None, dimension: int) -> Matrix:
        """The vectors themselves."""
        return np.asarray(codes, np.float32)


class HalfCode:
    """Half precision, read by moving bits: numpy converts halves one by one, which costs more than the products."""

    dtype: np.dtype[Any] = np.dtype("<f2")
    scaled = False

    def width(self, dimension: int) -> int:
        """One element a component."""
        return dimension

    def encode(self, vectors: Matrix) -> tuple[Codes, Scales | None]:
        """Halves; components below 2^-14 become 0, as they would be slow subnormal numbers when read."""
        kept = np.where(np.abs(vectors) < _SMALLEST_HALF, np.float32(0), vectors)
        return np.clip(kept, -_LARGEST_HALF, _LARGEST_HALF).astype(self.dtype), None

    def read(self, codes: Codes, out: Matrix) -> None:
        """Write 2^-112 of the values."""
        bits = out.view(np.int32)
        np.copyto(bits, codes.view(np.int16))
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, _HALF_MASK, out=bits)

    def prepare(self, query: Matrix) -> Matrix:
        """The query times 2^112."""
        return np.ascontiguousarray((query * _HALF_SHIFT).T)

    def finish(self, similarities: Matrix, scales: Scales | None, query: Matrix) -> None:
        """Nothing is left to do."""

    def decode(self, codes: Codes, scales: Scales | None, dimension: int) -> Matrix:
        """Halves as floats."""
        return np.asarray(codes, np.float32)


class ByteCode:
    """Signed bytes: what each vector differs from the centre, scaled so that its largest component is 127.

    Vectors of most models lie in a narrow cone, queries' too. So the differences are smaller than the vectors, and so
    are the steps; what the centre adds to a similarity is the same for all pages; and rounding harms most along the
    centre, so that this part of what it loses is kept beside the scale and put right.
    """

    dtype: np.dtype[Any] = np.dtype("i1")
    scaled = True

    def __init__(self, centre: NDArray[np.float32]) -> None:
        self._centre = centre
        length = float(np.linalg.norm(centre))
        self._axis = (centre / (length if length > 0 else 1.0)).astype(np.float32)

    def width(self, dimension: int) -> int:
        """One element a component."""
        return dimension

    def encode(self, vectors: Matrix) -> tuple[Codes, Scales | None]:
        """Rounded to the nearest step of the scale as it is kept."""
        differences = vectors - self._centre
        largest = np.clip(np.abs(differences).max(axis=1) / 127, _SMALLEST_HALF, _LARGEST_HALF)
        scales = largest.astype(np.float16)
        sizes = scales.astype(np.float32)[:, None]
        steps = np.clip(np.rint(differences / sizes), -127, 127)
        lost = ((differences - steps * sizes) @ self._axis).astype(np.float16)
        return steps.astype(self.dtype), np.stack([scales, lost], axis=1)

    def read(self, codes: Codes, out: Matrix) -> None:
        """Write the steps."""
        np.copyto(out, codes)

    def prepare(self, query: Matrix) -> Matrix:
        """The query as it is."""
        return np.ascontiguousarray(query.T)

    def finish(self, similarities: Matrix, scales: Scales | None, query: Matrix) -> None:
        """Steps become values, and what was lost and the centre are added."""
        if scales is not None:
            sizes, lost = scales.astype(np.float32).T
            similarities *= sizes[:, None]
            similarities += np.outer(lost, query @ self._axis)
        similarities += query @ self._centre

    def decode(self, codes: Codes, scales: Scales | None, dimension: int) -> Matrix:
        """Steps times scales, what was lost, and the centre."""
        if scales is None:
            return codes + self._centre
        sizes, lost = scales.astype(np.float32).T
        return np.asarray(codes * sizes[:, None] + np.outer(lost, self._axis) + self._centre, np.float32)


class SignCode:
    """One bit a component: on which side of the centre it is. A set bit stands for +step, the others for -step.

    The step gives vectors whose distance from the centre is that of vectors of length 1 in the mean.
    """

    dtype: np.dtype[Any] = np.dtype("u1")
    scaled = False

    def __init__(self, centre: NDArray[np.float32]) -> None:
        self._centre = centre
        spread = max(1.0 - float(centre @ centre), 0.01)
        self._step = np.float32(np.sqrt(spread / len(centre)))

    def width(self, dimension: int) -> int:
        """Eight components a byte."""
        return -(-dimension // 8)

    def encode(self, vectors: Matrix) -> tuple[Codes, Scales | None]:
        """The sides, packed."""
        return np.packbits(vectors > self._centre, axis=1), None

    def read(self, codes: Codes, out: Matrix) -> None:
        """Write the bits."""
        np.copyto(out, np.unpackbits(codes, axis=1, count=out.shape[1]))

    def prepare(self, query: Matrix) -> Matrix:
        """The query times two steps."""
        return np.ascontiguousarray(query.T * (2 * self._step))

    def finish(self, similarities: Matrix, scales: Scales | None, query: Matrix) -> None:
        """A bit b stands for 2b - 1 steps: what is too much for a query vector is taken off once."""
        similarities += query @ self._centre - query.sum(axis=1) * self._step

    def decode(self, codes: Codes, scales: Scales | None, dimension: int) -> Matrix:
        """The centre, and a step to the side of each component."""
        bits = np.unpackbits(codes, axis=1, count=dimension).astype(np.float32)
        return np.asarray((2 * bits - 1) * self._step + self._centre, np.float32)


def code_of(storage: Storage, centre: NDArray[np.float32]) -> TokenCode:
    """The code of a kind of storage, for vectors around `centre`."""
    if storage == "fp16":
        return HalfCode()
    return ByteCode(centre) if storage == "int8" else SignCode(centre)
