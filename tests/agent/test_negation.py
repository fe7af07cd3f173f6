"""Which sentences deny, and that long texts are no trouble for the values in them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agent.answers import denied
from agent.values import values


@pytest.mark.parametrize(
    "text",
    [
        "Neither the bank nor the fund paid.",
        "Neither A nor B nor C was sold.",
        "Nor did the fund pay.",
        "The board refused to pay.",
        "The plan was rejected.",
        "The bank declined to comment.",
        "The pump failed to start.",
        "The company denies the claim.",
        "The valve is rarely opened.",
        "It seldom rains.",
        "The paint hardly fades.",
        "人莫知其所終",
        "吾弗能為也",
        "請勿動手",
    ],
)
def test_what_denies(text: str) -> None:
    assert denied(text)


@pytest.mark.parametrize(
    "text",
    [
        "The bank paid.",
        "代表团访问莫斯科和莫高窟",
        "莫扎特在此演出",
        "弗吉尼亚州和弗洛伊德",
        "园中种着勿忘我",
        "人莫不飲食也",
        "非禮勿動",
        "The offer was not rejected.",
        "The harbour is rare in that.",
    ],
)
def test_what_affirms(text: str) -> None:
    assert not denied(text)


def test_a_question_for_a_failure_is_affirmed_by_it() -> None:
    assert not denied("The pump failed to start.", asked="Did the pump fail to start?")
    assert denied("The pump failed to start.", asked="Did the pump start?")


def test_values_of_a_very_long_line_are_each_found_once() -> None:
    found = values("ticket revenue 2021 5,356 on 4 May 1931, 12% " * 10_000)
    assert len(found) == 40_000
    assert [value.kind for value in found[:4]] == ["year", "number", "date", "percent"]
    assert all(one.stop <= two.start for one, two in pairwise(found))
