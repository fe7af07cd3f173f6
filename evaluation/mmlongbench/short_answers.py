"""Answers in the form that MMLongBench-Doc's scorer reads. Nothing of the gold answers is looked at."""

from __future__ import annotations

import re

from agent.question import analyse
from agent.types import AnswerType, Trajectory
from evaluation.metrics.answer_forms import listed, quantity
from evaluation.metrics.mmlongbench import NOT_ANSWERABLE
from tools.arithmetic import plain

_GROUPED_NUMBER = re.compile(r"[$€£¥]?\s?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?)(\s?%)?")
_NUMERIC: tuple[AnswerType, ...] = ("number", "count", "money", "percent")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}


def short_answer(trajectory: Trajectory) -> str:
    """The answer as the scorer reads it; "Not answerable" for an abstention."""
    if trajectory.abstained or trajectory.answer is None:
        return NOT_ANSWERABLE
    return short_form(trajectory.answer, trajectory.question, trajectory.plan.answer_type)


def short_form(answer: str, question: str, answer_type: AnswerType) -> str:
    """A bare number where the question wants one, a Python list for a list, else the answer itself.

    The benchmark has a language model bring answers into its formats first; here a rule does. A number loses digit
    grouping, currency and unit ("$1,250" is "1250", "43 metres" is "43") and keeps its percent sign. Its scale is
    multiplied out ("$1.2 million" is "1200000") unless the question asks for that scale ("in millions": "1.2").
    """
    answer = answer.strip()
    if answer_type in _NUMERIC and (number := _bare_number(answer, question)) is not None:
        return number
    grouped = _GROUPED_NUMBER.fullmatch(answer)
    if grouped:
        return grouped[1].replace(",", "") + ("%" if grouped[2] else "")
    if answer_type == "list":
        return repr(listed(answer))
    return answer


def _bare_number(answer: str, question: str) -> str | None:
    found = quantity(answer)
    if found is None or found.number is None:
        return None
    wanted = _SCALES.get(analyse(question).unit or "", 1)
    unscaled = found.scale in (1, wanted)
    number = f"{found.number:f}" if unscaled else plain(found.number * found.scale)
    return number + ("%" if found.kind == "percent" else "")
