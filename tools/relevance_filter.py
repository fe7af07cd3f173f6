"""Keep the pages that hold evidence for a question (the relevance filter of CDocRAG, arXiv CHaystack section 4.2)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from PIL.Image import Image
from pydantic import Field

from retrieval.errors import DocsageError
from retrieval.types import PageRef
from tools.base import Arguments, Pages, ToolContext, ToolFailed, ToolResult, check_page
from tools.judgments import (
    FilterResult,
    JudgedPage,
    Judgment,
    Judgments,
    PageJudge,
    PageRecord,
    page_content,
)


class RelevanceFilterArguments(Arguments):
    """The pages to judge; without any, the `top` best of those retrieved. Without a question, the run's own."""

    question: Annotated[str, Field(max_length=2000)] = ""
    pages: Annotated[tuple[PageRef, ...], Field(max_length=50)] = ()
    top: Annotated[int, Field(ge=1, le=50)] = 15


class RelevanceFilter:
    """Has each page judged by itself, all at the same time, and returns those that aren't judged NO."""

    name = "relevance_filter"
    description = "Judge whether each page (the given ones, or the best retrieved) holds evidence; the rest isn't read."
    arguments: type[Arguments] = RelevanceFilterArguments

    async def run(self, context: ToolContext, arguments: RelevanceFilterArguments) -> ToolResult:
        """The pages that were kept, in their order, with a record of each; ToolRetry for a page that isn't there."""
        if context.judging is None:
            raise ToolFailed("there is nobody to judge pages", remedy="leave the filter out of the plan")
        refs = tuple(dict.fromkeys(arguments.pages or (hit.ref for hit in context.hits[: arguments.top])))
        for ref in refs:
            check_page(context, ref)
        judging = context.judging
        pages = {_key(ref): ref for ref in refs}
        result = await judge_pages(
            judging.judge,
            arguments.question.strip() or context.question,
            [StoredPage(key, ref, context.pages, judging.dpi) for key, ref in pages.items()],
            judging.cache,
        )
        kept = tuple(pages[key] for key in result.kept)
        rejected = tuple(pages[record.key] for record in result.judged if not record.kept)
        return ToolResult(kept=kept, rejected=rejected, judged=result.judged, notes=_notes(result))


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of documents that are read already, as judges see it."""

    key: str
    ref: PageRef
    pages: Pages
    dpi: int

    @property
    def content(self) -> str:
        """The document's hash, the page, the resolution, and a hash of the text as it was read."""
        text = hashlib.sha256(self.text().encode("utf-8", "replace")).hexdigest()
        return f"{self.ref.doc_id} {self.ref.page} {self.dpi} {text}"

    def text(self) -> str:
        """The lines in reading order, one a row."""
        return self.pages.page(self.ref).text

    def image(self) -> Image:
        """The page as displayed."""
        return self.pages.image(self.ref, dpi=self.dpi)


async def judge_pages(
    judge: PageJudge, question: str, pages: Sequence[JudgedPage], cache: Judgments | None = None
) -> FilterResult:
    """Judge all pages at the same time; those judged NO are left out, the others keep their order.

    A page that can't be judged, and one that the judge doesn't decide about, is kept, and not remembered. When all are
    judged NO, all are kept. Never raises for a page or a judge that fails: the records say what went wrong.
    """
    try:
        await judge.ready()
    except DocsageError as error:
        records = [PageRecord(key=page.key, verdict=None, kept=True, error=str(error)) for page in pages]
    else:
        records = await asyncio.gather(*(_judged(judge, question, page, cache) for page in pages))
    fallback = bool(records) and not any(record.kept for record in records)
    if fallback:
        records = [record.model_copy(update={"kept": True}) for record in records]
    return FilterResult(
        kept=tuple(record.key for record in records if record.kept),
        judged=tuple(records),
        fallback=fallback,
        problem=cache.problem if cache else "",
    )


async def _judged(judge: PageJudge, question: str, page: JudgedPage, cache: Judgments | None) -> PageRecord:
    try:
        judgment, cached = await _judgment(judge, question, page, cache)
    except DocsageError as error:
        return PageRecord(key=page.key, verdict=None, kept=True, error=str(error))
    return PageRecord(
        key=page.key,
        verdict=judgment.verdict,
        kept=judgment.verdict != "no",
        probability=judgment.probability,
        reply=judgment.reply,
        cached=cached,
    )


async def _judgment(
    judge: PageJudge, question: str, page: JudgedPage, cache: Judgments | None
) -> tuple[Judgment, bool]:
    """The judgment of a page, and whether it was known."""
    if cache is None:
        return await judge.judge(question, page), False
    content = await page_content(page)
    known = await asyncio.to_thread(cache.get, question, content, judge.identity)
    if known is not None:
        return known, True
    judgment = await judge.judge(question, page)
    await asyncio.to_thread(cache.put, question, content, judge.identity, judgment)
    return judgment, False


def _key(ref: PageRef) -> str:
    return f"{ref.doc_id}.p{ref.page}"


def _notes(result: FilterResult) -> tuple[str, ...]:
    """What a reader of the trace should know besides the verdicts."""
    notes = []
    if not result.judged:
        notes.append("nothing to judge: no page was given and none was retrieved")
    if result.fallback:
        notes.append(f"all {len(result.judged)} pages were judged NO, so all are kept")
    if result.errors:
        notes.append(f"{result.errors} pages couldn't be judged and are kept ({result.first_error})")
    if result.undecided:
        notes.append(f"{result.undecided} pages were left undecided and are kept")
    return (*notes, result.problem) if result.problem else tuple(notes)
