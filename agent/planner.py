"""The planner protocol, and the one by rules: what kind of question it is, and which tools answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.budget import Budget
from agent.cues import TASKS
from agent.models.calls import ModelCalls
from agent.question import Question, question_body
from agent.replanning import Situation, next_steps
from agent.settings import AgentSettings
from agent.transcription import named_pages
from agent.types import AnswerType, Plan, PlanStep, Task
from retrieval.types import Frozen, PageRef
from tools.base import ToolRetry
from tools.registry import Registry

GROUNDING = "region_locator"
"""The tool that places quotes. Its step runs once quotes are chosen, with them as its arguments."""

FILTER = "relevance_filter"
"""The tool that judges pages between searching and reading. The rules plan without it."""

POOL = "evidence_retriever"
"""The tool that looks things up in the evidence pool."""

_UNCAPPED = 12
_WHOLE: tuple[Task, ...] = ("ocr", "translation")
"""Tasks that are about the text of a page, not about something in it."""
_CLASSICAL: tuple[Task, ...] = ("translation", "knowledge_qa", "linguistic_qa")
"""Tasks of classical pages that are told by their words."""

_CRITERIA: dict[AnswerType, str] = {
    "number": "the number stands in the cited evidence",
    "percent": "the percentage stands in the cited evidence",
    "money": "the amount stands in the cited evidence, in the same unit",
    "date": "the date stands in the cited evidence",
    "count": "the count stands in the cited evidence",
    "name": "the name stands in the cited evidence",
    "yes_no": "the evidence states what is asked, with the same negation",
    "list": "each item is supported by a quote of its own",
    "text": "the evidence has the words and the negation of each sentence",
}


class Hints(Frozen):
    """What the caller knows about a question already; it goes before what the rules guess."""

    task: Task | None = None
    answer_type: AnswerType | None = None
    pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a planner works on. `documents` are the names and page counts of the scope, in its order; `calls` asks the
    model; `pooled` says that there is an evidence pool, `chinese` that question or documents hold Chinese text.
    """

    question: Question
    hints: Hints
    budget: Budget
    documents: tuple[tuple[str, int], ...]
    doc_ids: tuple[str, ...]
    registry: Registry
    calls: ModelCalls
    pooled: bool = False
    chinese: bool = True


class Planner(Protocol):
    """Decides which tools are called."""

    name: str

    async def task(self, request: PlanRequest) -> Task:
        """The kind of the question, which sets the budget that the plan must keep to."""

    async def plan(self, request: PlanRequest, task: Task) -> Plan:
        """The first plan."""

    async def replan(self, situation: Situation) -> tuple[PlanStep, ...]:
        """Further steps for what is missing; none when there is nothing left to try."""


class RulePlanner:
    """Search, read the best pages, locate what is quoted."""

    name = "rules"

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings

    async def task(self, request: PlanRequest) -> Task:
        """What the caller says, else what the cues say."""
        return request.hints.task or task_of(request.question)

    async def plan(self, request: PlanRequest, task: Task) -> Plan:
        """One search for the question and one for each part of it, as far as the budget allows, then reading."""
        question, budget = request.question, request.budget
        extra = background_steps(task, pooled=request.pooled, chinese=request.chinese)
        given = self._given(request, task)
        whole = len(given) == sum(pages for _, pages in request.documents) or (task in _WHOLE and len(given) > 0)
        cap = _UNCAPPED if budget.tool_calls is None else budget.tool_calls
        room = max(cap - (4 if given else 3) - len(extra), 0)
        parts = [part for part in (*question.sub_questions, *question.phrases) if part != question.text][: min(room, 2)]
        steps = [
            PlanStep(
                tool="page_retriever",
                arguments={"query": query, "k": self._settings.retrieved_pages},
                why="pages about the question" if query == question.text else "pages about a part of the question",
            )
            for query in (() if task in _WHOLE and given else (question.text, *parts))
        ]
        if given:
            pages = [ref.model_dump() for ref in given]
            steps.append(PlanStep(tool="page_reader", arguments={"pages": pages}, why="the pages that are meant"))
        if not whole:
            top = {"top": self._settings.read_pages}
            steps.append(PlanStep(tool="page_reader", arguments=top, why="read the best pages", stage=1))
        steps += extra if len(steps) + len(extra) < cap else ()
        steps.append(PlanStep(tool=GROUNDING, arguments={"quotes": []}, why="place what is quoted", stage=4))
        return Plan(
            task=task,
            answer_type=question.answer_type,
            sub_questions=question.sub_questions,
            grounding=("page", "pool") if any(step.tool == POOL for step in steps) else ("page",),
            steps=tuple(steps[:cap]),
            criteria=criteria_of(question),
            origin=self.name,
        )

    def _given(self, request: PlanRequest, task: Task) -> tuple[PageRef, ...]:
        """The pages that are read whatever a search finds: those of the caller, those that a question about the text of
        a page names, and all of a few pages of a classical text, whose words a question need not share.
        """
        if request.hints.pages or task == "document_qa":
            return request.hints.pages
        lengths = [pages for _, pages in request.documents]
        if task in _WHOLE and (named := named_pages(request.question)):
            places = [
                (doc, length, n if n > 0 else length + 1 + n) for doc, length in self._lengths(request) for n in named
            ]
            return tuple(PageRef(doc_id=doc, page=n) for doc, length, n in places if 1 <= n <= length)[:50]
        if sum(lengths) > self._settings.read_pages:
            return ()
        return tuple(
            PageRef(doc_id=doc, page=n) for doc, length in self._lengths(request) for n in range(1, length + 1)
        )

    def _lengths(self, request: PlanRequest) -> list[tuple[str, int]]:
        return [(doc_id, pages) for doc_id, (_, pages) in zip(request.doc_ids, request.documents, strict=True)]

    async def replan(self, situation: Situation) -> tuple[PlanStep, ...]:
        """Looser queries and more pages than the time before."""
        return next_steps(question_body(situation.question.text), situation, self._settings)


def background_steps(task: Task, *, pooled: bool, chinese: bool) -> tuple[PlanStep, ...]:
    """What a classical question needs besides pages: their simplified text; and for a knowledge question their terms,
    with what the evidence pool has on these.

    Their arguments are filled in when they run: the text is that of the pages that were read by then.
    """
    steps = []
    if chinese and task in _CLASSICAL:
        steps.append(PlanStep(tool="char_normalizer", arguments={"text": ""}, why="simplified characters", stage=2))
    if task == "knowledge_qa" and pooled:
        steps += [
            PlanStep(tool="term_extractor", arguments={"text": ""}, why="what the pages speak of", stage=2),
            PlanStep(tool=POOL, arguments={}, why="what the evidence pool has on it", stage=3),
        ]
    return tuple(steps)


def task_of(question: Question) -> Task:
    """The kind of a question by its cues; calculations are reasoning, everything else is asked of the document."""
    for task, pattern in TASKS:
        if pattern.search(question.text):
            return task
    return "reasoning_qa" if question.operation in ("growth", "difference", "ratio") else "document_qa"


def problems_of(plan: Plan, registry: Registry, budget: Budget) -> tuple[str, ...]:
    """What is wrong with a plan: tools that don't exist, arguments they refuse, more calls than the budget has."""
    problems = [f"there is no tool {name!r}" for name in registry.unknown(step.tool for step in plan.steps)]
    for step in plan.steps:
        if step.tool in registry.names:
            try:
                registry.parse(step.tool, step.arguments)
            except ToolRetry as error:
                problems.append(str(error))
    if budget.tool_calls is not None and len(plan.steps) > budget.tool_calls:
        problems.append(f"{len(plan.steps)} tool calls are planned, {budget.tool_calls} are allowed")
    if not plan.steps:
        problems.append("the plan has no steps")
    return tuple(problems)


def criteria_of(question: Question) -> tuple[str, ...]:
    """What the verifier must find in the evidence, by the type of the answer."""
    criteria = [_CRITERIA[question.answer_type]]
    if question.years:
        criteria.append(f"the evidence is about {', '.join(question.years)}")
    if question.operation:
        criteria.append(f"the {question.operation} is calculated from values in the evidence")
    return tuple(criteria)
