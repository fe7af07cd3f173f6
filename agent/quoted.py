"""Drafts made of one unit: words that the reader took out of it, what a rule took out of it, or only the quote."""

from __future__ import annotations

from agent.answers import Pick, shortened
from agent.calculation.calculations import stated
from agent.draft import Draft, Request, Way, quote_of
from agent.matching import surface_forms
from agent.prose import ProseAnswer
from agent.question import Question
from agent.ranking import Scored
from agent.statements import state

RULES_TRUST = 0.6
"""What full coverage of a question by a quote is worth beside a probability that was measured."""
_NOT_CALCULATED = 0.6
_NOT_NAMED = 0.5
"""What a quote is worth of whose page neither text nor title speaks of a name or year of the question."""


def picked_draft(request: Request, best: Scored, found: Pick, way: Way) -> Draft:
    """What a rule took out of a unit. Its confidence is how much of the question is met near it."""
    question, unit = request.question, found.unit
    coverage = best.coverage if stated(question, unit.text) else best.coverage * _NOT_CALCULATED
    if set(question.names) & set(best.missing):
        coverage *= _NOT_NAMED
    confidence = RULES_TRUST * coverage
    supported = confidence >= request.support
    reason = "" if supported else f"only {coverage:.0%} of what the question asks about stands near the best quote"
    return Draft(
        answer=found.answer if supported else None,
        candidate=found.answer,
        quotes=(quote_of(unit, best, found.answer),),
        statements=(state(question, unit, found.head, found.answer),),
        coverage=coverage,
        missing=surface_forms(question.text, best.missing),
        reason=reason,
        confidence=confidence,
        way=way,
    )


def prose_draft(request: Request, prose: ProseAnswer) -> Draft:
    """What the reader took out of running text, with the probability that it is right."""
    question, unit = request.question, prose.best.unit
    supported = prose.confidence >= request.support
    return Draft(
        answer=prose.text if supported else None,
        candidate=prose.text,
        quotes=(quote_of(unit, prose.best, prose.text),),
        statements=(state(question, unit, "", prose.text),),
        coverage=prose.best.coverage,
        missing=surface_forms(question.text, prose.best.missing),
        reason="" if supported else f"the best words found are right with a probability of {prose.confidence:.0%} only",
        confidence=prose.confidence,
        way="prose",
    )


def nothing_found(question: Question, best: Scored) -> Draft:
    """A draft without an answer: the quote that came nearest."""
    return Draft(
        answer=None,
        candidate=shortened(best.unit.text),
        quotes=(quote_of(best.unit, best),),
        statements=(state(question, best.unit),),
        coverage=best.coverage,
        missing=surface_forms(question.text, best.missing),
        reason=f"nothing of the wanted type ({question.answer_type}) stands near the question's terms",
        confidence=0.0,
    )
