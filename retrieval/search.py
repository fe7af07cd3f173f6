"""Hybrid search: BM25 of pages and passages, passage vectors and structural look-ups, fused into one ranking."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from retrieval.embedders.base import TextEmbedder
from retrieval.fusion import RRF_K
from retrieval.index.bm25 import Floats, Postings, Units
from retrieval.index.vectors import VectorIndex
from retrieval.page_images import PageImages
from retrieval.settings import SearchSettings
from retrieval.store import Store
from retrieval.structure import Structure
from retrieval.text.queries import implied_anchors, weighted_terms
from retrieval.text.references import references
from retrieval.types import PageHit, PageRef, Scope, SearchResult, SignalStatus

ABSOLUTE_SIGNALS = ("structure", "statements")
_SEEN = 0.05
"""What the least similar of the pages found by their looks has: it may be the only one that anything finds."""


class Searcher:
    """Ranks the pages of a scope for a query. Keeps the postings of the store up to date."""

    def __init__(
        self, store: Store, settings: SearchSettings, embedder: TextEmbedder, images: PageImages | None = None
    ) -> None:
        """`images` adds the ranking by page images."""
        self.store = store
        self.settings = settings
        self.postings = Postings(store)
        self.vectors = VectorIndex(store, embedder)
        self.structure = Structure(store, self.postings)
        self.images = images

    def refresh(self, doc_id: str) -> bool:
        """Bring the postings of a document up to its pages; False when they were already."""
        return self.postings.refresh(doc_id)

    def search(self, query: str, scope: Scope, k: int) -> SearchResult:
        """The `k` best pages; each one tells the rank that every signal gave it."""
        units = self.postings.units(scope.doc_ids)
        passages, signals = self.signals(query, units)
        fused = self.fuse(signals, units)
        order = [int(i) for i in np.argsort(-fused, kind="stable")[:k] if fused[i] > 0]
        ranks = {name: _ranks(scores) for name, scores in signals.items()}
        hits = tuple(
            PageHit(
                ref=PageRef(doc_id=units.pages[i][0], page=units.pages[i][1]),
                rank=rank,
                score=float(fused[i]),
                ranks={name: int(of[i]) for name, of in ranks.items() if of[i]},
                lines=None if (best := _best_passage(passages, units, i)) is None else units.place(best),
            )
            for rank, i in enumerate(order, 1)
        )
        return SearchResult(hits=hits, signals=self._status(scope, units))

    def coverage(self, query: str, scope: Scope) -> float:
        """The largest share of the query's words, weighed by rarity, that one page of the scope has; 0 for no words."""
        units = self.postings.units(scope.doc_ids)
        found, total = np.zeros(len(units.pages), np.float32), 0.0
        for term in weighted_terms(query, glossary_weight=0):
            at, _ = self.postings.occurrences(term, units)
            on = np.unique(units.page_of[at])
            idf = self.postings.idf(len(units.pages), len(on))
            found[on] += idf
            total += idf
        return float(found.max(initial=0.0)) / total if total else 0.0

    def signals(self, query: str, units: Units) -> tuple[Floats, dict[str, Floats]]:
        """(BM25 of each passage, score of each page by signal); a signal whose weight is 0 is not computed."""
        weights = self.settings.weights()
        passage_scores, page_scores = self.postings.scores(
            weighted_terms(query, glossary_weight=self.settings.glossary), units
        )
        found: dict[str, Floats] = {"page_bm25": page_scores}
        if weights["passage_bm25"]:
            best = np.zeros(len(units.pages), np.float32)
            np.maximum.at(best, units.page_of, passage_scores)
            found["passage_bm25"] = best
        if weights["vectors"]:
            found["vectors"] = self._vector_scores(query, units)
        if self.images is not None and weights["images"]:
            similarities = self.images.search(query, units.pages)
            found["images"] = _above_lowest(similarities, len(units.pages), least=_SEEN)
        if weights["structure"]:
            found["structure"] = self.structure.scores(references(query), units)
        if weights["statements"]:
            found["statements"] = self.structure.anchored(implied_anchors(query), units)
        return passage_scores, found

    def fuse(self, signals: Mapping[str, Floats], units: Units) -> Floats:
        """Weighted sum of the signals, then a share of the neighbours' scores.

        BM25 and similarities are scaled to a best page of 1, or their ranks count in place of them; structural scores
        mean something by themselves.
        """
        total = np.zeros(len(units.pages), np.float32)
        for name, scores in signals.items():
            total += self.settings.weights()[name] * self._scaled(name, scores)
        return total + self.settings.neighbours * _neighbours(total, units)

    def _scaled(self, name: str, scores: Floats) -> Floats:
        """Scores on the scale of all signals: the best page has 1, unless they mean something by themselves."""
        if name in ABSOLUTE_SIGNALS:
            return scores
        if self.settings.fusion == "reciprocal_ranks":
            ranks = _ranks(scores)
            return np.where(ranks > 0, (RRF_K + 1) / (RRF_K + ranks), 0).astype(np.float32)
        top = float(scores.max(initial=0.0))
        return scores / top if top > 0 else scores

    def _vector_scores(self, query: str, units: Units) -> Floats:
        at = {page: i for i, page in enumerate(units.pages)}
        matches = self.vectors.search(query, [t.doc_id for t in units.tables])
        return _above_lowest({at[m.ref.doc_id, m.ref.page]: m.score for m in matches}, len(at))

    def _status(self, scope: Scope, units: Units) -> tuple[SignalStatus, ...]:
        reading = self.store.reading_state(scope.doc_ids)
        text = reading.read / reading.pages if reading.pages else 0.0
        states = {"page_bm25": text, "passage_bm25": text, "structure": text}
        if self.settings.vectors:
            states["vectors"] = self.vectors.coverage(scope.doc_ids)
        if self.images is not None and self.settings.images:
            states["images"] = self.images.coverage(units.pages)
        states["figure_text"] = 1 - reading.figures_due / reading.read if reading.read else 0.0
        return tuple(SignalStatus(name=name, ready=ready) for name, ready in states.items())


def _above_lowest(similarities: Mapping[int, float], pages: int, *, least: float = 0.0) -> Floats:
    """Similarities by page, less the lowest one, which is left with the share `least` of its distance to the best.

    They lie close together (e5's at 0.7 to 0.9): only their differences within the scope tell pages apart.
    """
    scores = np.zeros(pages, np.float32)
    if similarities:
        found = np.fromiter(similarities.values(), np.float32)
        lowest, between = float(found.min()), float(found.max() - found.min())
        scores[np.fromiter(similarities, np.int64)] = found - lowest + least * (between or 1.0)
    return scores


def _ranks(scores: Floats) -> np.ndarray:
    """Rank of each page, 1 the best, equal scores alike; 0 for a page that the signal did not find."""
    ranks = np.searchsorted(np.sort(-scores), -scores, side="left").astype(np.int32) + 1
    ranks[scores <= 0] = 0
    return ranks


def _best_passage(passage_scores: Floats, units: Units, page: int) -> int | None:
    """The passage of a page that matches best; None when none matches. `page` is an index into the units' pages."""
    first, stop = np.searchsorted(units.page_of, (page, page + 1))
    if first == stop or passage_scores[first:stop].max() <= 0:
        return None
    return int(first + np.argmax(passage_scores[first:stop]))


def _neighbours(scores: Floats, units: Units) -> Floats:
    """The better of the scores of the page before and the page after, within the same document."""
    before, after = np.zeros_like(scores), np.zeros_like(scores)
    before[1:] = scores[:-1]
    after[:-1] = scores[1:]
    first = 0
    for table in units.tables:
        before[first] = 0
        first += table.pages
        after[first - 1] = 0
    return np.maximum(before, after)
