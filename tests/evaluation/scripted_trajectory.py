"""A trajectory and an agent whose answers are written down, so that runs can be tested without reading anything."""

from __future__ import annotations

from agent.types import EvidenceReport, Plan, Trajectory, TrajectoryPage, Usage
from retrieval.types import PageRef, Scope


def trajectory(
    question: str,
    answer: str | None,
    *,
    scope: Scope | None = None,
    pages: tuple[int, ...] = (),
    answer_type: str = "text",
) -> Trajectory:
    """A trajectory that answers (or, for None, abstains) and cites pages of the scope's first document."""
    where = scope or Scope(doc_ids=("doc",))
    return Trajectory(
        question=question,
        scope=where,
        task="document_qa",
        plan=Plan(task="document_qa", answer_type=answer_type, sub_questions=(question,)),
        pages=tuple(
            TrajectoryPage(ref=PageRef(doc_id=where.doc_ids[0], page=page), document="doc.pdf", doc_page=str(page))
            for page in pages
        ),
        answer=answer,
        abstained=answer is None,
        stop_reason="abstained" if answer is None else "supported",
        report=EvidenceReport(
            coverage=1,
            support_rate=1,
            unsupported_rate=0,
            contradicted_rate=0,
            confidence=0.9,
            needs_more_evidence=False,
            abstain=answer is None,
        ),
        usage=Usage(tool_calls=2, seconds=0.5),
        trace_id="run",
    )
