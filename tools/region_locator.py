"""Turn cited lines into regions: one layout block each, with the lines inside it as focus."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from tools.base import Arguments, ToolContext, ToolResult
from tools.regions import Quote, located, region_of
from tools.types import Evidence


class RegionLocatorArguments(Arguments):
    """The quotes to locate."""

    quotes: Annotated[tuple[Quote, ...], Field(max_length=50)]


class RegionLocator:
    """Finds the layout block of each quote."""

    name = "region_locator"
    description = "The layout block (paragraph, list item, table, figure with caption) that holds each quote."
    arguments: type[Arguments] = RegionLocatorArguments

    async def run(self, context: ToolContext, arguments: RegionLocatorArguments) -> ToolResult:
        """One evidence with its region a quote, in order; a quote without lines on the page is noted and left out."""
        return await asyncio.to_thread(_locate_all, context, arguments.quotes)


def _locate_all(context: ToolContext, quotes: tuple[Quote, ...]) -> ToolResult:
    evidence: list[Evidence] = []
    notes: list[str] = []
    for quote in quotes:
        # Line indices belong to the page as read; the laid-out page may order its lines differently, so match by place.
        read = context.pages.page(quote.page)
        boxes = [read.lines[i].bbox for i in quote.lines if i < len(read.lines)]
        if not boxes:
            notes.append(f"page {quote.page.page} has none of the lines {list(quote.lines)}")
            continue
        evidence.append(located(quote, region_of(context.pages.laid_out(quote.page), boxes)))
    return ToolResult(evidence=tuple(evidence), notes=tuple(notes))
