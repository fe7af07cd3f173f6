"""Retrievers over a haystack: by the text of the images, by their looks, and both fused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_haystack import Notes

from evaluation.chaystack import retrievers
from evaluation.chaystack.images import Haystack, HaystackImage, find_images
from evaluation.chaystack.retrievers import Hit, ImageRetriever, TextRetriever, candidates
from retrieval.collection import Collection
from retrieval.embedders.base import EmbedderCard, Matrix
from retrieval.index.image_vectors import ImageVectors
from retrieval.settings import ImageIndexSettings, RetrievalSettings

CARD = EmbedderCard(model="colours", revision="1", family="clip", dimension=3, multi=False)
COLOURS = {"red": (250, 10, 10), "green": (10, 250, 10), "blue": (10, 10, 250), "pink": (250, 120, 120)}
QUESTIONS = {"红色的是哪张？": "red", "蓝色的是哪张？": "blue"}


class ColourEmbedder:
    """The mean colour of an image as its vector; counts the images that it embeds and may be interrupted."""

    card = CARD

    def __init__(self, fatal: int | None = None) -> None:
        self.embedded = 0
        self.fatal = fatal

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        if self.fatal is not None and self.embedded >= self.fatal:
            raise KeyboardInterrupt
        self.embedded += len(images)
        return [_unit(np.asarray(image, np.float32).mean((0, 1))) for image in images]

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        return [_unit(np.asarray(COLOURS[QUESTIONS[text]], np.float32)) for text in texts]

    def close(self) -> None:
        """Nothing is held."""


def _unit(vector: np.ndarray) -> Matrix:
    return (vector / np.linalg.norm(vector)).astype(np.float32)[None, :]


@pytest.fixture
def coloured(tmp_path: Path) -> Path:
    """Images of one colour each; paper/pink is a damaged one, camera/copy the same file as paper/red."""
    files = {"paper": ["red", "green", "pink"], "camera": ["blue"], "webpage": [], "advertise": ["pink"]}
    for category, names in files.items():
        (tmp_path / "image" / category).mkdir(parents=True)
        for name in names:
            Image.new("RGB", (8, 8), COLOURS[name]).save(tmp_path / "image" / category / f"{name}.png")
    whole = (tmp_path / "image" / "paper" / "red.png").read_bytes()
    (tmp_path / "image" / "camera" / "copy.png").write_bytes(whole)
    (tmp_path / "image" / "paper" / "pink.png").write_bytes(whole[:30])
    return tmp_path


def _vectors(folder: Path) -> ImageVectors:
    return ImageVectors(folder, CARD, ImageIndexSettings())


CATEGORIES = ("paper", "camera", "webpage", "advertise")


def test_images_are_ranked_by_their_looks_in_a_category_or_in_all(coloured: Path, tmp_path: Path) -> None:
    haystack, notes = find_images(coloured), []
    found = ImageRetriever(ColourEmbedder(), _vectors(tmp_path / "vectors"), haystack)
    found.prepare(CATEGORIES, Notes(notes))
    assert [hit.key for hit in found.retrieve("红色的是哪张？", None, 3)] == [
        "paper/red",
        "camera/copy",
        "advertise/pink",
    ]
    assert [hit.key for hit in found.retrieve("红色的是哪张？", "camera", 3)] == ["camera/copy", "camera/blue"]
    assert [hit.key for hit in found.retrieve("蓝色的是哪张？", "paper", 9)] == ["paper/green", "paper/red"]
    assert found.retrieve("蓝色的是哪张？", "webpage", 3) == []
    (note,) = notes
    assert "pink.png" in note


def test_interrupted_embedding_keeps_what_it_did(
    coloured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrievers, "CHUNK", 2)
    haystack = find_images(coloured)
    first = ColourEmbedder(fatal=2)
    with pytest.raises(KeyboardInterrupt):
        ImageRetriever(first, _vectors(tmp_path / "vectors"), haystack).prepare(CATEGORIES, Notes([]))
    second = ColourEmbedder()
    found = ImageRetriever(second, _vectors(tmp_path / "vectors"), haystack)
    found.prepare(CATEGORIES, Notes([]))
    # Four images can be read, and two of the files are one; the first two chunks were kept.
    assert (first.embedded, second.embedded) == (3, 1)
    whole = ImageRetriever(ColourEmbedder(), _vectors(tmp_path / "whole"), haystack)
    whole.prepare(CATEGORIES, Notes([]))
    for question in QUESTIONS:
        assert found.retrieve(question, None, 9) == whole.retrieve(question, None, 9)


def test_a_changed_image_is_embedded_again_and_a_renamed_one_is_not(coloured: Path, tmp_path: Path) -> None:
    ImageRetriever(ColourEmbedder(), _vectors(tmp_path / "vectors"), find_images(coloured)).prepare(
        CATEGORIES, Notes([])
    )
    folder = coloured / "image" / "camera"
    (folder / "blue.png").rename(folder / "sea.png")
    Image.new("RGB", (8, 8), (9, 9, 200)).save(folder / "copy.png")
    embedder = ColourEmbedder()
    found = ImageRetriever(embedder, _vectors(tmp_path / "vectors"), find_images(coloured))
    found.prepare(CATEGORIES, Notes([]))
    assert embedder.embedded == 1
    assert {hit.key for hit in found.retrieve("蓝色的是哪张？", "camera", 9)} == {"camera/sea", "camera/copy"}


@pytest.fixture
def read(tmp_path: Path, make_pdf: Callable[..., Path]) -> Iterator[TextRetriever]:
    """Text search over four pages, which are digital ones to be read fast."""
    pages = {
        "paper/orchard": "林丘果园共有苹果树三百一十二棵",
        "paper/harvest": "2024年收获苹果18.4吨",
        "webpage/stew": "高压锅上汽后再炖二十分钟",
        "camera/copy": "高压锅上汽后再炖二十分钟",
    }
    images = {}
    for key, text in pages.items():
        category, _, name = key.partition("/")
        path = make_pdf(f"{category}-{name}.pdf", [text])
        images[key] = HaystackImage(name, category, path)  # type: ignore[arg-type]
    settings = RetrievalSettings.model_validate({"ingest": {"workers": 1}, "search": {"vectors": 0}})
    collection = Collection(tmp_path / "collection", settings)
    found = TextRetriever(collection, Haystack(images))
    found.prepare(CATEGORIES, Notes([]))
    yield found
    collection.close()


def test_text_is_searched_in_a_category_or_in_all_and_copies_stand_together(read: TextRetriever) -> None:
    assert read.retrieve("林丘果园有多少棵苹果树？", None, 1)[0].key == "paper/orchard"
    assert [hit.key for hit in read.retrieve("高压锅上汽后炖多久？", None, 5)] == ["camera/copy", "webpage/stew"]
    assert [hit.key for hit in read.retrieve("高压锅上汽后炖多久？", "camera", 5)] == ["camera/copy"]
    assert read.retrieve("高压锅上汽后炖多久？", "paper", 5) == []


class Fixed:
    """A retriever that ranks as it is told."""

    def __init__(self, name: str, *keys: str) -> None:
        self.name = name
        self.keys = keys
        self.depths: list[int] = []

    def retrieve(self, question: str, category: str | None, k: int) -> list[Hit]:
        self.depths.append(k)
        return [Hit(key, 9.0 - place) for place, key in enumerate(self.keys[:k])]


def test_several_rankings_are_fused_by_reciprocal_rank_with_their_ranks_kept(coloured: Path) -> None:
    haystack = find_images(coloured)
    text = Fixed("text", "paper/red", "paper/green", "camera/blue")
    images = Fixed("images", "paper/green", "camera/copy")
    (alone, *_) = candidates([text], {"question": "?"}, None, 2, haystack)
    assert (alone.score, alone.ranks, text.depths) == (9.0, {"text": 1}, [2])
    fused = candidates([text, images], {"question": "?"}, None, 3, haystack)
    assert [candidate.image_id for candidate in fused] == ["green", "red", "copy"]
    assert fused[0].ranks == {"text": 2, "images": 1}
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61, abs=1e-6)
    assert [candidate.rank for candidate in fused] == [1, 2, 3]
    planned = candidates([text, images], {"question": "?", "query 1": "!"}, None, 3, haystack)
    assert planned[0].ranks == {"question text": 2, "question images": 1, "query 1 text": 2, "query 1 images": 1}
    assert text.depths[-2:] == [10, 10]
