"""The label and the cells of one visual row, by how they are written and where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agent.tables.grid import CELL, Piece, Strip, has_number, is_band, is_value
from agent.values import values, years
from tools.terms import STOP_WORDS

_LONGEST_LINE = 200
_INLINE = re.compile(r"(?P<label>.*?[^\W\d_].*?)(?P<cells>(?:[\s.…:$]+[$€£¥(]*[–-]?\d[\d,.]*[%)]*)+)\s*$")
_TOKEN = re.compile(r"[$€£¥(]*[–-]?\d[\d,.]*[%)]*")
_KEYED = re.compile(r"(?P<label>[^\W\d_][^:：]{1,60})[:：]\s*(?P<value>\S.{0,24})")
# Leader dots and footnote marks are no part of a label.
_LEADERS = re.compile(r"(?:(?:\s*[.…_]){3,}[\s$€£¥]*|\s*\((?:\d{1,2}|[a-z])\))\s*$")
_MARK = re.compile(r"\(?(?:\d|[a-z])\)|[*†‡]+")
_LETTER = re.compile(r"[^\W\d_]")
_RANK = re.compile(r"(?:#|No\.? ?)?\d{1,3}[.)]?", re.IGNORECASE)
INDENT = 0.05
"""How far right of the others, as a share of the page, a label may begin."""
_MARK_GAP = 0.03


@dataclass(frozen=True, slots=True)
class Parsed:
    """A visual row: its label pieces and its cells; no cells in a row of text, no label in a row that goes on."""

    label: Strip
    cells: Strip

    @property
    def text(self) -> str:
        """The label without leader dots and footnote marks."""
        return _LEADERS.sub("", " ".join(piece.text for piece in self.label)).strip(" .…")


def parse(row: Strip, left: float, *, block: bool) -> Parsed:
    """Label and cells of a visual row of a table whose labels begin at `left`; `block` says that it is surely one."""
    if len(row) == 1:
        return inline(row[0], in_table=block) or _keyed(row[0]) or Parsed(row, ())
    if not block:
        return _loose(row)
    first, size = row[0], _label_size(row)
    named = size > 1 or _LETTER.search(first.text) is not None or is_band(first.text)
    if first.left > left + INDENT and not (named and any(has_number(piece.text) for piece in row)):
        return Parsed((), row)
    if not size:
        return Parsed((), row)
    rest = row[size:]
    if len(rest) > 1 and _MARK.fullmatch(rest[0].text) and rest[0].left - row[size - 1].right < _MARK_GAP:
        rest = rest[1:]
    return Parsed(row[:size], rest)


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
    if _LETTER.search(first) or years(first) or is_date(first):
        return 2 if is_band(second) and numbers else 1
    return 0


def _loose(row: Strip) -> Parsed:
    """A row outside of tables: pieces with letters, then nothing but values; else it is text."""
    first = next((n for n, piece in enumerate(row) if CELL.fullmatch(piece.text)), len(row))
    label = tuple(piece for piece in row[:first] if _LETTER.search(piece.text))
    cells = row[first:]
    if len(cells) > 1 and label and _MARK.fullmatch(cells[0].text) and cells[0].left - label[-1].right < _MARK_GAP:
        cells = cells[1:]
    if label and cells and all(CELL.fullmatch(piece.text) for piece in cells):
        return Parsed(label, cells)
    return Parsed((), row) if not _LETTER.search(row[0].text) else Parsed(row, ())


def inline(piece: Piece, *, in_table: bool) -> Parsed | None:
    """A row that is one line of text: a label and at least two values (one in a table, or after leader dots)."""
    match = _INLINE.fullmatch(piece.text) if len(piece.text) <= _LONGEST_LINE else None
    if match is None:
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
    return Parsed((_part(piece, label, 0, len(match["label"])),), cells)


def _keyed(piece: Piece) -> Parsed | None:
    """A key and its value in one line, such as "Revenue: $3.2m"."""
    match = _KEYED.fullmatch(piece.text)
    if match is None or not has_number(match["value"]) or len(match["label"].split()) > 6:
        return None
    label, value = match.span("label"), match.span("value")
    return Parsed((_part(piece, match["label"], *label),), (_part(piece, match["value"], *value),))


def _part(piece: Piece, text: str, start: int, stop: int) -> Piece:
    width = (piece.right - piece.left) / len(piece.text)
    return replace(piece, text=text, left=piece.left + start * width, right=piece.left + stop * width)


def is_date(text: str) -> bool:
    """Whether a text is a date and little else."""
    found = values(text)
    return len(found) == 1 and found[0].kind == "date" and len(found[0].text) > 0.8 * len(text)
