"""What finds page images for a question: their text as OCR reads it, their looks as a model embeds them, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from PIL import Image

from evaluation.chaystack.images import Haystack, HaystackImage
from evaluation.chaystack.records import Candidate, candidate_of
from evaluation.chaystack.samples import CATEGORIES, Category
from retrieval.collection import Collection
from retrieval.embedders.base import PageEmbedder
from retrieval.errors import UnreadableDocument
from retrieval.fusion import reciprocal_ranks
from retrieval.index.image_vectors import ImageVectors
from retrieval.progress import Progress
from retrieval.types import Scope

CHUNK = 32
"""So many images are embedded between two writes: an interruption costs no more than these."""
FUSED_DEPTH = 50
"""So many images of each retriever are fused, where more than one ranks for the same query."""
PER_QUERY = 10
"""So many images of each query of a plan are fused (the reference code's `per_query_k`)."""


class Hit(NamedTuple):
    """An image that was found, by its key."""

    key: str
    score: float


class Retriever(Protocol):
    """Ranks the images of a haystack for a question."""

    @property
    def name(self) -> str:
        """The name under which its ranks are kept."""

    def retrieve(self, question: str, category: Category | None, k: int) -> list[Hit]:
        """The best `k` images of one category, or of all; fewer where no more match at all."""


class TextRetriever:
    """Searches the text that OCR reads on the images: BM25 of pages and passages, and what else the settings weigh."""

    name = "text"

    def __init__(self, collection: Collection, haystack: Haystack) -> None:
        self._collection = collection
        self._haystack = haystack
        self._keys: dict[str, list[str]] = {}
        self._scopes: dict[Category | None, Scope] = {}

    def prepare(self, categories: Sequence[Category], progress: Progress) -> None:
        """Read the images of some categories that aren't read yet, and bring what search needs up to date."""
        images = [image for category in categories for image in self._haystack.of(category)]
        documents = read_images(self._collection, images, progress)
        for key, doc_id in documents.items():
            self._keys.setdefault(doc_id, []).append(key)
        for category in (None, *categories):
            chosen = [documents[i.key] for i in images if i.key in documents and category in (None, i.category)]
            self._scopes[category] = Scope(doc_ids=tuple(dict.fromkeys(chosen)))
        # Without a query: what a question would add to the work would help the questions after it, too.
        self._collection.enrich(self._scopes[None], progress=progress)

    def retrieve(self, question: str, category: Category | None, k: int) -> list[Hit]:
        """As the protocol says; images of the same content stand one after the other."""
        result = self._collection.search(question, self._scopes[category], k)
        images = self._haystack.images
        hits = [
            Hit(key, hit.score)
            for hit in result.hits
            for key in self._keys[hit.ref.doc_id]
            if category in (None, images[key].category)
        ]
        return hits[:k]


class ImageRetriever:
    """Searches the vectors of the images as they look."""

    name = "images"

    def __init__(self, embedder: PageEmbedder, vectors: ImageVectors, haystack: Haystack) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._haystack = haystack
        self._within: dict[Category | None, list[str]] = {}
        self._keys: dict[str, list[str]] = {}

    def prepare(self, categories: Sequence[Category], progress: Progress) -> None:
        """Embed the images of some categories that aren't yet, and add them in chunks; damaged ones are noted.

        Vectors are kept under the hash of an image's content: a changed image is embedded again, a renamed one isn't.
        """
        contents: dict[str, HaystackImage] = {}
        of_category: dict[Category | None, dict[str, None]] = {}
        for category in categories:
            for image in self._haystack.of(category):
                try:
                    content = image.content
                except OSError as error:
                    progress.note(f"{image.path} can't be read ({error.strerror})")
                    continue
                contents.setdefault(content, image)
                self._keys.setdefault(content, []).append(image.key)
                for name in (category, None):
                    of_category.setdefault(name, {})[content] = None
        self._embed(contents, progress)
        there = self._vectors.keys()
        self._within = {name: [c for c in found if c in there] for name, found in of_category.items()}

    def retrieve(self, question: str, category: Category | None, k: int) -> list[Hit]:
        """As the protocol says; images of the same content stand one after the other."""
        within = self._within.get(category, [])
        if not within:
            return []
        (query,) = self._embedder.queries([question])
        images = self._haystack.images
        hits = [
            Hit(key, float(hit.score))
            for hit in self._vectors.search(query, k, within=within)
            for key in self._keys[hit.key]
            if category in (None, images[key].category)
        ]
        return hits[:k]

    def _embed(self, contents: Mapping[str, HaystackImage], progress: Progress) -> None:
        known = self._vectors.keys()
        missing = [content for content in contents if content not in known]
        progress.start("vectors", len(missing))
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            readable = _readable(part, contents, progress)
            if readable:
                self._vectors.add(zip(readable, self._embedder.pages(list(readable.values())), strict=True))
            progress.advance(len(part))


def _readable(part: Sequence[str], contents: Mapping[str, HaystackImage], progress: Progress) -> dict[str, Image.Image]:
    """The images that can be read, by content."""
    found = {}
    for content in part:
        try:
            found[content] = contents[content].image()
        except (UnreadableDocument, OSError) as error:
            progress.note(str(error))
    return found


def read_images(collection: Collection, images: Sequence[HaystackImage], progress: Progress) -> dict[str, str]:
    """Read images that aren't read yet; the documents that they are, by key. What can't be read is noted."""
    report = collection.read([image.path for image in images], progress=progress)
    refused = {refusal.path.resolve() for refusal in report.refused}
    for refusal in report.refused:
        progress.note(refusal.reason)
    documents = {}
    for image in images:
        known = collection.store.known_file(image.path)
        if known is not None and image.path not in refused:
            documents[image.key] = known.doc_id
    return documents


def candidates(
    retrievers: Sequence[Retriever],
    queries: Mapping[str, str],
    category: Category | None,
    k: int,
    haystack: Haystack,
) -> tuple[Candidate, ...]:
    """The best `k` images for one or several queries (by name) of one or several retrievers, fused by reciprocal rank.

    One ranking is taken as it stands, with its scores. Rankings are named after query and retriever where there are
    several of both.
    """
    depth = k if len(retrievers) == 1 and len(queries) == 1 else PER_QUERY if len(queries) > 1 else max(k, FUSED_DEPTH)
    rankings: dict[str, list[Hit]] = {}
    for asked, query in queries.items():
        for retriever in retrievers:
            several = [asked] if len(queries) > 1 else []
            several += [retriever.name] if len(retrievers) > 1 or not several else []
            rankings[" ".join(several)] = retriever.retrieve(query, category, depth)
    if len(rankings) == 1:
        ((name, hits),) = rankings.items()
        ranked = [(hit.key, hit.score, {name: rank}) for rank, hit in enumerate(hits, 1)]
    else:
        fused = reciprocal_ranks({name: [hit.key for hit in hits] for name, hits in rankings.items()})
        ranked = [(found.key, found.score, found.ranks) for found in fused]
    return tuple(
        candidate_of(haystack.images[key], rank, score, ranks) for rank, (key, score, ranks) in enumerate(ranked[:k], 1)
    )


def searched_categories(category_index: Sequence[Category], indexes: Sequence[str]) -> tuple[Category, ...]:
    """The categories whose images have to be read: all of them for the index over all."""
    return CATEGORIES if "all" in indexes else tuple(category_index)
