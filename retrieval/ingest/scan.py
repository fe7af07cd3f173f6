"""Reading the image of a page: recognised lines become fragments in points on the page as displayed."""

from __future__ import annotations

import re

from retrieval.ingest.fragments import Fragment, Rect, Turn
from retrieval.ingest.ocr import OcrEngine, OcrLine, Pixels
from retrieval.settings import OcrSettings

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def read_image(engine: OcrEngine, pixels: Pixels, clip: Rect, settings: OcrSettings) -> list[Fragment]:
    """The lines of an image that shows the part `clip` of a page, unsure ones left out."""
    height, width = pixels.shape[:2]
    if min(height, width) < 4:
        return []
    lines = [line for line in engine.read(pixels) if line.confidence >= settings.min_confidence]
    x_scale, y_scale = (clip[2] - clip[0]) / width, (clip[3] - clip[1]) / height
    return [_fragment(line, clip, (x_scale, y_scale)) for line in lines]


def _fragment(line: OcrLine, clip: Rect, scale: tuple[float, float]) -> Fragment:
    x1, y1, x2, y2 = line.box
    box = (
        max(clip[0] + x1 * scale[0], clip[0]),
        max(clip[1] + y1 * scale[1], clip[1]),
        min(clip[0] + x2 * scale[0], clip[2]),
        min(clip[1] + y2 * scale[1], clip[3]),
    )
    vertical = line.tall and 2 * len(_CJK.findall(line.text)) >= len(line.text.replace(" ", ""))
    turn: Turn = 0
    if line.tall and not vertical:
        turn = 270 if line.flipped else 90
    elif line.flipped and not vertical:
        turn = 180
    confidence = round(min(line.confidence, 1.0), 4)
    return Fragment(line.text, box, line.thickness * scale[1], turn, vertical, False, "ocr", confidence)
