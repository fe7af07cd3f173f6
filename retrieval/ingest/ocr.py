"""OCR engines: an image in, recognised lines out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.ingest.fragments import Rect
from retrieval.settings import OcrSettings

Pixels = NDArray[np.uint8]
DETECTION_SIDE = 1440
"""Pixels of the longer side on which text is looked for: more finds no more words."""
_TALL = 1.5
_LEAST_SIDE = 736


@dataclass(slots=True)
class OcrLine:
    """One recognised line: its box in pixels, and whether it stood upside down or (`tall`) on its side or vertical."""

    text: str
    box: Rect
    thickness: float
    confidence: float
    tall: bool
    flipped: bool


class OcrEngine(Protocol):
    """Reads the text in an image."""

    def read(self, image: Pixels) -> list[OcrLine]:
        """All lines of an RGB image (height, width, 3), in no particular order."""


def make_engine(settings: OcrSettings, threads: int = 1) -> OcrEngine:
    """The engine that the settings name; InputError when what it needs isn't there."""
    if settings.engine == "paddleocr":
        from retrieval.ingest.ocr_paddle import PaddleOcr

        return PaddleOcr(settings, threads)
    from retrieval.ingest.ocr_rapid import RapidOcr

    return RapidOcr(threads)


def check_engine(settings: OcrSettings) -> None:
    """InputError, before any work is given out, when what the engine needs isn't there."""
    if settings.engine == "paddleocr":
        from retrieval.ingest.ocr_paddle import check_installed, model_folders

        model_folders(settings)
        check_installed()


def enlarged(image: Pixels) -> tuple[Pixels, float]:
    """A small image enlarged until its short side has 736 pixels, the least that finds small text, and the factor."""
    import cv2

    height, width = image.shape[:2]
    factor = min(_LEAST_SIDE / min(height, width), DETECTION_SIDE / max(height, width))
    if factor <= 1:
        return np.ascontiguousarray(image), 1.0
    size = (max(round(width * factor), 1), max(round(height * factor), 1))
    return cv2.resize(np.ascontiguousarray(image), size, interpolation=cv2.INTER_CUBIC), factor


def line_from(corners: Any, text: str, score: float, flipped: bool) -> OcrLine:
    """A line from its four corners in pixels, beginning at the start of the text, clockwise as it is read."""
    along = float(max(np.linalg.norm(corners[0] - corners[1]), np.linalg.norm(corners[2] - corners[3])))
    across = float(max(np.linalg.norm(corners[0] - corners[3]), np.linalg.norm(corners[1] - corners[2])))
    xs, ys = corners[:, 0], corners[:, 1]
    box = (float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max()))
    return OcrLine(text.strip(), box, min(along, across), score, across >= _TALL * along, flipped)
