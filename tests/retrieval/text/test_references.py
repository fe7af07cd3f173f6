"""Places that a question names, and lines that are such places."""

import pytest

from retrieval.text.references import anchor_terms, references, statement_term


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is on page 14?", (14,)),
        ("How many figures are on Pages 51-53?", (51, 52, 53)),
        ("Compare slides 3 and 5", (3, 5)),
        ("What is the title on the cover?", (1,)),
        ("What does the last page say?", (-1,)),
        ("What do the first two pages show?", (1, 2)),
        ("What is on the 7th slide?", (7,)),
        ("第12页写了什么？", (12,)),
        ("第3至5页有几张图？", (3, 4, 5)),
        ("How many pages include charts?", ()),
        ("Which page mentions the harbour?", ()),
    ],
)
def test_pages(question, pages):
    assert references(question).pages == pages


@pytest.mark.parametrize(
    ("question", "anchors"),
    [
        ("What does Figure 3 show?", ("=figure:3",)),
        ("In Fig. 2a and Table IV", ("=figure:2a", "=table:iv")),
        ("Does Section 3.3 cite more than section 3.1?", ("=section:3.3", "=section:3.1")),
        ("What is Exhibit P-10?", ("=exhibit:p-10",)),
        ("图3说明了什么", ("=figure:3",)),
        ("第三章讲什么", ("=chapter:三",)),
        ("How many steps are in the table cloth?", ()),
        ("Which items are in the chart's legend?", ()),
    ],
)
def test_named_things(question, anchors):
    assert references(question).anchors == anchors


def test_counting_a_kind_looks_for_all_of_that_kind():
    assert references("How many figures are there?").kinds == ("=figure",)
    assert references("How many tables are in the Appendix?").kinds == ("=table", "=appendix")


@pytest.mark.parametrize(
    ("question", "front"),
    [
        ("Who are the authors of the report?", True),
        ("How many arrows are in the logo?", True),
        ("作者是谁？", True),
        ("Who is the harbour master?", False),
    ],
)
def test_questions_about_front_matter(question, front):
    assert references(question).front is front


def test_a_hostile_range_is_bounded():
    assert len(references("pages 1-99999").pages) <= 100


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Figure 3: Output by year", ["=figure:3", "=figure"]),
        ("TABLE IV", ["=table:iv", "=table"]),
        ("图3 结果", ["=figure:3", "=figure"]),
        ("4.1 Results", ["=section:4.1"]),
        ("Note to the reader", []),
        ("The figure 3 shows", []),
    ],
)
def test_lines_that_are_places(line, found):
    assert anchor_terms(line) == found


@pytest.mark.parametrize(
    ("title", "term"),
    [
        ("CONSOLIDATED BALANCE SHEETS", "=statement:balance"),
        ("Consolidated Statements of Operations and Comprehensive Loss", "=statement:income"),
        ("合并现金流量表", "=statement:cash"),
        ("The balance sheet of the harbour shows", None),
    ],
)
def test_titles_of_financial_statements(title, term):
    assert statement_term(title) == term
