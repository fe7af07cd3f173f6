"""Whether a system abstains where it should: precision and recall of saying "not in the documents"."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.types import Score
from retrieval.types import Frozen


class Abstention(Frozen):
    """Whether a question can be answered, and whether the system abstained; None when it failed."""

    answerable: bool
    abstained: bool | None


def abstention_scores(items: Sequence[Abstention]) -> dict[str, Score]:
    """precision = |abstained and unanswerable| / |abstained|, recall = the same / |unanswerable|.

    A question that failed did not abstain; `missing` counts the failed ones.
    """
    right = sum(bool(i.abstained) and not i.answerable for i in items)
    failed = sum(i.abstained is None for i in items)
    abstained = sum(bool(i.abstained) for i in items)
    unanswerable = sum(not i.answerable for i in items)
    return {
        "precision": Score.ratio(right, abstained, of="abstentions", missing=failed),
        "recall": Score.ratio(
            right,
            unanswerable,
            of="unanswerable questions",
            missing=sum(i.abstained is None and not i.answerable for i in items),
        ),
    }
