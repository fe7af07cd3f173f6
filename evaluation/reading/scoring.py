"""From answers to the numbers of a reading run: `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from evaluation.metrics.latency import latency_scores
from evaluation.metrics.reading import Rules
from evaluation.metrics.risk import Judgement, Risk, risk_of
from evaluation.reading.answers import ReadAnswer
from evaluation.reading.samples import ReadingSet
from evaluation.types import Score
from retrieval.types import Frozen

Mode = Literal["given", "open"]
RECALL = 5
"""Depth of recall@k; the reciprocal rank looks as deep as was searched."""


class SetSummary(Frozen):
    """Scores of one set. A question that failed counts as wrong, as not found, and as not answered.

    `answers`: `exact` and `f1` over the answerable questions, all of them answered. `withholding`, for a set that has
    unanswerable questions: SQuAD v2's measures over all questions with the answers below the threshold withheld, beside
    always and never answering (never: both measures are the share of unanswerable questions). `retrieval`: of the
    answerable questions' own paragraphs, when they were searched for. `risk` calls an answer right when it matches
    exactly; what is said to an unanswerable question is wrong.
    """

    rules: Rules
    questions: int
    unanswerable: int
    failed: int
    threshold: float
    answers: dict[str, Score]
    withholding: dict[str, Score] | None
    retrieval: dict[str, Score] | None
    latency: dict[str, Score]
    risk: Risk


class ReadingSummary(Frozen):
    """What a run came to, set by set. `mode` says whether the paragraph was given or searched for."""

    schema_version: Literal["docsage.reading-summary/1"] = Field(default="docsage.reading-summary/1", alias="schema")
    benchmark: Literal["reading"] = "reading"
    mode: Mode
    reader: str
    sets: dict[str, SetSummary]


def summarise_set(one: ReadingSet, answers: Mapping[str, ReadAnswer], *, threshold: float, mode: Mode) -> SetSummary:
    """The scores of a set, of whose questions `answers` holds what was answered, by id."""
    found = [answers.get(question.id) for question in one.questions]
    answerable = [a for a, q in zip(found, one.questions, strict=True) if q.answers]
    unanswerable = len(found) - len(answerable)
    missing = sum(a is None for a in answerable)
    of = "answerable questions"
    return SetSummary(
        rules=one.rules,
        questions=len(found),
        unanswerable=unanswerable,
        failed=sum(a is None for a in found),
        threshold=threshold,
        answers={
            "exact": Score.mean((a.exact if a else 0.0 for a in answerable), of=of, missing=missing),
            "f1": Score.mean((a.f1 if a else 0.0 for a in answerable), of=of, missing=missing),
        },
        withholding=_withholding(found, unanswerable, threshold) if unanswerable else None,
        retrieval=_retrieval(answerable) if mode == "open" else None,
        latency=latency_scores([a.seconds for a in found if a]),
        risk=risk_of([_judgement(a, threshold) for a in found], threshold=threshold),
    )


def _withholding(found: Sequence[ReadAnswer | None], unanswerable: int, threshold: float) -> dict[str, Score]:
    missing = sum(a is None for a in found)

    def mean(measure: Literal["exact", "f1"], least: float) -> Score:
        return Score.mean((_v2(a, measure, least) if a else 0.0 for a in found), of="questions", missing=missing)

    return {
        "v2_exact": mean("exact", threshold),
        "v2_f1": mean("f1", threshold),
        "v2_exact_always": mean("exact", 0.0),
        "v2_f1_always": mean("f1", 0.0),
        "v2_never": Score.ratio(unanswerable, len(found), of="questions"),
        "answered": Score.mean((float(a is not None and a.confidence >= threshold) for a in found), of="questions"),
    }


def _v2(answer: ReadAnswer, measure: Literal["exact", "f1"], threshold: float) -> float:
    """SQuAD v2's measure of one question when answers below the threshold are withheld."""
    if answer.confidence < threshold:
        return float(not answer.answerable)
    return answer.exact if measure == "exact" else answer.f1


def _retrieval(answerable: Sequence[ReadAnswer | None]) -> dict[str, Score]:
    """Share of questions whose own paragraph comes first, or among the first five, and mean reciprocal rank."""
    ranks = [a.rank if a else None for a in answerable]
    missing, of = sum(a is None for a in answerable), "answerable questions"
    return {
        "recall@1": Score.mean((float(r == 1) for r in ranks), of=of, missing=missing),
        f"recall@{RECALL}": Score.mean((float(r is not None and r <= RECALL) for r in ranks), of=of, missing=missing),
        "mrr": Score.mean((1 / r if r else 0.0 for r in ranks), of=of, missing=missing),
    }


def _judgement(answer: ReadAnswer | None, threshold: float) -> Judgement:
    if answer is None:
        return Judgement(confidence=None, right=False, given=False)
    return Judgement(
        confidence=answer.confidence,
        right=answer.answerable and answer.exact == 1,
        given=answer.confidence >= threshold,
    )
