"""Pieces of text on a page and the visual rows they form: what tables are read from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from agent.values import years
from retrieval.types import BBox, Page

CELL = re.compile(
    r"[\s$€£¥￥(\[+–—−-]*(?:US\$)?\s*(?:\d[\d,.]*|\.\d+)\s*(?:%|％|x|bps|pts?|[KMBkmb]|[万亿]?[元人个次项名天件]|[万亿])?[\s)\]*†‡%]*(?:\(\d\))?|[–—-]+|[Nn]/?[AaMm]\.?|[✓✗√×]"
)
"""What a cell with a value looks like: a number with its signs, a dash, "n/a", a tick."""
_SIGN = re.compile(r"[$€£¥￥%％()\s]+")
_LAST_SIGN = re.compile(r"(?<=[\d)%—–-])\s*[$€£¥￥]+$")
_BETWEEN_NUMBERS = re.compile(r"[$€£¥￥()%\s–—−-]*")
_NUMBER = re.compile(r"[$€£¥￥]?\s?[(–—−-]*\s?\d[\d,.]*\s?[%)]*|[–—]")
BAND = re.compile(
    r"[$€£¥]?\d[\d,.]*\s?[KkMm]?\s?[-–—]\s?[$€£¥]?\d[\d,.]*[KkMm]?|[$€£¥]?\d[\d,.]*[KkMm]?\s?\+|[<>≤≥]\s?[$€£¥]?\d[\d,.]*[KkMm]?"
)
"""A range that a row is about, such as an age or an income: "65-69", "80+", "<$30,000"."""
_YEARS = re.compile(r"(?:(?:FY\s?|Fiscal\s)?(?:19|20)\d{2}[AE]?[\s,|]*){2,}", re.IGNORECASE)
_APART = re.compile(r"\s{2,}|\t")


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of a page, or a part of a line that holds several cells, with its box."""

    text: str
    line: int
    left: float
    right: float
    top: float
    bottom: float

    @property
    def centre(self) -> float:
        """The middle of its horizontal extent."""
        return (self.left + self.right) / 2

    def shared(self, left: float, right: float) -> float:
        """The share of the narrower of two extents that both have in common."""
        common = min(self.right, right) - max(self.left, left)
        return max(common, 0.0) / max(min(self.right - self.left, right - left), 1e-6)


Strip = tuple[Piece, ...]
"""The pieces that stand at one height, left to right."""


def is_value(text: str) -> bool:
    """Whether a piece is a value rather than a head or a label: a year alone is none."""
    return CELL.fullmatch(text) is not None and not years(text)


def has_number(text: str) -> bool:
    """Whether a piece is a value with a digit."""
    return is_value(text) and any(char.isdigit() for char in text)


def is_band(text: str) -> bool:
    """Whether a piece is a range that rises, or one with an open end."""
    if BAND.fullmatch(text) is None:
        return False
    ends = [Decimal(end.replace(",", "")) for end in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]
    return len(ends) == 1 or ends[0] < ends[-1]


def visual_rows(page: Page, lines: Iterable[int]) -> list[list[int]]:
    """Indices of lines that share a height, left to right, rows from top to bottom."""
    order = sorted((i for i in lines if page.lines[i].text.strip()), key=lambda i: _middle(page.lines[i].bbox))
    rows: list[list[int]] = []
    for i in order:
        box = page.lines[i].bbox
        first = page.lines[rows[-1][0]].bbox if rows else None
        if (
            first is not None
            and _middle(first) > box.y1
            and _middle(box) - _middle(first) < 0.5 * min(box.y2 - box.y1, first.y2 - first.y1)
        ):
            rows[-1].append(i)
        else:
            rows.append([i])
    return [sorted(row, key=lambda i: page.lines[i].bbox.x1) for row in rows]


def _middle(box: BBox) -> float:
    return (box.y1 + box.y2) / 2


def strip(page: Page, row: Iterable[int]) -> Strip:
    """The pieces of a visual row; lines of several values are split, and signs join the numbers that they belong to."""
    found: list[Piece] = []
    pieces = [piece for i in row for piece in _split(page, i)]
    if not any(has_number(piece.text) for piece in pieces):
        # Without a number beside it, a sign is the head of a column.
        return tuple(pieces)
    for piece in pieces:
        if not _SIGN.fullmatch(piece.text):
            found.append(replace(piece, text=_LAST_SIGN.sub("", piece.text)))
        elif found and "%" in piece.text and has_number(found[-1].text) and "%" not in found[-1].text:
            found[-1] = replace(found[-1], text=f"{found[-1].text}%", right=piece.right)
    return tuple(found)


def _numbers(text: str) -> list[tuple[int, int]]:
    """The places of the numbers of a text that holds nothing else; none of another text."""
    spans = [match.span() for match in _NUMBER.finditer(text)]
    return spans if _BETWEEN_NUMBERS.fullmatch(_NUMBER.sub(" ", text)) else []


def _split(page: Page, index: int) -> list[Piece]:
    """The parts of a line: one, unless it holds nothing but numbers or years, or parts with wide gaps."""
    text, box = page.lines[index].text.strip(), page.lines[index].bbox
    whole = Piece(text, index, box.x1, box.x2, box.y1, box.y2)
    if _YEARS.fullmatch(text):
        spans = [match.span() for match in re.finditer(r"(?:FY\s?|Fiscal\s)?\d{4}[AE]?", text, re.IGNORECASE)]
    elif len(numbers := _numbers(text)) > 1 and not years(text) and not is_band(text):
        spans = numbers
    elif _APART.search(text) and len(text) < 120:
        stops = [0, *(edge for match in _APART.finditer(text) for edge in match.span()), len(text)]
        spans = list(zip(stops[::2], stops[1::2], strict=True))
    else:
        return [whole]
    width = (box.x2 - box.x1) / max(len(text), 1)
    return [
        replace(whole, text=text[start:stop].strip(), left=box.x1 + start * width, right=box.x1 + stop * width)
        for start, stop in spans
        if text[start:stop].strip()
    ]
