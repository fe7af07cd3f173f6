"""Running text: which sentences are read together, what becomes of the words that are found, and how sure it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from book import SCOPE, Book, agent_over, page

from agent.prose import ProseReader, fits, joined, running_text
from agent.question import analyse
from agent.ranking import PageRead, Scored, rank_units
from agent.reader.ranker import Reader
from agent.settings import AgentSettings
from retrieval.embedders.e5 import E5

LIGHTHOUSE = Book(
    page(
        1,
        ("heading", "The lighthouse on Gull Rock"),
        ("paragraph", "The lighthouse on Gull Rock was lit for the first time in 1848. Its tower is built of granite."),
        ("table", ["|1900|1950", "Keepers|4|2", "Ships warned|310|1,280"]),
    ),
    page(2, ("paragraph", "The keepers were paid by the harbour board. The repair of 1911 cost 7,250 pounds in all.")),
)


@pytest.fixture(scope="module")
def reader() -> ProseReader:
    return ProseReader(Reader(E5()))


def ranked(question: str) -> list[Scored]:
    reads = [PageRead(page=read, rank=rank) for rank, read in enumerate(LIGHTHOUSE.pages.values(), 1)]
    return rank_units(analyse(question), reads)


def test_rows_of_tables_are_not_read_as_running_text() -> None:
    units = running_text(ranked("When was the lighthouse lit, and how many ships were warned in 1950?"))
    assert units
    assert not any(item.unit.cells for item in units)


def test_sentences_are_joined_in_reading_order_page_after_page() -> None:
    question = "When was the lighthouse lit, and what did the repair of 1911 cost the harbour board in pounds?"
    text, ends = joined(running_text(ranked(question)), chinese=False)
    assert text.index("harbour board") < text.index("7,250") < text.index("1848") < text.index("granite")
    assert "1950" not in text
    assert ends == sorted(ends)
    assert ends[-1] == len(text)


def test_the_unit_of_the_words_is_the_one_they_stand_in(reader: ProseReader) -> None:
    question = analyse("When was the lighthouse on Gull Rock lit for the first time?")
    found = reader.answer(question, ranked(question.text))
    assert found is not None
    assert found.text == "1848"
    assert found.text in found.best.unit.text
    assert 0 < found.confidence < 1


def test_a_number_keeps_what_it_is_counted_in(reader: ProseReader) -> None:
    question = analyse("How much did the repair of 1911 cost?")
    found = reader.answer(question, ranked(question.text))
    assert found is not None
    assert found.text == "7,250 pounds"


@pytest.mark.parametrize("question", ["Is the tower built of granite?", "Which is older, the tower or the board?"])
def test_questions_that_want_more_than_words_are_left_to_rules(reader: ProseReader, question: str) -> None:
    assert reader.answer(analyse(question), ranked(question)) is None


def test_what_only_eyes_can_see_is_less_sure(reader: ProseReader) -> None:
    plain, seen = "What is the tower built of?", "What is the tower in the picture built of?"
    sure, unsure = (reader.answer(analyse(question), ranked(question)) for question in (plain, seen))
    assert sure is not None
    assert unsure is not None
    assert unsure.confidence < sure.confidence


def test_an_unsure_answer_is_tentative_and_a_surer_one_is_withheld_where_more_is_wanted(tmp_path: Path) -> None:
    def asked(**needed: float) -> AgentSettings:
        return AgentSettings.model_validate({"tasks": {"document_qa": {"tool_calls": 12, **needed}}})

    question = "When was the lighthouse on Gull Rock lit for the first time?"
    tentative = agent_over(LIGHTHOUSE, tmp_path / "a", settings=asked(support=0.99, tentative=0.01)).ask(
        question, SCOPE
    )
    withheld = agent_over(LIGHTHOUSE, tmp_path / "b", settings=asked(support=0.99, tentative=0.98)).ask(question, SCOPE)
    assert (tentative.answer, tentative.stop_reason) == ("1848", "tentative")
    assert tentative.confidence is not None
    assert 0.01 <= tentative.confidence < 0.99
    assert (withheld.answer, withheld.candidate, withheld.stop_reason) == (None, "1848", "abstained")
    assert withheld.confidence == pytest.approx(tentative.confidence, abs=1e-3)


def test_what_is_no_answer_to_a_question_is_not_taken_for_one(tmp_path: Path) -> None:
    book = Book(
        page(
            1,
            ("heading", "2 Methods"),
            ("paragraph", "Of the ringed pigeons 61 were caught in Lisbon, 48 in Turin and 33 in Leeds."),
            ("table", ["|2023|2024", "Wages|(480)|(531)", "Flour|(210)|(242)"]),
        )
    )
    agent = agent_over(book, tmp_path)
    methods = agent.ask("How many methods were used?", SCOPE)
    assert methods.answer != "2"
    caught = agent.ask("How many pigeons were caught in Turin?", SCOPE)
    assert caught.answer != "3"
    assert agent.ask("By how much did the wages grow from 2023 to 2024?", SCOPE).answer == "51"


@pytest.mark.parametrize("text", ["7月19日", "19 July 2025"])
def test_nobody_is_called_by_digits(text: str) -> None:
    assert not fits(analyse("少儿科普讲座的主讲人是谁？"), text)
    assert fits(analyse("少儿科普讲座是什么时候？"), text)
