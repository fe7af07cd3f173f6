"""Read pages: their blocks as evidence."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from retrieval.types import PageRef
from tools.base import Arguments, ToolContext, ToolResult, check_page, evidence_id
from tools.types import Evidence, Region, region_kind

_FEW = 16


class PageReaderArguments(Arguments):
    """The pages to read; without any, the `top` best of those retrieved. `blocks` returns their blocks as evidence."""

    pages: Annotated[tuple[PageRef, ...], Field(max_length=50)] = ()
    top: Annotated[int, Field(ge=1, le=50)] = 5
    blocks: bool = False


class PageReader:
    """Marks pages as read, so that answers may be taken from them, and returns their blocks when asked to."""

    name = "page_reader"
    description = "Read the given pages (or the best retrieved ones), optionally with their blocks as evidence."
    arguments: type[Arguments] = PageReaderArguments

    async def run(self, context: ToolContext, arguments: PageReaderArguments) -> ToolResult:
        """The pages that were read, empty ones noted; ToolRetry for a page outside the scope or the document."""
        if arguments.blocks or len(arguments.pages) > _FEW or arguments.top > _FEW:
            return await asyncio.to_thread(_read, context, arguments)
        return _read(context, arguments)  # a few stored pages take less time than a thread to read them


def _read(context: ToolContext, arguments: PageReaderArguments) -> ToolResult:
    refs = arguments.pages or tuple(hit.ref for hit in context.hits[: arguments.top])
    notes: list[str] = []
    evidence: list[Evidence] = []
    for ref in refs:
        check_page(context, ref)
        page = context.pages.page(ref)
        if not page.lines:
            notes.append(f"page {ref.page} has no text" + (f" ({page.note})" if page.note else ""))
        for block in page.blocks if arguments.blocks else ():
            text = page.block_text(block).strip()
            if text:
                evidence.append(
                    Evidence(
                        id=evidence_id(ref, block.lines, "block"),
                        kind="block",
                        text=text,
                        region=Region(page_ref=ref, block=block.bbox, kind=region_kind(block.kind)),
                        origin="page_reader",
                        match_basis="read",
                        score=0.0,
                    )
                )
    if not refs:
        notes.append("nothing to read: no page was given and none was retrieved")
    return ToolResult(read=refs, evidence=tuple(evidence), notes=tuple(notes))
