"""The number printed on a page, from the file's own labels or from running heads and feet."""

import pymupdf
import pytest

from retrieval.ingest.labels import Candidates, candidates, number, printed_labels


def _footed(texts):
    def foot(text):
        def drawing(page):
            font = "helv" if text.isascii() else "china-s"
            page.insert_text((280, 815), text, fontsize=9, fontname=font)
            for n in range(5):
                page.insert_text((72, 120 + 16 * n), f"Some text with {n} numbers", fontsize=11)

        return drawing

    return [foot(text) for text in texts]


def _labels(desk, path):
    doc_id = desk.read(path).documents[0].doc_id
    return [page.label for page in desk.store.pages(doc_id)]


@pytest.mark.parametrize(
    ("feet", "labels"),
    [
        (["11", "12", "13", "14"], ["11", "12", "13", "14"]),
        (["i", "ii", "iii", "1", "2", "3"], ["i", "ii", "iii", "1", "2", "3"]),
        (["Page 3 of 10", "Page 4 of 10", "Page 5 of 10"], ["3", "4", "5"]),
        (["- 7 -", "- 8 -", "- 9 -"], ["7", "8", "9"]),
        (["第12页", "第13页", "第14页"], ["12", "13", "14"]),
        (["十二", "十三", "十四"], ["十二", "十三", "十四"]),
        (["Orchard survey | 4", "Orchard survey | 5", "Orchard survey | 6"], ["4", "5", "6"]),
        (["2024", "2024", "2024"], ["none", "none", "none"]),
        (["Survey", "Survey", "Survey"], ["none", "none", "none"]),
    ],
)
def test_printed_numbers_are_read_when_they_advance(desk, draw, feet, labels):
    assert _labels(desk, draw("numbered.pdf", *_footed(feet))) == labels


def test_labels_of_the_file_come_first(desk, tmp_path):
    document = pymupdf.open()
    for drawing in _footed(["x", "x", "x", "x"]):
        drawing(document.new_page())
    document.set_page_labels(
        [{"startpage": 0, "style": "r", "firstpagenum": 3}, {"startpage": 2, "prefix": "A-", "style": "D"}]
    )
    document.save(tmp_path / "labelled.pdf")
    assert _labels(desk, tmp_path / "labelled.pdf") == ["iii", "iv", "A-1", "A-2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("xiv", 14), ("二十三", 23), ("一百零五", 105), ("十", 10), ("一二", 12), ("A-7", 7), ("mix", 1009)],
)
def test_numerals(text, value):
    found = number(text)
    assert found is None if value > 400 else found is not None and found[1] == value


def test_numbers_in_the_body_are_no_candidates():
    assert candidates([("12", 0.4, 0.42), ("13", 0.95, 0.97)]) == Candidates(alone=("13",))


def test_a_single_page_is_labelled_by_a_number_that_stands_alone():
    assert printed_labels({1: Candidates(alone=("8",))}, 1) == {1: "8"}
    assert printed_labels({1: Candidates(within=("8",))}, 1) == {1: "none"}
