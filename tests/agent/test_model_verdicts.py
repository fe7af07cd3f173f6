"""What becomes of a claim when rules and model look at it: words and values decide, not the model's word."""

from __future__ import annotations

import re
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
    assert 0.25 < claim.confidence < 0.5
    assert trajectory.stop_reason == "tentative"


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


def test_a_paraphrase_that_shares_few_words_is_tentative_at_most(tmp_path: Path) -> None:
    text = "The company took delivery of the vessel in the spring of 1998."
    said = "It came into service during the year 1998, shortly after Easter had passed."
    trajectory, claim = judged(
        tmp_path, "What happened to the vessel then?", said, reply(text, "", "supported"), text=text
    )
    assert trajectory.answer == said
    assert trajectory.stop_reason == "tentative"
    assert claim.confidence == 0.4


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


AGREES = {"quote": "Ticket revenue 4,120 5,356", "value": "", "verdict": "supported", "missing": ""}


def told(
    report: Book, root: Path, question: str, said: str, source: str, verdict: dict[str, str], **answer: Any
) -> Trajectory:
    """A run over the report whose model cites the row or sentence that holds `source`, and whose verifier agrees."""
    look, model = scripted_agent(report, root / "look", {"plan": [PLAN]})
    look.ask(question, SCOPE)
    ids = re.findall(rf"\[(S\d+)\] [^\n]*{re.escape(source)}", asked(model, "answer")[0].user)
    reply = {"facts": [{"text": said, "sources": ids[:1]}], "answer": said, **answer}
    script = {"repeat": True, "plan": [PLAN], "answer": [reply], "verify": [verdict]}
    agent, _ = scripted_agent(report, root, script, model={"rules": "when_failed"})
    return agent.ask(question, SCOPE)


@pytest.mark.parametrize(
    ("question", "said", "source", "reason"),
    [
        ("What was the ticket revenue in 2021?", "4,120", "Ticket revenue", "column of 2020"),
        ("What was the ticket revenue in 2021?", "990", "Freight revenue", "row of 'Freight revenue'"),
        ("What was the ticket revenue in 2021?", "5,356 million pounds", "Ticket revenue", "another scale"),
    ],
)
def test_a_value_of_another_column_row_or_scale_isnt_the_one_asked_for(
    report: Book, tmp_path: Path, question: str, said: str, source: str, reason: str
) -> None:
    quote = {"Ticket revenue": "Ticket revenue 4,120 5,356", "Freight revenue": "Freight revenue 1,010 990"}[source]
    verdict = {"quote": quote, "value": said, "verdict": "supported", "missing": ""}
    trajectory = told(report, tmp_path, question, said, source, verdict)
    assert trajectory.answer is None
    assert reason in trajectory.claims[0].reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The tank of the Heron holds 40 litres of diesel.", "40 kg"),
        ("The Heron cost 3.2 million dollars to build.", "3.2 million euros"),
        ("The fares of the Heron rose by 3 pounds.", "3%"),
    ],
)
def test_another_unit_or_currency_isnt_what_the_evidence_gives(tmp_path: Path, text: str, said: str) -> None:
    verdict = {"quote": text, "value": said, "verdict": "supported", "missing": ""}
    trajectory, claim = judged(tmp_path, "How much was it on the Heron?", said, verdict, text=text)
    assert trajectory.answer is None
    assert "another" in claim.reason or "no percentage" in claim.reason


def test_operands_that_stand_nowhere_are_final(report: Book, tmp_path: Path) -> None:
    question = "By what percentage did ticket revenue grow from 2020 to 2021?"
    calculation = "(6180 - 4120) / 4120 * 100"
    trajectory = told(report, tmp_path, question, "50%", "Ticket revenue", AGREES, calculation=calculation)
    assert trajectory.answer is None
    assert "50% isn't in the evidence" in trajectory.claims[0].reason


def test_two_letters_prove_no_sentence(report: Book, tmp_path: Path) -> None:
    said = "It wanted to break the monopoly held by rival boatmen over cattle transport."
    verdict = {"quote": "The", "value": "", "verdict": "supported", "missing": ""}
    trajectory = told(report, tmp_path, "Why was the company founded?", said, "The company was founded", verdict)
    assert trajectory.answer is None
    assert "say too little" in trajectory.claims[0].reason


def test_a_count_of_cited_things_is_tentative(report: Book, tmp_path: Path) -> None:
    verdict = {"quote": "Heron, built in 1998", "value": "1", "verdict": "supported", "missing": ""}
    trajectory = told(report, tmp_path, "How many vessels are in service?", "1", "Heron, built", verdict)
    assert trajectory.stop_reason != "supported"


@pytest.mark.parametrize(
    "said",
    ["The document does not say who founded the company.", "文中没有提到。", "Not mentioned", "N/A", "(((", "***", "…"],
)
def test_words_for_no_answer_are_no_answer(report: Book, tmp_path: Path, said: str) -> None:
    verdict = {"quote": "The company was founded on 4 May 1931.", "value": "", "verdict": "supported", "missing": ""}
    trajectory = told(report, tmp_path, "Who founded the company?", said, "The company was founded", verdict)
    assert trajectory.answer != said
