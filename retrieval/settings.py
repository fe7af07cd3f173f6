"""Settings of reading and retrieval. Defaults are the `embedded` profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]
OcrEngineName = Literal["rapidocr", "paddleocr"]
ImageFamily = Literal[
    "colqwen2", "colqwen2_5", "colqwen3", "colqwen3_5", "qwen3_vl", "clip", "siglip", "chinese_clip", "altclip"
]


class Settings(BaseModel):
    """Base of all settings: unknown keys are refused, so that a typing error is seen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OcrSettings(Settings):
    """When and how page images are read.

    `rapidocr` has its models with it. `paddleocr` reads with the models in `det_model_dir`, `rec_model_dir` and, to
    tell lines that stand upside down, `cls_model_dir`: folders on disk, for nothing is downloaded.
    """

    engine: OcrEngineName = "rapidocr"
    det_model_dir: Path | None = None
    rec_model_dir: Path | None = None
    cls_model_dir: Path | None = None
    dpi: Positive = 150
    max_side: Positive = 2000
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    figures: bool = True
    figure_min_area: Annotated[float, Field(ge=0, le=1)] = 0.02

    @property
    def reader(self) -> str:
        """The engine with its models: text that one reader read is not given out as that of another."""
        if self.engine == "rapidocr":
            return self.engine
        folders = (self.det_model_dir, self.rec_model_dir, self.cls_model_dir)
        return " ".join([self.engine, *(str(folder.expanduser().absolute()) for folder in folders if folder)])


class IngestSettings(Settings):
    """How documents are read."""

    workers: Positive = os.cpu_count() or 1
    page_timeout: Annotated[float, Field(gt=0)] = 120.0
    ocr: OcrSettings = OcrSettings()


SIGNALS = ("page_bm25", "passage_bm25", "vectors", "images", "structure", "statements")


class SearchSettings(Settings):
    """How much each signal weighs when pages are ranked; a signal that weighs 0 is not computed.

    `images` counts where a model of page images is set. `fusion`: weighted sums of scores, each signal's scaled to a
    best page of 1, or of reciprocal ranks, which need no scale.
    """

    page_bm25: Weight = 1.0
    passage_bm25: Weight = 0.5
    vectors: Weight = 0.6
    images: Weight = 1.0
    structure: Weight = 4.0
    statements: Weight = 1.0
    neighbours: Weight = 0.2
    glossary: Weight = 0.5
    fusion: Literal["scores", "reciprocal_ranks"] = "scores"

    def weights(self) -> dict[str, float]:
        """Weight by signal name."""
        return {name: getattr(self, name) for name in SIGNALS}


class ImageEmbedderSettings(Settings):
    """The model that embeds page images; none when `model` is empty.

    `model` is the folder of a checkpoint or a hub name; `family` is told from its config unless it is given.
    `batch_tokens` bounds a batch by the tokens that its images take. `instruction` goes before questions and
    `page_instruction` before pages, where the family has any. `dimension` cuts vectors that were trained to be cut
    (Matryoshka); None keeps them whole.
    """

    model: str = ""
    family: ImageFamily | None = None
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_tokens: Positive = 16_384
    max_pixels: Positive | None = None
    instruction: str | None = None
    page_instruction: str | None = None
    dimension: Positive | None = None
    trust_remote_code: bool = False


class ImageIndexSettings(Settings):
    """How vectors of page images are kept and searched.

    `kind` is for models with one vector a page: flat up to 50,000 pages, HNSW up to a million, IVF-PQ beyond, unless it
    is given. The others are for models with many: `storage` of token vectors; `pooling` joins the most alike token
    vectors until one in `pooling` is left (1: none); `candidates` of the approximate search, by fixed-dimensional
    encodings or by pooled vectors, are then ranked by exact MaxSim (0: all pages are).
    """

    kind: Literal["auto", "flat", "hnsw", "ivf_pq"] = "auto"
    storage: Literal["fp16", "int8", "binary"] = "fp16"
    pooling: Positive = 1
    approximation: Literal["encodings", "pooled"] = "pooled"
    candidates: Annotated[int, Field(ge=0)] = 400


class ImageSettings(Settings):
    """Search by page images, beside that by text."""

    embedder: ImageEmbedderSettings = ImageEmbedderSettings()
    index: ImageIndexSettings = ImageIndexSettings()


class RetrievalSettings(Settings):
    """Everything below the agent."""

    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    images: ImageSettings = ImageSettings()
    vectors: Literal["when_needed", "always", "never"] = "when_needed"
    enrich_seconds: Annotated[float, Field(ge=0)] = 6.0
