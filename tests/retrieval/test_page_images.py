"""Search by page images beside text: what a page looks like finds it where no word does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL.Image import Image

from retrieval.collection import IMAGES_NAME, Collection
from retrieval.embedders.base import EmbedderCard, Matrix
from retrieval.errors import InputError
from retrieval.settings import ImageSettings, RetrievalSettings, SearchSettings
from retrieval.types import PageRef, Scope

COLOURS = {"red": (1.0, 0.1, 0.1), "green": (0.1, 1.0, 0.1), "blue": (0.1, 0.1, 1.0)}


class ColourEmbedder:
    """Sees the colour of a page, and knows the words for three of them."""

    def __init__(self, revision: str = "1") -> None:
        self.card = EmbedderCard(model="test/colours", revision=revision, family="clip", dimension=3, multi=False)
        self.seen = 0
        self.closed = False

    def pages(self, images: Sequence[Image]) -> list[Matrix]:
        self.seen += len(images)
        return [_unit(255 - np.asarray(image.resize((8, 8))).reshape(-1, 3).mean(axis=0)) for image in images]

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        wanted = [next((rgb for word, rgb in COLOURS.items() if word in text), (1, 1, 1)) for text in texts]
        return [_unit(1.2 - np.asarray(rgb)) for rgb in wanted]

    def close(self) -> None:
        self.closed = True


def _unit(vector: np.ndarray) -> Matrix:
    return (vector / max(float(np.linalg.norm(vector)), 1e-6)).astype(np.float32)[None]


def _coloured(path: Path, *colours: str) -> Path:
    """A page a colour, with the same words on each of them."""
    document = pymupdf.open()
    for colour in colours:
        page = document.new_page()
        page.draw_rect(page.rect, fill=COLOURS[colour])
        page.insert_text((72, 90), "A sheet of the pattern book.")
    document.save(path)
    return path


@pytest.fixture
def opened(tmp_path: Path):
    """Opens the collection in the test's folder with an embedder."""
    held: list[Collection] = []

    def open_(embedder: ColourEmbedder | None, **weights: object) -> Collection:
        settings = RetrievalSettings(vectors="never", search=SearchSettings.model_validate(weights))
        held.append(Collection(tmp_path / "collection", settings, embedder=embedder))
        return held[-1]

    yield open_
    for collection in held:
        collection.close()


def _scope(collection: Collection, *paths: Path) -> Scope:
    return Scope(doc_ids=tuple(d.doc_id for d in collection.read(paths).documents))


@pytest.mark.parametrize("fusion", ["scores", "reciprocal_ranks"])
def test_a_page_is_found_by_its_looks(opened: Callable[..., Collection], tmp_path: Path, fusion: str) -> None:
    collection = opened(ColourEmbedder(), fusion=fusion)
    scope = _scope(collection, _coloured(tmp_path / "book.pdf", "red", "green", "blue"))
    collection.enrich(scope)
    for word, page in (("red", 1), ("green", 2), ("blue", 3)):
        result = collection.search(f"the {word} pattern", scope)
        assert result.hits[0].ref.page == page
        assert result.hits[0].ranks["images"] == 1
        assert "page_bm25" in result.hits[0].ranks
    assert {signal.name: signal.ready for signal in result.signals}["images"] == 1.0


def test_words_count_beside_looks(opened: Callable[..., Collection], tmp_path: Path, english_pdf: Path) -> None:
    collection = opened(ColourEmbedder())
    scope = _scope(collection, _coloured(tmp_path / "book.pdf", "red", "green"), english_pdf)
    collection.enrich(scope)
    best = collection.search("Which well reaches 43 metres?", scope).hits[0]
    assert (collection.document(best.ref.doc_id).name, best.ref.page) == ("orchard.pdf", 3)


def test_a_page_is_embedded_once_and_the_rest_later(opened: Callable[..., Collection], tmp_path: Path) -> None:
    first = _coloured(tmp_path / "first.pdf", "red", "green")
    embedder = ColourEmbedder()
    collection = opened(embedder)
    scope = _scope(collection, first)
    collection.enrich(scope)
    collection.enrich(scope, seconds=0.0)
    assert embedder.seen == 2
    both = _scope(collection, first, _coloured(tmp_path / "second.pdf", "blue"))
    ready = {signal.name: signal.ready for signal in collection.search("blue", both).signals}
    assert ready["images"] == pytest.approx(2 / 3)
    collection.enrich(both, seconds=0.0)
    assert embedder.seen == 2, "no time is left"
    collection.enrich(both)
    assert embedder.seen == 3
    collection.close()
    assert embedder.closed

    again = ColourEmbedder()
    reopened = opened(again)
    reopened.enrich(both)
    assert again.seen == 0
    assert reopened.search("blue", both).hits[0].ref.doc_id == both.doc_ids[1]


def test_only_pages_of_the_scope_are_found(opened: Callable[..., Collection], tmp_path: Path) -> None:
    collection = opened(ColourEmbedder())
    red = _scope(collection, _coloured(tmp_path / "red.pdf", "red"))
    collection.enrich(red)
    blue = _scope(collection, _coloured(tmp_path / "blue.pdf", "blue"))
    collection.enrich(blue)
    assert {hit.ref for hit in collection.search("red", blue).hits} == {PageRef(doc_id=blue.doc_ids[0], page=1)}


def test_a_document_that_is_removed_takes_its_vectors_along(opened: Callable[..., Collection], tmp_path: Path) -> None:
    collection = opened(ColourEmbedder())
    path = _coloured(tmp_path / "red.pdf", "red", "green")
    scope = _scope(collection, path)
    collection.enrich(scope)
    collection.close()
    without_model = opened(None)
    without_model.remove(scope.doc_ids[0])
    without_model.close()
    embedder = ColourEmbedder()
    again = opened(embedder)
    again.enrich(_scope(again, path))
    assert embedder.seen == 2


def test_vectors_of_another_revision_are_refused_with_the_remedy(
    opened: Callable[..., Collection], tmp_path: Path
) -> None:
    path = _coloured(tmp_path / "red.pdf", "red")
    collection = opened(ColourEmbedder())
    collection.enrich(_scope(collection, path))
    other = opened(ColourEmbedder(revision="2"))
    with pytest.raises(InputError, match=r"revision is '1', not '2'.*index the pages again"):
        other.enrich(_scope(other, path))


def test_a_page_whose_file_has_gone_is_left_out(opened: Callable[..., Collection], tmp_path: Path) -> None:
    gone, there = _coloured(tmp_path / "gone.pdf", "red"), _coloured(tmp_path / "there.pdf", "blue")
    embedder = ColourEmbedder()
    collection = opened(embedder)
    scope = _scope(collection, gone, there)
    gone.unlink()
    collection.enrich(scope)
    assert embedder.seen == 1
    ranks = {hit.ref.doc_id: hit.ranks for hit in collection.search("the blue pattern", scope).hits}
    assert "images" not in ranks[scope.doc_ids[0]]
    assert ranks[scope.doc_ids[1]]["images"] == 1


def test_without_a_model_nothing_is_embedded(opened: Callable[..., Collection], tmp_path: Path) -> None:
    assert ImageSettings().embedder.model == ""
    collection = opened(None)
    scope = _scope(collection, _coloured(tmp_path / "red.pdf", "red"))
    collection.enrich(scope)
    result = collection.search("pattern", scope)
    assert "images" not in result.hits[0].ranks
    assert "images" not in {signal.name for signal in result.signals}
    assert not (tmp_path / "collection" / IMAGES_NAME).exists()
