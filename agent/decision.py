"""The decision after each verdict."""

from __future__ import annotations

from agent.budget import Resource
from agent.settings import TaskSettings
from agent.state import AgentState, Decision

_NEEDED: tuple[Resource, ...] = (
    "replans",
    "tool_calls",
    "verifications",
    "seconds",
    "model_calls",
    "tokens",
    "dollars",
)


def decide_next(state: AgentState, needed: TaskSettings) -> Decision:
    """Finish on sufficient support; else replan while the budget has room and the last plan brought something to do.

    Then the best candidate so far is the answer, a tentative one when its confidence is below the support needed; and
    when it is below what tentative answers need, too, the run abstains.
    """
    report = state["verification"].report
    draft = state["draft"]
    if draft.answer is not None and not report.needs_more_evidence and not report.abstain:
        return Decision(
            outcome="finish",
            stop_reason="supported",
            why=f"every claim is supported, confidence {report.confidence:.2f} of the {needed.support:.2f} needed",
        )
    spent_out = state["budget"].exhausted(state["spent"], *_NEEDED)
    tried_all = state.get("stuck", False) or draft.final
    why = draft.reason or _weakest(state, needed)
    if not spent_out and not tried_all:
        return Decision(outcome="replan", stop_reason=None, why=why or "support is missing")
    ended = f"stopped: the {_spoken(spent_out[0])} are used up" if spent_out else "there is nothing left to try"
    best = state.get("best")
    if best is not None and best.draft.answer is not None:
        confidence = best.verification.report.confidence
        best_is_whole = best.verification.report.support_rate in (None, 1.0)
        share = f"{confidence:.2f} of the {needed.support:.2f} needed"
        if confidence >= needed.tentative and confidence > 0:
            return Decision(
                outcome="finish",
                stop_reason="budget" if confidence >= needed.support and best_is_whole else "tentative",
                why=f"{ended}; the best answer so far has confidence {share}",
            )
    if draft.final and why:
        return Decision(outcome="abstain", stop_reason="abstained", why=why)
    return Decision(outcome="abstain", stop_reason="abstained", why=f"{why} ({ended})" if why else ended)


def _spoken(resource: Resource) -> str:
    """How a budget's resource is called towards a person."""
    names: dict[Resource, str] = {
        "verifications": "attempts",
        "replans": "attempts",
        "seconds": "seconds allowed",
        "dollars": "dollars allowed",
    }
    return names.get(resource, resource.replace("_", " "))


def doubts(state: AgentState, needed: TaskSettings) -> tuple[str, ...]:
    """What the last verdict has against the draft, in words: claims that aren't supported, or not surely enough."""
    if "verification" not in state:
        return ()
    claims = state["verification"].claims
    weak = [claim for claim in claims if claim.verdict != "supported" or claim.confidence < needed.support]
    found = [f"{claim.text!r}: {claim.reason}" for claim in weak]
    if state["draft"].answer is None and state["draft"].reason:
        found.append(state["draft"].reason)
    return tuple(found)


def _weakest(state: AgentState, needed: TaskSettings) -> str:
    """The first doubt."""
    return next(iter(doubts(state, needed)), "")
