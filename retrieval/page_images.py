"""Search by page images in a collection: each page is rendered, embedded once, and kept beside the store."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PIL.Image import Image

from retrieval.embedders.base import PageEmbedder
from retrieval.errors import DocsageError
from retrieval.index.image_vectors import ImageVectors
from retrieval.index.manifest import read_manifest
from retrieval.progress import Progress
from retrieval.settings import ImageEmbedderSettings, ImageIndexSettings, ImageSettings
from retrieval.types import PageRef

OpenEmbedder = Callable[[ImageEmbedderSettings], PageEmbedder]
_AT_ONCE = 16
"""Pages that are rendered, embedded and written together: what an interruption costs at most."""
_FOUND = 200
"""How many pages of a scope get a score; those beyond would change no ranking that anybody reads."""


class PageImages:
    """The vectors of a collection's page images by one model, which is loaded when it is first needed.

    Vectors stand in a folder of their own for each model: `folder/<model>`. Safe to share between threads.
    """

    def __init__(
        self, folder: Path, settings: ImageSettings, render: Callable[[PageRef], Image], open_embedder: OpenEmbedder
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._render = render
        self._open_embedder = open_embedder
        self._lock = threading.RLock()
        self._embedder: PageEmbedder | None = None
        self._vectors: ImageVectors | None = None

    def missing(self, refs: Iterable[PageRef]) -> list[PageRef]:
        """Those of the pages that have no vectors yet, in the same order."""
        known = self._index().keys()
        return [ref for ref in refs if _key(ref.doc_id, ref.page) not in known]

    def embed(self, refs: Sequence[PageRef], *, progress: Progress, deadline: float | None = None) -> int:
        """Embed pages until `deadline` (time.monotonic()); how many were.

        Each few pages are written before the next are rendered. A page that can't be rendered is noted and left out.
        """
        done = 0
        for start in range(0, len(refs), _AT_ONCE):
            some = refs[start : start + _AT_ONCE]
            if deadline is not None and time.monotonic() >= deadline:
                break
            shown = [(ref, image) for ref in some if (image := self._rendered(ref, progress)) is not None]
            with self._lock:
                vectors = self._model().pages([image for _, image in shown])
                self._index().add(
                    (_key(ref.doc_id, ref.page), one) for (ref, _), one in zip(shown, vectors, strict=True)
                )
            progress.advance(len(some))
            done += len(shown)
        return done

    def search(self, query: str, pages: Sequence[tuple[str, int]]) -> dict[int, float]:
        """How alike to the query the best of the (document, page) are, by their place in `pages`; 200 at most."""
        places = {_key(*page): place for place, page in enumerate(pages)}
        with self._lock:
            known = self._index().keys()
            within = known & places.keys()
            if not within:
                return {}
            (query_vectors,) = self._model().queries([query])
            found = self._index().search(query_vectors, _FOUND, within=None if len(within) == len(known) else within)
        return {places[match.key]: match.score for match in found}

    def coverage(self, pages: Sequence[tuple[str, int]]) -> float:
        """Share of the (document, page) that have vectors; 0 for no pages."""
        known = self._index().keys()
        return sum(_key(*page) in known for page in pages) / len(pages) if pages else 0.0

    def close(self) -> None:
        """Close the index and give the memory of the model back."""
        with self._lock:
            if self._vectors is not None:
                self._vectors.close()
            if self._embedder is not None:
                self._embedder.close()
            self._vectors = self._embedder = None

    def _rendered(self, ref: PageRef, progress: Progress) -> Image | None:
        try:
            return self._render(ref)
        except DocsageError as error:
            progress.note(str(error))
            return None

    def _model(self) -> PageEmbedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open_embedder(self._settings.embedder)
            return self._embedder

    def _index(self) -> ImageVectors:
        with self._lock:
            if self._vectors is None:
                card = self._model().card
                self._vectors = ImageVectors(self._folder / _folder_name(card.model), card, self._settings.index)
            return self._vectors


def forget_document(folder: Path, doc_id: str) -> None:
    """Remove the vectors of a document, of every model, without loading one."""
    for one in sorted(folder.glob("*/")):
        manifest = read_manifest(one)
        if manifest is None or not manifest.segments:
            continue
        kept = ImageIndexSettings(storage="fp16" if manifest.storage == "fp32" else manifest.storage)
        vectors = ImageVectors(one, manifest.card, kept.model_copy(update={"pooling": manifest.pooling}))
        vectors.remove(key for key in vectors.keys() if key.partition("/")[0] == doc_id)  # noqa: SIM118  # no dict
        vectors.close()


def _folder_name(model: str) -> str:
    """The folder of a model: the last two parts of its name or path, as a file system takes them."""
    parts = [part for part in re.split(r"[/\\]+", model) if part not in ("", ".", "..")][-2:]
    return re.sub(r"[^\w.-]", "_", "--".join(parts)) or "model"


def _key(doc_id: str, page: int) -> str:
    return f"{doc_id}/{page}"
