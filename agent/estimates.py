"""What a batch will cost, before it is run: from runs of the same kind where there are any, else from the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.budget import Budget
from agent.models.calls import PICTURE_TOKENS
from agent.models.settings import ModelSettings
from agent.settings import Profile
from agent.types import Task, Usage
from retrieval.types import Frozen

_PAGE_TOKENS = 500
_UNKNOWN_CONTEXT = 32_768
"""What a model's context is taken to be where the settings don't say: nothing is asked of it for an estimate."""
_MOST_CLAIMS = 3
"""Claims that an answer is split into when it has several."""


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


@dataclass(frozen=True, slots=True)
class _Cost:
    """Calls and tokens of one question, or of one kind of call."""

    calls: float
    tokens_in: float
    tokens_out: float

    def times(self, factor: float) -> _Cost:
        return _Cost(self.calls * factor, self.tokens_in * factor, self.tokens_out * factor)

    def plus(self, other: _Cost) -> _Cost:
        return _Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def dollars(self, model: ModelSettings) -> float | None:
        """What it costs; None without prices."""
        if model.prices is None:
            return None
        return (self.tokens_in * model.prices.input + self.tokens_out * model.prices.output) / 1e6


_CLASSIFY, _PLAN, _ANSWER, _VERIFY = (
    _Cost(1, 350, 15),
    _Cost(1, 600, 120),
    _Cost(1, 700, 150),
    _Cost(1, 600, 60),
)
"""Typical calls, without the evidence that an answer is given."""


def estimate(
    profile: Profile,
    questions: int,
    before: Sequence[Usage] = (),
    *,
    task: Task | None = None,
    baseline: str | None = None,
) -> Estimate:
    """The cost of asking so many questions; `before` is what answered ones of the same kind have cost.

    A baseline takes one call a question. Caps of the profile's budget hold for both ends.
    """
    known = [usage for usage in before if usage.model_calls]
    if known:
        total = _Cost(0, 0, 0)
        for usage in known:
            total = total.plus(_Cost(usage.model_calls, usage.tokens_in, usage.tokens_out))
        mean = total.times(1 / len(known))
        answered = "answered question" if len(known) == 1 else f"mean of {len(known)} answered questions"
        return _scaled(profile, questions, mean, mean, f"the {answered}")
    if baseline is not None:
        low, high = _baseline(profile, whole=baseline == "direct")
        return _scaled(profile, questions, low, high, "the settings: one page, and all that the model can be shown")
    low, high = _agent(profile, task)
    return _scaled(profile, questions, low, high, "the settings: one round, and all replans used up")


def _agent(profile: Profile, task: Task | None) -> tuple[_Cost, _Cost]:
    """One question of the whole agent: one round with half the evidence, and every round with all of it.

    What kind of question it is, is asked only over Chinese material, so that the least goes without.
    """
    budget = Budget.of(profile.agent, task or "document_qa", None)
    rounds = 1 + min(budget.replans or 0, max((budget.verifications or 1) - 1, 0))
    model = profile.model
    pictures = 0 if model.evidence == "text" else model.images * PICTURE_TOKENS
    shown = (model.evidence_tokens if model.evidence != "image" else 0) + pictures
    classify = _CLASSIFY.times(0 if task else 1)
    low = _PLAN.plus(_ANSWER).plus(_VERIFY).plus(_Cost(0, shown / 2, 0))
    round_ = _PLAN.plus(_ANSWER).plus(_VERIFY.times(_MOST_CLAIMS)).plus(_Cost(0, shown, 0))
    long = round_.plus(_Cost(0, 0, round_.tokens_out))
    return low, classify.plus(long.times(rounds))


def _baseline(profile: Profile, *, whole: bool) -> tuple[_Cost, _Cost]:
    """One question of a baseline: a page, and as many as it is shown at most."""
    model = profile.model
    page = (_PAGE_TOKENS if model.evidence != "image" else 0) + (0 if model.evidence == "text" else PICTURE_TOKENS)
    context = max((model.context or _UNKNOWN_CONTEXT) - model.decoding.max_tokens, 0)
    most = context if whole else min(profile.agent.read_pages * page + 200, context)
    return _Cost(1, page + 200, 60), _Cost(1, most, 300)


def _scaled(profile: Profile, questions: int, low: _Cost, high: _Cost, basis: str) -> Estimate:
    low, high = _capped(profile, low), _capped(profile, high)
    least, most = low.dollars(profile.model), high.dollars(profile.model)
    return Estimate(
        questions=questions,
        calls_low=round(questions * low.calls),
        calls_high=round(questions * high.calls),
        tokens_in_low=round(questions * low.tokens_in),
        tokens_in_high=round(questions * high.tokens_in),
        tokens_out_low=round(questions * low.tokens_out),
        tokens_out_high=round(questions * high.tokens_out),
        dollars_low=None if least is None else round(questions * least, 4),
        dollars_high=None if most is None else round(questions * most, 4),
        basis=basis,
    )


def _capped(profile: Profile, cost: _Cost) -> _Cost:
    """The cost of a question as far as the caps of its budget let it go."""
    caps, dollars = profile.agent, cost.dollars(profile.model)
    pairs = (
        (caps.model_calls, cost.calls),
        (caps.tokens, cost.tokens_in + cost.tokens_out),
        (caps.dollars, dollars),
    )
    shares = [cap / needed for cap, needed in pairs if cap is not None and needed]
    return cost.times(min([1.0, *shares]))
