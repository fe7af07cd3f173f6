"""Reading order by geometry: columns, headings above columns, rows of a table, vertical and turned text.

Works in the lines' own frame (u along the line, v from line to line), so that vertical right-to-left columns and
sideways pages are the same problem as upright text. One sweep from top to bottom keeps the gutters (empty strips of u)
that all lines so far leave free; a line that crosses the last gutter ends the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrieval.ingest.fragments import Fragment, Rect, to_frame

_MIN_GUTTER = 0.012
_OPEN_SHARE = 0.62
_MARGIN_ZONE = 0.08
_MAX_DEPTH = 3
_OCR_SLACK, _OCR_SLACK_UPRIGHT = 0.3, 0.1


@dataclass(slots=True)
class Row:
    """Fragments on one line, in reading order. Rows with the same `region` stand in one column, one under another."""

    items: list[int]
    box: Rect
    region: int
    turn: int


@dataclass(slots=True)
class _Item:
    index: int
    u1: float
    v1: float
    u2: float
    v2: float
    letters: int
    digits: int


def reading_rows(
    fragments: Sequence[Fragment], lines: Iterable[int], extent: tuple[float, float], *, region: int = 0
) -> list[Row]:
    """The rows of some of a page's fragments in reading order; regions are numbered from `region`.

    Text turned another way than most comes last.
    """
    width, height = extent
    by_frame: dict[int, list[int]] = {}
    weight: Counter[int] = Counter()
    for i in lines:
        turn = fragments[i].frame_turn
        by_frame.setdefault(turn, []).append(i)
        weight[turn] += len(fragments[i].text)
    rows: list[Row] = []
    for turn, _ in weight.most_common():
        turned = (height, width) if turn in (90, 270) else extent
        items = [_item(i, fragments[i], to_frame(fragments[i].box, turn, width, height)) for i in by_frame[turn]]
        for group in _arrange(items, turned):
            rows.extend(Row([it.index for it in row], _extent(row), region, turn) for row in _rows(group))
            region += 1
    return rows


def _item(index: int, fragment: Fragment, frame: Rect) -> _Item:
    """OCR's boxes reach beyond the ink by a third of the line; without that, narrow gutters would close.

    It is less for upright columns, whose characters are as high as the column is wide: annotations follow closely.
    """
    text = fragment.text
    digits = sum(map(text.count, "0123456789"))
    u1, v1, u2, v2 = frame
    if fragment.source == "ocr":
        share = _OCR_SLACK_UPRIGHT if fragment.vertical else _OCR_SLACK
        slack = min(share * (v2 - v1), 0.2 * (u2 - u1))
        u1, u2 = u1 + slack, u2 - slack
    return _Item(index, u1, v1, u2, v2, len(text), digits)


def _extent(row: list[_Item]) -> Rect:
    return (min(i.u1 for i in row), min(i.v1 for i in row), max(i.u2 for i in row), max(i.v2 for i in row))


def _arrange(items: list[_Item], extent: tuple[float, float]) -> list[list[_Item]]:
    items.sort(key=lambda i: (i.v1, i.u1))
    top, body, bottom = _margins(items, extent[1])
    return [g for g in (top, *_regions(body, extent[0], 0), bottom) if g]


def _margins(items: list[_Item], length: float) -> tuple[list[_Item], list[_Item], list[_Item]]:
    """Running heads and feet, when a gap sets them off: they would otherwise be read into a column."""
    top = _edge(items, length * _MARGIN_ZONE)
    rest = items[len(top) :]
    rest.sort(key=lambda i: -i.v2)
    mirrored = [_Item(i.index, i.u1, length - i.v2, i.u2, length - i.v1, 0, 0) for i in rest]
    count = len(_edge(mirrored, length * _MARGIN_ZONE))
    bottom, body = rest[:count], rest[count:]
    body.sort(key=lambda i: (i.v1, i.u1))
    return top, body, bottom


def _edge(items: list[_Item], zone: float) -> list[_Item]:
    """The leading items that end within `zone` and are followed by a gap of half a line; they are sorted by v1."""
    end = 0.0
    for n, item in enumerate(items):
        if n and item.v1 - end > 0.5 * (items[n - 1].v2 - items[n - 1].v1):
            return items[:n]
        end = max(end, item.v2)
        if end > zone:
            return []
    return []


def _regions(items: list[_Item], width: float, depth: int) -> list[list[_Item]]:
    """Split items (sorted by v1) into regions that are read one after another."""
    if len(items) < 4 or depth >= _MAX_DEPTH:
        return [items] if items else []
    out: list[list[_Item]] = []
    plain: list[_Item] = []

    def close(group: list[_Item], gutters: list[tuple[float, float]]) -> None:
        columns = _columns(group, gutters) if gutters else []
        if not columns or not _are_text(columns, width):
            plain.extend(group)
            return
        if plain:
            out.append(plain.copy())
            plain.clear()
        for column in columns:
            out.extend(_regions(column, width, depth + 1))

    least = _MIN_GUTTER * width
    group: list[_Item] = []
    gutters: list[tuple[float, float]] = []
    left, right = 0.0, 0.0
    for item in items:
        if not group:
            group, gutters, left, right = [item], [], item.u1, item.u2
            continue
        found = _without(gutters, item, least)
        if item.u1 - right >= least:
            found.append((right, item.u1))
        elif left - item.u2 >= least:
            found.insert(0, (item.u2, left))
        if not found and (gutters or max(right, item.u2) - min(left, item.u1) > _OPEN_SHARE * width):
            close(group, gutters)
            group, gutters, left, right = [item], [], item.u1, item.u2
            continue
        group.append(item)
        gutters, left, right = found, min(left, item.u1), max(right, item.u2)
    close(group, gutters)
    if plain:
        out.append(plain)
    return out


def _without(gutters: list[tuple[float, float]], item: _Item, least: float) -> list[tuple[float, float]]:
    """The gutters less the strip that `item` covers."""
    kept = []
    for start, end in gutters:
        if item.u2 <= start or item.u1 >= end:
            kept.append((start, end))
            continue
        if item.u1 - start >= least:
            kept.append((start, item.u1))
        if end - item.u2 >= least:
            kept.append((item.u2, end))
    return kept


def _columns(items: list[_Item], gutters: list[tuple[float, float]]) -> list[list[_Item]]:
    columns: list[list[_Item]] = [[] for _ in range(len(gutters) + 1)]
    starts = [end for _, end in gutters]
    for item in items:
        columns[sum(item.u1 >= start - 0.01 for start in starts)].append(item)
    return [c for c in columns if c]


def _are_text(columns: list[list[_Item]], width: float) -> bool:
    """Whether these are columns of running text; the cells of a table are read row by row instead.

    Columns whose lines are mostly full carry less regular ones (a table, a list) beside them.
    """
    running = [_is_running(c) for c in columns]
    if sum(running) >= 2:
        return True
    tall = [c for c in columns if len(c) >= 3]
    if len(tall) < 2 or len(columns) - len(tall) > 1:
        return False
    reaches = [max(i.u2 for i in c) - min(i.u1 for i in c) for c in tall]
    if any(running) and min(reaches) > 0.2 * width:
        return True
    for column, reach in zip(tall, reaches, strict=True):
        letters = sum(i.letters for i in column)
        size = sorted(i.v2 - i.v1 for i in column)[len(column) // 2]
        filled = sum(i.u2 - i.u1 for i in column) / len(column)
        digits = sum(i.digits for i in column)
        if reach < 0.1 * width or filled < max(0.45 * reach, 3.5 * size) or digits > 0.35 * letters:
            return False
    return True


def _is_running(column: list[_Item]) -> bool:
    """Whether a column holds running text: at least four lines, most of them full, words and not numbers."""
    if len(column) < 4:
        return False
    reach = max(i.u2 for i in column) - min(i.u1 for i in column)
    full = sum(i.u2 - i.u1 > 0.8 * reach for i in column)
    letters, digits = sum(i.letters for i in column), sum(i.digits for i in column)
    return full > 0.6 * len(column) and letters > 12 * len(column) and digits < 0.25 * letters


def _rows(items: list[_Item]) -> list[list[_Item]]:
    """Cluster items to rows: two share one when half of the thinner one's thickness is common to both."""
    items.sort(key=lambda i: i.v1 + i.v2)
    rows: list[list[_Item]] = []
    top = bottom = 0.0
    for item in items:
        common = min(bottom, item.v2) - max(top, item.v1)
        if rows and common > 0.5 * min(bottom - top, item.v2 - item.v1):
            rows[-1].append(item)
            if item.v2 - item.v1 > bottom - top:
                top, bottom = item.v1, item.v2
            continue
        rows.append([item])
        top, bottom = item.v1, item.v2
    return [_along(row) for row in rows]


def _along(row: list[_Item]) -> list[_Item]:
    """One row from start to end; small lines that stand side by side in it are read one whole after another."""
    row.sort(key=lambda i: i.u1)
    out: list[_Item] = []
    start = 0
    while start < len(row):
        stop, end = start + 1, row[start].u2
        while stop < len(row) and row[stop].u1 < end - 0.3 * (row[stop].u2 - row[stop].u1):
            end = max(end, row[stop].u2)
            stop += 1
        out.extend(
            sorted(row[start:stop], key=lambda i: (round(i.v1, 1), i.u1)) if stop - start > 1 else row[start:stop]
        )
        start = stop
    return out
