"""Traditional Chinese characters to simplified ones."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from tools.base import Arguments, ToolContext, ToolResult
from tools.characters import normalize


class CharNormalizerArguments(Arguments):
    """The text to normalise."""

    text: Annotated[str, Field(max_length=200_000)]


class CharNormalizer:
    """Converts a text to simplified characters; the original is kept by the caller."""

    name = "char_normalizer"
    description = "Traditional Chinese to simplified characters and full-width forms to half-width ones."
    arguments: type[Arguments] = CharNormalizerArguments

    async def run(self, context: ToolContext, arguments: CharNormalizerArguments) -> ToolResult:
        """The normalised text in `value`; a note says when nothing had to be changed."""
        result = await asyncio.to_thread(normalize, arguments.text)
        notes = ("nothing to change",) if result.text == arguments.text else ()
        return ToolResult(value=result.text, notes=notes)
