"""Extract the key terms of a text."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from tools.base import Arguments, ToolContext, ToolResult
from tools.terms import extract_terms


class TermExtractorArguments(Arguments):
    """The text, and how many terms to keep."""

    text: Annotated[str, Field(max_length=200_000)]
    limit: Annotated[int, Field(ge=1, le=200)] = 20


class TermExtractor:
    """Finds quoted phrases, proper names, numbers and content words, in this order, without repeats."""

    name = "term_extractor"
    description = "Key terms of a text (quoted phrases, names, content words), English and Chinese."
    arguments: type[Arguments] = TermExtractorArguments

    async def run(self, context: ToolContext, arguments: TermExtractorArguments) -> ToolResult:
        """The terms, most telling first."""
        terms = await asyncio.to_thread(extract_terms, arguments.text, arguments.limit)
        return ToolResult(terms=terms)
