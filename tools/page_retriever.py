"""Search for the pages that may hold the answer."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated

from pydantic import Field

from retrieval.types import PageHit
from tools.base import Arguments, Pages, ToolContext, ToolResult
from tools.regions import Quote, located, region_of
from tools.types import Evidence


class PageRetrieverArguments(Arguments):
    """The query, and how many pages to return."""

    query: Annotated[str, Field(min_length=1, max_length=2000)]
    k: Annotated[int, Field(ge=1, le=100)] = 10


class PageRetriever:
    """Ranks the pages of the scope for a query."""

    name = "page_retriever"
    description = "The best pages for a query, with the span of each that matched best."
    arguments: type[Arguments] = PageRetrieverArguments

    async def run(self, context: ToolContext, arguments: PageRetrieverArguments) -> ToolResult:
        """Pages in rank order; the spans that matched best as evidence, at most `context.snippets` of them."""
        return await asyncio.to_thread(_retrieve, context, arguments)


def _retrieve(context: ToolContext, arguments: PageRetrieverArguments) -> ToolResult:
    found = context.pages.search(arguments.query, context.scope, arguments.k)
    spans = tuple(islice(filter(None, (_span(context.pages, hit) for hit in found.hits)), context.snippets))
    notes = () if found.hits else (f"no page matches {arguments.query!r}",)
    return ToolResult(hits=found.hits, signals=found.signals, evidence=spans, notes=notes)


def _span(pages: Pages, hit: PageHit) -> Evidence | None:
    """The lines of a hit that matched best; their region comes from the fast blocks, which cost nothing."""
    if hit.lines is None:
        return None
    page = pages.page(hit.ref)
    span = tuple(i for i in range(*hit.lines) if i < len(page.lines) and page.lines[i].text.strip())
    if not span:
        return None
    quote = Quote(
        page=hit.ref,
        lines=span,
        text=" ".join(page.lines[i].text.strip() for i in span)[:1000],
        kind="line",
        score=hit.score,
        basis="+".join(f"{name}#{rank}" for name, rank in sorted(hit.ranks.items())) or "search",
    )
    region = region_of(page, [page.lines[i].bbox for i in span])
    return located(quote, region, origin="page_retriever")
