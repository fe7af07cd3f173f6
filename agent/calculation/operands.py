"""What a calculation works on: cells in order, the arithmetic over them, and how the result is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agent.question import Question
from agent.ranking import Scored
from agent.reading import Unit
from agent.tables.rows import Cell
from agent.values import values
from tools.arithmetic import Operation, Scale

_NOTHING = re.compile(r"[\s$€£¥]*[–—-]+\s*")


@dataclass(frozen=True, slots=True)
class Operands:
    """Cells in the order in which they are calculated with, the row of each, and the best row as it was ranked.

    `operation` or `expression` says what is calculated; with neither, the cells themselves are the answer. `percent`:
    a quotient is wanted as a percentage. `scale` is what the cells are given in and `into` what the question
    wants, where they differ. `match` is how well the cells meet the question, 0 to 1.
    """

    cells: tuple[Cell, ...]
    units: tuple[Unit, ...]
    best: Scored
    operation: Operation | None = None
    expression: str | None = None
    percent: bool = False
    scale: Scale | None = None
    into: Scale | None = None
    match: float = 1.0

    @property
    def coverage(self) -> float:
        """The share of the question that is met. What is computed, or how an account is called, needn't be said near
        it: then the operands meet the question as surely as they were found.
        """
        return max(self.best.coverage, self.match)

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The calculator's arguments; None when there is nothing to calculate."""
        scales = {"scale": self.scale, "into": self.into} if self.scale is not None and not self.percent else {}
        numbers = _magnitudes([plain_number(cell.text) for cell in self.cells])
        if self.expression is not None:
            return {"expression": f"{self.expression} * 100" if self.percent else self.expression, **scales}
        if self.operation == "ratio" and self.percent:
            return {"expression": f"{numbers[1]} / {numbers[0]} * 100"}
        if self.operation is not None:
            return {"operation": self.operation, "values": numbers, **scales}
        return {"expression": numbers[0], **scales} if scales and len(numbers) == 1 else None

    @property
    def listed(self) -> str:
        """The cells as an answer of their own."""
        return "; ".join(cell.text.strip() for cell in self.cells)

    def answer(self, question: Question, value: str) -> str:
        """A result as the question wants it: its decimals, else two where there are any; a sign on percentages."""
        number = Decimal(value)
        sign = "%" if self._is_percentage else ""
        if question.decimals is not None:
            return f"{round(number, question.decimals):f}{sign}"
        text = f"{round(number, self._places(number)):f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) + sign

    def _places(self, number: Decimal) -> int:
        """Decimals where the question wants none: two, of a small quotient as many as tell three digits."""
        if number == number.to_integral():
            return 0
        return 2 if abs(number) >= 1 or not number or self._is_percentage else 2 - number.adjusted()

    @property
    def _is_percentage(self) -> bool:
        whole = self.operation in ("difference", "average", "sum") and all("%" in cell.text for cell in self.cells)
        return self.percent or self.operation == "growth" or whole


def _magnitudes(numbers: list[str]) -> list[str]:
    """Numbers without their signs when all are negative: expenses in brackets grow and add up as amounts."""
    return [number[1:] for number in numbers] if all(number.startswith("-") for number in numbers) else numbers


def plain_number(text: str) -> str:
    """A cell as a plain decimal; brackets make it negative, a dash is nothing. The text itself without a number."""
    if _NOTHING.fullmatch(text):
        return "0"
    found = [value for value in values(text.strip("()$€£¥ ")) if value.number is not None]
    if not found:
        return text
    number = f"{found[0].number:f}"
    return f"-{number}" if text.strip(" $€£¥").startswith("(") and not number.startswith("-") else number
