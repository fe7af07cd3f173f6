"""BM25 over the scope that is asked about, from postings kept per document.

Document frequencies and lengths are those of the scope: within one filing the company's name is no rare word, over a
thousand filings it is. Each (term, document) has one posting list, so a document is added or removed by itself.

Formula: sum over query terms of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average length)), with
idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)) (Robertson and Zaragoza 2009, with Lucene's non-negative idf).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retrieval.store import IN_SCOPE, Store
from retrieval.text.passages import passages
from retrieval.text.references import STATEMENT_FIGURES, anchor_terms, statement_term
from retrieval.text.tokens import terms

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

TITLE_LINES = 12
_PAIR = 8
"""Bytes of a passage and a count in a posting list."""
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\(\d+\)|^\W*\d+(?:\.\d+)?%?\W*$")


@dataclass(frozen=True, slots=True)
class PassageTable:
    """The passages of a document of `pages` pages: page, lines (from, to exclusive) and number of terms of each."""

    doc_no: int
    doc_id: str
    pages: int
    page: Ints
    start: Ints
    stop: Ints
    length: Ints


@dataclass(frozen=True, slots=True)
class Units:
    """What is ranked: all passages of a scope in order, and the page (as an index into `pages`) each belongs to.

    `pages` has every page of the documents, also those on which nothing was read.
    """

    tables: tuple[PassageTable, ...]
    offsets: dict[int, int]
    lengths: Floats
    page_of: Ints
    pages: tuple[tuple[str, int], ...]
    page_lengths: Floats

    def place(self, passage: int) -> tuple[int, int]:
        """The span of lines of a passage."""
        for table in self.tables:
            if passage < len(table.page):
                return int(table.start[passage]), int(table.stop[passage])
            passage -= len(table.page)
        raise IndexError(passage)


class Postings:
    """Writes and reads the posting lists of a store."""

    def __init__(self, store: Store, *, k1: float = 1.2, b: float = 0.75) -> None:
        self.store = store
        self.k1, self.b = k1, b
        self._tables: dict[int, tuple[int, PassageTable]] = {}
        # Of the scope that was asked about last: of many documents they take longer to make than a question to answer.
        self._units: tuple[bytes, list[Any], Units] | None = None

    def refresh(self, doc_id: str) -> bool:
        """Bring a document's postings up to its pages. False when they were already."""
        doc_no, indexed = self.store.rows("SELECT doc_no, postings_of FROM documents WHERE doc_id = ?", (doc_id,))[0]
        state = self.store.content_state(doc_id)
        if indexed == state:
            return False
        places: list[tuple[int, int, int, int]] = []
        lists: dict[str, list[int]] = defaultdict(list)
        for page, texts in self.store.texts(doc_id):
            for term in _statements(texts):
                lists[term] += (len(places), 1)
            for passage in passages(texts):
                counts = Counter(terms(passage.text))
                number = len(places)
                places.append((page, passage.start, passage.stop, counts.total()))
                for term, count in counts.items():
                    lists[term] += (number, count)
                for line in texts[passage.start : passage.stop]:
                    for anchor in anchor_terms(line):
                        lists[anchor] += (number, 1)
        with self.store.writing() as db:
            db.execute("DELETE FROM postings WHERE doc_no = ?", (doc_no,))
            db.executemany(
                "INSERT INTO postings VALUES (?, ?, ?)",
                ((term, doc_no, np.array(pairs, np.int32).tobytes()) for term, pairs in sorted(lists.items())),
            )
            content = np.array(places, np.int32).reshape(-1, 4).tobytes()
            db.execute("INSERT OR REPLACE INTO passages VALUES (?, ?)", (doc_no, content))
            db.execute("UPDATE documents SET postings_of = ? WHERE doc_no = ?", (state, doc_no))
        # A document that was forgotten and read anew can come to the same state.
        self._tables.pop(doc_no, None)
        self._units = None
        return True

    def units(self, doc_ids: Sequence[str]) -> Units:
        """The passages of the documents that are indexed."""
        scope = orjson.dumps(list(doc_ids))
        rows = self.store.rows(
            f"SELECT doc_id, doc_no, postings_of, pages FROM documents WHERE postings_of >= 0 AND doc_id IN {IN_SCOPE}",
            (scope,),
        )
        known = self._units
        if known is None or known[:2] != (scope, rows):
            known = self._units = (scope, rows, self._units_of(doc_ids, rows))
        return known[2]

    def _units_of(self, doc_ids: Sequence[str], rows: list[Any]) -> Units:
        found = {doc_id: self._table(doc_id, *row) for doc_id, *row in rows}
        tables = tuple(found[doc_id] for doc_id in dict.fromkeys(doc_ids) if doc_id in found)
        offsets, total = {}, 0
        pages: list[tuple[str, int]] = []
        page_of: list[Ints] = []
        for table in tables:
            offsets[table.doc_no] = total
            total += len(table.page)
            page_of.append((table.page - 1 + len(pages)).astype(np.int32))
            pages += [(table.doc_id, n) for n in range(1, table.pages + 1)]
        of = np.concatenate(page_of) if page_of else np.zeros(0, np.int32)
        lengths = np.concatenate([t.length for t in tables]).astype(np.float32) if tables else np.zeros(0, np.float32)
        page_lengths = np.bincount(of, lengths, len(pages)).astype(np.float32)
        return Units(tables, offsets, lengths, of, tuple(pages), page_lengths)

    def scores(self, query: dict[str, float], units: Units) -> tuple[Floats, Floats]:
        """BM25 of every passage and of every page for weighted query terms."""
        passage_scores = np.zeros(len(units.lengths), np.float32)
        page_scores = np.zeros(len(units.pages), np.float32)
        for term, weight in query.items():
            at, tf = self.occurrences(term, units)
            if not len(at):
                continue
            passage_scores[at] += weight * self._weights(tf, units.lengths[at], units.lengths, len(at))
            page_tf = np.bincount(units.page_of[at], tf, len(units.pages)).astype(np.float32)
            on = np.flatnonzero(page_tf)
            page_scores[on] += weight * self._weights(page_tf[on], units.page_lengths[on], units.page_lengths, len(on))
        return passage_scores, page_scores

    def _weights(self, tf: Floats, lengths: Floats, all_lengths: Floats, n: int) -> Floats:
        idf = self.idf(len(all_lengths), n)
        norm = self.k1 * (1 - self.b + self.b * lengths / max(float(all_lengths.mean()), 1.0))
        return np.asarray(idf * tf * (self.k1 + 1) / (tf + norm), np.float32)

    @staticmethod
    def idf(total: int, n: int) -> float:
        """Weight of a term that `n` of `total` units have; never negative."""
        return math.log1p((total - n + 0.5) / (n + 0.5))

    def occurrences(self, term: str, units: Units) -> tuple[Ints, Floats]:
        """The passages of a scope that hold an index term, and how often."""
        if len(units.tables) == 1:
            sql, args = (
                "SELECT doc_no, content FROM postings WHERE term = ? AND doc_no = ?",
                (term, units.tables[0].doc_no),
            )
            rows = self.store.rows(sql, args)
        else:
            rows = self.store.rows("SELECT doc_no, content FROM postings WHERE term = ?", (term,))
        inside = [(offset, content) for no, content in rows if (offset := units.offsets.get(no)) is not None]
        if not inside:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        at, tf = _posting(b"".join([content for _, content in inside]))
        sizes = [len(content) // _PAIR for _, content in inside]
        return at + np.repeat(np.array([offset for offset, _ in inside], np.int32), sizes), tf.astype(np.float32)

    def pages_of(self, term: str, table: PassageTable) -> list[int]:
        """The pages of one document that hold an index term, in order."""
        rows = self.store.rows("SELECT content FROM postings WHERE term = ? AND doc_no = ?", (term, table.doc_no))
        return np.unique(table.page[_posting(rows[0][0])[0]]).tolist() if rows else []

    def _table(self, doc_id: str, doc_no: int, state: int, pages: int) -> PassageTable:
        cached = self._tables.get(doc_no)
        if cached is not None and cached[0] == state:
            return cached[1]
        content = self.store.rows("SELECT content FROM passages WHERE doc_no = ?", (doc_no,))[0][0]
        columns = np.frombuffer(content, np.int32).reshape(-1, 4).T
        table = PassageTable(doc_no, doc_id, pages, *columns)
        self._tables[doc_no] = (state, table)
        return table


def _posting(content: bytes) -> tuple[Ints, Ints]:
    """The passages of a stored posting list, and how often each holds the term."""
    pairs = np.frombuffer(content, np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _statements(lines: list[str]) -> set[str]:
    """Terms of the financial statements that a page shows: titled so near its top, and full of figures."""
    found = {term for line in lines[:TITLE_LINES] if (term := statement_term(line))}
    if found and sum(1 for line in lines if _FIGURE.search(line)) < STATEMENT_FIGURES:
        return set()
    return found
