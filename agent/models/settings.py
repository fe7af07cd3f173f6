"""Settings of the model: which one, where it is, how it decodes, what it costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent.models.types import StructureMode
from retrieval.settings import Settings

ModelKind = Literal["none", "endpoint", "local", "scripted"]
Rules = Literal["when_failed", "when_insufficient"]
EvidenceForm = Literal["text", "image", "both"]
Positive = Annotated[int, Field(ge=1)]


class DecodingSettings(Settings):
    """How replies are decoded, in every role alike. Temperature 0 is deterministic."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: int | None = None
    max_tokens: Positive = 1024

    def limit(self, brief: int | None) -> int:
        """The tokens that a reply may take; a brief one takes no more than it says."""
        return self.max_tokens if brief is None else min(brief, self.max_tokens)


class PriceSettings(Settings):
    """US dollars for a million tokens."""

    input: Annotated[float, Field(ge=0)] = 0.0
    output: Annotated[float, Field(ge=0)] = 0.0


class LocalSettings(Settings):
    """How a transformers model is loaded and run in this process.

    `thinking` turns the reasoning of models that can do without it on or off; None leaves it to the checkpoint.
    """

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device_map: str = "auto"
    max_pixels: Positive = 1_003_520
    min_pixels: Positive = 3_136
    batch: Positive = 4
    trust_remote_code: bool = False
    thinking: bool | None = None


class ModelSettings(Settings):
    """The model. `None` for what it can do means that it is asked for.

    `rules` says when the rule-based synthesiser takes over: only when the model's replies can't be used, or also when
    the model finds no answer and the rules are sure of theirs.
    """

    kind: ModelKind = "none"
    name: str = ""
    base_url: str = ""
    api_key: str = Field(default="", repr=False)
    script: str = ""
    vision: bool | None = None
    structured: StructureMode | None = None
    context: Positive | None = None
    evidence: EvidenceForm = "both"
    images: Positive = 5
    dpi: Annotated[int, Field(ge=36, le=400)] = 110
    evidence_tokens: Positive = 6000
    rules: Rules = "when_insufficient"
    decoding: DecodingSettings = DecodingSettings()
    timeout: Annotated[float, Field(gt=0)] = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    backoff: Annotated[float, Field(ge=0)] = 1.0
    concurrency: Positive = 8
    cache: bool = True
    prices: PriceSettings | None = None
    local: LocalSettings = LocalSettings()

    @property
    def together(self) -> int:
        """How many questions are under way at the same time.

        One without a model, since then all work is done here, and with a script, whose replies have an order. Else half
        as many more as the model is asked at once, so that it needn't wait for what happens between its calls.
        """
        return self.concurrency + self.concurrency // 2 if self.kind in ("endpoint", "local") else 1
