"""Blocks by geometry: every line in exactly one, list items apart, captions, heads and feet known."""

import pymupdf
from desk import column

from retrieval.types import PageRef


def _kinds(page):
    return {page.block_text(b).split("\n")[0]: b.kind for b in page.blocks}


def _drawn(page):
    page.insert_text((60, 40), "Annual report of the orchard", fontsize=9)
    page.insert_text((60, 110), "Yields of the year", fontsize=18)
    column(page, "Paragraph", 60, 130, lines=4)
    for n, item in enumerate(("Apples kept well", "Pears did not", "Plums were sold")):
        page.insert_text((60, 220 + 20 * n), f"{n + 1}.", fontsize=10)
        page.insert_text((80, 220 + 20 * n), item, fontsize=10)
    page.insert_text((60, 330), "Figure 3: Harvest by month", fontsize=9)
    page.insert_text((60, 360), "表2 各月产量", fontname="china-s", fontsize=9)
    page.insert_text((290, 815), "12", fontsize=9)


def test_kinds_of_a_drawn_page(desk, draw):
    page = desk.page(draw("report.pdf", _drawn))
    kinds = _kinds(page)
    assert kinds["Annual report of the orchard"] == "header"
    assert kinds["Yields of the year"] == "heading"
    assert kinds["Paragraph 0 runs on to the right edge here"] == "paragraph"
    assert [t for t, k in kinds.items() if k == "list_item"] == [
        "1. Apples kept well",
        "2. Pears did not",
        "3. Plums were sold",
    ]
    assert kinds["Figure 3: Harvest by month"] == kinds["表2 各月产量"] == "caption"
    assert kinds["12"] == "footer"


def test_every_line_belongs_to_exactly_one_block(desk, draw):
    page = desk.page(draw("report.pdf", _drawn))
    assert sorted(i for b in page.blocks for i in b.lines) == list(range(len(page.lines)))


def _illustrated(page, pixels):
    column(page, "Body", 60, 100)
    shape = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, pixels, pixels), False)
    shape.clear_with(200)
    page.insert_image(pymupdf.Rect(60, 300, 400, 600), pixmap=shape, keep_proportion=False)
    page.insert_text((100, 400), "on the picture", fontsize=10)


def test_an_icon_is_no_figure_however_large_it_is_drawn(desk, draw):
    page = desk.page(draw("icon.pdf", lambda page: _illustrated(page, pixels=40)))
    assert "figure" not in {block.kind for block in page.blocks}


def test_a_picture_is_a_figure_and_holds_the_text_on_it(desk, draw):
    page = desk.page(draw("illustrated.pdf", lambda page: _illustrated(page, pixels=80)))
    (figure,) = [b for b in page.blocks if b.kind == "figure"]
    assert page.block_text(figure) == "on the picture"
    assert abs(figure.bbox.y1 - 300 / 842) < 0.01


def test_the_layout_model_changes_blocks_and_keeps_lines_states_and_revision(desk, draw):
    path = draw("report.pdf", _drawn)
    fast = desk.page(path)
    before = desk.store.content_state(fast.ref.doc_id)
    laid_out = desk.ingestor.lay_out(fast.ref)
    assert laid_out.layout == "model"
    assert laid_out.lines == fast.lines
    assert sorted(i for b in laid_out.blocks for i in b.lines) == list(range(len(fast.lines)))
    assert desk.store.content_state(fast.ref.doc_id) == before
    path.unlink()
    assert desk.ingestor.lay_out(fast.ref) == laid_out


def test_fast_blocks_stay_when_the_file_has_gone(desk, draw):
    path = draw("report.pdf", _drawn)
    fast = desk.page(path)
    path.unlink()
    assert desk.ingestor.lay_out(PageRef(doc_id=fast.ref.doc_id, page=1)) == fast


def test_a_chinese_item_goes_on_at_the_margin(desk, draw):
    def items(page):
        rows = (
            (84, "一、开放时间。自七月一日起至八月底止总馆开放时间调整为上午八时至"),
            (60, "晚上九时，每周一闭馆。"),
            (84, "二、阅览室。二楼少儿阅览室自七月十四日起封闭改造工期四十五天改造"),
            (60, "登记。"),
        )
        for at, (x, text) in enumerate(rows):
            page.insert_text((x, 100 + 16 * at), text, fontname="china-s", fontsize=12)

    page = desk.page(draw("notice.pdf", items))
    assert [(b.kind, len(b.lines)) for b in page.blocks] == [("list_item", 2), ("list_item", 2)]


def test_widely_set_lines_are_one_paragraph(desk, draw):
    page = desk.page(draw("book.pdf", lambda page: column(page, "Body", 60, 100, lines=8, leading=2)))
    assert [len(b.lines) for b in page.blocks] == [8]
