"""A model behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp or a hosted one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai
from langchain_core.messages import AIMessage

from agent.models.cache import ReplyCache, request_key
from agent.models.chat import Connections, NoCompletion, Unreadable, readable, reply_of
from agent.models.failures import Refused, Request, failure_of, malformed, no_such_model, refusal, worded
from agent.models.payload import Lack, messages_of, newly_lacking, parameters_of, response_format
from agent.models.probing import Said, said_by, sees, structure_of
from agent.models.settings import ModelSettings
from agent.models.texts import cleaned_reply, encodable
from agent.models.types import Capabilities, ModelFailed, Prompt, Reply, StructureMode
from agent.settings import without_credentials
from retrieval.errors import InputError

_LOOK_UP = 10.0
"""Seconds for what a server may not know at all."""


class EndpointModel:
    """The model that `settings` name, or the first one that its server lists. Usable from several event loops."""

    def __init__(self, settings: ModelSettings, probes: ReplyCache | None = None) -> None:
        """`probes` keeps what small requests showed of the model, so that they are made once a collection."""
        self._settings = settings = settings.model_copy(update={"api_key": _checked_key(settings.api_key)})
        base_url = _checked(settings.base_url)
        self._shown = without_credentials(base_url)
        self._root = base_url.removesuffix("/v1")
        self._connections = Connections(settings, base_url)
        self._name = settings.name
        self._lacks: frozenset[Lack] = frozenset()
        self._capabilities: Capabilities | None = None
        self._probes = probes
        self._finding: dict[asyncio.AbstractEventLoop, asyncio.Task[Capabilities]] = {}

    def __repr__(self) -> str:
        return f"EndpointModel({self._name!r} at {self._shown})"

    @property
    def name(self) -> str:
        """The model's name; "" until the server was asked for it."""
        return self._name

    @property
    def identity(self) -> str:
        """Kind, server, model and decoding; final once the name is known, so after `capabilities`."""
        return f"endpoint {self._shown} {self._name} {self._settings.decoding.model_dump_json()}"

    async def capabilities(self) -> Capabilities:
        """What the settings say, else what the server says, else what probes show: asked for once by all callers."""
        if self._capabilities is None:
            loop = asyncio.get_running_loop()
            finding = self._finding.get(loop)
            if finding is None:
                finding = self._finding[loop] = loop.create_task(self._found())
                finding.add_done_callback(self._finished)
            # One caller that gives up takes nothing from the others.
            self._capabilities = await asyncio.shield(finding)
        return self._capabilities

    async def generate(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """One reply; asked again only without a parameter that the server refuses to know."""
        await self._named()
        attempts = 1
        while True:
            lacks = self._lacks
            try:
                message = await self._sent(prompt, mode, lacks)
            except Refused as refused:
                lack = newly_lacking(refused, lacks)
                if lack is None:
                    raise await self._explained(refused, prompt) from None
                self._lacks |= {lack}
                attempts += 1
                continue
            limit = self._settings.decoding.limit(prompt.brief)
            reply = reply_of(message, limit, brief=prompt.brief is not None)
            return reply.model_copy(update={"attempts": attempts})

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they close with the loop otherwise."""
        await self._connections.aclose()

    async def listed(self) -> list[dict[str, Any]] | None:
        """The entries of `/models`; None when the server has no such list. ModelFailed when it can't be reached."""
        try:
            body = await self._fetched("/models", None, self._settings.timeout)
        except ModelFailed as failure:
            if isinstance(failure, Refused) and not failure.retry and failure.status != 401:
                return None
            raise
        entries = body.get("data") if isinstance(body, dict) else body
        if not isinstance(entries, list):
            return None
        return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    async def fetched(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """The JSON object at a path next to the API (POST when there is a body); None when there is none."""
        # A request with a body may load a model first.
        seconds = self._settings.timeout if body and path == "/api/generate" else _LOOK_UP
        try:
            found = await self._fetched(self._root + path, body, seconds)
        except ModelFailed:
            return None
        return found if isinstance(found, dict) else None

    async def _found(self) -> Capabilities:
        settings = self._settings
        await self._named()
        structured = settings.structured or await structure_of(self._probed)
        said = Said(vision=settings.vision, context=settings.context)
        if not said.complete:
            said = await said_by(self, self._name, said)
        vision = await sees(self._probed) if said.vision is None else said.vision
        found = Capabilities(vision=vision, structured=structured)
        return found if said.context is None else found.model_copy(update={"context": said.context})

    async def _probed(self, prompt: Prompt, mode: StructureMode) -> Reply:
        """The reply to a probe, from the cache where it was made before."""
        key = request_key(self.identity, prompt, mode)
        if self._probes is not None and (known := self._probes.get(key)) is not None:
            return known
        reply = cleaned_reply(await self.generate(prompt, mode))
        if self._probes is not None:
            await asyncio.to_thread(self._probes.put, key, prompt, reply)
        return reply

    def _finished(self, finding: asyncio.Task[Capabilities]) -> None:
        """Forget a search that is over, so that one that failed is made again; take note of its failure."""
        self._finding.pop(finding.get_loop(), None)
        if not finding.cancelled():
            finding.exception()

    async def _named(self) -> None:
        """Take the first model that the server lists when the settings name none."""
        if self._name:
            return
        entries = await self.listed()
        if entries is None:
            raise ModelFailed(
                f"{self._shown} has no /models",
                remedy="is the URL right (it mostly ends in /v1)? Else set DOCSAGE_MODEL",
            )
        if not entries:
            raise ModelFailed(f"{self._shown} lists no models", remedy="name the one to use in DOCSAGE_MODEL")
        self._name = self._name or str(entries[0]["id"])

    async def _sent(self, prompt: Prompt, mode: StructureMode, lacks: frozenset[Lack]) -> AIMessage:
        request = self._request(prompt, mode)
        parameters = parameters_of(self._settings.decoding, lacks, prompt)
        if (form := response_format(prompt, mode)) is not None:
            parameters["response_format"] = form
        connection, messages = await self._connections.here(), messages_of(prompt, lacks)
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await connection.chat.ainvoke(messages, model=encodable(self._name), **parameters)
        except (openai.APIError, TimeoutError) as error:
            raise failure_of(error, request) from None
        except NoCompletion as error:
            raise _without_completion(error.body, request) from None
        except Unreadable:
            raise malformed("its body can't be read", request) from None

    async def _fetched(self, url: str, body: Mapping[str, Any] | None, seconds: float) -> Any:
        client = (await self._connections.here()).client
        try:
            async with asyncio.timeout(seconds):
                if body is None:
                    return await readable(client.get(url, cast_to=object))
                return await readable(client.post(url, cast_to=object, body=dict(body)))
        except (openai.APIError, TimeoutError) as error:
            raise failure_of(error, self._request(timeout=seconds)) from None
        except Unreadable:
            raise malformed("its body can't be read", self._request()) from None

    async def _explained(self, refused: Refused, prompt: Prompt) -> ModelFailed:
        """A refusal; one of the model names those that the server lists."""
        request = self._request(prompt)
        if not refused.concerns_model:
            return refused
        try:
            entries = await self.listed()
        except ModelFailed:
            return refused
        return no_such_model(refused, request, None if entries is None else [entry["id"] for entry in entries])

    def _request(
        self, prompt: Prompt | None = None, mode: StructureMode = "text", *, timeout: float | None = None
    ) -> Request:
        return Request(
            server=self._shown,
            model=self._name,
            timeout=timeout or self._settings.timeout,
            key=self._settings.api_key,
            structured=prompt is not None and mode != "text",
            pictures=prompt is not None and bool(prompt.pictures),
        )


def _without_completion(body: Any, request: Request) -> ModelFailed:
    """Gateways reply 200 with an error inside; other things reply with pages of their own."""
    error = body.get("error") if isinstance(body, dict) else None
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        return refusal(code if isinstance(code, int) and 400 <= code < 600 else 500, body, request)
    return malformed("no choices" if isinstance(body, dict) else f"{worded(body)[:60]!r}", request)


def _checked(url: str) -> str:
    """The base URL without a trailing slash; InputError when it is none."""
    url = url.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(f"the server's URL is none ({error})", remedy="correct DOCSAGE_BASE_URL") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"the server's URL {url!r} is none" if url else "no server is named",
            remedy="set DOCSAGE_BASE_URL, such as http://127.0.0.1:8000/v1",
        )
    return url


def _checked_key(key: str) -> str:
    """The key without white space around it; InputError, which doesn't show it, when it can't be sent in a header."""
    key = key.strip()
    if not (key.isascii() and (key + "x").isprintable()):
        raise InputError("the key in DOCSAGE_API_KEY can't be sent", remedy="set it to ASCII letters, digits and signs")
    return key
