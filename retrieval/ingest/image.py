"""Image files as documents: every frame is a page."""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.Image import DecompressionBombError

from retrieval.errors import UnreadableDocument
from retrieval.ingest.files import shown
from retrieval.ingest.fragments import Rect

_DEFAULT_DPI = 96.0
_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")
_MAX_PIXELS = 400_000_000


def open_image(path: Path) -> Image.Image:
    """The file as a Pillow image, not yet decoded. Raises `UnreadableDocument`."""
    try:
        image = Image.open(path, formats=_FORMATS)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, DecompressionBombError) as error:
        raise UnreadableDocument(
            f"{shown(path)}: not an image that can be opened (damaged or truncated)", remedy="get a complete copy"
        ) from error
    if image.width * image.height > _MAX_PIXELS:
        raise UnreadableDocument(
            f"{shown(path)}: {image.width} x {image.height} pixels are too many", remedy="scale it down or split it"
        )
    return image


def frame_count(path: Path) -> int:
    """How many pages an image file has: the frames of a TIFF, else one (an animation is read as its first frame)."""
    with open_image(path) as image:
        if image.format != "TIFF":
            return 1
        try:
            return int(getattr(image, "n_frames", 1))
        except (OSError, SyntaxError, ValueError, EOFError, TypeError, KeyError) as error:
            raise UnreadableDocument(f"{shown(path)}: its frames are damaged", remedy="get a complete copy") from error


def read_frame(path: Path, page: int) -> Image.Image:
    """One frame (1-based) in RGB, upright by its EXIF orientation, on white where transparent."""
    try:
        with open_image(path) as image:
            if page > 1:
                image.seek(page - 1)
            if image.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
                image = _eight_bit(image)
            upright = ImageOps.exif_transpose(image) or image
            if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
                rgba = upright.convert("RGBA")
                white = Image.new("RGB", rgba.size, "white")
                white.paste(rgba, mask=rgba.getchannel("A"))
                return white
            return upright.convert("RGB")
    except (OSError, SyntaxError, ValueError, EOFError, DecompressionBombError) as error:
        raise UnreadableDocument(
            f"{shown(path)}: page {page} is damaged ({error})", remedy="get a complete copy"
        ) from error


def frame_size(path: Path, page: int) -> tuple[float, float, float]:
    """Width and height of a frame in points as displayed, and the pixels a point."""
    with open_image(path) as image:
        if page > 1:
            image.seek(page - 1)
        width, height = image.size
        if image.getexif().get(0x0112, 1) in (5, 6, 7, 8):
            width, height = height, width
        dpi = image.info.get("dpi", (0, 0))[0]
    density = float(dpi) if dpi and math.isfinite(dpi) and 50 <= dpi <= 2400 else _DEFAULT_DPI
    return width * 72 / density, height * 72 / density, density / 72


def cut(frame: Image.Image, clip: Rect, density: float, max_side: int) -> Image.Image:
    """The part `clip` (in points) of a frame, scaled down to at most `max_side` pixels a side."""
    left, top = max(int(clip[0] * density), 0), max(int(clip[1] * density), 0)
    right, bottom = min(round(clip[2] * density), frame.width), min(round(clip[3] * density), frame.height)
    part = frame.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    part.thumbnail((max_side, max_side), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return part


def _eight_bit(image: Image.Image) -> Image.Image:
    """A 16-bit or floating-point grey image stretched to 8 bits; Pillow's own conversion clips it to white."""
    grey = image.convert("F")
    low, high = grey.getextrema()
    span = (float(high) - float(low)) or 1.0  # type: ignore[arg-type]
    return grey.point(lambda v: (v - float(low)) * (255 / span)).convert("L")  # type: ignore[arg-type]
