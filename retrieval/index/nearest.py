"""The rows of a matrix nearest to one vector by dot product: all compared, or through a structure of FAISS."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix

Kind = Literal["flat", "hnsw", "ivf_pq"]
Mask = NDArray[np.bool_]
_FAISS: Any = faiss  # its own type stubs know neither selectors nor parameters of a search

FLAT_UP_TO = 50_000
HNSW_UP_TO = 1_000_000
_EXACT_SUBSET = 2_000
_LINKS = 32
_FEWEST_TO_TRAIN = 1_000
_MOST_TO_TRAIN = 200_000
_FEWEST_FOR_BYTES = 39 * 256
"""Rows that FAISS wants for a product quantiser of 8 bits; with fewer it has 4."""


class Ranked(NamedTuple):
    """Row numbers and their scores, best first."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


def best(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Positions of the `count` highest scores, best first; ties in order.

    Differences below 1e-5 are ties: the same vectors at other places in a matrix can differ by that much.
    """
    rounded = np.round(scores, 5)
    if count < len(rounded):
        at = np.flatnonzero(rounded >= np.partition(rounded, -count)[-count])
    else:
        at = np.arange(len(rounded))
    return at[np.argsort(-rounded[at], kind="stable")][:count]


def chosen_kind(kind: Literal["auto", "flat", "hnsw", "ivf_pq"], rows: int) -> Kind:
    """The structure for a number of rows; flat where there are too few to train IVF-PQ."""
    if kind == "auto":
        kind = "flat" if rows <= FLAT_UP_TO else "hnsw" if rows <= HNSW_UP_TO else "ivf_pq"
    return "flat" if kind == "ivf_pq" and rows < _FEWEST_TO_TRAIN else kind


def built(kind: Kind, matrix: Matrix) -> Any | None:
    """The structure over a matrix; None for flat, which needs none."""
    if kind == "flat":
        return None
    rows, dimension = matrix.shape
    if kind == "hnsw":
        index: Any = faiss.IndexHNSWFlat(dimension, _LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 80
    else:
        lists = max(1, min(int(4 * np.sqrt(rows)), min(rows, _MOST_TO_TRAIN) // 39))
        parts = next(m for m in range(min(max(dimension // 4, 1), 128), 0, -1) if dimension % m == 0)
        quantiser = faiss.IndexFlatIP(dimension)
        bits = 8 if rows >= _FEWEST_FOR_BYTES else 4
        index = faiss.IndexIVFPQ(quantiser, dimension, lists, parts, bits, faiss.METRIC_INNER_PRODUCT)
        index.train(np.ascontiguousarray(matrix[:: -(-rows // _MOST_TO_TRAIN)]))
    for start in range(0, rows, FLAT_UP_TO):
        index.add(np.ascontiguousarray(matrix[start : start + FLAT_UP_TO]))
    return index


class Nearest:
    """A matrix, which may be a mapped file, and the structure over it. Safe for several threads.

    Flat needs no structure: one product over the mapped rows is what FAISS's flat index does, without copying them.
    """

    def __init__(self, matrix: Matrix, structure: Any | None) -> None:
        self._matrix = matrix
        self._structure = structure

    def search(self, query: NDArray[np.float32], count: int, allowed: Mask) -> Ranked:
        """At most `count` of the rows allowed; exact where they are few, or the structure is flat."""
        rows = np.flatnonzero(allowed)
        if self._structure is None or len(rows) <= max(_EXACT_SUBSET, count):
            return self._exact(query, count, rows)
        wanted = min(count if isinstance(self._structure, faiss.IndexHNSW) else 4 * count + 100, len(rows))
        whole = len(rows) == len(allowed)
        more = {} if whole else {"sel": _FAISS.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))}
        _, found = self._structure.search(query[None], wanted, params=_effort(self._structure, wanted, more))
        return self._exact(query, count, np.sort(found[0][found[0] >= 0]))

    def _exact(self, query: NDArray[np.float32], count: int, rows: NDArray[np.int64]) -> Ranked:
        many = 2 * len(rows) > len(self._matrix)  # picking most rows would copy most of the matrix
        scores = (self._matrix @ query)[rows] if many else self._matrix[rows] @ query
        at = best(scores, count)
        return Ranked(rows[at], scores[at])


def _effort(structure: Any, wanted: int, more: dict[str, Any]) -> Any:
    """How far a search looks: further for more results."""
    if isinstance(structure, faiss.IndexHNSW):
        return _FAISS.SearchParametersHNSW(efSearch=max(128, 2 * wanted), **more)
    return _FAISS.SearchParametersIVF(nprobe=max(16, structure.nlist // 16), **more)


def save(structure: Any, path: Path) -> None:
    """Write a structure to a file."""
    faiss.write_index(structure, str(path))


def load(path: Path) -> Any:
    """Read a structure from a file that is known to be as it was written."""
    return faiss.read_index(str(path))
