"""The page reader that asks a vision model for the text of a page as it stands."""

from __future__ import annotations

import re
from typing import Any

import orjson

from agent.draft import Draft, Request
from agent.models.types import Capabilities, Prompt
from agent.prompts import render
from agent.ranking import PageRead
from agent.refusals import refuses
from agent.transcription import asks_about, chosen_pages
from retrieval.types import BBox
from tools.types import Quote

_NO_TEXT = re.compile(
    r"no text\b"
    r"|\W*(?:(?:此|本|该)页(?:面)?(?:上|中)?)?(?:没有|沒有|无|無)(?:任何|可识别的?)?文字\W*\Z",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\[\d{1,2}(?:;\d{1,3})*m(?!\])")
"""What terminals take for an order; a colour's also where its escape character was taken out before."""
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_FIELDS = ("text", "transcription", "content", "answer", "lines", "文字", "内容", "原文", "抄录")
_OPENING = 12
_SEEN = 0.6
"""What a transcription is worth that no OCR stands beside."""


async def transcribed(request: Request, capabilities: Capabilities, by_ocr: Draft) -> Draft | None:
    """The transcription by the model in the place of that by OCR, whose regions it keeps; a model gives no geometry.

    None when the model has no eyes, gave no text or said that it can't, or a part of the page is asked for, which OCR
    tells apart.
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
    text = _plain(asked.value or "")
    opens = (by_ocr.answer or "").lstrip()[:_OPENING]
    if not text or _NO_TEXT.match(text) or (refuses(text) and not (opens and text.startswith(opens))):
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


def _plain(reply: str) -> str:
    """The text that a reply gives, out of its fence or JSON, without what terminals obey and what can't be seen."""
    text = _HIDDEN.sub("", _ESCAPE.sub("", reply.replace("\r\n", "\n"))).strip()
    fenced = _FENCE.findall(text)
    if len(fenced) == 1 and 3 * len(fenced[0]) > len(text):
        text = fenced[0].strip("\n")
    if text.startswith(("{", "[", '"')):
        try:
            found = _text_in(orjson.loads(text))
        except orjson.JSONDecodeError:
            found = None
        text = text if found is None else _HIDDEN.sub("", _ESCAPE.sub("", found))
    return text.strip()


def _text_in(value: Any) -> str | None:
    """The text of a JSON value: a string, strings line by line, or the field of an object that holds it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [_text_in(item) for item in value]
        return "\n".join(part for part in parts if part is not None) if value and None not in parts else None
    if isinstance(value, dict):
        fields = [name for name in _FIELDS if name in value] or (list(value) if len(value) == 1 else [])
        return _text_in(value[fields[0]]) if fields else None
    return None


def _whole(read: PageRead, text: str) -> Quote:
    box = BBox(x1=0.0, y1=0.0, x2=1.0, y2=1.0)
    return Quote(page=read.page.ref, lines=(), text=text, kind="page", basis="vision", box=box)
