"""The heads above the columns of a table: several rows of them, some spanning several columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.tables.grid import Piece, Strip

_DEEPEST = 6
_SHARED = 0.3
_OFF = 0.6
"""How far the middle of a spanning head may be from the middle of its columns, in widths of a column."""


@dataclass(slots=True)
class Column:
    """The horizontal extent of a column's values."""

    left: float
    right: float

    @property
    def centre(self) -> float:
        """The middle of its extent."""
        return (self.left + self.right) / 2


def columns_of(rows: Sequence[Sequence[Piece]]) -> list[Column]:
    """The columns that the values of a table's rows form, left to right; the fullest rows say where they are."""
    found: list[Column] = []
    for row in sorted(rows, key=lambda pieces: -len(pieces)):
        for piece in row:
            home = place_of(piece, found)
            if home is None:
                found.append(Column(piece.left, piece.right))
            elif sum(piece.shared(c.left, c.right) > _SHARED for c in found) == 1:
                found[home].left = min(found[home].left, piece.left)
                found[home].right = max(found[home].right, piece.right)
    return sorted(found, key=lambda column: column.left)


def place_of(piece: Piece, columns: Sequence[Column]) -> int | None:
    """The column that a value stands in, None when it stands in none."""
    best = max(range(len(columns)), key=lambda i: piece.shared(columns[i].left, columns[i].right), default=None)
    if best is None or piece.shared(columns[best].left, columns[best].right) <= 0:
        return None
    return best


def heads_of(rows: Sequence[Strip], columns: Sequence[Column]) -> list[str]:
    """The head of each column from the head rows, top to bottom; "" where there is none."""
    parts: list[list[str]] = [[] for _ in columns]
    for row in rows[-_DEEPEST:]:
        for place, text in enumerate(_row_heads(row, columns)):
            if text and text not in parts[place]:
                parts[place].append(text)
    return [" ".join(texts) for texts in parts]


def _row_heads(row: Strip, columns: Sequence[Column]) -> list[str]:
    """What one head row says of each column."""
    if not columns:
        return []
    pitch = (columns[-1].right - columns[0].left) / len(columns)
    pieces = [piece for piece in row if piece.right > columns[0].left - 0.5 * pitch]
    inside = [piece for piece in pieces if piece.left > columns[0].left - 1.2 * pitch]
    if len(inside) == len(columns) > 1 and _in_order(inside, columns):
        return [piece.text for piece in inside]
    found = [""] * len(columns)
    free = []
    for piece in pieces:
        under = [i for i, column in enumerate(columns) if piece.shared(column.left, column.right) > _SHARED]
        if not under:
            free.append(piece)
        for i in under:
            found[i] = found[i] or piece.text
    if len(inside) < len(columns):
        _spread(inside, columns, found, pitch)
    for piece in free:
        near = min(range(len(columns)), key=lambda i: abs(columns[i].centre - piece.centre))
        if not found[near] and abs(columns[near].centre - piece.centre) < 0.5 * pitch:
            found[near] = piece.text
    return found


def _in_order(pieces: Sequence[Piece], columns: Sequence[Column]) -> bool:
    """Whether each head may stand over the column at its place: not when the first one ends before its column begins,
    and most stand over the column of another.
    """
    if pieces[0].right >= columns[0].left:
        return True
    places = [place_of(piece, columns) for piece in pieces]
    return sum(place not in (None, number) for number, place in enumerate(places)) <= len(columns) // 2


def _spread(pieces: Sequence[Piece], columns: Sequence[Column], found: list[str], pitch: float) -> None:
    """Let heads that stand over the middle of several columns hold for all of them."""
    groups: dict[int, list[int]] = {}
    for i, column in enumerate(columns):
        if pieces:
            nearest = min(range(len(pieces)), key=lambda k: abs(pieces[k].centre - column.centre))
            groups.setdefault(nearest, []).append(i)
    for k, members in groups.items():
        middle = sum(columns[i].centre for i in members) / len(members)
        if len(members) > 1 and abs(middle - pieces[k].centre) < _OFF * pitch:
            for i in members:
                found[i] = found[i] or pieces[k].text
