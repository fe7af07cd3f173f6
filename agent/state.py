"""The state of a run: ids and text, joined by reducers. Nodes return new values and change none."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from agent.budget import Budget, add
from agent.draft import Draft
from agent.planner import Hints
from agent.question import Question
from agent.types import Fact, Plan, PlanStep, StopReason, Usage
from agent.verifier import Verification
from retrieval.types import Frozen, PageHit, PageRef, Scope, SignalStatus
from tools.types import Evidence


class Candidate(Frozen):
    """A draft with what the verifier made of it."""

    draft: Draft
    facts: tuple[Fact, ...]
    verification: Verification


class Decision(Frozen):
    """What happens next, and why. `stop_reason` is None for a replan."""

    outcome: Literal["finish", "replan", "abstain"]
    stop_reason: StopReason | None
    why: str


def merge_hits(old: tuple[PageHit, ...], new: tuple[PageHit, ...]) -> tuple[PageHit, ...]:
    """Rankings of several queries as one: each page at the best rank it had, earlier queries first among equals."""
    best: dict[PageRef, PageHit] = {}
    for hit in (*old, *new):
        known = best.get(hit.ref)
        if known is None or hit.rank < known.rank:
            best[hit.ref] = hit
    return tuple(sorted(best.values(), key=lambda hit: hit.rank))


def merge_refs(old: tuple[PageRef, ...], new: tuple[PageRef, ...]) -> tuple[PageRef, ...]:
    """Pages without repeats, in the order in which they came."""
    return tuple(dict.fromkeys((*old, *new)))


def merge_evidence(old: tuple[Evidence, ...], new: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Evidence by id; what was found again replaces what was known."""
    return tuple({item.id: item for item in (*old, *new)}.values())


def merge_signals(old: tuple[SignalStatus, ...], new: tuple[SignalStatus, ...]) -> tuple[SignalStatus, ...]:
    """The latest status of each signal."""
    return tuple({status.name: status for status in (*old, *new)}.values())


def better(old: Candidate | None, new: Candidate | None) -> Candidate | None:
    """The candidate that is supported best; the newer one among equals."""
    if old is None or new is None:
        return new or old
    return new if _strength(new) >= _strength(old) else old


def _strength(candidate: Candidate) -> tuple[float, bool, float, float]:
    report, draft = candidate.verification.report, candidate.draft
    return report.confidence, draft.answer is not None, draft.confidence or 0.0, draft.coverage


class AgentState(TypedDict, total=False):
    """What a checkpoint holds."""

    run_id: str
    scope: Scope
    hints: Hints
    budget: Budget
    caps: Budget | None
    question: Question
    plan: Plan
    pending: tuple[PlanStep, ...]
    stuck: bool
    hits: Annotated[tuple[PageHit, ...], merge_hits]
    signals: Annotated[tuple[SignalStatus, ...], merge_signals]
    read: Annotated[tuple[PageRef, ...], merge_refs]
    normalised: str
    evidence: Annotated[tuple[Evidence, ...], merge_evidence]
    draft: Draft
    facts: tuple[Fact, ...]
    known: tuple[str, ...]
    verification: Verification
    best: Annotated[Candidate | None, better]
    decision: Decision
    spent: Annotated[Usage, add]
