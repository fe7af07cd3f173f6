"""Bars with their values in figures, read as a row: each number with the label that stands below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agent.tables.grid import Piece, Strip, has_number, is_value, strip, visual_rows
from agent.tables.rows import Cell, Row
from agent.values import years
from retrieval.types import Page

_REACH = 0.4
"""How far above its label a value may stand, as a share of the page: bars aren't longer."""
_OFF = 0.03
_FEWEST = 3
_BELOW = 0.08
_LONG_LABEL = 24
_LONG_CAPTION = 60
_LETTER = re.compile(r"[^\W\d_]")


def bars_of(page: Page, taken: Collection[int]) -> list[Row]:
    """A row for each strip of two or more labels with one number above each of them, out of lines that aren't `taken`.

    The caption below the labels is the label of the row, "" where there is none. Strips with two numbers above a label
    give none: stacked bars can't be told apart.
    """
    if page.writing == "vertical":
        return []
    free = (i for i in range(len(page.lines)) if i not in taken)
    strips = [found for row in visual_rows(page, free) if (found := strip(page, row))]
    numbers = [piece for row in strips for piece in row if has_number(piece.text)]
    rows = []
    for place, labels in enumerate(strips):
        values = _values(labels, numbers)
        if values is not None:
            caption = _caption(labels, strips[place + 1] if place + 1 < len(strips) else ())
            lines = sorted({piece.line for piece in (*values, *labels, *caption)})
            cells = tuple(Cell(v.text, label.text, v.line) for v, label in zip(values, labels, strict=True))
            rows.append(Row(" ".join(piece.text for piece in caption), cells, tuple(lines)))
    return rows


def _values(labels: Strip, numbers: Sequence[Piece]) -> list[Piece] | None:
    """The one number above each label of a strip; None when it is no strip of labels, or some have none or several.

    The numbers are all of one kind, and where they have no sign there are three, or one for each year.
    """
    if len(labels) < 2 or not all(_is_label(piece.text) for piece in labels):
        return None
    found = []
    for label in labels:
        above = [number for number in numbers if _stands_on(number, label)]
        if len(above) != 1:
            return None
        found.append(above[0])
    apart = len({(piece.line, piece.left) for piece in found}) == len(found)
    signs = {"".join(sign for sign in "%$€£¥" if sign in piece.text) for piece in found}
    plain = signs == {""} and len(found) < _FEWEST and not all(years(label.text) for label in labels)
    return found if apart and len(signs) == 1 and not plain else None


def _is_label(text: str) -> bool:
    named = _LETTER.search(text) is not None or bool(years(text))
    return named and len(text) <= _LONG_LABEL and not is_value(text)


def _stands_on(number: Piece, label: Piece) -> bool:
    return (
        abs(number.centre - label.centre) <= _OFF
        and 0 <= label.top - number.bottom + (number.bottom - number.top) / 2 <= _REACH
    )


def _caption(labels: Strip, below: Strip) -> Strip:
    """What stands right below the labels and says what the bars show."""
    text = " ".join(piece.text for piece in below)
    near = bool(below) and below[0].top - labels[0].bottom <= _BELOW
    return below if near and len(text) <= _LONG_CAPTION and not any(is_value(piece.text) for piece in below) else ()
