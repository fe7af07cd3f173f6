"""Answers that are counted: what a document has, by the inventory tool, and the members of what a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.draft import Draft, Request
from agent.listing.inventories import Asked, asked_of_inventory
from agent.listing.lists import NEEDS_EYES, draft_of, rating
from agent.listing.members import Item, members, stated_numbers
from agent.matching import terms
from agent.question import Question
from agent.ranking import Scored
from agent.values import Value, values
from tools.base import ToolResult

_MEMBERS = re.compile(
    r"\bhow (?:many )?(?:\w+ )?(?:steps|stages|phases)\b|\bhow many\b(?!\s+(?:more|less|fewer|times|much))"
    r"|有[几多]|[几多]少?[个個種种類类項项條条點点步]",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"\bhow many (?:\w+ )?(?:people|percent|dollars|years?|months?|weeks?|days?|hours?|minutes|users|customers|"
    r"employees|members|students|respondents|adults|shares|units|stores|countries|claims|examples|samples|likes|votes|"
    r"words|tokens|million|billion|thousand|times|more|less|fewer)\b|"
    r"\brespectively\b|\bper\b|\bmore than\b|\bfewer than\b|\bless than\b|"
    r"\b(?:outperform|exceed|surpass|beat|compare|differ)\w*\b|比.*[多少]",
    re.IGNORECASE,
)
"""What is given as a number, or follows from comparing numbers, and isn't listed."""
_UNANNOUNCED = 0.5
_SAID = 0.6
_TRIED = 8
_STEPS = frozenset(terms("step stage procedure phase 步骤"))


@dataclass(frozen=True, slots=True)
class _Count:
    """A number of members with its probability and what shows it.

    `given` when the text itself says the number; `said` are its words for it when it doesn't write digits ("nine").
    """

    number: int
    confidence: float
    seed: Scored
    items: Sequence[Item]
    given: bool = False
    said: str | None = None


async def count_draft(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    """The draft of a question for a count; None when it is no such question, or when nothing that can be counted fits.

    What a document has (figures, pages, mentions) is counted over all of its pages by the inventory tool; members of a
    list or an enumeration are counted where their announcement meets the question.
    """
    question = request.question
    asked = asked_of_inventory(question)
    if asked is not None:
        result = await request.call("inventory", asked.arguments)
        return None if result is None else _inventory_draft(request, asked, result)
    if question.operation is not None or not ranked or NEEDS_EYES.search(question.text):
        return None
    return _member_draft(request, ranked) if _MEMBERS.search(question.text) else None


def _inventory_draft(request: Request, asked: Asked, result: ToolResult) -> Draft | None:
    """None for what was not found at all: that a document has none of it can't be shown by a quote."""
    if not result.quotes or not result.value or not result.confidence:
        return None
    confidence = result.confidence
    answer = "; ".join(result.terms) if asked.labels else result.value
    supported = confidence >= request.support
    return Draft(
        answer=answer if supported else None,
        candidate=answer,
        quotes=result.quotes,
        statements=tuple(quote.text for quote in result.quotes),
        coverage=1.0,
        calculation=None if asked.labels else f"count({_named(asked)}) = {result.value}",
        reason="" if supported else f"the count is right with a probability of {confidence:.0%} only",
        confidence=confidence,
        way="inventory",
    )


def _named(asked: Asked) -> str:
    """What was counted, in words without digits, which would be taken for operands."""
    thing = asked.arguments["thing"]
    return "mentions" if thing == "phrase" else f"{thing}s"


def _member_draft(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    question = request.question
    noun = question.counted or _han_counted(question)
    if not noun or question.negated or _QUANTITY.search(question.text):
        return None
    rated = list(_given(ranked, noun))
    # Where the text gives a number, what stands in a row somewhere else isn't what it counts.
    rated += [count for count in _counted(request, ranked, noun) if not rated or _near(count, rated)]
    if not rated:
        return None
    best = max(rated, key=lambda count: count.confidence)
    return draft_of(
        request,
        best.seed,
        best.items,
        answer=str(best.number),
        confidence=round(best.confidence, 3),
        calculation=best.said and f"{best.said} = {best.number}" if best.given else f"count(items) = {best.number}",
    )


def _counted(request: Request, ranked: Sequence[Scored], noun: Sequence[str]) -> Iterator[_Count]:
    """The members of each list or enumeration, counted."""
    for found in members(request, ranked, noun):
        if all(re.search(r"\d", item.text) for item in found.items) and not found.numbered:
            continue  # "61 were caught in Lisbon, 48 in Turin" gives numbers, it doesn't list what they number
        said = set(terms(f"{found.lead} {found.items[0].text}"))
        # "1. Press ..." is a step without being called so.
        called = noun[-1] in said or (found.numbered and noun[-1] in _STEPS)
        confidence = rating(request.question, found, ()) * (1.0 if called else _UNANNOUNCED)
        yield _Count(len(found.items), confidence, found.seed, found.items)


def _near(count: _Count, given: Sequence[_Count]) -> bool:
    """Whether a count agrees with a number that the text gives, or meets the question far better."""
    best = max(given, key=lambda other: other.confidence)
    return count.number in {other.number for other in given} or count.confidence > 1.5 * best.confidence


def _given(ranked: Sequence[Scored], noun: Sequence[str]) -> Iterator[_Count]:
    """The numbers that the best sentences give of the noun."""
    for scored in ranked[:_TRIED]:
        unit = scored.unit
        # "2 Methods" numbers a section.
        found = None if unit.cells or unit.role in ("figure", "heading", "header") else _stated(unit.text, noun)
        if found is not None:
            number, stop = found
            said = re.search(r"[A-Za-z]+$", unit.text[:stop])
            confidence = _SAID * scored.coverage * (1.0 if set(noun) <= set(terms(unit.text)) else _UNANNOUNCED)
            yield _Count(
                number, confidence, scored, (Item(str(number), unit, unit.lines),), True, said and said.group()
            )


def _stated(text: str, noun: Sequence[str]) -> tuple[int, int] | None:
    """(the number that a text gives of the noun ("five modules", 三个阶段), where it ends); None without one."""
    numbers = [*stated_numbers(text), *((int(v.number), v.stop) for v in values(text) if _whole(v) and v.number)]
    for number, stop in numbers:
        if noun[-1] in terms(text[stop : stop + 40])[:3]:
            return number, stop
    return None


def _whole(value: Value) -> bool:
    return value.kind == "number" and value.scale == 1 and value.number is not None and value.number % 1 == 0


def _han_counted(question: Question) -> tuple[str, ...]:
    found = re.search(r"(?:多少|[几幾])[个個种種类類项項条條点點步]?(?P<noun>[一-鿿]{2,6})", question.text)
    return terms(found["noun"]) if found else ()
