"""What servers are asked about a model: its name, what it can see, how it replies with JSON, how much it reads.

Servers say it in ways of their own (vLLM and hosted ones in `/models`, llama.cpp in `/props`, Ollama in `/api/show`);
what none says is tried with a small request. Nothing is guessed from names.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent.models.failures import Refused, Unusable, worded
from agent.models.types import Picture, Prompt, Reply, StructureMode

Ask = Callable[[Prompt, StructureMode], Awaitable[Reply]]
_CONTEXT_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""In `/models`: of vLLM and SGLang; OpenRouter and Together; Groq; Mistral."""
_COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["green", "blue", "red"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_NUMBER = "7294"
_MOST = 10**9
"""More than any context has: a count beyond it is none."""
_DENIED = (401, 403, 404)


@dataclass(frozen=True, slots=True)
class Said:
    """What a server says of a model; None is what it doesn't say."""

    vision: bool | None = None
    context: int | None = None

    def or_else(self, other: Said) -> Said:
        """This, with what it lacks from `other`."""
        return Said(
            vision=other.vision if self.vision is None else self.vision,
            context=self.context or other.context,
        )

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask for."""
        return self.vision is not None and self.context is not None


class Server(Protocol):
    """Where questions about models go."""

    async def listed(self) -> list[dict[str, Any]] | None:
        """The entries of `/models`; None when the server has no such list."""

    async def fetched(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """The JSON object at a path next to the API (POST when there is a body); None when there is none."""


async def said_by(server: Server, name: str, known: Said) -> Said:
    """What a server says of the model `name`, beyond what is known; asked for no longer than needed."""
    entries = await server.listed() or []
    found = known.or_else(said_in_list(entries, name))
    if not found.complete and (props := await server.fetched("/props")):
        found = found.or_else(_said_by_llama_cpp(props))
    if not found.complete and (shown := await server.fetched("/api/show", {"model": name})):
        found = found.or_else(await _said_by_ollama(server, name, shown))
    if found.context is None:
        found = found.or_else(_trained_on(entries, name))
    return found


def said_in_list(entries: list[dict[str, Any]], name: str) -> Said:
    """What the entry of a model in `/models` says."""
    entry = _entry(entries, name)
    meta, architecture = _mapping(entry, "meta"), _mapping(entry, "architecture")
    context = next(filter(None, (_count(entry.get(key)) for key in _CONTEXT_KEYS)), None) or _count(meta.get("n_ctx"))
    modalities = architecture.get("input_modalities", entry.get("input_modalities"))
    vision = "image" in modalities if isinstance(modalities, list) else _flag(_mapping(entry, "capabilities"), "vision")
    return Said(vision=vision, context=context)


async def structure_of(ask: Ask) -> StructureMode:
    """The strictest way in which the server gives JSON: it must do so although the words don't ask for that form."""
    if _is_colour(await _tried(ask, _prompt("Which colour does grass have?", schema=_COLOUR), "schema")):
        return "schema"
    if _is_object(await _tried(ask, _prompt('Which colour does grass have? Use JSON: {"colour": ...}'), "json")):
        return "json"
    return "text"


async def sees(ask: Ask) -> bool:
    """Whether the model reads a number from a picture; servers that drop pictures without a word are found out."""
    prompt = _prompt(
        "Which number does the picture show? Reply with its digits only.", pictures=(Picture(_number_picture()),)
    )
    reply = await _tried(ask, prompt, "text")
    return reply is not None and _NUMBER in re.sub(r"[\s,.]", "", reply)


async def _tried(ask: Ask, prompt: Prompt, mode: StructureMode) -> str | None:
    """The reply to a probe; None when the server can't do that. ModelFailed for what says nothing about the model."""
    for attempt in (1, 2):
        try:
            return (await ask(prompt, mode)).text
        except Unusable:
            return None
        except Refused as refused:
            if refused.status in _DENIED or (refused.retry and refused.status != 500):
                raise
            # Servers answer 500 to what they can't do as well as to what went wrong by chance.
            if not refused.retry or attempt == 2:
                return None
    return None


def _prompt(user: str, *, schema: dict[str, Any] | None = None, pictures: tuple[Picture, ...] = ()) -> Prompt:
    return Prompt(role="probe", system="", user=user, schema=schema or {"type": "object"}, pictures=pictures)


def _number_picture() -> bytes:
    """The number in large black digits on white, as PNG."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (448, 224), "white")
    font = ImageFont.load_default(size=140)
    ImageDraw.Draw(image).text((224, 112), _NUMBER, fill="black", font=font, anchor="mm")
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return encoded.getvalue()


def _is_colour(text: str | None) -> bool:
    value = _object(text)
    return value is not None and value.keys() == {"colour"} and value["colour"] in ("green", "blue", "red")


def _is_object(text: str | None) -> bool:
    return _object(text) is not None


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _said_by_llama_cpp(props: Mapping[str, Any]) -> Said:
    context = _count(_mapping(props, "default_generation_settings").get("n_ctx"))
    return Said(vision=_flag(_mapping(props, "modalities"), "vision"), context=context)


async def _said_by_ollama(server: Server, name: str, shown: Mapping[str, Any]) -> Said:
    """Ollama cuts prompts at the context that it loaded the model with, mostly far below that of the model."""
    capabilities = shown.get("capabilities")
    vision = "vision" in capabilities if isinstance(capabilities, list) else None
    if configured := re.search(r"^num_ctx\s+(\d{1,9})\b", worded(shown.get("parameters")), re.MULTILINE):
        return Said(vision=vision, context=_count(int(configured[1])))
    await server.fetched("/api/generate", {"model": name, "stream": False})
    running = await server.fetched("/api/ps") or {}
    listed = running.get("models")
    models = [model for model in listed if isinstance(model, Mapping)] if isinstance(listed, list) else []
    names = (name, f"{name}:latest")
    loaded = next((model for model in models if model.get("name") in names or model.get("model") in names), {})
    trained = [_count(v) for key, v in _mapping(shown, "model_info").items() if key.endswith(".context_length")]
    return Said(vision=vision, context=_count(loaded.get("context_length")) or next(iter(trained), None))


def _trained_on(entries: list[dict[str, Any]], name: str) -> Said:
    """The context that a model was trained on: the most that it can have, when nothing says what it has."""
    return Said(context=_count(_mapping(_entry(entries, name), "meta").get("n_ctx_train")))


def _entry(entries: list[dict[str, Any]], name: str) -> Mapping[str, Any]:
    return next((entry for entry in entries if entry.get("id") == name), {})


def _mapping(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST else None


def _flag(source: Mapping[str, Any], key: str) -> bool | None:
    value = source.get(key)
    return value if isinstance(value, bool) else None
