"""Labels of rows: those that run over two lines, and the sections that rows stand under."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.tables.grid import Strip

_OPEN_END = re.compile(r"(?:\b(?:and|or|of|for|in|to|the|by|from|with|on|at|per|less|net)|[,;&/–-])\s*$", re.IGNORECASE)
_TOTAL = re.compile(r"^(?:total|sub-?total|net cash)\b|^(?:合计|总计|小计)", re.IGNORECASE)
_EDGE = 0.004
_CLOSE = 1.2
"""How far a line of the same label may be below the one before, in heights of a line."""


def joins(above: Strip, label: Strip) -> bool:
    """Whether the text above a row is the first line of its label: it ends openly, or the row starts in lower case."""
    text = " ".join(piece.text for piece in above)
    if text.rstrip().endswith((":", "：")) or not _near(above, label):
        return False
    return bool(_OPEN_END.search(text)) or label[0].text[:1].islower()


def continues(text: str, label: Strip, below: Strip) -> bool:
    """Whether a line without values below a row is the rest of its label."""
    if not label or not _near(label, below) or text.rstrip().endswith((":", "：")):
        return False
    return below[0].text[:1].islower() and below[0].left >= label[0].left - _EDGE


def _near(above: Strip, below: Strip) -> bool:
    height = max(above[-1].bottom - above[-1].top, 1e-6)
    return -0.5 * height < below[0].top - above[-1].bottom < _CLOSE * height


@dataclass(slots=True)
class _Section:
    """An open section: its text, where it starts, and where its first row does."""

    text: str
    left: float
    child: float | None = None


class Sections:
    """The sections that are open while a table is read from top to bottom, outermost first."""

    def __init__(self) -> None:
        self._open: list[_Section] = []
        self._closing = False

    def open(self, text: str, left: float) -> None:
        """A line without values: it ends the sections that don't start further left."""
        self._close(left)
        self._open = [section for section in self._open if section.left < left - _EDGE]
        self._open.append(_Section(text.strip().rstrip(":：").strip(), left))

    def of(self, label: str, left: float) -> str:
        """The section of a row, outermost first. A total ends the innermost one, which is still its own."""
        self._close(left)
        for section in self._open:
            if section.child is None:
                section.child = left
        self._closing = bool(_TOTAL.match(label.strip()))
        return " › ".join(section.text for section in self._open)

    def _close(self, left: float) -> None:
        """End the innermost section after its total, and those whose rows were indented, at a row that isn't."""
        if self._closing and self._open:
            self._open.pop()
        self._closing = False
        while self._open and (child := self._open[-1].child) is not None:
            section = self._open[-1]
            if not (child > section.left + _EDGE and left <= section.left + _EDGE):
                break
            self._open.pop()
