"""Qwen3-VL-Embedding (arXiv 2601.04720): one vector, the last token's after a chat template with an instruction."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from retrieval.embedders.base import Matrix
from retrieval.embedders.checkpoint import Checkpoint
from retrieval.embedders.loading import Placement, explained, libraries, load_model, placed, to_device
from retrieval.embedders.qwen_images import PixelLimits, image_tokens, set_limits
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings

PAGE_INSTRUCTION = "Represent the user's input."
QUERY_INSTRUCTION = "Retrieve images or text relevant to the user's query."
_LIMITS = PixelLimits(4 * 32 * 32, 1800 * 32 * 32)
"""Those that the model's authors embed with; its processor has those of the chat model, ten times as much."""
_LONGEST = 8192


class Qwen3VLEncoder:
    """A Qwen3-VL-Embedding model with its processor."""

    multi = False

    def __init__(self, model: Any, processor: Any, place: Placement, settings: ImageEmbedderSettings) -> None:
        self._model = model
        self._processor = processor
        self._place = place
        self._page_instruction = _sentence(settings.page_instruction or PAGE_INSTRUCTION)
        self._query_instruction = _sentence(settings.instruction or QUERY_INSTRUCTION)
        processor.tokenizer.padding_side = "right"
        limits = set_limits(processor, _LIMITS, settings.max_pixels)
        self.dimension = int(model.config.text_config.hidden_size)
        self.preprocessing = f"{limits}; pages: {self._page_instruction} questions: {self._query_instruction}"

    def page_tokens(self, width: int, height: int) -> int:
        """Image tokens of a page of this size."""
        return image_tokens(self._processor, width, height)

    def pages(self, images: Sequence[Image.Image]) -> list[Matrix]:
        """One row a page."""
        prompt = self._prompt(self._page_instruction, {"type": "image"})
        return self._vectors(self._processor(text=[prompt] * len(images), images=list(images), **_OPTIONS))

    def queries(self, texts: Sequence[str]) -> list[Matrix]:
        """One row a question; text beyond 8,192 tokens isn't seen."""
        prompts = [self._prompt(self._query_instruction, {"type": "text", "text": text}) for text in texts]
        return self._vectors(self._processor(text=prompts, truncation=True, max_length=_LONGEST, **_OPTIONS))

    def _prompt(self, instruction: str, content: dict[str, str]) -> str:
        turns = [
            {"role": "system", "content": [{"type": "text", "text": instruction}]},
            {"role": "user", "content": [content]},
        ]
        return str(self._processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _vectors(self, inputs: Any) -> list[Matrix]:
        import torch

        last = inputs["attention_mask"].sum(dim=1) - 1
        with torch.inference_mode():
            states = self._model(**placed(inputs, self._place), use_cache=False).last_hidden_state
            rows = states[torch.arange(len(last)), last.to(states.device)].float().cpu().numpy()
        return [np.asarray(row[None], np.float32) for row in rows]


_OPTIONS: dict[str, Any] = {"padding": True, "return_tensors": "pt"}


def open_qwen3_vl(checkpoint: Checkpoint, settings: ImageEmbedderSettings, place: Placement) -> Qwen3VLEncoder:
    """The encoder of a checkpoint; InputError when weights or the chat template are missing."""
    transformers = libraries()
    with explained(checkpoint.name):
        processor = transformers.Qwen3VLProcessor.from_pretrained(checkpoint.folder)
    if not processor.chat_template:
        raise InputError(
            f"the checkpoint {checkpoint.name} has no chat template, so it takes no instructions",
            remedy="download it again, with chat_template.jinja or chat_template.json",
        )
    model = load_model(transformers.Qwen3VLModel, checkpoint.folder, checkpoint.name, dtype=place.dtype)
    return Qwen3VLEncoder(to_device(model, place, checkpoint.name), processor, place, settings)


def _sentence(instruction: str) -> str:
    """The instruction with a full stop, unless it ends in punctuation: the model was trained so."""
    text = instruction.strip()
    return text if unicodedata.category(text[-1]).startswith("P") else f"{text}."
