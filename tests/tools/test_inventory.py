"""The inventory tool: what it counts over all pages of a document, in which part, and what it can't tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pymupdf
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "agent"))

from book import DOC, SCOPE, Book, page

from retrieval.collection import Collection
from retrieval.types import Scope
from tools.base import ToolContext, ToolResult, ToolRetry
from tools.registry import Registry

PAPER = Book(
    page(
        1,
        ("heading", "Tidal Power for Small Harbours"),
        ("paragraph", "Ines Calder1, Tom Reyes2 and Wei Zhang1"),
        ("paragraph", "1 University of Aldport, 2 Marine Institute"),
        ("heading", "Abstract"),
        ("paragraph", "Turbines in harbours are cheap. Figure 2 shows the cost."),
        ("heading", "1 Introduction"),
        ("caption", "Figure 1: A turbine in the harbour of Aldport."),
    ),
    page(
        2,
        ("heading", "2 Methods"),
        ("heading", "2.1 Sensors"),
        ("paragraph", "Figure 1 is explained in this section. A turbine turns slowly."),
        ("caption", "Figure 2. Cost of a turbine."),
        ("caption", "Table 1: Sites"),
        ("heading", "2.2 Models"),
        ("caption", "Figure 3: The model"),
        ("caption", "Table 2: Errors"),
        label="12",
    ),
    page(
        3,
        ("heading", "3 Results"),
        ("paragraph", "The turbine is cheap, and a turbine lasts."),
        ("heading", "References"),
        ("list_item", "[1] A. Blake. Tides. 2001."),
        ("list_item", "[2] C. Dorn. Waves and 12 turbines. 2004."),
        ("list_item", "[3] E. Fry. Harbours. 2010."),
        label="13",
    ),
    page(
        4,
        ("heading", ["A", "Further results"]),
        ("caption", "Figure 4: Costs in winter"),
        ("caption", "Figure 5a: Costs in spring"),
        ("caption", "Figure 5b: Costs in summer"),
        label="14",
    ),
)
CHINESE = Book(
    page(
        1,
        ("heading", "第一章 概述"),
        ("caption", "图1-1 系统结构"),
        ("paragraph", "图1-1所示的系统包括传感器。"),
        ("caption", "图1-2系统接口"),
    ),
    page(
        2, ("heading", "第二章 方法"), ("caption", "图2-1：流程"), ("caption", "图2-2：模型"), ("caption", "表2-1 参数")
    ),
    page(3, ("heading", "参考文献"), *[("list_item", f"[{n}] 作者{n}. 论文. 2020.") for n in range(1, 5)]),
)


async def count(book: Book, **arguments: object) -> ToolResult:
    context = ToolContext(pages=book, scope=SCOPE, question="")
    return await Registry().run("inventory", context, dict(arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"thing": "figure"}, "5"),
        ({"thing": "figure", "part": "appendix"}, "2"),
        ({"thing": "figure", "part": "body"}, "3"),
        ({"thing": "figure", "part": "2"}, "2"),
        ({"thing": "figure", "part": "2.1"}, "1"),
        ({"thing": "figure", "part": "models"}, "1"),
        ({"thing": "figure", "pages": (1, 2)}, "3"),
        ({"thing": "figure", "pages": (14,)}, "2"),
        ({"thing": "figure", "by": "page"}, "3"),
        ({"thing": "table"}, "2"),
        ({"thing": "reference"}, "3"),
        ({"thing": "section"}, "3"),
        ({"thing": "section", "part": "2"}, "2"),
        ({"thing": "author"}, "3"),
        ({"thing": "page"}, "4"),
        ({"thing": "phrase", "phrase": "turbine"}, "5"),
        ({"thing": "phrase", "phrase": "turbine", "by": "page"}, "3"),
        ({"thing": "phrase", "phrase": "turbine", "pages": (-2,)}, "2"),
    ],
)
async def test_things_are_counted_in_the_part_that_is_named(arguments: dict[str, object], expected: str) -> None:
    assert (await count(PAPER, **arguments)).value == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"thing": "figure"}, "4"),
        ({"thing": "figure", "part": "2"}, "2"),
        ({"thing": "table"}, "1"),
        ({"thing": "chapter"}, "2"),
        ({"thing": "reference"}, "4"),
        ({"thing": "phrase", "phrase": "传感器"}, "1"),
    ],
)
async def test_chinese_documents_are_counted_too(arguments: dict[str, object], expected: str) -> None:
    assert (await count(CHINESE, **arguments)).value == expected


async def test_each_thing_counted_is_quoted_where_it_stands() -> None:
    found = await count(PAPER, thing="table")
    assert [quote.text for quote in found.quotes] == ["Table 1: Sites", "Table 2: Errors"]
    for quote in found.quotes:
        assert quote.page.page == 2
        assert PAPER.page(quote.page).lines[quote.lines[0]].text == quote.text


async def test_the_quotes_are_capped_and_the_count_is_not() -> None:
    book = Book(*[page(n, ("paragraph", "A lighthouse stands here.")) for n in range(1, 31)])
    found = await count(book, thing="phrase", phrase="lighthouse")
    assert (found.value, len(found.quotes)) == ("30", 12)


async def test_pages_are_named_by_their_labels() -> None:
    assert (await count(PAPER, thing="phrase", phrase="turbine", by="page")).terms == ("1", "12", "13")


async def test_a_phrase_is_a_whole_word_and_may_run_over_a_line() -> None:
    book = Book(page(1, ("paragraph", ["The art of wind", "power and the start of wind-power: wind power, windpower"])))
    assert (await count(book, thing="phrase", phrase="wind power")).value == "3"
    assert (await count(book, thing="phrase", phrase="art")).value == "1"


async def test_gaps_in_the_numbering_make_a_count_doubtful() -> None:
    whole = Book(page(1, *[("caption", f"Table {n}: Costs") for n in (1, 2, 3, 4)]))
    gaps = Book(page(1, *[("caption", f"Table {n}: Costs") for n in (1, 4, 9)]))
    sure, unsure = await count(whole, thing="table"), await count(gaps, thing="table")
    assert sure.confidence
    assert unsure.confidence is not None
    assert sure.confidence > 0.7 > 0.3 > unsure.confidence


async def test_references_under_a_running_head_are_counted_from_its_first_page() -> None:
    entries = [f"[{n}] Author {n}. Title. 2020." for n in range(1, 13)]
    pages = [
        page(n + 1, ("heading", "References"), *[("list_item", text) for text in entries[4 * n - 4 : 4 * n]])
        for n in (1, 2, 3)
    ]
    first = page(1, ("heading", "Introduction"), ("paragraph", "See [1]."))
    assert (await count(Book(first, *pages), thing="reference")).value == "12"


async def test_what_is_asked_of_a_document_without_references_is_said() -> None:
    book = Book(page(1, ("paragraph", "Nothing is cited here.")))
    assert (await count(book, thing="reference")).notes == ("the document has no list of references",)


async def test_chapters_with_several_digits_in_a_row_are_read() -> None:
    book = Book(page(1, ("heading", "第一二章 总则"), ("caption", "图1 结构")))
    assert (await count(book, thing="figure", part="12")).value == "1"


async def test_what_is_not_there_has_no_count_or_no_confidence() -> None:
    assert (await count(CHINESE, thing="figure", part="appendix")).value is None
    assert (await count(PAPER, thing="figure", pages=(400,))).value is None
    assert (await count(PAPER, thing="equation")).confidence == 0.0


async def test_a_contents_page_does_not_count() -> None:
    contents = [f"Figure {n}: Costs of part {n} ........ {n + 4}" for n in range(1, 9)]
    book = Book(
        page(1, ("heading", "List of Figures"), ("paragraph", contents)), page(2, ("caption", "Figure 1: Costs"))
    )
    assert (await count(book, thing="figure")).value == "1"


async def test_a_phrase_is_needed_for_mentions_and_the_document_must_be_in_scope() -> None:
    with pytest.raises(ToolRetry, match="give a phrase"):
        await count(PAPER, thing="phrase")
    with pytest.raises(ToolRetry, match="outside the scope"):
        await count(PAPER, thing="page", doc_id="f" * 16)
    assert (await count(PAPER, thing="page", doc_id=DOC)).value == "4"


async def test_captions_of_a_real_file_are_found(tmp_path: Path) -> None:
    file = tmp_path / "costs.pdf"
    with pymupdf.open() as pdf:
        for number in range(1, 4):
            sheet = pdf.new_page()
            sheet.draw_rect(pymupdf.Rect(72, 100, 400, 300), fill=(0.2, 0.4, 0.6))
            sheet.insert_text((72, 330), f"Figure {number}: Costs of harbour {number}")
            sheet.insert_text((72, 420), "As the figure shows, costs rise every year in all of the harbours.")
        pdf.save(file)
    collection = Collection(tmp_path / "collection")
    doc_id = collection.read([file]).documents[0].doc_id
    context = ToolContext(pages=collection, scope=Scope(doc_ids=(doc_id,)), question="")
    found = await Registry().run("inventory", context, {"thing": "figure"})
    assert (found.value, [quote.page.page for quote in found.quotes]) == ("3", [1, 2, 3])
    collection.close()
