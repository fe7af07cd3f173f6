"""From trajectories and rankings to the numbers of MMLongBench-Doc: `summary.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from agent.types import Trajectory
from evaluation.metrics.abstention import Abstention, abstention_scores
from evaluation.metrics.grounding import Grounding, PageOf, grounding_of, grounding_scores
from evaluation.metrics.latency import latency_scores
from evaluation.metrics.mmlongbench import ScoredAnswer, accuracy, f1, score_answer
from evaluation.metrics.pages import CitedPages, page_scores
from evaluation.metrics.retrieval import RankedPages, retrieval_scores
from evaluation.metrics.risk import Judgement, Risk, risk_of
from evaluation.mmlongbench.samples import Sample
from evaluation.mmlongbench.short_answers import short_answer, short_form
from evaluation.types import Failure, Ranked, Score
from retrieval.types import Document, Frozen, PageRef

RIGHT = 0.5
"""An answer with this score is right, for what counts right answers: a text that is half the gold one, a number."""


class Group(Frozen):
    """Scores of the questions that have something in common. Retrieval is all-hit@10."""

    questions: int
    accuracy: Score
    all_hit_at_10: Score


class Summary(Frozen):
    """What a run came to. Questions without a trajectory count as wrong; `answers` is None when nothing was asked.

    `answers` has the benchmark's accuracy and F1, and the accuracy of answerable and unanswerable questions apart.
    `grounding` is that of the right answers. `risk` takes the best candidates of abstentions for answers, too.
    `unreachable` counts questions with a gold page that their document doesn't have: they can't be retrieved in full.
    """

    schema_version: Literal["docsage.summary/2"] = Field(default="docsage.summary/2", alias="schema")
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
    grounding: dict[str, Score] | None
    risk: Risk | None
    latency: dict[str, Score] | None
    search_latency: dict[str, Score]
    by_source: dict[str, Group]
    by_document_type: dict[str, Group]
    by_span: dict[str, Group]


class Judged(Frozen):
    """One sample with what is known of it: document, ranking, trajectory and score, each where there is one.

    `best` scores the answer that was given or withheld; `grounding` is there for right answers only.
    """

    sample: Sample
    document: Document | None
    ranking: Ranked | None
    trajectory: Trajectory | None
    scored: ScoredAnswer
    best: ScoredAnswer | None = None
    grounding: Grounding | None = None

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
    def judgement(self) -> Judgement:
        """The confidence in the best answer and whether it is right; the verifier's where the agent says none."""
        trajectory = self.trajectory
        if trajectory is None or self.best is None:
            return Judgement(confidence=None, right=False, given=False)
        confidence = trajectory.report.confidence if trajectory.confidence is None else trajectory.confidence
        return Judgement(confidence=confidence, right=self.best.score >= RIGHT, given=not trajectory.abstained)

    @property
    def _pages(self) -> tuple[int, ...]:
        return self.sample.pages if self.sample.answerable else ()

    def _exists(self, page: int) -> bool:
        return page >= 1 and (self.document is None or page <= self.document.pages)


def judge(
    samples: Sequence[Sample],
    *,
    documents: Mapping[str, Document],
    rankings: Sequence[Ranked],
    trajectories: Sequence[Trajectory],
    page_of: PageOf,
) -> list[Judged]:
    """Every sample with its ranking, trajectory and score. Without a trajectory it scores 0, whatever its gold."""
    ranked = {r.id: r for r in rankings}
    answered = {t.question_id: t for t in trajectories}
    return [
        _judged(sample, documents.get(sample.document), ranked.get(sample.id), answered.get(sample.id), page_of)
        for sample in samples
    ]


def _judged(
    sample: Sample, document: Document | None, ranking: Ranked | None, trajectory: Trajectory | None, page_of: PageOf
) -> Judged:
    scored = _score(sample, trajectory)
    right = trajectory is not None and not trajectory.abstained and sample.answerable and scored.score >= RIGHT
    return Judged(
        sample=sample,
        document=document,
        ranking=ranking,
        trajectory=trajectory,
        scored=scored,
        best=_best(sample, trajectory, scored),
        grounding=grounding_of(trajectory, page_of) if trajectory is not None and right else None,
    )


def summarise(
    judged: Sequence[Judged], failures: Mapping[str, Failure], *, asked: bool, threshold: float | None = None
) -> Summary:
    """All numbers of a run; `asked` is False for a run that only searched.

    `threshold` is the confidence from which the agent answers, where it goes by one.
    """
    trajectories = [j.trajectory for j in judged if j.trajectory is not None]
    kinds = [failures[j.sample.id].kind for j in judged if j.sample.id in failures]
    return Summary(
        questions=len(judged),
        answered=sum(not t.abstained for t in trajectories),
        abstained=sum(t.abstained for t in trajectories),
        failed=len(kinds),
        failures_by_kind={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        unreachable=sum(j.unreachable > 0 for j in judged),
        retrieval=retrieval_scores([j.ranked_pages for j in judged]),
        pages=page_scores([j.cited_pages for j in judged]) if asked else None,
        answers=_answer_scores(judged) if asked else None,
        abstention=abstention_scores([j.abstention for j in judged]) if asked else None,
        grounding=grounding_scores([j.grounding for j in judged if j.grounding is not None]) if asked else None,
        risk=risk_of([j.judgement for j in judged], threshold=threshold) if asked else None,
        latency=latency_scores([t.usage.seconds for t in trajectories]) if asked else None,
        search_latency=latency_scores([j.ranking.seconds for j in judged if j.ranking is not None]),
        by_source=_groups(judged, lambda s: s.sources, asked=asked),
        by_document_type=_groups(judged, lambda s: (s.doc_type,), asked=asked),
        by_span=_groups(judged, lambda s: (s.span,), asked=asked),
    )


def _answer_scores(judged: Sequence[Judged]) -> dict[str, Score]:
    def apart(*, answerable: bool) -> Score:
        of = "answerable questions" if answerable else "unanswerable questions"
        return Score.mean((j.scored.score for j in judged if j.sample.answerable == answerable), of=of)

    answers = [j.scored for j in judged]
    return {
        "accuracy": accuracy(answers),
        "f1": f1(answers),
        "accuracy_answerable": apart(answerable=True),
        "accuracy_unanswerable": apart(answerable=False),
    }


def _best(sample: Sample, trajectory: Trajectory | None, scored: ScoredAnswer) -> ScoredAnswer | None:
    """The score of the answer that was given, or of the candidate that was withheld; None where there is neither."""
    if trajectory is None or not trajectory.abstained:
        return None if trajectory is None else scored
    if trajectory.candidate is None:
        return None
    withheld = short_form(trajectory.candidate, trajectory.question, trajectory.plan.answer_type)
    score = score_answer(sample.answer, withheld, sample.answer_format)
    return ScoredAnswer(gold=sample.answer, prediction=withheld, score=score)


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
