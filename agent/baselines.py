"""Baselines: the model alone, with the whole scope or with the pages that a search found, in one call."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from agent.budget import Budget, add
from agent.loop import run
from agent.models.calls import PICTURE_TOKENS, ModelCalls, json_in, text_tokens
from agent.models.client import ModelClient
from agent.models.settings import EvidenceForm
from agent.models.types import Capabilities, ModelFailed, Picture, Prompt
from agent.planner import Hints, task_of
from agent.prompts import fenced, render
from agent.question import Question, analyse, check_question
from agent.roles.pictures import encoded
from agent.settings import AgentSettings
from agent.trace import TraceWriter, new_run_id, trace_path
from agent.types import EvidenceReport, Plan, Task, Trajectory, TrajectoryPage, Usage
from retrieval.errors import InputError
from retrieval.types import PageRef, Scope
from tools.base import Pages

Baseline = Literal["direct", "direct-rag"]
_PROMPT_TOKENS = 500
_LEAST_TEXT = 100
"""Tokens of a page's text below which a part of it isn't worth showing."""
_NO_ANSWER = re.compile(
    r"(?:not answerable|unanswerable|无法回答|無法回答|不可回答)(?:[.。,，:：;；!！\s].*)?", re.IGNORECASE | re.DOTALL
)


_ANSWER = re.compile(r'"answer"\s*:\s*"((?:[^"\\\n]|\\.)*)"')


class Citation(BaseModel):
    """Where a direct answer says that it stands: the number in a page's marker."""

    page: int
    sentence: str = ""


class DirectReply(BaseModel):
    """The reply of a model that answers directly."""

    answer: str = ""
    citations: list[Citation] = Field(default_factory=list)

    @field_validator("answer", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> str:
        return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)

    @field_validator("citations", mode="before")
    @classmethod
    def _usable(cls, value: object) -> list[Citation]:
        """Those that name a page: a citation in another form costs no answer."""
        found = []
        for item in value if isinstance(value, list) else [value]:
            try:
                found.append(Citation.model_validate({"page": item} if isinstance(item, int) else item))
            except ValidationError:
                continue
        return found


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the model is shown: pages by the numbers in their markers, in which form, and what had no room."""

    pages: tuple[PageRef, ...]
    text: str
    pictures: tuple[Picture, ...]
    form: EvidenceForm
    cut: str = ""


class BaselineAgent:
    """Answers in one call, without planning, verifying or replanning. Its trajectories have an answer and cited pages;
    nothing in them is verified, and `stop_reason` says so.

    `direct` shows the whole scope as far as the model's context goes, `direct-rag` the pages that a search found.
    """

    def __init__(
        self, pages: Pages, root: Path, settings: AgentSettings, *, client: ModelClient, baseline: Baseline
    ) -> None:
        self.pages = pages
        self.root = root
        self.settings = settings
        self.client = client
        self.baseline = baseline

    def ask(self, question: str, scope: Scope, *, hints: Hints | None = None) -> Trajectory:
        """`aask` for callers that don't await."""
        return run(self.aask(question, scope, hints=hints))

    async def aask(self, question: str, scope: Scope, *, hints: Hints | None = None) -> Trajectory:
        """The direct answer. ModelFailed when the model gives no whole reply: that is a failure, and no answer."""
        check_question(question)
        if not scope.doc_ids:
            raise InputError("there are no documents to ask", remedy="give paths, or index documents first")
        begin = time.monotonic()
        analysed = analyse(question)
        task = (hints.task if hints else None) or task_of(analysed)
        run_id = new_run_id()
        trace = TraceWriter(trace_path(self.root, run_id), run_id)
        budget = Budget.of(self.settings, task, None)
        data = {"question": analysed.text, "scope": list(scope.doc_ids), "budget": budget.model_dump()}
        trace.append("started", "baseline", {**data, "models": {self.baseline: self.client.name}})
        try:
            shown, calls, reply = await self._replied(analysed, scope, task, budget, trace)
        except BaseException as error:
            trace.append("interrupted", "baseline", {"error": f"{type(error).__name__}: {error}"})
            raise
        usage = add(calls.charge, Usage(seconds=round(time.monotonic() - begin, 4)))
        plan = Plan(task=task, answer_type=analysed.answer_type, sub_questions=(), origin=self.baseline)
        trajectory = self._trajectory(analysed, scope, plan, shown, reply, usage, run_id)
        trace.append("final", "baseline", {"trajectory": trajectory.model_dump(mode="json", by_alias=True)})
        return trajectory

    async def _replied(
        self, question: Question, scope: Scope, task: Task, budget: Budget, trace: TraceWriter
    ) -> tuple[_Shown, ModelCalls, DirectReply]:
        """What the model was shown, and what it said to that."""
        capabilities = await self.client.capabilities()
        shown = await asyncio.to_thread(self._shown, question, scope, capabilities)
        pages = [{**ref.model_dump(), "document": self.pages.document(ref.doc_id).name} for ref in shown.pages]
        trace.append("plan", "baseline", {"shown": pages, "as": shown.form, "cut": shown.cut})
        calls = ModelCalls(self.client, trace, budget, Usage(), node="baseline")
        system, user, version = render(
            "direct", task, question.language, pages=fenced(shown.text), question=question.text, notes=""
        )
        prompt = Prompt(role="direct", system=system, user=user, version=version, pictures=shown.pictures)
        asked = await calls.text(prompt)
        if asked.value is None:
            raise ModelFailed(f"the model gave no answer ({asked.reason})")
        return shown, calls, _direct(asked.value)

    def _shown(self, question: Question, scope: Scope, capabilities: Capabilities) -> _Shown:
        """Pages until the context is full: pictures for a model that sees them, text as the settings want it.

        ModelFailed when not even the beginning of one page has room.
        """
        settings = self.client.settings
        form: EvidenceForm = settings.evidence if capabilities.vision else "text"
        refs = self._refs(question, scope)
        room = capabilities.context - settings.decoding.max_tokens - _PROMPT_TOKENS - text_tokens(question.text)
        shown: list[PageRef] = []
        texts: list[str] = []
        pictures: list[Picture] = []
        cut = ""
        for number, ref in enumerate(refs, 1):
            text = self._text(number, ref, form)
            left = room - (0 if form == "text" else PICTURE_TOKENS)
            if left < min(text_tokens(text), _LEAST_TEXT):
                cut = f"{len(refs) - len(shown)} of {len(refs)} pages had no room in the model's context"
                break
            shown.append(ref)
            if form != "text":
                pictures.append(encoded(self.pages.image(ref, dpi=settings.dpi)))
            if text_tokens(text) > left:
                texts.append(_cut_to(text, left))
                cut = f"page {ref.page} was cut, and {len(refs) - number} of {len(refs)} pages had no room"
                break
            texts.append(text)
            room = left - text_tokens(text)
        if refs and not shown:
            raise ModelFailed(
                f"the model's context of {capabilities.context} tokens has no room for a page",
                remedy="use a model with a longer one, or lower model.decoding.max_tokens",
            )
        return _Shown(pages=tuple(shown), text="\n".join(texts), pictures=tuple(pictures), form=form, cut=cut)

    def _text(self, number: int, ref: PageRef, form: EvidenceForm) -> str:
        """The marker of a page, by which the model cites it, and its text where the model is to read it."""
        marker = f"=== page {number}: {self.pages.document(ref.doc_id).name}, page {ref.page} ==="
        return marker if form == "image" else f"{marker}\n{self.pages.page(ref).text}"

    def _refs(self, question: Question, scope: Scope) -> Sequence[PageRef]:
        if self.baseline == "direct-rag":
            found = self.pages.search(question.text, scope, self.settings.read_pages)
            return [hit.ref for hit in found.hits]
        return [
            PageRef(doc_id=doc_id, page=page)
            for doc_id in scope.doc_ids
            for page in range(1, self.pages.document(doc_id).pages + 1)
        ]

    def _trajectory(
        self,
        question: Question,
        scope: Scope,
        plan: Plan,
        shown: _Shown,
        reply: DirectReply,
        usage: Usage,
        run_id: str,
    ) -> Trajectory:
        answer = reply.answer.strip()
        abstained = not answer or _NO_ANSWER.fullmatch(answer) is not None
        numbers = dict.fromkeys(c.page for c in reply.citations if 1 <= c.page <= len(shown.pages))
        cited = () if abstained else tuple(shown.pages[number - 1] for number in numbers)
        reason = "the model finds no answer" if abstained else "the model's own answer, which nothing verified"
        return Trajectory(
            question=question.text,
            scope=scope,
            task=plan.task,
            models={self.baseline: self.client.name},
            plan=plan,
            pages=tuple(
                TrajectoryPage(
                    ref=ref, document=self.pages.document(ref.doc_id).name, doc_page=self.pages.page(ref).label
                )
                for ref in cited
            ),
            retrieved=shown.pages[: self.settings.retrieved_pages],
            answer=None if abstained else answer,
            abstained=abstained,
            stop_reason="abstained" if abstained else "unverified",
            reason=f"{reason}; {shown.cut}" if shown.cut else reason,
            report=EvidenceReport(
                coverage=0.0,
                support_rate=None,
                unsupported_rate=None,
                contradicted_rate=None,
                confidence=0.0,
                needs_more_evidence=False,
                abstain=abstained,
            ),
            usage=usage,
            trace_id=run_id,
        )


def _cut_to(text: str, tokens: int) -> str:
    """The beginning of a text that takes about so many tokens."""
    total = max(text_tokens(text), 1)
    return text[: max(int(len(text) * tokens / total) - 1, 0)]


def _direct(text: str) -> DirectReply:
    """The reply as a record, words around it aside; words that are no JSON are the answer as they stand."""
    with suppress(ValueError, TypeError):
        return DirectReply.model_validate(json_in(text))
    if text.lstrip("` \njson").startswith("{") and (field := _ANSWER.search(text)):
        # JSON that is broken elsewhere; the answer itself can be read.
        return DirectReply(answer=str(json_in(f'{{"answer": "{field.group(1)}"}}')["answer"]))
    return DirectReply(answer=text.strip())
