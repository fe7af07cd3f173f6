"""What to try next when support is missing: looser words, synonyms, more pages, neighbouring pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.models.calls import ModelCalls
from agent.question import Question
from agent.settings import AgentSettings
from agent.types import Plan, PlanStep
from retrieval.types import PageHit, PageRef
from tools.registry import Registry
from tools.terms import extract_terms

_SYNONYMS: dict[str, str] = {
    "revenue": "net sales",
    "revenues": "net sales",
    "sales": "revenue",
    "profit": "net income earnings",
    "income": "earnings profit",
    "capex": "capital expenditures additions to property",
    "debt": "borrowings notes payable",
    "employees": "staff workforce headcount",
    "cost": "price expense",
    "price": "cost fee",
    "increase": "growth rise",
    "decrease": "decline drop",
    "purpose": "aim objective goal",
    "author": "written by",
    "company": "corporation firm",
    "students": "pupils",
    "phone": "telephone",
    "收入": "营业收入 营收",
    "利润": "净利润 盈利",
    "费用": "成本 支出",
    "员工": "职工 人员",
    "目的": "目标 宗旨",
}


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a run stands when it needs another plan. `attempt` counts from 1; `lengths` are page counts by document.

    `verdict` is what the checker said; `calls_left` the tool calls that are left, None without a cap.
    """

    question: Question
    plan: Plan
    hits: Sequence[PageHit]
    read: Sequence[PageRef]
    missing: Sequence[str]
    attempt: int
    lengths: Mapping[str, int]
    calls: ModelCalls
    names: Mapping[str, str]
    registry: Registry
    verdict: str = ""
    calls_left: int | None = None


def next_steps(body: str, situation: Situation, settings: AgentSettings) -> tuple[PlanStep, ...]:
    """The steps of one more attempt: two new queries at most, then more of what they and the earlier ones found."""
    reach = settings.read_pages * (1 + situation.attempt)
    asked = {step.arguments.get("query") for step in situation.plan.steps}
    queries = [query for query in _queries(body, situation) if query and query not in asked][:2]
    steps = [
        PlanStep(tool="page_retriever", arguments={"query": query, "k": reach}, why="other words for what is missing")
        for query in queries
    ]
    neighbours = [ref.model_dump() for ref in _neighbours(situation)]
    if neighbours:
        steps.append(PlanStep(tool="page_reader", arguments={"pages": neighbours}, why="pages next to the best ones"))
    if queries or len(situation.read) < len(situation.hits):
        steps.append(
            PlanStep(tool="page_reader", arguments={"top": reach}, why="read further down the ranking", stage=1)
        )
    return tuple(steps)


def _queries(body: str, situation: Situation) -> list[str]:
    key = extract_terms(body)
    wider = [_SYNONYMS[term.lower()] for term in key if term.lower() in _SYNONYMS]
    relaxed = " ".join(key)
    if situation.attempt == 1:
        return [relaxed, " ".join([*key, *wider]) if wider else ""]
    return [" ".join(situation.missing), " ".join(key[:3]), " ".join(wider)]


def _neighbours(situation: Situation) -> list[PageRef]:
    """The pages before and after the two best ones, those that were not read."""
    found = [
        PageRef(doc_id=hit.ref.doc_id, page=page)
        for hit in situation.hits[:2]
        for page in (hit.ref.page - 1, hit.ref.page + 1)
        if 1 <= page <= situation.lengths.get(hit.ref.doc_id, 0)
    ]
    return [ref for ref in dict.fromkeys(found) if ref not in set(situation.read)]
