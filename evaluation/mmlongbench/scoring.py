"""From trajectories and rankings to the numbers of MMLongBench-Doc: `summary.json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from agent.types import Trajectory
from evaluation.metrics.abstention import Abstention, abstention_scores
from evaluation.metrics.latency import latency_scores
from evaluation.metrics.mmlongbench import NOT_ANSWERABLE, ScoredAnswer, accuracy, f1, score_answer
from evaluation.metrics.pages import CitedPages, page_scores
from evaluation.metrics.retrieval import RankedPages, retrieval_scores
from evaluation.mmlongbench.samples import Sample
from evaluation.types import Failure, Ranked, Score
from retrieval.types import Document, Frozen, PageRef

_GROUPED_NUMBER = re.compile(r"[$€£¥]?\s?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?)(\s?%)?")


class Group(Frozen):
    """Scores of the questions that have something in common. Retrieval is all-hit@10."""

    questions: int
    accuracy: Score
    all_hit_at_10: Score


class Summary(Frozen):
    """What a run came to. Questions without a trajectory count as wrong; `answers` is None when nothing was asked.

    `unreachable` counts questions with a gold page that their document doesn't have: they can't be retrieved in full.
    """

    schema_version: Literal["docsage.summary/1"] = Field(default="docsage.summary/1", alias="schema")
    benchmark: Literal["mmlongbench-doc"] = "mmlongbench-doc"
    questions: int
    answered: int
    abstained: int
    failed: int
    failures_by_kind: dict[str, int]
    unreachable: int
    retrieval: dict[str, Score]
    pages: dict[str, Score] | None
    answers: dict[str, Score] | None
    abstention: dict[str, Score] | None
    latency: dict[str, Score] | None
    search_latency: dict[str, Score]
    by_source: dict[str, Group]
    by_document_type: dict[str, Group]
    by_span: dict[str, Group]


class Judged(Frozen):
    """One sample with what is known of it: document, ranking, trajectory and score, each where there is one."""

    sample: Sample
    document: Document | None
    ranking: Ranked | None
    trajectory: Trajectory | None
    scored: ScoredAnswer

    @property
    def gold_pages(self) -> frozenset[PageRef]:
        """Gold evidence pages that exist, of an answerable question. An unreadable document keeps its name as id."""
        doc_id = self.document.doc_id if self.document else self.sample.document
        return frozenset(PageRef(doc_id=doc_id, page=page) for page in self._pages if self._exists(page))

    @property
    def unreachable(self) -> int:
        """How many of the gold pages the document doesn't have."""
        return sum(not self._exists(page) for page in self._pages)

    @property
    def ranked_pages(self) -> RankedPages:
        """Gold pages against the ranking."""
        ranking = self.ranking.pages if self.ranking else None
        return RankedPages(gold=self.gold_pages, ranking=ranking, unreachable=self.unreachable)

    @property
    def cited_pages(self) -> CitedPages:
        """Gold pages against those of the trajectory."""
        cited = frozenset(page.ref for page in self.trajectory.pages) if self.trajectory else None
        return CitedPages(gold=self.gold_pages, cited=cited, unreachable=self.unreachable)

    @property
    def abstention(self) -> Abstention:
        """Whether abstaining was right, and whether it was done."""
        abstained = None if self.trajectory is None else self.trajectory.abstained
        return Abstention(answerable=not self.sample.may_abstain, abstained=abstained)

    @property
    def _pages(self) -> tuple[int, ...]:
        return self.sample.pages if self.sample.answerable else ()

    def _exists(self, page: int) -> bool:
        return page >= 1 and (self.document is None or page <= self.document.pages)


def short_answer(trajectory: Trajectory) -> str:
    """The answer as the scorer reads it: "Not answerable" for an abstention, a bare number without digit grouping.

    The benchmark has a language model bring answers into its formats first; here a number is written as Python does
    ("$1,250" is "1250"), and a list answer as a Python list. Nothing of the gold answer is looked at.
    """
    if trajectory.abstained or trajectory.answer is None:
        return NOT_ANSWERABLE
    answer = trajectory.answer.strip()
    number = _GROUPED_NUMBER.fullmatch(answer)
    if number:
        return number[1].replace(",", "") + ("%" if number[2] else "")
    if trajectory.plan.answer_type == "list":
        items = [item.strip(" .") for item in re.split(r"[;\n]|,(?!\d{3}\b)|，|、|\band\b", answer)]
        return repr([item for item in items if item])
    return answer


def judge(
    samples: Sequence[Sample],
    *,
    documents: Mapping[str, Document],
    rankings: Sequence[Ranked],
    trajectories: Sequence[Trajectory],
) -> list[Judged]:
    """Every sample with its ranking, trajectory and score. Without a trajectory it scores 0, whatever its gold."""
    ranked = {r.id: r for r in rankings}
    answered = {t.question_id: t for t in trajectories}
    return [
        Judged(
            sample=sample,
            document=documents.get(sample.document),
            ranking=ranked.get(sample.id),
            trajectory=answered.get(sample.id),
            scored=_score(sample, answered.get(sample.id)),
        )
        for sample in samples
    ]


def summarise(judged: Sequence[Judged], failures: Mapping[str, Failure], *, asked: bool) -> Summary:
    """All numbers of a run; `asked` is False for a run that only searched."""
    trajectories = [j.trajectory for j in judged if j.trajectory is not None]
    kinds = [failures[j.sample.id].kind for j in judged if j.sample.id in failures]
    answers = [j.scored for j in judged]
    return Summary(
        questions=len(judged),
        answered=sum(not t.abstained for t in trajectories),
        abstained=sum(t.abstained for t in trajectories),
        failed=len(kinds),
        failures_by_kind={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        unreachable=sum(j.unreachable > 0 for j in judged),
        retrieval=retrieval_scores([j.ranked_pages for j in judged]),
        pages=page_scores([j.cited_pages for j in judged]) if asked else None,
        answers={"accuracy": accuracy(answers), "f1": f1(answers)} if asked else None,
        abstention=abstention_scores([j.abstention for j in judged]) if asked else None,
        latency=latency_scores([t.usage.seconds for t in trajectories]) if asked else None,
        search_latency=latency_scores([j.ranking.seconds for j in judged if j.ranking is not None]),
        by_source=_groups(judged, lambda s: s.sources, asked=asked),
        by_document_type=_groups(judged, lambda s: (s.doc_type,), asked=asked),
        by_span=_groups(judged, lambda s: (s.span,), asked=asked),
    )


def _score(sample: Sample, trajectory: Trajectory | None) -> ScoredAnswer:
    if trajectory is None:
        # "" is neither an answer nor an abstention: a crash on an unanswerable question is wrong, too.
        return ScoredAnswer(gold=sample.answer, prediction="", score=0.0)
    prediction = short_answer(trajectory)
    score = score_answer(sample.answer, prediction, sample.answer_format)
    return ScoredAnswer(gold=sample.answer, prediction=prediction, score=score)


def _groups(judged: Sequence[Judged], keys: Callable[[Sample], Sequence[str]], *, asked: bool) -> dict[str, Group]:
    """Scores by key, keys in alphabetical order. A sample with several keys belongs to each of them."""
    members: dict[str, list[Judged]] = {}
    for item in judged:
        for key in dict.fromkeys(keys(item.sample)):
            members.setdefault(key, []).append(item)
    return {
        key: Group(
            questions=len(items),
            accuracy=accuracy([j.scored for j in items]) if asked else Score.nothing("no question was asked"),
            all_hit_at_10=retrieval_scores([j.ranked_pages for j in items])["all_hit@10"],
        )
        for key, items in sorted(members.items())
    }
