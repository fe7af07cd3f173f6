"""Numbers, tables and charts of the harbour report. All invented; totals add up."""

from __future__ import annotations

import pymupdf
from drawing import GREY, INK, NAVY, PALE, TEAL, Sheet
from harbour_layout import LEFT, RIGHT

INCOME: list[tuple[str, ...]] = [
    ("Port dues", "14,210", "15,064", "16,380"),
    ("Pilotage", "5,930", "6,115", "6,702"),
    ("Quay rents", "8,455", "8,455", "9,120"),
    ("Shore power", "310", "745", "1,486"),
    ("Total revenue", "28,905", "30,379", "33,688"),
    ("Staff costs", "11,240", "11,902", "12,655"),
    ("Dredging", "4,180", "2,960", "5,315"),
    ("Maintenance", "3,725", "3,990", "4,208"),
    ("Depreciation", "4,600", "4,750", "4,910"),
    ("Total expenditure", "23,745", "23,602", "27,088"),
    ("Operating surplus", "5,160", "6,777", "6,600"),
]
BERTH_HEADERS = (
    ("Length", "(m)"),
    ("Depth at low", "water (m)"),
    ("Vessel calls", "in 2025"),
    ("Cargo handled", "(thousand tonnes)"),
)
BERTHS: list[tuple[str, ...]] = [
    ("Old Quay", "180", "5.5", "412", "236"),
    ("North Quay", "240", "7.2", "688", "905"),
    ("Container Berth", "310", "11.4", "356", "1,742"),
    ("Ferry Terminal", "165", "6.0", "1,460", "118"),
    ("Tanker Jetty", "275", "12.1", "94", "823"),
    ("All berths", "1,170", "", "3,010", "3,824"),
]
CARGO = {2019: 3120, 2020: 2740, 2021: 2985, 2022: 3210, 2023: 3395, 2024: 3610, 2025: 3824}
SHORE_POWER = {
    "First quarter": 1180,
    "Second quarter": 1465,
    "Third quarter": 2038,
    "Fourth quarter": 1622,
}


def table(sheet: Sheet, top: float, rows: list[tuple[str, ...]], *, columns: list[float], bold: set[int]) -> float:
    """Draw rows whose first cell is flush left and whose other cells end at `columns`; names regions "row/label"."""
    y = top
    for i, row in enumerate(rows):
        face = "hebo" if i in bold else "helv"
        if i % 2:
            sheet.page.draw_rect((LEFT, y, RIGHT, y + 20), color=None, fill=PALE)
        box = sheet.text((LEFT + 6, y + 14), row[0], size=9.5, face=face).box
        for x, cell in zip(columns, row[1:], strict=True):
            box |= sheet.text((x, y + 14), cell, size=9.5, face=face, align="right").box
        sheet.regions[f"row/{row[0]}"] = box
        y += 20
        if i in bold:
            sheet.rule(y, LEFT, RIGHT, width=0.6)
    return y


def cargo_chart(sheet: Sheet, frame: pymupdf.Rect) -> None:
    """Draw the bars of Figure 1 as vectors."""
    bottom, scale = frame.y1 - 20, (frame.height - 40) / 4000
    for tick in range(0, 4001, 1000):
        y = bottom - tick * scale
        sheet.rule(y, frame.x0 + 34, frame.x1, colour=(0.8, 0.83, 0.86), width=0.5)
        sheet.text((frame.x0 + 28, y + 3), f"{tick:,}", size=8, colour=GREY, align="right")
    step = (frame.width - 44) / len(CARGO)
    for i, (year, tonnes) in enumerate(CARGO.items()):
        x = frame.x0 + 44 + step * i
        top = bottom - tonnes * scale
        fill = TEAL if year == 2025 else (0.45, 0.62, 0.7)
        sheet.page.draw_rect((x + 6, top, x + step - 14, bottom), color=None, fill=fill)
        centre = x + (step - 8) / 2
        sheet.text((centre, top - 4), f"{tonnes:,}", size=8.5, face="hebo", align="centre")
        sheet.text((centre, bottom + 14), str(year), size=9, align="centre")
    sheet.rule(bottom, frame.x0 + 34, frame.x1, colour=INK)


def shore_power_chart() -> Sheet:
    """Figure 2 on a page of its own, to be turned into a picture. Its values stand nowhere else in the report."""
    sheet = Sheet(pymupdf.open().new_page(width=640, height=397))
    sheet.page.draw_rect((0.5, 0.5, 639.5, 396.5), color=(0.75, 0.79, 0.82), fill=(0.985, 0.988, 0.99))
    sheet.text((28, 36), "Shore power delivered (MWh)", size=16, face="hebo", colour=NAVY)
    for i, (quarter, energy) in enumerate(SHORE_POWER.items()):
        y = 70 + 74 * i
        x2 = 170 + energy * 0.185
        sheet.page.draw_rect((170, y, x2, y + 44), color=None, fill=TEAL if i == 2 else (0.45, 0.62, 0.7))
        label = sheet.text((156, y + 28), quarter, size=15, align="right")
        value = sheet.text((x2 + 8, y + 28), f"{energy:,}", size=16, face="hebo")
        sheet.regions[f"value/{quarter}"] = value.box
        sheet.regions[f"label/{quarter}"] = label.box
    sheet.page.draw_line((170, 58), (170, 352), color=INK, width=1)
    sheet.text((28, 382), "Metered at the quay; first connection 3 February 2025", size=11, colour=GREY)
    return sheet
