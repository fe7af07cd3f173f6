"""Keep the pages that hold evidence for a question (the relevance filter of CDocRAG, section 4.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from retrieval.errors import DocsageError
from tools.judgment_cache import JudgmentCache
from tools.judgments import FilterResult, JudgedPage, Judgment, PageJudge, PageRecord, page_content


async def judge_pages(
    judge: PageJudge, question: str, pages: Sequence[JudgedPage], cache: JudgmentCache | None = None
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


async def _judged(judge: PageJudge, question: str, page: JudgedPage, cache: JudgmentCache | None) -> PageRecord:
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
    judge: PageJudge, question: str, page: JudgedPage, cache: JudgmentCache | None
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
