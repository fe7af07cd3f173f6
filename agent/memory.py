"""Documents and pages as one run sees them: each is loaded once."""

from __future__ import annotations

from PIL.Image import Image

from retrieval.types import Document, Page, PageRef, Scope, SearchResult
from tools.base import Pages


class PagesOnce:
    """`Pages` that remembers what it gave. Two threads that load a page at the same time get equal ones."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._documents: dict[str, Document] = {}
        self._read: dict[PageRef, Page] = {}
        self._laid_out: dict[PageRef, Page] = {}

    def search(self, query: str, scope: Scope, k: int = 10) -> SearchResult:
        """The `k` best pages for a query within the scope."""
        return self._pages.search(query, scope, k)

    def document(self, doc_id: str) -> Document:
        """The document of this content hash."""
        if doc_id not in self._documents:
            self._documents[doc_id] = self._pages.document(doc_id)
        return self._documents[doc_id]

    def page(self, ref: PageRef) -> Page:
        """A page as read, with fast blocks."""
        if ref not in self._read:
            self._read[ref] = self._pages.page(ref)
        return self._read[ref]

    def laid_out(self, ref: PageRef) -> Page:
        """A page whose blocks come from the layout model where it can be run."""
        if ref not in self._laid_out:
            self._laid_out[ref] = self._pages.laid_out(ref)
        return self._laid_out[ref]

    def image(self, ref: PageRef, *, dpi: int = 144) -> Image:
        """A page as displayed."""
        return self._pages.image(ref, dpi=dpi)
