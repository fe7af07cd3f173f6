"""What a batch will cost, before it is run: from runs of the same kind where there are any, else from the settings."""

from __future__ import annotations

from collections.abc import Sequence

from agent.budget import Budget
from agent.models.settings import ModelSettings
from agent.settings import Profile
from agent.types import Task, Usage
from retrieval.types import Frozen

_CLASSIFY, _PLAN, _ANSWER, _VERIFY = (350, 15), (600, 120), (700, 150), (600, 60)
"""Tokens in and out of a typical call, without the evidence that an answer is given."""
_PICTURE_TOKENS = 1200


class Estimate(Frozen):
    """Calls and tokens of a batch: `low` when each question needs one round, `high` when each uses up its replans.

    `dollars_*` are None without a price table. `basis` says where the numbers come from.
    """

    questions: int
    calls_low: int
    calls_high: int
    tokens_in_low: int
    tokens_in_high: int
    tokens_out_low: int
    tokens_out_high: int
    dollars_low: float | None
    dollars_high: float | None
    basis: str


def estimate(profile: Profile, questions: int, before: Sequence[Usage] = (), *, task: Task = "document_qa") -> Estimate:
    """The cost of asking so many questions; `before` is what answered ones have cost."""
    known = [usage for usage in before if usage.model_calls]
    if known:
        mean = [
            sum(usage.model_calls for usage in known) / len(known),
            sum(usage.tokens_in for usage in known) / len(known),
            sum(usage.tokens_out for usage in known) / len(known),
        ]
        return _scaled(profile.model, questions, mean, mean, f"the mean of {len(known)} answered questions")
    budget = Budget.of(profile.agent, task, None)
    rounds = 1 + min(budget.replans or 0, max((budget.verifications or 1) - 1, 0))
    pictures = 0 if profile.model.evidence == "text" else profile.model.images * _PICTURE_TOKENS
    shown = (profile.model.evidence_tokens if profile.model.evidence != "image" else 0) + pictures
    low, high = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for (tokens_in, tokens_out), extra, times in (
        (_CLASSIFY, 0, 1),
        (_PLAN, 0, rounds),
        (_ANSWER, shown, rounds),
        (_VERIFY, 0, rounds),
    ):
        low = [low[0] + 1, low[1] + tokens_in + extra // 2, low[2] + tokens_out]
        high = [high[0] + times, high[1] + times * (tokens_in + extra), high[2] + times * 2 * tokens_out]
    if budget.model_calls is not None:
        high[0] = min(high[0], budget.model_calls)
    return _scaled(profile.model, questions, low, high, "the settings: one round, and all replans used up")


def _scaled(model: ModelSettings, questions: int, low: Sequence[float], high: Sequence[float], basis: str) -> Estimate:
    def dollars(parts: Sequence[float]) -> float | None:
        if model.prices is None:
            return None
        return round(questions * (parts[1] * model.prices.input + parts[2] * model.prices.output) / 1e6, 4)

    return Estimate(
        questions=questions,
        calls_low=round(questions * low[0]),
        calls_high=round(questions * high[0]),
        tokens_in_low=round(questions * low[1]),
        tokens_in_high=round(questions * high[1]),
        tokens_out_low=round(questions * low[2]),
        tokens_out_high=round(questions * high[2]),
        dollars_low=dollars(low),
        dollars_high=dollars(high),
        basis=basis,
    )
