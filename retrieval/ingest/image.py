"""Image files as documents: every frame is a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from retrieval.errors import UnreadableDocument
from retrieval.ingest.files import shown
from retrieval.ingest.fragments import Rect

_DEFAULT_DPI = 96.0
_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")
MAX_PIXELS = 150_000_000
"""Images with more pixels are refused: A0 at 300 dpi has 140 million. Decoded, they take up to 600 MB."""
LARGE_PIXELS = 40_000_000
"""Images with more pixels are read one at a time, and at a reduced size where their short side allows it."""
WEBP_PIXELS = 50_000_000
"""WebP's decoder holds an image three times."""
_ENOUGH_SIDE = 2000
_ORIENTATION = 0x0112
_BAND_PIXELS = 4_000_000
# Pillow's own limit warns and fails in words of its own; the one above is stricter and is checked for every frame.
Image.MAX_IMAGE_PIXELS = None


def open_image(path: Path, page: int = 1) -> Image.Image:
    """The file as a Pillow image at one frame (1-based), not yet decoded. Raises `UnreadableDocument`."""
    try:
        image = Image.open(path, formats=_FORMATS)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise UnreadableDocument(
            f"{shown(path)}: not an image that can be opened (damaged or truncated)", remedy="get a complete copy"
        ) from error
    try:
        if page > 1:
            image.seek(page - 1)
        most = WEBP_PIXELS if image.format == "WEBP" else MAX_PIXELS
        if image.width * image.height > most:
            raise UnreadableDocument(
                f"{shown(path)}: {image.width} x {image.height} are too many pixels ({most // 10**6} million at most)",
                remedy="scale it down or split it",
            )
    except BaseException:
        image.close()
        raise
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


def pixel_count(path: Path, page: int) -> int:
    """How many pixels a frame has; 0 when it can't be opened, which reading it will tell."""
    try:
        with open_image(path, page) as image:
            return image.width * image.height
    except (UnreadableDocument, OSError, SyntaxError, ValueError, EOFError):
        return 0


def read_frame(path: Path, page: int) -> Image.Image:
    """One frame (1-based) in RGB, upright by its EXIF orientation, on white where transparent.

    A large one is reduced by a whole number, but its short side keeps 2000 pixels. Beside the decoded image itself only
    the result and a band of it are held.
    """
    try:
        with open_image(path, page) as image:
            factor = _reduction(image.width, image.height)
            if image.format == "JPEG" and factor > 1:
                # JPEG is decoded at a half, a quarter or an eighth at once; what is left to reduce is done below
                image.draft(image.mode, (image.width // factor, image.height // factor))
                factor = _reduction(image.width, image.height)
            small = _flattened(image, factor)
            small.getexif()[_ORIENTATION] = image.getexif().get(_ORIENTATION, 1)
            ImageOps.exif_transpose(small, in_place=True)
            return small
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise UnreadableDocument(
            f"{shown(path)}: page {page} is damaged ({error})", remedy="get a complete copy"
        ) from error


def _reduction(width: int, height: int) -> int:
    """By what a frame is reduced: to about `LARGE_PIXELS`, as far as its short side allows."""
    wanted = math.ceil(math.sqrt(width * height / LARGE_PIXELS))
    return max(min(wanted, min(width, height) // _ENOUGH_SIDE), 1)


def _flattened(image: Image.Image, factor: int) -> Image.Image:
    """The image in RGB, reduced, on white; made band by band, because every step on the whole would be a copy of it."""
    image.load()
    deep = image.mode.startswith("I;16") or image.mode in ("I", "F")
    extent = _extent(image) if deep else (0.0, 1.0)
    if factor == 1 and image.mode == "RGB" and "transparency" not in image.info:
        return image
    rows = max(_BAND_PIXELS // image.width // factor, 1) * factor
    out = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)), "white")
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        band = _eight_bit(band, *extent) if deep else band
        if band.mode in ("RGBA", "LA", "PA") or "transparency" in band.info:
            clear = band.convert("RGBA")
            band = Image.new("RGB", clear.size, "white")
            band.paste(clear, mask=clear.getchannel("A"))
        band = band.convert("RGB")
        out.paste(band.reduce(factor) if factor > 1 else band, (0, top // factor))
    return out


def frame_size(path: Path, page: int) -> tuple[float, float, float]:
    """Width and height of a frame in points as displayed, and the pixels a point."""
    with open_image(path, page) as image:
        width, height = image.size
        if image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8):
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


def _bands(image: Image.Image) -> Iterator[NDArray[np.float32]]:
    rows = max(_BAND_PIXELS // image.width, 1)
    for top in range(0, image.height, rows):
        yield np.asarray(image.crop((0, top, image.width, min(top + rows, image.height)))).astype(np.float32)


def _extent(image: Image.Image) -> tuple[float, float]:
    """The least and the greatest finite value of a deep grey image."""
    low, high = math.inf, -math.inf
    for band in _bands(image):
        finite = band[np.isfinite(band)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high) if low < high else (0.0, high if 0 < high < math.inf else 1.0)


def _eight_bit(image: Image.Image, low: float, high: float) -> Image.Image:
    """A 16-bit or floating-point grey image stretched to 8 bits; Pillow's own conversion clips it to white."""
    grey = np.nan_to_num(np.asarray(image).astype(np.float32), nan=low, posinf=high, neginf=low)
    return Image.fromarray(np.clip((grey - low) * (255 / (high - low)), 0, 255).astype(np.uint8))
