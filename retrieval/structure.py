"""Structural look-ups: which pages are the places that a question names.

Scores are absolute, not relative to the best page: 1 for a page that is named (by its number, or because the named
figure, table or section stands on it), 0.5 for a page inside a named section or appendix, or for one that has a thing
of a kind that is to be counted, 0.25 for the first page when the question is about what front matter tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from retrieval.index.bm25 import Floats, PassageTable, Postings, Units
from retrieval.store import Store
from retrieval.text.references import APPENDIX, References

NAMED, PRINTED, INSIDE, OF_KIND, FRONT = 1.0, 0.9, 0.5, 0.5, 0.25


class Structure:
    """Looks named places up in the postings and page labels of a store."""

    def __init__(self, store: Store, postings: Postings) -> None:
        self.store = store
        self.postings = postings

    def scores(self, named: References, units: Units) -> Floats:
        """The score of each page of `units` for what a question names."""
        scores = self.anchored(named.anchors, units)
        first = 0
        for table in units.tables if named else ():
            own = scores[first : first + table.pages]  # a view: pages of a document stand together, in order
            if named.pages:
                np.maximum(own, self._numbered(named.pages, table), out=own)
            for anchor in named.anchors:
                if anchor.startswith("=section:"):
                    np.maximum(own, self._section(anchor, table), out=own)
            if APPENDIX in named.kinds:
                np.maximum(own, self._appendix(table), out=own)
            if named.front:
                own[0] = max(float(own[0]), FRONT)
            first += table.pages
        kinds = tuple(kind for kind in named.kinds if kind != APPENDIX)
        return scores + OF_KIND * self.anchored(kinds, units)

    def anchored(self, anchors: Iterable[str], units: Units) -> Floats:
        """1 for each page that has a line which is one of these places."""
        scores = np.zeros(len(units.pages), np.float32)
        for anchor in anchors:
            at, _ = self.postings.occurrences(anchor, units)
            scores[units.page_of[at]] = NAMED
        return scores

    def _numbered(self, pages: tuple[int, ...], table: PassageTable) -> Floats:
        """Pages by physical number, and by the number printed on them."""
        wanted = {n if n > 0 else table.pages + 1 + n for n in pages}
        scores = np.zeros(table.pages, np.float32)
        for page, label in self.store.rows("SELECT page, label FROM pages WHERE doc_id = ?", (table.doc_id,)):
            if label.isdecimal() and int(label) in wanted:
                scores[page - 1] = PRINTED
        for page in wanted:
            if 1 <= page <= table.pages:
                scores[page - 1] = NAMED
        return scores

    def _section(self, anchor: str, table: PassageTable) -> Floats:
        """Pages from the heading of a section to the next heading that is not inside it."""
        scores = np.zeros(table.pages, np.float32)
        starts = self.postings.pages_of(anchor, table)
        following = sorted({p for term in _next_sections(anchor) for p in self.postings.pages_of(term, table)})
        for start in starts:
            stop = next((page for page in following if page >= start), start)
            scores[start - 1 : stop] = INSIDE
        return scores

    def _appendix(self, table: PassageTable) -> Floats:
        """Pages from the one that is headed "Appendix" to the end of the document."""
        scores = np.zeros(table.pages, np.float32)
        starts = self.postings.pages_of(APPENDIX, table)
        if starts:
            scores[starts[0] - 1 :] = INSIDE
        return scores


def _next_sections(anchor: str) -> list[str]:
    """The headings that can end a section: for 3.3.2 they are 3.3.3, 3.4 and 4."""
    numbers = [int(n) for n in re.findall(r"\d+", anchor)]
    return ["=section:" + ".".join(map(str, [*numbers[:i], numbers[i] + 1])) for i in range(len(numbers))]
