"""Rows of tables, from where lines stand on a page: a label under its section, its cells, and the head above each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.tables.grid import CELL, Piece, Strip, has_number, is_band, is_value, strip, visual_rows
from agent.tables.heads import Column, columns_of, heads_of, place_of
from agent.tables.labels import Sections, continues, joins
from agent.tables.scales import UNIT_NOTE
from agent.values import values, years
from retrieval.types import Block, Page
from tools.terms import STOP_WORDS

_INLINE = re.compile(r"(?P<label>.*?[^\W\d_].*?)(?P<cells>(?:[\s.…:$]+[$€£¥(]*[–-]?\d[\d,.]*[%)]*)+)\s*$")
_TOKEN = re.compile(r"[$€£¥(]*[–-]?\d[\d,.]*[%)]*")
_KEYED = re.compile(r"(?P<label>[^\W\d_][^:：]{1,60})[:：]\s*(?P<value>\S.{0,24})")
# Leader dots and footnote marks are no part of a label.
_LEADERS = re.compile(r"(?:(?:\s*[.…_]){3,}[\s$€£¥]*|\s*\((?:\d{1,2}|[a-z])\))\s*$")
_MARK = re.compile(r"\(?(?:\d|[a-z])\)|[*†‡]+")
_LETTER = re.compile(r"[^\W\d_]")
_RANK = re.compile(r"(?:#|No\.? ?)?\d{1,3}[.)]?", re.IGNORECASE)
_INDENT = 0.05
_MARK_GAP = 0.03
_LONG_HEAD = 70
_LONG_CELL = 40
_LINED_UP = 0.03


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, the head of its column ("" where none was found) and the line it stands on."""

    text: str
    head: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled row, the section of the table that it is in, and the indices of the page's lines it is made of."""

    label: str
    cells: tuple[Cell, ...]
    lines: tuple[int, ...]
    section: str = ""

    @property
    def text(self) -> str:
        """The label and the cells in reading order."""
        return " ".join([self.label, *(cell.text for cell in self.cells)])


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A visual row: its label pieces and its cells; no cells in a row of text, no label in a row that goes on."""

    label: Strip
    cells: Strip

    @property
    def text(self) -> str:
        return _LEADERS.sub("", " ".join(piece.text for piece in self.label)).strip(" .…")


@dataclass(frozen=True, slots=True)
class _Zone:
    """Visual rows that may be one table. `block` says that the layout takes them for one."""

    strips: list[Strip]
    block: bool

    @property
    def left(self) -> float:
        return min(row[0].left for row in self.strips)


@dataclass(frozen=True, slots=True)
class _Heading:
    """The columns of a table and their heads, for a table below it that has none of its own."""

    columns: list[Column]
    heads: list[str]


def rows_of(page: Page) -> list[Row]:
    """The rows of a horizontal page, top to bottom: a label with values to its right, or any row of a table block."""
    if page.writing == "vertical" or not page.lines:
        return []
    found: list[Row] = []
    above: _Heading | None = None
    for zone in _zones(page):
        rows, heading = _zone_rows(zone, above)
        found += rows
        above = heading or above
    return found


def _zones(page: Page) -> list[_Zone]:
    """Each table block, and what stands outside of them between lines of prose, from top to bottom."""
    tables = [block for block in page.blocks if block.kind == "table"]
    home = {i: number for number, table in enumerate(tables) for i in _members(page, table)}
    zones = []
    for number in range(len(tables)):
        strips = [strip(page, row) for row in visual_rows(page, (i for i, at in home.items() if at == number))]
        zones.append(_Zone([row for row in strips if row], True))
    current: list[Strip] = []
    for row in visual_rows(page, (i for i in range(len(page.lines)) if i not in home)):
        pieces = strip(page, row)
        if pieces and _is_prose(pieces):
            zones.append(_Zone(current, False))
            current = []
        elif pieces:
            current.append(pieces)
    zones.append(_Zone(current, False))
    return sorted((zone for zone in zones if zone.strips), key=lambda zone: zone.strips[0][0].top)


def _members(page: Page, table: Block) -> Iterable[int]:
    """The lines of a table, and those that stand inside its box though the layout left them out."""
    box, own = table.bbox, set(table.lines)
    for i, line in enumerate(page.lines):
        x, y = (line.bbox.x1 + line.bbox.x2) / 2, (line.bbox.y1 + line.bbox.y2) / 2
        if i in own or (box.x1 <= x <= box.x2 and box.y1 <= y <= box.y2):
            yield i


def _is_prose(row: Strip) -> bool:
    """Whether a row is running text: one long line that says more than it labels."""
    text = row[0].text
    words = text.lower().split()
    spoken = sum(word.strip(",.;()") in STOP_WORDS for word in words)
    return len(row) == 1 and len(text) > _LONG_HEAD and spoken >= 4 and _inline(row[0], False) is None


def _zone_rows(zone: _Zone, above: _Heading | None) -> tuple[list[Row], _Heading | None]:
    """The rows of a zone, and its columns with their last heads; those of `above` where it has none and lines up."""
    parsed = [_parse(row, zone) for row in zone.strips]
    start = _body_start(zone, parsed)
    if start is None:
        return [], None
    numeric = any(has_number(cell.text) for row in parsed[start:] for cell in row.cells)
    columns = columns_of([_short(row.cells) for row in parsed[start:] if row.label and row.cells])
    heads = heads_of(_above(zone, parsed, start, columns), columns)
    if not any(heads) and above is not None and _line_up(columns, above.columns):
        heads = above.heads
    builder = _Builder(columns, heads, zone.block)
    fresh: list[Strip] = []
    for number, (row, pieces) in enumerate(zip(parsed, zone.strips, strict=True)):
        if number < start:
            if _only_label(pieces, columns, zone.left):
                builder.text_row(pieces)
            continue
        if numeric and _is_head(row):
            fresh.append(pieces)
            continue
        if fresh:
            builder.heads, fresh = heads_of(fresh, columns), []
        if row.cells:
            builder.value_row(row)
        elif row.label and _only_label(row.label, columns, zone.left):
            builder.text_row(row.label)
    return builder.rows, _Heading(columns, builder.heads)


def _short(cells: Strip) -> Strip:
    return tuple(cell for cell in cells if len(cell.text) <= _LONG_CELL)


def _above(zone: _Zone, parsed: Sequence[_Parsed], start: int, columns: Sequence[Column]) -> list[Strip]:
    """The head rows above the first row of values, without long lines of text and what stands in the label's column."""
    kept = []
    for row in zone.strips[:start]:
        pieces = tuple(piece for piece in row if len(piece.text) <= _LONG_HEAD)
        if pieces and not _only_label(pieces, columns, zone.left):
            kept.append(pieces)
    return kept


def _only_label(row: Strip, columns: Sequence[Column], left: float) -> bool:
    """Whether a row stands left of the columns, or is one piece that starts where labels do, however long."""
    if not columns:
        return True
    return all(
        piece.right <= columns[0].left + 0.02 or (len(row) == 1 and piece.left < min(left + _INDENT, columns[0].left))
        for piece in row
    )


def _line_up(columns: Sequence[Column], others: Sequence[Column]) -> bool:
    return len(columns) == len(others) and all(
        abs(a.right - b.right) < _LINED_UP or abs(a.centre - b.centre) < _LINED_UP
        for a, b in zip(columns, others, strict=True)
    )


class _Builder:
    """Collects the rows of one table from top to bottom: sections, labels on several lines, and cells with heads."""

    def __init__(self, columns: Sequence[Column], heads: list[str], block: bool) -> None:
        self.columns, self.heads, self.block = columns, heads, block
        self.rows: list[Row] = []
        self._sections = Sections()
        self._waiting: Strip = ()
        self._last: _Parsed | None = None

    def text_row(self, pieces: Strip) -> None:
        """A row without values: the rest of the label above, or the start of one below, or a section."""
        last = self._last
        if last is not None and not self._waiting and continues(last.text, last.label, pieces):
            label = f"{self.rows[-1].label} {' '.join(piece.text for piece in pieces)}"
            lines = {*self.rows[-1].lines, *(piece.line for piece in pieces)}
            self.rows[-1] = replace(self.rows[-1], label=label, lines=tuple(sorted(lines)))
            return
        self._flush()
        self._waiting = pieces

    def value_row(self, row: _Parsed) -> None:
        """A row of values. Without a label it takes the one that waits above, or goes on with the row before."""
        if not row.label:
            if not self.block or (not self._waiting and self._last is None):
                return
            row = _Parsed(self._waiting or (self._last.label if self._last else ()), row.cells)
            self._waiting = ()
        elif self._waiting and joins(self._waiting, row.label):
            row = _Parsed((*self._waiting, *row.label), row.cells)
            self._waiting = ()
        self._flush()
        section = self._sections.of(row.text, row.label[0].left)
        cells = tuple(Cell(piece.text, self._head(row, number), piece.line) for number, piece in enumerate(row.cells))
        lines = tuple(sorted({piece.line for piece in (*row.label, *row.cells)}))
        self.rows.append(Row(row.text, cells, lines, section))
        self._last = row

    def _flush(self) -> None:
        if self._waiting and not UNIT_NOTE.fullmatch(self._waiting[0].text):
            self._sections.open(" ".join(piece.text for piece in self._waiting), self._waiting[0].left)
        self._waiting = ()

    def _head(self, row: _Parsed, number: int) -> str:
        if len(row.cells) == len(self.columns):
            return self.heads[number] if number < len(self.heads) else ""
        place = place_of(row.cells[number], self.columns)
        return self.heads[place] if place is not None else ""


def _parse(row: Strip, zone: _Zone) -> _Parsed:
    """Label and cells of a visual row."""
    if len(row) == 1:
        return _inline(row[0], zone.block) or _keyed(row[0]) or _Parsed(row, ())
    if not zone.block:
        return _loose(row)
    first, size = row[0], _label_size(row)
    named = size > 1 or _LETTER.search(first.text) is not None or is_band(first.text)
    if first.left > zone.left + _INDENT and not (named and any(has_number(piece.text) for piece in row)):
        return _Parsed((), row)
    if not size:
        return _Parsed((), row)
    rest = row[size:]
    if len(rest) > 1 and _MARK.fullmatch(rest[0].text) and rest[0].left - row[size - 1].right < _MARK_GAP:
        rest = rest[1:]
    return _Parsed(row[:size], rest)


def _label_size(row: Strip) -> int:
    """How many pieces of a row in a table are its label: a name or date, a range that numbers follow ("Age", "65-69"),
    a rank before a name; 0 where a row begins with a value.
    """
    first, second = row[0].text, row[1].text
    numbers = any(has_number(piece.text) for piece in row[2:])
    if is_band(first) and (numbers or has_number(second)):
        return 1
    if _RANK.fullmatch(first) and _LETTER.search(second) and not is_value(second) and numbers:
        return 2
    if _LETTER.search(first) or years(first) or _is_date(first):
        return 2 if is_band(second) and numbers else 1
    return 0


def _loose(row: Strip) -> _Parsed:
    """A row outside of tables: pieces with letters, then nothing but values; else it is text."""
    first = next((n for n, piece in enumerate(row) if CELL.fullmatch(piece.text)), len(row))
    label = tuple(piece for piece in row[:first] if _LETTER.search(piece.text))
    cells = row[first:]
    if len(cells) > 1 and label and _MARK.fullmatch(cells[0].text) and cells[0].left - label[-1].right < _MARK_GAP:
        cells = cells[1:]
    if label and cells and all(CELL.fullmatch(piece.text) for piece in cells):
        return _Parsed(label, cells)
    return _Parsed((), row) if not _LETTER.search(row[0].text) else _Parsed(row, ())


def _inline(piece: Piece, in_table: bool) -> _Parsed | None:
    """A row that is one line of text: a label and at least two values (one in a table, or after leader dots)."""
    match = _INLINE.fullmatch(piece.text)
    if match is None or len(piece.text) > 200:
        return None
    tokens = list(_TOKEN.finditer(match["cells"]))
    words = match["label"].split()
    if any(t.group().endswith(",") for t in tokens) or words[-1].lower().strip("(") in STOP_WORDS:
        return None
    if all(years(t.group()) for t in tokens):
        return None
    if len(tokens) < (1 if in_table or ". ." in piece.text or "..." in piece.text else 2):
        return None
    label = match["label"].strip(" .…:$")
    if not _LETTER.search(label):
        return None
    offset = match.start("cells")
    cells = tuple(_part(piece, t.group(), offset + t.start(), offset + t.end()) for t in tokens)
    return _Parsed((_part(piece, label, 0, len(match["label"])),), cells)


def _keyed(piece: Piece) -> _Parsed | None:
    """A key and its value in one line, such as "Revenue: $3.2m"."""
    match = _KEYED.fullmatch(piece.text)
    if match is None or not has_number(match["value"]) or len(match["label"].split()) > 6:
        return None
    label, value = match.span("label"), match.span("value")
    return _Parsed((_part(piece, match["label"], *label),), (_part(piece, match["value"], *value),))


def _part(piece: Piece, text: str, start: int, stop: int) -> Piece:
    width = (piece.right - piece.left) / len(piece.text)
    return replace(piece, text=text, left=piece.left + start * width, right=piece.left + stop * width)


def _body_start(zone: _Zone, parsed: Sequence[_Parsed]) -> int | None:
    """The first row of values: with numbers, or days beside a label. In a table block of text, the second row."""
    for number, row in enumerate(parsed):
        texts = [cell.text for cell in row.cells]
        if any(has_number(text) for text in texts):
            return number
        if row.label and not _is_date(row.text) and any(_is_date(text) and not years(text) for text in texts):
            return number
    texts_only = zone.block and sum(bool(row.label and row.cells) for row in parsed) > 1
    return 1 if texts_only else None


def _is_head(row: _Parsed) -> bool:
    """Whether a row in the middle of a table of numbers is a head: years or periods, or texts over the columns."""
    texts = [cell.text for cell in row.cells]
    if not texts or any(is_value(text) for text in texts):
        return False
    if row.label:
        return len(texts) > 1 and all(years(text) for text in texts)
    return len(texts) > 1 or bool(years(texts[0]))


def _is_date(text: str) -> bool:
    found = values(text)
    return len(found) == 1 and found[0].kind == "date" and len(found[0].text) > 0.8 * len(text)
