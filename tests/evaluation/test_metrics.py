"""Retrieval, page, abstention and latency scores on cases small enough to work out by hand."""

from __future__ import annotations

import pytest

from evaluation.metrics.abstention import Abstention, abstention_scores
from evaluation.metrics.latency import latency_scores, percentile
from evaluation.metrics.pages import CitedPages, page_scores
from evaluation.metrics.retrieval import RankedPages, all_hit_at, recall_at, retrieval_scores
from evaluation.types import Score
from retrieval.types import PageRef


def _refs(*pages: int, doc: str = "d") -> tuple[PageRef, ...]:
    return tuple(PageRef(doc_id=doc, page=page) for page in pages)


def _ranked(gold: tuple[int, ...], ranking: tuple[int, ...] | None) -> RankedPages:
    return RankedPages(gold=frozenset(_refs(*gold)), ranking=None if ranking is None else _refs(*ranking))


def _cited(gold: tuple[int, ...], cited: tuple[int, ...] | None) -> CitedPages:
    return CitedPages(gold=frozenset(_refs(*gold)), cited=None if cited is None else frozenset(_refs(*cited)))


def test_all_hit_wants_every_gold_page_and_recall_counts_each() -> None:
    items = [_ranked((1, 2), (2, 9, 1)), _ranked((5,), (5, 1))]
    assert recall_at(1, items).value == pytest.approx((0.5 + 1) / 2)
    assert all_hit_at(1, items).value == 0.5
    assert all_hit_at(3, items).value == 1.0


def test_a_page_of_another_document_is_no_hit() -> None:
    item = RankedPages(gold=frozenset(_refs(1)), ranking=_refs(1, doc="other"))
    assert recall_at(10, [item]).value == 0.0


def test_questions_that_could_not_be_searched_count_as_misses_and_are_counted() -> None:
    score = recall_at(10, [_ranked((1,), (1,)), _ranked((2,), None), _ranked((), (3,))])
    assert score == Score(value=0.5, n=2, missing=1)


def test_a_gold_page_that_does_not_exist_is_never_found() -> None:
    ranked = RankedPages(gold=frozenset(_refs(1)), ranking=_refs(1, 2), unreachable=1)
    assert recall_at(10, [ranked]).value == 0.5
    assert all_hit_at(10, [ranked]).value == 0.0
    cited = CitedPages(gold=frozenset(), cited=frozenset(_refs(1)), unreachable=1)
    assert page_scores([cited])["micro_recall"].value == 0.0
    assert page_scores([cited])["macro_f1"].value == 0.0


def test_every_cutoff_without_data_is_none_with_a_reason() -> None:
    scores = retrieval_scores([_ranked((), (1,))])
    assert set(scores) == {f"{m}@{k}" for m in ("recall", "all_hit") for k in (1, 3, 5, 10)}
    assert all(s.value is None and s.reason == "no questions with gold pages" for s in scores.values())


def test_page_scores_micro_and_macro() -> None:
    scores = page_scores([_cited((1, 2), (1, 3)), _cited((4,), (4,)), _cited((), (7,))])
    assert scores["micro_precision"].value == pytest.approx(2 / 3)
    assert scores["micro_recall"].value == pytest.approx(2 / 3)
    assert scores["micro_f1"].value == pytest.approx(2 / 3)
    assert scores["macro_precision"].value == pytest.approx(0.75)
    assert scores["macro_recall"].value == pytest.approx(0.75)
    assert scores["macro_f1"].value == pytest.approx(0.75)


def test_citing_nothing_leaves_precision_out_but_not_recall() -> None:
    scores = page_scores([_cited((1,), ()), _cited((2,), None)])
    assert scores["macro_precision"] == Score.nothing("no questions that cite pages", missing=2)
    assert scores["micro_precision"].value is None
    assert scores["macro_recall"] == Score(value=0.0, n=2, missing=1)
    assert scores["micro_f1"].value == 0.0


def test_page_scores_without_questions_are_none() -> None:
    scores = page_scores([])
    assert set(scores) == {f"{kind}_{name}" for kind in ("micro", "macro") for name in ("precision", "recall", "f1")}
    assert all(score.value is None and score.reason for score in scores.values())


def test_abstention_precision_and_recall_count_failures_as_not_abstained() -> None:
    items = [
        Abstention(answerable=False, abstained=True),
        Abstention(answerable=True, abstained=True),
        Abstention(answerable=False, abstained=None),
        Abstention(answerable=True, abstained=False),
    ]
    scores = abstention_scores(items)
    assert scores["precision"] == Score(value=0.5, n=2, missing=1)
    assert scores["recall"] == Score(value=0.5, n=2, missing=1)


def test_never_abstaining_has_no_precision() -> None:
    scores = abstention_scores([Abstention(answerable=True, abstained=False)])
    assert scores["precision"].reason == "no abstentions"
    assert scores["recall"].reason == "no unanswerable questions"


def test_percentiles_are_linear_between_neighbours() -> None:
    assert percentile([4.0, 1.0, 2.0, 3.0], 0.5).value == 2.5
    assert percentile([1.0], 0.95).value == 1.0
    assert latency_scores([])["p95"].value is None
