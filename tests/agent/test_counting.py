"""Counts: what a document has, counted by a tool, and the members of what a question names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from book import SCOPE, Book, page

from agent.draft import Draft, Request
from agent.listing.counting import count_draft
from agent.listing.inventories import asked_of_inventory
from agent.question import analyse
from agent.ranking import PageRead, rank_units
from retrieval.types import Page, PageRef
from tools.base import ToolContext, ToolResult
from tools.registry import Registry

MANUAL = Book(
    page(
        1,
        ("heading", "Checking the package"),
        ("paragraph", "The package includes the following items:"),
        ("list_item", "• Headset"),
        ("list_item", "• Charging cable"),
        ("list_item", "• Carrying case"),
        ("heading", "Pairing the headset"),
        ("list_item", "1 Turn the headset on."),
        ("paragraph", "The lamp turns blue after a while."),
        ("list_item", "2 Open the list of devices on the telephone."),
    ),
    page(2, ("list_item", "3 Choose the headset."), ("heading", "Notes"), ("paragraph", "Keep the box dry.")),
    page(
        3,
        ("heading", "Firmware"),
        ("paragraph", "The firmware comprises five modules. It supports the codecs SBC, AAC, LDAC and aptX."),
        ("caption", "Figure 1: The headset"),
        ("caption", "Figure 2: The telephone"),
    ),
)


async def counted(text: str, book: Book = MANUAL, *, support: float = 0.3) -> Draft | None:
    question = analyse(text)
    reads = [PageRead(page=found, rank=rank) for rank, found in enumerate(book.pages.values(), 1)]

    async def call(tool: str, arguments: dict[str, Any]) -> ToolResult | None:
        return await Registry().run(tool, ToolContext(pages=book, scope=SCOPE, question=text), arguments)

    async def lay_out(refs: Sequence[PageRef]) -> dict[PageRef, Page]:
        return {ref: book.laid_out(ref) for ref in refs}

    request = Request(question=question, pages=reads, support=support, firm=support, call=call, lay_out=lay_out)
    return await count_draft(request, rank_units(question, reads))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("How many figures are there in the paper?", {"thing": "figure"}),
        ("What is the total number of tables in the report?", {"thing": "table"}),
        ("How many figures are there in the Appendix?", {"thing": "figure", "part": "appendix"}),
        ("How many tables are shown in section 3.2?", {"thing": "table", "part": "3.2"}),
        ("How many photos are in the section on safety?", {"thing": "photo", "part": "safety"}),
        ("How many figures are provided on pages 51-53?", {"thing": "figure", "pages": (51, 52, 53)}),
        ('How many times does "Acme" appear on page 4?', {"thing": "phrase", "phrase": "Acme", "pages": (4,)}),
        ("How many pages mention climate change?", {"thing": "phrase", "phrase": "climate change", "by": "page"}),
        ("How many pages include tables?", {"thing": "table", "by": "page"}),
        ("On how many slides does Acme Corp appear?", {"thing": "phrase", "phrase": "Acme Corp", "by": "page"}),
        ("How many references are cited in this paper?", {"thing": "reference"}),
        ("How many authors wrote the paper?", {"thing": "author"}),
        ("How many slides are there in the presentation?", {"thing": "page"}),
        ("本文一共有几张图？", {"thing": "figure"}),
        ("第3章有多少个表格？", {"thing": "table", "part": "3"}),
        ("附录中有几个图？", {"thing": "figure", "part": "appendix"}),
        ("“人工智能”在文中出现了多少次？", {"thing": "phrase", "phrase": "人工智能"}),
        ("有多少页提到碳排放？", {"thing": "phrase", "phrase": "碳排放", "by": "page"}),
        ("参考文献有多少篇？", {"thing": "reference"}),
        ("这本书有几章？", {"thing": "chapter"}),
    ],
)
def test_what_a_document_has_is_asked_of_the_inventory(text: str, arguments: dict[str, object]) -> None:
    asked = asked_of_inventory(analyse(text))
    assert asked is not None
    assert asked.arguments == arguments


@pytest.mark.parametrize(
    "text",
    [
        "How many pie charts are there in the paper?",
        "How many charts compare Europe with the USA?",
        "How many figures of trains appear in the document?",
        "How many people are in the picture on page 3?",
        "How many tables of data does the company sell each year?",
        "公司有多少名员工？",
        "图中有几个人？",
    ],
)
def test_a_condition_that_structure_can_not_tell_is_left_alone(text: str) -> None:
    assert asked_of_inventory(analyse(text)) is None


@pytest.mark.parametrize(
    ("text", "answer", "pages"),
    [
        ("How many figures are there in the manual?", "2", {3}),
        ("How many items are included in the package?", "3", {1}),
        ("How many steps are needed for pairing the headset?", "3", {1, 2}),
        ("How many modules does the firmware comprise?", "5", {3}),
        ("How many codecs does the firmware support?", "4", {3}),
    ],
)
async def test_members_are_counted_and_quoted(text: str, answer: str, pages: set[int]) -> None:
    draft = await counted(text)
    assert draft is not None
    assert draft.answer == answer
    assert {quote.page.page for quote in draft.quotes} == pages
    assert len(draft.statements) == len(draft.quotes)


async def test_each_member_is_a_quote_of_its_own() -> None:
    draft = await counted("How many items are included in the package?")
    assert draft is not None
    assert [quote.text for quote in draft.quotes] == ["• Headset", "• Charging cable", "• Carrying case"]


async def test_the_pages_themselves_are_an_answer() -> None:
    draft = await counted("Which pages mention the headset?")
    assert draft is not None
    assert draft.answer == "1; 2; 3"


async def test_chinese_members_are_counted() -> None:
    book = Book(page(1, ("heading", "组织"), ("paragraph", "公司设有三个部门，包括研发部、生产部和销售部。")))
    draft = await counted("公司设有几个部门？", book)
    assert draft is not None
    assert draft.answer == "3"


@pytest.mark.parametrize(
    "text",
    [
        "How many red arrows are in the package?",
        "How many people are in the picture?",
        "How many more items than steps are there?",
        "How many users does the headset have?",
        "What does the package include?",
        "How many charts does the manual have?",
    ],
)
async def test_what_can_not_be_counted_here_is_left_to_others(text: str) -> None:
    assert await counted(text) is None


async def test_an_unlikely_count_is_a_candidate_and_no_answer() -> None:
    draft = await counted("How many tools are needed for the lamp of the lighthouse?")
    assert draft is None or (draft.answer is None and (draft.confidence or 0.0) < 0.3)
