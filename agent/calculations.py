"""Find what a question wants calculated: cells of one row in several years, or of two rows in one column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.answers import best_cell
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables import Cell
from agent.values import values, years

_SEARCHED = 80


@dataclass(frozen=True, slots=True)
class Operands:
    """Cells in the order in which they are calculated with, the row of each, and the best row as it was ranked."""

    cells: tuple[Cell, ...]
    units: tuple[Unit, ...]
    best: Scored


def operands(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The operands of a question's calculation, or the cells of each year that it names; None when it wants neither."""
    rows = [item for item in ranked[:_SEARCHED] if item.unit.cells and item.coverage >= support]
    if question.operation is not None and len(question.compared) == 2:
        return _two_rows(question, rows)
    if len(question.years) >= 2:
        return _one_row(question, rows)
    return None


def plain_number(text: str) -> str:
    """A cell as a plain decimal; brackets make it negative. The text itself when it holds no number."""
    found = [value for value in values(text.strip("()$€£¥ ")) if value.number is not None]
    if not found:
        return text
    number = f"{found[0].number:f}"
    return f"-{number}" if text.strip(" $€£¥").startswith("(") else number


def rounded(question: Question, value: str) -> str:
    """A result as the question wants it: its decimals, else two where there are any; a percent sign on growth."""
    number = Decimal(value)
    places = question.decimals if question.decimals is not None else (2 if number != number.to_integral() else 0)
    return f"{round(number, places):f}%" if question.operation == "growth" else f"{round(number, places):f}"


def stated(question: Question, text: str) -> bool:
    """Whether a text itself speaks of the change or sum that a question asks for, so that nothing is to calculate."""
    return question.operation is None or bool(_SPOKEN[question.operation] & set(terms(text)))


_CHANGE = frozenset(
    terms("increase decrease change grew rose fell growth declined up down higher lower 增长 下降 增加 减少 相差")
)
_SPOKEN: dict[str, frozenset[str]] = {
    "growth": _CHANGE,
    "difference": _CHANGE | frozenset(terms("difference gap fewer net")),
    "ratio": frozenset(terms("ratio times 比率 倍")),
    "average": frozenset(terms("average mean 平均")),
    "sum": frozenset(terms("total sum combined 合计 共计 总计 总数 共")),
}


def _one_row(question: Question, rows: Sequence[Scored]) -> Operands | None:
    ordered = sorted(question.years)
    for item in rows:
        dated: dict[str, Cell] = {}
        for cell in item.unit.cells:
            for year in years(cell.head):
                dated.setdefault(year, cell)
        cells = tuple(dated[year] for year in ordered if year in dated)
        wrong_kind = question.operation is None and question.answer_type == "percent"
        if len(cells) == len(ordered) and all(_is_number(cell.text) for cell in cells):
            if wrong_kind and not all("%" in cell.text for cell in cells):
                continue
            return Operands(cells=cells, units=(item.unit,) * len(cells), best=item)
    return None


def _two_rows(question: Question, rows: Sequence[Scored]) -> Operands | None:
    found: list[tuple[Scored, Cell]] = []
    for subject in question.compared:
        wanted = set(terms(subject))
        for item in rows:
            cell = best_cell(question, item.unit)
            if wanted and wanted <= set(terms(item.unit.label)) and cell is not None and _is_number(cell.text):
                if found and found[0][0].unit.page != item.unit.page:
                    continue
                found.append((item, cell))
                break
    if len(found) != 2 or found[0][0].unit == found[1][0].unit:
        return None
    # "How much more is A than B" is A - B, and the calculator takes the second value minus the first.
    found.reverse()
    return Operands(
        cells=tuple(cell for _, cell in found), units=tuple(item.unit for item, _ in found), best=found[0][0]
    )


def _is_number(text: str) -> bool:
    return any(value.number is not None for value in values(text))
