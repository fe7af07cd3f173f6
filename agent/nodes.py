"""The nodes of the machine: plan, execute, synthesise, verify, decide. Each one reads the state and returns news."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from agent.arguments import filled
from agent.budget import Budget, add
from agent.decision import decide_next, doubts
from agent.draft import Request, Synthesizer
from agent.executor import Executor
from agent.grounding import cited_lines, fact_records, locate, page_reads, quoted_pages
from agent.matching import is_chinese
from agent.models.calls import ModelCalls
from agent.models.client import ModelClient
from agent.models.types import Picture
from agent.planner import FILTER, GROUNDING, Planner, PlanRequest, RulePlanner, problems_of
from agent.replanning import Situation
from agent.roles.pictures import encoded
from agent.roles.relevance import open_judge
from agent.settings import AgentSettings
from agent.state import AgentState, Candidate, merge_evidence, merge_hits
from agent.trace import TraceWriter
from agent.types import Plan, Usage
from agent.verifier import Case, Verifier, unverified
from retrieval.types import Document, Page, PageRef, Scope
from tools.base import Pages, ToolContext, ToolResult
from tools.judgments import Judging, Judgments
from tools.registry import Registry
from tools.types import Evidence

if TYPE_CHECKING:
    from retrieval.knowledge.pool import Pool

_DPI = 110
_LOOKED_AT = 3

NodeName = Literal["plan", "execute", "synthesise", "verify", "decide"]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that the nodes of one run work with; none of them is in the state. Without a `client` there are rules
    only. `judgments` gives what keeps judgments of pages, which is opened when the first one is wanted.
    """

    pages: Pages
    registry: Registry
    settings: AgentSettings
    planner: Planner
    synthesizer: Synthesizer
    verifier: Verifier
    trace: TraceWriter
    client: ModelClient | None = None
    pool: Pool | None = None
    judgments: Callable[[], Judgments | None] = lambda: None

    def judging(self, calls: ModelCalls) -> Judging:
        """How pages are judged: by the model within the budget of `calls`, else by their words."""
        dpi = self.client.settings.dpi if self.client else _DPI
        return Judging(open_judge(self.client, calls), self.judgments(), dpi)

    async def picture(self, ref: PageRef) -> Picture:
        """A page as an image for the model."""
        dpi = self.client.settings.dpi if self.client else _DPI
        return await asyncio.to_thread(lambda: encoded(self.pages.image(ref, dpi=dpi)))


Node = Callable[[AgentState, Runtime], Awaitable[AgentState]]


async def run_node(name: NodeName, state: AgentState, runtime: Runtime) -> AgentState:
    """Run one node, charge the time it took, and write what is left of the budget into the trace."""
    start = time.monotonic()
    update = await NODES[name](state, runtime)
    charge = add(update.get("spent", Usage()), Usage(seconds=round(time.monotonic() - start, 4)))
    update["spent"] = charge
    total = add(state["spent"], charge)
    data = {"spent": total.model_dump(), "left": update.get("budget", state["budget"]).left(total)}
    runtime.trace.append("budget", name, data)
    return update


async def plan(state: AgentState, runtime: Runtime) -> AgentState:
    """The first plan, or further steps when the verdict sent the run back."""
    if "plan" in state:
        return await _replan(state, runtime)
    calls = _calls(state, runtime, "plan")
    request = _plan_request(state, runtime, calls)
    task = await runtime.planner.task(request)
    budget = Budget.of(runtime.settings, task, state.get("caps"))
    request = replace(request, budget=budget)
    made = await runtime.planner.plan(request, task)
    problems = problems_of(made, runtime.registry, budget)
    if problems:
        runtime.trace.append("plan", "plan", {"refused": made.model_dump(mode="json"), "problems": list(problems)})
        made = await RulePlanner(runtime.settings).plan(request, task)
    runtime.trace.append("plan", "plan", {"plan": made.model_dump(mode="json")})
    return {"plan": made, "pending": made.steps, "budget": budget, "spent": calls.charge}


def _plan_request(state: AgentState, runtime: Runtime, calls: ModelCalls) -> PlanRequest:
    documents = [runtime.pages.document(doc_id) for doc_id in state["scope"].doc_ids]
    return PlanRequest(
        question=state["question"],
        hints=state["hints"],
        budget=state["budget"],
        documents=tuple((document.name, document.pages) for document in documents),
        doc_ids=state["scope"].doc_ids,
        registry=runtime.registry,
        calls=calls,
        pooled=runtime.pool is not None,
        chinese=state["question"].language == "zh" or _hold_chinese(runtime.pages, documents),
    )


def _hold_chinese(pages: Pages, documents: Sequence[Document]) -> bool:
    """Whether the first pages of the first documents hold Chinese text."""
    first = [PageRef(doc_id=d.doc_id, page=n) for d in documents[:_LOOKED_AT] for n in range(1, min(d.pages, 2) + 1)]
    return any(not (text := pages.page(ref).text).isascii() and is_chinese(text) for ref in first)


async def _replan(state: AgentState, runtime: Runtime) -> AgentState:
    calls = _calls(state, runtime, "plan")
    documents = await asyncio.to_thread(_documents, runtime.pages, state["scope"])
    left = state["budget"].left(state["spent"])["tool_calls"]
    situation = Situation(
        question=state["question"],
        plan=state["plan"],
        hits=state.get("hits", ()),
        read=state.get("read", ()),
        missing=state["verification"].report.missing,
        attempt=state["spent"].replans,
        lengths={doc_id: document.pages for doc_id, document in documents.items()},
        calls=calls,
        names={doc_id: document.name for doc_id, document in documents.items()},
        registry=runtime.registry,
        verdict="; ".join(_doubts(state, runtime)),
        calls_left=None if left is None else int(left),
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
    return {"plan": extended, "pending": steps, "stuck": not steps, "spent": calls.charge}


def _documents(pages: Pages, scope: Scope) -> dict[str, Document]:
    return {doc_id: pages.document(doc_id) for doc_id in scope.doc_ids}


def _doubts(state: AgentState, runtime: Runtime) -> tuple[str, ...]:
    """What the last verdict had against the draft; nothing before the first one."""
    return doubts(state, runtime.settings.tasks.of(state["plan"].task))


async def execute(state: AgentState, runtime: Runtime) -> AgentState:
    """Run the pending steps, stage by stage, those of one stage at the same time."""
    executor = _executor(state, runtime, "execute")
    calls = _calls(state, runtime, "execute")
    steps = [step for step in state["pending"] if step.tool != GROUNDING]
    judging = runtime.judging(calls) if any(step.tool == FILTER for step in steps) else None
    grounds = any(step.tool == GROUNDING for step in state["plan"].steps)
    results: list[ToolResult] = []
    context = replace(_context(state, runtime), judging=judging)
    for stage in sorted({step.stage for step in steps}):
        now = [filled(step, context, results) for step in steps if step.stage == stage]
        results += await executor.together(now, context, keep=1 if grounds else 0)
        context = replace(_context(state, runtime, results), judging=judging)
    signals = tuple(status for result in results for status in result.signals)
    if signals:
        runtime.trace.append("signals", "execute", {"signals": [status.model_dump() for status in signals]})
    return {
        "pending": (),
        "hits": tuple(hit for result in results for hit in result.hits),
        "signals": signals,
        "read": tuple(ref for result in results for ref in result.read),
        "evidence": tuple(item for result in results for item in result.evidence),
        "normalised": next((result.value for result in results if result.value), state.get("normalised", "")),
        "spent": add(executor.charge, calls.charge),
    }


def _known(state: AgentState) -> tuple[str, ...]:
    """The facts so far that support a claim, in words; they outlive the draft that they were found for."""
    if "verification" not in state:
        return ()
    believed = {
        name for claim in state["verification"].claims if claim.verdict == "supported" for name in claim.fact_ids
    }
    new = [fact.text for fact in state.get("facts", ()) if fact.id in believed]
    return tuple(dict.fromkeys([*state.get("known", ()), *new]))


async def synthesise(state: AgentState, runtime: Runtime) -> AgentState:
    """Write a draft from the pages that were read, and place its quotes."""
    executor = _executor(state, runtime, "synthesise")
    calls = _calls(state, runtime, "synthesise")
    context = _context(state, runtime)

    worked_out: list[Evidence] = []

    async def call(tool: str, arguments: dict[str, Any]) -> ToolResult | None:
        result = await executor.call(tool, arguments, context, "the synthesiser needs it")
        worked_out.extend(result.evidence if result else ())
        return result

    async def lay_out(refs: Sequence[PageRef]) -> dict[PageRef, Page]:
        return await asyncio.to_thread(lambda: {ref: runtime.pages.laid_out(ref) for ref in refs})

    # The pages that were read stand in memory, which takes less time than handing this to a thread.
    reads = page_reads(runtime.pages, state.get("hits", ()), state.get("read", ()))
    needed, known = runtime.settings.tasks.of(state["plan"].task), _known(state)
    draft = await runtime.synthesizer.synthesise(
        Request(
            question=state["question"],
            pages=reads,
            support=needed.tentative,
            firm=needed.support,
            call=call,
            lay_out=lay_out,
            task=state["plan"].task,
            calls=calls,
            picture=runtime.picture,
            snippets=[item for item in context.evidence if item.kind == "snippet"],
            doubts=_doubts(state, runtime),
            known=known,
            notes=state.get("normalised", ""),
        )
    )
    evidence = (*await locate(draft.quotes, executor, context), *worked_out)
    facts = fact_records(draft, evidence)
    located = cited_lines(runtime.pages, draft)
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
            "origin": draft.origin,
            "confidence": draft.confidence,
            "coverage": round(draft.coverage, 4),
            "missing": list(draft.missing),
            "reason": draft.reason,
            "calculation": draft.calculation,
            "facts": [fact.model_dump(mode="json") for fact in facts],
        },
    )
    return {
        "draft": draft,
        "facts": facts,
        "known": known,
        "evidence": evidence,
        "spent": add(executor.charge, calls.charge),
    }


async def verify(state: AgentState, runtime: Runtime) -> AgentState:
    """Check the draft claim by claim; without a verification left it stays unverified."""
    draft, facts = state["draft"], state["facts"]
    exhausted = bool(state["budget"].exhausted(state["spent"], "verifications"))
    calls = _calls(state, runtime, "verify")
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
            pages=quoted_pages(runtime.pages, draft),
            calls=calls,
            picture=runtime.picture,
            criteria=state["plan"].criteria,
        )
        verification = await runtime.verifier.verify(case)
    runtime.trace.append("claims", "verify", verification.model_dump(mode="json"))
    return {
        "verification": verification,
        "best": Candidate(draft=draft, facts=facts, verification=verification),
        "spent": add(calls.charge, Usage(verifications=0 if exhausted else 1)),
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


def _calls(state: AgentState, runtime: Runtime, node: str) -> ModelCalls:
    return ModelCalls(runtime.client, runtime.trace, state["budget"], state["spent"], node=node)


def _context(state: AgentState, runtime: Runtime, results: list[ToolResult] | None = None) -> ToolContext:
    new = results or []
    cap = state["budget"].snippets
    return ToolContext(
        pages=runtime.pages,
        scope=state["scope"],
        question=state["question"].text,
        hits=merge_hits(state.get("hits", ()), tuple(hit for result in new for hit in result.hits)),
        evidence=merge_evidence(state.get("evidence", ()), tuple(e for result in new for e in result.evidence)),
        pool=runtime.pool,
        snippets=runtime.settings.snippets if cap is None else cap,
    )
