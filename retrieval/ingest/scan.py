"""Reading the image of a page: recognised lines become fragments in points on the page as displayed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from retrieval.ingest.fragments import Fragment, Rect, Turn, shared
from retrieval.ingest.ocr import OcrEngine, OcrLine, Pixels
from retrieval.settings import OcrSettings

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_STRIP = 2.6
_OVERLAP = 0.08
_MAX_TILES = 60


def tiles(width: float, height: float) -> list[Rect]:
    """The parts in which a page is read: itself, or overlapping pieces when it is a long strip."""
    short, long = sorted((width, height))
    if long <= _STRIP * short:
        return [(0.0, 0.0, width, height)]
    length = min(max(1.4 * short, long / _MAX_TILES), long)
    count = math.ceil((long - _OVERLAP * length) / (length * (1 - _OVERLAP)))
    step = (long - length) / max(count - 1, 1)
    spans = [(n * step, n * step + length) for n in range(count)]
    return [(0.0, a, width, b) if height > width else (a, 0.0, b, height) for a, b in spans]


def read_tiles(
    engine: OcrEngine, extent: tuple[float, float], settings: OcrSettings, pixels: Callable[[Rect], Pixels]
) -> list[Fragment]:
    """The lines of a whole page, given what shows a part of it. One part's image is held at a time."""
    out: list[Fragment] = []
    for clip in tiles(*extent):
        out = _without_repeats(out, read_image(engine, pixels(clip), clip, settings))
    return out


def _without_repeats(known: list[Fragment], new: list[Fragment]) -> list[Fragment]:
    """Both lists; of a line that two overlapping pieces show, the one that was cut less."""
    if not known:
        return new
    dropped: set[int] = set()
    kept = []
    for f in new:
        rival = next((n for n, k in enumerate(known) if max(shared(f.box, k.box), shared(k.box, f.box)) > 0.5), None)
        if rival is None or rival in dropped:
            kept.append(f)
        elif _area(f.box) > _area(known[rival].box):
            dropped.add(rival)
            kept.append(f)
    return [k for n, k in enumerate(known) if n not in dropped] + kept


def _area(box: Rect) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


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
