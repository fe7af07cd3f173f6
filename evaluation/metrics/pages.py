"""How well the pages that a trajectory cites match the gold evidence pages: precision, recall, F1."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.types import Score
from retrieval.types import Frozen, PageRef


class CitedPages(Frozen):
    """A question's gold pages and the pages its trajectory cites; None when there is no trajectory.

    `unreachable` counts gold pages that the document doesn't have.
    """

    gold: frozenset[PageRef]
    cited: frozenset[PageRef] | None
    unreachable: int = 0

    @property
    def wanted(self) -> int:
        """How many pages the question wants, those that nobody can cite included."""
        return len(self.gold) + self.unreachable

    @property
    def shared(self) -> int:
        """How many gold pages are cited."""
        return len(self.gold & (self.cited or frozenset()))


def page_scores(items: Sequence[CitedPages]) -> dict[str, Score]:
    """Precision, recall and F1, micro and macro, over the questions that have gold pages.

    With c cited, g gold and s shared pages of a question:
        micro   precision = sum s / sum c, recall = sum s / sum g, F1 = 2 sum s / (sum c + sum g)
        macro   the mean over questions of s / c, s / g and 2 s / (c + g)
    A question that cites nothing has no precision and is left out of macro precision (`missing` counts it); its recall
    and F1 are 0. A question without a trajectory cites nothing.
    """
    judged = [item for item in items if item.wanted]
    cited = sum(len(i.cited or ()) for i in judged)
    gold = sum(i.wanted for i in judged)
    shared = sum(i.shared for i in judged)
    silent = sum(not i.cited for i in judged)
    absent = sum(i.cited is None for i in judged)
    return {
        "micro_precision": Score.ratio(shared, cited, of="cited pages", missing=silent),
        "micro_recall": Score.ratio(shared, gold, of="gold pages", missing=absent),
        "micro_f1": Score.ratio(2 * shared, cited + gold, of="cited or gold pages", missing=absent),
        "macro_precision": Score.mean(
            (i.shared / len(i.cited) for i in judged if i.cited), of="questions that cite pages", missing=silent
        ),
        "macro_recall": Score.mean(
            (i.shared / i.wanted for i in judged), of="questions with gold pages", missing=absent
        ),
        "macro_f1": Score.mean(
            (2 * i.shared / (len(i.cited or ()) + i.wanted) for i in judged),
            of="questions with gold pages",
            missing=absent,
        ),
    }
