"""MMLongBench-Doc's rule-based answer scoring (Ma et al., 2024, arXiv 2407.01523, `eval_score.py`), to the digit.

An answer has one of five formats, and each format its rule:

    Int    1 if int(gold) == int(float(prediction)), else 0
    Float  1 if the numbers are equal within 1 % or to the shorter one's decimals; a percentage may be a fraction
    Str    exact match for addresses, numbers and times, else ANLS with threshold 0.5
    None   as Str; the gold answer is "Not answerable"
    List   0 if the lengths differ; else both are sorted, and the worst pair decides

Accuracy is the mean score. F1 is over the answerable questions: recall = sum / |gold answerable|, precision = sum /
|prediction answers|, where sum adds the scores of the questions whose gold answer isn't "Not answerable".

Where the reference raises (a gold "21%" as Int, a list that is no Python list) this reads tolerantly instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from math import isclose, isfinite
from typing import Literal, get_args

from evaluation.types import Score
from retrieval.errors import InputError
from retrieval.types import Frozen

AnswerFormat = Literal["Int", "Float", "Str", "None", "List"]
NOT_ANSWERABLE = "Not answerable"
ANLS_THRESHOLD = 0.5

_EXACT = (
    re.compile(r"\b\d+(-\d+|\s\d+)?\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}[-\s]\d{2}\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}\b"),
    re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}"),
)


class ScoredAnswer(Frozen):
    """A gold answer, the prediction that was judged, and its score in [0, 1]."""

    gold: str
    prediction: str
    score: float


def score_answer(gold: str, prediction: str, answer_format: str) -> float:
    """The score of one prediction in [0, 1]. Never raises on what a model wrote; an unknown format is an InputError."""
    match answer_format:
        case "Int":
            return _score_int(gold, prediction)
        case "Float":
            return _score_float(gold, prediction)
        case "Str" | "None":
            return _score_text(clean(gold), clean(prediction))
        case "List":
            return _score_list(_as_list(gold), _as_list(prediction))
    raise InputError(
        f"unknown answer format {answer_format!r}", remedy=f"the formats are {', '.join(get_args(AnswerFormat))}"
    )


def accuracy(answers: Sequence[ScoredAnswer]) -> Score:
    """Mean score over all questions, answerable or not."""
    return Score.mean((a.score for a in answers), of="questions")


def f1(answers: Sequence[ScoredAnswer]) -> Score:
    """2PR / (P + R): P = S / |predictions that answer|, R = S / |answerable questions|, S = their summed scores.

    The comparison with "Not answerable" is literal, as in the reference: "Not answerable or 0 or none" is answerable.
    None when no question is answerable or no prediction answers, which the reference reports as 0.
    """
    answerable = [a.score for a in answers if a.gold != NOT_ANSWERABLE]
    answering = sum(a.prediction != NOT_ANSWERABLE for a in answers)
    if not answerable:
        return Score.nothing("no answerable questions")
    if not answering:
        return Score.nothing("every prediction is that the question can't be answered")
    total = sum(answerable)
    recall, precision = total / len(answerable), total / answering
    value = 2 * recall * precision / (recall + precision) if total else 0.0
    return Score(value=value, n=len(answerable))


def anls(gold: str, prediction: str) -> float:
    """Average normalised Levenshtein similarity of one pair: 1 - distance / longer length, 0 at or below the threshold.

    Two empty strings score 1, as in the reference.
    """
    longer = max(len(gold), len(prediction))
    value = 1.0 - (edit_distance(gold, prediction) / longer if longer else 0.0)
    return value if value > ANLS_THRESHOLD else 0.0


def edit_distance(first: str, second: str) -> int:
    """Levenshtein distance in characters."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            diagonal, row[j] = row[j], min(diagonal + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def clean(text: str) -> str:
    """Lower case, without parentheses, one outer quote on each side, leading $ and trailing %."""
    text = re.sub(r"\s*\([^)]*\)", "", text.lower().strip()).strip()
    text = re.sub(r"^['\"]|['\"]$", "", text).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


def wants_exact_match(text: str) -> bool:
    """Whether a cleaned gold answer is an address, file name, page, number, time or date, where near is wrong."""
    return (
        "https://" in text
        or text.endswith((".py", "ipynb"))
        or text.startswith("page")
        or "a.m." in text
        or "p.m." in text
        or any(pattern.fullmatch(text) for pattern in _EXACT)
    )


def floats_equal(gold: float, prediction: float) -> bool:
    """Whether prediction is gold, gold / 100 or gold * 100: within 1 %, or to the shorter decimals (at least 2)."""
    for item in (gold / 100, gold, gold * 100):
        if isclose(item, prediction, rel_tol=0.01):
            return True
        places = max(min(_decimals(prediction), _decimals(item)), 2)
        if isfinite(item) and isfinite(prediction) and round(prediction, places) == round(item, places):
            return True
    return False


def _decimals(number: float) -> int:
    """Length of what follows the point in Python's notation; 3 without a point ("5e-05"), as in the reference."""
    text = str(number)
    return len(text.split(".")[-1]) if "." in text else 3


def _score_int(gold: str, prediction: str) -> float:
    try:
        expected = int(gold)
    except ValueError:
        return _score_float(gold, prediction)
    found = _float(prediction)
    return float(found is not None and isfinite(found) and expected == int(found))


def _score_float(gold: str, prediction: str) -> float:
    expected = _float(clean(gold))
    if expected is None:
        expected = _float(clean(gold).replace(",", ""))
    if expected is None:
        return _score_text(clean(gold), clean(prediction))
    found = _float(clean(prediction))
    return float(found is not None and floats_equal(expected, found))


def _score_text(gold: str, prediction: str) -> float:
    return float(gold == prediction) if wants_exact_match(gold) else anls(gold, prediction)


def _score_list(gold: list[str], prediction: list[str]) -> float:
    if len(gold) != len(prediction):
        return 0.0
    expected, found = sorted(map(clean, gold)), sorted(map(clean, prediction))
    if not expected:
        return 1.0
    if _float(expected[0]) is not None or wants_exact_match(expected[0]):
        return float("-".join(expected) == "-".join(found))
    return min(anls(e, f) for e, f in zip(expected, found, strict=True))


def _as_list(text: str) -> list[str]:
    """The items of a Python list in a string; anything else, a broken list too, is one item."""
    if text.startswith("["):
        try:
            parsed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [text]
        if isinstance(parsed, list):
            return [str(item) for item in parsed]
    return [text]


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
