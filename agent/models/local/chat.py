"""Prompts in the form that a checkpoint's chat template gives them."""

from __future__ import annotations

from typing import Any

from agent.models.local.checkpoint import Weights
from agent.models.types import ModelFailed, Prompt


class ChatTemplate:
    """Renders prompts. Text of documents can't speak for anybody: control tokens in it are broken up."""

    def __init__(self, weights: Weights, thinking: bool | None) -> None:
        self._weights = weights
        self._options = {} if thinking is None else {"enable_thinking": thinking}
        self._control = _control_tokens(weights)

    def render(self, prompt: Prompt) -> str:
        """The whole prompt as text, up to where the reply begins, with one placeholder a picture."""
        try:
            text = self._weights.processor.apply_chat_template(
                self._messages(prompt), tokenize=False, add_generation_prompt=True, **self._options
            )
        except Exception as error:  # templates are programs of the checkpoint's authors, and raise what they like
            raise ModelFailed(f"the chat template of the model refuses the prompt: {error}") from error
        return str(text)

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        turns: list[tuple[str, str, int]] = [("user", prompt.user, len(prompt.pictures))]
        if prompt.system:
            turns.insert(0, ("system", prompt.system, 0))
        turns += [(role, text, 0) for role, text in prompt.earlier]
        return [{"role": role, "content": self._content(text, pictures)} for role, text, pictures in turns]

    def _content(self, text: str, pictures: int) -> str | list[dict[str, str]]:
        plain = self._plain(text)
        if not self._weights.vision:
            return plain
        return [{"type": "image"}] * pictures + [{"type": "text", "text": plain}]

    def _plain(self, text: str) -> str:
        for token in self._control:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


def _control_tokens(weights: Weights) -> list[str]:
    """The tokens that end turns, begin them or stand for pictures; the longest first."""
    tokenizer, processor = weights.tokenizer, weights.processor
    tokens = {added.content for added in tokenizer.added_tokens_decoder.values() if added.special}
    tokens |= {getattr(processor, name, None) or "" for name in ("image_token", "video_token")}
    return sorted((token for token in tokens if len(token) > 1), key=len, reverse=True)
