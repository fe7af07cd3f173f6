"""Drawing of text with a record of where it stands, so that expected boxes are computed and never guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import pymupdf

Colour = tuple[float, float, float]
Align = Literal["left", "right", "centre"]

INK: Colour = (0.13, 0.14, 0.16)
NAVY: Colour = (0.07, 0.2, 0.34)
TEAL: Colour = (0.1, 0.45, 0.5)
GREY: Colour = (0.45, 0.48, 0.52)
PALE: Colour = (0.92, 0.95, 0.96)
BULLET = "\u00b7"
"""The bullet in the Symbol font."""


@cache
def font(name: str) -> pymupdf.Font:
    """One of PyMuPDF's own fonts ("helv", "hebo", "tiro", "tiit", "symb", "cjk"); loaded once."""
    return pymupdf.Font(name)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A line of text and the box of its ink, in points."""

    text: str
    box: pymupdf.Rect


@dataclass(slots=True)
class Sheet:
    """A page that is written from the top down; `regions` maps a name to the box of what was drawn under it."""

    page: pymupdf.Page
    regions: dict[str, pymupdf.Rect] = field(default_factory=dict)

    def text(
        self,
        at: tuple[float, float],
        text: str,
        *,
        size: float = 10,
        face: str = "helv",
        colour: Colour = INK,
        align: Align = "left",
    ) -> Drawn:
        """Write one line with its baseline at `at`, and say where its ink stands."""
        width = font(face).text_length(text, fontsize=size)
        x = at[0] - {"left": 0.0, "right": width, "centre": width / 2}[align]
        writer = pymupdf.TextWriter(self.page.rect)
        if face in pymupdf.Base14_fontdict:
            self.page.insert_text((x, at[1]), text, fontname=face, fontsize=size, color=colour)
        else:
            writer.append((x, at[1]), text, font=font(face), fontsize=size)
            writer.write_text(self.page, color=colour)
        return Drawn(text, pymupdf.Rect(x, at[1] - 0.74 * size, x + width, at[1] + 0.16 * size))

    def paragraph(
        self,
        at: tuple[float, float],
        text: str,
        *,
        width: float,
        size: float = 10,
        face: str = "tiro",
        leading: float = 1.4,
        colour: Colour = INK,
        marks: dict[str, str] | None = None,
    ) -> float:
        """Write wrapped text with its top at `at`; returns the y below it.

        `marks` maps a region's name to a phrase: the region is the box of the lines that hold the phrase.
        """
        y = at[1] + size
        drawn: list[Drawn] = []
        for line in wrap(text, width=width, size=size, face=face):
            drawn.append(self.text((at[0], y), line, size=size, face=face, colour=colour))
            y += size * leading
        for name, phrase in (marks or {}).items():
            self.regions[name] = lines_of(drawn, phrase)
        return y - size + size * 0.45

    def bullets(
        self, at: tuple[float, float], items: list[str], *, width: float, size: float = 10, face: str = "tiro"
    ) -> float:
        """Write a bulleted list; returns the y below it."""
        y = at[1]
        for item in items:
            self.text((at[0] + 2, y + size), BULLET, size=size, face="symb", colour=TEAL)
            y = self.paragraph((at[0] + 16, y), item, width=width - 16, size=size, face=face) + 1
        return y

    def rule(self, y: float, x1: float, x2: float, *, colour: Colour = NAVY, width: float = 0.8) -> None:
        """Draw a horizontal rule."""
        self.page.draw_line((x1, y), (x2, y), color=colour, width=width)


def wrap(text: str, *, width: float, size: float, face: str) -> list[str]:
    """Break text into lines no wider than `width`: at spaces, or between characters where the face is "cjk"."""
    pieces, glue = (re.findall(r"[!-~]+|.", text), "") if face == "cjk" else (text.split(), " ")
    lines: list[str] = []
    current = ""
    for piece in pieces:
        candidate = f"{current}{glue}{piece}" if current else piece
        fits = font(face).text_length(candidate, fontsize=size) <= width
        # A line never begins with closing punctuation: it hangs in the margin, as in Chinese print.
        if current and not fits and piece not in "，。、：；！？）》":
            lines.append(current)
            current = piece
        else:
            current = candidate
    return [*lines, current] if current else lines


def lines_of(drawn: list[Drawn], phrase: str) -> pymupdf.Rect:
    """The box of the lines that hold a phrase, which may run over line ends."""
    for start in range(len(drawn)):
        for stop in range(start + 1, len(drawn) + 1):
            joined = "".join(line.text for line in drawn[start:stop]), " ".join(line.text for line in drawn[start:stop])
            if any(phrase in text for text in joined):
                box = pymupdf.Rect(drawn[stop - 1].box)
                first = next(i for i in range(stop - 1, start - 1, -1) if _holds(drawn[i:stop], phrase))
                for line in drawn[first:stop]:
                    box |= line.box
                return box
    raise ValueError(f"{phrase!r} is not among the lines {[line.text for line in drawn]}")


def _holds(lines: list[Drawn], phrase: str) -> bool:
    return any(phrase in glue.join(line.text for line in lines) for glue in ("", " "))
