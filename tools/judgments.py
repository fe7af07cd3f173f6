"""Judgments whether a page holds evidence for a question: what is judged, who judges, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from PIL.Image import DecompressionBombError, Image
from pydantic import Field

from retrieval.errors import DocsageError
from retrieval.types import Frozen

PageVerdict = Literal["yes", "no"]
_UNREADABLE = (DocsageError, OSError, ValueError, SyntaxError, DecompressionBombError)
"""What files that are missing, damaged or no images raise; Pillow's broken PNGs are a SyntaxError."""


class JudgeFailed(DocsageError):
    """A page couldn't be judged: the model gave no reply, or the page can't be read. It says nothing about the page."""


class JudgedPage(Protocol):
    """A page to be judged, wherever it comes from. Text and image are asked for only where they are needed; both block.

    `key` names the page in results; `content` is a hash, or an id with a revision, of what text and image hold, which
    cached judgments are kept by. It may block and fail as these do, so that a file may be hashed when it is asked for.
    """

    @property
    def key(self) -> str:
        """The page's name in results."""

    @property
    def content(self) -> str:
        """What identifies the page's content."""

    def text(self) -> str:
        """The page's text, "" when it has none."""

    def image(self) -> Image:
        """The page as displayed."""


class Judgment(Frozen):
    """What a judge says of one page. `verdict` is None when it didn't say; `reply` is what it said, word by word.

    `probability` is that of YES, None where the judge gives none.
    """

    verdict: PageVerdict | None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    reply: str = ""


class PageJudge(Protocol):
    """Judges pages, one at a time or many at the same time."""

    async def ready(self) -> None:
        """Find out what is needed to judge; JudgeFailed when that can't be done. `identity` is final afterwards."""

    @property
    def identity(self) -> str:
        """All that judgments depend on besides question and page: model, decoding, prompt version, what it is shown."""

    async def judge(self, question: str, page: JudgedPage) -> Judgment:
        """The judgment of one page; JudgeFailed when there is none."""


class Judgments(Protocol):
    """What keeps judgments; `tools.judgment_cache.JudgmentCache` does. It blocks, and never fails."""

    problem: str
    """What is wrong with it, "" when nothing is."""

    def get(self, question: str, content: str, identity: str) -> Judgment | None:
        """What this judge said of this content for this question; None when that isn't known."""

    def put(self, question: str, content: str, identity: str, judgment: Judgment) -> None:
        """Keep a judgment if it has a verdict."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How a run judges pages: who does it, what keeps it, and at which resolution pages are shown."""

    judge: PageJudge
    cache: Judgments | None = None
    dpi: int = 110


class PageRecord(Frozen):
    """What became of one page. One with an `error` or without a verdict is kept: nobody said that it is of no use."""

    key: str
    verdict: PageVerdict | None
    kept: bool
    probability: float | None = None
    reply: str = ""
    cached: bool = False
    error: str = ""


class FilterResult(Frozen):
    """The pages that passed, in the order in which they came, and a record of every page.

    `fallback`: all pages were judged NO, so all are kept. `problem` says what is wrong with the cache, "" when nothing.
    """

    kept: tuple[str, ...]
    judged: tuple[PageRecord, ...]
    fallback: bool = False
    problem: str = ""

    @property
    def rejected(self) -> int:
        """Pages that were judged NO, also when they were kept after all."""
        return sum(record.verdict == "no" for record in self.judged)

    @property
    def undecided(self) -> int:
        """Pages about which the judge said something that is neither YES nor NO."""
        return sum(record.verdict is None and not record.error for record in self.judged)

    @property
    def errors(self) -> int:
        """Pages that couldn't be judged."""
        return sum(bool(record.error) for record in self.judged)

    @property
    def cached(self) -> int:
        """Pages whose judgment was known."""
        return sum(record.cached for record in self.judged)

    @property
    def first_error(self) -> str:
        """The first reason why a page couldn't be judged, with its key; "" when all could."""
        return next((f"{record.key}: {record.error}" for record in self.judged if record.error), "")


async def page_content(page: JudgedPage) -> str:
    """What identifies the content of a page; JudgeFailed when it can't be read."""
    try:
        return await asyncio.to_thread(lambda: page.content)
    except _UNREADABLE as error:
        raise _unreadable(error) from error


async def page_text(page: JudgedPage) -> str:
    """The text of a page; JudgeFailed when it can't be read."""
    try:
        return await asyncio.to_thread(page.text)
    except _UNREADABLE as error:
        raise _unreadable(error) from error


async def page_image(page: JudgedPage) -> Image:
    """The image of a page; JudgeFailed when it can't be read."""
    try:
        return await asyncio.to_thread(page.image)
    except _UNREADABLE as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> JudgeFailed:
    return JudgeFailed(f"the page can't be read ({type(error).__name__}: {error})", remedy="is its file whole?")
