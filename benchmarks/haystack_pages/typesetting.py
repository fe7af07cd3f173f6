"""Lines of Chinese and English in PyMuPDF's built-in fonts, drawn with Pillow: no font is shipped or looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import groupby
from typing import Literal

import pymupdf
from PIL import Image, ImageDraw, ImageFont

Face = Literal["serif", "serif bold", "sans", "sans bold"]
Colour = tuple[int, int, int]
_LATIN: dict[Face, str] = {"serif": "tiro", "serif bold": "tibo", "sans": "helv", "sans bold": "hebo"}
_HAN = "cjk"
_CLOSING = "，。、；：？！）》〉」』】〕”’…—·％,.;:?!)]}%"
_OPENING = "（《〈「『【〔“‘([{"
_UNIT = re.compile(
    rf"[{re.escape(_OPENING)}]*(?:[^\s\u2e80-\uffef{re.escape(_OPENING + _CLOSING)}]+(?:[-.,:'’/·]"
    rf"(?=[^\s\u2e80-\uffef])[^\s\u2e80-\uffef{re.escape(_OPENING + _CLOSING)}]*)*|\S)?[{re.escape(_CLOSING)}]*|\s+"
)


@dataclass(frozen=True, slots=True)
class Type:
    """How text is set: `size` is the em and `leading` the distance of base lines, both in pixels."""

    size: float
    face: Face = "sans"
    colour: Colour = (20, 20, 20)
    spacing: float = 1.6

    @property
    def leading(self) -> float:
        """Pixels from one base line to the next."""
        return self.size * self.spacing


@lru_cache(maxsize=8)
def _outlines(name: str) -> pymupdf.Font:
    return pymupdf.Font(name)


@lru_cache(maxsize=256)
def _raster(name: str, size: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(BytesIO(_outlines(name).buffer), size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=65536)
def _font_of(char: str, face: Face) -> str:
    """Letters and digits come from a Latin font, everything else from the Chinese one; each stands in for the other."""
    order = (_LATIN[face], _HAN) if ord(char) < 0x2000 else (_HAN, _LATIN[face])
    return next((name for name in order if _outlines(name).has_glyph(ord(char))), _HAN)


@lru_cache(maxsize=65536)
def _advance(char: str, face: Face) -> float:
    return float(_outlines(_font_of(char, face)).glyph_advance(ord(char)))


def width_of(text: str, kind: Type) -> float:
    """Pixels that a line takes."""
    return kind.size * sum(_advance(char, kind.face) for char in text)


def break_lines(text: str, width: float, kind: Type, indent: float = 0.0) -> list[str]:
    """Text in lines of at most `width` pixels, the first one shorter by `indent`.

    Words stay whole unless one is longer than a line; no line begins with closing punctuation or ends with an opening
    bracket.
    """
    lines, line, room = [], "", width - indent
    for unit in _units(text, width, kind):
        if line and width_of((line + unit).rstrip(), kind) > room:
            lines.append(line.rstrip())
            line, room = "", width
        line += unit if line else unit.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


def _units(text: str, width: float, kind: Type) -> Iterator[str]:
    """What a line can't be broken within: a word or a Chinese character with its punctuation, or a space."""
    for unit in _UNIT.findall(" ".join(text.split())):
        while width_of(unit, kind) > width:
            most = max(1, int(len(unit) * width / width_of(unit, kind)) - 1)
            yield unit[:most]
            unit = unit[most:]
        yield unit


def draw_line(image: Image.Image, at: tuple[float, float], text: str, kind: Type) -> None:
    """Draw a line; `at` is the left end of its base line."""
    pen, (x, y) = ImageDraw.Draw(image), at
    # The Chinese font has one weight; a stroke makes it bold.
    stroke = kind.size / 48 if kind.face.endswith("bold") else 0
    for name, chars in groupby(text, lambda char: _font_of(char, kind.face)):
        run = "".join(chars)
        width = stroke if name == _HAN else 0
        pen.text((x, y), run, kind.colour, _raster(name, kind.size), anchor="ls", stroke_width=width)
        x += width_of(run, kind)


def draw_lines(
    image: Image.Image, at: tuple[float, float], lines: Sequence[str], kind: Type, indent: float = 0.0
) -> float:
    """Draw lines below each other; `at` is the top left corner. Returns where the next ones can begin."""
    x, y = at
    for number, line in enumerate(lines):
        base = y + 0.5 * (kind.leading - kind.size) + 0.86 * kind.size
        draw_line(image, (x + (0 if number else indent), base), line, kind)
        y += kind.leading
    return y
