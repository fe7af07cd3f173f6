"""The verifier catches answers that the evidence doesn't bear out."""

from __future__ import annotations

from pathlib import Path

import pytest
from book import DOC, SCOPE, Book, agent_over, page

from agent.draft import Draft, Request
from agent.types import Claim
from retrieval.types import PageRef
from tools.regions import Quote

SENTENCE = "The harbour board did not approve the new berth in 2018; it cost $4.5 million, 12% more than in March 2017."


class Says:
    """Answers what it is told to, with the sentence as its quote."""

    name = "says"

    def __init__(self, answer: str, *, statement: str = SENTENCE, calculation: str | None = None) -> None:
        self._draft = Draft(
            answer=answer,
            candidate=answer,
            quotes=(Quote(page=PageRef(doc_id=DOC, page=1), lines=(0,), text=SENTENCE),),
            statements=(statement,),
            coverage=1.0,
            calculation=calculation,
        )

    async def synthesise(self, request: Request) -> Draft:
        return self._draft


def judged(tmp_path: Path, question: str, synthesizer: Says) -> Claim:
    book = Book(page(1, ("paragraph", SENTENCE)))
    return agent_over(book, tmp_path, synthesizer=synthesizer).ask(question, SCOPE).claims[0]


@pytest.mark.parametrize(
    ("question", "answer", "verdict"),
    [
        ("How much did the berth cost?", "$4.5 million", "supported"),
        ("How much did the berth cost?", "$4,500,000", "supported"),
        ("How much did the berth cost?", "$4.6 million", "contradicted"),
        ("How much did the berth cost?", "$4.5 billion", "contradicted"),
        ("How much more did the berth cost, in percent?", "12%", "supported"),
        ("How much more did the berth cost, in percent?", "21%", "contradicted"),
        ("When was the berth refused?", "2018", "supported"),
        ("When was the berth refused?", "2016", "contradicted"),
        ("When was it cheaper?", "March 2017", "supported"),
        ("When was it cheaper?", "May 2017", "contradicted"),
        ("What did the harbour board do?", "The harbour board did not approve the new berth in 2018.", "supported"),
        ("What did the harbour board do?", "The harbour board did approve the new berth in 2018.", "contradicted"),
        ("What did the harbour board do?", "The board bought Greenland from Denmark.", "unsupported"),
        ("Did the harbour board approve the new berth?", "No", "supported"),
        ("Did the harbour board approve the new berth?", "Yes", "contradicted"),
        ("How much did the berth cost in 2018?", "$4.5 million", "supported"),
        ("How much did the berth cost in 2003?", "$4.5 million", "contradicted"),
    ],
)
def test_a_claim_is_checked_against_its_evidence(tmp_path: Path, question: str, answer: str, verdict: str) -> None:
    claim = judged(tmp_path, question, Says(answer))
    assert claim.verdict == verdict, claim.reason


def test_a_fact_about_another_year_contradicts(tmp_path: Path) -> None:
    synthesizer = Says("$4.5 million", statement="The berth cost $4.5 million in 2017.")
    claim = judged(tmp_path, "How much did the berth cost in 2018?", synthesizer)
    assert claim.verdict == "contradicted"
    assert "2017" in claim.reason


@pytest.mark.parametrize(
    ("calculation", "verdict"),
    [("4.5 + 12 = 16.5", "supported"), ("4.5 + 13 = 17.5", "unsupported"), ("4.5 + 12 = 16", "contradicted")],
)
def test_a_result_needs_operands_in_the_evidence(tmp_path: Path, calculation: str, verdict: str) -> None:
    synthesizer = Says("16.5" if verdict != "unsupported" else "17.5", calculation=calculation)
    assert judged(tmp_path, "What is the sum of 4.5 and 12?", synthesizer).verdict == verdict


def test_an_answer_that_is_contradicted_is_not_given(tmp_path: Path) -> None:
    book = Book(page(1, ("paragraph", SENTENCE)))
    trajectory = agent_over(book, tmp_path, synthesizer=Says("$9 million")).ask("What did the berth cost?", SCOPE)
    assert trajectory.abstained
    assert trajectory.candidate == "$9 million"
    assert trajectory.report.contradicted_rate == 1.0


def test_chinese_numerals_and_digits_are_the_same_number(tmp_path: Path) -> None:
    sentence = "全县共有学校三百二十所，占百分之三十五。"
    book = Book(page(1, ("paragraph", sentence)))

    class Digits(Says):
        def __init__(self, answer: str) -> None:
            super().__init__(answer, statement=sentence)
            quote = Quote(page=PageRef(doc_id=DOC, page=1), lines=(0,), text=sentence)
            self._draft = self._draft.model_copy(update={"quotes": (quote,)})

    question = "全县有多少所学校？"
    assert agent_over(book, tmp_path, synthesizer=Digits("320所")).ask(question, SCOPE).answer == "320所"
    assert agent_over(book, tmp_path, synthesizer=Digits("321所")).ask(question, SCOPE).abstained
