"""The raw material of a page: pieces of text and pictures, in points on the page as displayed.

Plain slotted classes and not the data contract's models: a page has a hundred of them, and reading has to keep pace
with PyMuPDF. `Draft` is what a worker hands back; it is cheap to pickle and is written to the store as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from retrieval.store import PageRow, Work, encode_content
from retrieval.types import NO_LABEL, BlockKind, LineSource, WritingMode

Turn = Literal[0, 90, 180, 270]
"""Clockwise degrees by which text is turned from upright, as displayed: 90 reads downwards, 270 upwards."""
Rect = tuple[float, float, float, float]


@dataclass(slots=True)
class Fragment:
    """A piece of one line. `size` is the thickness of the line; `vertical` means upright characters, top to bottom."""

    text: str
    box: Rect
    size: float
    turn: Turn = 0
    vertical: bool = False
    bold: bool = False
    source: LineSource = "pdf"
    confidence: float = 1.0

    @property
    def frame_turn(self) -> int:
        """By how much the page is turned so that u grows along the line and v from line to line."""
        return 90 if self.vertical else self.turn


def to_frame(box: Rect, turn: int, width: float, height: float) -> Rect:
    """A box on a page of `width` x `height`, seen with the page turned back by `turn` degrees."""
    x1, y1, x2, y2 = box
    if turn == 90:
        return (y1, width - x2, y2, width - x1)
    if turn == 180:
        return (width - x2, height - y2, width - x1, height - y1)
    if turn == 270:
        return (height - y2, x1, height - y1, x2)
    return box


def union(boxes: Iterable[Rect]) -> Rect:
    """The smallest box around all of `boxes` (at least one)."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def shared(a: Rect, b: Rect) -> float:
    """Share of `a` that lies inside `b`; a box without area counts by its centre."""
    area = (a[2] - a[0]) * (a[3] - a[1])
    if area <= 0:
        x, y = (a[0] + a[2]) / 2, (a[1] + a[3]) / 2
        return float(b[0] <= x <= b[2] and b[1] <= y <= b[3])
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height / area if width > 0 and height > 0 else 0.0


@dataclass(slots=True)
class DraftBlock:
    """A block before it becomes part of the contract; `lines` index the draft's fragments."""

    kind: BlockKind
    box: Rect
    lines: list[int]


@dataclass(slots=True)
class Draft:
    """One page as a worker read it: fragments in reading order, their blocks, and what the page still needs."""

    page: int
    width: float
    height: float
    fragments: list[Fragment] = field(default_factory=list)
    blocks: list[DraftBlock] = field(default_factory=list)
    writing: WritingMode = "horizontal"
    note: str = ""
    needs_ocr: bool = False
    failed: bool = False
    has_figures: bool = False


def to_row(draft: Draft, doc_id: str, ocr: Work, figures: Work) -> PageRow:
    """The page as the store writes it, not labelled yet. Fragments and blocks must lie on the page."""
    width, height = draft.width, draft.height
    content = encode_content(
        ((f.text, *_normalised(f.box, width, height), f.source, f.confidence) for f in draft.fragments),
        ((b.kind, *_normalised(b.box, width, height), b.lines) for b in draft.blocks),
    )
    return PageRow(
        doc_id, draft.page, NO_LABEL, width, height, draft.writing, "fast", draft.note, ocr, figures, content
    )


def on_page(box: Rect, width: float, height: float) -> Rect | None:
    """The part of `box` that lies on the page, at least 0.01 % of the page wide and high; None when it lies outside."""
    least_x, least_y = width * 1e-4, height * 1e-4
    x1, y1 = max(box[0], 0.0), max(box[1], 0.0)
    x2, y2 = min(box[2], width), min(box[3], height)
    if x1 >= width - least_x or y1 >= height - least_y or x2 <= least_x or y2 <= least_y:
        return None
    return (x1, y1, max(x2, x1 + least_x), max(y2, y1 + least_y))


def _normalised(box: Rect, width: float, height: float) -> Rect:
    x1, y1, x2, y2 = box
    return (
        round(x1 / width, 5),
        round(y1 / height, 5),
        min(round(x2 / width, 5), 1.0),
        min(round(y2 / height, 5), 1.0),
    )
