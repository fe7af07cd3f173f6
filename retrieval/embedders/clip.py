"""CLIP, SigLIP, SigLIP 2, Chinese-CLIP and AltCLIP: one vector from an image tower, one from a text tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from retrieval.embedders.base import Matrix
from retrieval.embedders.checkpoint import Checkpoint
from retrieval.embedders.loading import Placement, explained, libraries, load_model, placed, to_device
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings

_MODELS = {
    "clip": "CLIPModel",
    "siglip": "SiglipModel",
    "siglip2": "Siglip2Model",
    "chinese_clip": "ChineseCLIPModel",
    "altclip": "AltCLIPModel",
}


class ClipEncoder:
    """A model of the CLIP family with its processor.

    Text beyond the text tower's positions isn't seen: 77 tokens of CLIP, 64 of SigLIP, 512 of the others.
    """

    multi = False

    def __init__(self, model: Any, processor: Any, place: Placement, *, max_pixels: int | None) -> None:
        self._model = model
        self._processor = processor
        self._place = place
        config = model.config
        self._siglip = config.model_type.startswith("siglip")
        self._longest = _longest(config, processor.tokenizer)
        if self._siglip:
            processor.tokenizer.padding_side = "right"
        patch = _side(config.vision_config.patch_size)
        if config.model_type == "siglip2":
            # Images keep their proportions, within a number of patches.
            images = processor.image_processor
            if max_pixels:
                images.max_num_patches = max(1, max_pixels // patch**2)
            self._tokens = int(images.max_num_patches)
            self.preprocessing = f"up to {self._tokens} patches of {patch} pixels"
        else:
            side = _side(config.vision_config.image_size)
            self._tokens = (side // patch) ** 2
            self.preprocessing = f"{side} by {side} pixels"
        self.dimension = self.queries(["?"])[0].shape[1]

    def page_tokens(self, width: int, height: int) -> int:
        """The same for all pages: they are scaled to one size."""
        return self._tokens

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        """One row a page."""
        inputs = self._processor.image_processor(images=list(images), return_tensors="pt")
        return self._vectors(self._model.get_image_features, inputs)

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """One row a question."""
        inputs = self._processor.tokenizer(
            list(texts),
            padding="max_length" if self._siglip else True,
            truncation=True,
            max_length=self._longest,
            return_tensors="pt",
        )
        if self._siglip:
            # SigLIP was trained on texts of one length and sees their padding.
            inputs = {"input_ids": inputs["input_ids"]}
        return self._vectors(self._model.get_text_features, inputs)

    def _vectors(self, features: Any, inputs: Any) -> list[Matrix]:
        import torch

        with torch.inference_mode():
            rows = features(**placed(inputs, self._place)).pooler_output.float().cpu().numpy()
        return [np.asarray(row[None], np.float32) for row in rows]


def open_clip(checkpoint: Checkpoint, settings: ImageEmbedderSettings, place: Placement) -> ClipEncoder:
    """The encoder of a checkpoint; InputError when weights are missing, or limits are set that it hasn't."""
    transformers = libraries()
    if settings.max_pixels and checkpoint.model_type != "siglip2":
        raise InputError(
            f"max_pixels ({settings.max_pixels}) has no effect on {checkpoint.name}: it scales images to one size",
            remedy="leave it out",
        )
    with explained(checkpoint.name):
        processor = transformers.AutoProcessor.from_pretrained(
            checkpoint.folder, trust_remote_code=settings.trust_remote_code
        )
    kind = getattr(transformers, _MODELS[checkpoint.model_type])
    model = load_model(kind, checkpoint.folder, checkpoint.name, dtype=place.dtype)
    return ClipEncoder(to_device(model, place, checkpoint.name), processor, place, max_pixels=settings.max_pixels)


def _longest(config: Any, tokenizer: Any) -> int:
    """Tokens that the text tower takes. AltCLIP's positions, as XLM-RoBERTa's, begin after that of the padding."""
    text = config.text_config
    positions = int(text.max_position_embeddings)
    if config.model_type == "altclip":
        positions -= int(text.pad_token_id) + 1
    return min(positions, int(tokenizer.model_max_length))


def _side(size: Any) -> int:
    """The side of an image or patch; configs have a number or two."""
    return int(size if isinstance(size, int) else size[0])
