"""The paragraphs of a set as a corpus that can be searched: each one a page of one document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from retrieval.embedders.e5 import E5
from retrieval.search import Searcher
from retrieval.settings import SearchSettings
from retrieval.store import Store, StoredPage
from retrieval.types import BBox, Document, Frozen, Line, Page, PageRef, Scope

_SENTENCE = re.compile(r"(?<=[。！？\n])|(?<=[.!?]) ")
_WHOLE = BBox(x1=0, y1=0, x2=1, y2=1)
_NAME = "set"


class FoundParagraph(Frozen):
    """A paragraph by its place in the set, and its score as a share of the best one's."""

    place: int
    share: float


class ParagraphCorpus:
    """Paragraphs under docsage's own search, without vectors."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def search(self, question: str, k: int) -> list[FoundParagraph]:
        """The `k` best paragraphs, best first; fewer when fewer share a word with the question."""
        hits = self._searcher.search(question, Scope(doc_ids=(_NAME,)), k).hits
        return [FoundParagraph(place=hit.ref.page - 1, share=hit.score / hits[0].score) for hit in hits]


@contextmanager
def corpus(paragraphs: Sequence[str]) -> Iterator[ParagraphCorpus]:
    """A corpus of paragraphs, in a temporary folder while it is used. Its sentences are the lines of its pages."""
    with TemporaryDirectory(prefix="docsage-") as folder:
        store = Store(Path(folder) / "paragraphs.sqlite")
        try:
            store.add_document(Document(doc_id=_NAME, kind="pdf", pages=len(paragraphs)))
            store.put_pages(_page(number, text) for number, text in enumerate(paragraphs, 1))
            searcher = Searcher(store, SearchSettings(), E5())
            searcher.refresh(_NAME)
            yield ParagraphCorpus(searcher)
        finally:
            store.close()


def _page(number: int, text: str) -> StoredPage:
    lines = tuple(Line(text=part, bbox=_WHOLE) for part in _SENTENCE.split(text) if part.strip())
    return StoredPage(Page(ref=PageRef(doc_id=_NAME, page=number), width=1, height=1, lines=lines))
