"""The nodes of the machine: plan, execute, synthesise, verify, decide. Each one reads the state and returns news."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.budget import add
from agent.decision import decide_next
from agent.draft import Draft, Request, Synthesizer
from agent.executor import Executor
from agent.grounding import fact_records, locate, page_reads
from agent.planner import GROUNDING, Planner, RulePlanner, problems_of
from agent.replanning import Situation
from agent.settings import AgentSettings
from agent.state import AgentState, Candidate, merge_evidence, merge_hits
from agent.trace import TraceWriter
from agent.types import Plan, Usage
from agent.verifier import Case, Verifier, unverified
from retrieval.types import Page, PageRef, Scope
from tools.base import Pages, ToolContext, ToolResult
from tools.registry import Registry
from tools.types import Evidence

NodeName = Literal["plan", "execute", "synthesise", "verify", "decide"]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that the nodes of one run work with; none of them is in the state."""

    pages: Pages
    registry: Registry
    settings: AgentSettings
    planner: Planner
    synthesizer: Synthesizer
    verifier: Verifier
    trace: TraceWriter


Node = Callable[[AgentState, Runtime], Awaitable[AgentState]]


async def run_node(name: NodeName, state: AgentState, runtime: Runtime) -> AgentState:
    """Run one node, charge the time it took, and write what is left of the budget into the trace."""
    start = time.monotonic()
    update = await NODES[name](state, runtime)
    charge = add(update.get("spent", Usage()), Usage(seconds=round(time.monotonic() - start, 4)))
    update["spent"] = charge
    total = add(state["spent"], charge)
    data = {"spent": total.model_dump(), "left": state["budget"].left(total)}
    runtime.trace.append("budget", name, data)
    return update


async def plan(state: AgentState, runtime: Runtime) -> AgentState:
    """The first plan, or further steps when the verdict sent the run back."""
    if "plan" in state:
        return await _replan(state, runtime)
    question, hints, budget = state["question"], state["hints"], state["budget"]
    made = await runtime.planner.plan(question, hints, budget)
    problems = problems_of(made, runtime.registry, budget)
    if problems:
        runtime.trace.append("plan", "plan", {"refused": made.model_dump(mode="json"), "problems": list(problems)})
        made = await RulePlanner(runtime.settings).plan(question, hints, budget)
    runtime.trace.append("plan", "plan", {"plan": made.model_dump(mode="json")})
    return {"plan": made, "pending": made.steps}


async def _replan(state: AgentState, runtime: Runtime) -> AgentState:
    lengths = await asyncio.to_thread(_lengths, runtime.pages, state["scope"])
    situation = Situation(
        question=state["question"],
        plan=state["plan"],
        hits=state.get("hits", ()),
        read=state.get("read", ()),
        missing=state["verification"].report.missing,
        attempt=state["spent"].replans,
        lengths=lengths,
    )
    steps = await runtime.planner.replan(situation)
    unknown = runtime.registry.unknown(step.tool for step in steps)
    if unknown:
        runtime.trace.append("plan", "plan", {"problems": [f"there is no tool {name!r}" for name in unknown]})
    steps = tuple(step for step in steps if step.tool not in unknown)
    runtime.trace.append(
        "plan", "plan", {"attempt": situation.attempt, "steps": [s.model_dump(mode="json") for s in steps]}
    )
    extended = Plan(**{**dict(state["plan"]), "steps": (*state["plan"].steps, *steps)})
    return {"plan": extended, "pending": steps, "stuck": not steps}


def _lengths(pages: Pages, scope: Scope) -> dict[str, int]:
    return {doc_id: pages.document(doc_id).pages for doc_id in scope.doc_ids}


async def execute(state: AgentState, runtime: Runtime) -> AgentState:
    """Run the pending steps, stage by stage, those of one stage at the same time."""
    executor = _executor(state, runtime, "execute")
    steps = [step for step in state["pending"] if step.tool != GROUNDING]
    grounds = any(step.tool == GROUNDING for step in state["plan"].steps)
    results: list[ToolResult] = []
    context = _context(state, runtime)
    for stage in sorted({step.stage for step in steps}):
        now = [step for step in steps if step.stage == stage]
        results += await executor.together(now, context, keep=1 if grounds else 0)
        context = _context(state, runtime, results)
    signals = tuple(status for result in results for status in result.signals)
    if signals:
        runtime.trace.append("signals", "execute", {"signals": [status.model_dump() for status in signals]})
    return {
        "pending": (),
        "hits": tuple(hit for result in results for hit in result.hits),
        "signals": signals,
        "read": tuple(ref for result in results for ref in result.read),
        "evidence": tuple(item for result in results for item in result.evidence),
        "spent": executor.charge,
    }


async def synthesise(state: AgentState, runtime: Runtime) -> AgentState:
    """Write a draft from the pages that were read, and place its quotes."""
    executor = _executor(state, runtime, "synthesise")
    context = _context(state, runtime)

    worked_out: list[Evidence] = []

    async def call(tool: str, arguments: dict[str, Any]) -> ToolResult | None:
        result = await executor.call(tool, arguments, context, "the synthesiser needs it")
        worked_out.extend(result.evidence if result else ())
        return result

    async def lay_out(refs: Sequence[PageRef]) -> dict[PageRef, Page]:
        return await asyncio.to_thread(lambda: {ref: runtime.pages.laid_out(ref) for ref in refs})

    reads = await asyncio.to_thread(page_reads, runtime.pages, state.get("hits", ()), state.get("read", ()))
    needed = runtime.settings.tasks.of(state["plan"].task)
    draft = await runtime.synthesizer.synthesise(
        Request(
            question=state["question"],
            pages=reads,
            support=needed.tentative,
            firm=needed.support,
            call=call,
            lay_out=lay_out,
            task=state["plan"].task,
        )
    )
    evidence = (*await locate(draft.quotes, executor, context), *worked_out)
    facts = fact_records(draft, evidence)
    located = await asyncio.to_thread(_cited_lines, runtime.pages, draft)
    runtime.trace.append(
        "evidence", "synthesise", {"evidence": [e.model_dump(mode="json") for e in evidence], **located}
    )
    runtime.trace.append(
        "facts",
        "synthesise",
        {
            "answer": draft.answer,
            "candidate": draft.candidate,
            "way": draft.way,
            "confidence": draft.confidence,
            "coverage": round(draft.coverage, 4),
            "missing": list(draft.missing),
            "reason": draft.reason,
            "calculation": draft.calculation,
            "facts": [fact.model_dump(mode="json") for fact in facts],
        },
    )
    return {"draft": draft, "facts": facts, "evidence": evidence, "spent": executor.charge}


def _quoted_pages(pages: Pages, draft: Draft) -> list[Page]:
    return [pages.page(ref) for ref in dict.fromkeys(quote.page for quote in draft.quotes)]


def _cited_lines(pages: Pages, draft: Draft) -> dict[str, Any]:
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


async def verify(state: AgentState, runtime: Runtime) -> AgentState:
    """Check the draft claim by claim; without a verification left it stays unverified."""
    draft, facts = state["draft"], state["facts"]
    exhausted = bool(state["budget"].exhausted(state["spent"], "verifications"))
    if exhausted:
        verification = unverified(draft)
    else:
        case = Case(
            question=state["question"],
            draft=draft,
            facts=facts,
            evidence=state.get("evidence", ()),
            needed=runtime.settings.tasks.of(state["plan"].task),
            task=state["plan"].task,
            pages=await asyncio.to_thread(_quoted_pages, runtime.pages, draft),
        )
        verification = await runtime.verifier.verify(case)
    runtime.trace.append("claims", "verify", verification.model_dump(mode="json"))
    return {
        "verification": verification,
        "best": Candidate(draft=draft, facts=facts, verification=verification),
        "spent": Usage(verifications=0 if exhausted else 1),
    }


async def decide(state: AgentState, runtime: Runtime) -> AgentState:
    """Finish, replan or abstain; a replan is charged here."""
    decision = decide_next(state, runtime.settings.tasks.of(state["plan"].task))
    runtime.trace.append("decision", "decide", decision.model_dump())
    return {"decision": decision, "spent": Usage(replans=1 if decision.outcome == "replan" else 0)}


NODES: dict[NodeName, Node] = {
    "plan": plan,
    "execute": execute,
    "synthesise": synthesise,
    "verify": verify,
    "decide": decide,
}


def _executor(state: AgentState, runtime: Runtime, node: str) -> Executor:
    return Executor(runtime.registry, runtime.trace, state["budget"], state["spent"], node=node)


def _context(state: AgentState, runtime: Runtime, results: list[ToolResult] | None = None) -> ToolContext:
    new = results or []
    cap = state["budget"].snippets
    return ToolContext(
        pages=runtime.pages,
        scope=state["scope"],
        question=state["question"].text,
        hits=merge_hits(state.get("hits", ()), tuple(hit for result in new for hit in result.hits)),
        evidence=merge_evidence(state.get("evidence", ()), tuple(e for result in new for e in result.evidence)),
        snippets=runtime.settings.snippets if cap is None else cap,
    )
