"""Fast blocks: what the geometry and wording of the lines say, with no model.

The rows come in reading order, in their own frame. Runs of rows with several cells are tables; rows that follow each
other closely in one size are paragraphs; markers start list items; "Figure 3" starts a caption; large or bold short
lines are headings; what stands apart at the page's edge is header or footer; lines on a picture belong to its figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval.ingest.fragments import DraftBlock, Fragment, Rect, shared, union
from retrieval.ingest.order import Row
from retrieval.ingest.paragraphs import is_marker, paragraphs
from retrieval.types import BlockKind

_EDGE = 0.085
_CELL_GAP = 1.4
_FULL_PICTURE = 0.8
_BACKGROUND_LETTERS = 300


def find_figures(
    fragments: Sequence[Fragment], pictures: Sequence[Rect], extent: tuple[float, float], least: float
) -> list[Rect]:
    """The pictures that are figures: not tiny, not nearly the whole page, not a background with text all over it."""
    page = extent[0] * extent[1]
    out: list[Rect] = []
    for picture in sorted(pictures, key=_area, reverse=True):
        if not least * page <= _area(picture) < _FULL_PICTURE * page or any(shared(picture, p) > 0.8 for p in out):
            continue
        if sum(len(f.text) for f in fragments if shared(f.box, picture) > 0.7) < _BACKGROUND_LETTERS:
            out.append(picture)
    return out


def lines_on(fragments: Sequence[Fragment], figures: Sequence[Rect]) -> dict[int, int]:
    """Which figure each fragment lies on, for those that lie on one."""
    out: dict[int, int] = {}
    for i, fragment in enumerate(fragments if figures else ()):
        for n, figure in enumerate(figures):
            if shared(fragment.box, figure) > 0.7:
                out[i] = n
                break
    return out


def find_blocks(
    fragments: Sequence[Fragment],
    rows: Sequence[Row],
    figures: Sequence[Rect],
    on_figure: Mapping[int, int],
    extent: tuple[float, float],
) -> list[DraftBlock]:
    """Blocks in reading order; every fragment belongs to exactly one. Boxes are in points."""
    usual = _usual_size(fragments)
    blocks: list[DraftBlock] = []
    for region in _by_region([r for r in rows if r.items[0] not in on_figure]):
        blocks.extend(_region_blocks(fragments, region, usual))
    for n, kind in _margin_kinds(blocks, fragments, extent, usual).items():
        blocks[n].kind = kind
    for n, figure in enumerate(figures):
        lines = sorted(i for i, on in on_figure.items() if on == n)
        blocks.append(DraftBlock("figure", union([figure, *(fragments[i].box for i in lines)]), lines))
    return _in_order(blocks)


def _area(box: Rect) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _usual_size(fragments: Sequence[Fragment]) -> float:
    """The size that most characters have."""
    weight: dict[float, int] = {}
    for f in fragments:
        size = round(f.size * 2) / 2
        weight[size] = weight.get(size, 0) + len(f.text)
    return max(weight, key=lambda s: weight[s]) if weight else 10.0


def _by_region(rows: Sequence[Row]) -> list[list[Row]]:
    out: list[list[Row]] = []
    for row in rows:
        if out and out[-1][-1].region == row.region:
            out[-1].append(row)
        else:
            out.append([row])
    return out


def _region_blocks(fragments: Sequence[Fragment], rows: list[Row], usual: float) -> list[DraftBlock]:
    out: list[DraftBlock] = []
    start = 0
    for begin, end in _table_runs(fragments, rows):
        out.extend(paragraphs(fragments, rows[start:begin], usual))
        lines = [i for row in rows[begin:end] for i in row.items]
        out.append(DraftBlock("table", union(fragments[i].box for i in lines), lines))
        start = end
    out.extend(paragraphs(fragments, rows[start:], usual))
    return out


def _table_runs(fragments: Sequence[Fragment], rows: list[Row]) -> list[tuple[int, int]]:
    """Spans of rows that form tables: at least three rows of several cells, with few rows of one cell between."""
    if len(rows) < 3:
        return []
    cells = [_cells(fragments, row) if len(row.items) > 1 else 1 for row in rows]
    runs: list[tuple[int, int]] = []
    n = 0
    while n < len(rows):
        if cells[n] < 2:
            n += 1
            continue
        stop = last = n
        wide = 0
        while stop < len(rows) and stop - last <= 2 and (stop == n or _near(rows[stop - 1], rows[stop])):
            if cells[stop] > 1:
                last, wide = stop, wide + 1
            stop += 1
        if wide >= 3 and wide * 2 >= last + 1 - n and _short_cells(fragments, rows[n : last + 1]):
            runs.append((n, last + 1))
        n = last + 1
    return runs


def _short_cells(fragments: Sequence[Fragment], rows: Sequence[Row]) -> bool:
    """Cells hold a few words; running text in two columns has longer pieces."""
    items = [i for row in rows if len(row.items) > 1 for i in row.items]
    return sum(len(fragments[i].text) for i in items) < 38 * len(items)


def _cells(fragments: Sequence[Fragment], row: Row) -> int:
    """How many cells a row has: pieces with a wide gap between; a marker and its text are one."""
    turn = row.turn
    count, end = 1, None
    for i in row.items:
        f = fragments[i]
        start, stop = (f.box[0], f.box[2]) if turn in (0, 180) else (f.box[1], f.box[3])
        if turn in (180, 270):
            start, stop = -stop, -start
        if (
            end is not None
            and start - end > _CELL_GAP * f.size
            and not (i == row.items[1] and is_marker(fragments[row.items[0]].text))
        ):
            count += 1
        end = stop if end is None else max(end, stop)
    return count


def _near(above: Row, below: Row) -> bool:
    thickness = max(above.box[3] - above.box[1], below.box[3] - below.box[1])
    return below.box[1] - above.box[3] < 1.6 * thickness


def _margin_kinds(
    blocks: Sequence[DraftBlock], fragments: Sequence[Fragment], extent: tuple[float, float], usual: float
) -> dict[int, BlockKind]:
    """Which blocks are running heads or feet: short, no larger than the text, at the edge and apart from the rest."""
    _, height = extent
    out: dict[int, BlockKind] = {}
    short = [
        n
        for n, b in enumerate(blocks)
        if b.kind not in ("figure", "table")
        and b.box[3] - b.box[1] < 0.06 * height
        and sum(len(fragments[i].text) for i in b.lines) <= 120
    ]
    for n in short:
        box = blocks[n].box
        size = max(fragments[i].size for i in blocks[n].lines)
        if size > 1.2 * usual:
            continue
        if box[3] < _EDGE * height and all(
            b.box[1] > box[3] + 0.3 * size or b.box[3] < _EDGE * height for m, b in enumerate(blocks) if m != n
        ):
            out[n] = "header"
        elif box[1] > (1 - _EDGE) * height and all(
            b.box[3] < box[1] - 0.3 * size or b.box[1] > (1 - _EDGE) * height for m, b in enumerate(blocks) if m != n
        ):
            out[n] = "footer"
    return out if len(out) < len(blocks) else {}


def _in_order(blocks: list[DraftBlock]) -> list[DraftBlock]:
    """Blocks by their first line; a picture without text stands before the first block that begins below its top."""
    textual = sorted((b for b in blocks if b.lines), key=lambda b: b.lines[0])
    for figure in (b for b in blocks if not b.lines):
        at = next((n for n, b in enumerate(textual) if b.box[1] >= figure.box[1] and _beside(b.box, figure.box)), None)
        textual.insert(len(textual) if at is None else at, figure)
    return textual


def _beside(a: Rect, b: Rect) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0])
