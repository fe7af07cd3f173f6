"""Tables drawn into a PDF: numbers end at the right edge of their column, texts start at the left of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pymupdf

from agent.reading import Unit, units_of
from retrieval.collection import Collection
from retrieval.types import PageRef

Placed = tuple[float, str]
"""A text and where it stands: a positive x is its left edge, a negative one its right edge, in points."""


def draw(path: Path, *rows: Sequence[Placed] | str, size: float = 9, leading: float = 14) -> Path:
    """A page of rows from top to bottom; a string is a line of text at the left margin."""
    document = pymupdf.open()
    page = document.new_page()
    y = 72.0
    for row in rows:
        for x, text in [(72.0, row)] if isinstance(row, str) else row:
            left = x if x >= 0 else -x - pymupdf.get_text_length(text, fontsize=size)
            page.insert_text((left, y), text, fontsize=size)
        y += leading
    document.save(path)
    document.close()
    return path


def rows(root: Path, path: Path) -> list[Unit]:
    """The rows that are read from the first page of a PDF, laid out as it is when a question is asked."""
    collection = Collection(root)
    (document,) = collection.read([path]).documents
    found = [unit for unit in units_of(collection.laid_out(PageRef(doc_id=document.doc_id, page=1))) if unit.cells]
    collection.close()
    return found


def by_label(units: Sequence[Unit]) -> dict[str, dict[str, str]]:
    """Cells by label and head."""
    return {unit.label: {cell.head: cell.text for cell in unit.cells} for unit in units}
