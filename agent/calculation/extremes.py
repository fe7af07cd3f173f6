"""The row of a table that has the largest or smallest value, for a question that asks which one it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent.answers import Pick
from agent.calculation.operands import plain_number
from agent.cues import LARGEST, MEASURES, SMALLEST
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.cells import best_cell, cell_picks
from agent.values import years

_SUMMARY = re.compile(r"^(?:total|sub-?total|average|mean|all|overall|合计|总计|小计|平均)\b", re.IGNORECASE)
_WHICH_YEAR = re.compile(r"\b(?:which|what|in which|in what) (?:of the )?(?:fiscal )?years?\b|哪一?年", re.IGNORECASE)
_HIGHER = re.compile(rf"{LARGEST.pattern}|\b(?:higher|larger|greater|more)\b|更[大高多]", re.IGNORECASE)
_LOWER = re.compile(rf"{SMALLEST.pattern}|\b(?:lower|smaller|less|fewer)\b|更[小低少]", re.IGNORECASE)
_FEWEST = 3
_SEARCHED = 8
_IMPLIED = 0.7
"""Coverage of a row that has all of the question but its superlative, which the head of a column stands for."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The largest or the smallest, and when the adjective names a measure, its terms and the word."""

    largest: bool
    measure: frozenset[str] = frozenset()
    word: frozenset[str] = frozenset()


def extreme_row(question: Question, ranked: Sequence[Scored], support: float) -> tuple[Scored, Pick] | None:
    """The label of the extreme row of the best table, None when the question wants none or no table meets it.

    The table must have three rows with numbers in the column that the question names; summary rows don't take part.
    """
    wanted = _wanted(question)
    if question.answer_type == "date" and _WHICH_YEAR.search(question.text):
        return _extreme_year(question, ranked, support)
    if question.answer_type != "name" or wanted is None:
        return None
    rows_near = [_implied(item, wanted) for item in ranked[:_SEARCHED] if item.unit.cells]
    near = (item for item in rows_near if item.coverage >= support)
    best, head = next(((item, found) for item in near if (found := _head(question, item.unit, wanted))), (None, ""))
    if best is None:
        return None
    rows = [
        (number, item)
        for item in ranked
        if item.unit.page == best.unit.page and item.unit.heading == best.unit.heading
        if (number := _number(item.unit, head)) is not None and not _SUMMARY.match(item.unit.label)
    ]
    if len(rows) < _FEWEST:
        return None
    number, item = max(rows, key=lambda row: row[0] if wanted.largest else -row[0])
    return _implied(item, wanted), Pick(item.unit.label, item.unit, head)


def _extreme_year(question: Question, ranked: Sequence[Scored], support: float) -> tuple[Scored, Pick] | None:
    """The year in which the row that a question names has its largest or smallest value."""
    largest, smallest = _HIGHER.search(question.text), _LOWER.search(question.text)
    if (largest is None) == (smallest is None):
        return None
    asked = question.model_copy(update={"answer_type": "number"})
    for pick in cell_picks(asked, ranked, drop=terms(f"{(largest or smallest or [''])[0]} year"))[:1]:
        dated = {
            head: number
            for cell in pick.unit.cells
            if len(head := years(cell.head)) == 1
            and (not question.years or head[0] in question.years)
            and (number := _number(pick.unit, cell.head)) is not None
        }
        if len(dated) >= 2 and max(pick.scored.coverage, pick.match) >= support:
            year = max(dated, key=lambda head: dated[head] if largest else -dated[head])[0]
            found = next(cell for cell in pick.unit.cells if year in years(cell.head))
            best = replace(pick.scored, coverage=max(pick.scored.coverage, pick.match))
            return best, Pick(year, pick.unit, found.head)
    return None


def _wanted(question: Question) -> _Wanted | None:
    """Whether the largest or the smallest is asked for, and of what when a word such as "deepest" says it."""
    for most, least, heads in MEASURES:
        for largest, pattern in ((True, most), (False, least)):
            if (found := re.search(pattern, question.text, re.IGNORECASE)) is not None:
                measure = frozenset(term for head in heads.split() for term in terms(head))
                return _Wanted(largest, measure, frozenset(terms(found.group())))
    largest = LARGEST.search(question.text) is not None
    if largest == (SMALLEST.search(question.text) is not None):
        return None
    return _Wanted(largest)


def _implied(item: Scored, wanted: _Wanted) -> Scored:
    """A row with the coverage that it has when its column's head counts as the superlative of the question."""
    if not wanted.measure or not set(item.missing) <= wanted.word:
        return item
    return replace(item, coverage=max(item.coverage, _IMPLIED), missing=())


def _head(question: Question, unit: Unit, wanted: _Wanted) -> str | None:
    """The head of the column that is compared: the one that the measure, or else the question, names."""
    if wanted.measure:
        named = next((cell.head for cell in unit.cells if wanted.measure & set(terms(cell.head))), None)
        if named is not None:
            return named
    head = cell.head if (cell := best_cell(question, unit)) is not None else ""
    return head if set(terms(head)) & set(question.terms) else None


def _number(unit: Unit, head: str) -> Decimal | None:
    text = next((cell.text for cell in unit.cells if cell.head == head), None)
    if text is None or not re.fullmatch(r"-?\d+(?:\.\d+)?", plain_number(text)):
        return None
    return Decimal(plain_number(text))
