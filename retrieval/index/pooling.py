"""Fewer vectors for a page: the most alike are joined."""

from __future__ import annotations

import numpy as np

from retrieval.embedders.base import Matrix

_ROUNDS = 4


def join_alike(vectors: Matrix, factor: int) -> Matrix:
    """The vectors of a page joined until one in `factor` is left, each the direction of its group's mean.

    Groups are joined by Ward's criterion: the two whose joining adds least to the squared distances from the means.
    Token pooling of Clavie, Chaffin and Adams 2024; colpali-engine's pooler groups rows of the similarity matrix
    instead. The order of the groups is that of their first vectors.
    """
    wanted = max(len(vectors) // factor, 1)
    if wanted >= len(vectors):
        return vectors
    means, sizes = vectors.astype(np.float32, copy=True), np.ones(len(vectors), np.float32)
    squares = (means * means).sum(axis=1)
    costs = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0) / 2
    np.fill_diagonal(costs, np.inf)
    nearest = costs.argmin(axis=1)
    lowest = costs[np.arange(len(costs)), nearest]
    for _ in range(len(vectors) - wanted):
        one = int(lowest.argmin())
        kept, gone = sorted((one, int(nearest[one])))
        means[kept] = (means[kept] * sizes[kept] + means[gone] * sizes[gone]) / (sizes[kept] + sizes[gone])
        sizes[kept] += sizes[gone]
        sizes[gone] = 0
        squares[kept] = means[kept] @ means[kept]
        distances = np.maximum(squares + squares[kept] - 2 * means @ means[kept], 0)
        row = np.where(sizes > 0, distances * sizes * sizes[kept] / (sizes + sizes[kept]), np.inf)
        row[kept] = np.inf
        costs[gone, :] = costs[:, gone] = np.inf
        costs[kept, :] = costs[:, kept] = row
        lowest[gone] = np.inf
        stale = np.flatnonzero((nearest == kept) | (nearest == gone) | (row < lowest))
        stale = np.append(stale[sizes[stale] > 0], kept)
        nearest[stale] = costs[stale].argmin(axis=1)
        lowest[stale] = costs[stale, nearest[stale]]
    return _directions(means[sizes > 0])


def centres(vectors: Matrix, count: int) -> Matrix:
    """`count` vectors that stand for a page when candidates are sought: means of groups of alike vectors.

    A few rounds of spherical k-means from vectors spread evenly over the page, so that the same page gives the same
    centres. Each is its group's mean over the square root of its length: plain means put varied pages too low, for the
    best of a group is above its mean, and directions too high. A page with fewer vectors repeats some of them.
    """
    found = _directions(vectors[np.linspace(0, len(vectors) - 1, count).astype(np.int64)])
    if len(vectors) <= count:
        return found
    for _ in range(_ROUNDS):
        members = np.eye(count, dtype=np.float32)[(vectors @ found.T).argmax(axis=1)]
        sums, counts = members.T @ vectors, members.sum(axis=0)[:, None]
        found = np.where(counts > 0, _directions(sums), found)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), found)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.sqrt(np.where(lengths > 0, lengths, 1)), np.float32)


def _directions(vectors: Matrix) -> Matrix:
    """Vectors scaled to length 1; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
