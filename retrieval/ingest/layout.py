"""Blocks from PyMuPDF's layout model: better than geometry, at some hundred times its cost, so one page at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retrieval.ingest import pdf
from retrieval.ingest.paragraphs import starts_item
from retrieval.types import BBox, Block, BlockKind, Page

_KINDS: dict[str, BlockKind] = {
    "text": "paragraph",
    "formula": "paragraph",
    "footnote": "paragraph",
    "title": "heading",
    "section-header": "heading",
    "list-item": "list_item",
    "table": "table",
    "table-fallback": "table",
    "picture": "figure",
    "caption": "caption",
    "page-header": "header",
    "page-footer": "footer",
}
_CONTAINERS: tuple[BlockKind, ...] = ("table", "figure")
MOST_LINES = 3000
"""Lines of a page that the model is run on: its time and memory grow with their square."""


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """One box that the model found, on the page as displayed."""

    kind: BlockKind
    bbox: BBox


def model_boxes(document: Any, page: int) -> list[LayoutBox]:
    """What the layout model sees on a page (1-based) of an open PDF. Empty for a page that is only an image.

    The rotation is taken out of the page first, in memory: the model wants text that stands upright.
    """
    with pdf.LOCK:
        import pymupdf.layout

        pymupdf.layout.activate()
        opened = document[page - 1]
        if opened.rotation:
            opened.remove_rotation()
        width, height = pdf.page_size(opened)
        opened.get_layout()
        found = opened.layout_information or []
    out = []
    for x1, y1, x2, y2, name in found:
        box = BBox.clamped(x1 / width, y1 / height, x2 / width, y2 / height)
        if box is not None:
            out.append(LayoutBox(_KINDS.get(name, "paragraph"), box))
    return out


def lay_out(page: Page, boxes: Sequence[LayoutBox]) -> Page:
    """The page with its lines, untouched, in the model's blocks; lines outside every box stay in their fast blocks."""
    members: dict[int, list[int]] = defaultdict(list)
    left: list[int] = []
    for i, line in enumerate(page.lines):
        home = _home(line.bbox, boxes)
        if home is None:
            left.append(i)
        else:
            members[home].append(i)
    blocks: list[Block] = []
    for n, box in enumerate(boxes):
        blocks.extend(_blocks_of(page, box, members[n]))
    blocks.extend(_left_over(page, left, blocks))
    return page.model_copy(update={"blocks": tuple(_in_order(blocks)), "layout": "model"})


def _home(line: BBox, boxes: Sequence[LayoutBox]) -> int | None:
    """The box that a line belongs to: the one that covers most of it, the smaller of two that cover it alike."""
    best, best_key = None, (0.5, 0.0)
    for n, box in enumerate(boxes):
        covered = round(line.coverage_by(box.bbox), 1)
        key = (covered, -box.bbox.area)
        if covered >= 0.5 and key > best_key:
            best, best_key = n, key
    return best


def _blocks_of(page: Page, box: LayoutBox, lines: list[int]) -> list[Block]:
    if not lines:
        return [Block(kind=box.kind, bbox=box.bbox)] if box.kind == "figure" else []
    if box.kind in _CONTAINERS:
        bbox = BBox.union_of([box.bbox, *(page.lines[i].bbox for i in lines)])
        return [Block(kind=box.kind, bbox=bbox, lines=tuple(lines))]
    groups: list[list[int]] = []
    for i in lines:
        if not groups or (box.kind == "list_item" and starts_item(page.lines[i].text)):
            groups.append([])
        groups[-1].append(i)
    return [_block(page, box.kind, group) for group in groups]


def _block(page: Page, kind: BlockKind, lines: Sequence[int]) -> Block:
    return Block(kind=kind, bbox=BBox.union_of(page.lines[i].bbox for i in lines), lines=tuple(lines))


def _left_over(page: Page, lines: Sequence[int], blocks: Sequence[Block]) -> list[Block]:
    """Fast blocks reduced to the lines that the model left; a fast figure stays unless the model has it too."""
    rest = set(lines)
    out: list[Block] = []
    for block in page.blocks:
        kept = [i for i in block.lines if i in rest]
        if block.kind == "figure":
            if kept or (not block.lines and all(block.bbox.coverage_by(b.bbox) < 0.5 for b in blocks)):
                out.append(block.model_copy(update={"lines": tuple(kept)}))
        elif kept:
            out.append(_block(page, block.kind, kept))
        rest.difference_update(kept)
    out.extend(_block(page, "paragraph", [i]) for i in sorted(rest))
    return out


def _in_order(blocks: list[Block]) -> list[Block]:
    """Blocks by their first line; a figure without text before the first block that begins below its top."""
    textual = sorted((b for b in blocks if b.lines), key=lambda b: b.lines[0])
    for figure in (b for b in blocks if not b.lines):
        at = next(
            (
                n
                for n, b in enumerate(textual)
                if b.bbox.y1 >= figure.bbox.y1 and b.bbox.x1 < figure.bbox.x2 and figure.bbox.x1 < b.bbox.x2
            ),
            len(textual),
        )
        textual.insert(at, figure)
    return textual
