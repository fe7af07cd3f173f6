"""From page images and questions to ranked pages, with checkpoints as they come from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Written
from tiny_embedders import WRITERS

from retrieval.collection import IMAGES_NAME, Collection
from retrieval.embedders.choice import open_page_embedder
from retrieval.settings import ImageEmbedderSettings, ImageSettings, RetrievalSettings, SearchSettings
from retrieval.types import Scope

pytestmark = pytest.mark.local
QUESTION = "How many wells supply the orchard?"


@pytest.mark.parametrize("family", ["colqwen2_5", "colqwen3", "qwen3_vl", "siglip", "chinese_clip"])
def test_pages_are_ranked_by_the_model_that_the_settings_name(
    checkpoint: Written, tmp_path: Path, english_pdf: Path, family: str
) -> None:
    assert family in WRITERS
    chosen = ImageEmbedderSettings(model=str(checkpoint(family)))
    only_images = SearchSettings(
        page_bm25=0, passage_bm25=0, vectors=0, images=1, structure=0, statements=0, neighbours=0
    )
    settings = RetrievalSettings(vectors="never", images=ImageSettings(embedder=chosen), search=only_images)
    collection = Collection(tmp_path / "collection", settings)
    scope = Scope(doc_ids=tuple(d.doc_id for d in collection.read([english_pdf]).documents))
    collection.enrich(scope)
    found = collection.search(QUESTION, scope)
    images = [collection.image(hit.ref) for hit in found.hits]
    collection.close()

    embedder = open_page_embedder(chosen)
    (query,) = embedder.queries([QUESTION])
    scores = [float((page @ query.T).max(axis=0).sum()) for page in embedder.pages(images)]
    embedder.close()
    assert len(found.hits) == 3
    assert [hit.ranks["images"] for hit in found.hits] == [1, 2, 3]
    assert scores == sorted(scores, reverse=True)
    assert np.ptp(scores) > 0
    assert [path.name for path in (tmp_path / "collection" / IMAGES_NAME).iterdir()] == [checkpoint(family).name]
