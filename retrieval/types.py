"""What a document is made of: pages, lines, blocks and boxes.

Coordinates are normalised to [0, 1] on the page as displayed (crop box, after rotation), origin top-left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

BlockKind = Literal["paragraph", "list_item", "table", "figure", "caption", "heading", "header", "footer"]
LineSource = Literal["pdf", "ocr"]
LayoutSource = Literal["fast", "model"]
WritingMode = Literal["horizontal", "vertical"]
DocumentKind = Literal["pdf", "image"]
NO_LABEL = "none"


class Frozen(BaseModel):
    """Base of every value in the data contract: immutable, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PageRef(Frozen):
    """A page: content hash of its document and 1-based physical page number."""

    doc_id: str
    page: Annotated[int, Field(ge=1)]


class BBox(Frozen):
    """A box in [0, 1] page units with x1 < x2 and y1 < y2."""

    x1: Annotated[float, Field(ge=0, le=1)]
    y1: Annotated[float, Field(ge=0, le=1)]
    x2: Annotated[float, Field(ge=0, le=1)]
    y2: Annotated[float, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.x1 >= self.x2 or self.y1 >= self.y2:
            raise ValueError(f"a box needs x1 < x2 and y1 < y2, not {self.as_list()}")
        return self

    @classmethod
    def clamped(cls, x1: float, y1: float, x2: float, y2: float) -> BBox | None:
        """The part of a box that lies on the page, rounded to 1e-5; None when nothing does."""
        left, right = sorted((min(max(x1, 0.0), 1.0), min(max(x2, 0.0), 1.0)))
        top, bottom = sorted((min(max(y1, 0.0), 1.0), min(max(y2, 0.0), 1.0)))
        left, top, right, bottom = round(left, 5), round(top, 5), round(right, 5), round(bottom, 5)
        if left >= right or top >= bottom:
            return None
        return cls(x1=left, y1=top, x2=right, y2=bottom)

    @classmethod
    def union_of(cls, boxes: Iterable[BBox]) -> BBox:
        """The smallest box around all of `boxes` (at least one)."""
        items = list(boxes)
        if not items:
            raise ValueError("the union of no boxes is undefined")
        return cls(
            x1=min(b.x1 for b in items),
            y1=min(b.y1 for b in items),
            x2=max(b.x2 for b in items),
            y2=max(b.y2 for b in items),
        )

    @property
    def area(self) -> float:
        """Share of the page that the box covers."""
        return (self.x2 - self.x1) * (self.y2 - self.y1)

    def overlap(self, other: BBox) -> float:
        """Area of the intersection, 0 when disjoint."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return max(width, 0.0) * max(height, 0.0)

    def coverage_by(self, other: BBox) -> float:
        """Share of this box that lies inside `other`."""
        return self.overlap(other) / self.area

    def as_list(self) -> list[float]:
        """[x1, y1, x2, y2]."""
        return [self.x1, self.y1, self.x2, self.y2]


class Line(Frozen):
    """One line (or one vertical column) of text as it stands on the page."""

    text: str
    bbox: BBox
    source: LineSource = "pdf"
    confidence: float = 1.0


class Block(Frozen):
    """A layout block. `lines` are indices into the page's lines, in reading order."""

    kind: BlockKind
    bbox: BBox
    lines: tuple[int, ...] = ()


class Page(Frozen):
    """One page as read: lines in reading order and the blocks they form.

    `label` is the page number printed on the page ("iv", "12", "none"); `width` and `height` are in points as
    displayed. `layout` says whether the blocks come from geometry ("fast") or from the layout model ("model").
    """

    ref: PageRef
    label: str = NO_LABEL
    width: float
    height: float
    lines: tuple[Line, ...] = ()
    blocks: tuple[Block, ...] = ()
    writing: WritingMode = "horizontal"
    layout: LayoutSource = "fast"
    note: str = ""

    def __hash__(self) -> int:
        """By what tells pages apart nearly always: a hash of every line would cost more than what it looks up."""
        return hash((self.ref.doc_id, self.ref.page, self.layout, len(self.lines), len(self.blocks)))

    @property
    def text(self) -> str:
        """The lines in reading order, one a row."""
        return "\n".join(line.text for line in self.lines)

    def block_text(self, block: Block) -> str:
        """The text of one block, its lines one a row."""
        return "\n".join(self.lines[i].text for i in block.lines)


class Document(Frozen):
    """A document: identified by its content, known by its file names."""

    doc_id: str
    kind: DocumentKind
    pages: Annotated[int, Field(ge=1)]
    title: str = ""
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file name to show: the first one it was added under, else the content hash."""
        return self.names[0] if self.names else self.doc_id


class Scope(Frozen):
    """The documents that a question is asked over."""

    doc_ids: tuple[str, ...]


class SignalStatus(Frozen):
    """How much of the scope a retrieval signal could see when it ranked (1.0: all pages)."""

    name: str
    ready: Annotated[float, Field(ge=0, le=1)]
    note: str = ""


class PageHit(Frozen):
    """A ranked page: the rank that each signal gave it, and the span of lines (start, stop) that matched best."""

    ref: PageRef
    rank: Annotated[int, Field(ge=1)]
    score: float
    ranks: dict[str, int] = {}
    lines: tuple[int, int] | None = None


class SearchResult(Frozen):
    """Pages in rank order, and how much of the scope each signal could see."""

    hits: tuple[PageHit, ...]
    signals: tuple[SignalStatus, ...]
