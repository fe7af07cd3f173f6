"""Turn cited lines into regions: one layout block each, with the lines inside it as focus."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from tools.base import Arguments, ToolContext, ToolResult
from tools.regions import Quote, located, place
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
        # Lines are found by their place, so it doesn't matter how the laid-out page orders them.
        region = place(context.pages.page(quote.page), context.pages.laid_out(quote.page), quote)
        if region is None:
            notes.append(f"page {quote.page.page} has none of the lines {list(quote.lines)}")
        else:
            evidence.append(located(quote, region))
    return ToolResult(evidence=tuple(evidence), notes=tuple(notes))
