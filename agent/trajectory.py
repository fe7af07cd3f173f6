"""The trajectory from the state that a run ended in."""

from __future__ import annotations

from collections.abc import Sequence

from agent.state import AgentState, Candidate
from agent.types import EvidenceReport, Fact, Trajectory, TrajectoryPage
from retrieval.types import BBox, PageRef
from tools.base import Pages
from tools.types import Evidence, Region


def trajectory_from(state: AgentState, pages: Pages, models: dict[str, str], *, retrieved: int) -> Trajectory:
    """The whole answer. An abstained run claims no pages and no regions; its facts show how near it came."""
    decision = state["decision"]
    best = state.get("best")
    answered = decision.outcome == "finish" and best is not None
    if decision.stop_reason is None or best is None:
        raise ValueError(f"the run {state['run_id']} has not ended: {decision}")
    facts = best.facts
    cited = _refs(facts) if answered else ()
    return Trajectory(
        question=state["question"].text,
        scope=state["scope"],
        task=state["plan"].task,
        models=models,
        plan=state["plan"],
        signals=state.get("signals", ()),
        pages=tuple(_page(pages, ref) for ref in cited),
        retrieved=(tuple(hit.ref for hit in state.get("hits", ())) or state.get("read", ()))[:retrieved],
        regions=_regions(facts) if answered else (),
        evidence=_evidence(state, best),
        facts=facts,
        claims=best.verification.claims,
        answer=best.draft.answer if answered else None,
        candidate=None if answered else best.draft.candidate,
        confidence=_confidence(best),
        abstained=not answered,
        stop_reason=decision.stop_reason,
        reason=decision.why,
        report=_final_report(best, answered),
        usage=state["spent"],
        trace_id=state["run_id"],
    )


def reported_box(region: Region, granularity: str) -> BBox:
    """The box that is written out for a region: its block, or the lines inside it ("focus")."""
    return region.focus if granularity == "focus" and region.focus is not None else region.block


def _final_report(best: Candidate, answered: bool) -> EvidenceReport:
    return best.verification.report.model_copy(update={"abstain": not answered})


def _confidence(best: Candidate) -> float | None:
    """The probability that the answer or candidate is right: as verified, or as drafted when nothing was verified."""
    return best.verification.report.confidence if best.verification.claims else best.draft.confidence


def _refs(facts: Sequence[Fact]) -> tuple[PageRef, ...]:
    return tuple(dict.fromkeys(fact.region.page_ref for fact in facts))


def _regions(facts: Sequence[Fact]) -> tuple[Region, ...]:
    return tuple(dict.fromkeys(fact.region for fact in facts))


def _page(pages: Pages, ref: PageRef) -> TrajectoryPage:
    return TrajectoryPage(ref=ref, document=pages.document(ref.doc_id).name, doc_page=pages.page(ref).label)


def _evidence(state: AgentState, best: Candidate) -> tuple[Evidence, ...]:
    """The evidence that facts cite first, then what else was found."""
    cited = {evidence_id for fact in best.facts for evidence_id in fact.evidence_ids}
    found = state.get("evidence", ())
    return (*(e for e in found if e.id in cited), *(e for e in found if e.id not in cited))
