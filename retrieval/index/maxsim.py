"""MaxSim on the CPU: the similarity of each query vector to its most similar page vector, summed (ColBERT, 2020).

The work is one matrix product and one maximum over each page, in chunks that stay in the cache between the two: codes
are turned into numbers there, and nothing of the size of the collection is written. Chunks are shared between threads
of our own, for all that is costly releases the interpreter's lock. BLAS's threads would have to meet after each chunk:
where anything else wants the cores that took three times as long, and turning codes into numbers kept one thread only.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix
from retrieval.index.token_codes import Codes, FloatCode, Scales, TokenCode

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
CHUNK = 1 << 20
"""Numbers in a chunk (4 MiB)."""
_BLOCK = 1 << 18
"""Multiplications in a block; OpenBLAS shares out what is larger."""
_FEWEST_CHUNKS = 2
"""Chunks that are worth a thread."""
_THREADS = os.cpu_count() or 1


class _Space(threading.local):
    """Arrays that a thread uses again: fresh memory for each chunk would cost more than the work on it."""

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}

    def array(self, name: str, rows: int, columns: int) -> Matrix:
        """An array of a shape, with whatever it held before."""
        kept = self._arrays.get(name)
        if kept is None or len(kept) < rows * columns:
            kept = self._arrays[name] = np.empty(rows * columns, np.float32)
        return kept[: rows * columns].reshape(rows, columns)


class _Pool:
    """The threads that help; a forked process, in which they don't run, gets its own."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def get(self) -> ThreadPoolExecutor:
        """The threads, started when they are first needed."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="maxsim")
        return self._pool

    def forget(self) -> None:
        """Let the next use start threads."""
        self._pool = None


_SPACE = _Space()
_POOL = _Pool()


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
    chunks = list(_chunks(stops - starts, room))

    def score(share: list[tuple[int, int]]) -> None:
        for first, last in share:
            lengths = stops[first:last] - starts[first:last]
            numbers = _numbers(table, starts[first:last], stops[first:last], room)
            products = _products(numbers, columns)
            table.code.finish(products, _scales(table, starts[first:last], stops[first:last]), query)
            scores[first:last] = np.maximum.reduceat(products, np.cumsum(lengths) - lengths, axis=0).sum(axis=1)

    threads = min(_THREADS, len(chunks) // _FEWEST_CHUNKS)
    if threads < 2:
        score(chunks)
    else:
        shares = [_POOL.get().submit(score, chunks[number::threads]) for number in range(1, threads)]
        score(chunks[::threads])
        for done in shares:
            done.result()
    return scores


def _products(vectors: Matrix, columns: Matrix) -> Matrix:
    """The product of two matrices, in blocks so small that BLAS leaves each to the thread that asks."""
    dimension, queries = columns.shape
    block = max(_BLOCK // (dimension * queries) // 16 * 16, 1)
    whole = len(vectors) // block * block
    out = _SPACE.array("products", len(vectors), queries)
    np.matmul(vectors[:whole].reshape(-1, block, dimension), columns, out=out[:whole].reshape(-1, block, queries))
    np.matmul(vectors[whole:], columns, out=out[whole:])
    return out


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


def _numbers(table: TokenTable, starts: Rows, stops: Rows, room: int) -> Matrix:
    """The rows of a chunk, at most `room`, as numbers: where they are, if they are so in one place, else copied."""
    runs = list(_runs(starts, stops))
    if len(runs) == 1 and isinstance(table.code, FloatCode):
        return np.asarray(table.codes[runs[0][0] : runs[0][1]])
    buffer = _SPACE.array("numbers", room, table.dimension)
    filled = 0
    for start, stop in runs:
        table.code.read(table.codes[start:stop], buffer[filled : filled + stop - start])
        filled += stop - start
    return buffer[:filled]


def _scales(table: TokenTable, starts: Rows, stops: Rows) -> Scales | None:
    if table.scales is None:
        return None
    return np.concatenate([table.scales[start:stop] for start, stop in _runs(starts, stops)])
