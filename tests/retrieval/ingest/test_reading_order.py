"""Lines come in the order in which a person reads them."""

import re

import pymupdf
import pytest
from desk import column, scan


def _order(page, pattern):
    return [m[0] for line in page.lines if (m := re.match(pattern, line.text))]


def test_two_columns_are_read_one_after_the_other_under_their_common_heading(desk, draw):
    def two_columns(page):
        column(page, "Right", 310, 140)
        column(page, "Left", 60, 140)
        page.insert_text((60, 110), "A heading that spans both of the columns below it on the page", fontsize=16)

    page = desk.page(draw("paper.pdf", two_columns))
    expected = ["A", *[f"Left {n}" for n in range(8)], *[f"Right {n}" for n in range(8)]]
    assert _order(page, r"(Left|Right) \d|A(?= heading)") == expected


def test_cells_of_a_table_are_read_row_by_row(desk, draw):
    def table(page):
        for c, x in enumerate((60, 220, 340, 460)):
            for r in range(6):
                page.insert_text((x, 150 + 18 * r), f"r{r}c{c}", fontsize=10)

    page = desk.page(draw("table.pdf", table))
    assert [line.text for line in page.lines] == [f"r{r}c{c}" for r in range(6) for c in range(4)]
    assert [b.kind for b in page.blocks] == ["table"]


def test_vertical_columns_of_a_pdf_are_read_right_to_left(desk, draw):
    columns = ["天地玄黃宇宙洪荒", "日月盈昃辰宿列張", "寒來暑往秋收冬藏"]

    def vertical(page):
        for n, text in enumerate(columns):
            for k, character in enumerate(text):
                page.insert_text((400 - 40 * n, 120 + 24 * k), character, fontname="china-t", fontsize=22)

    page = desk.page(draw("classic.pdf", vertical))
    assert [line.text for line in page.lines] == columns
    assert page.writing == "vertical"
    assert page.lines[0].bbox.x1 > page.lines[1].bbox.x2


@pytest.mark.slow
def test_vertical_columns_of_a_scan_are_read_right_to_left(desk, tmp_path):
    columns = ["天地玄黃宇宙洪荒", "日月盈昃辰宿列張", "寒來暑往秋收冬藏"]
    document = pymupdf.open()
    page = document.new_page(width=300, height=400)
    for n, text in enumerate(columns):
        for k, character in enumerate(text):
            page.insert_text((210 - 60 * n, 80 + 34 * k), character, fontname="china-t", fontsize=30)
    page.get_pixmap(dpi=150).save(tmp_path / "classic.png")
    read = desk.page(tmp_path / "classic.png")
    assert [line.text[:2] for line in read.lines] == ["天地", "日月", "寒來"]
    assert read.writing == "vertical"


def test_text_drawn_sideways_is_read_after_the_text_that_stands_upright(desk, draw):
    def stamped(page):
        page.insert_text((20, 700), "arXiv stamp upwards", fontsize=14, rotate=90)
        column(page, "Body", 80, 100)

    page = desk.page(draw("stamped.pdf", stamped))
    assert page.lines[0].text.startswith("Body 0")
    assert page.lines[-1].text == "arXiv stamp upwards"


def test_a_page_of_text_drawn_sideways_is_read_in_its_own_direction(desk, draw):
    def sideways(page):
        for n in range(5):
            page.insert_text((100 + 20 * n, 700), f"sideways line {n}", fontsize=12, rotate=90)

    page = desk.page(draw("sideways.pdf", sideways))
    assert [line.text for line in page.lines] == [f"sideways line {n}" for n in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_scan_that_lies_on_its_side_or_head_is_read_in_order(desk, tmp_path, degrees):
    lines = ["The first line of the letter", "follows the second one here", "and finally the third line"]
    scan(lines).rotate(degrees, expand=True).save(tmp_path / "turned.png")
    page = desk.page(tmp_path / "turned.png")
    assert [line.text for line in page.lines] == lines
    sideways = degrees != 180
    assert all((b.bbox.y2 - b.bbox.y1 > b.bbox.x2 - b.bbox.x1) == sideways for b in page.lines)
