"""A collection: the documents in one folder, read, indexed and ready to be searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL.Image import Image

from retrieval.errors import InputError
from retrieval.ingest.pipeline import Ingestor, IngestReport
from retrieval.progress import Progress, Silent
from retrieval.render import render_page
from retrieval.search import Searcher
from retrieval.settings import RetrievalSettings
from retrieval.store import Store
from retrieval.types import Document, Page, PageRef, Scope, SearchResult


class Collection:
    """Everything that the layers above may ask of documents. All methods block; call them from a worker thread."""

    def __init__(
        self, root: Path, settings: RetrievalSettings | None = None, *, passwords: Sequence[str] = ()
    ) -> None:
        self.root = root
        self.settings = settings or RetrievalSettings()
        self.passwords = tuple(passwords)
        self.store = Store(root / "collection.sqlite")
        self._ingestor = Ingestor(self.store, self.settings.ingest, passwords=self.passwords)
        self._searcher = Searcher(self.store, self.settings.search)

    def read(self, paths: Sequence[Path], *, progress: Progress | None = None) -> IngestReport:
        """Read what isn't read yet: text of all pages, OCR of the pages that have none. Then it can be searched.

        Folders are walked. A file that can't be read is in the report's `refused`, and the rest goes on.
        """
        report = self._ingestor.read(paths, progress=progress or Silent())
        for document in report.documents:
            self._searcher.refresh(document.doc_id)
        return report

    def enrich(self, scope: Scope, *, progress: Progress | None = None, seconds: float | None = None) -> None:
        """Do the costly work that improves ranking: OCR of figures, passage vectors; at most `seconds` of it."""
        raise NotImplementedError

    def search(self, query: str, scope: Scope, k: int = 10) -> SearchResult:
        """The `k` best pages for a query within the scope."""
        return self._searcher.search(query, scope, k)

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
        """Release the files."""
        self.store.close()
