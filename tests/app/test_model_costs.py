"""What a batch costs: said before it is asked, counted while it is, and capped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_server import Received
from model_server import ASKED, ModelServer, profile_text

from agent.types import Trajectory

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Eight questions, each with an id of its own."""
    path = tmp_path / "q.jsonl"
    rows = [{"id": word, "question": ASKED.replace("orchard", f"orchard {word}")} for word in NUMBERS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def command(questions: Path, english_pdf: Path) -> tuple[object, ...]:
    return ("ask", "--questions", questions, "--out", "a.jsonl", english_pdf, "--profile", "served.yaml")


def answered(folder: Path) -> list[Trajectory]:
    return [Trajectory.model_validate_json(line) for line in (folder / "a.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("priced", [False, True])
def test_an_estimate_asks_nothing_and_counts_what_is_left(
    docsage, serve, command, tmp_path: Path, priced: bool
) -> None:
    model = ModelServer()
    server = serve(model)
    prices = {"input": 1.0, "output": 2.0} if priced else None
    (tmp_path / "served.yaml").write_text(profile_text(base_url=server.base_url, prices=prices))
    before = docsage(*command, "--estimate")
    assert before.code == 0
    assert before.out.startswith("8 questions: 24 to ")
    assert ("$" in before.out) == priced
    assert ("no price table" in before.out) != priced
    assert server.requests == []
    assert not (tmp_path / "a.jsonl").exists()

    asked = docsage(*command)
    assert asked.code == 0
    assert ("$" in asked.err.splitlines()[-1]) == priced
    usage = answered(tmp_path)[0].usage
    assert usage.dollars == pytest.approx((3 * 11 * 1.0 + 3 * 7 * 2.0) / 1e6 if priced else 0)
    done = docsage(*command, "--estimate").out
    assert "nothing is left to ask" in done
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("".join(line + "\n" for line in lines[:6]))
    rest = docsage(*command, "--estimate").out
    assert rest.startswith("2 questions: 6 model calls, 66 tokens in, 42 out")
    assert "the mean of 6 answered questions" in rest
    # Answers of the agent say nothing about the cost of a baseline.
    assert "2 questions: 2 model calls" in docsage(*command, "--estimate", "--baseline", "direct").out


def test_an_estimate_without_a_model_says_that_there_is_none(docsage, questions: Path) -> None:
    result = docsage("ask", "--questions", questions, "--out", "a.jsonl", "--estimate")
    assert (result.code, "profile quick has no model" in result.out) == (0, True)


@pytest.mark.parametrize("cap", [{"dollars": 0.05}, {"tokens": 2200}, {"model_calls": 3}])
def test_a_cap_ends_in_the_best_answer_so_far(
    docsage, serve, english_pdf: Path, tmp_path: Path, cap: dict[str, float]
) -> None:
    def doubt(role: str, _: Received) -> str | None:
        unsure = {"quote": "", "value": "", "verdict": "unsupported", "missing": "the number"}
        return json.dumps(unsure) if role == "verify" else None

    model = ModelServer(doubt)
    prices = {"input": 1000.0, "output": 1000.0}
    settings = {"support": 0.9, "tentative": 0.25, "tool_calls": 12}
    text = profile_text(
        base_url=serve(model).base_url, prices=prices, agent={"tasks": {"document_qa": settings}, **cap}
    )
    (tmp_path / "p.yaml").write_text(text)
    trajectory = Trajectory.model_validate_json(docsage("ask", ASKED, english_pdf, "--profile", "p.yaml", "--json").out)
    assert trajectory.answer == "312"
    assert trajectory.stop_reason == "tentative"
    assert "used up" in trajectory.reason or "nothing left to try" in trajectory.reason
    assert model.asked.total() < 9  # three rounds of three calls, without the cap
    assert trajectory.usage.dollars == pytest.approx(0.018 * model.asked.total())
