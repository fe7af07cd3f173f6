"""Whether confidence tells right answers from wrong ones: risk-coverage curve, AURC, calibration error.

A system that gives its k most confident of N answers has the coverage k / N and the risk (wrong among the k) / k
(El-Yaniv and Wiener, 2010). All N questions count, those that can't be answered too: whatever is said to them is wrong.
A question to which a system has no answer at all, not even one that it withholds, is never covered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

from pydantic import Field

from evaluation.types import Score
from retrieval.types import Frozen

BINS = 10
"""Bins of equal width of the calibration error."""
POINTS = 100
"""The curve has at most so many points, at equal steps of coverage."""
HALF = 0.5
Share = Annotated[float, Field(ge=0, le=1)]


class Judgement(Frozen):
    """A question's best answer: how sure the system is of it, whether it is right, and whether it was given.

    `confidence` is None when the system has no answer, not even one that it withholds.
    """

    confidence: Share | None
    right: bool
    given: bool


class RiskPoint(Frozen):
    """The share of wrong answers when this share of the questions is answered, the most confident first.

    `confidence` is that of the least confident answer among them: the threshold that leads to this point.
    """

    coverage: Share
    risk: Share
    confidence: Share


class OperatingPoint(Frozen):
    """Where the system stands with the answers that it gave; `risk` is None when it gave none."""

    coverage: Share
    risk: Share | None
    threshold: Share | None


class Risk(Frozen):
    """What confidence is worth. `curve` is empty when there is no answer with a confidence."""

    questions: int
    curve: tuple[RiskPoint, ...]
    operating: OperatingPoint
    scores: dict[str, Score]


def risk_of(items: Sequence[Judgement], *, threshold: float | None = None) -> Risk:
    """The curve and its scores; `threshold` is the confidence from which answers are given, where there is one."""
    given = [i for i in items if i.given]
    return Risk(
        questions=len(items),
        curve=risk_coverage(items),
        operating=OperatingPoint(
            coverage=len(given) / len(items) if items else 0.0,
            risk=sum(not i.right for i in given) / len(given) if given else None,
            threshold=threshold,
        ),
        scores={
            "aurc": aurc(items),
            "accuracy_at_50": selective_accuracy(items, HALF),
            "calibration_error": calibration_error(items),
        },
    )


def risk_coverage(items: Sequence[Judgement], *, points: int = POINTS) -> tuple[RiskPoint, ...]:
    """The curve from the most confident answer on, thinned to `points`; it ends where no answers are left."""
    risks, total = _risks(items), len(items)
    counts = {math.ceil(total * step / points) for step in range(1, points + 1)}
    sure = _by_confidence(items)
    return tuple(
        RiskPoint(coverage=k / total, risk=risks[k - 1], confidence=sure[k - 1][0])
        for k in sorted(counts)
        if 0 < k <= len(risks)
    )


def aurc(items: Sequence[Judgement]) -> Score:
    """Area under the risk-coverage curve: the mean of the risks at coverages 1/N, 2/N, ... (Geifman et al., 2019).

    0 is perfect; without any order it is the share of wrong answers. `missing` counts the questions without an answer:
    where there are some, the mean is over the coverages that can be reached.
    """
    risks = _risks(items)
    return Score.mean(risks, of="answers with a confidence", missing=len(items) - len(risks))


def selective_accuracy(items: Sequence[Judgement], coverage: float) -> Score:
    """The share of right answers when the most confident `coverage` of the questions is answered (rounded up).

    None when there are answers to fewer questions.
    """
    risks = _risks(items)
    wanted = math.ceil(coverage * len(items))
    if not wanted or wanted > len(risks):
        return Score.nothing(f"answers to {len(risks)} of {len(items)} questions", missing=len(items) - len(risks))
    return Score(value=1 - risks[wanted - 1], n=wanted)


def calibration_error(items: Sequence[Judgement]) -> Score:
    """Expected calibration error: over ten equal bins of confidence, the sum of |bin| / n * |accuracy - confidence|.

    After Naeini et al. (2015) and Guo et al. (2017); over the answers, given or withheld, of which there are n.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    sure = _by_confidence(items)
    for confidence, right in sure:
        bins.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    gaps = [abs(sum(right for _, right in of) - sum(confidence for confidence, _ in of)) for of in bins.values()]
    return Score.ratio(sum(gaps), len(sure), of="answers with a confidence", missing=len(items) - len(sure))


def _by_confidence(items: Sequence[Judgement]) -> list[tuple[float, bool]]:
    """(confidence, right) of every answer, the most confident first."""
    return sorted(((i.confidence, i.right) for i in items if i.confidence is not None), key=lambda pair: -pair[0])


def _risks(items: Sequence[Judgement]) -> list[float]:
    """The risk after each answer. Answers of equal confidence can't be told apart: each has their mean risk."""
    wrong = 0.0
    risks: list[float] = []
    for _, tied in groupby(_by_confidence(items), key=lambda pair: pair[0]):
        group = list(tied)
        share = sum(not right for _, right in group) / len(group)
        for _ in group:
            wrong += share
            risks.append(min(wrong / (len(risks) + 1), 1.0))
    return risks
