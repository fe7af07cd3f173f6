"""Tables in PDFs: every cell is found under its label, its section and all that stands above its column."""

from __future__ import annotations

from pathlib import Path

import pytest
from tabular import by_label, draw, rows

from agent.tables.rows import rows_of
from retrieval.types import BBox, Block, Line, Page, PageRef


def test_heads_of_several_rows_that_span_columns_are_joined(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "periods.pdf",
        "Harbour dues",
        [(330, "Three months ended"), (460, "Six months ended")],
        [(340, "30 June"), (470, "30 June")],
        [(-360, "2021"), (-420, "2020"), (-490, "2021"), (-550, "2020")],
        [(72, "Berth fees"), (-360, "1,204"), (-420, "1,100"), (-490, "2,388"), (-550, "2,250")],
        [(72, "Crane fees"), (-360, "315"), (-420, "298"), (-490, "640"), (-550, "601")],
        [(72, "Pilot fees"), (-360, "88"), (-420, "90"), (-490, "171"), (-550, "185")],
    )
    cells = by_label(rows(tmp_path / "c", path))["Crane fees"]
    assert cells == {
        "Three months ended 30 June 2021": "315",
        "Three months ended 30 June 2020": "298",
        "Six months ended 30 June 2021": "640",
        "Six months ended 30 June 2020": "601",
    }


def test_sections_tell_rows_of_one_name_apart_and_end_with_their_total(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "sections.pdf",
        "Balance sheet",
        [(-400, "2021"), (-500, "2020")],
        [(72, "Current:")],
        [(84, "Loans"), (-400, "120"), (-500, "90")],
        [(84, "Leases"), (-400, "45"), (-500, "40")],
        [(84, "Total current"), (-400, "165"), (-500, "130")],
        [(72, "Long-term:")],
        [(84, "Loans"), (-400, "700"), (-500, "640")],
        [(84, "Leases"), (-400, "210"), (-500, "230")],
        [(72, "Total debt"), (-400, "1,075"), (-500, "1,000")],
    )
    found = [(unit.section, unit.label, unit.cells[0].text) for unit in rows(tmp_path / "c", path)]
    assert ("Current", "Loans", "120") in found
    assert ("Long-term", "Loans", "700") in found
    assert ("", "Total debt", "1,075") in found


def test_a_label_on_two_lines_is_one_label(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "wrapped.pdf",
        "Cash flows",
        [(-400, "2021"), (-500, "2020")],
        [(72, "Fares"), (-400, "810"), (-500, "790")],
        [(72, "Proceeds from the sale of vessels and")],
        [(72, "other equipment"), (-400, "64"), (-500, "12")],
        [(72, "Interest paid"), (-400, "(31)"), (-500, "(28)")],
    )
    cells = by_label(rows(tmp_path / "c", path))
    assert cells["Proceeds from the sale of vessels and other equipment"] == {"2021": "64", "2020": "12"}
    assert cells["Interest paid"]["2021"] == "(31)"


def test_signs_that_stand_apart_and_footnote_marks_are_no_cells(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "signs.pdf",
        "Fees",
        [(-400, "2021"), (-500, "2020")],
        [(72, "Lease assets"), (128, "(1)"), (350, "$"), (-400, "1,000"), (450, "$"), (-500, "592")],
        [(72, "Lease costs"), (128, "(2)"), (-400, "222"), (-500, "231")],
        [(72, "Share of fees"), (-400, "12"), (404, "%"), (-500, "11"), (504, "%")],
    )
    cells = by_label(rows(tmp_path / "c", path))
    assert cells["Lease assets"] == {"2021": "1,000", "2020": "592"}
    assert {head: text.replace(" ", "") for head, text in cells["Share of fees"].items()} == {
        "2021": "12%",
        "2020": "11%",
    }


def test_rows_without_a_label_go_on_with_the_name_above(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "merged.pdf",
        "Pay",
        [(72, "Name"), (240, "Year"), (-400, "Salary"), (-500, "Bonus")],
        [(72, "Mara Voss"), (240, "2021"), (-400, "90,000"), (-500, "8,000")],
        [(240, "2020"), (-400, "85,000"), (-500, "5,000")],
        [(72, "Jon Marsh"), (240, "2021"), (-400, "70,000"), (-500, "3,000")],
        [(240, "2020"), (-400, "66,000"), (-500, "2,000")],
    )
    found = [(unit.label, unit.cells[0].text, unit.cells[1].text) for unit in rows(tmp_path / "c", path)]
    assert found == [
        ("Mara Voss", "2021", "90,000"),
        ("Mara Voss", "2020", "85,000"),
        ("Jon Marsh", "2021", "70,000"),
        ("Jon Marsh", "2020", "66,000"),
    ]


def test_years_may_be_the_rows(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "transposed.pdf",
        "Passengers",
        [(72, "Year"), (-300, "Adults"), (-400, "Children"), (-500, "Dogs")],
        [(72, "2019"), (-300, "4,000"), (-400, "812"), (-500, "51")],
        [(72, "2020"), (-300, "1,950"), (-400, "402"), (-500, "33")],
        [(72, "2021"), (-300, "3,120"), (-400, "655"), (-500, "47")],
    )
    assert by_label(rows(tmp_path / "c", path))["2020"]["Children"] == "402"


def test_a_table_that_is_cut_in_two_keeps_its_heads(tmp_path: Path) -> None:
    years = [(-400.0, "2021"), (-500.0, "2020")]
    path = draw(
        tmp_path / "cut.pdf",
        "Income statement",
        years,
        [(72, "Net fares"), (-400, "8,100"), (-500, "7,900")],
        [(72, "Net income"), (-400, "512"), (-500, "470")],
        "The directors propose to carry the whole of the net income of the year forward to the next one, as before.",
        [(72, "Shares in issue"), (-400, "900"), (-500, "880")],
        [(72, "Income per share"), (-400, "0.57"), (-500, "0.53")],
    )
    assert by_label(rows(tmp_path / "c", path))["Income per share"] == {"2021": "0.57", "2020": "0.53"}


def test_the_unit_of_a_table_is_the_note_above_it(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "units.pdf",
        "Fares (in millions)",
        [(-400, "2021"), (-500, "2020")],
        [(72, "Adults"), (-400, "8.1"), (-500, "7.9")],
        [(72, "Children"), (-400, "1.2"), (-500, "1.1")],
        "",
        "",
        "Costs (in thousands)",
        [(-400, "2021"), (-500, "2020")],
        [(72, "Fuel"), (-400, "940"), (-500, "890")],
        [(72, "Repairs"), (-400, "310"), (-500, "450")],
    )
    notes = {unit.label: unit.note for unit in rows(tmp_path / "c", path)}
    assert "millions" in notes["Children"]
    assert "thousands" in notes["Fuel"]


def test_a_key_with_its_value_is_a_row(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "keys.pdf", "Lindale at a glance", "Revenue: $3.2m", "Crew: 41", "Founded in a harbour town."
    )
    found = {unit.label: unit.cells[0].text for unit in rows(tmp_path / "c", path)}
    assert found == {"Revenue": "$3.2m", "Crew": "41"}


@pytest.mark.parametrize(
    "text",
    ["1234567890" * 40 + " km", "Total " + ". " * 9000 + "5 x", "1," * 300 + "x", "– " * 300 + "x", "$" * 400 + "5 x"],
)
def test_a_line_of_many_digits_or_signs_is_read_at_once(text: str) -> None:
    page = Page(
        ref=PageRef(doc_id="d", page=1),
        width=600,
        height=800,
        lines=(Line(text=text, bbox=BBox(x1=0.1, y1=0.1, x2=0.9, y2=0.12)),),
    )
    assert rows_of(page) == []


def test_ranges_and_ranks_are_labels(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "users.pdf",
        [(72, "Use of ferries by age and income")],
        [(-300, "2013"), (-400, "2014")],
        [(72, "Women"), (-300, "18"), (-400, "21")],
        [(72, "18 -29"), (-300, "31"), (-400, "37")],
        [(72, "65+"), (-300, "5"), (-400, "10")],
        [(72, "$30,000 -$49,999"), (-300, "18"), (-400, "20")],
    )
    found = by_label(rows(tmp_path / "collection", path))
    assert found["18 -29"] == {"2013": "31", "2014": "37"}
    assert found["65+"] == {"2013": "5", "2014": "10"}
    assert found["$30,000 -$49,999"] == {"2013": "18", "2014": "20"}


def test_heads_that_end_left_of_their_columns_belong_to_them_in_order(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "balance.pdf",
        [(72, "Balance sheet of the ferries")],
        [(-290, "2021"), (-390, "2020")],
        [(72, "Cash"), (-330, "450"), (-430, "380")],
        [(72, "Inventories"), (-330, "700"), (-430, "640")],
        [(72, "Total assets"), (-330, "1,150"), (-430, "1,020")],
    )
    assert by_label(rows(tmp_path / "collection", path))["Cash"] == {"2021": "450", "2020": "380"}


def test_numbers_above_labels_are_read_as_bars(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "bars.pdf",
        [(72, "Ferry users by where they live")],
        [(200, "32%")],
        [(300, "29%")],
        [(100, "14%")],
        [(98, "Rural"), (198, "Urban"), (294, "Suburban")],
        leading=40,
    )
    found = [{cell.head: cell.text for cell in unit.cells} for unit in rows(tmp_path / "collection", path)]
    assert {"Rural": "14%", "Urban": "32%", "Suburban": "29%"} in found


def test_two_numbers_above_one_label_are_no_bar(tmp_path: Path) -> None:
    path = draw(
        tmp_path / "stack.pdf",
        [(72, "Ferry users by where they live")],
        [(100, "14%")],
        [(100, "32%"), (200, "29%")],
        [(98, "Rural"), (198, "Urban")],
        leading=40,
    )
    assert not any(cell.head == "Rural" for unit in rows(tmp_path / "collection", path) for cell in unit.cells)


def test_years_above_a_table_head_its_columns_though_the_layout_left_them_out() -> None:
    texts = [
        ("Balance sheet", 0.4, 0.6, 0.05),
        ("2021", 0.72, 0.76, 0.10),
        ("2020", 0.87, 0.91, 0.10),
        ("Assets", 0.1, 0.2, 0.14),
        ("Cash", 0.12, 0.2, 0.18),
        ("410", 0.72, 0.78, 0.18),
        ("380", 0.87, 0.93, 0.18),
        ("Receivables", 0.12, 0.3, 0.22),
        ("95", 0.74, 0.78, 0.22),
        ("120", 0.87, 0.93, 0.22),
    ]
    lines = tuple(Line(text=text, bbox=BBox(x1=x1, y1=y, x2=x2, y2=y + 0.015)) for text, x1, x2, y in texts)
    table = Block(kind="table", bbox=BBox(x1=0.1, y1=0.175, x2=0.95, y2=0.24), lines=tuple(range(4, 10)))
    page = Page(ref=PageRef(doc_id="d", page=1), width=600, height=800, lines=lines, blocks=(table,))
    found = {row.label: [(cell.text, cell.head) for cell in row.cells] for row in rows_of(page)}
    assert found == {"Cash": [("410", "2021"), ("380", "2020")], "Receivables": [("95", "2021"), ("120", "2020")]}
