"""The classical sample: a leaf printed from a wood block, columns from right to left, no punctuation.

The text is a record of an invented county academy, written for this sample in the manner of a local gazetteer.
"""

from __future__ import annotations

import io

import numpy as np
import pymupdf
from drawing import font
from PIL import Image, ImageFilter

WIDTH, HEIGHT = 600.0, 800.0
SCALE = 2
FRAME = pymupdf.Rect(40, 62, 568, 748)
EDGE = 46.0
"""Width of the half of the fore-edge strip that shows at the left of the leaf."""
COLUMNS, ROWS = 11, 19
STEP_X = (FRAME.x1 - FRAME.x0 - EDGE) / COLUMNS
STEP_Y = (FRAME.y1 - FRAME.y0 - 16) / ROWS
SIZE = 29.5
TITLE = "文昌書院記"
AUTHOR = "邑人周允誠撰"
EDGE_TITLE = ("青渚縣志", "卷三學校", "十二")
BODY = (
    "文昌書院在縣治東二里臨青渚之水舊為廢寺",
    "嘉靖十七年知縣陸衡始撥寺田三百二十畝改",
    "建講堂五間東西齋舍各十二間以居生徒明年",
    "秋堂成延鄉人沈端為山長端字伯直博通三禮",
    "性嚴而好士每月朔望親為諸生講論語遠近從",
    "學者七十餘人歲入田租一百八十石一供膏火",
    "一修屋宇一備荒歉三十年大水壞西齋六間縣",
    "丞馬良弼捐俸四十兩修之萬曆二年沈端卒年",
    "八十有一門人葬之堂後松岡立石紀其行知縣",
    "趙汝楫題其門曰清風在座",
)
"""Columns 2 to 11, right to left; a column is broken where the block cutter broke it."""
MARKS = {"land": "三百二十畝", "head": "沈端為山長", "gift": "馬良弼捐俸四十兩", "pupils": "學者七十餘人"}


def build() -> tuple[bytes, dict[str, tuple[int, pymupdf.Rect]]]:
    """The PNG and, by name, the (1, box in points) of the column that holds what the sample questions ask for."""
    page = pymupdf.open().new_page(width=WIDTH, height=HEIGHT)
    _rules(page)
    _column(page, 0, TITLE, first_row=1)
    _column(page, 0, AUTHOR, first_row=11)
    columns = {i: _column(page, i, text) for i, text in enumerate(BODY, 1)}
    _fore_edge(page)
    pixels = page.get_pixmap(matrix=pymupdf.Matrix(SCALE, SCALE), colorspace=pymupdf.csGRAY, alpha=False)
    stored = io.BytesIO()
    _printed(pixels).save(stored, "PNG", optimize=True, dpi=(144, 144))
    regions = {
        name: (1, columns[i]) for name, phrase in MARKS.items() for i, text in enumerate(BODY, 1) if phrase in text
    }
    return stored.getvalue(), regions


def _character(page: pymupdf.Page, centre: tuple[float, float], character: str, size: float) -> pymupdf.Rect:
    """Draw one character around a point; returns the square that it fills."""
    writer = pymupdf.TextWriter(page.rect)
    writer.append((centre[0] - size / 2, centre[1] + size * 0.38), character, font=font("cjk"), fontsize=size)
    writer.write_text(page)
    half = size * 0.46
    return pymupdf.Rect(centre[0] - half, centre[1] - half, centre[0] + half, centre[1] + half)


def _column(page: pymupdf.Page, column: int, text: str, *, first_row: int = 0) -> pymupdf.Rect:
    """Draw a column, 0 being the rightmost; returns the box of its characters."""
    x = FRAME.x1 - STEP_X * (column + 0.5)
    box = pymupdf.Rect()
    for row, character in enumerate(text, first_row):
        box |= _character(page, (x, FRAME.y0 + 8 + STEP_Y * (row + 0.5)), character, SIZE)
    return box


def _rules(page: pymupdf.Page) -> None:
    """Draw the double frame and the thin rules between the columns."""
    page.draw_rect(pymupdf.Rect(FRAME.x0 - 7, FRAME.y0 - 7, FRAME.x1 + 7, FRAME.y1 + 7), width=4.2)
    page.draw_rect(FRAME, width=1)
    for i in range(1, COLUMNS + 1):
        x = FRAME.x1 - STEP_X * i
        page.draw_line((x, FRAME.y0), (x, FRAME.y1), width=0.9)


def _fore_edge(page: pymupdf.Page) -> None:
    """Draw the strip at the fore-edge: fish tails, the book's title, volume and leaf number."""
    left, right = FRAME.x0, FRAME.x0 + EDGE
    for y, down in ((FRAME.y0 + 92, 1), (FRAME.y1 - 150, -1)):
        tail = [(left, y), (right, y), (right, y + 26 * down), (left, y + 12 * down)]
        page.draw_polyline([*tail, tail[0]], fill=(0, 0, 0))
        page.draw_line((left, y - 5 * down), (right, y - 5 * down), width=0.8)
    middle = (left + right) / 2
    for text, y, size in zip(EDGE_TITLE, (FRAME.y0 + 150, FRAME.y0 + 330, FRAME.y1 - 116), (24, 20, 18), strict=True):
        for i, character in enumerate(text):
            _character(page, (middle, y + i * size * 1.22), character, size)


def _printed(pixels: pymupdf.Pixmap) -> Image.Image:
    """Make clean glyphs look cut in wood and printed on old paper."""
    rng = np.random.default_rng(1538)
    page = np.frombuffer(pixels.samples, dtype=np.uint8).reshape(pixels.height, pixels.width)
    ink = 1 - page.astype(np.float32) / 255
    # Cut characters have heavy uprights and light horizontals: spread the ink sideways only.
    ink = np.maximum(ink, 0.85 * np.maximum(np.roll(ink, 1, axis=1), np.roll(ink, -1, axis=1)))
    rough = _cloud(rng, ink.shape, 3) * 0.34 + _cloud(rng, ink.shape, 90) * 0.14
    ink = _blurred(ink, 1.15)
    ink = np.clip((ink - 0.41 + rough * 0.5) * 4.2, 0, 1) * (0.88 + 0.16 * _cloud(rng, ink.shape, 70))
    paper = 1 + 0.03 * _cloud(rng, ink.shape, 140) + 0.012 * _cloud(rng, ink.shape, 6)
    colour = np.array([236, 222, 190], np.float32) * paper[..., None]
    colour = colour + np.clip(ink, 0, 1)[..., None] * (np.array([42, 36, 32], np.float32) - colour)
    image = Image.fromarray(np.clip(colour, 0, 255).astype(np.uint8))
    return image.quantize(24, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def _cloud(rng: np.random.Generator, shape: tuple[int, ...], grain: int) -> np.ndarray:
    """Smooth noise between about -1 and 1 whose spots are `grain` pixels wide."""
    small = rng.uniform(0, 255, (shape[0] // grain + 2, shape[1] // grain + 2)).astype(np.uint8)
    grown = Image.fromarray(small).resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
    return np.asarray(grown, dtype=np.float32) / 127.5 - 1


def _blurred(ink: np.ndarray, radius: float) -> np.ndarray:
    image = Image.fromarray((np.clip(ink, 0, 1) * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(radius))
    return np.asarray(image, dtype=np.float32) / 255
