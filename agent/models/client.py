"""A model as the agent uses it: with retries, a cache of requests and a limit on the calls at the same time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from agent.models.cache import ReplyCache, request_key
from agent.models.settings import ModelSettings
from agent.models.texts import cleaned_line, cleaned_reply
from agent.models.types import Capabilities, Model, ModelFailed, Prompt, Reply, Role, StructureMode

T = TypeVar("T")
_LONGEST_WAIT = 60.0
_WEAKER: dict[StructureMode, StructureMode] = {"schema": "json", "json": "text"}


@runtime_checkable
class _Connected(Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None:
        """Close them."""


class ModelClient:
    """Asks one model. Time-outs, 429 and 5xx are tried again with growing waits; other failures are final at once."""

    def __init__(self, model: Model, settings: ModelSettings, cache: ReplyCache | None = None) -> None:
        self.model = model
        self.settings = settings
        self.cache = cache
        self._known: Capabilities | None = None
        self._modes: dict[Role, StructureMode] = {}
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The model's name, as trajectories and traces say it: on one line, without what a terminal would obey."""
        return cleaned_line(self.model.name)

    async def capabilities(self) -> Capabilities:
        """What the model can do; ModelFailed when it can't be reached, also after retries."""
        known = self._known
        if known is None:
            known = (await self._tried(self.model.capabilities))[0]
            self._known = known
        return known

    async def reply(self, prompt: Prompt) -> Reply:
        """The reply to a prompt, from the cache where it was asked before.

        A server that refuses to enforce the schema of a role is asked in the next weaker way, from then on. ModelFailed
        when there is no whole reply after all retries.
        """
        capabilities = await self.capabilities()
        known = self._modes.get(prompt.role, capabilities.structured)
        mode: StructureMode = known if prompt.schema is not None else "text"
        while True:
            try:
                return await self._asked(prompt, mode)
            except ModelFailed as error:
                if not error.unsupported or mode not in _WEAKER:
                    raise
                mode = self._modes[prompt.role] = _WEAKER[mode]

    async def aclose(self) -> str:
        """Close the model's connections and the cache; what was wrong with the cache, "" for nothing."""
        if isinstance(self.model, _Connected):
            await self.model.aclose()
        if self.cache is None:
            return ""
        self.cache.close()
        return self.cache.problem

    async def _asked(self, prompt: Prompt, mode: StructureMode) -> Reply:
        key = request_key(self.model.identity, prompt, mode) if self.cache else ""
        if self.cache is not None and (known := self.cache.get(key)) is not None:
            return cleaned_reply(known)
        async with self._limit():
            reply, attempts = await self._tried(lambda: self._whole(prompt, mode))
        reply = reply.model_copy(update={"attempts": reply.attempts + attempts - 1})
        if self.cache is not None:
            await asyncio.to_thread(self.cache.put, key, prompt, reply)
        return reply

    async def _whole(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """One reply; ModelFailed for one that was cut off or has no text, which is no answer.

        A brief reply may be cut off: what it says first is all that is wanted.
        """
        reply = cleaned_reply(await self.model.generate(prompt, mode))
        if reply.finish == "length" and (prompt.brief is None or not reply.text.strip()):
            raise ModelFailed(
                f"the reply of {self.name} was truncated at {reply.tokens_out} tokens",
                remedy="raise model.decoding.max_tokens",
                cut=True,
            )
        if not reply.text.strip():
            raise ModelFailed(f"the reply of {self.name} was empty", retry=True)
        return reply

    async def _tried(self, ask: Callable[[], Awaitable[T]]) -> tuple[T, int]:
        """What a call gives, and how many tries it took."""
        attempts = 0
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(self.settings.retries + 1),
            wait=self._wait,
            retry=retry_if_exception(lambda error: isinstance(error, ModelFailed) and error.retry),
            reraise=True,
        ):
            with attempt:
                attempts += 1
                found = await ask()
        return found, attempts

    def _wait(self, state: RetryCallState) -> float:
        """What the server asked for, else a random time up to one that doubles with each attempt."""
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, ModelFailed) else None
        if after is not None and not math.isnan(after):
            return min(max(after, 0.0), _LONGEST_WAIT)
        wait: float = wait_random_exponential(multiplier=self.settings.backoff, max=_LONGEST_WAIT)(state)
        return wait

    def _limit(self) -> asyncio.Semaphore:
        """The limit on calls at the same time; a semaphore belongs to one event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._limits:
            self._limits[loop] = asyncio.Semaphore(self.settings.concurrency)
        return self._limits[loop]
