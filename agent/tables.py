"""Rows of tables, from where lines stand on a page: a label, its cells, and the head above each cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.values import values, years
from retrieval.types import BBox, Block, Page
from tools.terms import STOP_WORDS

_CELL = re.compile(
    r"[\s$€£¥￥(\[+–—−-]*(?:US\$)?\s*(?:\d[\d,.]*|\.\d+)\s*(?:%|％|x|bps|pts?|[KMBkmb]|[万亿]?[元人个次项名天件]|[万亿])?[\s)\]*†‡%]*(?:\(\d\))?|[–—-]+|[Nn]/?[AaMm]\.?|[✓✗√×]"
)
_INLINE = re.compile(r"(?P<label>.*?[^\W\d_].*?)(?P<cells>(?:[\s.…:$]+[$€£¥(]*[–-]?\d[\d,.]*[%)]*)+)\s*$")
_TOKEN = re.compile(r"[$€£¥(]*[–-]?\d[\d,.]*[%)]*")
_SIGN = re.compile(r"[$€£¥￥%()\s]+")
# Leader dots and footnote marks are no part of a label.
_LEADERS = re.compile(r"(?:(?:\s*[.…_]){3,}|\s*\((?:\d{1,2}|[a-z])\))\s*$")
_LETTER = re.compile(r"[^\W\d_]")
_HEAD_ROWS = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, the head of its column ("" where none was found) and the line it stands on."""

    text: str
    head: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled row and the indices of the page's lines it is made of."""

    label: str
    cells: tuple[Cell, ...]
    lines: tuple[int, ...]

    @property
    def text(self) -> str:
        """The label and the cells in reading order."""
        return " ".join([self.label, *(cell.text for cell in self.cells)])


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or one token of a line that holds several, with its horizontal extent."""

    text: str
    line: int
    left: float
    right: float


def rows_of(page: Page) -> list[Row]:
    """The rows of a horizontal page, top to bottom: a label with values to its right, or any row of a table block."""
    if page.writing == "vertical" or not page.lines:
        return []
    tables = {i: block for block in page.blocks if block.kind == "table" for i in block.lines}
    visual = _visual_rows(page)
    starts = _body_starts(page, visual, tables)
    found: list[Row] = []
    for number, indices in enumerate(visual):
        row = _row(page, indices, tables)
        if row is None:
            continue
        label, label_lines, pieces = row
        table = tables.get(pieces[0].line)
        if table is None:
            above = visual[max(number - _HEAD_ROWS, 0) : number]
        elif number < starts[table.lines]:
            continue
        else:
            head_rows = visual[: starts[table.lines]]
            above = [kept for row in head_rows if (kept := [i for i in row if tables.get(i) is table])]
        cells = _with_heads(page, pieces, above)
        found.append(
            Row(
                label=_LEADERS.sub("", label),
                cells=cells,
                lines=tuple(sorted({*label_lines, *(p.line for p in pieces)})),
            )
        )
    return found


def _body_starts(page: Page, visual: list[list[int]], tables: Mapping[int, Block]) -> dict[tuple[int, ...], int]:
    """For each table, the visual row where its head ends: its first row of values, else its second row."""
    starts: dict[tuple[int, ...], int] = {}
    seconds: dict[tuple[int, ...], int] = {}
    for number, indices in enumerate(visual):
        for table in {id(tables[i]): tables[i] for i in indices if i in tables}.values():
            texts = [page.lines[i].text.strip() for i in indices if tables.get(i) is table]
            seconds.setdefault(table.lines, number + 1)
            if table.lines not in starts and _is_body(texts):
                starts[table.lines] = number
    return {**seconds, **starts}


def _is_body(texts: list[str]) -> bool:
    """Whether a row of a table has values: numbers, or days beside a label. Years and full dates are heads."""
    if any(_CELL.fullmatch(text) and re.search(r"\d", text) and not years(text) for text in texts):
        return True
    if len(texts) == 1:
        return len(_TOKEN.findall(texts[0])) >= 2 and _INLINE.fullmatch(texts[0]) is not None and not years(texts[0])
    return not _is_date(texts[0]) and any(_is_date(text) and not years(text) for text in texts[1:])


def _is_date(text: str) -> bool:
    found = values(text)
    return len(found) == 1 and found[0].kind == "date" and len(found[0].text) > 0.8 * len(text)


def _visual_rows(page: Page) -> list[list[int]]:
    """Line indices that share a height, left to right, rows from top to bottom."""
    order = sorted(
        (i for i, line in enumerate(page.lines) if line.text.strip()), key=lambda i: _middle(page.lines[i].bbox)
    )
    rows: list[list[int]] = []
    for i in order:
        box = page.lines[i].bbox
        if (
            rows
            and _middle(page.lines[rows[-1][0]].bbox) > box.y1
            and abs(_middle(page.lines[rows[-1][0]].bbox) - _middle(box))
            < 0.5 * min(box.y2 - box.y1, page.lines[rows[-1][0]].bbox.y2 - page.lines[rows[-1][0]].bbox.y1)
        ):
            rows[-1].append(i)
        else:
            rows.append([i])
    return [sorted(row, key=lambda i: page.lines[i].bbox.x1) for row in rows]


def _middle(box: BBox) -> float:
    return (box.y1 + box.y2) / 2


def _row(page: Page, indices: list[int], in_table: Mapping[int, Block]) -> tuple[str, list[int], list[_Piece]] | None:
    """Label, its lines and the value pieces of a visual row; None when it is no row of values."""
    texts = [page.lines[i].text.strip() for i in indices]
    if len(indices) > 1 and all(i in in_table for i in indices) and _LETTER.search(texts[0]):
        pieces = [
            _piece(page, i, text) for i, text in zip(indices[1:], texts[1:], strict=True) if not _SIGN.fullmatch(text)
        ]
        return (texts[0], indices[:1], pieces) if pieces else None
    marks = [number for number, text in enumerate(texts) if _CELL.fullmatch(text)]
    if marks and len(indices) > 1:
        first = marks[0]
        left = [i for i, text in zip(indices[:first], texts[:first], strict=True) if _LETTER.search(text)]
        tail = [(i, text) for i, text in zip(indices[first:], texts[first:], strict=True) if not _SIGN.fullmatch(text)]
        if left and tail and all(_CELL.fullmatch(text) or i in in_table for i, text in tail):
            pieces = [_piece(page, i, text) for i, text in tail]
            return " ".join(page.lines[i].text.strip() for i in left), left, pieces
        return None
    if len(indices) == 1:
        return _inline(page, indices[0], indices[0] in in_table)
    return None


def _inline(page: Page, index: int, in_table: bool) -> tuple[str, list[int], list[_Piece]] | None:
    """A row that is one line of text: a label and at least two values (one in a table)."""
    text = page.lines[index].text.strip()
    match = _INLINE.fullmatch(text)
    if match is None or len(text) > 200:
        return None
    tokens = list(_TOKEN.finditer(match["cells"]))
    words = match["label"].split()
    running = any(t.group().endswith(",") for t in tokens) or words[-1].lower().strip("(") in STOP_WORDS
    if running or all(years(t.group()) for t in tokens):
        return None
    if len(tokens) < (1 if in_table or ". ." in text or "..." in text else 2):
        return None
    box = page.lines[index].bbox
    width = (box.x2 - box.x1) / len(text)
    offset = match.start("cells")
    pieces = [
        _Piece(t.group(), index, box.x1 + (offset + t.start()) * width, box.x1 + (offset + t.end()) * width)
        for t in tokens
    ]
    return match["label"].strip(" .…:$"), [index], pieces


def _piece(page: Page, index: int, text: str) -> _Piece:
    box = page.lines[index].bbox
    # A currency sign at the end belongs to the next column.
    return _Piece(re.sub(r"(?<=[\d)—–-])\s*[$€£¥]+$", "", text), index, box.x1, box.x2)


def _with_heads(page: Page, pieces: list[_Piece], above: list[list[int]]) -> tuple[Cell, ...]:
    years_above = _year_heads(page, above)
    same_count = years_above is not None and len(years_above) == len(pieces)
    cells = []
    for number, piece in enumerate(pieces):
        head = years_above[number] if same_count and years_above else _head(page, piece, above)
        cells.append(Cell(text=piece.text, head=head, line=piece.line))
    return tuple(cells)


def _year_heads(page: Page, above: list[list[int]]) -> list[str] | None:
    """The nearest row above that holds nothing but years or dates, left to right; None when there is none."""
    for indices in reversed(above):
        text = " ".join(page.lines[i].text for i in indices)
        found = years(text)
        rest = re.sub(
            r"\d{4}|FY|[\W_]|January|February|March|April|May|June|July|August|September|October|November|December|\d{1,2}",
            "",
            text,
        )
        if len(found) >= 2 and len(rest) < 12 and len(text) < 120:
            return list(found)
    return None


def _head(page: Page, piece: _Piece, above: list[list[int]]) -> str:
    """The text above a cell in its column, nearest first; two lines of it when they are close together."""
    parts: list[tuple[float, str]] = []
    for indices in reversed(above):
        for i in indices:
            line = page.lines[i]
            shared = min(piece.right, line.bbox.x2) - max(piece.left, line.bbox.x1)
            narrow = min(piece.right - piece.left, line.bbox.x2 - line.bbox.x1)
            wide = line.bbox.x2 - line.bbox.x1 > 4 * max(piece.right - piece.left, 0.05)
            if shared < 0.3 * narrow or wide:
                continue
            text = line.text.strip()
            if _CELL.fullmatch(text) and not years(text):
                continue
            if parts and parts[-1][0] - line.bbox.y2 > 1.5 * (line.bbox.y2 - line.bbox.y1):
                return " ".join(text for _, text in reversed(parts))
            parts.append((line.bbox.y1, text))
            if len(parts) == 2:
                return " ".join(text for _, text in reversed(parts))
    return " ".join(text for _, text in reversed(parts))
