"""Look terms up in the evidence pool (SAGE, appendix C.5)."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from retrieval.knowledge.types import PoolHit
from tools.base import Arguments, ToolContext, ToolFailed, ToolResult
from tools.types import Evidence

Term = Annotated[str, Field(max_length=200)]


class EvidenceRetrieverArguments(Arguments):
    """Terms to look up, the question where it isn't that of the run, and how many snippets to return."""

    terms: Annotated[tuple[Term, ...], Field(max_length=50)] = ()
    question: Annotated[str | None, Field(max_length=20_000)] = None
    limit: Annotated[int, Field(ge=1, le=8)] = 8


class EvidenceRetriever:
    """Finds snippets of the pool by their keys, years and shared characters."""

    name = "evidence_retriever"
    description = (
        "Background snippets from the evidence pool for key terms; context, never the only ground of an answer."
    )
    arguments: type[Arguments] = EvidenceRetrieverArguments

    async def run(self, context: ToolContext, arguments: EvidenceRetrieverArguments) -> ToolResult:
        """Snippets as evidence, best first, at most `context.snippets`; a note when none matches.

        ToolFailed when the run has no pool.
        """
        if context.pool is None:
            raise ToolFailed("there is no evidence pool to look in", remedy="give one with --pool DIR")
        question = context.question if arguments.question is None else arguments.question
        limit = min(arguments.limit, context.snippets)
        if limit < 1:
            return ToolResult(notes=("no snippet is left in the budget",))
        hits = await asyncio.to_thread(context.pool.match, arguments.terms, question, limit=limit)
        if not hits:
            return ToolResult(notes=(_nothing(arguments.terms),))
        return ToolResult(evidence=tuple(_evidence(hit) for hit in hits))


def _evidence(hit: PoolHit) -> Evidence:
    snippet = hit.snippet
    sources = "; ".join(str(source) for source in snippet.sources)
    return Evidence(
        id=f"pool.{snippet.id}",
        kind="snippet",
        text=snippet.text,
        region=None,
        origin="evidence_retriever",
        match_basis=hit.basis,
        score=hit.score,
        context=f"{', '.join(snippet.keys)} ({sources})" if sources else ", ".join(snippet.keys),
    )


def _nothing(terms: tuple[str, ...]) -> str:
    asked = ", ".join(repr(term) for term in terms[:5]) + (", …" if len(terms) > 5 else "")
    return f"no snippet of the pool matches {asked}" if terms else "no snippet of the pool matches the question"
