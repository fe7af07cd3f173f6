"""Small stores for the tests of retrieval."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from retrieval.store import Store, StoredPage
from retrieval.types import BBox, Document, Line, Page, PageRef

AddDocument = Callable[..., str]


@pytest.fixture
def store(tmp_path: Path):
    """An empty store."""
    opened = Store(tmp_path / "collection.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def add_document(store: Store) -> AddDocument:
    """Puts a document into the store: one list of lines a page."""

    def add(doc_id: str, pages: Sequence[Sequence[str]], labels: Sequence[str] = ()) -> str:
        store.add_document(Document(doc_id=doc_id, kind="pdf", pages=len(pages)))
        read = []
        for number, texts in enumerate(pages, 1):
            lines = tuple(
                Line(text=text, bbox=BBox(x1=0.1, y1=0.02 * i + 0.01, x2=0.9, y2=0.02 * i + 0.025))
                for i, text in enumerate(texts)
            )
            label = labels[number - 1] if labels else "none"
            ref = PageRef(doc_id=doc_id, page=number)
            read.append(StoredPage(Page(ref=ref, label=label, width=595, height=842, lines=lines)))
        store.put_pages(read)
        return doc_id

    return add


class BagEmbedder:
    """Embeds a text as its letters' counts: no model, yet texts of the same words come out alike."""

    name = "bag-of-letters/1"

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 26), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    row[ord(letter) - 97] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


@pytest.fixture
def embedder() -> BagEmbedder:
    """An embedder without a model."""
    return BagEmbedder()
