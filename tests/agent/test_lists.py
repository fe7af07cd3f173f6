"""Lists: members under a heading or in an enumeration, short, each with its own quote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from book import Book, page

from agent.draft import Draft, Request
from agent.listing.enumerations import enumerations
from agent.listing.lists import list_draft
from agent.question import analyse
from agent.ranking import PageRead, rank_units
from retrieval.types import Page, PageRef
from tools.base import ToolResult

REPORT = Book(
    page(
        1,
        ("heading", "Strategy"),
        ("paragraph", "The board agreed on three priorities for the harbour: safety, growth and clean energy."),
        ("paragraph", "Rain fell on many days of the year."),
        ("heading", "Membership benefits"),
        ("list_item", "• Discount: ten percent off every ticket"),
        ("list_item", "• Lounge: free coffee at the pier"),
        ("list_item", "• Parking: a place near the gate"),
        ("heading", "Risks"),
        ("paragraph", "The main risks are the following:"),
        ("list_item", "1. Storms."),
        ("list_item", "2. Rising fuel prices."),
    )
)
CHINESE = Book(
    page(
        1,
        ("heading", "业务"),
        ("paragraph", "公司的主要产品包括手机、平板电脑和路由器等。公司总部位于深圳。"),
        ("heading", "竞争优势"),
        ("list_item", "1、技术领先"),
        ("list_item", "2、成本较低"),
        ("list_item", "3、渠道广泛"),
    )
)


def listed(text: str, book: Book = REPORT, *, support: float = 0.3) -> Draft | None:
    question = analyse(text)
    reads = [PageRead(page=found, rank=rank) for rank, found in enumerate(book.pages.values(), 1)]

    async def call(tool: str, arguments: dict[str, Any]) -> ToolResult | None:
        raise AssertionError("a list needs no tool")

    async def lay_out(refs: Sequence[PageRef]) -> dict[PageRef, Page]:
        return {ref: book.laid_out(ref) for ref in refs}

    request = Request(question=question, pages=reads, support=support, firm=support, call=call, lay_out=lay_out)
    return list_draft(request, rank_units(question, reads))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What are the priorities for the harbour?", "safety; growth; clean energy"),
        ("What are the membership benefits?", "Discount; Lounge; Parking"),
        ("List the main risks.", "Storms; Rising fuel prices"),
    ],
)
def test_members_are_listed_without_marks_and_explanations(text: str, answer: str) -> None:
    draft = listed(text)
    assert draft is not None
    assert draft.answer == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("公司的主要产品有哪些？", "手机; 平板电脑; 路由器"),
        ("公司的竞争优势有哪些？", "技术领先; 成本较低; 渠道广泛"),
    ],
)
def test_chinese_members_are_listed(text: str, answer: str) -> None:
    draft = listed(text, CHINESE)
    assert draft is not None
    assert draft.answer == answer


def test_each_item_of_a_list_has_a_quote_of_its_own() -> None:
    draft = listed("What are the membership benefits?")
    assert draft is not None
    assert [quote.text.split(":")[0] for quote in draft.quotes] == ["• Discount", "• Lounge", "• Parking"]
    assert len({quote.lines for quote in draft.quotes}) == 3


def test_a_number_in_the_question_checks_the_list() -> None:
    right, wrong = listed("Which three priorities for the harbour?"), listed("Which two priorities for the harbour?")
    assert right is not None
    assert wrong is not None
    assert right.confidence is not None
    assert wrong.confidence is not None
    assert wrong.confidence < 0.3 < right.confidence


@pytest.mark.parametrize(
    "text",
    [
        "What are the colours of the icons in the figure?",
        "What are the priorities for the harbour called?",
        "Who leads the harbour?",
        "How many priorities are there?",
    ],
)
def test_other_questions_are_left_to_others(text: str) -> None:
    assert listed(text) is None


def test_a_list_about_something_else_is_no_answer() -> None:
    draft = listed("What are the ingredients of the fish soup?")
    assert draft is None or draft.answer is None


REFERRING = Book(
    page(
        1,
        ("heading", "Results"),
        ("paragraph", "The results of the survey are shown in: see Figure 1, Table 2 and Table 3."),
        ("paragraph", "The charts about prices are Figure 4, Figure 5 and Figure 6."),
    )
)


def test_references_to_figures_are_no_members_of_anything_else() -> None:
    results = listed("What are the results of the survey?", REFERRING)
    assert results is None or "Figure 1" not in (results.candidate or "")
    figures = listed("List the figures in the survey", REFERRING)
    assert figures is None or "Table" not in (figures.candidate or "")
    charts = listed("What are the charts about prices?", REFERRING)
    assert charts is not None
    assert charts.answer == "Figure 4; Figure 5; Figure 6"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("We sell in six categories: Running, the Jordan Brand, Football (Soccer, mostly) and Golf.",
         ("Running", "the Jordan Brand", "Football (Soccer, mostly)", "Golf")),
        ("The company has offices in Paris, London and Rome, which were opened in 2001.", ("Paris", "London", "Rome")),
        ("Do it as follows: (1) turn it on; (2) press the button; and (3) wait.",
         ("turn it on", "press the button", "wait")),
        ("公司分为研发、生产和销售三个部门。", ("研发", "生产", "销售")),
        ("一是加强管理；二是提高效率；三是降低成本。", ("加强管理", "提高效率", "降低成本")),
        ("著作有《世界观、哲学和宗教》、《诗论》。", ("《世界观、哲学和宗教》", "《诗论》")),
    ],
)  # fmt: skip
def test_enumerations_end_where_the_sentence_goes_on(text: str, items: tuple[str, ...]) -> None:
    assert enumerations(text)[0].items == items


@pytest.mark.parametrize(
    "text",
    [
        "Sales grew to 1,200, and profits fell.",
        "They are located mainly in the skin, in the nose, and in the lungs.",
        "It rains.",
        "天气很好。",
    ],
)
def test_a_sentence_with_commas_is_no_enumeration(text: str) -> None:
    assert enumerations(text) == []
