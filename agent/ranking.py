"""Rank the units of the pages that were read by how well they meet a question."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from agent.matching import Source, Weights, credits_of, terms
from agent.question import Question
from agent.reading import Unit, units_of
from agent.types import AnswerType
from agent.values import Value, ValueKind, values
from retrieval.types import Page, PageRef

WANTED: dict[AnswerType, frozenset[ValueKind]] = {
    "number": frozenset({"number", "percent", "money"}),
    "count": frozenset({"number"}),
    "percent": frozenset({"percent"}),
    "money": frozenset({"money", "number"}),
    "date": frozenset({"date", "year"}),
}
_CONTEXT_CREDIT = 0.85
_TITLE_CREDIT = 0.7
_PAGE_CREDIT = 0.45
_NEIGHBOUR_CREDIT = 0.6
_COLUMN_CREDIT = 0.9


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its score for ordering and its coverage: the weighted share of the question's terms that it meets."""

    unit: Unit
    score: float
    coverage: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that may be quoted, its rank in retrieval (1-based), and the names its document is known by.

    `name` is the file name that people see.
    """

    page: Page
    rank: int
    titles: str = ""
    name: str = ""


def rank_units(question: Question, pages: Sequence[PageRead], before: Sequence[Scored] = ()) -> list[Scored]:
    """All units of the pages, best first. Those that were ranked `before` stand for all units of their pages."""
    if not pages:
        return []
    everywhere = frozenset.intersection(*(frozenset(terms(read.titles)) for read in pages))
    weights = Weights.over((read.page.text for read in pages), light=everywhere - set(question.years))
    known: dict[PageRef, list[Scored]] = {}
    for item in before:
        known.setdefault(item.unit.page, []).append(item)
    scored: list[Scored] = []
    for read in pages:
        scored += known.get(read.page.ref) or _page_units(question, read, weights)
    return sorted(scored, key=lambda item: -item.score)


def wanted_values(question: Question, text: str) -> list[Value]:
    """The values of a text that could answer the question: of the wanted kind, and not those the question gives."""
    kinds = WANTED.get(question.answer_type)
    if kinds is None:
        return []
    given = values(question.text)
    found = [v for v in values(text) if v.kind in kinds]
    if given and found:
        found = [v for v in found if not any(v.same(g) for g in given)]
    if question.answer_type == "date":
        return [v for v in found if (v.weekday is not None) == question.weekday]
    if question.answer_type == "percent" and not found:
        # A table of percentages writes the sign in its head or not at all.
        found = [v for v in values(text) if v.kind == "number" and v.number is not None and abs(v.number) <= 1000]
    return found


def _page_units(question: Question, read: PageRead, weights: Weights) -> list[Scored]:
    wanted = question.terms
    shares = weights.shares(wanted)
    page = credits_of(wanted, Source.of(read.titles, _TITLE_CREDIT), Source.of(read.page.text, _PAGE_CREDIT))
    units = units_of(read.page)
    found = []
    for number, unit in enumerate(units):
        # What a list lists is said by its heading.
        listed = question.answer_type == "list" and unit.role == "list_item"
        own = credits_of(wanted, Source.of(f"{unit.heading} {unit.text}" if listed else unit.text))
        near = credits_of(wanted, Source.of(unit.context, _CONTEXT_CREDIT), _around(read.page, units, number))
        best = [max(credit) for credit in zip(own, near, page, strict=True)]
        coverage = min(sum(map(operator.mul, shares, best)), 1.0)
        missing = tuple(term for term, credit in zip(wanted, best, strict=True) if not credit)
        score = 0.5 * (coverage + sum(map(operator.mul, shares, own))) * _shape(question, unit)
        found.append(Scored(unit=unit, score=score + _bonus(question, read, unit), coverage=coverage, missing=missing))
    return found


def _around(page: Page, units: Sequence[Unit], number: int) -> Source:
    """The text next to a unit. Columns of a vertical page run on, so there it counts nearly as much as the unit."""
    if page.writing == "vertical":
        return Source.of("".join(u.text for u in units[max(number - 1, 0) : number + 2]), _COLUMN_CREDIT)
    near = [u.text for u in units[max(number - 1, 0) : number + 2] if u is not units[number] and u.kind != "row"]
    return Source.of(" ".join(near), _NEIGHBOUR_CREDIT)


def _shape(question: Question, unit: Unit) -> float:
    """A factor for what the unit is: whether it has a value of the wanted type, its role and length."""
    factor = 1.0
    operand = question.operation is not None and bool(unit.cells)
    if question.answer_type in WANTED and not operand and not wanted_values(question, unit.text):
        factor *= 0.5
    if unit.role == "heading" or unit.text.rstrip().endswith(("?", "？", ":", "：")):
        factor *= 0.6
    if question.answer_type == "list" and unit.role == "list_item":
        factor *= 1.2
    if unit.cells and (label := set(terms(unit.label))):
        # "Total liabilities" is asked for, not "Total current liabilities".
        factor *= 0.7 + 0.3 * len(label & set(question.terms)) / len(label)
    if "contents" in unit.heading.lower() or unit.heading in ("目录", "目錄"):
        factor *= 0.4
    length = len(terms(unit.text))
    if length > 40:
        factor *= 0.9
    return factor


def _bonus(question: Question, read: PageRead, unit: Unit) -> float:
    """What retrieval and the places that the question names add."""
    bonus = 0.2 / (1 + read.rank / 3)
    for reference in question.references:
        if reference.kind in ("page", "slide") and str(reference.number) in (read.page.label, str(read.page.ref.page)):
            bonus += 0.25
        elif reference.kind in ("figure", "table") and str(reference.number) in terms(unit.text + " " + unit.context):
            bonus += 0.1
    if any(phrase.lower() in unit.text.lower() for phrase in question.phrases):
        bonus += 0.15
    return bonus
