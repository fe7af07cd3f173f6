"""The rules of MMLongBench-Doc's scorer, one case each. Expected values follow from the published rules by hand."""

from __future__ import annotations

import pytest

from evaluation.metrics.mmlongbench import ScoredAnswer, accuracy, edit_distance, f1, score_answer
from retrieval.errors import InputError

GOLDEN = [
    ("12", "12", "Int", 1.0),
    ("12", "12.9", "Int", 1.0),  # int() truncates
    ("12", " 12 ", "Int", 1.0),
    ("12", "12%", "Int", 0.0),
    ("12", "$12", "Int", 0.0),
    ("12", "about 12", "Int", 0.0),
    ("12", "nan", "Int", 0.0),
    ("12", "inf", "Int", 0.0),
    ("12", "", "Int", 0.0),
    ("0", "Not answerable", "Int", 0.0),
    ("12.5%", "12.5", "Float", 1.0),
    ("12.5%", "0.125", "Float", 1.0),
    ("0.125", "12.5", "Float", 1.0),
    ("12.5", "12.6", "Float", 1.0),  # within 1 %
    ("12.5", "12.7", "Float", 0.0),
    ("12.5", "12.5 (estimated)", "Float", 1.0),
    ("12.5", "'12.5'", "Float", 1.0),
    ("0.304", "0", "Float", 1.0),  # 0.304 / 100 is 0 to two decimals
    ("0.5", "0", "Float", 0.0),  # 0.005 rounds up
    ("1250", "1,250", "Float", 0.0),
    ("Ada Lovelace", "ADA LOVELACE", "Str", 1.0),
    ("Ada Lovelace", "$Ada Lovelace (London)%", "Str", 1.0),
    ("Ada Lovelace", "Ada Lovelacy", "Str", 1 - 1 / 12),
    ("Ada", "Bob Smith", "Str", 0.0),
    ("abcd", "abxy", "Str", 0.0),  # exactly at the threshold
    ("2021", "2022", "Str", 0.0),  # numbers match exactly or not at all
    ("555 1234", "555 1235", "Str", 0.0),
    ("2024-05-17", "2024-05-18", "Str", 0.0),
    ("page 7", "page 8", "Str", 0.0),
    ("run.py", "ran.py", "Str", 0.0),
    ("10 a.m.", "11 a.m.", "Str", 0.0),
    ("x@example.org", "y@example.org", "Str", 0.0),
    ("https://example.org/a", "https://example.org/b", "Str", 0.0),
    ("Not answerable", "not answerable", "None", 1.0),
    ("Not answerable", "Paris", "None", 0.0),
    ("['red', 'blue']", "['Blue', 'red']", "List", 1.0),
    ("['red', 'blue']", "['red']", "List", 0.0),
    ("['red', 'blue']", "red, blue", "List", 0.0),
    ("['orange', 'purple']", "['orange', 'purplx']", "List", 1 - 1 / 6),
    ("['10', '20']", "['10', '21']", "List", 0.0),
    ("['10', '20']", "[20, 10]", "List", 1.0),
    ("red", "['red']", "List", 1.0),
]


@pytest.mark.parametrize(("gold", "prediction", "answer_format", "expected"), GOLDEN)
def test_each_rule_gives_the_published_score(gold: str, prediction: str, answer_format: str, expected: float) -> None:
    assert score_answer(gold, prediction, answer_format) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gold", "prediction", "answer_format", "expected"),
    [
        ("21%", "21%", "Int", 1.0),
        ("21%", "22%", "Int", 0.0),
        ("1,250", "1250", "Int", 1.0),
        ("$49.99", "49.99", "Float", 1.0),
        ("$1,049.99", "1049.99", "Float", 1.0),
        ("unknown", "unknown", "Float", 1.0),
        ("['a', 'b']", "['a', 'b'", "List", 0.0),
        ("['a', 'b']", "[a, b]", "List", 0.0),
        ("[]", "[]", "List", 1.0),
    ],
)
def test_answers_that_break_the_reference_are_read_tolerantly(
    gold: str, prediction: str, answer_format: str, expected: float
) -> None:
    assert score_answer(gold, prediction, answer_format) == expected


def test_an_unknown_format_names_the_valid_ones() -> None:
    with pytest.raises(InputError, match=r"'Date'.*Int, Float, Str, None, List"):
        score_answer("a", "a", "Date")


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("天地玄黃", "天地元黄", 2)],
)
def test_edit_distance_counts_characters(first: str, second: str, distance: int) -> None:
    assert edit_distance(first, second) == distance


def _answers(*triples: tuple[str, str, float]) -> list[ScoredAnswer]:
    return [ScoredAnswer(gold=g, prediction=p, score=s) for g, p, s in triples]


def test_f1_weighs_answers_given_against_answers_wanted() -> None:
    answers = _answers(
        ("a", "a", 1.0),
        ("b", "Not answerable", 0.0),
        ("c", "x", 0.0),
        ("Not answerable", "y", 0.0),
        ("Not answerable", "Not answerable", 1.0),
    )
    assert accuracy(answers).value == pytest.approx(2 / 5)
    # recall 1/3 (three answerable), precision 1/3 (three predictions that answer)
    assert f1(answers).value == pytest.approx(1 / 3)


def test_no_questions_give_no_score_and_say_why() -> None:
    assert accuracy([]).value is None
    assert accuracy([]).reason == "no questions"
    assert f1([]).value is None
    assert f1(_answers(("a", "Not answerable", 0.0))).value is None


def test_all_wrong_is_zero_not_missing() -> None:
    assert f1(_answers(("a", "b", 0.0))).value == 0.0
