"""Batches of prompts through a loaded model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from agent.models.local.batches import Ticket
from agent.models.local.chat import ChatTemplate
from agent.models.local.checkpoint import Weights, one_line
from agent.models.local.pictures import decode, fitted, limit_pixels
from agent.models.local.thinking import split_thinking
from agent.models.settings import ModelSettings
from agent.models.types import ModelFailed, Reply

_ALTERNATIVES = 20
"""Tokens whose probabilities are told at a place: YES and NO are written in several ways."""
_MOST_PLACES = 32


@dataclass(frozen=True, slots=True)
class _Row:
    """A ticket ready for a batch: its rendered prompt and pictures."""

    ticket: Ticket
    text: str
    pictures: list[Image.Image]


@dataclass(frozen=True, slots=True)
class _New:
    """The new tokens of a row, and the chances of the first of them."""

    tokens: list[int]
    chances: list[dict[str, float]]

    def cut(self, limit: int) -> _New:
        """The first `limit` of them."""
        return _New(tokens=self.tokens[:limit], chances=self.chances[:limit])


class Generator:
    """Answers batches of tickets. Not for several threads at once.

    A batch that fails is halved until what is at fault stands alone: memory that didn't suffice may suffice for less,
    and one bad request doesn't take others with it.
    """

    def __init__(self, weights: Weights, settings: ModelSettings, context: int) -> None:
        self._weights = weights
        self._settings = settings
        self._context = context
        self._chat = ChatTemplate(weights, settings.local.thinking)
        self._scales = weights.vision and limit_pixels(weights.processor, weights.model.config, settings.local)

    def answer(self, tickets: Sequence[Ticket]) -> None:
        """Settle every ticket with its reply or with a ModelFailed."""
        rows = []
        for ticket in tickets:
            try:
                rows.append(self._row(ticket))
            except ModelFailed as error:
                ticket.settle(error)
        # Apart from each other: brief replies needn't wait for long ones, whose chances would fill the memory.
        self._run([row for row in rows if row.ticket.prompt.brief is not None])
        self._run([row for row in rows if row.ticket.prompt.brief is None])

    def _row(self, ticket: Ticket) -> _Row:
        prompt, limits = ticket.prompt, self._settings.local
        pictures = [decode(picture) for picture in prompt.pictures]
        if not self._scales:
            pictures = [fitted(picture, limits.min_pixels, limits.max_pixels) for picture in pictures]
        return _Row(ticket=ticket, text=self._chat.render(prompt), pictures=pictures)

    def _run(self, rows: Sequence[_Row]) -> None:
        if not rows:
            return
        try:
            self._attempt(rows)
            return
        except Exception as error:  # transformers and CUDA raise all kinds of errors over odd input
            failure = self._explained(error)
        # Here, outside of the handler, nothing holds the failed attempt's tensors any more.
        _free_memory()
        if len(rows) == 1:
            rows[0].ticket.settle(failure)
            return
        half = len(rows) // 2
        self._run(rows[:half])
        self._run(rows[half:])

    def _attempt(self, rows: Sequence[_Row]) -> None:
        inputs = self._encoded(rows)
        lengths = [int(length) for length in inputs["attention_mask"].sum(dim=1)]
        fitting = [row for row, length in zip(rows, lengths, strict=True) if length < self._context]
        if len(fitting) < len(rows):
            for row, length in zip(rows, lengths, strict=True):
                if length >= self._context:
                    row.ticket.settle(self._too_long(length))
            self._run(fitting)
            return
        limits = [self._settings.decoding.limit(row.ticket.prompt.brief) for row in rows]
        room = [min(limit, self._context - length) for limit, length in zip(limits, lengths, strict=True)]
        made = self._generated(inputs, rows, room)
        for row, new, limit, length in zip(rows, made, room, lengths, strict=True):
            row.ticket.settle(self._reply(row, new.cut(limit), length))

    def _encoded(self, rows: Sequence[_Row]) -> Any:
        texts = [row.text for row in rows]
        # The template has written the special tokens already.
        options: dict[str, Any] = {"padding": True, "return_tensors": "pt", "add_special_tokens": False}
        if self._weights.vision:
            # Grouped by prompt: LLaVA-OneVision sees several pictures of a prompt in less detail than a single one.
            pictures = [row.pictures for row in rows if row.pictures]
            return self._weights.processor(text=texts, images=pictures or None, **options)
        return self._weights.processor(texts, **options)

    def _generated(self, inputs: Any, rows: Sequence[_Row], room: Sequence[int]) -> list[_New]:
        """The new tokens of every row, and whatever stands after their end; chances where brief replies are wanted."""
        import torch

        width = inputs["input_ids"].shape[1]

        def done(ids: Any, _: Any, **__: Any) -> Any:
            made = ids.shape[1] - width
            ended = [row.ticket.dropped.is_set() or made >= limit for row, limit in zip(rows, room, strict=True)]
            return torch.tensor(ended, dtype=torch.bool, device=ids.device)

        if self._settings.decoding.temperature > 0 and self._settings.decoding.seed is not None:
            torch.manual_seed(self._settings.decoding.seed)
        model = self._weights.model
        placed = {
            name: tensor.to(model.device, model.dtype) if tensor.is_floating_point() else tensor.to(model.device)
            for name, tensor in inputs.items()
        }
        config = self._decoding(max(room))
        if brief := rows[0].ticket.prompt.brief is not None:
            config.update(return_dict_in_generate=True, output_logits=True)
        with torch.inference_mode():
            made = model.generate(**placed, generation_config=config, stopping_criteria=[done])
        ids = made.sequences if brief else made
        tokens = [list(map(int, row)) for row in ids[:, width:].cpu()]
        chances = [self._chances(logits) for logits in made.logits[:_MOST_PLACES]] if brief else []
        return [_New(tokens=row, chances=[place[at] for place in chances]) for at, row in enumerate(tokens)]

    def _chances(self, logits: Any) -> list[dict[str, float]]:
        """The likeliest tokens at one place with their probabilities, for every row."""
        shares, ids = logits.float().softmax(dim=-1).topk(min(_ALTERNATIVES, logits.shape[-1]), dim=-1)
        decode = self._weights.tokenizer.decode
        found: list[dict[str, float]] = []
        for row, share in zip(ids.tolist(), shares.tolist(), strict=True):
            stated: dict[str, float] = {}
            for token, part in zip(row, share, strict=True):
                text = decode([token], clean_up_tokenization_spaces=False)
                stated[text] = stated.get(text, 0.0) + part
            found.append(stated)
        return found

    def _decoding(self, most: int) -> Any:
        """The checkpoint's own config of generation, with our decoding; it keeps its end tokens and penalties."""
        config = copy.deepcopy(self._weights.model.generation_config)
        decoding = self._settings.decoding
        sampled = decoding.temperature > 0
        config.update(
            do_sample=sampled,
            temperature=decoding.temperature if sampled else None,
            top_p=decoding.top_p if sampled else None,
            top_k=0 if sampled else None,
            num_beams=1,
            max_length=None,
            max_new_tokens=most,
            pad_token_id=self._weights.tokenizer.pad_token_id,
        )
        return config

    def _reply(self, row: _Row, new: _New, length: int) -> Reply:
        ends, tokens = self._ends(), new.tokens
        stop = next((place for place, token in enumerate(tokens) if token in ends), None)
        tokens = tokens[:stop]
        text = self._weights.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        spoken = split_thinking(text, opened=row.text.rstrip().endswith("<think>"))
        return Reply(
            text=spoken.text,
            thinking=spoken.thinking,
            tokens_in=length,
            tokens_out=len(tokens),
            finish="length" if stop is None else "stop",
            chances=tuple(new.chances[: len(tokens)]) if new.chances else None,
        )

    def _ends(self) -> set[int]:
        ends = self._weights.model.generation_config.eos_token_id
        if ends is None:
            ends = self._weights.tokenizer.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends}

    def _too_long(self, length: int) -> ModelFailed:
        return ModelFailed(
            f"the prompt takes {length} tokens, and the context of {self._settings.name} is {self._context}",
            remedy="lower model.evidence_tokens, model.images or model.local.max_pixels",
        )

    def _explained(self, error: Exception) -> ModelFailed:
        import torch

        name = self._settings.name
        if isinstance(error, torch.OutOfMemoryError):
            return ModelFailed(
                f"the memory of the device doesn't suffice for one request to {name}",
                remedy=f"lower model.local.max_pixels ({self._settings.local.max_pixels}) or model.images",
            )
        return ModelFailed(f"{name} failed on this prompt: {type(error).__name__}: {one_line(error)}")


def _free_memory() -> None:
    """Give what is cached for tensors that are gone back to the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
