"""Answers of CHaystack: how they are written out, and how they score, counted by hand."""

from __future__ import annotations

import pytest

from evaluation.metrics.chaystack import AnswerScore, bare, clean_answer, is_uncertain, score_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("  １３个。 ", "13个."),
        ("答案：《南明史》", "<南明史>"),
        ("答案是：30元", "30元"),
        ("答案是30元，因为发票上写着", "30元,"),
        ("The answer is: Acme  Corp", "acme corp"),
        ("回答:DELL", "dell"),
        ("由于天气", "由于天气"),
        ("答案之书", "答案之书"),
        ("yours sincerely", "yours sincerely"),
        ("42 because the page says so", "42"),
        ("", ""),
    ],
)
def test_an_answer_is_written_out_normalised_without_prefix_and_explanation(reply: str, answer: str) -> None:
    assert clean_answer(reply) == answer


def test_a_long_answer_is_cut_at_a_space() -> None:
    assert clean_answer("字" * 300) == "字" * 256
    assert clean_answer("a " * 200) == " ".join("a" * 128)


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "f1"),
    [
        ("13 个。", "13个", 1, 1),
        ("光明日报", "光明日报出版社", 0, 2 * 4 / (4 + 7)),
        ("ＡＢＣ-１", "abc1", 1, 1),
        ("1990年", "1996年", 0, 2 * 4 / 10),
        ("aab", "abb", 0, 2 * 2 / 6),
        ("", "30元", 0, 0),
        ("。", "，", 1, 1),
        ("完全不同", "30元", 0, 0),
    ],
)
def test_scores_are_those_counted_by_hand(answer: str, gold: str, exact: float, f1: float) -> None:
    assert score_answer(answer, gold) == AnswerScore(exact=exact, f1=f1)


def test_bare_texts_have_no_punctuation_and_no_white_space() -> None:
    assert bare("《Ａ b》 — 3.5%，$7\u3000") == "ab357"


@pytest.mark.parametrize(
    "answer", ["无法确定", "文中未提及。", "it is not  found", "Cannot determine", "no information"]
)
def test_answers_that_know_nothing_are_uncertain(answer: str) -> None:
    assert is_uncertain(answer)
    assert not is_uncertain("确定为30元")
