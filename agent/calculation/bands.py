"""Rows that are ranges (ages, incomes), added up where a question names a bound: "the share of people over 65"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.calculation.aggregates import OPERATION_TERMS, column_rows
from agent.calculation.operands import Operands
from agent.matching import terms
from agent.question import Question, question_body
from agent.ranking import Scored
from agent.tables.cells import cell_picks, is_number
from agent.tables.grid import BAND, is_band

_NUMBER = r"[$€£¥]?\s?(?P<n>\d[\d,]*(?:\.\d+)?)\s?(?P<scale>[km](?![a-z])|thousand|million|万)?"
_ABOVE = re.compile(
    r"(?:>=?|≥|\b(?:over|above|more than|greater than|higher than|older than|at least|exceeding)\b"
    rf"|超过|高于|大于|不少于)\s*{_NUMBER}",
    re.IGNORECASE,
)
_UPWARD = re.compile(
    rf"{_NUMBER}(?:(?: years?)?(?: old)?,? (?:or|and|years and) (?:older|more|above|over|higher|up)\b"
    r"|\s?(?:岁|元)?(?:及|或)?以上)",
    re.IGNORECASE,
)
_SCALES = {"k": 1000, "thousand": 1000, "m": 10**6, "million": 10**6, "万": 10_000}
_BELOW = re.compile(
    r"(?:<=?|≤|\b(?:under|below|less than|lower than|younger than|fewer than|at most)\b|低于|小于|少于|不足)"
    rf"\s*{_NUMBER}",
    re.IGNORECASE,
)
_FEWEST = 2
_TRIED = 12
_MATCH = 0.3


@dataclass(frozen=True, slots=True)
class Bound:
    """What a range must start at or above, or end at or below."""

    number: Decimal
    above: bool
    said: str

    def holds(self, band: tuple[Decimal, Decimal | None]) -> bool:
        """Whether all of a range is on the side of the bound. The end of a range may be one short of the bound."""
        low, high = band
        return low >= self.number if self.above else high is not None and high <= self.number

    def touches(self, band: tuple[Decimal, Decimal | None]) -> bool:
        """Whether a range begins, or ends, right at the bound."""
        end = band[0] if self.above else band[1]
        return end is not None and abs(end - self.number) <= 1


def bound_of(question: Question) -> Bound | None:
    """The bound that a question names; None when it names none."""
    body = question_body(question.text)
    for above, pattern in ((True, _UPWARD), (True, _ABOVE), (False, _BELOW)):
        if (match := pattern.search(body)) is not None:
            scale = _SCALES.get((match["scale"] or "").lower(), 1)
            return Bound(Decimal(match["n"].replace(",", "")) * scale, above, match.group())
    return None


def band_of(label: str) -> tuple[Decimal, Decimal | None] | None:
    """The range at the end of a label, ("Age 65-69", "$75K+"), without an upper end where it is open; None without."""
    match = re.search(rf"(?<![\w.,])(?:{BAND.pattern})$", label.strip())
    if match is None or not is_band(match.group().strip()):
        return None
    text = match.group()
    ends = [
        Decimal(number.replace(",", "")) * _SCALES.get(scale.lower(), 1)
        for number, scale in re.findall(r"(\d[\d,]*(?:\.\d+)?)\s?([KkMm]?)", text)
    ]
    if len(ends) > 1:
        return ends[0], ends[-1]
    return (Decimal(0), ends[0]) if text.lstrip()[0] in "<≤" else (ends[0], None)


def banded(question: Question, ranked: Sequence[Scored], support: float) -> Operands | None:
    """The cells of the ranges on one side of the bound that a question names, to be added up.

    None without a bound, and where no table has a range that begins or ends at it.
    """
    bound = bound_of(question)
    if bound is None or question.operation not in (None, "sum"):
        return None
    asked = question.model_copy(update={"operation": None})
    for pick in cell_picks(asked, ranked, drop=OPERATION_TERMS | set(terms(bound.said)))[:_TRIED]:
        if pick.match < _MATCH or not is_number(pick.cell.text) or band_of(pick.unit.label) is None:
            continue
        rows = [(unit, cell, band) for unit, cell in column_rows(pick, ranked) if (band := band_of(unit.label))]
        kept = [row for row in rows if bound.holds(row[2])]
        if len(rows) < _FEWEST or not any(bound.touches(row[2]) for row in kept):
            continue
        if max(pick.scored.coverage, pick.match) < support:
            return None
        return Operands(
            cells=tuple(cell for _, cell, _ in kept),
            units=tuple(unit for unit, _, _ in kept),
            best=pick.scored,
            operation="sum" if len(kept) > 1 else None,
            match=pick.match,
        )
    return None
