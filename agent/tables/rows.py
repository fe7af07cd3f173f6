"""Rows of tables, from where lines stand on a page: a label under its section, its cells, and the head above each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.tables.grid import Strip, has_number, is_value, strip, visual_rows
from agent.tables.heads import Column, columns_of, heads_of, place_of
from agent.tables.labels import Sections, continues, joins
from agent.tables.parsing import INDENT, Parsed, inline, is_date, parse
from agent.tables.scales import UNIT_NOTE
from agent.values import years
from retrieval.types import Block, Page
from tools.terms import STOP_WORDS

_LONG_HEAD = 70
_LOOSE = 12
"""How many rows above a table its heads may stand in when the layout left them out."""
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
    loose: Sequence[Strip] = ()
    for zone in _zones(page):
        rows, heading = _zone_rows(zone, above, loose)
        found += rows
        above = heading or above
        loose = loose if rows else zone.strips
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
    return len(row) == 1 and len(text) > _LONG_HEAD and spoken >= 4 and inline(row[0], in_table=False) is None


def _zone_rows(zone: _Zone, above: _Heading | None, loose: Sequence[Strip]) -> tuple[list[Row], _Heading | None]:
    """The rows of a zone, and its columns with their last heads.

    Where it has none, they are those of a zone `above` that lines up, else years in the `loose` rows right above: the
    layout doesn't always take heads into the table.
    """
    parsed = [parse(row, zone.left, block=zone.block) for row in zone.strips]
    start = _body_start(zone, parsed)
    if start is None:
        return [], None
    numeric = any(has_number(cell.text) for row in parsed[start:] for cell in row.cells)
    columns = columns_of([_short(row.cells) for row in parsed[start:] if row.label and row.cells])
    heads = heads_of(_above(zone, parsed, start, columns), columns)
    if not any(heads) and above is not None and _line_up(columns, above.columns):
        heads = above.heads
    if not any(heads):
        over = [row for row in loose if row[0].top < zone.strips[0][0].top][-_LOOSE:]
        outside = heads_of([row for row in over if not _only_label(row, columns, zone.left)], columns)
        heads = outside if all(years(head) for head in outside) else heads
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


def _above(zone: _Zone, parsed: Sequence[Parsed], start: int, columns: Sequence[Column]) -> list[Strip]:
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
        piece.right <= columns[0].left + 0.02 or (len(row) == 1 and piece.left < min(left + INDENT, columns[0].left))
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
        self._last: Parsed | None = None

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

    def value_row(self, row: Parsed) -> None:
        """A row of values. Without a label it takes the one that waits above, or goes on with the row before."""
        if not row.label:
            if not self.block or (not self._waiting and self._last is None):
                return
            row = Parsed(self._waiting or (self._last.label if self._last else ()), row.cells)
            self._waiting = ()
        elif self._waiting and joins(self._waiting, row.label):
            row = Parsed((*self._waiting, *row.label), row.cells)
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

    def _head(self, row: Parsed, number: int) -> str:
        if len(row.cells) == len(self.columns):
            return self.heads[number] if number < len(self.heads) else ""
        place = place_of(row.cells[number], self.columns)
        return self.heads[place] if place is not None else ""


def _body_start(zone: _Zone, parsed: Sequence[Parsed]) -> int | None:
    """The first row of values: with numbers, or days beside a label. In a table block of text, the second row."""
    for number, row in enumerate(parsed):
        texts = [cell.text for cell in row.cells]
        if any(has_number(text) for text in texts):
            return number
        if row.label and not is_date(row.text) and any(is_date(text) and not years(text) for text in texts):
            return number
    texts_only = zone.block and sum(bool(row.label and row.cells) for row in parsed) > 1
    return 1 if texts_only else None


def _is_head(row: Parsed) -> bool:
    """Whether a row in the middle of a table of numbers is a head: years or periods, or texts over the columns."""
    texts = [cell.text for cell in row.cells]
    if not texts or any(is_value(text) for text in texts):
        return False
    if row.label:
        return len(texts) > 1 and all(years(text) for text in texts)
    return len(texts) > 1 or bool(years(texts[0]))
