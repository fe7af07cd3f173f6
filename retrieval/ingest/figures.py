"""OCR of raster figures on pages that have a text layer: which figures, and what becomes of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from retrieval.ingest.fragments import Fragment
from retrieval.types import BBox, Block, Line, Page

_REPEATED = 3
_REPEATED_SHARE = 0.2
_FEW_LETTERS = 20


@dataclass(slots=True)
class FigureText:
    """What OCR read on one page's figures: for each box asked for, its lines in reading order (points, page size)."""

    page: int
    width: float
    height: float
    boxes: list[tuple[BBox, list[Fragment]]]
    problem: str = ""


def figures_to_read(pages: Iterable[Page], least: float) -> dict[int, list[BBox]]:
    """Figures by page that have hardly any text and cover `least` of the page; those on many pages are logos."""
    wanted: dict[int, list[BBox]] = {}
    seen: Counter[tuple[float, ...]] = Counter()
    count = 0
    for page in pages:
        count += 1
        boxes = [b.bbox for b in page.blocks if _wants_text(page, b, least)]
        seen.update({_place(box) for box in boxes})
        wanted[page.ref.page] = boxes
    many = max(_REPEATED, _REPEATED_SHARE * count)
    return {n: [b for b in boxes if seen[_place(b)] < many or b.area > 0.5] for n, boxes in wanted.items()}


def _wants_text(page: Page, block: Block, least: float) -> bool:
    if block.kind != "figure" or block.bbox.area < least:
        return False
    if any(page.lines[i].source == "ocr" for i in block.lines):
        return False
    return sum(len(page.lines[i].text) for i in block.lines) < _FEW_LETTERS


def _place(box: BBox) -> tuple[float, ...]:
    return tuple(round(v, 2) for v in box.as_list())


def with_figure_text(page: Page, read: FigureText) -> Page:
    """The page with the figures' lines appended, so that no other line changes its index, and put in their figures.

    What the text layer has already is not added again.
    """
    lines = list(page.lines)
    added: Mapping[tuple[float, ...], list[int]] = {}
    gathered: dict[tuple[float, ...], list[int]] = {}
    for box, fragments in read.boxes:
        gathered[tuple(box.as_list())] = _append(lines, page.lines, fragments, (read.width, read.height))
    added = gathered
    blocks = []
    for block in page.blocks:
        new = added.get(tuple(block.bbox.as_list())) if block.kind == "figure" else None
        blocks.append(block.model_copy(update={"lines": (*block.lines, *new)}) if new else block)
    return page.model_copy(update={"lines": tuple(lines), "blocks": tuple(blocks)})


def _append(
    lines: list[Line], layer: Sequence[Line], fragments: Sequence[Fragment], extent: tuple[float, float]
) -> list[int]:
    width, height = extent
    new: list[int] = []
    for f in fragments:
        box = BBox.clamped(f.box[0] / width, f.box[1] / height, f.box[2] / width, f.box[3] / height)
        if box is None or sum(box.coverage_by(line.bbox) for line in layer) > 0.5:
            continue
        new.append(len(lines))
        lines.append(Line(text=f.text, bbox=box, source="ocr", confidence=f.confidence))
    return new
