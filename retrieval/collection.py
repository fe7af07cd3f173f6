"""A collection: the documents in one folder, read, indexed and ready to be searched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from PIL.Image import Image

from retrieval.embedders.base import PageEmbedder
from retrieval.embedders.choice import open_page_embedder
from retrieval.embedders.e5 import E5
from retrieval.errors import InputError
from retrieval.ingest.pipeline import Ingestor, IngestReport
from retrieval.page_images import PageImages, forget_document
from retrieval.progress import Progress, Silent
from retrieval.render import render_page
from retrieval.search import Searcher
from retrieval.settings import RetrievalSettings
from retrieval.store import Store
from retrieval.types import Document, Page, PageRef, Scope, SearchResult

STORE_NAME = "collection.sqlite"
"""The file in a collection's folder that holds all of it."""
IMAGES_NAME = "images"
"""The folder in it that holds the vectors of page images, by model."""
FIRST_PAGES = 20
"""Figures and vectors of this many of the best pages for a question come before those of other pages."""
FEW_WORDS = 0.2
"""Vectors are needed when no page has this share of the question's words, weighed by their rarity."""


class Collection:
    """Everything that the layers above may ask of documents. All methods block; call them from a worker thread."""

    def __init__(
        self,
        root: Path,
        settings: RetrievalSettings | None = None,
        *,
        passwords: Sequence[str] = (),
        embedder: PageEmbedder | None = None,
    ) -> None:
        """`embedder` embeds page images in place of the model that the settings name."""
        self.root = root
        self.settings = settings or RetrievalSettings()
        self.passwords = tuple(passwords)
        self.store = Store(root / STORE_NAME)
        self._ingestor = Ingestor(self.store, self.settings.ingest, passwords=self.passwords)
        self._images = self._page_images(embedder)
        self._searcher = Searcher(self.store, self.settings.search, E5(), self._images)

    def read(self, paths: Sequence[Path], *, progress: Progress | None = None) -> IngestReport:
        """Read what isn't read yet: text of all pages, OCR of the pages that have none. Then it can be searched.

        Folders are walked. A file that can't be read is in the report's `refused`, and the rest goes on.
        """
        report = self._ingestor.read(paths, progress=progress or Silent())
        for document in report.documents:
            self._searcher.refresh(document.doc_id)
        return report

    def enrich(
        self,
        scope: Scope,
        *,
        query: str | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Do the costly work that improves ranking: OCR of figures, then passage vectors where they are worth it.

        Vectors follow the setting: "always", "never", or "when_needed": for a `query` of whose words the scope has few
        (it is in another language, or in other words). With `seconds`, at most about that long, and for the pages
        first that rank best for `query` so far. What is left is done by the next call; the search result says how much
        each signal could see. Nothing is done where the collection can't be written.
        """
        if self.store.read_only:
            return
        shown = progress or Silent()
        deadline = None if seconds is None else time.monotonic() + seconds
        if self.settings.ingest.ocr.figures:
            self._read_figures(scope, query, deadline, shown)
        if self._wants_vectors(query, scope):
            self._embed(scope, query, deadline, shown)
        if self._images is not None and self.settings.search.images:
            self._embed_images(self._images, scope, query, deadline, shown)

    def _page_images(self, embedder: PageEmbedder | None) -> PageImages | None:
        """The ranking by page images; None where no model is set."""
        settings = self.settings.images
        if embedder is None and not settings.embedder.model:
            return None
        opened = open_page_embedder if embedder is None else lambda _: embedder
        return PageImages(self.root / IMAGES_NAME, settings, self.image, opened)

    def _embed_images(
        self, images: PageImages, scope: Scope, query: str | None, deadline: float | None, progress: Progress
    ) -> None:
        refs = [PageRef(doc_id=d, page=p) for d in scope.doc_ids for p in self.store.pages_read(d)]
        missing = self._best_first(images.missing(refs), query, scope)
        if missing and (deadline is None or time.monotonic() < deadline):
            progress.start("page images", len(missing))
            images.embed(missing, progress=progress, deadline=deadline)

    def _read_figures(self, scope: Scope, query: str | None, deadline: float | None, progress: Progress) -> None:
        if not self.store.reading_state(scope.doc_ids).figures_due:
            return
        first = self._best_pages(query, scope)
        done = self._ingestor.read_figures(scope.doc_ids, progress=progress, deadline=deadline, first=first)
        for doc_id in done:
            self._searcher.refresh(doc_id)

    def _best_pages(self, query: str | None, scope: Scope) -> list[PageRef]:
        return [] if query is None else [hit.ref for hit in self.search(query, scope, FIRST_PAGES).hits]

    def _best_first(self, missing: list[PageRef], query: str | None, scope: Scope) -> list[PageRef]:
        """The pages, those first that rank best for the query so far."""
        order = {ref: place for place, ref in enumerate(self._best_pages(query, scope) if missing else [])}
        return sorted(missing, key=lambda ref: order.get(ref, len(order)))

    def _wants_vectors(self, query: str | None, scope: Scope) -> bool:
        if self.settings.vectors != "when_needed":
            return self.settings.vectors == "always"
        return query is not None and self._searcher.coverage(query, scope) < FEW_WORDS

    def _embed(self, scope: Scope, query: str | None, deadline: float | None, progress: Progress) -> None:
        vectors = self._searcher.vectors
        missing = [PageRef(doc_id=d, page=p) for d in scope.doc_ids for p in vectors.missing(d)]
        missing = self._best_first(missing, query, scope)
        if missing and (deadline is None or time.monotonic() < deadline):
            progress.start("vectors", len(missing))
            vectors.embed(missing, progress=progress, deadline=deadline)

    def search(self, query: str, scope: Scope, k: int = 10) -> SearchResult:
        """The `k` best pages for a query within the scope."""
        return self._searcher.search(query, scope, k)

    def documents(self) -> list[Document]:
        """Every document, in the order in which they were added."""
        return self.store.documents()

    def remove(self, doc_id: str, *, progress: Progress | None = None) -> None:
        """Forget a document; the file itself is not touched. Waits for a process that is reading documents."""
        self._ingestor.remove(doc_id, progress=progress or Silent())
        forget_document(self.root / IMAGES_NAME, doc_id)

    def document(self, doc_id: str) -> Document:
        """The document of this content hash."""
        found = self.store.document(doc_id)
        if found is None:
            raise InputError(f"no document {doc_id} in {self.root}", remedy="see `docsage index --list`")
        return found

    def page(self, ref: PageRef) -> Page:
        """A page as read."""
        found = self.store.page(ref)
        if found is None:
            raise InputError(f"page {ref.page} of {ref.doc_id} is not in {self.root}")
        return found

    def laid_out(self, ref: PageRef) -> Page:
        """A page whose blocks come from the layout model; falls back to the fast blocks when the file has gone."""
        return self._ingestor.lay_out(ref)

    def image(self, ref: PageRef, *, dpi: int = 144) -> Image:
        """A page as displayed, rendered from its file."""
        return render_page(self.store.paths_of(ref.doc_id), ref, dpi=dpi, passwords=self.passwords)

    def close(self) -> None:
        """Release the files, and the memory of a model that was loaded."""
        if self._images is not None:
            self._images.close()
        self.store.close()
