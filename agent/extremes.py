"""The row of a table that has the largest or smallest value, for a question that asks which one it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from agent.answers import Pick, best_cell
from agent.calculations import plain_number
from agent.cues import LARGEST, SMALLEST
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit

_SUMMARY = re.compile(r"^(?:total|sub-?total|average|mean|all|overall|合计|总计|小计|平均)\b", re.IGNORECASE)
_FEWEST = 3
_SEARCHED = 8


def extreme_row(question: Question, ranked: Sequence[Scored], support: float) -> tuple[Scored, Pick] | None:
    """The label of the extreme row of the best table, None when the question wants none or no table meets it.

    The table must have three rows with numbers in the column that the question names; summary rows don't take part.
    """
    largest = LARGEST.search(question.text) is not None
    if question.answer_type != "name" or largest == (SMALLEST.search(question.text) is not None):
        return None
    best = next((item for item in ranked[:_SEARCHED] if item.unit.cells), None)
    if best is None or best.coverage < support:
        return None
    head = cell.head if (cell := best_cell(question, best.unit)) is not None else ""
    if not set(terms(head)) & set(question.terms):
        return None
    rows = [
        (number, item)
        for item in ranked
        if item.unit.page == best.unit.page and item.unit.heading == best.unit.heading
        if (number := _number(item.unit, head)) is not None and not _SUMMARY.match(item.unit.label)
    ]
    if len(rows) < _FEWEST:
        return None
    number, item = max(rows, key=lambda row: row[0] if largest else -row[0])
    return item, Pick(item.unit.label, item.unit, head)


def _number(unit: Unit, head: str) -> Decimal | None:
    text = next((cell.text for cell in unit.cells if cell.head == head), None)
    if text is None or not re.fullmatch(r"-?\d+(?:\.\d+)?", plain_number(text)):
        return None
    return Decimal(plain_number(text))
