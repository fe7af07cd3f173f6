"""The extractive synthesiser: it picks, counts, calculates and quotes, and writes nothing of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agent.answers import asks_written_form, cell_answer, pick, spelt_out
from agent.calculation.calculations import operands
from agent.calculation.computed import computed_draft
from agent.calculation.extremes import extreme_row
from agent.draft import Draft, Request
from agent.glosses import gloss_draft
from agent.listing.counting import count_draft
from agent.listing.inventories import asked_of_inventory
from agent.listing.lists import list_draft
from agent.prose import ProseAnswer, ProseReader
from agent.quoted import RULES_TRUST, nothing_found, picked_draft, prose_draft
from agent.ranking import WANTED, PageRead, Scored, rank_units
from agent.transcription import transcribed
from agent.translation import untranslated
from agent.wordings import asked_acronym

_TRIED = 8
_LAID_OUT = 2
_NEAR = 0.5


class ExtractiveSynthesizer:
    """Finds the answer in several ways, each of which says how likely it is right; the likeliest is the draft.

    Running text is read by the learned reader, when there is one; tables, lists, counts and calculations by rules.
    """

    name = "extractive"

    def __init__(self, reader: ProseReader | None = None) -> None:
        self._reader = reader

    async def synthesise(self, request: Request) -> Draft:
        """The likeliest draft; without an answer when it isn't likely enough.

        Pages are ranked by their fast blocks first; the best ones are then laid out and read again.
        """
        question = request.question
        if (draft := await _by_task(request)) is not None:
            return draft
        ranked = await asyncio.to_thread(rank_units, question, request.pages)
        pages = await _laid_out(request, ranked)
        same = {read.page.ref for read, old in zip(pages, request.pages, strict=True) if read.page is old.page}
        request = replace(request, pages=pages)
        known = [item for item in ranked if item.unit.page in same]
        ranked = await asyncio.to_thread(rank_units, question, pages, known)
        if not ranked:
            return Draft(answer=None, candidate=None, missing=question.terms, reason="no page with text was read")
        if request.task == "linguistic_qa" and (draft := gloss_draft(request, ranked)) is not None:
            return draft
        over_all_pages = asked_of_inventory(question) is not None
        count = await count_draft(request, ranked)
        if over_all_pages and count is not None:
            return count
        if (draft := await _worked_out(request, ranked)) is not None:
            return draft
        drafts = [draft for draft in (count, list_draft(request, ranked)) if draft]
        taken = await asyncio.to_thread(self._taken, request, ranked)
        # No cell says how many figures a document has.
        drafts += [draft for draft in taken if draft.way != "cell" or not over_all_pages]
        return max(drafts, key=lambda draft: draft.confidence or 0.0, default=nothing_found(question, ranked[0]))

    def _taken(self, request: Request, ranked: Sequence[Scored]) -> list[Draft]:
        """What cells, written forms and running text give; rules read running text only where the reader doesn't."""
        question = request.question
        found: list[Draft] = []
        if (cell := cell_answer(question, ranked)) is not None:
            found.append(picked_draft(request, *cell, "cell"))
        picked = _picked(request, ranked)
        certain = picked is not None and (picked.way == "cell" or _by_form(request) or _by_role(request))
        if picked is not None and certain:
            found.append(picked)
        prose = self._reader.answer(question, ranked) if self._reader and not _by_form(request) else None
        if prose is not None:
            value = picked.candidate if picked is not None and question.answer_type in WANTED else None
            found.append(prose_draft(request, _cut_to(prose, value)))
        elif picked is not None and not certain:
            found.append(picked)
        return found


async def _by_task(request: Request) -> Draft | None:
    """What the text of a page is, when that is what is asked for; None for questions that are answered out of it."""
    if request.task == "ocr":
        return await transcribed(request)
    return await untranslated(request) if request.task == "translation" else None


async def _worked_out(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    """What is calculated, or the most of something: nothing else can answer such questions."""
    question, support = request.question, request.firm / RULES_TRUST
    found = operands(question, ranked, support)
    if found is not None and (draft := await computed_draft(request, found, trust=RULES_TRUST)) is not None:
        return draft
    extreme = extreme_row(question, ranked, support)
    return None if extreme is None else picked_draft(request, *extreme, "extreme")


def _cut_to(prose: ProseAnswer, value: str | None) -> ProseAnswer:
    """Words that were read, cut to the value among them when a value is wanted and they say much more."""
    longer = value is not None and value in prose.text and len(prose.text) > 2 * len(value)
    return replace(prose, text=value) if value is not None and longer else prose


def _by_form(request: Request) -> bool:
    """Whether the form of the answer is known, so that rules find it: one of two options, yes or no, an address."""
    question = request.question
    written = asks_written_form(question) or asked_acronym(question.text) is not None
    return written or bool(question.options) or question.answer_type == "yes_no"


def _by_role(request: Request) -> bool:
    """Whether rules find a name by the words for its role ("沈端為山長"), as they do in Chinese."""
    question = request.question
    return question.person and question.answer_type == "name" and question.language == "zh"


def _picked(request: Request, ranked: Sequence[Scored]) -> Draft | None:
    """What the best unit gives that has the wanted type, else one that comes near it."""
    if (full := spelt_out(request.question, ranked)) is not None:
        return picked_draft(request, *full, "quote")
    near = [item for item in ranked[:_TRIED] if item.score >= _NEAR * ranked[0].score]
    for strict in (True, False):
        for item in near:
            if (found := pick(request.question, item, strict=strict)) is not None:
                return picked_draft(request, item, found, "cell" if found.unit.cells else "quote")
    return None


async def _laid_out(request: Request, ranked: Sequence[Scored]) -> list[PageRead]:
    """The pages, those of the best units laid out by the model: it is run on the pages that matter only."""
    best = list(dict.fromkeys(item.unit.page for item in ranked[:_TRIED]))[:_LAID_OUT]
    laid_out = await request.lay_out(best)
    return [replace(read, page=laid_out.get(read.page.ref, read.page)) for read in request.pages]
