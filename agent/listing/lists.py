"""Answers that are lists: the members of a list or an enumeration, each with a quote of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.draft import Draft, Request, quote_of
from agent.listing.members import Item, Members, head_noun, members, stated_number
from agent.matching import surface_forms, terms
from agent.question import Question
from agent.ranking import Scored
from agent.statements import state

SHOWN = 12
NEEDS_EYES = re.compile(
    r"\bcolou?rs?\b|\barrows?\b|\bbars\b|\blogos?\b|\bicons?\b|\bshapes?\b|\bcircles?\b|\brectangles?\b|\btriangles?\b|"
    r"\bdots?\b|\bpictured?\b|\bphotos?\b|\b(?:in|from) (?:the |this |that )?(?:\w+ )?(?:image|figure|chart|graph|map|"
    r"diagram|drawing|plot|picture)\b|\bfigure \d|颜色|图标|箭头|图中|照片|图片|标志|徽标",
    re.IGNORECASE,
)
"""What a question says that only eyes can answer."""
_ONE = re.compile(r"\b(?:called|known as|named|termed|referred to as)\s*\?\s*$", re.IGNORECASE)
"""What asks for the one word for several things."""
_UNSAID, _ELSEWHERE = 0.35, 0.8
_RIGHT_NUMBER, _WRONG_NUMBER = 1.3, 0.25
_TOO_MANY, _TOO_LONG = 12, 14


def list_draft(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    """The members that answer a list question; None for other questions, for those that need eyes, and without a list.

    `confidence` joins how well the announcing words meet the question, how sure the form is, and whether the number
    of members is the one that question or text states.
    """
    question = request.question
    if question.answer_type != "list" or not ranked or NEEDS_EYES.search(question.text) or _ONE.search(question.text):
        return None
    noun = head_noun(question)
    rated = [(rating(question, found, noun), found) for found in members(request, ranked, noun)]
    if not rated:
        return None
    confidence, best = max(rated, key=lambda pair: pair[0])
    items = _limited(question, best.items)
    return draft_of(request, best.seed, items, answer="; ".join(item.text for item in items), confidence=confidence)


def rating(question: Question, found: Members, noun: Sequence[str]) -> float:
    """The probability that these are the members asked for, 0 to 0.95."""
    said = set(terms(found.lead))
    fits = 1.0 if not noun or noun[-1] in said else _ELSEWHERE if set(noun) & said else _UNSAID
    wanted = stated_number(question.text)
    announced = stated_number(found.lead)
    number = len(found.items)
    factor = 1.0
    for stated in {wanted, announced} - {None}:
        factor *= _RIGHT_NUMBER if stated == number else _WRONG_NUMBER
    words = sum(len(item.text.split()) for item in found.items) / number
    if number > _TOO_MANY or words > _TOO_LONG:
        factor *= 0.6
    return round(min(found.coverage * found.sure * fits * factor, 0.95), 3)


def draft_of(
    request: Request,
    best: Scored,
    items: Sequence[Item],
    *,
    answer: str,
    confidence: float,
    calculation: str | None = None,
) -> Draft:
    """A draft whose quotes are the items, without an answer when it is too unlikely to be right."""
    question = request.question
    supported = confidence >= request.support
    shown = list({(item.unit.page, item.lines): item for item in items}.values())[:SHOWN]
    return Draft(
        answer=answer if supported else None,
        candidate=answer,
        quotes=tuple(quote_of(item.unit, best, item.text, item.lines) for item in shown),
        statements=tuple(state(question, item.unit, "", item.text) for item in shown),
        coverage=best.coverage,
        missing=surface_forms(question.text, best.missing),
        calculation=calculation,
        reason="" if supported else f"the list that fits best is right with a probability of {confidence:.0%} only",
        confidence=confidence,
        way="list" if calculation is None else "count",
    )


def _limited(question: Question, items: Sequence[Item]) -> Sequence[Item]:
    """The first of the items when the question wants the first or top ones only."""
    first = re.search(r"\b(?:first|top)\s+(\w+)|前([两三四五六七八九十]|\d+)", question.text, re.IGNORECASE)
    number = stated_number(question.text) if first else None
    return items[:number] if number else items
