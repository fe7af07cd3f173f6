"""Vertical pages with a text layer: short columns and the halves of annotations are read where they stand."""

from __future__ import annotations

import pymupdf


def _column(page: pymupdf.Page, text: str, x: float, y: float = 80, size: float = 30) -> None:
    font = pymupdf.Font("cjk")
    for n, character in enumerate(text):
        writer = pymupdf.TextWriter(page.rect)
        writer.append((x, y + size * (n + 1)), character, font=font, fontsize=size)
        writer.write_text(page)


def test_titles_of_one_and_two_characters_come_first(desk, draw):
    def leaf(page: pymupdf.Page) -> None:
        _column(page, "論", 520)
        _column(page, "學而", 460)
        _column(page, "子曰學而時習之不亦說乎", 400)
        _column(page, "有朋自遠方來不亦樂乎也", 340)
        _column(page, "終", 280)

    page = desk.page(draw("leaf.pdf", leaf))
    assert page.writing == "vertical"
    assert page.text.split("\n") == ["論", "學而", "子曰學而時習之不亦說乎", "有朋自遠方來不亦樂乎也", "終"]


def test_an_annotation_is_read_right_half_first_and_before_what_follows_it(desk, draw):
    def leaf(page: pymupdf.Page) -> None:
        _column(page, "子曰學而時習之", 500)
        _column(page, "馬曰", 516, y=300, size=15)
        _column(page, "子者", 498, y=300, size=15)
        _column(page, "不亦說乎", 500, y=340)
        _column(page, "有朋自遠方來不亦樂乎", 440)

    lines = desk.page(draw("leaf.pdf", leaf)).text.split("\n")
    assert lines == ["子曰學而時習之", "馬曰", "子者", "不亦說乎", "有朋自遠方來不亦樂乎"]


def test_two_letters_one_under_another_on_a_horizontal_page_stay_two_lines(desk, draw):
    def form(page: pymupdf.Page) -> None:
        page.insert_text((72, 100), "The form has two boxes for a name and a seal.", fontname="helv", fontsize=12)
        page.insert_text((72, 120), "They are signed below, on the left of the page.", fontname="helv", fontsize=12)
        _column(page, "甲乙", 300, y=200, size=12)

    page = desk.page(draw("form.pdf", form))
    assert page.writing == "horizontal"
    assert {"甲", "乙"} <= set(page.text.split("\n"))
