"""The cells of the subjects that a question compares or adds up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.calculation.aggregates import OPERATION_TERMS
from agent.calculation.comparisons import Comparison
from agent.calculation.operands import Operands
from agent.matching import question_terms, terms
from agent.question import Question
from agent.ranking import Scored
from agent.tables.cells import CellPick, cell_picks, is_number

_TRIED = 12
_MATCH = 0.3
_LONGEST_RANK = 3
_ALIGNED = 0.5
"""How much better two cells are to compare that share their column or their row."""
_MEASURES = frozenset(
    terms(
        "accuracy score performance result percentage percent value number amount rate share proportion dataset group"
        " category bar point level count figure"
    )
)
"""Words of a subject that say how it is measured, which a table needn't."""
_HAN_MEASURES = re.compile(r"数量|数值|比例|金额|总额")


def operands_of_subjects(
    question: Question, comparison: Comparison, ranked: Sequence[Scored], support: float
) -> Operands | None:
    """The cells of the subjects: in several rows, in several columns of one row, or on several pages."""
    subjects = {own: frozenset(question_terms(_HAN_MEASURES.sub(" ", own))) for own in comparison.subjects}
    found: dict[str, CellPick] = {}
    known: CellPick | None = None
    # The subject that says most says what is compared; the others may only name another row, or another column.
    for own in sorted(subjects, key=lambda subject: -len(subjects[subject])):
        others = frozenset[str]().union(*(subjects[other] for other in subjects if other != own))
        named = _row_terms(known) if known is not None else frozenset[str]()
        ways = (others & named, others - named) if known is not None else (others,)
        amounts = comparison.operation == "ratio"
        tried = [p for drop in ways if (p := _subject_cell(question, subjects[own], drop, ranked, amounts)) is not None]
        if not tried:
            return None
        found[own] = max(tried, key=lambda pick: pick.match + (_ALIGNED if known and _aligned(pick, known) else 0.0))
        known = known or found[own]
    picks = [found[own] for own in comparison.subjects]
    if len({(pick.unit.page, pick.unit.order, pick.cell) for pick in picks}) < max(len(picks), 2):
        return None
    best = max(picks, key=lambda pick: pick.scored.coverage)
    if max(best.scored.coverage, *(pick.match for pick in picks)) < support:
        return None
    return Operands(
        cells=tuple(pick.cell for pick in picks),
        units=tuple(pick.unit for pick in picks),
        best=best.scored,
        operation=comparison.operation,
        percent=comparison.percent,
        match=min(pick.match for pick in picks),
    )


def _aligned(pick: CellPick, known: CellPick) -> bool:
    """Whether two cells stand in one column or in one row of a table."""
    one_row, one_head = pick.unit == known.unit, pick.cell.head == known.cell.head
    return one_row != one_head and pick.unit.page == known.unit.page


def _subject_cell(
    question: Question, subject: frozenset[str], others: frozenset[str], ranked: Sequence[Scored], amounts: bool
) -> CellPick | None:
    """The best cell for a subject, for the question without the terms of the other subject.

    Its address has all of the subject that isn't said elsewhere on the page; `amounts` takes no percentages where the
    row has something else.
    """
    # Of two subjects, the total may be what is compared.
    unsaid = _unsaid(question, ranked)
    drop = (others - subject) | (OPERATION_TERMS - set(terms("total"))) | unsaid
    kept = {term for term in question.terms if term not in drop} | (subject - unsaid & _MEASURES)
    asked = question.model_copy(update={"answer_type": "number", "terms": tuple(sorted(kept))})
    named, rank = (subject - _MEASURES) or subject, _rank(subject)
    picks = cell_picks(asked, ranked, drop=drop - named)
    if rank is not None:
        picks, named = [pick for pick in picks if re.match(rf"\W?{rank}\b", pick.unit.label)], frozenset((rank,))
    for pick in picks[:_TRIED]:
        absent = named - set(question.years) - _address(pick)
        if not is_number(pick.cell.text) or pick.match < _MATCH or absent == named or absent & set(pick.scored.missing):
            continue
        if not (amounts and "%" in pick.cell.text and any("%" not in cell.text for cell in pick.unit.cells)):
            return pick
    return None


def _unsaid(question: Question, ranked: Sequence[Scored]) -> frozenset[str]:
    """What no page says of how things are measured; of a Chinese question any term, since pairs of characters straddle
    its words and what it compares.
    """
    nowhere = frozenset.intersection(*(frozenset(item.missing) for item in ranked))
    return nowhere if question.language == "zh" else nowhere & _MEASURES


def _rank(subject: frozenset[str]) -> str | None:
    """The number of a subject that is called by its rank ("rank 19")."""
    numbers = [term for term in subject if term.isdigit() and len(term) <= _LONGEST_RANK]
    return numbers[0] if "rank" in subject and len(numbers) == 1 else None


def _row_terms(pick: CellPick) -> frozenset[str]:
    beside = " ".join(cell.text for cell in pick.unit.cells if cell is not pick.cell)
    return frozenset(terms(f"{pick.unit.label} {pick.unit.section} {beside}"))


def _address(pick: CellPick) -> set[str]:
    unit = pick.unit
    beside = " ".join(cell.text for cell in unit.cells if cell is not pick.cell)
    return set(terms(f"{unit.label} {unit.section} {pick.cell.head} {unit.heading} {beside}"))
