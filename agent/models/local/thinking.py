"""The hidden reasoning of a reply, taken apart from what it says."""

from __future__ import annotations

from typing import NamedTuple

_OPEN, _CLOSE = "<think>", "</think>"


class Spoken(NamedTuple):
    """What a reply says and what was thought before; `thinking` is None when the model doesn't think aloud."""

    text: str
    thinking: str | None


def split_thinking(reply: str, *, opened: bool = False) -> Spoken:
    """Take `<think>...</think>` off the start of a reply.

    `opened`: the prompt ended with `<think>` already, as the templates of some reasoning models do. Thinking that was
    cut off leaves no text. Tags further down are part of the text.
    """
    start = reply.lstrip()
    if start.startswith(_OPEN):
        opened, start = True, start[len(_OPEN) :]
    if not opened:
        return Spoken(reply.strip(), None)
    thinking, _, text = start.partition(_CLOSE)
    return Spoken(text.strip(), thinking.strip() or None)
