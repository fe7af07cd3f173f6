"""How many of the gold pages a ranking brings up: recall@k and all-hit@k."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.types import Score
from retrieval.types import Frozen, PageRef

CUTOFFS = (1, 3, 5, 10)


class RankedPages(Frozen):
    """A question's gold pages and the ranking it got; None when the question could not be searched.

    `unreachable` counts gold pages that the document doesn't have: annotations that no ranking can meet.
    """

    gold: frozenset[PageRef]
    ranking: tuple[PageRef, ...] | None
    unreachable: int = 0

    @property
    def wanted(self) -> int:
        """How many pages the question wants, those that nobody can find included."""
        return len(self.gold) + self.unreachable

    def found(self, k: int) -> int:
        """How many gold pages are among the first k."""
        return len(self.gold & set((self.ranking or ())[:k]))


def recall_at(k: int, items: Sequence[RankedPages]) -> Score:
    """Mean over questions of |gold in the first k| / |gold|. Questions without gold pages don't take part.

    A question that could not be searched counts 0 and is in `missing`; gold pages that don't exist are never found.
    """
    judged = _judged(items)
    shares = [i.found(k) / i.wanted for i in judged]
    return Score.mean(shares, of="questions with gold pages", missing=_missing(judged))


def all_hit_at(k: int, items: Sequence[RankedPages]) -> Score:
    """Share of questions whose every gold page is among the first k. The rest as in `recall_at`.

    A question with more than k gold pages can't be a hit.
    """
    judged = _judged(items)
    hits = [float(i.found(k) == i.wanted) for i in judged]
    return Score.mean(hits, of="questions with gold pages", missing=_missing(judged))


def retrieval_scores(items: Sequence[RankedPages]) -> dict[str, Score]:
    """`recall@k` and `all_hit@k` for k = 1, 3, 5, 10."""
    scores = {f"recall@{k}": recall_at(k, items) for k in CUTOFFS}
    return scores | {f"all_hit@{k}": all_hit_at(k, items) for k in CUTOFFS}


def _judged(items: Sequence[RankedPages]) -> list[RankedPages]:
    return [item for item in items if item.wanted]


def _missing(items: Sequence[RankedPages]) -> int:
    return sum(item.ranking is None for item in items)
