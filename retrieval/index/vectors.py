"""Passage vectors: computed page by page when it is worth it, kept in the store, searched with FAISS."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import faiss
import numpy as np
import orjson

from retrieval.embedders.base import Matrix, TextEmbedder
from retrieval.progress import Progress
from retrieval.store import IN_SCOPE, Store
from retrieval.text.passages import passages
from retrieval.types import PageRef


@dataclass(frozen=True, slots=True)
class PageMatch:
    """A page's best passage for a query: similarity and span of lines."""

    ref: PageRef
    score: float
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _ScopeIndex:
    index: faiss.IndexFlatIP
    refs: tuple[PageRef, ...]
    spans: tuple[tuple[int, int], ...]


class VectorIndex:
    """Vectors of one model over a store. Pages without vectors are simply not found."""

    def __init__(self, store: Store, embedder: TextEmbedder) -> None:
        self.store = store
        self.embedder = embedder
        self._indexes: dict[tuple[str, ...], tuple[tuple[int, int], _ScopeIndex]] = {}

    def missing(self, doc_id: str) -> list[int]:
        """Pages whose vectors were not computed, or were for an earlier reading of the page."""
        rows = self.store.rows(
            "SELECT p.page FROM pages p LEFT JOIN vectors v ON v.doc_id = p.doc_id AND v.page = p.page AND v.model = ?"
            " AND v.revision = p.revision WHERE p.doc_id = ? AND v.page IS NULL ORDER BY p.page",
            (self.embedder.name, doc_id),
        )
        return [r[0] for r in rows]

    def embed(self, refs: Iterable[PageRef], *, progress: Progress, deadline: float | None = None) -> int:
        """Compute the vectors of pages, one transaction a page, until `deadline` (time.monotonic()). Pages done."""
        done = 0
        for ref in refs:
            if deadline is not None and time.monotonic() >= deadline:
                break
            self._embed_page(ref)
            progress.advance()
            done += 1
        return done

    def search(self, query: str, doc_ids: Sequence[str]) -> list[PageMatch]:
        """Every page of the documents that has vectors, by its best passage, best first."""
        scope = self._scope_index(tuple(doc_ids))
        if scope.index.ntotal == 0:
            return []
        scores, order = scope.index.search(self.embedder.queries([query]), scope.index.ntotal)
        best: dict[PageRef, PageMatch] = {}
        for score, at in zip(scores[0].tolist(), order[0].tolist(), strict=True):
            ref = scope.refs[at]
            if ref not in best:
                best[ref] = PageMatch(ref, score, scope.spans[at])
        return list(best.values())

    def coverage(self, doc_ids: Sequence[str]) -> float:
        """Share of the pages read that have vectors; 0 when nothing was read."""
        read, embedded = self.store.rows(
            "SELECT count(*), count(v.page) FROM pages p LEFT JOIN vectors v ON v.doc_id = p.doc_id AND v.page = p.page"
            f" AND v.model = ? AND v.revision = p.revision WHERE p.doc_id IN {IN_SCOPE}",
            (self.embedder.name, orjson.dumps(list(doc_ids))),
        )[0]
        return embedded / read if read else 0.0

    def _embed_page(self, ref: PageRef) -> None:
        revision = self.store.rows("SELECT revision FROM pages WHERE doc_id = ? AND page = ?", (ref.doc_id, ref.page))
        page = self.store.page(ref)
        if page is None:
            return
        cut = [p for p in passages([line.text for line in page.lines]) if p.text]
        matrix = self.embedder.passages([p.text for p in cut]) if cut else np.zeros((0, 384), np.float32)
        spans = np.array([(p.start, p.stop) for p in cut], np.int32).reshape(-1, 2)
        row = (ref.doc_id, ref.page, self.embedder.name, revision[0][0])
        with self.store.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?)",
                (*row, spans.tobytes(), matrix.astype(np.float16).tobytes()),
            )

    def _scope_index(self, doc_ids: tuple[str, ...]) -> _ScopeIndex:
        where = f"FROM vectors WHERE model = ? AND doc_id IN {IN_SCOPE}"
        key = (self.embedder.name, orjson.dumps(doc_ids))
        state = self.store.rows(f"SELECT count(*), coalesce(sum(revision), 0) {where}", key)[0]
        cached = self._indexes.get(doc_ids)
        if cached is not None and cached[0] == state:
            return cached[1]
        refs: list[PageRef] = []
        spans: list[tuple[int, int]] = []
        matrices: list[Matrix] = []
        for doc_id, page, cut, content in self.store.rows(f"SELECT doc_id, page, spans, content {where}", key):
            lines = np.frombuffer(cut, np.int32).reshape(-1, 2).tolist()
            if lines:
                refs += [PageRef(doc_id=doc_id, page=page)] * len(lines)
                spans += [(start, stop) for start, stop in lines]
                matrices.append(np.frombuffer(content, np.float16).reshape(len(lines), -1).astype(np.float32))
        index = faiss.IndexFlatIP(matrices[0].shape[1] if matrices else 384)
        if matrices:
            index.add(np.concatenate(matrices))
        self._indexes = {doc_ids: (state, _ScopeIndex(index, tuple(refs), tuple(spans)))}
        return self._indexes[doc_ids][1]
