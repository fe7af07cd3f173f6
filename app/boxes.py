"""Cited pages as pictures, with the regions drawn: the block as an outline, the focus as a tint, the fact's number."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from agent.types import Trajectory
from retrieval.collection import Collection
from retrieval.errors import InputError
from retrieval.progress import Progress
from retrieval.types import BBox, PageRef
from tools.types import Region

BORDER = (217, 30, 24)
TINT = (255, 196, 0, 88)
_DPI = 144
_BORDER_SHARE = 0.003
_TAG_SHARE = 0.018


class Marked(NamedTuple):
    """A region with the number of the fact that it belongs to."""

    number: int
    region: Region


def prepare(folder: Path) -> None:
    """Make the folder of the pictures; InputError when it can't be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_boxes(trajectory: Trajectory, collection: Collection, folder: Path, *, progress: Progress) -> list[Path]:
    """Write one PNG for each page that a fact of the answer stands on; the paths, in order of first mention.

    The run's id is part of the names, so that questions about one page don't overwrite each other's pictures. A run
    that abstained cites nothing. A page whose file has gone is noted and left out. A folder that can't be written is
    an InputError.
    """
    by_page: dict[PageRef, list[Marked]] = {}
    for number, fact in enumerate(() if trajectory.abstained else trajectory.facts, 1):
        by_page.setdefault(fact.region.page_ref, []).append(Marked(number, fact.region))
    paths = []
    for ref, marked in by_page.items():
        try:
            page = collection.image(ref, dpi=_DPI)
        except InputError as error:
            progress.note(f"no picture of page {ref.page}: {error}")
            continue
        name = f"{_stem(collection.document(ref.doc_id).name)}-p{ref.page:04d}-{trajectory.trace_id[-8:]}.png"
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            draw_regions(page, marked).save(path)
        except OSError as error:
            raise _unwritable(path, error) from error
        paths.append(path)
    return paths


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} can't be written ({error.strerror})", remedy="choose another folder for --boxes")


def draw_regions(page: Image.Image, marked: Sequence[Marked]) -> Image.Image:
    """A copy of the page with the regions drawn. Outlines lie just outside the blocks and hide no letter."""
    picture = page.convert("RGBA")
    tint = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    for item in marked:
        if item.region.focus is not None:
            ImageDraw.Draw(tint).rectangle(_pixels(item.region.focus, picture.size), fill=TINT)
    picture = Image.alpha_composite(picture, tint).convert("RGB")
    draw = ImageDraw.Draw(picture)
    width = max(2, round(max(picture.size) * _BORDER_SHARE))
    font = ImageFont.load_default(size=max(10, round(max(picture.size) * _TAG_SHARE)))
    tags: dict[tuple[int, int, int, int], list[int]] = {}
    for item in marked:
        tags.setdefault(_pixels(item.region.block, picture.size), []).append(item.number)
    for (x1, y1, x2, y2), numbers in tags.items():
        draw.rectangle((x1 - width, y1 - width, x2 + width, y2 + width), outline=BORDER, width=width)
        text = ",".join(map(str, numbers))
        left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
        # Above the block's corner, or inside the page when the block touches its top.
        at = (max(x1 - width, 0), max(y1 - width - (bottom - top) - 6, 0))
        draw.rectangle((*at, at[0] + right - left + 8, at[1] + bottom - top + 6), fill=BORDER)
        draw.text((at[0] + 4 - left, at[1] + 3 - top), text, fill="white", font=font)
    return picture


def _pixels(box: BBox, size: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size
    return round(box.x1 * width), round(box.y1 * height), round(box.x2 * width), round(box.y2 * height)


def _stem(name: str) -> str:
    """A file name without its suffix and without what file systems dislike."""
    return re.sub(r"[^\w.-]+", "_", Path(name).stem)[:60] or "document"
