"""The pages of a haystack as judges and generators see them: an image, and the text that OCR read on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PIL import Image

from evaluation.chaystack.images import Haystack, HaystackImage
from evaluation.chaystack.records import Candidate
from evaluation.chaystack.retrievers import read_images
from evaluation.chaystack.samples import CATEGORIES
from retrieval.collection import Collection
from retrieval.errors import UnreadableDocument
from retrieval.progress import Progress
from retrieval.types import PageRef


class PageTexts(Protocol):
    """Gives the text of images."""

    def read(self, images: Sequence[HaystackImage], progress: Progress) -> None:
        """Read images that aren't read yet; what can't be read is noted."""

    def document(self, image: HaystackImage) -> str | None:
        """The document that an image is; None when it wasn't read."""

    def text(self, image: HaystackImage) -> str:
        """The text of an image; UnreadableDocument when it wasn't read."""


class CollectionTexts:
    """The texts of images that are read into a collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._documents: dict[str, str] = {}

    def read(self, images: Sequence[HaystackImage], progress: Progress) -> None:
        """As the protocol says."""
        missing = [image for image in images if image.key not in self._documents and image.path.is_file()]
        if missing:
            self._documents |= read_images(self._collection, missing, progress)

    def document(self, image: HaystackImage) -> str | None:
        """As the protocol says."""
        return self._documents.get(image.key)

    def text(self, image: HaystackImage) -> str:
        """As the protocol says."""
        doc_id = self.document(image)
        if doc_id is None:
            raise UnreadableDocument(f"{image.path} can't be read", remedy="is it a whole image?")
        return self._collection.page(PageRef(doc_id=doc_id, page=1)).text


@dataclass(frozen=True)
class HaystackPage:
    """A candidate as a page that can be judged; satisfies `tools.judgments.JudgedPage`."""

    source: HaystackImage
    texts: PageTexts

    @property
    def key(self) -> str:
        """The image's key."""
        return self.source.key

    @property
    def content(self) -> str:
        """A hash of the image's file."""
        return self.source.content

    def text(self) -> str:
        """The text that OCR read."""
        return self.texts.text(self.source)

    def image(self) -> Image.Image:
        """The image, at most 2 million pixels."""
        return self.source.shown()


def image_of(candidate: Candidate, haystack: Haystack) -> HaystackImage:
    """The image of a candidate, also one that has gone since, which can't be read then."""
    known = haystack.images.get(candidate.key)
    if known is not None:
        return known
    category = next((c for c in CATEGORIES if c == candidate.metadata.get("category")), CATEGORIES[0])
    return HaystackImage(candidate.image_id, category, Path(candidate.image_path))
