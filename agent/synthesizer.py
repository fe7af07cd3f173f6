"""The extractive synthesiser: it picks and quotes, and writes nothing of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.answers import Pick, cell_answer, list_items, pick, shortened
from agent.calculations import operands, stated
from agent.computed import computed_draft
from agent.draft import Draft, Request
from agent.extremes import extreme_row
from agent.matching import surface_forms
from agent.prose import ProseAnswer, ProseReader
from agent.question import Question
from agent.ranking import PageRead, Scored, rank_units
from agent.reading import Unit, units_of
from agent.statements import state
from tools.regions import Quote

RULES_TRUST = 0.6
"""What full coverage of a question by a quote is worth beside a probability that was measured."""
_TRIED = 8
_LAID_OUT = 2
_NEAR = 0.5
_NOT_CALCULATED = 0.6
_NOT_NAMED = 0.5
"""What a quote is worth of whose page neither text nor title speaks of a name or year of the question."""


class ExtractiveSynthesizer:
    """Ranks sentences, rows, items and labels, and takes the answer out of the best one that has one.

    Running text is read by the learned reader, when there is one; tables, lists and calculations by rules. The answer
    is the one that is likeliest right.
    """

    name = "extractive"

    def __init__(self, reader: ProseReader | None = None) -> None:
        self._reader = reader

    async def synthesise(self, request: Request) -> Draft:
        """The draft of the best unit. It abstains when too little of the question is met near it.

        Pages are ranked by their fast blocks first; the best ones are then laid out and read again.
        """
        question = request.question
        ranked = await asyncio.to_thread(rank_units, question, request.pages)
        pages = await _laid_out(request, ranked)
        ranked = await asyncio.to_thread(rank_units, question, pages)
        if not ranked:
            return Draft(answer=None, candidate=None, missing=question.terms, reason="no page with text was read")
        found = operands(question, ranked, request.support / RULES_TRUST)
        if found is not None and (draft := await computed_draft(request, found, trust=RULES_TRUST)) is not None:
            return draft
        if (extreme := extreme_row(question, ranked, request.support / RULES_TRUST)) is not None:
            return _draft(request, pages, *extreme)
        picked = next(iter(_picks(question, ranked)), None)
        prose = None
        if self._reader is not None and not (picked and _by_form(question, *picked)):
            prose = await asyncio.to_thread(self._reader.read, question, ranked)
        drafts = [_draft(request, pages, *picked)] if picked and (prose is None or _stronger(*picked)) else []
        if prose is not None:
            drafts.append(_prose_draft(request, prose))
        if drafts:
            return max(drafts, key=lambda draft: draft.confidence or 0.0)
        return _nothing(question, ranked[0])


def _by_form(question: Question, best: Scored, taken: Pick) -> bool:
    """Whether an answer is certain by its form, so that running text needn't be read: addresses, options, lists."""
    return bool(question.options) or question.answer_type in ("yes_no", "list") or taken.by_form


def _stronger(best: Scored, taken: Pick) -> bool:
    """Whether a rule's answer may stand against the reader's: that of a cell."""
    return bool(taken.unit.cells)


def _nothing(question: Question, best: Scored) -> Draft:
    return Draft(
        answer=None,
        candidate=shortened(best.unit.text),
        quotes=(_quote(best.unit, best),),
        statements=(state(question, best.unit),),
        coverage=best.coverage,
        missing=surface_forms(question.text, best.missing),
        reason=f"nothing of the wanted type ({question.answer_type}) stands near the question's terms",
        confidence=0.0,
    )


def _prose_draft(request: Request, prose: ProseAnswer) -> Draft:
    question, unit = request.question, prose.best.unit
    supported = prose.confidence >= request.support
    return Draft(
        answer=prose.text if supported else None,
        candidate=prose.text,
        quotes=(_quote(unit, prose.best, prose.text),),
        statements=(state(question, unit, "", prose.text),),
        coverage=prose.best.coverage,
        missing=surface_forms(question.text, prose.best.missing),
        reason="" if supported else f"the best words found are right with a probability of {prose.confidence:.0%} only",
        confidence=prose.confidence,
    )


async def _laid_out(request: Request, ranked: Sequence[Scored]) -> list[PageRead]:
    """The pages, those of the best units laid out by the model: it is run on the pages that matter only."""
    best = list(dict.fromkeys(item.unit.page for item in ranked[:_TRIED]))[:_LAID_OUT]
    laid_out = await request.lay_out(best)
    return [replace(read, page=laid_out.get(read.page.ref, read.page)) for read in request.pages]


def _picks(question: Question, ranked: Sequence[Scored]) -> Iterator[tuple[Scored, Pick]]:
    """Answers that the best units hold, best first: those of the wanted type, then what comes near it."""
    if (cell := cell_answer(question, ranked)) is not None:
        yield cell
    near = [item for item in ranked[:_TRIED] if item.score >= _NEAR * ranked[0].score]
    for strict in (True, False):
        for item in near:
            if (found := pick(question, item, strict=strict)) is not None:
                yield item, found


def _draft(request: Request, pages: Sequence[PageRead], best: Scored, found: Pick) -> Draft:
    question = request.question
    units = [found.unit]
    answer = found.answer
    if question.answer_type == "list":
        page = next(read.page for read in pages if read.page.ref == found.unit.page)
        units = list_items(units_of(page), found.unit)
        answer = "; ".join(shortened(_item_text(unit)) for unit in units)
    coverage = best.coverage if stated(question, found.unit.text) else best.coverage * _NOT_CALCULATED
    if set(question.names) & set(best.missing):
        coverage *= _NOT_NAMED
    confidence = RULES_TRUST * coverage
    supported = confidence >= request.support
    reason = "" if supported else f"only {coverage:.0%} of what the question asks about stands near the best quote"
    return Draft(
        answer=answer if supported else None,
        candidate=answer,
        quotes=tuple(_quote(unit, best, found.answer if unit is found.unit else "") for unit in units),
        statements=tuple(state(question, unit, found.head, found.answer) for unit in units),
        coverage=coverage,
        missing=surface_forms(question.text, best.missing),
        reason=reason,
        confidence=confidence,
    )


def _item_text(unit: Unit) -> str:
    return unit.text.lstrip("•●▪■◦–—-*·○☑✓ \t") if unit.role == "list_item" else unit.text


def _quote(unit: Unit, best: Scored, answer: str = "") -> Quote:
    return Quote(
        page=unit.page,
        lines=unit.lines,
        text=unit.text,
        kind=unit.kind,
        score=round(best.score, 4),
        context=unit.context,
        answer=answer if answer in unit.text else "",
    )
