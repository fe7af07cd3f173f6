"""What becomes of a claim when rules and model look at it: words and values decide, not the model's word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from book import SCOPE, Book, page
from modelled import asked, scripted_agent

from agent.types import Claim, Trajectory

PLAN = {"steps": []}
FERRY = "The ferry Heron was built in 1998 and carries 240 passengers."


def judged(
    tmp_path: Path, question: str, said: str, verdict: dict[str, Any], *, text: str = FERRY, **answer: Any
) -> tuple[Trajectory, Claim]:
    """The first claim of a run whose model gives one answer, citing the only sentence, and one verdict, each time."""
    book = Book(page(1, ("heading", "Vessels in service"), ("paragraph", text)))
    reply = {"facts": [{"text": text, "sources": ["S2"]}], "answer": said, **answer}
    script = {"repeat": True, "plan": [PLAN], "answer": [reply], "verify": [verdict]}
    agent, model = scripted_agent(book, tmp_path, script, model={"rules": "when_failed"})
    trajectory = agent.ask(question, SCOPE)
    assert asked(model, "verify")
    return trajectory, trajectory.claims[0]


def reply(quote: str, value: str, verdict: str) -> dict[str, str]:
    return {"quote": quote, "value": value, "verdict": verdict, "missing": ""}


PASSENGERS = "How many passengers does the Heron carry?"


def test_rules_and_model_together_are_believed(tmp_path: Path) -> None:
    trajectory, claim = judged(tmp_path, PASSENGERS, "240", reply("carries 240 passengers", "240", "supported"))
    assert trajectory.answer == "240"
    assert (claim.verdict, claim.confidence >= 0.9) == ("supported", True)


def test_a_model_that_cant_tell_lowers_confidence_only(tmp_path: Path) -> None:
    trajectory, claim = judged(tmp_path, PASSENGERS, "240", reply("", "", "unsupported"))
    assert trajectory.answer == "240"
    assert claim.verdict == "supported"
    assert 0.25 < claim.confidence <= 0.5


def test_a_model_that_denies_what_the_rules_find_makes_the_answer_doubtful(tmp_path: Path) -> None:
    _, claim = judged(tmp_path, PASSENGERS, "240", reply("built in 1998", "1998", "contradicted"))
    assert claim.verdict == "supported"
    assert claim.confidence <= 0.25


def test_a_value_of_the_evidence_that_agrees_overrules_a_denial(tmp_path: Path) -> None:
    trajectory, claim = judged(
        tmp_path, PASSENGERS, "240", reply("carries 240 passengers", "240 passengers", "contradicted")
    )
    assert trajectory.answer == "240"
    assert claim.confidence >= 0.9


def test_a_value_of_the_evidence_that_differs_overrules_support(tmp_path: Path) -> None:
    trajectory, claim = judged(tmp_path, PASSENGERS, "420", reply("carries 240 passengers", "240", "supported"))
    assert trajectory.answer is None
    assert claim.verdict == "contradicted"


@pytest.mark.parametrize(
    ("question", "said", "quote"),
    [
        ("How many decks does the Heron have?", "3", "The ferry Heron was built in 1998"),
        ("Which port is the Heron registered in?", "Liverpool", "The ferry Heron was built in 1998"),
    ],
)
def test_words_beside_the_point_support_nothing(tmp_path: Path, question: str, said: str, quote: str) -> None:
    trajectory, claim = judged(tmp_path, question, said, reply(quote, said, "supported"))
    assert trajectory.answer is None
    assert claim.verdict != "supported"
    assert "don't" in claim.reason


def test_the_claim_is_no_evidence_of_itself(tmp_path: Path) -> None:
    """The statement of a fact is the model's; only the page's words are shown to the verifier."""
    book = Book(page(1, ("heading", "Vessels in service"), ("paragraph", FERRY)))
    invented = {"facts": [{"text": "The ferry Heron carries 999 passengers.", "sources": ["S2"]}], "answer": "999"}
    script = {"repeat": True, "plan": [PLAN], "answer": [invented], "verify": [reply("999", "999", "supported")]}
    agent, model = scripted_agent(book, tmp_path, script, model={"rules": "when_failed"})
    trajectory = agent.ask(PASSENGERS, SCOPE)
    assert trajectory.answer is None
    assert "999 passengers" not in asked(model, "verify")[0].user
    assert trajectory.facts[0].text == FERRY


def test_a_paraphrase_is_supported_by_the_model_where_rules_miss_words(tmp_path: Path) -> None:
    text = "The company took delivery of the vessel in the spring of 1998."
    said = "It came into service during the year 1998, shortly after Easter had passed."
    trajectory, claim = judged(
        tmp_path, "What happened to the vessel then?", said, reply(text, "", "supported"), text=text
    )
    assert trajectory.answer == said
    assert claim.confidence == 0.6


def test_yes_stands_nowhere_and_is_checked_by_meaning(tmp_path: Path) -> None:
    text = "No accident was reported on the Heron in 2021."
    trajectory, claim = judged(
        tmp_path,
        "Was an accident reported on the Heron in 2021?",
        "No",
        reply(text, "no accident", "supported"),
        text=text,
    )
    assert trajectory.answer == "No"
    assert claim.confidence >= 0.9


def test_each_item_of_a_list_is_a_claim(tmp_path: Path) -> None:
    book = Book(
        page(
            1,
            ("heading", "Vessels in service"),
            ("list_item", "• Heron, built in 1998"),
            ("list_item", "• Teal, built in 2016"),
        )
    )
    answer = {
        "facts": [
            {"text": "Heron was built in 1998.", "sources": ["S2"]},
            {"text": "Teal was built in 2016.", "sources": ["S3"]},
        ],
        "answer": "Heron; Teal; Swan",
    }
    script = {
        "repeat": True,
        "plan": [PLAN],
        "answer": [answer],
        "verify": [
            {"when": "The answer is: Heron", "reply": reply("Heron, built in 1998", "Heron", "supported")},
            {"when": "The answer is: Teal", "reply": reply("Teal, built in 2016", "Teal", "supported")},
            {"when": "The answer is: Swan", "reply": reply("", "", "unsupported")},
        ],
    }
    agent, _ = scripted_agent(book, tmp_path, script, model={"rules": "when_failed"})
    trajectory = agent.ask("List the vessels in service.", SCOPE)
    assert {claim.text: claim.verdict for claim in trajectory.claims} == {
        "Heron": "supported",
        "Teal": "supported",
        "Swan": "unsupported",
    }
    assert trajectory.report.support_rate == pytest.approx(2 / 3)


def test_what_the_model_misses_is_in_the_report(tmp_path: Path) -> None:
    verdict = {"quote": "", "value": "", "verdict": "unsupported", "missing": "the register of ports"}
    trajectory, _ = judged(tmp_path, "Which port is the Heron registered in?", "Liverpool", verdict)
    assert trajectory.report.missing[0] == "the register of ports"
