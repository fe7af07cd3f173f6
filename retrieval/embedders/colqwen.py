"""ColQwen2, ColQwen2.5, ColQwen3 and ColQwen3.5 by colpali-engine: a vector a token (ColPali, arXiv 2407.01449)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from retrieval.embedders.base import Matrix
from retrieval.embedders.checkpoint import Checkpoint, read_json
from retrieval.embedders.loading import Placement, colpali, explained, load_model, placed, to_device
from retrieval.embedders.qwen_images import image_tokens, set_limits
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings, ImageFamily

_PROJECTION = "custom_text_proj"


class _Classes(NamedTuple):
    """The names of a family's classes in colpali_engine.models."""

    model: str
    processor: str


_CLASSES: dict[ImageFamily, _Classes] = {
    "colqwen2": _Classes("ColQwen2", "ColQwen2Processor"),
    "colqwen2_5": _Classes("ColQwen2_5", "ColQwen2_5_Processor"),
    "colqwen3": _Classes("ColQwen3", "ColQwen3Processor"),
    "colqwen3_5": _Classes("ColQwen3_5", "ColQwen3_5Processor"),
}


class ColQwenEncoder:
    """A ColQwen model with its processor. A page's vectors are those of its image tokens and of the short prompt."""

    multi = True

    def __init__(self, model: Any, processor: Any, place: Placement, *, max_pixels: int | None) -> None:
        self._model = model
        self._processor = processor
        self._place = place
        self.dimension = int(model.dim)
        self.preprocessing = str(set_limits(processor, None, max_pixels))

    def page_tokens(self, width: int, height: int) -> int:
        """Image tokens of a page of this size."""
        return image_tokens(self._processor, width, height)

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        """A row a token that isn't padding."""
        return self._vectors(self._processor.process_images(list(images)))

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """A row a token: those of the text, and the ten that the processor adds to it."""
        return self._vectors(self._processor.process_queries(list(texts)))

    def _vectors(self, inputs: Any) -> list[Matrix]:
        import torch

        own = inputs["attention_mask"].bool()
        with torch.inference_mode():
            vectors = self._model(**placed(inputs, self._place)).float().cpu()
        return [np.asarray(rows[mask].numpy(), np.float32) for rows, mask in zip(vectors, own, strict=True)]


def open_colqwen(
    checkpoint: Checkpoint, family: ImageFamily, settings: ImageEmbedderSettings, place: Placement
) -> ColQwenEncoder:
    """The encoder of a checkpoint, merged or an adapter over its base; InputError when weights are missing."""
    names = _CLASSES[family]
    models = colpali()
    with explained(checkpoint.name):
        processor = getattr(models, names.processor).from_pretrained(checkpoint.processor_folder)
    kind = getattr(models, names.model)
    if checkpoint.base is None:
        model = load_model(kind, checkpoint.folder, checkpoint.name, dtype=place.dtype)
    else:
        saved = read_json(checkpoint.folder / "adapter_config.json").get("modules_to_save") or ()
        spared = _PROJECTION if _PROJECTION in saved else ""
        base = load_model(kind, checkpoint.base.folder, checkpoint.base.name, dtype=place.dtype, spared=spared)
        model = _merged(base, checkpoint.folder, checkpoint.name)
    return ColQwenEncoder(to_device(model, place, checkpoint.name), processor, place, max_pixels=settings.max_pixels)


def _merged(model: Any, adapter: Path, name: str) -> Any:
    """The model with the adapter's weights added to its own; InputError when they don't fit each other."""
    with explained(name), warnings.catch_warnings():
        # peft uses a name that transformers is about to drop.
        warnings.simplefilter("ignore", FutureWarning)
        from peft import PeftConfig, PeftModel

        # Weights are renamed as those of the model are: adapters are older than transformers' present names.
        wrapped = PeftModel(model, PeftConfig.from_pretrained(str(adapter)))
        found = wrapped.load_adapter(
            str(adapter), "default", torch_device="cpu", key_mapping=type(model)._checkpoint_conversion_mapping
        )
        lost = sorted([*found.missing_keys, *found.unexpected_keys])
        if lost:
            raise InputError(
                f"the adapter {name} doesn't fit its base: {len(lost)} weights have no place or are missing, such as "
                f"{lost[0]}",
                remedy="take the base that it was trained on, or a merged checkpoint",
            )
        return wrapped.merge_and_unload().eval()
