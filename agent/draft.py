"""What a synthesiser works on and what it makes: a request, and a draft with quotes, nothing of it verified."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.models.calls import ModelCalls
from agent.models.types import Picture
from agent.question import Question
from agent.ranking import PageRead, Scored
from agent.reading import Unit
from agent.types import Task
from retrieval.types import Frozen, Page, PageRef
from tools.base import ToolResult
from tools.regions import Quote
from tools.types import Evidence

Way = Literal[
    "inventory", "calculation", "extreme", "cell", "count", "list", "prose", "quote", "transcription", "model", "none"
]
"""How an answer was found."""
Call = Callable[[str, dict[str, Any]], Awaitable[ToolResult | None]]
Show = Callable[[PageRef], Awaitable[Picture]]
LayOut = Callable[[Sequence[PageRef]], Awaitable[Mapping[PageRef, Page]]]


class Draft(Frozen):
    """An answer that is not verified yet. `answer` is None when the pages don't support one; `candidate` says what came
    nearest. `statements[i]` is the sentence that `quotes[i]` supports. `coverage` is the weighted share of the question
    that the quotes meet; `missing` are the terms that stand nowhere near them. `confidence` is the probability that the
    answer is right; None where its writer can't tell. `origin` says who wrote it, and why not somebody else. A `final`
    draft is one that no further evidence could change.
    """

    answer: str | None
    candidate: str | None
    quotes: tuple[Quote, ...] = ()
    statements: tuple[str, ...] = ()
    coverage: float = 0.0
    missing: tuple[str, ...] = ()
    calculation: str | None = None
    reason: str = ""
    confidence: float | None = None
    way: Way = "none"
    origin: str = "rules"
    final: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a synthesiser works on.

    A draft has an answer from a confidence of `support` on; from `firm` on the run ends with it. `call` runs a tool
    within the budget; None back means that it failed or is too much. `lay_out` gives pages with the layout model's
    blocks, at some 0.3 seconds a page that wasn't laid out before. `task` is what the plan took the question for.

    The rest is for models: `calls` asks one, `picture` shows a page, `snippets` are what the evidence pool has,
    `doubts` what the verifier said of the last draft, `known` the facts of earlier drafts that it believed, `notes` the
    simplified text of pages that were normalised.
    """

    question: Question
    pages: Sequence[PageRead]
    support: float
    firm: float
    call: Call
    lay_out: LayOut
    task: Task = "document_qa"
    calls: ModelCalls | None = None
    picture: Show | None = None
    snippets: Sequence[Evidence] = ()
    doubts: Sequence[str] = ()
    known: Sequence[str] = ()
    notes: str = ""


class Synthesizer(Protocol):
    """Writes the answer from the pages that were read."""

    name: str

    async def synthesise(self, request: Request) -> Draft:
        """A draft whose every statement has a quote; without support, a draft without an answer."""


def quote_of(unit: Unit, best: Scored, answer: str = "", lines: tuple[int, ...] | None = None) -> Quote:
    """A unit, or `lines` of it, as what a statement cites; `best`: as it, or what it goes with, was ranked."""
    return Quote(
        page=unit.page,
        lines=unit.lines if lines is None else lines,
        text=unit.text,
        kind=unit.kind,
        score=round(best.score, 4),
        context=unit.context,
        answer=answer if answer in unit.text else "",
    )
