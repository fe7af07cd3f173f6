"""Replies of odd shapes: they cost themselves, and never the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from book import SCOPE, Book, page
from modelled import asked, scripted_agent

from agent.models.calls import json_in

QUESTION = "When was the Heron built?"
FERRY = "The ferry Heron was built in 1998."
HUGE = "9" * 5000


@pytest.fixture
def book() -> Book:
    return Book(page(1, ("heading", "Vessels"), ("paragraph", FERRY)))


@pytest.mark.parametrize(
    "reply",
    [
        {"facts": 5, "answer": "1998"},
        {"facts": True, "answer": "1998"},
        {"facts": {"text": "x"}, "answer": "1998"},
        {"facts": [None, 1, []], "answer": "1998"},
        {"facts": [{"text": FERRY, "sources": None}], "answer": ["1998"]},
        {"facts": [{"text": FERRY, "sources": [f"P{HUGE}", HUGE, 2, {}, None]}], "answer": "1998"},
        {"facts": [{"text": FERRY, "sources": ["S2"]}] * 5000, "answer": "1998"},
        {"facts": [], "answer": None, "sufficient": "perhaps"},
        {"facts": [{"text": FERRY, "sources": ["S2"]}], "answer": 1998, "calculation": "9**9**9"},
        {"facts": [{"text": FERRY, "sources": ["S2"]}], "answer": "1998", "calculation": "__import__('os')"},
        {"facts": [{"text": FERRY, "sources": ["S2"]}], "answer": "(((", "calculation": "1/0"},
        '{"facts": [], "answer": "\\ud83d 1998", "sufficient": true}',
        '{"facts": [{"text": "\\udc00", "sources": ["\\ud83d"]}], "answer": "1998"}',
        '{"a":' * 3000,
        "[" * 100_000,
        "null",
        "NaN",
    ],
)
def test_a_reply_of_an_odd_form_never_ends_the_run(book: Book, tmp_path: Path, reply: Any) -> None:
    verdict = {"quote": "built in 1998", "value": "1998", "verdict": "supported", "missing": ""}
    plan = {"steps": [{"tool": "page_reader", "pages": [f"D{HUGE}.1", HUGE, None]}]}
    agent, _ = scripted_agent(
        book, tmp_path, {"repeat": True, "plan": [plan], "answer": [reply], "verify": [verdict, reply]}
    )
    trajectory = agent.ask(QUESTION, SCOPE)
    assert trajectory.answer is None or "1998" in trajectory.answer


def test_a_box_of_an_odd_form_costs_the_box_only(book: Book, tmp_path: Path) -> None:
    for number, box in enumerate((["a"], {}, [None] * 4, [[0, 0], [1, 1]], "0,0,1,1", [True] * 4)):
        seen = {"facts": [{"text": FERRY, "sources": ["page 1"], "box": box}], "answer": "1998"}
        script = {
            "capabilities": {"vision": True},
            "plan": [{}],
            "answer": [seen],
            "verify": [{"quote": "was built in 1998", "value": "1998", "verdict": "supported"}],
        }
        agent, model = scripted_agent(book, tmp_path / str(number), script, model={"evidence": "image"})
        assert agent.ask(QUESTION, SCOPE).answer == "1998"
        assert len(asked(model, "answer")) == 1


def test_a_piece_that_is_too_long_is_cut_and_not_left_out(tmp_path: Path) -> None:
    long = Book(page(1, ("paragraph", "The Heron was built in 1998 " + "and sails the estuary " * 800 + ".")))
    agent, model = scripted_agent(long, tmp_path, {"capabilities": {"context": 1500}, "plan": [{}], "answer": [{}]})
    agent.ask(QUESTION, SCOPE)
    shown = asked(model, "answer")[0].user
    assert "[S1] The Heron was built in 1998 and sails" in shown
    assert len(shown) < 4000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}}', {"a": 1}),
        ('Sure: ```json\n{"a": [1, 2]}\n``` as asked', {"a": [1, 2]}),
        ('{"a": "x"} and {"b": 2}', {"a": "x"}),
        ("no JSON at all", None),
        ("", None),
    ],
)
def test_json_is_found_in_what_stands_around_it(text: str, value: Any) -> None:
    assert json_in(text) == value
