"""Quotes to facts: the pages a synthesiser may quote, the places of its quotes, the facts they make."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from agent.draft import Draft
from agent.executor import Executor
from agent.planner import GROUNDING
from agent.ranking import PageRead
from agent.types import Fact
from retrieval.types import Page, PageHit, PageRef
from tools.base import Pages, ToolContext
from tools.regions import Quote, located, place, quote_id
from tools.types import Evidence


def page_reads(pages: Pages, hits: Sequence[PageHit], read: Sequence[PageRef]) -> list[PageRead]:
    """The pages that were read, best first; those that no search ranked come last."""
    ranks = {hit.ref: number for number, hit in enumerate(hits, 1)}
    order = sorted(read, key=lambda ref: ranks.get(ref, len(ranks) + 1))
    titles: dict[str, str] = {}
    found = []
    for ref in order:
        if ref.doc_id not in titles:
            document = pages.document(ref.doc_id)
            names = [re.sub(r"[_\-.]+", " ", name.rsplit(".", 1)[0]) for name in document.names]
            titles[ref.doc_id] = " ".join([document.title, *names])
        name = pages.document(ref.doc_id).name
        rank = ranks.get(ref, len(ranks) + 1)
        found.append(PageRead(page=pages.page(ref), rank=rank, titles=titles[ref.doc_id], name=name))
    return found


async def locate(quotes: Sequence[Quote], executor: Executor, context: ToolContext) -> tuple[Evidence, ...]:
    """The quotes as evidence with regions; from the fast blocks when the budget has no call left for the locator."""
    if not quotes:
        return ()
    arguments = {"quotes": [quote.model_dump(mode="json") for quote in quotes]}
    result = await executor.call(GROUNDING, arguments, context, "place what is quoted")
    if result is not None:
        return result.evidence
    return await asyncio.to_thread(_located_fast, context.pages, quotes)


def _located_fast(pages: Pages, quotes: Sequence[Quote]) -> tuple[Evidence, ...]:
    placed = [(quote, place(page := pages.page(quote.page), page, quote)) for quote in quotes]
    return tuple(located(quote, region, origin="fast_blocks") for quote, region in placed if region is not None)


def fact_records(draft: Draft, evidence: Sequence[Evidence]) -> tuple[Fact, ...]:
    """One fact for each statement whose quote has a place."""
    by_id = {item.id: item for item in evidence}
    facts: list[Fact] = []
    for quote, statement in zip(draft.quotes, draft.statements, strict=True):
        item = by_id.get(quote_id(quote))
        if item is not None and item.region is not None:
            facts.append(Fact(id=f"f{len(facts) + 1}", text=statement, region=item.region, evidence_ids=(item.id,)))
    return tuple(facts)


def quoted_pages(pages: Pages, draft: Draft) -> list[Page]:
    """The pages of the quotes, which were loaded when these were placed: no work for a thread."""
    return [pages.page(ref) for ref in dict.fromkeys(quote.page for quote in draft.quotes)]


def cited_lines(pages: Pages, draft: Draft) -> dict[str, Any]:
    """The cited lines with their boxes and the size of their pages, so that a trace can be read without documents."""
    lines, sizes = [], {}
    for quote in draft.quotes:
        page = pages.page(quote.page)
        document = pages.document(quote.page.doc_id)
        sizes[(quote.page.doc_id, quote.page.page)] = {
            "doc_id": quote.page.doc_id,
            "document": document.name,
            "page": quote.page.page,
            "doc_page": page.label,
            "width": page.width,
            "height": page.height,
            "writing": page.writing,
        }
        lines += [
            {
                "doc_id": quote.page.doc_id,
                "page": quote.page.page,
                "line": i,
                "text": page.lines[i].text,
                "bbox": page.lines[i].bbox.as_list(),
            }
            for i in quote.lines
            if i < len(page.lines)
        ]
    return {"lines": lines, "pages": list(sizes.values())}
