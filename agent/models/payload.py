"""A prompt as the chat API of OpenAI takes it: messages, parameters, response format."""

from __future__ import annotations

import base64
import re
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from agent.models.failures import Refused
from agent.models.settings import DecodingSettings
from agent.models.texts import encodable
from agent.models.types import Picture, Prompt, StructureMode

Lack = Literal["max_tokens", "temperature", "top_p", "seed", "system", "logprobs"]
"""A parameter or message that a server refuses. Learnt from its refusal, since names of models say nothing sure."""
_REFUSES = re.compile(
    r"unsupported|not (be )?support|n't support|does not allow|not (be )?allowed|not permitted|extra (fields|inputs)"
    r"|unknown|unrecogni[sz]ed|deprecated|cannot both",
    re.IGNORECASE,
)
_LOGPROBS = re.compile(r"log_?prob", re.IGNORECASE)
_ALTERNATIVES = 5
_STRICT_KEYS = frozenset(
    {
        "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
        "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
        "properties", "required", "title", "type",
    }
)  # fmt: skip
"""What a schema may hold where OpenAI enforces it strictly."""


def messages_of(prompt: Prompt, lacks: frozenset[Lack]) -> list[BaseMessage]:
    """System, user with pictures, then the earlier turns. Without system messages, its text leads the user's."""
    messages: list[BaseMessage] = []
    system, user = encodable(prompt.system), encodable(prompt.user)
    if system and "system" in lacks:
        user = f"{system}\n\n{user}"
    elif system:
        messages.append(SystemMessage(system))
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": user}, *map(_picture_block, prompt.pictures)]
    messages.append(HumanMessage(blocks if prompt.pictures else user))
    for role, text in prompt.earlier:
        messages.append(AIMessage(encodable(text)) if role == "assistant" else HumanMessage(encodable(text)))
    return messages


def parameters_of(decoding: DecodingSettings, lacks: frozenset[Lack], prompt: Prompt) -> dict[str, Any]:
    """The decoding settings under the names that the server knows; probabilities are asked for of brief replies."""
    # Ollama and others ignore max_completion_tokens without a word, so the old name goes first.
    length = "max_completion_tokens" if "max_tokens" in lacks else "max_tokens"
    sent: dict[str, Any] = {length: decoding.limit(prompt.brief)}
    if prompt.brief is not None and "logprobs" not in lacks:
        sent |= {"logprobs": True, "top_logprobs": _ALTERNATIVES}
    optional: dict[Lack, Any] = {"temperature": decoding.temperature, "top_p": decoding.top_p, "seed": decoding.seed}
    return sent | {name: value for name, value in optional.items() if value is not None and name not in lacks}


def response_format(prompt: Prompt, mode: StructureMode) -> dict[str, Any] | None:
    """How the form of the reply is enforced; None when it isn't."""
    if mode == "text" or prompt.schema is None:
        return None
    if mode == "json":
        return {"type": "json_object"}
    named: dict[str, Any] = {"name": prompt.role, "schema": prompt.schema}
    if strict_valid(prompt.schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def newly_lacking(refused: Refused, lacks: frozenset[Lack]) -> Lack | None:
    """What the server refuses to take, if that is why it refused and the request works without it."""
    if refused.retry or refused.unsupported or refused.status not in (400, 422):
        return None
    said = refused.said
    if "max_tokens" not in lacks and "max_completion_tokens" in said:
        return "max_tokens"
    # Said in many ways, such as vLLM's "greater than max allowed: 0"; no reply needs them.
    if "logprobs" not in lacks and ("logprobs" in refused.param or _LOGPROBS.search(said)):
        return "logprobs"
    if not _REFUSES.search(said):
        return None
    if "system" not in lacks and re.search(
        r"system (role|messages?|prompts?)|developer instruction", said, re.IGNORECASE
    ):
        return "system"
    names: tuple[Lack, ...] = ("top_p", "temperature", "seed")
    for name in names:
        if name not in lacks and (refused.param == name or re.search(rf"\b{name}\b", said)):
            return name
    return None


def strict_valid(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes a schema: every object closed, and all its properties required."""
    if isinstance(schema, list):
        return all(map(strict_valid, schema))
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _STRICT_KEYS:
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object" or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    named = [*properties.values(), *schema.get("$defs", {}).values()]
    return all(map(strict_valid, [*named, schema.get("items"), schema.get("anyOf")]))


def _picture_block(picture: Picture) -> dict[str, Any]:
    data = base64.b64encode(picture.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{data}"}}
