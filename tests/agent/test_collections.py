"""The agent over real documents: read, searched, laid out and answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.build import Agent, build_agent
from agent.docscope import model_raw
from retrieval.collection import Collection
from retrieval.types import Scope


def asked(path: Path, root: Path) -> tuple[Agent, Scope]:
    collection = Collection(root)
    report = collection.read([path])
    return build_agent(collection), Scope(doc_ids=(report.documents[0].doc_id,))


@pytest.mark.parametrize(
    ("question", "answer", "number"),
    [
        ("How many apple trees does the orchard hold?", "312", 1),
        ("Who planted trees in 1996?", "Edith Marlow", 1),
        ("How deep does the deeper well reach?", "43 metres", 3),
    ],
)
def test_an_english_pdf_is_answered(english_pdf: Path, tmp_path: Path, question: str, answer: str, number: int) -> None:
    agent, scope = asked(english_pdf, tmp_path / "collection")
    trajectory = agent.ask(question, scope)
    assert trajectory.answer == answer
    assert [page.ref.page for page in trajectory.pages] == [number]
    assert trajectory.pages[0].document == "orchard.pdf"
    assert f"[page={number}, " in model_raw(trajectory)


def test_a_traditional_question_is_answered_from_a_simplified_pdf(chinese_pdf: Path, tmp_path: Path) -> None:
    agent, scope = asked(chinese_pdf, tmp_path / "collection")
    trajectory = agent.ask("果園共有蘋果樹多少棵？", scope)
    assert trajectory.answer is not None
    assert trajectory.answer.startswith("三百一十二")
    assert trajectory.facts[0].region.page_ref.page == 1


def test_what_a_pdf_does_not_say_is_abstained_from(english_pdf: Path, tmp_path: Path) -> None:
    agent, scope = asked(english_pdf, tmp_path / "collection")
    trajectory = agent.ask("What is the salary of the head gardener's assistant in Norway?", scope)
    assert trajectory.abstained
    assert trajectory.usage.replans == 2


def test_a_line_alone_at_the_top_of_its_page_is_read_on_every_run(make_pdf, tmp_path: Path) -> None:
    agent, scope = asked(make_pdf("line.pdf", ["The harbour at Skerry Point holds 41 boats."]), tmp_path / "collection")
    first, second = (agent.ask("How many boats does the harbour at Skerry Point hold?", scope) for _ in range(2))
    assert (first.answer, second.answer) == ("41", "41")
