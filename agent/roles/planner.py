"""The planner that asks a model: what kind of question it is, where to look, and where else when support is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from agent.models.types import Prompt
from agent.planner import FILTER, GROUNDING, POOL, PlanRequest, RulePlanner, criteria_of
from agent.prompts import render
from agent.replanning import Situation
from agent.settings import AgentSettings
from agent.types import Plan, PlanStep, Task
from retrieval.types import PageRef
from tools.registry import Registry

_STAGES = {"page_retriever": 0, "page_reader": 1, "char_normalizer": 2, "term_extractor": 2, POOL: 3}
"""What runs after what: searching, reading, then what works on the pages that were read."""
_FILTERED = 1
"""The stage of a filter, which moves all stages after the search."""
_OFFERED = (*_STAGES, FILTER)
_EVERYWHERE = ("page_retriever", "page_reader", FILTER)
_UNCAPPED = 12
_ALWAYS = 3
"""Tool calls that every plan has: a search for the question, reading, placing quotes."""
_MOST_DOCUMENTS = 30
_ADDRESS = re.compile(r"(?:D(\d{1,6})[.: ]*)?(?:p(?:age)?\s*)?(\d{1,6})", re.IGNORECASE)
_USUAL: dict[Task, str] = {
    "ocr": "page_reader",
    "translation": "page_reader, char_normalizer",
    "reasoning_qa": "page_retriever, page_reader",
    "knowledge_qa": "page_retriever, page_reader, term_extractor, evidence_retriever",
    "linguistic_qa": "page_reader, char_normalizer",
    "document_qa": "page_retriever once for each part of the question",
}


Line = Annotated[str, Field(json_schema_extra={"maxLength": 160})]


class TaskReply(BaseModel):
    """The reply of the classifier."""

    task: Task


class StepReply(BaseModel):
    """One step as a model writes it."""

    tool: str
    query: str = Field(default="", json_schema_extra={"maxLength": 200})
    pages: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": 8})
    why: str = Field(default="", json_schema_extra={"maxLength": 120})

    @field_validator("pages", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        values = [] if value is None else value if isinstance(value, list) else [value]
        return [str(item) for item in values]


class PlanReply(BaseModel):
    """The reply of the planner."""

    sub_questions: list[Line] = Field(default_factory=list, json_schema_extra={"maxItems": 4})
    steps: list[StepReply] = Field(default_factory=list, json_schema_extra={"maxItems": 5})
    criteria: list[Line] = Field(default_factory=list, json_schema_extra={"maxItems": 3})


class StepsReply(BaseModel):
    """The reply of the planner that was asked for more."""

    steps: list[StepReply] = Field(default_factory=list, json_schema_extra={"maxItems": 4})


class ModelPlanner:
    """Asks the model, checks what it says against registry and budget, and falls back on the rules.

    The question itself is always searched for, the best pages are always read, and what is quoted is always placed: a
    model that forgets these costs nothing.
    """

    name = "model"

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._rules = RulePlanner(settings)

    async def task(self, request: PlanRequest) -> Task:
        """What the caller says, else what the model says, else what the cues say.

        The model is asked only over Chinese text: no other has the tasks of classical pages.
        """
        if request.hints.task is not None or not request.chinese:
            return await self._rules.task(request)
        question = request.question
        system, user, version = render("classify", "task", question.language, question=question.text)
        prompt = Prompt(role="classify", system=system, user=user, version=version)
        asked = await request.calls.record(prompt, TaskReply, language=question.language)
        return asked.value.task if asked.value is not None else await self._rules.task(request)

    async def plan(self, request: PlanRequest, task: Task) -> Plan:
        """The model's plan, repaired once where it breaks a rule; else that of the rules, and `origin` says why."""
        question = request.question
        cap = _UNCAPPED if request.budget.tool_calls is None else request.budget.tool_calls
        fixed = await self._rules.plan(request, task)
        if cap <= _ALWAYS:
            return fixed.model_copy(update={"origin": f"rules: {cap} tool calls leave nothing to plan"})
        offered = _offered(request.registry, pooled=request.pooled, chinese=request.chinese)
        lengths = dict(zip(request.doc_ids, (pages for _, pages in request.documents), strict=True))
        system, user, version = render(
            "plan",
            "plan",
            question.language,
            question=question.text,
            task=task,
            documents=_documents(request.documents),
            tools=_tools(request.registry, offered),
            calls=str(cap - _ALWAYS),
            usual=_usual(task, pooled=request.pooled),
        )
        asked = await request.calls.record(
            Prompt(role="plan", system=system, user=user, version=version),
            PlanReply,
            lambda reply: _problem(reply.steps, offered, lengths, cap - _ALWAYS),
            choices={"tool": offered},
            language=question.language,
        )
        if asked.value is None:
            return fixed.model_copy(update={"origin": f"rules: {asked.reason}"})
        reply = asked.value
        steps = _completed(_steps(reply.steps, request.doc_ids, self._settings), fixed, cap)
        return Plan(
            task=task,
            answer_type=question.answer_type,
            sub_questions=tuple(reply.sub_questions[:6]) or question.sub_questions,
            grounding=("page", "pool") if any(step.tool == POOL for step in steps) else ("page",),
            steps=steps,
            criteria=(*criteria_of(question), *(text for text in reply.criteria[:6] if text.strip())),
            origin="model, repaired" if asked.repaired else "model",
        )

    async def replan(self, situation: Situation) -> tuple[PlanStep, ...]:
        """Steps of the model that weren't made before, else those of the rules."""
        question = situation.question
        room = _UNCAPPED if situation.calls_left is None else situation.calls_left
        if room < 2:
            return await self._rules.replan(situation)
        searched = [str(step.arguments["query"]) for step in situation.plan.steps if "query" in step.arguments]
        doc_ids = tuple(situation.lengths)
        documents = tuple((situation.names[doc_id], situation.lengths[doc_id]) for doc_id in doc_ids)
        offered = _offered(
            situation.registry, pooled="pool" in situation.plan.grounding, chinese=situation.plan.task != "document_qa"
        )
        system, user, version = render(
            "plan",
            "replan",
            question.language,
            question=question.text,
            task=situation.plan.task,
            documents=_documents(documents),
            tools=_tools(situation.registry, offered),
            searched="; ".join(searched) or "-",
            read=", ".join(_address(ref, doc_ids) for ref in situation.read) or "-",
            verdict=situation.verdict or "-",
            missing=", ".join(situation.missing) or "-",
            calls=str(room - 1),
        )
        asked = await situation.calls.record(
            Prompt(role="plan", system=system, user=user, version=version),
            StepsReply,
            lambda reply: _problem(reply.steps, offered, situation.lengths, room - 1),
            choices={"tool": offered},
            language=question.language,
        )
        if asked.value is None:
            return await self._rules.replan(situation)
        known = {query.strip().lower() for query in searched}
        new = [
            step
            for step in _steps(asked.value.steps, doc_ids, self._settings)
            if str(step.arguments.get("query", "")).strip().lower() not in known or "query" not in step.arguments
        ]
        if not any(step.tool in ("page_retriever", "page_reader") for step in new):
            return await self._rules.replan(situation)
        reach = self._settings.read_pages * (1 + situation.attempt)
        reading = PlanStep(
            tool="page_reader", arguments={"top": min(reach, 50)}, why="read further down the ranking", stage=1
        )
        return _filtered((*new[: room - 1], reading))


def _documents(documents: Sequence[tuple[str, int]]) -> str:
    """The documents as the model names them: D1, D2, ..."""
    lines = [f"D{number}: {name}, {pages} pages" for number, (name, pages) in enumerate(documents, 1)]
    if len(lines) > _MOST_DOCUMENTS:
        lines = [*lines[:_MOST_DOCUMENTS], f"... and {len(lines) - _MOST_DOCUMENTS} more"]
    return "\n".join(lines)


def _tools(registry: Registry, offered: Sequence[str]) -> str:
    """The tools that a plan may use, with their fields."""
    fields = {"page_retriever": '"query"', "page_reader": '"pages": ["D1.3"]', FILTER: '"pages": ["D1.3"]'}
    return "\n".join(f"- {name}({fields.get(name, '')}): {registry.get(name).description}" for name in offered)


def _offered(registry: Registry, *, pooled: bool, chinese: bool) -> list[str]:
    """The tools that a plan may use: searching and reading, over Chinese material also what works on its text."""
    known = _OFFERED if chinese else _EVERYWHERE
    return [name for name in registry.names if name in known and (pooled or name != POOL)]


def _usual(task: Task, *, pooled: bool) -> str:
    return _USUAL[task] if pooled else _USUAL[task].removesuffix(f", term_extractor, {POOL}")


def _address(ref: PageRef, doc_ids: Sequence[str]) -> str:
    return f"D{doc_ids.index(ref.doc_id) + 1}.{ref.page}" if ref.doc_id in doc_ids else str(ref.page)


def _page_ref(text: str, doc_ids: Sequence[str]) -> PageRef | None:
    """The page that "D2.3", or "3" of a single document, names."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or (match.group(1) is None and len(doc_ids) != 1):
        return None
    number = int(match.group(1) or 1)
    page = int(match.group(2))
    return PageRef(doc_id=doc_ids[number - 1], page=page) if 1 <= number <= len(doc_ids) and page >= 1 else None


def _problem(steps: Sequence[StepReply], offered: Sequence[str], lengths: Mapping[str, int], room: int) -> str:
    """What is wrong with the steps of a reply; "" when nothing is. `lengths` are page counts by document, in order."""
    for step in steps:
        if step.tool == GROUNDING:
            continue
        if step.tool not in offered:
            return f"there is no tool {step.tool!r}; the tools are {', '.join(offered)}"
        if step.tool == "page_retriever" and not re.search(r"\w", step.query):
            return "page_retriever needs a query"
        for text in step.pages if step.tool in ("page_reader", FILTER) else ():
            ref = _page_ref(text, tuple(lengths))
            if ref is None or ref.page > lengths.get(ref.doc_id, 0):
                return f"there is no page {text!r}; write pages as D1.3"
    wanted = sum(step.tool != GROUNDING for step in steps)
    return f"{wanted} tool calls are planned, {room} are allowed" if wanted > room else ""


def _steps(replies: Sequence[StepReply], doc_ids: Sequence[str], settings: AgentSettings) -> list[PlanStep]:
    """The steps of a checked reply with the arguments of their tools, repeats left out."""
    found: dict[str, PlanStep] = {}
    for reply in replies:
        if reply.tool == GROUNDING:
            continue
        arguments: dict[str, Any] = {}
        if reply.tool == "page_retriever":
            arguments = {"query": reply.query.strip()[:2000], "k": settings.retrieved_pages}
        elif reply.tool == "page_reader":
            refs = [ref for text in reply.pages if (ref := _page_ref(text, doc_ids)) is not None]
            if not refs:
                continue
            arguments = {"pages": [ref.model_dump() for ref in refs[:50]]}
        elif reply.tool == FILTER:
            refs = [ref for text in reply.pages if (ref := _page_ref(text, doc_ids)) is not None]
            arguments = {"pages": [ref.model_dump() for ref in refs[:50]]}
        elif reply.tool in ("char_normalizer", "term_extractor"):
            arguments = {"text": ""}
        stage = _STAGES.get(reply.tool, _FILTERED)
        step = PlanStep(tool=reply.tool, arguments=arguments, why=reply.why[:200], stage=stage)
        found.setdefault(f"{reply.tool} {arguments}", step)
    return list(found.values())


def _completed(steps: Sequence[PlanStep], fixed: Plan, cap: int) -> tuple[PlanStep, ...]:
    """The steps with those of the rules that no plan may lack: a search for the question as it stands, reading the best
    pages, what the task needs besides, placing quotes. Words that a weak model makes up then cost only themselves.
    """
    searches = [step for step in fixed.steps if step.tool == "page_retriever"][:1]
    always = [*searches, *(step for step in fixed.steps if step.tool != "page_retriever")]
    known = [(step.tool, step.arguments) for step in always]
    new = [step for step in steps if (step.tool, step.arguments) not in known]
    return _filtered(sorted([*always, *new[: max(cap - len(always), 0)]], key=lambda step: step.stage))


def _filtered(steps: Sequence[PlanStep]) -> tuple[PlanStep, ...]:
    """The steps with a stage of its own for a filter, between searching and reading."""
    if not any(step.tool == FILTER for step in steps):
        return tuple(steps)
    moved = [
        step if step.tool == FILTER or step.stage < _FILTERED else step.model_copy(update={"stage": step.stage + 1})
        for step in steps
    ]
    return tuple(sorted(moved, key=lambda step: step.stage))
