"""One vector for the many of a page or query, so that dot products approximate MaxSim.

Fixed-dimensional encodings of MUVERA (Dhulipala, Hadian, Jayaram, Lee and Mirrokni 2024): space is cut by random
hyperplanes into parts; a query's vectors are summed in each part, a page's are averaged, and a part that the page
leaves empty takes its vector with the nearest signs. That is done several times over, each part projected to fewer
dimensions. One thing differs: the hyperplanes go through `centre`, the mean of the vectors, because the vectors of most
models lie in a narrow cone, which hyperplanes through the origin would hardly cut.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix

_PLANES = 4
_REPEATS = 10
_PROJECTED = 32
_SEED = 20_24


class PageEncoder:
    """Encodes pages and queries; the same dimension and centre give the same encodings, on any machine."""

    def __init__(self, dimension: int, centre: NDArray[np.float32]) -> None:
        random = np.random.default_rng(_SEED)
        self._centre = centre
        self._planes = random.standard_normal((dimension, _REPEATS * _PLANES)).astype(np.float32)
        width = min(_PROJECTED, dimension)
        signs = random.choice(np.array([-1, 1], np.float32), (dimension, _REPEATS * width))
        self._projection = (signs / np.sqrt(width)).astype(np.float32)
        self._width = width
        numbers = np.arange(1 << _PLANES)
        self._distances = np.array([[(a ^ b).bit_count() for b in numbers.tolist()] for a in numbers.tolist()])

    @property
    def dimension(self) -> int:
        """Numbers in an encoding."""
        return _REPEATS * (1 << _PLANES) * self._width

    def page(self, vectors: Matrix) -> NDArray[np.float32]:
        """The encoding of a page with one vector at least."""
        parts, projected = self._placed(vectors)
        encoded = np.empty((_REPEATS, 1 << _PLANES, self._width), np.float32)
        for repeat in range(_REPEATS):
            members = np.eye(1 << _PLANES, dtype=np.float32)[parts[:, repeat]]
            counts = members.sum(axis=0)
            encoded[repeat] = members.T @ projected[:, repeat] / np.maximum(counts, 1)[:, None]
            empty = np.flatnonzero(counts == 0)
            nearest = self._distances[empty][:, parts[:, repeat]].argmin(axis=1)
            encoded[repeat, empty] = projected[nearest, repeat]
        return encoded.ravel()

    def query(self, vectors: Matrix) -> NDArray[np.float32]:
        """The encoding of a query."""
        parts, projected = self._placed(vectors)
        encoded = np.zeros((_REPEATS, 1 << _PLANES, self._width), np.float32)
        for repeat in range(_REPEATS):
            np.add.at(encoded[repeat], parts[:, repeat], projected[:, repeat])
        return encoded.ravel()

    def _placed(self, vectors: Matrix) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The part of each vector in each repeat, and its projections, of shape (vectors, repeats, width)."""
        sides = ((vectors - self._centre) @ self._planes > 0).reshape(len(vectors), _REPEATS, _PLANES)
        projected = (vectors @ self._projection).reshape(len(vectors), _REPEATS, self._width)
        return sides @ (1 << np.arange(_PLANES)), projected.astype(np.float32, copy=False)
