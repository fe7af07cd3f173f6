"""What of a document could not be read, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval.ingest.files import shown
from retrieval.ingest.pool import GIVEN_UP
from retrieval.store import Store, encode_content

UNREADABLE = "unreadable: "
"""How the note of a page begins that could not be read."""
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Damage:
    """The pages of a document of which nothing was read. `is_total` documents hold nothing worth keeping."""

    pages: tuple[int, ...]
    reason: str
    total: int
    is_total: bool

    def line(self, path: Path) -> str:
        """What is wrong with the file at `path`, and the remedy."""
        if self.is_total:
            return f"{shown(path)}: no page can be read ({self.reason}): {self._remedy()}"
        listed = ", ".join(map(str, self.pages[:_LISTED]))
        more = f" and {len(self.pages) - _LISTED} more" if len(self.pages) > _LISTED else ""
        which = f"page{'s' if len(self.pages) > 1 else ''} {listed}{more} of {self.total}"
        return f"{shown(path)}: {which} can't be read ({self.reason}): {self._remedy()}"

    def _remedy(self) -> str:
        if self.reason.startswith(GIVEN_UP):
            return "`docsage index --remove` it and index it again to try once more"
        return "scale it down or split it" if "pixels" in self.reason else "get a complete copy"


def damage_of(store: Store, doc_id: str) -> Damage | None:
    """The damage to a document that was read; None when every page is read or waits for OCR.

    A page whose OCR took too long or crashed is not counted as proof that the whole file is bad.
    """
    rows: Sequence[tuple[int, str, str]] = store.rows(
        "SELECT page, substr(note, ?), ocr FROM pages WHERE doc_id = ? AND substr(note, 1, ?) = ? AND ocr <> 'due'"
        " AND content = ? ORDER BY page",
        (len(UNREADABLE) + 1, doc_id, len(UNREADABLE), UNREADABLE, encode_content((), ())),
    )
    document = store.document(doc_id)
    if not rows or document is None:
        return None
    lost = [page for page, reason, ocr in rows if ocr == "none" or not reason.startswith(GIVEN_UP)]
    pages = tuple(page for page, _, _ in rows)
    return Damage(pages, rows[0][1], document.pages, is_total=len(lost) == document.pages)
