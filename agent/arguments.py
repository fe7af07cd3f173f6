"""Arguments of planned steps that are known only when they run: the text that was read, the terms that were found."""

from __future__ import annotations

from collections.abc import Sequence

from agent.planner import POOL
from agent.types import PlanStep
from tools.base import ToolContext, ToolResult
from tools.terms import extract_terms

_READ = 5
"""Pages that are read where the step doesn't say how many."""
_WORKED_ON, _LONGEST_TEXT, _MOST_TERMS = 3, 20_000, 40
"""Pages whose text is normalised and searched for terms, characters of it, and terms that are looked up."""


def filled(step: PlanStep, context: ToolContext, results: Sequence[ToolResult]) -> PlanStep:
    """A step with the arguments that are known only now: the text of the pages that were read, the terms found, and the
    best pages without those that a filter rejected.
    """
    if step.tool in ("term_extractor", "char_normalizer") and not step.arguments.get("text"):
        refs = dict.fromkeys(ref for result in results for ref in result.read)
        text = "\n".join(context.pages.page(ref).text for ref in list(refs)[:_WORKED_ON])
        return step.model_copy(update={"arguments": {"text": text[:_LONGEST_TEXT]}})
    if step.tool == POOL and not step.arguments.get("terms"):
        found = [*extract_terms(context.question), *(term for result in results for term in result.terms)]
        return step.model_copy(
            update={"arguments": {"terms": [term[:200] for term in dict.fromkeys(found)][:_MOST_TERMS]}}
        )
    if step.tool == "page_reader" and not step.arguments.get("pages"):
        rejected = {ref for result in results for ref in result.rejected}
        left = [hit.ref.model_dump() for hit in context.hits if hit.ref not in rejected]
        if rejected and left:
            return step.model_copy(update={"arguments": {"pages": left[: step.arguments.get("top", _READ)]}})
    return step
