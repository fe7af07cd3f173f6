"""Calculations over a column of a table: average, sum of the largest, and how many rows meet a condition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from agent.calculation.operands import Operands, plain_number
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.cells import CellPick, cell_picks, cell_years, is_number
from agent.tables.rows import Cell
from tools.arithmetic import Operation

SUMMARY = re.compile(
    r"^(?:(?:grand )?total|sub-?total|average|mean|all|overall|net)\b|^(?:合计|总计|小计|平均)", re.IGNORECASE
)
"""Labels of rows that sum up others."""
_TOP = re.compile(
    r"\b(?:top|largest|highest|biggest) ?(?P<n>\d+|two|three|four|five)\b"
    r"|\b(?P<k>two|three|four|five) (?:largest|highest|biggest)\b|前(?P<h>[二三四五两])",
    re.IGNORECASE,
)
_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5}
_CONDITION = re.compile(
    r"\b(?:how many|number of)\b.*?\b(?P<than>more than|over|above|greater than|higher than|exceed(?:s|ed|ing)?"
    r"|at least|less than|fewer than|lower than|under|below|at most)\s*(?P<number>[$€£¥]?\s?\d[\d,.]*)"
    r"|(?P<hthan>超过|大于|高于|多于|不少于|低于|少于|小于|不足)\s*(?P<hnumber>\d[\d,.]*)",
    re.IGNORECASE,
)
_BELOW = re.compile(r"less|fewer|lower|under|below|most|低于|少于|小于|不足", re.IGNORECASE)
_EQUAL = re.compile(r"at least|at most|不少于", re.IGNORECASE)
_FEWEST = 3
_TRIED = 8
OPERATION_TERMS = frozenset(
    terms(
        "average mean sum total altogether combined number count many top largest highest biggest add more less fewer"
        " greater lower higher least most over above below under exceed than difference change growth rate ratio"
        " percentage percent increase decrease compare gap times constitution proportion share among fraction roi"
        " grow grew grown rise rose risen climb climbed fall fell fallen drop dropped decline declined shrink shrank"
        " 平均 合计 总共 超过 低于 大于 小于"
    )
)
"""Words that say what to do with a column, not which one. A cell whose address has them states the result."""
_MATCH = 0.3


def aggregate(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The cells of a column over which a question wants an operation; None when it wants none or no table meets it."""
    condition = _CONDITION.search(question.text)
    top = _TOP.search(question.text)
    if condition is None and question.operation not in ("average", "sum"):
        return None
    said = " ".join(match.group() for match in (condition, top) if match is not None)
    given = {term for term in terms(said) if term[0].isdigit()}
    plain = question.model_copy(update={"answer_type": "number", "operation": None})
    for pick in cell_picks(plain, ranked, drop=OPERATION_TERMS | given)[:_TRIED]:
        if pick.match < _MATCH or max(pick.scored.coverage, pick.match) < support or not is_number(pick.cell.text):
            continue
        if condition is None and OPERATION_TERMS & set(terms(f"{pick.unit.label} {pick.cell.head}")):
            return None
        rows = column_rows(pick, ranked)
        if len(rows) < _FEWEST or _names_row(question, pick, rows):
            continue
        if condition is not None:
            return _counted(condition, pick, rows)
        if top is not None:
            count = next(group for group in top.groups() if group)
            number = int(count) if count.isdigit() else _WORDS[count.lower()]
            rows = sorted(rows, key=lambda row: -Decimal(plain_number(row[1].text)))[:number]
        operation: Operation = "average" if question.operation == "average" else "sum"
        return _operands(pick, rows, operation)
    return None


def column_rows(pick: CellPick, ranked: Sequence[Scored]) -> list[tuple[Unit, Cell]]:
    """The rows of a cell's table with the cell below the same head, in the same year; rows that sum up are left out."""
    unit, found = pick.unit, []
    period = cell_years(unit, pick.cell)
    for item in sorted(ranked, key=lambda scored: scored.unit.order):
        other = item.unit
        if not other.cells or (other.page, other.heading) != (unit.page, unit.heading) or SUMMARY.match(other.label):
            continue
        cell = next((c for c in other.cells if c.head == pick.cell.head and is_number(c.text)), None)
        if cell is not None and cell_years(other, cell) == period and other.section == unit.section:
            found.append((other, cell))
    return found


def _names_row(question: Question, pick: CellPick, rows: Sequence[tuple[Unit, Cell]]) -> bool:
    """Whether the question names one row of the table, so that it isn't about all of them."""
    shared = set.intersection(*(set(terms(unit.label)) for unit, _ in rows))
    named = (set(terms(pick.unit.label)) - shared) & set(question.terms)
    others = {term for unit, _ in rows if unit is not pick.unit for term in terms(unit.label)}
    return bool(named - others) or bool(SUMMARY.match(pick.unit.label))


def _counted(condition: re.Match[str], pick: CellPick, rows: Sequence[tuple[Unit, Cell]]) -> Operands | None:
    """The rows that meet a condition, to be counted; None when no row does."""
    than = condition["than"] or condition["hthan"]
    bound = Decimal(re.sub(r"[^\d.]", "", condition["number"] or condition["hnumber"]).rstrip(".") or "0")
    sign: Literal[-1, 1] = -1 if _BELOW.search(than) else 1
    equal = _EQUAL.search(than) is not None
    kept = []
    for unit, cell in rows:
        ahead = (Decimal(plain_number(cell.text)) - bound) * sign
        if ahead > 0 or (equal and ahead == 0):
            kept.append((unit, cell))
    return _operands(pick, kept, "count") if kept else None


def _operands(pick: CellPick, rows: Sequence[tuple[Unit, Cell]], operation: Operation) -> Operands:
    return Operands(
        cells=tuple(cell for _, cell in rows),
        units=tuple(unit for unit, _ in rows),
        best=pick.scored,
        operation=operation,
        match=pick.match,
    )
