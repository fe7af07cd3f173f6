"""Page images: a page, or a region of it, as it is displayed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from retrieval.errors import InputError, PasswordNeeded, UnreadableDocument
from retrieval.ingest import image as frames
from retrieval.ingest import pdf
from retrieval.ingest.files import content_id, shown, sniff
from retrieval.types import BBox, PageRef

_MAX_SIDE = 8000


def render_page(paths: Sequence[Path], ref: PageRef, *, dpi: int, passwords: Sequence[str] = ()) -> Image.Image:
    """The page in RGB, from the first of `paths` that still holds the document; no side above 8000 pixels.

    Raises `InputError` when none of the files is there unchanged, `PasswordNeeded` when it is encrypted.
    """
    locked: PasswordNeeded | None = None
    for path in paths:
        if not path.is_file() or content_id(path) != ref.doc_id:
            continue
        try:
            return _render(path, ref.page, dpi, passwords)
        except PasswordNeeded as error:
            locked = error
    if locked is not None:
        raise locked
    names = ", ".join(str(p) for p in paths) or ref.doc_id
    raise InputError(
        f"page {ref.page} can't be shown: {names} has gone or was changed since it was indexed",
        remedy="put the file back, or index it again",
    )


def _render(path: Path, page: int, dpi: int, passwords: Sequence[str]) -> Image.Image:
    if sniff(path) != "pdf":
        frame = frames.read_frame(path, page)
        density = frame.width / frames.frame_size(path, page)[0]
        scale = min(dpi / 72 / density, _MAX_SIDE / max(frame.size))
        if scale < 1:
            frame = frame.resize((max(round(frame.width * scale), 1), max(round(frame.height * scale), 1)))
        return frame
    with pdf.LOCK, pdf.open_pdf(path, passwords) as document:
        if page > document.page_count:
            raise UnreadableDocument(f"{shown(path)}: has no page {page}, only {document.page_count}")
        opened = document[page - 1]
        side = max(pdf.page_size(opened))
        pixmap = pdf.render(opened, dpi=min(float(dpi), _MAX_SIDE * 72 / side))
    return Image.fromarray(np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).copy())


def crop_region(image: Image.Image, bbox: BBox) -> Image.Image:
    """The part of a page's image inside a normalised box, at least one pixel wide and high."""
    left, top = int(bbox.x1 * image.width), int(bbox.y1 * image.height)
    right, bottom = round(bbox.x2 * image.width), round(bbox.y2 * image.height)
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
