"""The likeliest tokens at each place of a brief reply, with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agent.models.texts import encodable

Chances = tuple[dict[str, float], ...]
_MOST_PLACES = 64
_MOST_TOKENS = 20


def chances_in(logprobs: Any) -> Chances | None:
    """The chances that a chat completion of OpenAI's form states; None when it states none that can be read."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, Sequence) or isinstance(content, str) or not content:
        return None
    places = []
    for entry in content[:_MOST_PLACES]:
        if not isinstance(entry, Mapping):
            return None
        others = entry.get("top_logprobs")
        # The token that was taken stands among the others unless it was drawn from further down.
        listed = list(others[:_MOST_TOKENS]) if isinstance(others, list) else []
        stated = dict(filter(None, map(_stated, [entry, *listed])))
        if not stated:
            return None
        places.append(stated)
    return tuple(places)


def _stated(entry: Any) -> tuple[str, float] | None:
    token, logprob = (entry.get("token"), entry.get("logprob")) if isinstance(entry, Mapping) else (None, None)
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    return None if math.isnan(logprob) else (encodable(token), math.exp(min(float(logprob), 0.0)))
