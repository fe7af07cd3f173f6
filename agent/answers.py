"""Take an answer out of a unit: the value, name, option or sentence that the question wants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.matching import is_chinese, terms
from agent.question import Question
from agent.ranking import WANTED, Scored, wanted_values
from agent.reading import Unit
from agent.tables import Cell
from agent.values import Value, values, years

_NAME = re.compile(
    r"(?:[A-Z][\w&.’'-]*|\b[A-Z]{2,})(?:\s+(?:(?:of|the|de|van|von|for|&)\s+)*(?:[A-Z0-9][\w&.’'-]*|\b[A-Z]{2,}))*"
)
_HAN_NAME = re.compile(r"[\u3400-\u9fff·]{2,12}")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|can't|isn't|aren't|wasn't|doesn't|don't|didn't|won't)\b|不|没有|沒有|未|无|無|非",
    re.I,
)
_LONGEST = 320


@dataclass(frozen=True, slots=True)
class Pick:
    """An answer and the unit it was taken from. `head` is the column of a cell."""

    answer: str
    unit: Unit
    head: str = ""


def pick(question: Question, best: Scored) -> Pick | None:
    """The answer that one unit gives, None when it holds nothing of the wanted type."""
    unit = best.unit
    if question.options and (option := _option(question, unit)):
        return Pick(option, unit)
    if question.answer_type in WANTED:
        return _cell_pick(question, unit) if unit.cells else _value_pick(question, unit)
    if question.answer_type == "yes_no":
        yes = denied(unit.text) == question.negated
        words = ("是", "否") if question.language == "zh" else ("Yes", "No")
        return Pick(words[0] if yes else words[1], unit)
    if question.answer_type == "name" and (name := _name(question, unit)):
        return Pick(name, unit)
    if unit.cells and (cell := best_cell(question, unit)) is not None and question.answer_type in ("text", "number"):
        return Pick(cell.text.strip(), unit, cell.head)
    return Pick(shortened(unit.text), unit)


def denied(text: str) -> bool:
    """Whether a sentence negates: an odd number of negations."""
    return len(_DENIAL.findall(text)) % 2 == 1


def shortened(text: str) -> str:
    """A quote of readable length, cut at a word with an ellipsis."""
    if len(text) <= _LONGEST:
        return text
    cut = text[:_LONGEST]
    return (cut if is_chinese(cut) else cut.rsplit(" ", 1)[0]) + " …"


def best_cell(question: Question, unit: Unit) -> Cell | None:
    """The cell whose column head the question names; the first cell with a value when it names none.

    None when the question names a year and the heads are years, but not that one.
    """
    cells = [cell for cell in unit.cells if re.search(r"\w", cell.text)]
    if not cells:
        return None
    if question.years:
        dated = [cell for cell in cells if years(cell.head)]
        matching = [cell for cell in dated if set(years(cell.head)) & set(question.years)]
        if dated:
            return max(matching, key=lambda cell: _head_score(question, unit, cell), default=None)
    scores = [_head_score(question, unit, cell) for cell in cells]
    return cells[scores.index(max(scores))]


def _head_score(question: Question, unit: Unit, cell: Cell) -> int:
    label = set(terms(unit.label))
    return sum(1 for term in set(terms(cell.head)) - label if term in question.terms)


def _cell_pick(question: Question, unit: Unit) -> Pick | None:
    cell = best_cell(question, unit)
    if cell is None:
        return None
    text = cell.text.strip()
    return Pick(text, unit, cell.head) if any(v.kind != "date" for v in values(text)) else None


def _value_pick(question: Question, unit: Unit) -> Pick | None:
    found = wanted_values(question, unit.text)
    if not found:
        return None
    kinds = [v for v in found if v.kind == question.answer_type] or found
    best = min(kinds, key=lambda v: (_distance(question, unit.text, v), v.start))
    return Pick(best.text.strip(" ,."), unit)


def _distance(question: Question, text: str, value: Value) -> float:
    """How far a value stands from the question's terms; words right after a count weigh more."""
    after = set(terms(text[value.stop : value.stop + 40])[:3])
    near = set(terms(text[max(value.start - 80, 0) : value.stop + 80]))
    wanted = set(question.terms)
    penalty = 0.5 if _referring(text, value) else 0.0
    return (
        penalty
        - len(near & wanted) / (len(wanted) or 1)
        - (0.5 * len(after & wanted) if question.answer_type == "count" else 0)
    )


def _referring(text: str, value: Value) -> bool:
    """Whether a number only names a place, like the 3 of "Table 3" or "(3)" or "[3]"."""
    before = text[max(value.start - 9, 0) : value.start]
    return bool(re.search(r"(?:table|figure|fig\.?|page|note|item|section|step|chapter|[(\[第])\s*$", before, re.I))


def _option(question: Question, unit: Unit) -> str | None:
    """The one option that the unit names; None when it names none or several."""
    own = set(terms(unit.text))
    named = [option for option in question.options if set(terms(option)) and set(terms(option)) <= own]
    return named[0] if len(named) == 1 else None


def _name(question: Question, unit: Unit) -> str | None:
    """A name in the unit that the question doesn't give, nearest to the question's terms."""
    if unit.cells:
        return unit.label if unit.label and not set(terms(unit.label)) <= set(question.terms) else None
    asked = question.text.lower()
    text = unit.text
    found: list[tuple[int, int, str]] = []
    for match in _NAME.finditer(text):
        name = match.group().strip(" .,’'")
        first_word = match.start() == 0 and " " not in name
        if len(name) < 2 or name.lower() in asked or not set(terms(name)) - set(question.terms) or first_word:
            continue
        near = set(terms(text[max(match.start() - 60, 0) : match.end() + 60])) & set(question.terms)
        found.append((-len(near), match.start(), name))
    if found:
        return min(found)[2]
    if is_chinese(text) and len(text) <= 24:
        return text
    return None


def list_items(units: Sequence[Unit], seed: Unit, limit: int = 10) -> list[Unit]:
    """The list items that stand together with `seed` on its page, in order; only `seed` when it is no list item."""
    if seed.role != "list_item":
        return [seed]
    start = stop = seed.order
    while start > 0 and units[start - 1].role == "list_item" and units[start - 1].heading == seed.heading:
        start -= 1
    while stop + 1 < len(units) and units[stop + 1].role == "list_item" and units[stop + 1].heading == seed.heading:
        stop += 1
    return list(units[start : stop + 1])[:limit]
