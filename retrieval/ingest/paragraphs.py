"""Rows of running text gathered to paragraphs, list items, captions and headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrieval.ingest.fragments import DraftBlock, Fragment, union
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
_GAP = 0.55
_ROWS_FOR_LEADING = 6
_WIDEST_LEADING = 1.6


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


def paragraphs(fragments: Sequence[Fragment], rows: list[Row], usual: float) -> list[DraftBlock]:
    """The blocks of rows that are no table, in order. `usual` is the size of most of the page's letters."""
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


def is_marker(text: str) -> bool:
    """Whether a text is nothing but a bullet or a number."""
    return len(text) <= 5 and _MARKER.fullmatch(text) is not None


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
