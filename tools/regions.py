"""Where quotes stand: the layout block that holds them, and the lines inside it."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.types import BBox, Block, Page
from tools.base import evidence_id
from tools.types import Evidence, Region, region_kind
from tools.types import Quote as Quote

_INSIDE = 0.5
_CAPTION_GAP = 0.06
_DRAWN_INSIDE, _DRAWN_ALIKE = 0.7, 0.5


def located(quote: Quote, region: Region, *, origin: str = "region_locator") -> Evidence:
    """A quote as evidence with its region."""
    return Evidence(
        id=quote_id(quote),
        kind=quote.kind,
        text=quote.text,
        region=region,
        origin=origin,
        match_basis=quote.basis,
        score=quote.score,
        context=quote.context,
    )


def quote_id(quote: Quote) -> str:
    """The id of the evidence that a quote makes: that of its lines, or of its box where it has none."""
    if quote.lines or quote.box is None:
        return evidence_id(quote.page, quote.lines, quote.kind)
    corners = "-".join(f"{value:.3f}" for value in quote.box.as_list())
    return f"{evidence_id(quote.page, (), quote.kind)}.{corners}"


def place(page: Page, laid_out: Page, quote: Quote) -> Region | None:
    """The region of a quote on a page; None when the page has none of its lines.

    A quote that runs over several blocks is placed in the one that holds its answer. A box that was only seen is
    snapped to the block that it lies in, or is a `vision` region of its own.
    """
    if not quote.lines and quote.box is not None:
        return snapped(laid_out, quote.box)
    lines = [page.lines[i] for i in quote.lines if i < len(page.lines)]
    if not lines:
        return None
    anchors = [line.bbox for line in lines if quote.answer and quote.answer in line.text]
    return region_of(laid_out, [line.bbox for line in lines], anchors=anchors)


def region_of(page: Page, boxes: list[BBox], *, anchors: Sequence[BBox] = ()) -> Region:
    """The one block that holds most of `anchors`, else of `boxes` (at least one), and the boxes inside it as focus.

    A figure takes its caption in. Lines outside every block are a region of their own, and on a vertical page so are
    the columns that are cited, because there a block is the text of the whole page.
    """
    if page.writing == "vertical":
        box = BBox.union_of(anchors or boxes)
        return Region(page_ref=page.ref, block=box, focus=box)
    block = _best_block(page, anchors or boxes)
    if block is None:
        box = BBox.union_of(boxes)
        return Region(page_ref=page.ref, block=box, focus=box)
    inside = [box for box in boxes if box.coverage_by(block.bbox) >= _INSIDE] or list(anchors or boxes)
    focus = BBox.union_of(inside)
    outline = BBox.union_of([block.bbox, focus])
    if block.kind == "figure":
        outline = BBox.union_of([outline, *_captions(page, block)])
    elif block.kind == "caption" and (figure := _captioned(page, block)) is not None:
        return Region(page_ref=page.ref, block=BBox.union_of([outline, figure.bbox]), focus=focus, kind="figure")
    return Region(page_ref=page.ref, block=outline, focus=focus, kind=region_kind(block.kind))


def snapped(page: Page, box: BBox) -> Region:
    """The region of a box that somebody drew: the block that it means, else the box itself, marked `vision`.

    It means a block that it lies in for the most part, or that it covers about as it is.
    """
    fits = [block for block in page.blocks if box.coverage_by(block.bbox) >= _DRAWN_INSIDE or _alike(box, block.bbox)]
    if not fits or page.writing == "vertical":
        return Region(page_ref=page.ref, block=box, focus=box, kind="vision")
    best = max(fits, key=lambda block: (_alike(box, block.bbox), box.coverage_by(block.bbox), -block.bbox.area))
    return region_of(page.model_copy(update={"blocks": (best, *_companions(page, best))}), [best.bbox])


def _companions(page: Page, block: Block) -> list[Block]:
    """The captions of a figure, and the figures of a caption, which go with it."""
    wanted = {"figure": "caption", "caption": "figure"}.get(block.kind)
    return [other for other in page.blocks if other.kind == wanted]


def _alike(box: BBox, other: BBox) -> bool:
    common = box.coverage_by(other) * box.area
    union = box.area + other.area - common
    return union > 0 and common / union >= _DRAWN_ALIKE


def _best_block(page: Page, boxes: Sequence[BBox]) -> Block | None:
    best: Block | None = None
    best_key = (0.0, 0.0)
    top, bottom = min(box.y1 for box in boxes), max(box.y2 for box in boxes)
    for block in page.blocks:
        if block.bbox.y2 <= top or block.bbox.y1 >= bottom:
            continue
        covered = sum(box.coverage_by(block.bbox) for box in boxes)
        key = (round(covered, 3), -block.bbox.area)
        if covered > 0.3 and key > best_key:
            best, best_key = block, key
    return best


def _near(figure: BBox, caption: BBox) -> bool:
    across = min(figure.x2, caption.x2) - max(figure.x1, caption.x1)
    gap = max(caption.y1 - figure.y2, figure.y1 - caption.y2)
    return across > 0 and gap <= _CAPTION_GAP


def _captions(page: Page, figure: Block) -> list[BBox]:
    return [b.bbox for b in page.blocks if b.kind == "caption" and _captioned(page, b) == figure]


def _captioned(page: Page, caption: Block) -> Block | None:
    """The figure that a caption belongs to: the nearest one above or below it."""
    figures = [b for b in page.blocks if b.kind == "figure" and _near(b.bbox, caption.bbox)]
    return min(
        figures,
        key=lambda b: max(caption.bbox.y1 - b.bbox.y2, b.bbox.y1 - caption.bbox.y2),
        default=None,
    )
