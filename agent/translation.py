"""Translation without a model: there is none, and the run says so; what is found is the passage in simplified text."""

from __future__ import annotations

import asyncio
import re

from agent.draft import Draft, Request
from agent.page_rows import page_rows, row_text
from agent.ranking import rank_units
from agent.transcription import Choice, asked_lines, chosen_pages, named_pages
from retrieval.types import Page
from tools.characters import normalize
from tools.types import Quote

NO_MODEL = "no model is configured; translating needs one: --profile endpoint or local"
_QUOTED = re.compile(r"[\"“‘「『]([^\"”’」』]{2,400})[\"”’」』]")
_THE_PAGE = re.compile(
    r"\b(?:this|the|whole|entire) (?:page|passage|text|image|document)\b|[页图]|这[段篇]|全文|原文|文字", re.I
)


async def untranslated(request: Request) -> Draft:
    """No answer, with the reason; the candidate is the simplified text of the passage, which is quoted as it stands.

    The passage is the one that the question quotes, else the page that it names or the only one, else what fits best.
    """
    found = await asyncio.to_thread(_passage, request)
    if found is None:
        return Draft(answer=None, candidate=None, reason=f"{NO_MODEL}. No passage was found either", final=True)
    page, lines = found
    rows = [row for row in page_rows(page) if set(lines) & set(row)]
    original = "\n".join(row_text(page, tuple(i for i in row if i in lines)) for row in rows)
    quote = Quote(page=page.ref, lines=lines, text=original, kind="block", score=1.0, basis="passage to translate")
    where = (
        f"第{page.ref.page}页作「{{}}」。"
        if request.question.language == "zh"
        else f"Page {page.ref.page} reads “{{}}”."
    )
    return Draft(
        answer=None,
        candidate=await _simplified(request, original),
        quotes=(quote,),
        statements=(where.format("".join(original.split("\n")) if page.writing == "vertical" else original),),
        coverage=1.0,
        reason=NO_MODEL,
        final=True,
        confidence=0.0,
    )


async def _simplified(request: Request, original: str) -> str:
    """The passage in simplified characters, by the tool where the budget has a call left for it."""
    result = await request.call("char_normalizer", {"text": original})
    if result is not None and result.value is not None:
        return result.value
    return (await asyncio.to_thread(normalize, original)).text


def _passage(request: Request) -> tuple[Page, tuple[int, ...]] | None:
    question = request.question
    for quoted in _QUOTED.finditer(question.text):
        for read in request.pages:
            if lines := _lines_with(read.page, quoted.group(1)):
                return read.page, lines
    choice: Choice = chosen_pages(question, request.pages)
    if not choice.pages:
        return None
    page = choice.pages[0].page
    whole = asked_lines(question, page)
    if named_pages(question) or len(request.pages) == 1 or _THE_PAGE.search(normalize(question.text).text):
        return (page, whole) if whole else None
    ranked = rank_units(question, request.pages)
    if not ranked:
        return None
    best = ranked[0].unit
    return next(read.page for read in request.pages if read.page.ref == best.page), best.lines


def _lines_with(page: Page, phrase: str) -> tuple[int, ...]:
    """The lines over which a phrase runs, in either script and whatever its punctuation; none when it isn't there."""
    letters: list[str] = []
    places: list[int] = []
    for i, line in enumerate(page.lines):
        for char in normalize(line.text).text:
            if char.isalnum():
                letters.append(char.lower())
                places.append(i)
    wanted = "".join(char.lower() for char in normalize(phrase).text if char.isalnum())
    at = "".join(letters).find(wanted) if wanted else -1
    return tuple(dict.fromkeys(places[at : at + len(wanted)])) if at >= 0 else ()
