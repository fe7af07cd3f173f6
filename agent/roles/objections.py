"""What speaks against a claim although its value stands in the evidence: another column, row, scale, currency or unit;
words that don't show it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.answers import denied
from agent.matching import is_chinese, terms
from agent.question import Question
from agent.tables.scales import power_of
from agent.values import Value, figurative, values, years
from agent.verifier import Case
from tools.types import Evidence

_SHORT, _SHOWN = 4, 160
_OVERLAP = 0.3
_LEAST_WORDS = 3
_NAME = re.compile(r"\b[A-Z][\w&’'-]+(?:\s+[A-Z][\w&’'-]+)*")
_UNITS: dict[str, str] = {
    word: unit
    for unit, words in {
        "mass": "kg kilogram kilograms g gram grams",
        "heavy": "t ton tons tonne tonnes",
        "pound": "lb lbs",
        "volume": "l litre litres liter liters",
        "gallon": "gallon gallons",
        "metre": "m metre metres meter meters",
        "kilometre": "km kilometre kilometres kilometer kilometers",
        "small": "mm millimetre millimetres cm centimetre centimetres",
        "mile": "mile miles mi",
        "foot": "ft foot feet",
        "second": "s second seconds sec",
        "minute": "min minute minutes",
        "hour": "h hour hours",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "point": "points 个百分点 個百分點",
    }.items()
    for word in words.split()
}


def misread(question: Question, claim: str, cited: Sequence[Evidence]) -> str:
    """Why a value that stands in the evidence is not the one that is claimed; "" when nothing speaks against it.

    Years over the columns of a row, the row's label, currency, scale and unit are compared where both sides state them.
    """
    for value in values(claim):
        holders = [(item, other) for item in cited for other in values(item.text) if value.same(other)]
        problems = [_unlike(question, claim, value, item, other) for item, other in holders]
        if problems and all(problems):
            return problems[0]
    return ""


def _unlike(question: Question, claim: str, value: Value, item: Evidence, other: Value) -> str:
    column = _column_year(item, other) if item.kind == "row" else None
    if question.years and column is not None and column not in question.years:
        return f"{other.text} stands in the column of {column}, not of {', '.join(question.years)}"
    if item.kind == "row" and (label := _other_row(question, item)):
        return f"{other.text} stands in the row of {label!r}"
    whole = f"{item.context} {item.text}"
    if value.currency and other.currency and value.currency != other.currency:
        return f"the evidence gives {other.text}, in another currency"
    if value.kind == "percent" and other.kind != "percent" and not re.search(r"[%％]|per ?cent|百分", whole):
        return f"the evidence gives {other.text}, and no percentage"
    mine, theirs = value.scale, _scale(item, other)
    if mine != 1 and theirs not in (mine, 0):
        return f"the evidence gives {other.text} in another scale"
    stated, there = _unit(claim, value), _unit(item.text, other)
    if stated and there and stated != there:
        return f"the evidence gives {other.text} in another unit"
    return ""


def _scale(item: Evidence, other: Value) -> int:
    """The scale of a value in the evidence: its own, else that of its table; 0 where none is stated."""
    if other.scale != 1:
        return other.scale
    power = power_of(item.context)
    return 10**power if power else 0


def _unit(text: str, value: Value) -> str:
    """What the word after a value measures; "" where it is no unit that is known."""
    match = re.match(r"\s*(?:percentage\s+)?([A-Za-z]+|[个個]百分[点點])", text[value.stop :])
    return _UNITS.get(match.group(1).lower(), "") if match else ""


def _column_year(item: Evidence, other: Value) -> str | None:
    """The year over the column that a value of a row stands in; None where heads and values don't pair off."""
    heads = [year for part in item.context.split("|") if len(found := years(part)) == 1 for year in found]
    cells = [value for value in values(item.text) if value.kind not in ("date", "year")]
    at = next((i for i, cell in enumerate(cells) if cell.start == other.start), None)
    return heads[at] if at is not None and len(heads) == len(cells) > 1 else None


def _other_row(question: Question, item: Evidence) -> str:
    """The label of a row that names something else than the question does; "" where it may be the row meant."""
    label = re.split(r"\s[-(]?[$€£¥]?\d", item.text, maxsplit=1)[0].strip(" :：")
    wanted, named = set(question.terms), set(terms(label))
    around = named | set(terms(item.context)) | set(question.years)
    if not named or not wanted or not wanted & named:
        return ""
    light = {term for term in wanted if term.isdigit()}
    return label if named - wanted and wanted - around - light and len(wanted - around - light) == 1 else ""


def beside_the_point(case: Case, claim: str, quote: str) -> str:
    """Why words that stand in the evidence don't show a claim: they lack its value, its name or nearly all its words.

    Yes and no stand nowhere, and a count beside as many facts.
    """
    question = case.question
    if case.draft.calculation is not None:
        return ""  # a result stands beside its operands, which were looked for
    if len(terms(quote)) < min(_LEAST_WORDS, len(terms(claim))):
        return f"the words {cut(quote)!r} say too little"
    if question.answer_type == "yes_no":
        return ""
    if not is_chinese(claim) and len(terms(claim)) > _SHORT and denied(claim) != denied(quote):
        return f"the words {cut(quote)!r} differ in negation"
    given = values(question.text)
    claimed = [v for v in values(claim) if not figurative(v) and not any(v.same(known) for known in given)]
    if question.answer_type == "count" and any(value.number == len(case.facts) for value in claimed):
        return ""
    if claimed and not any(value.same(other) for value in claimed for other in values(quote)):
        return f"the words {cut(quote)!r} don't give {claimed[0].text}"
    wanted = set(terms(claim))
    if not claimed and len(wanted) <= _SHORT and len(wanted & set(terms(quote))) * 2 < len(wanted):
        return f"the words {cut(quote)!r} don't name it"
    return ""


def shows(claim: str, quote: str, known: str) -> bool:
    """Whether a quote has enough of a claim's words, and the evidence its names, to stand for it by itself."""
    wanted = set(terms(claim))
    if any(not set(terms(match.group())) <= set(terms(known)) for match in _NAME.finditer(claim) if match.start()):
        return False
    return not wanted or len(wanted & set(terms(quote))) >= _OVERLAP * len(wanted)


def cut(text: str) -> str:
    """A quote as a reason shows it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
