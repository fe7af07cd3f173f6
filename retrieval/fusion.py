"""Rankings of several retrievers, or of several queries, fused into one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
RRF_K = 60
"""The constant of reciprocal-rank fusion (Cormack, Clarke and Buettcher 2009): how little the first ranks stand out."""


@dataclass(frozen=True, slots=True)
class Fused(Generic[K]):
    """One item of a fused ranking, and the rank that each retriever gave it; those that didn't find it are left out."""

    key: K
    score: float
    ranks: dict[str, int]


def reciprocal_ranks(
    rankings: Mapping[str, Sequence[K]], *, weights: Mapping[str, float] | None = None, k: int = RRF_K
) -> list[Fused[K]]:
    """Items by the sum of weight / (k + rank) over the rankings that hold them, best first.

    Ties go to the better best rank, then to the order of the rankings. An item that a ranking holds twice counts once.
    """
    scores: dict[K, float] = {}
    ranks: dict[K, dict[str, int]] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        for rank, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
            ranks.setdefault(key, {})[name] = rank
    order = sorted(scores, key=lambda key: (-scores[key], min(ranks[key].values())))
    return [Fused(key, scores[key], ranks[key]) for key in order]
