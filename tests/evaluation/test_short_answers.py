"""Answers in the form that MMLongBench-Doc's scorer reads."""

from __future__ import annotations

import pytest
from scripted_trajectory import trajectory

from agent.types import AnswerType
from evaluation.metrics.answer_forms import quantity
from evaluation.mmlongbench.short_answers import short_answer, short_form


@pytest.mark.parametrize(
    ("answer", "answer_type", "expected"),
    [
        ("312", "number", "312"),
        ("$1,250.50", "money", "1250.50"),
        ("41,190", "number", "41190"),
        ("43 metres", "number", "43"),
        ("about 3 people", "count", "3"),
        ("-4.5 °C", "number", "-4.5"),
        ("$1.2 million", "money", "1200000"),
        ("三百一十二棵", "count", "312"),
        ("3.5万人", "count", "35000"),
        ("12.5 %", "percent", "12.5%"),
        ("12 percent", "percent", "12%"),
        ("1,234%", "percent", "1234%"),
        ("20.5%", "number", "20.5%"),
        # what is more than a number stays as it is
        ("Pier 45", "number", "Pier 45"),
        ("10-12 weeks", "number", "10-12 weeks"),
        ("00:04:14", "number", "00:04:14"),
        ("3 of the 12", "count", "3 of the 12"),
        ("5th floor", "number", "5th floor"),
        # and so does a number that isn't asked for
        ("43 metres", "text", "43 metres"),
        ("41,190", "text", "41190"),
        ("red, green and blue", "list", "['red', 'green', 'blue']"),
        ("红、绿", "list", "['红', '绿']"),
        (None, "text", "Not answerable"),
    ],
)
def test_answers_are_brought_into_the_scorers_form(answer: str | None, answer_type: str, expected: str) -> None:
    assert short_answer(trajectory("How deep is the well?", answer, answer_type=answer_type)) == expected


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("What is the total debt? Answer in millions.", "$7.5 million", "7.5"),
        ("What is the total debt? Answer in millions.", "$7.5 billion", "7500000000"),
        ("What is the total debt, in thousands of dollars?", "7.5 thousand", "7.5"),
        ("What is the total debt?", "7.5 thousand", "7500"),
    ],
)
def test_a_scale_that_the_question_asks_for_is_left_out(question: str, answer: str, expected: str) -> None:
    asked: AnswerType = "money"
    assert short_form(answer, question, asked) == expected


def test_a_quantity_has_its_kind_and_scale() -> None:
    found = quantity("US$1.2 billion")
    assert found is not None
    assert (str(found.number), found.scale, found.kind) == ("1.2", 10**9, "money")
    assert quantity("it rose from 3 to 5 tonnes") is None
