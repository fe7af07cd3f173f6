"""The rules by which a claim is checked against evidence: values, years, names, negation, words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.answers import denied
from agent.calculation.formulas import constants_of
from agent.matching import is_chinese, terms
from agent.question import Question
from agent.types import Fact, Verdict
from agent.values import Value, figurative, values, years
from tools.types import Evidence

_WORDS = 0.6
_UNIT = 2
_PROSE = 20
"""From so many characters on a claim is running text, in which a Chinese number may be a manner of speaking."""
_NAME = re.compile(r"\b[A-Z][\w&’'-]+(?:\s+[A-Z][\w&’'-]+)*")
_YES = re.compile(r"^(?:yes|是|对)[.。]?$", re.IGNORECASE)
_NO = re.compile(r"^(?:no|否|不是)[.。]?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with its reason. `strength` is how firmly the evidence supports the claim, 0 to 1."""

    verdict: Verdict
    strength: float
    reason: str


def check_claim(
    question: Question, claim: str, fact: Fact, sources: Sequence[Evidence], calculation: str | None = None
) -> Check:
    """The verdict on a claim by the evidence of one fact. The statement of the fact is checked as well."""
    text = " ".join(source.text for source in sources)
    whole = " ".join([text, *(source.context for source in sources)])
    if (wrong := _wrong_year(question, fact, whole)) is not None:
        return wrong
    if _YES.match(claim) or _NO.match(claim):
        return _check_polarity(question, claim, text)
    if calculation is not None:
        return _check_calculation(question, claim, whole, calculation)
    if (wrong := _wrong_value(claim, whole)) is not None:
        return wrong
    return _check_words(claim, text, whole)


def _wrong_year(question: Question, fact: Fact, evidence: str) -> Check | None:
    """A contradiction when the question is about a year, and the fact or its evidence only about others."""
    if not question.years or question.answer_type == "date":
        return None
    for where, found in (("fact", years(fact.text)), ("evidence", years(evidence))):
        if found and not set(found) & set(question.years):
            return Check(
                "contradicted", 0.0, f"the {where} is about {', '.join(found)}, not {', '.join(question.years)}"
            )
    return None


def _check_polarity(question: Question, claim: str, text: str) -> Check:
    asked = set(question.terms)
    shared = len(asked & set(terms(text))) / len(asked) if asked else 0.0
    if shared < _WORDS:
        return Check("unsupported", 0.0, f"the evidence has only {shared:.0%} of the question's terms")
    affirmed = denied(text, asked=question.text) == question.negated
    if affirmed != bool(_YES.match(claim)):
        return Check("contradicted", 0.0, "the evidence says the opposite")
    return Check("supported", shared, "the evidence states what the question asks, with the same negation")


def _check_calculation(question: Question, claim: str, evidence: str, calculation: str) -> Check:
    """The operands must stand in the evidence or be constants of the formula, and the claim must be the result."""
    left, _, right = calculation.rpartition("=")
    known = [value.number for value in values(evidence.replace("(", " ").replace(")", " ")) if value.number is not None]
    known += constants_of(question)
    for operand in re.findall(r"\d+(?:\.\d+)?", left.replace("* 100", "")):
        if not any(abs(number) == abs(Decimal(operand)) for number in known):
            return Check("unsupported", 0.0, f"the operand {operand} doesn't stand in the evidence")
    result = Decimal(right.strip())
    claimed = [value.number for value in values(claim) if value.number is not None]
    if not claimed or not any(abs(abs(number) - abs(result)) <= abs(result) / 100 for number in claimed):
        return Check("contradicted", 0.0, f"the calculation gives {right.strip()}")
    return Check("supported", 1.0, f"calculated from the evidence: {calculation}")


def _wrong_value(claim: str, evidence: str) -> Check | None:
    """A value of the claim that the evidence doesn't have: contradicted when it has another of the same kind."""
    there = values(evidence)
    prose = len(claim) > _PROSE and is_chinese(claim)
    for value in values(claim):
        if prose and figurative(value):
            continue
        if any(value.same(other) for other in there):
            continue
        rivals = [other.text for other in there if _comparable(value, other)]
        if rivals:
            return Check(
                "contradicted", 0.0, f"{value.text} isn't in the evidence, which gives {', '.join(rivals[:4])}"
            )
        return Check("unsupported", 0.0, f"{value.text} isn't in the evidence")
    return None


def _without_values(text: str) -> str:
    """A text without its numbers and dates, which may be written in another way in the evidence."""
    for value in reversed(values(text)):
        text = text[: value.start] + " " + text[value.stop :]
    return text.strip(" .,;$€£¥%()")


def _comparable(value: Value, other: Value) -> bool:
    dated = {"date", "year"}
    if value.kind in dated or other.kind in dated:
        return value.kind in dated and other.kind in dated
    return value.kind == other.kind or "money" not in (value.kind, other.kind)


def _check_words(claim: str, text: str, whole: str) -> Check:
    rest = _without_values(claim)
    wanted = set(terms(rest.replace("…", " ")))
    have = set(terms(whole))
    if len(rest) <= _UNIT or not wanted:
        # Only a value with its measure word: values were compared before.
        if rest != claim or claim in whole:
            return Check("supported", 1.0, "it stands in the quoted text")
        return Check("unsupported", 0.0, "there is nothing to compare")
    for match in _NAME.finditer(claim):
        if match.start() and not set(terms(match.group())) <= have:
            return Check("unsupported", 0.0, f"{match.group()} isn't named in the evidence")
    shared = len(wanted & have) / len(wanted)
    if shared < _WORDS:
        return Check("unsupported", 0.0, f"the evidence has only {shared:.0%} of the claim's words")
    if denied(claim) != denied(text) and len(wanted) > 3 and len(terms(text)) <= 3 * len(wanted):
        return Check("contradicted", 0.0, "claim and evidence differ in negation")
    return Check(
        "supported", shared, f"the evidence has {shared:.0%} of the claim's words, its values and its negation"
    )
