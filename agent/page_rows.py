"""Lines of a page as they stand beside and under each other: rows of horizontal text, columns of vertical text."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.types import BBox, Page

_SHARED = 0.6
_PAIR = 1.2
"""Two columns side by side that take no more than this share of a usual one are the halves of an annotation."""
_USUAL = 0.8
"""Where the usual width stands among all: annotations may be more than the columns they stand in, titles are few."""


def page_rows(page: Page) -> list[tuple[int, ...]]:
    """The lines of a page in reading order, those together that stand in one line or column.

    Such are the cells of a table's row, and the halves of an annotation that is set in two columns within a column.
    """
    rows: list[tuple[int, ...]] = []
    vertical = page.writing == "vertical"
    widths = sorted(line.bbox.x2 - line.bbox.x1 for line in page.lines)
    usual = widths[int(_USUAL * (len(widths) - 1))] if widths else 0.0
    for group in line_groups(page):
        last: BBox | None = None
        for i in group:
            box = page.lines[i].bbox
            if last is not None and (_in_column(last, box, usual) if vertical else _in_row(last, box)):
                rows[-1] = (*rows[-1], i)
                last = BBox.union_of([last, box])
            else:
                rows.append((i,))
                last = box
    return rows


def row_text(page: Page, row: Sequence[int]) -> str:
    """The text of one line or column."""
    texts = [page.lines[i].text.strip() for i in row]
    return ("" if page.writing == "vertical" else " ").join(texts)


def line_groups(page: Page) -> list[tuple[int, ...]]:
    """The lines with text by block, in reading order; those of a vertical page are one group: columns run through."""
    filled = [i for i, line in enumerate(page.lines) if line.text.strip()]
    if page.writing == "vertical":
        return [tuple(filled)] if filled else []
    block_of = {i: number for number, block in enumerate(page.blocks) for i in block.lines}
    groups: dict[int, list[int]] = {}
    for i in filled:
        groups.setdefault(block_of.get(i, -1 - i), []).append(i)
    return [tuple(group) for group in groups.values()]


def _in_row(row: BBox, box: BBox) -> bool:
    """Whether a line goes on in the row of those before it."""
    shared, thinner = min(row.y2, box.y2) - max(row.y1, box.y1), min(row.y2 - row.y1, box.y2 - box.y1)
    return shared >= _SHARED * thinner and box.x1 >= row.x2 - 0.5 * (row.y2 - row.y1)


def _in_column(column: BBox, box: BBox, usual: float) -> bool:
    """Whether a line goes on in the column of those before it, below them or as the left half of an annotation."""
    wide, width = column.x2 - column.x1, box.x2 - box.x1
    shared = min(column.x2, box.x2) - max(column.x1, box.x1)
    if shared >= _SHARED * min(wide, width):
        return True
    beside = min(column.y2, box.y2) - max(column.y1, box.y1) >= _SHARED * min(column.y2 - column.y1, box.y2 - box.y1)
    return beside and box.x1 < column.x1 and column.x2 - box.x1 <= _PAIR * usual
