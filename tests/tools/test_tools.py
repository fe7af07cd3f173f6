"""The tools through the registry: what they find, and what they refuse."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "agent"))

from book import DOC, SCOPE, Book, columns, page

from retrieval.types import BBox, Block, Line, Page, PageRef
from tools.base import ToolContext, ToolResult, ToolRetry
from tools.characters import normalize
from tools.registry import TOOLS, Registry
from tools.terms import extract_terms

NO_PAGES = ToolContext(pages=Book(), scope=SCOPE, question="")


async def run(name: str, context: ToolContext = NO_PAGES, **arguments: object) -> ToolResult:
    return await Registry().run(name, context, dict(arguments))


def context_of(*pages: Page) -> ToolContext:
    return ToolContext(pages=Book(*pages), scope=SCOPE, question="")


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_goes_by_its_name_and_says_what_it_does(name: str) -> None:
    tool = Registry().get(name)
    assert tool.name == name
    assert tool.description
    assert tool.arguments.model_json_schema()["additionalProperties"] is False


async def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ToolRetry, match=r"shell.*page_reader"):
        await run("shell")


async def test_wrong_arguments_are_refused_with_the_right_ones() -> None:
    with pytest.raises(ToolRetry, match=r"querry.*query, k"):
        await run("page_retriever", querry="x")


@pytest.mark.parametrize(
    ("operation", "numbers", "result"),
    [
        ("difference", ["10", "4"], "-6"),
        ("ratio", ["4", "10"], "2.5"),
        ("growth", ["-4", "-5"], "-25"),
        ("growth", ["3", "4"], "33.3333333333"),
        ("sum", ["0.1", "0.2"], "0.3"),
        ("average", ["1,000", "2,000"], "1500"),
        ("max", ["3", "11"], "11"),
        ("min", ["3", "11"], "3"),
        ("count", [], "0"),
    ],
)
async def test_operations(operation: str, numbers: list[str], result: str) -> None:
    assert (await run("calculator", operation=operation, values=numbers)).value == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("(2 - 5) * -4", "12"),
        ("2 ** 10 / 4", "256"),
        ("100000000000000000001 + 1", "100000000000000000002"),
        ("24 / average(6, 10)", "3"),
        ("max(2, 5) - min(2, 5)", "3"),
    ],
)
async def test_expressions(expression: str, result: str) -> None:
    assert (await run("calculator", expression=expression)).value == result


async def test_a_result_is_given_in_the_scale_that_is_wanted() -> None:
    found = await run("calculator", operation="sum", values=["381,603", "1"], scale="thousand", into="million")
    assert found.value == "381.604"
    assert "381,603 + 1 thousand in million = 381.604" in found.evidence[0].text


@pytest.mark.parametrize(
    "arguments",
    [
        {"expression": "__import__('os').getcwd()"},
        {"expression": "9 ** 9 ** 9"},
        {"expression": "1 / 0"},
        {"expression": "1 +"},
        {"expression": "True + 1"},
        {"operation": "growth", "values": ["0", "5"]},
        {"operation": "growth", "values": ["5"]},
        {"operation": "sum", "values": []},
        {"operation": "sum", "values": ["many"]},
        {"operation": "sum", "values": ["NaN"]},
        {},
        {"expression": "1", "operation": "sum"},
    ],
)
async def test_what_is_no_arithmetic_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ToolRetry):
        await run("calculator", **arguments)


async def test_traditional_characters_become_simplified_ones() -> None:
    assert (await run("char_normalizer", text="漢語的頭髮")).value == "汉语的头发"
    assert (await run("char_normalizer", text="plain")).notes == ("nothing to change",)


def test_normalised_text_leads_back_to_its_original() -> None:
    text = normalize("㎏：書院藏書３卷")
    at = text.text.index("书院")
    assert text.text == "kg:书院藏书3卷"
    assert text.quote(at, at + 2) == "書院"
    assert text.quote(0, 2) == "㎏"
    assert len(text.text) == len(text.origin)


def test_terms_are_found_once_and_the_telling_ones_first() -> None:
    terms = extract_terms('What does "net margin" mean for Acme Tool Works, and is the Net Margin of ACME 12%?')
    assert terms[0] == "net margin"
    assert "Acme Tool Works" in terms
    assert len({term.lower() for term in terms}) == len(terms)


def test_chinese_terms_keep_their_script_and_merge_across_scripts() -> None:
    assert extract_terms("書院的藏書與书院的歷史") == ("書院", "藏書", "歷史")


async def test_retrieved_spans_are_evidence_up_to_the_cap() -> None:
    pages = [page(n, ("paragraph", f"river {n}")) for n in range(1, 6)]
    context = ToolContext(pages=Book(*pages), scope=SCOPE, question="", snippets=3)
    result = await run("page_retriever", context, query="river", k=4)
    assert [hit.ref.page for hit in result.hits] == [1, 2, 3, 4]
    assert [evidence.text for evidence in result.evidence] == ["river 1", "river 2", "river 3"]
    assert all(evidence.region is not None for evidence in result.evidence)


async def test_no_match_is_a_result() -> None:
    result = await run("page_retriever", context_of(page(1, ("paragraph", "river"))), query="desert")
    assert result.hits == ()
    assert "no page matches" in result.notes[0]


async def test_blocks_of_a_page_are_read_when_asked_for() -> None:
    context = context_of(page(1, ("heading", "Rivers"), ("list_item", "• the Ouse")))
    ref = PageRef(doc_id=DOC, page=1)
    assert (await run("page_reader", context, pages=[ref])).evidence == ()
    result = await run("page_reader", context, pages=[ref], blocks=True)
    assert [(e.text, e.region.kind) for e in result.evidence if e.region] == [
        ("Rivers", "heading"),
        ("• the Ouse", "list_item"),
    ]


@pytest.mark.parametrize("ref", [PageRef(doc_id=DOC, page=2), PageRef(doc_id="other", page=1)])
async def test_pages_outside_the_scope_are_not_read(ref: PageRef) -> None:
    with pytest.raises(ToolRetry):
        await run("page_reader", context_of(page(1, ("paragraph", "river"))), pages=[ref])


def quote(lines: list[int], **more: object) -> dict[str, object]:
    return {"page": {"doc_id": DOC, "page": 1}, "lines": lines, "text": "text", **more}


async def test_a_list_item_is_a_region_and_the_list_is_not() -> None:
    made = page(1, ("list_item", "• one"), ("list_item", ["• two", "goes on"]), ("list_item", "• three"))
    result = await run("region_locator", context_of(made), quotes=[quote([2])])
    region = result.evidence[0].region
    assert region is not None
    assert region.block == made.blocks[1].bbox
    assert region.focus == made.lines[2].bbox


async def test_a_figure_takes_its_caption_in() -> None:
    figure, caption = BBox(x1=0.1, y1=0.1, x2=0.9, y2=0.4), BBox(x1=0.1, y1=0.42, x2=0.5, y2=0.44)
    label = BBox(x1=0.2, y1=0.2, x2=0.3, y2=0.22)
    made = Page(
        ref=PageRef(doc_id=DOC, page=1),
        width=600,
        height=800,
        lines=(Line(text="42", bbox=label), Line(text="Figure 1. Tides", bbox=caption)),
        blocks=(Block(kind="figure", bbox=figure, lines=(0,)), Block(kind="caption", bbox=caption, lines=(1,))),
    )
    result = await run("region_locator", context_of(made), quotes=[quote([0]), quote([1])])
    inner, outer = (evidence.region for evidence in result.evidence)
    assert inner is not None
    assert outer is not None
    assert inner.block == outer.block == BBox.union_of([figure, caption])
    assert inner.kind == outer.kind == "figure"


async def test_a_quote_over_two_blocks_is_placed_where_its_answer_stands() -> None:
    made = page(1, ("list_item", "The cost of the work is"), ("paragraph", "386 pounds."))
    result = await run("region_locator", context_of(made), quotes=[quote([0, 1], answer="386")])
    region = result.evidence[0].region
    assert region is not None
    assert region.block == made.blocks[1].bbox


async def test_a_quote_on_a_vertical_page_is_placed_on_its_column() -> None:
    made = columns(1, "甲乙", "丙丁")
    result = await run("region_locator", context_of(made), quotes=[quote([1])])
    region = result.evidence[0].region
    assert region is not None
    assert region.block == made.lines[1].bbox


async def test_a_quote_without_lines_is_noted_and_left_out() -> None:
    result = await run("region_locator", context_of(page(1, ("paragraph", "river"))), quotes=[quote([9])])
    assert result.evidence == ()
    assert "none of the lines" in result.notes[0]
