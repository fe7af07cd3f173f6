"""The page reader that asks a vision model for the text of a page as it stands."""

from __future__ import annotations

from agent.draft import Draft, Request
from agent.models.types import Capabilities, Prompt
from agent.prompts import render
from agent.ranking import PageRead
from agent.transcription import asks_about, chosen_pages
from retrieval.types import BBox
from tools.types import Quote

_NO_TEXT = "NO TEXT"
_SEEN = 0.6
"""What a transcription is worth that no OCR stands beside."""


async def transcribed(request: Request, capabilities: Capabilities, by_ocr: Draft) -> Draft | None:
    """The transcription by the model in the place of that by OCR, whose regions it keeps; a model gives no geometry.

    None when the model has no eyes, gave no text, or a part of the page is asked for, which OCR tells apart.
    """
    if not capabilities.vision or request.calls is None or request.picture is None or asks_about(request.question):
        return None
    pages = chosen_pages(request.question, request.pages).pages
    if len(pages) != 1:
        return None
    system, user, version = render("read", "page", request.question.language)
    picture = await request.picture(pages[0].page.ref)
    asked = await request.calls.text(
        Prompt(role="read", system=system, user=user, version=version, pictures=(picture,))
    )
    text = (asked.value or "").strip()
    if not text or text.upper().startswith(_NO_TEXT):
        return None
    if by_ocr.way == "transcription" and by_ocr.quotes:
        return by_ocr.model_copy(update={"answer": text, "candidate": text, "origin": "model"})
    quote = _whole(pages[0], text)
    return Draft(
        answer=text,
        candidate=text,
        quotes=(quote,),
        statements=(text,),
        coverage=1.0,
        confidence=_SEEN,
        way="transcription",
        origin="model",
    )


def _whole(read: PageRead, text: str) -> Quote:
    box = BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
    return Quote(page=read.page.ref, lines=(), text=text, kind="page", basis="vision", box=box)
