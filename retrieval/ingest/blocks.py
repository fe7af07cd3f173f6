"""Fast blocks: what the geometry and wording of the lines say, with no model.

The rows come in reading order, in their own frame. Runs of rows with several cells are tables; rows that follow each
other closely in one size are paragraphs; markers start list items; "Figure 3" starts a caption; large or bold short
lines are headings; what stands apart at the page's edge is header or footer; lines on a picture belong to its figure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrieval.ingest.fragments import DraftBlock, Fragment, Rect, shared, union
from retrieval.ingest.order import Row
from retrieval.types import BlockKind

_BULLETS = "•●○◦▪■□►▶◆◇‣⁃∙·✓✔➢➤❖\uf0b7\uf0a7\uf0d8\uf076"
_MARKER = re.compile(
    rf"(?:[{_BULLETS}]|[-–—*](?=\s)|\(?(?:\d{{1,3}}|[a-zA-Z]|[ivxIVX]{{1,5}})[.)](?=\s|$)|"
    r"\((?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})\)|[（(][一二三四五六七八九十]{1,3}[）)]|[①-⑳]|"
    r"[一二三四五六七八九十]{1,3}[、．]|\d{1,3}[、．])\s*"
)
_CAPTION = re.compile(
    r"(?:(?:fig(?:ure)?s?|tab(?:le)?s?|chart|exhibit|plate|scheme|map|diagram|box)\.?\s*"
    r"(?:[A-Z]?\d+(?:[.\-–]\d+)*[a-z]?|[IVX]+|[A-Z])\s*(?:[:.|–—]|$)|(?:续?[图圖表]|附[图圖表])\s*[\d一二三四五六七八九十]+)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。！？:：;；][\"”’)\]]?$")
_EDGE = 0.085
_CELL_GAP = 1.4
_GAP = 0.55
_ROWS_FOR_LEADING = 6
_WIDEST_LEADING = 1.6
_FULL_PICTURE = 0.8
_BACKGROUND_LETTERS = 300


@dataclass(frozen=True, slots=True)
class _Column:
    """The edges of a run of rows, and the largest gap between two rows of one paragraph, in row heights."""

    left: float
    right: float
    gap: float

    def full(self, row: Row) -> bool:
        """Whether a row reaches the right edge, so that its text may go on below."""
        return row.box[2] > self.right - 0.06 * (self.right - self.left)


@dataclass(slots=True)
class _Paragraph:
    """Rows gathered to one block, and the measures that decide whether the next row joins."""

    rows: list[Row]
    kind: BlockKind
    size: float
    bold: bool

    @property
    def items(self) -> list[int]:
        return [i for row in self.rows for i in row.items]


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
        out.extend(_paragraphs(fragments, rows[start:begin], usual))
        lines = [i for row in rows[begin:end] for i in row.items]
        out.append(DraftBlock("table", union(fragments[i].box for i in lines), lines))
        start = end
    out.extend(_paragraphs(fragments, rows[start:], usual))
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
            and not (i == row.items[1] and _is_marker(fragments[row.items[0]].text))
        ):
            count += 1
        end = stop if end is None else max(end, stop)
    return count


def _is_marker(text: str) -> bool:
    return len(text) <= 5 and _MARKER.fullmatch(text) is not None


def _near(above: Row, below: Row) -> bool:
    thickness = max(above.box[3] - above.box[1], below.box[3] - below.box[1])
    return below.box[1] - above.box[3] < 1.6 * thickness


def _paragraphs(fragments: Sequence[Fragment], rows: list[Row], usual: float) -> list[DraftBlock]:
    if not rows:
        return []
    column = _Column(min(r.box[0] for r in rows), max(r.box[2] for r in rows), _paragraph_gap(rows))
    groups: list[_Paragraph] = []
    for row in rows:
        size = max((fragments[i].size for i in row.items), default=usual)
        bold = all(fragments[i].bold for i in row.items)
        kind = _opening(fragments, row)
        if kind == "list_item" and groups and _runs_on(groups[-1], row, column, fragments):
            kind = None
        if groups and kind is None and _joins(groups[-1], row, column, size, bold, fragments):
            groups[-1].rows.append(row)
            continue
        groups.append(_Paragraph([row], kind or "paragraph", size, bold))
    return [_finished(group, fragments, usual) for group in groups]


def _paragraph_gap(rows: Sequence[Row]) -> float:
    """The largest gap, in row heights, that doesn't part paragraphs: by default half a row, more on widely set pages.

    A page set with wide leading shows it in most of its gaps: they are the gaps within paragraphs.
    """
    gaps = sorted(
        gap
        for above, below in pairwise(rows)
        if (gap := (below.box[1] - above.box[3]) / max(below.box[3] - below.box[1], 1e-6)) > 0
    )
    if len(gaps) < _ROWS_FOR_LEADING:
        return _GAP
    leading = gaps[len(gaps) // 2]
    return max(_GAP, 1.25 * leading) if leading < _WIDEST_LEADING else _GAP


def starts_item(text: str) -> bool:
    """Whether a line begins a list item: a bullet or a number, and then text."""
    found = _MARKER.match(text)
    return found is not None and len(text) > found.end()


def _opening(fragments: Sequence[Fragment], row: Row) -> BlockKind | None:
    """The kind of block that a row must begin by its wording, if it does."""
    text = fragments[row.items[0]].text
    if _CAPTION.match(text):
        return "caption"
    found = _MARKER.match(text)
    if found and (len(text) > found.end() or len(row.items) > 1):
        return "list_item"
    return None


def _runs_on(group: _Paragraph, row: Row, column: _Column, fragments: Sequence[Fragment]) -> bool:
    """Whether a line that looks like an item (a dash, "2.") only continues the full line above it."""
    text = fragments[row.items[0]].text
    last = group.rows[-1]
    if text[0] in _BULLETS or _SENTENCE_END.search(fragments[last.items[-1]].text) or group.kind == "heading":
        return False
    if row.box[1] - last.box[3] > 0.55 * (last.box[3] - last.box[1]):
        return False
    return column.full(last) and len(group.rows) > 1 and abs(row.box[0] - last.box[0]) < 0.3 * group.size


def _joins(
    group: _Paragraph,
    row: Row,
    column: _Column,
    size: float,
    bold: bool,
    fragments: Sequence[Fragment],
) -> bool:
    last = group.rows[-1]
    thickness = max(last.box[3] - last.box[1], row.box[3] - row.box[1])
    gap = row.box[1] - last.box[3]
    if gap > column.gap * thickness or gap < -1.2 * thickness:
        return False
    if not _same_size(group, row, size, fragments) or bold != group.bold:
        return False
    if min(last.box[2], row.box[2]) <= max(last.box[0], row.box[0]):
        return False
    ended = _SENTENCE_END.search(fragments[last.items[-1]].text) is not None
    if group.kind == "list_item":
        # Chinese items are indented in their first line only: a full, unfinished line goes on at the margin
        return row.box[0] >= group.rows[0].box[0] - 0.3 * size or (column.full(last) and not ended)
    indent = row.box[0] - min(r.box[0] for r in group.rows)
    if ended and 0.8 * size < indent < 4.5 * size and len(group.rows) > 0 and last.box[0] < row.box[0] - 0.8 * size:
        return False
    short = last.box[2] < column.right - 0.2 * (column.right - column.left)
    return not (ended and short and gap > 0.25 * thickness)


def _same_size(group: _Paragraph, row: Row, size: float, fragments: Sequence[Fragment]) -> bool:
    """Whether a row's letters are as large as its paragraph's. OCR's boxes are loose, around few characters more so."""
    scanned = all(fragments[i].source == "ocr" for i in row.items)
    few = sum(len(fragments[i].text) for i in row.items) <= 4
    least, most = (0.6 if few else 0.75, 1.33) if scanned else (0.87, 1.15)
    return least < size / group.size < most


def _finished(group: _Paragraph, fragments: Sequence[Fragment], usual: float) -> DraftBlock:
    lines = group.items
    kind = group.kind
    letters = sum(len(fragments[i].text) for i in lines)
    if kind == "paragraph" and len(group.rows) <= 3 and 1 < letters <= 160:
        text = fragments[lines[-1]].text
        large = group.size > 1.15 * usual
        if (large or (group.bold and letters <= 100)) and not text.endswith((".", ",", ";", "，", "；", "。")):
            kind = "heading"
    return DraftBlock(kind, union(fragments[i].box for i in lines), lines)


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
