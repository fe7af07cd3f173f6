"""The trajectory that a question leaves behind: plan, evidence, facts, claims, answer, cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from retrieval.types import Frozen, PageRef, Scope, SignalStatus
from tools.types import Evidence, Region

Task = Literal["ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa", "document_qa"]
AnswerType = Literal["number", "percent", "money", "date", "name", "yes_no", "list", "count", "text"]
Verdict = Literal["supported", "contradicted", "unsupported"]
StopReason = Literal["supported", "tentative", "abstained", "budget", "unverified"]
Unit = Annotated[float, Field(ge=0, le=1)]


class PlanStep(Frozen):
    """One tool call that the planner wants. Steps of one `stage` run together, after those of the stages before it."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    why: str = ""
    stage: Annotated[int, Field(ge=0)] = 0


class Plan(Frozen):
    """What the planner decided: task, sub-questions, tool steps in order, and what verification must check."""

    task: Task
    answer_type: AnswerType
    sub_questions: tuple[str, ...]
    grounding: tuple[Literal["page", "pool"], ...] = ("page",)
    steps: tuple[PlanStep, ...] = ()
    criteria: tuple[str, ...] = ()
    origin: str = "rules"


class Fact(Frozen):
    """One sentence that stands alone and names its subject, with its single region."""

    id: str
    text: str
    region: Region
    evidence_ids: tuple[str, ...]


class Claim(Frozen):
    """One assertion of the answer and what the verifier made of it."""

    id: str
    text: str
    verdict: Verdict
    fact_ids: tuple[str, ...]
    confidence: Unit
    reason: str


class EvidenceReport(Frozen):
    """The verifier's summary. Rates are shares of the claims; None when there was no claim to judge."""

    coverage: Unit
    support_rate: Unit | None
    unsupported_rate: Unit | None
    contradicted_rate: Unit | None
    confidence: Unit
    needs_more_evidence: bool
    abstain: bool
    missing: tuple[str, ...] = ()


class TrajectoryPage(Frozen):
    """An evidence page: its document's file name and the page number printed on it."""

    ref: PageRef
    document: str
    doc_page: str


class Usage(Frozen):
    """What a run cost. Of the model calls, `cached_calls` were answered from the request cache and cost no money."""

    tool_calls: int = 0
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    replans: int = 0
    verifications: int = 0
    snippets: int = 0
    seconds: float = 0.0
    cached_calls: int = 0
    dollars: float = 0.0


class Trajectory(Frozen):
    """The whole answer: pages, regions, facts, claims, verdicts, cost.

    `answer` is None when the run abstained; the best candidate it had is then kept in `candidate`. `confidence` is the
    calibrated probability that the answer, or the candidate that was withheld, is right; None where nothing says so.
    `question_id` is set by whoever asks many questions, so that answers find their questions again.
    """

    schema_version: Literal["docsage.trajectory/1"] = Field(default="docsage.trajectory/1", alias="schema")
    question_id: str | None = None
    question: str
    scope: Scope
    task: Task
    models: dict[str, str] = Field(default_factory=dict)
    plan: Plan
    signals: tuple[SignalStatus, ...] = ()
    pages: tuple[TrajectoryPage, ...] = ()
    retrieved: tuple[PageRef, ...] = ()
    regions: tuple[Region, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    facts: tuple[Fact, ...] = ()
    claims: tuple[Claim, ...] = ()
    answer: str | None
    candidate: str | None = None
    confidence: Unit | None = None
    abstained: bool
    stop_reason: StopReason
    reason: str = ""
    report: EvidenceReport
    usage: Usage
    trace_id: str
