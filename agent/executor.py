"""Run tool calls within the budget: refused before they run, charged in one place, each one in the trace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from agent.budget import Budget, add
from agent.trace import TraceWriter
from agent.types import PlanStep, Usage
from tools.base import ToolContext, ToolFailed, ToolResult, ToolRetry
from tools.registry import Registry


class Executor:
    """The tool calls of one node. `charge` is what they cost; the node hands it to the state's reducer."""

    def __init__(self, registry: Registry, trace: TraceWriter, budget: Budget, spent: Usage, *, node: str) -> None:
        self._registry = registry
        self._trace = trace
        self._budget = budget
        self._spent = spent
        self._node = node
        self.charge = Usage()

    async def together(self, steps: Sequence[PlanStep], context: ToolContext, *, keep: int = 0) -> list[ToolResult]:
        """Run independent calls at the same time; the results of those that ran and succeeded, in order.

        The calls that fit the budget are reserved before the first one starts. The others are refused, which the
        trace shows; `keep` calls are left for later nodes.
        """
        so_far = add(self._spent, self.charge)
        fits, refused = self._budget.reserve(steps, so_far, keep=keep)
        if self._budget.exhausted(so_far, "seconds"):
            fits, refused = (), tuple(steps)
        self.charge = add(self.charge, Usage(tool_calls=len(fits)))
        for step in refused:
            self._record(step, "refused", 0.0, error="the budget has no room for it")
        results = await asyncio.gather(*(self._call(step, context) for step in fits))
        found = [result for result in results if result is not None]
        snippets = sum(len(result.evidence) for result in found if result.hits)
        self.charge = add(self.charge, Usage(snippets=snippets))
        return found

    async def call(self, tool: str, arguments: dict[str, Any], context: ToolContext, why: str) -> ToolResult | None:
        """One call; None when it was refused or failed."""
        results = await self.together([PlanStep(tool=tool, arguments=arguments, why=why)], context)
        return results[0] if results else None

    async def _call(self, step: PlanStep, context: ToolContext) -> ToolResult | None:
        start = time.perf_counter()
        try:
            result = await self._registry.run(step.tool, context, step.arguments)
        except (ToolRetry, ToolFailed) as error:
            outcome = "retry" if isinstance(error, ToolRetry) else "failed"
            self._record(step, outcome, time.perf_counter() - start, error=str(error))
            return None
        self._record(step, "ok", time.perf_counter() - start, result=result)
        return result

    def _record(
        self, step: PlanStep, outcome: str, seconds: float, *, result: ToolResult | None = None, error: str = ""
    ) -> None:
        data: dict[str, Any] = {
            "tool": step.tool,
            "arguments": step.arguments,
            "why": step.why,
            "outcome": outcome,
            "ms": round(seconds * 1000, 1),
        }
        if error:
            data["error"] = error
        if result is not None:
            empty = not (result.evidence or result.hits or result.read or result.value or result.terms or result.kept)
            data |= {
                "outcome": "empty" if empty else "ok",
                "evidence": len(result.evidence),
                "pages": [ref.page for ref in (result.read or tuple(hit.ref for hit in result.hits))],
                "notes": list(result.notes),
            }
            if result.hits:
                data["ranked"] = [
                    {"doc_id": hit.ref.doc_id, "page": hit.ref.page, "score": round(hit.score, 4), "ranks": hit.ranks}
                    for hit in result.hits
                ]
            if result.value is not None:
                data["value"] = result.value[:200]
            if result.judged:
                data |= {
                    "pages": [ref.page for ref in result.kept],
                    "judged": [record.model_dump(mode="json") for record in result.judged],
                }
        self._trace.append("tool_call", self._node, data)
