"""What the pages of the harbour report share: margins, running heads, headings."""

from __future__ import annotations

from drawing import GREY, NAVY, TEAL, Sheet

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT = 64.0, 531.0
BODY = RIGHT - LEFT


def furniture(sheet: Sheet, label: str) -> None:
    """Write the running head, and the page label at the foot."""
    sheet.text((LEFT, 42), "Port of Saltmere", size=8, colour=GREY)
    sheet.text((RIGHT, 42), "Harbour Report 2025", size=8, colour=GREY, align="right")
    sheet.rule(48, LEFT, RIGHT, colour=(0.75, 0.79, 0.82), width=0.5)
    sheet.text((WIDTH / 2, 808), label, size=9, colour=GREY, align="centre")


def heading(sheet: Sheet, y: float, text: str) -> float:
    """Write a chapter heading with its top at `y`; returns the y below it."""
    sheet.text((LEFT, y + 20), text, size=20, face="hebo", colour=NAVY)
    sheet.rule(y + 29, LEFT, LEFT + 48, colour=TEAL, width=2)
    return y + 44


def subheading(sheet: Sheet, at: tuple[float, float], text: str) -> float:
    """Write a heading with its top left at `at`; returns the y below it."""
    sheet.text((at[0], at[1] + 11), text, size=11.5, face="hebo", colour=NAVY)
    return at[1] + 18
