"""MaxSim on the CPU: the similarity of each query vector to its most similar page vector, summed (ColBERT, 2020).

The work is one matrix product and one maximum over each page, in chunks that stay in the cache between the two: codes
are turned into numbers there, and nothing of the size of the collection is written. Both release the interpreter's
lock, and the product runs on the threads that BLAS has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix
from retrieval.index.token_codes import Codes, FloatCode, Scales, TokenCode

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
CHUNK = 1 << 19
"""Numbers in a chunk: 2 MiB, measured best on 1 MiB of second-level cache a core and 32 MiB shared."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The token vectors of pages, one page after the other: page i has the rows offsets[i] to offsets[i + 1].

    `codes` and `scales` may be mapped files.
    """

    code: TokenCode
    dimension: int
    codes: Codes
    scales: Scales | None
    offsets: Rows

    def page(self, row: int) -> Matrix:
        """The vectors of one page, as they were kept."""
        span = slice(self.offsets[row], self.offsets[row + 1])
        return self.code.decode(self.codes[span], None if self.scales is None else self.scales[span], self.dimension)


def float_table(vectors: Matrix, offsets: Rows) -> TokenTable:
    """A table over vectors in memory, or in a file of floats that is mapped."""
    return TokenTable(FloatCode(), vectors.shape[1], vectors, None, offsets)


def maxsim(query: Matrix, table: TokenTable, pages: Rows | None = None) -> Floats:
    """MaxSim of a query with the pages given (ascending; None: all), in their order.

    `query` is (vectors, dimension); every page has one vector at least.
    """
    if pages is None:
        pages = np.arange(len(table.offsets) - 1)
    starts, stops = table.offsets[pages], table.offsets[pages + 1]
    columns = table.code.prepare(query)
    scores = np.empty(len(pages), np.float32)
    room = max(CHUNK // table.dimension, int((stops - starts).max(initial=1)))
    buffer: Matrix | None = None
    for first, last in _chunks(stops - starts, room):
        chunk_starts, chunk_stops = starts[first:last], stops[first:last]
        low, high = int(chunk_starts[0]), int(chunk_stops[-1])
        if isinstance(table.code, FloatCode) and high - low == int((chunk_stops - chunk_starts).sum()):
            products = table.codes[low:high] @ columns
        else:
            if buffer is None:
                buffer = np.empty((room, table.dimension), np.float32)
            products = _gathered(table, chunk_starts, chunk_stops, buffer) @ columns
        table.code.finish(products, _scales(table, chunk_starts, chunk_stops), query)
        at = np.cumsum(chunk_stops - chunk_starts) - (chunk_stops - chunk_starts)
        scores[first:last] = np.maximum.reduceat(products, at, axis=0).sum(axis=1)
    return scores


def _chunks(lengths: Rows, room: int) -> Iterator[tuple[int, int]]:
    """Spans of pages whose vectors fit into `room`."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + room, side="right"))
        yield first, last
        first = last


def _runs(starts: Rows, stops: Rows) -> Iterator[tuple[int, int]]:
    """Spans of rows, neighbours joined."""
    breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(starts)], strict=True):
        yield int(starts[first]), int(stops[last - 1])


def _gathered(table: TokenTable, starts: Rows, stops: Rows, buffer: Matrix) -> Matrix:
    """The rows of a chunk as numbers, in the first rows of `buffer`."""
    filled = 0
    for start, stop in _runs(starts, stops):
        table.code.read(table.codes[start:stop], buffer[filled : filled + stop - start])
        filled += stop - start
    return buffer[:filled]


def _scales(table: TokenTable, starts: Rows, stops: Rows) -> Scales | None:
    if table.scales is None:
        return None
    return np.concatenate([table.scales[start:stop] for start, stop in _runs(starts, stops)])
