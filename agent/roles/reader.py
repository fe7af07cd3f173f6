"""The page reader that asks a vision model: the text of a page as it stands, placed on the lines that OCR found."""

from __future__ import annotations

from agent.draft import Draft, Request
from agent.models.types import Capabilities, Prompt
from agent.prompts import render
from agent.ranking import PageRead
from retrieval.types import BBox
from tools.regions import Quote

_NO_TEXT = "NO TEXT"


async def transcribed(request: Request, capabilities: Capabilities) -> Draft | None:
    """The transcription of the page that is asked for, by the model; None when it has no eyes or gave no text.

    The regions are those of the lines that were read before: a model gives text, and no geometry.
    """
    if not capabilities.vision or request.calls is None or request.picture is None or not request.pages:
        return None
    from agent.transcription import asked_page, page_quotes

    read = asked_page(request)
    if read is None:
        return None
    system, user, version = render("read", "page", request.question.language)
    picture = await request.picture(read.page.ref)
    asked = await request.calls.text(
        Prompt(role="read", system=system, user=user, version=version, pictures=(picture,))
    )
    text = (asked.value or "").strip()
    if not text or text.upper().startswith(_NO_TEXT):
        return None
    quotes = page_quotes(read.page) or (_whole(read, text),)
    return Draft(
        answer=text,
        candidate=text,
        quotes=quotes,
        statements=tuple(quote.text for quote in quotes),
        coverage=1.0,
        way="transcription",
        origin="model",
    )


def _whole(read: PageRead, text: str) -> Quote:
    box = BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
    return Quote(page=read.page.ref, lines=(), text=text, kind="page", basis="vision", box=box)
