"""Questions that the documents answer: the answer is short, its page, box and fact are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from book import DOC, SCOPE, Book, agent_over, columns, page

from retrieval.types import Page, PageRef


@pytest.mark.parametrize(
    ("question", "answer", "number"),
    [
        ("What was the ticket revenue in 2021?", "5,356", 2),
        ("What was the ticket revenue in 2020?", "4,120", 2),
        ("Who is the chief executive of Lindale Ferries?", "Mara Voss", 1),
        ("When was the company founded?", "4 May 1931", 1),
        ("Did all vessels pass the inspection of the coast guard?", "Yes", 3),
        ("Was an accident reported in 2021?", "No", 3),
    ],
)
def test_a_short_answer_is_taken_from_its_page(
    report: Book, tmp_path: Path, question: str, answer: str, number: int
) -> None:
    trajectory = agent_over(report, tmp_path).ask(question, SCOPE)
    assert trajectory.answer == answer
    assert trajectory.stop_reason in ("supported", "tentative")
    assert [p.ref.page for p in trajectory.pages] == [number]
    assert all(claim.verdict == "supported" for claim in trajectory.claims)


def test_a_fact_stands_alone_and_sits_on_one_block(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What was the ticket revenue in 2021?", SCOPE)
    (fact,) = trajectory.facts
    assert "Income statement" in fact.text
    assert "Ticket revenue" in fact.text
    assert "2021" in fact.text
    assert "5,356" in fact.text
    table = report.pages[PageRef(doc_id=DOC, page=2)].blocks[2]
    assert fact.region.kind == "table"
    assert fact.region.block == table.bbox
    assert fact.region.focus is not None
    assert fact.region.focus.area < table.bbox.area / 2
    assert trajectory.pages[0].doc_page == "12"


def test_a_list_gives_each_item_a_region_of_its_own(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("List all vessels in service.", SCOPE)
    assert trajectory.answer == "Heron, built in 1998; Kingfisher, built in 2004; Teal, built in 2016"
    assert len({fact.region.block for fact in trajectory.facts}) == 3
    assert len(trajectory.claims) == 3


def test_a_growth_rate_is_calculated_from_the_row(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What is the growth rate of ticket revenue from 2020 to 2021?", SCOPE)
    assert trajectory.answer == "30%"
    assert "(5356 - 4120) / 4120 * 100 = 30" in trajectory.claims[0].reason


def test_a_difference_of_two_rows_is_calculated(report: Book, tmp_path: Path) -> None:
    question = "What is the difference between ticket revenue and freight revenue in 2021?"
    assert agent_over(report, tmp_path).ask(question, SCOPE).answer == "4366"


def test_a_simplified_question_finds_traditional_text_and_the_quote_keeps_its_script(tmp_path: Path) -> None:
    book = Book(
        page(1, ("paragraph", "青渚縣志卷三。")),
        page(2, ("heading", "書院"), ("paragraph", "文昌書院建於嘉靖十七年。書院藏書三千二百卷。")),
    )
    trajectory = agent_over(book, tmp_path).ask("文昌书院藏书多少卷？", SCOPE)
    assert trajectory.answer == "三千二百卷"
    assert trajectory.evidence[0].text == "書院藏書三千二百卷。"
    assert trajectory.facts[0].region.page_ref.page == 2


def test_the_region_on_a_vertical_page_is_the_column(tmp_path: Path) -> None:
    book = Book(columns(1, "文昌書院記", "嘉靖十七年知縣陸衡撥寺田三百二十畝", "縣丞馬良弼捐俸四十兩修之"))
    trajectory = agent_over(book, tmp_path).ask("知縣陸衡撥寺田多少畝？", SCOPE)
    assert trajectory.answer == "三百二十畝"
    region = trajectory.facts[0].region
    assert region.block == book.pages[PageRef(doc_id=DOC, page=1)].lines[1].bbox


def test_a_sentence_that_runs_over_lines_is_quoted_whole(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What does Lindale Ferries carry between the banks?", SCOPE)
    (fact,) = trajectory.facts
    assert fact.text == "Lindale Ferries carries passengers between the two banks of the Ouse estuary."


def test_retrieved_pages_and_signals_are_in_the_trajectory(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What was the ticket revenue in 2021?", SCOPE)
    assert trajectory.retrieved[0] == PageRef(doc_id=DOC, page=2)
    assert [signal.name for signal in trajectory.signals] == ["words"]
    assert trajectory.models == {"planner": "rules", "synthesizer": "extractive", "verifier": "rules"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the e-mail address of the harbour office?", "office@harbour.example"),
        ("What is the fax number of the harbour office?", "030 555-0192"),
        ("What is the phone number of the harbour office?", "030 555-0191"),
    ],
)
def test_written_forms_are_answered_as_they_are_written(tmp_path: Path, question: str, answer: str) -> None:
    text = "Harbour office: Tel: 030 555-0191 Fax: 030 555-0192 office@harbour.example"
    assert agent_over(Book(page(1, ("paragraph", text))), tmp_path).ask(question, SCOPE).answer == answer


@pytest.mark.parametrize(("question", "answer"), [("most", "Teal"), ("fewest", "Heron")])
def test_the_extreme_row_of_a_table_is_found(tmp_path: Path, question: str, answer: str) -> None:
    rows = ["Vessel|Passengers|Crew", "Heron|310|9", "Kingfisher|455|4", "Teal|720|6", "Total|1,485|19"]
    book = Book(page(1, ("heading", "Vessels in 2021"), ("table", rows)))
    asked = f"Which vessel had the {question} passengers in 2021?"
    assert agent_over(book, tmp_path).ask(asked, SCOPE).answer == answer


def test_a_number_counts_only_what_stands_next_to_it(tmp_path: Path) -> None:
    text = "The 14 members of the choir sang in 3 halls and met 250 guests."
    agent = agent_over(Book(page(1, ("paragraph", text))), tmp_path)
    assert agent.ask("How many guests did the choir meet?", SCOPE).answer == "250"
    assert agent.ask("How many halls did the choir sing in?", SCOPE).answer == "3"
    assert agent.ask("How many dogs did the choir meet?", SCOPE).abstained


def test_a_table_of_contents_is_no_answer(tmp_path: Path) -> None:
    book = Book(
        page(1, ("heading", "Contents"), ("table", ["Section|Page", "Fees for berths|12", "Rules|19"])),
        page(2, ("heading", "Fees for berths"), ("paragraph", "The fees for berths are 85 pounds a night.")),
    )
    assert agent_over(book, tmp_path).ask("What are the fees for berths?", SCOPE).pages[0].ref.page == 2


def test_a_page_that_has_no_words_when_it_is_laid_out_is_abstained_from(tmp_path: Path) -> None:
    class Redrawn(Book):
        def laid_out(self, ref: PageRef) -> Page:
            (block,) = self.page(ref).blocks
            return self.page(ref).model_copy(update={"blocks": (block.model_copy(update={"kind": "paragraph"}),)})

    trajectory = agent_over(Redrawn(page(1, ("figure", "• • •")), found=[[1]]), tmp_path).ask("How many?", SCOPE)
    assert trajectory.abstained
    assert "no page with text" in trajectory.reason


@pytest.mark.parametrize(
    ("question", "answer"), [("deepest", "Tanker Jetty"), ("shallowest", "Old Quay"), ("longest", "North Quay")]
)
def test_a_superlative_names_the_column_that_is_compared(tmp_path: Path, question: str, answer: str) -> None:
    rows = [
        "Berth|Length (m)|Depth (m)",
        "Old Quay|180|5.5",
        "North Quay|240|7.2",
        "Tanker Jetty|165|12.1",
        "All berths|585|",
    ]
    book = Book(page(1, ("heading", "Berths"), ("table", rows)))
    assert agent_over(book, tmp_path).ask(f"Which berth is the {question}?", SCOPE).answer == answer
