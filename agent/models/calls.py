"""The model calls of one node: refused when the budget has no room, charged in one place, each one in the trace."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from langchain_core.utils.json import parse_json_markdown
from pydantic import BaseModel, ValidationError

from agent.budget import Budget, Resource, add
from agent.models.client import ModelClient
from agent.models.types import Capabilities, ModelFailed, Prompt, Reply
from agent.prompts import repair
from agent.trace import TraceWriter
from agent.types import Usage

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
PICTURE_TOKENS = 1200
"""About how many tokens a page image takes."""
_SHOWN = 8000
_DECODER = json.JSONDecoder(strict=False)
_WIDE = re.compile(r"[^\u0000-\u2e7f]")


@dataclass(frozen=True, slots=True)
class Asked(Generic[V]):
    """What came of asking: a value, or None with the reason; whether the first reply had to be repaired."""

    value: V | None
    reason: str = ""
    repaired: bool = False


class ModelCalls:
    """What a node asks the model. `charge` is what it cost; the node hands it to the state's reducer."""

    def __init__(
        self, client: ModelClient | None, trace: TraceWriter, budget: Budget, spent: Usage, *, node: str
    ) -> None:
        self._client = client
        self._trace = trace
        self._budget = budget
        self._spent = spent
        self._node = node
        self._begun = time.monotonic()
        self._underway = 0
        self.charge = Usage()

    async def capabilities(self) -> Capabilities | None:
        """What the model can do; None when there is none or it can't be reached."""
        if self._client is None:
            return None
        try:
            return await self._client.capabilities()
        except ModelFailed as error:
            self._trace.append("model_call", self._node, {"role": "probe", "outcome": "failed", "error": str(error)})
            return None

    async def text(self, prompt: Prompt) -> Asked[str]:
        """The reply in words."""
        reply, reason = await self._reply(prompt)
        return Asked(value=None, reason=reason) if reply is None else Asked(value=reply.text)

    async def reply(self, prompt: Prompt) -> Reply:
        """The whole reply; ModelFailed when there is none, also when the budget has no room for it."""
        return await self._charged(prompt)

    async def record(
        self,
        prompt: Prompt,
        schema: type[T],
        check: Callable[[T], str] = lambda _: "",
        *,
        choices: Mapping[str, Sequence[str]] | None = None,
        language: str = "en",
    ) -> Asked[T]:
        """The reply as a record of `schema`. One that can't be used is sent back once, with what is wrong with it.

        `check` says what else is wrong with a record of the right form, "" when nothing is. `choices` are the words
        that a field, or each item of it, may have: servers that enforce schemas then let the model write no others.
        """
        prompt = replace(prompt, schema=schema_of(schema, choices or {}))
        reply, reason = await self._reply(prompt)
        if reply is None:
            return Asked(value=None, reason=reason)
        value, problem = _parsed(reply.text, schema, check)
        if value is not None and not problem:
            return Asked(value=value)
        again = replace(prompt, earlier=(("assistant", reply.text[:_SHOWN]), ("user", repair(problem, language))))
        second, reason = await self._reply(again, repairs=problem)
        if second is None:
            return Asked(value=None, reason=reason)
        value, still = _parsed(second.text, schema, check)
        if value is not None and not still:
            return Asked(value=value, repaired=True)
        return Asked(value=None, reason=f"the reply can't be used: {still}")

    async def _reply(self, prompt: Prompt, *, repairs: str = "") -> tuple[Reply | None, str]:
        """A reply, or None with the reason: no model, no room in the budget, a failed call."""
        try:
            return await self._charged(prompt, repairs=repairs), ""
        except ModelFailed as error:
            return None, str(error)

    async def _charged(self, prompt: Prompt, *, repairs: str = "") -> Reply:
        """A reply, charged and recorded; ModelFailed when there is none."""
        if self._client is None:
            raise ModelFailed("there is no model")
        # The node's own time is charged when it ends; a model call must not outlast it by then.
        node = Usage(seconds=time.monotonic() - self._begun)
        left = self._budget.left(add(add(self._spent, self.charge), node))
        estimated = estimated_tokens(prompt)
        needs: dict[Resource, float] = {
            "model_calls": 1,
            "tokens": self._underway + estimated,
            "seconds": 0,
            "dollars": 0,
        }
        for name, needed in needs.items():
            room = left[name]
            if room is not None and (room < needed or room == 0):
                reason = f"the budget has no room for it ({name.replace('_', ' ')})"
                self._record(prompt, "refused", 0.0, error=reason)
                raise ModelFailed(reason)
        self.charge = add(self.charge, Usage(model_calls=1))
        self._underway += estimated  # what calls at the same time have taken is not charged yet
        start = time.perf_counter()
        try:
            async with asyncio.timeout(left["seconds"]):
                reply = await self._client.reply(prompt)
        except (ModelFailed, TimeoutError) as error:
            reason = str(error) if isinstance(error, ModelFailed) else "the time of the budget ran out"
            self._record(prompt, "failed", time.perf_counter() - start, error=reason)
            raise error if isinstance(error, ModelFailed) else ModelFailed(reason) from error
        finally:
            self._underway -= estimated
        self.charge = add(self.charge, self._cost(reply))
        self._record(prompt, "ok", time.perf_counter() - start, reply=reply, repairs=repairs)
        return reply

    def _cost(self, reply: Reply) -> Usage:
        """Tokens as the server counts them; a reply from the cache costs no money."""
        prices = self._client.settings.prices if self._client else None
        dollars = 0.0
        if prices is not None and not reply.cached:
            dollars = (prices.input * reply.tokens_in + prices.output * reply.tokens_out) / 1e6
        return Usage(
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cached_calls=int(reply.cached),
            dollars=round(dollars, 8),
        )

    def _record(
        self,
        prompt: Prompt,
        outcome: str,
        seconds: float,
        *,
        reply: Reply | None = None,
        error: str = "",
        repairs: str = "",
    ) -> None:
        data: dict[str, Any] = {
            "role": prompt.role,
            "prompt": prompt.version,
            "characters": len(prompt.system) + len(prompt.user),
            "pictures": len(prompt.pictures),
            "outcome": outcome,
            "ms": round(seconds * 1000, 1),
        }
        if error:
            data["error"] = error
        if repairs:
            data["repairs"] = repairs
        if reply is not None:
            data |= {
                "reply": reply.text[:_SHOWN],
                "tokens_in": reply.tokens_in,
                "tokens_out": reply.tokens_out,
                "finish": reply.finish,
                "attempts": reply.attempts,
                "cached": reply.cached,
            }
            if reply.thinking:
                data["thinking"] = reply.thinking
        self._trace.append("model_call", self._node, data)


def schema_of(record: type[BaseModel], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The JSON schema of a record as servers enforce it: every field is required, none may be added, and a field of
    `choices` holds one of these words, or a list of them.
    """
    return _closed(_json_schema(record), choices)


@cache
def _json_schema(record: type[BaseModel]) -> dict[str, Any]:
    """The schema as pydantic has it, which takes it a millisecond or two to say. It is not to be changed."""
    return record.model_json_schema()


def _closed(schema: dict[str, Any], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A schema, and all those within it, with their fields required and without defaults and titles."""
    found = {name: _inside(value, choices) for name, value in schema.items() if name not in ("title", "default")}
    if "properties" in found:
        found |= {"required": list(found["properties"]), "additionalProperties": False}
        for name in choices.keys() & found["properties"].keys():
            field = found["properties"][name]
            words = {"type": "string", "enum": list(choices[name])}
            found["properties"][name] = {**field, "items": words} if field.get("type") == "array" else words
    return found


def _inside(value: Any, choices: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(value, dict):
        if "type" in value or "anyOf" in value:
            return _closed(value, choices)
        return {name: _inside(item, choices) for name, item in value.items()}
    return [_inside(item, choices) for item in value] if isinstance(value, list) else value


def estimated_tokens(prompt: Prompt) -> int:
    """About how many tokens a prompt takes: one for each Chinese character, one for four others, and its pictures."""
    texts = (prompt.system, prompt.user, *(text for _, text in prompt.earlier))
    return sum(map(text_tokens, texts)) + PICTURE_TOKENS * len(prompt.pictures)


def text_tokens(text: str) -> int:
    """About how many tokens a text takes."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


def json_in(text: str) -> Any:
    """The JSON in a reply, code fences and words around it and what follows it aside; None when it has none.

    Surrogates without their other half, which no file can hold, are replaced.
    """
    start = text.find("{")
    if start < 0:
        return None
    with suppress(ValueError, RecursionError):
        return _clean(_DECODER.raw_decode(text, start)[0])
    with suppress(ValueError, TypeError, RecursionError):
        return _clean(parse_json_markdown(text))
    return None


def _clean(value: Any) -> Any:
    """A JSON value with strings that can be written as UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _parsed(text: str, schema: type[T], check: Callable[[T], str]) -> tuple[T | None, str]:
    """The record in a reply; "" or what is wrong."""
    data = json_in(text)
    if not isinstance(data, dict):
        return None, "the reply is no JSON object"
    try:
        value = schema.model_validate(data)
    except ValidationError as error:
        return None, "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
    except (TypeError, ValueError, OverflowError) as error:
        return None, f"the reply has a wrong form ({type(error).__name__})"
    return value, check(value)
