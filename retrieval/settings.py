"""Settings of reading and retrieval. Defaults are the `embedded` profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]
OcrEngineName = Literal["rapidocr", "paddleocr"]


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


SIGNALS = ("page_bm25", "passage_bm25", "vectors", "structure", "statements")


class SearchSettings(Settings):
    """How much each signal weighs when pages are ranked; a signal that weighs 0 is not computed."""

    page_bm25: Weight = 1.0
    passage_bm25: Weight = 0.5
    vectors: Weight = 0.6
    structure: Weight = 4.0
    statements: Weight = 1.0
    neighbours: Weight = 0.2
    glossary: Weight = 0.5

    def weights(self) -> dict[str, float]:
        """Weight by signal name."""
        return {name: getattr(self, name) for name in SIGNALS}


class RetrievalSettings(Settings):
    """Everything below the agent."""

    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    vectors: Literal["when_needed", "always", "never"] = "when_needed"
    enrich_seconds: Annotated[float, Field(ge=0)] = 6.0
