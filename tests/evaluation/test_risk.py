"""The risk-coverage curve and what is read from it, on answers few enough to count."""

from __future__ import annotations

import pytest

from evaluation.metrics.risk import Judgement, aurc, calibration_error, risk_coverage, risk_of, selective_accuracy


def _judged(*answers: tuple[float | None, bool]) -> list[Judgement]:
    return [Judgement(confidence=confidence, right=right, given=bool(confidence)) for confidence, right in answers]


SORTED = _judged((0.9, True), (0.8, True), (0.4, False), (0.2, False))
TURNED = _judged((0.2, True), (0.4, True), (0.8, False), (0.9, False))


def test_the_most_confident_answers_are_covered_first() -> None:
    points = [(point.coverage, point.risk, point.confidence) for point in risk_coverage(SORTED)]
    assert points == [(0.25, 0, 0.9), (0.5, 0, 0.8), (0.75, pytest.approx(1 / 3), 0.4), (1, 0.5, 0.2)]


def test_a_good_order_has_a_small_area_and_a_bad_one_a_large() -> None:
    assert aurc(SORTED).value == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert aurc(TURNED).value == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4)
    assert selective_accuracy(SORTED, 0.5).value == 1.0
    assert selective_accuracy(TURNED, 0.5).value == 0.0


def test_the_order_of_equally_confident_answers_changes_nothing() -> None:
    one = _judged((0.5, True), (0.5, False), (0.1, True))
    other = _judged((0.1, True), (0.5, False), (0.5, True))
    assert risk_coverage(one) == risk_coverage(other)
    assert [point.risk for point in risk_coverage(one)] == pytest.approx([0.5, 0.5, 1 / 3])


def test_questions_without_an_answer_end_the_curve_early() -> None:
    items = _judged((0.9, True), (None, False), (None, False), (None, False))
    assert [point.coverage for point in risk_coverage(items)] == [0.25]
    assert aurc(items).missing == 3
    half = selective_accuracy(items, 0.5)
    assert (half.value, half.reason) == (None, "answers to 1 of 4 questions")


def test_confidence_that_says_how_often_it_is_right_has_no_calibration_error() -> None:
    honest = _judged(*[(0.75, True)] * 3, (0.75, False))
    assert calibration_error(honest).value == pytest.approx(0)
    assert calibration_error(_judged((1.0, False), (0.0, False))).value == pytest.approx(0.5)
    # 0.31 and 0.39 lie in one bin, 0.9 in another: (|1 - 0.7| + |0 - 0.9|) / 3
    assert calibration_error(_judged((0.31, True), (0.39, False), (0.9, False))).value == pytest.approx(1.2 / 3)


def test_the_operating_point_is_that_of_the_answers_given() -> None:
    items = [
        Judgement(confidence=0.9, right=True, given=True),
        Judgement(confidence=0.8, right=False, given=True),
        Judgement(confidence=0.7, right=True, given=False),
        Judgement(confidence=None, right=False, given=False),
    ]
    operating = risk_of(items, threshold=0.75).operating
    assert (operating.coverage, operating.risk, operating.threshold) == (0.5, 0.5, 0.75)


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    curve = risk_coverage(_judged(*((n / 1000, n % 2 == 0) for n in range(1000))))
    assert len(curve) == 100
    assert (curve[-1].coverage, curve[-1].risk) == (1, pytest.approx(0.5))


def test_no_questions_have_no_scores() -> None:
    nothing = risk_of([])
    assert nothing.curve == ()
    assert nothing.operating.risk is None
    assert all(score.value is None and score.reason for score in nothing.scores.values())
