"""Estimates before a batch is run: from the settings, from what was answered, and as far as caps allow."""

from __future__ import annotations

from typing import Any

import pytest

from agent.estimates import estimate
from agent.settings import AgentSettings, Profile
from agent.types import Usage


def profile(*, agent: dict[str, Any] | None = None, **model: Any) -> Profile:
    return Profile.model_validate({"agent": agent or {}, "model": {"kind": "endpoint", **model}})


def test_one_round_is_the_least_and_all_replans_are_the_most() -> None:
    found = estimate(profile(evidence="text"), 10)
    assert found.calls_low == 30
    rounds = 1 + min(AgentSettings().replans, AgentSettings().verifications - 1)
    assert found.calls_high == 10 * (1 + rounds * 5)
    assert 0 < found.tokens_in_low < found.tokens_in_high
    assert 0 < found.tokens_out_low < found.tokens_out_high
    assert found.tokens_in_high > 10 * rounds * 6000
    assert (found.dollars_low, found.dollars_high) == (None, None)
    assert "the settings" in found.basis
    single = estimate(profile(agent={"replans": 0}, evidence="text"), 10)
    assert single.calls_high == 60


def test_what_a_model_is_shown_is_counted() -> None:
    text = estimate(profile(evidence="text"), 1)
    image = estimate(profile(evidence="image", images=2), 1)
    both = estimate(profile(evidence="both", images=2), 1)
    assert image.tokens_in_low < text.tokens_in_low < both.tokens_in_low


def test_money_follows_from_prices() -> None:
    found = estimate(profile(prices={"input": 3.0, "output": 15.0}), 4)
    assert found.dollars_low == pytest.approx((3 * found.tokens_in_low + 15 * found.tokens_out_low) / 1e6, abs=1e-3)
    assert found.dollars_high == pytest.approx((3 * found.tokens_in_high + 15 * found.tokens_out_high) / 1e6, abs=1e-3)


def test_answered_questions_tell_more_than_the_settings() -> None:
    before = [
        Usage(model_calls=3, tokens_in=1000, tokens_out=100),
        Usage(model_calls=5, tokens_in=3000, tokens_out=300),
        Usage(),  # one that was answered without the model says nothing
    ]
    found = estimate(profile(prices={"input": 1.0, "output": 0.0}), 10, before)
    assert (found.calls_low, found.calls_high) == (40, 40)
    assert (found.tokens_in_low, found.tokens_out_high) == (20_000, 2_000)
    assert found.dollars_low == found.dollars_high == pytest.approx(0.02)
    assert found.basis == "the mean of 2 answered questions"


@pytest.mark.parametrize("baseline", ["direct", "direct-rag"])
def test_a_baseline_takes_one_call_a_question(baseline: str) -> None:
    found = estimate(profile(context=8000, evidence="text"), 10, baseline=baseline)
    assert (found.calls_low, found.calls_high) == (10, 10)
    assert found.tokens_in_high <= 10 * 8000
    whole = estimate(profile(context=100_000, evidence="text"), 10, baseline=baseline)
    assert (whole.tokens_in_high > found.tokens_in_high) == (baseline == "direct")


@pytest.mark.parametrize("cap", [{"model_calls": 4}, {"tokens": 5000}, {"dollars": 0.005}])
def test_no_question_costs_more_than_its_budget(cap: dict[str, float]) -> None:
    found = estimate(profile(agent=cap, prices={"input": 1.0, "output": 1.0}), 10)
    assert found.calls_high <= 10 * cap.get("model_calls", 1000)
    assert found.tokens_in_high + found.tokens_out_high <= 10 * cap.get("tokens", 1e9) + 1
    assert found.dollars_high is not None
    assert found.dollars_high <= 10 * cap.get("dollars", 1e9) + 1e-4
    uncapped = estimate(profile(prices={"input": 1.0, "output": 1.0}), 10)
    assert found.tokens_in_high < uncapped.tokens_in_high


def test_a_task_that_is_given_need_not_be_asked_for() -> None:
    assert estimate(profile(), 10, task="document_qa").calls_high == estimate(profile(), 10).calls_high - 10
    assert estimate(profile(), 0).tokens_in_high == 0
