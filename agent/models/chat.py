"""One server through langchain: a chat model and its connections for each event loop, and what it replies."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Awaitable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai.chat_models.base import BaseChatOpenAI

from agent.models.chances import chances_in
from agent.models.failures import empty, truncated, withheld, worded
from agent.models.settings import ModelSettings
from agent.models.texts import cleaned_line
from agent.models.types import Reply

_CONNECT = 10.0
_NO_KEY = "none"
"""Sent where there is no key: the client wants one, and servers that need none ignore it."""
_OPENED, _CLOSED = "<think>", "</think>"
_MOST_TOKENS = 10**9
"""More than any reply costs: a count beyond it is none."""


class NoCompletion(Exception):
    """The server replied with success and with something that is no chat completion."""

    def __init__(self, body: Any) -> None:
        super().__init__(f"no chat completion, but {type(body).__name__}")
        self.body = body


class Unreadable(Exception):
    """The server replied with a body that can't be read."""


async def readable(response: Awaitable[object]) -> Any:
    """What a server replies, as `client.post` and `client.get` read it; Unreadable when they can't.

    It may be no JSON and no UTF-8 though it says so, hold a number of too many digits, be nested too deep for the
    parser, or name a character set that is none, such as hex: Python's codecs take that each in its own way.
    """
    try:
        return await response
    except (ValueError, RecursionError, LookupError, TypeError, AssertionError) as error:
        raise Unreadable(type(error).__name__) from error


class Chat(BaseChatOpenAI):
    """A chat model of langchain that keeps what its base drops and renames nothing.

    `ChatOpenAI` drops reasoning, renames max_tokens, chooses an API by the name of the model, and turns a truncated
    structured reply into an exception.
    """

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        # The typed form of the same call walks through the whole request and reply and doubles the cost of a call.
        response = await readable(self.root_async_client.post("/chat/completions", body=payload, cast_to=object))
        return ChatResult(generations=[ChatGeneration(message=_message_of(response))])


@dataclass(slots=True)
class Connection:
    """A chat model and its client, in use by one event loop."""

    client: openai.AsyncOpenAI
    chat: Chat
    closing: AsyncGenerator[None, None] | None = None


class Connections:
    """The connections to one server, one client for each event loop: pooled connections work in their own loop only."""

    def __init__(self, settings: ModelSettings, base_url: str) -> None:
        self._settings = settings
        self._base_url = base_url
        self._open: dict[asyncio.AbstractEventLoop, Connection] = {}

    async def here(self) -> Connection:
        """The connection of the running loop. It is closed when the loop shuts down, or by `aclose`."""
        loop = asyncio.get_running_loop()
        connection = self._open.get(loop)
        if connection is None:
            for other in [known for known in self._open if known.is_closed()]:
                self._open.pop(other, None)
            connection = self._open[loop] = self._connection()
            # A loop closes the generators that were started in it before it ends: the only hook there is.
            connection.closing = self._closed_with(loop, connection.client)
            await anext(connection.closing)
        return connection

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        connection = self._open.get(asyncio.get_running_loop())
        if connection is not None and connection.closing is not None:
            await connection.closing.aclose()

    async def _closed_with(
        self, loop: asyncio.AbstractEventLoop, client: openai.AsyncOpenAI
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._open.pop(loop, None)
            await client.close()

    def _connection(self) -> Connection:
        seconds = self._settings.timeout
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT))
        client = openai.AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._settings.api_key or _NO_KEY,
            max_retries=0,
            timeout=timeout,
            # The proxies of the environment lead away from this machine.
            http_client=openai.DefaultAsyncHttpxClient(timeout=timeout, trust_env=not is_loopback(self._base_url)),
        )
        chat = Chat(
            model="none",
            api_key=_key_of_clients,
            base_url=self._base_url,
            client=client,
            root_client=client,
            async_client=client.chat.completions,
            root_async_client=client,
            http_socket_options=(),
            max_retries=0,
            use_responses_api=False,
            disable_streaming=True,
            cache=False,
        )
        return Connection(client, chat)


async def _key_of_clients() -> str:
    """Given to langchain in place of the key, which the client has already."""
    return _NO_KEY


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reply_of(message: AIMessage, max_tokens: int, *, brief: bool = False) -> Reply:
    """What a message of the model says; Unusable when it was cut off, withheld or says nothing.

    A `brief` reply may be cut off once it says something.
    """
    finish = str(message.response_metadata.get("finish_reason") or "stop")
    if (refused := message.additional_kwargs.get("refusal")) or finish == "content_filter":
        raise withheld(str(refused or "content filter"))
    cut = finish in ("length", "max_tokens")
    thought, text = _without_thought(str(message.content))
    if cut and not (brief and text):
        raise truncated(max_tokens)
    if not text:
        raise empty(finish)
    thinking = "\n".join(filter(None, (message.additional_kwargs.get("reasoning"), thought)))
    usage = message.usage_metadata
    return Reply(
        text=text,
        thinking=thinking or None,
        tokens_in=usage["input_tokens"] if usage else 0,
        tokens_out=usage["output_tokens"] if usage else 0,
        finish="length" if cut else finish,
        chances=message.response_metadata.get("chances") if brief else None,
    )


def _without_thought(text: str) -> tuple[str, str]:
    """The thought that leads a text, and the rest."""
    text = text.strip()
    if text.startswith(_OPENED):
        thought, _, rest = text.removeprefix(_OPENED).partition(_CLOSED)
        return thought.strip(), rest.strip()
    # Templates that open the thought in the prompt leave its end only, on a line of its own.
    thought, _, rest = text.partition(_CLOSED)
    if _OPENED not in thought and thought.endswith("\n") and rest.startswith("\n"):
        return thought.strip(), rest.strip()
    return "", text


def _message_of(body: Any) -> AIMessage:
    """The first choice of a completion; NoCompletion when there is none. Servers differ in all that is optional."""
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise NoCompletion(body)
    tokens_in, tokens_out = (_tokens_in(body.get("usage"), name) for name in ("prompt_tokens", "completion_tokens"))
    finish, refusal = choice.get("finish_reason"), message.get("refusal")
    thinking = message.get("reasoning") or message.get("reasoning_content")
    return AIMessage(
        content=_text_in(message.get("content")),
        additional_kwargs={"reasoning": _text_in(thinking), "refusal": worded(refusal) if refusal else ""},
        response_metadata={
            "finish_reason": cleaned_line(finish) if isinstance(finish, str) else "",
            "chances": chances_in(choice.get("logprobs")),
        },
        usage_metadata=UsageMetadata(
            input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out
        ),
    )


def _text_in(content: Any) -> str:
    """The text of a content, which is a string, null or a list of parts with texts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _tokens_in(usage: Any, name: str) -> int:
    """A count of tokens; 0 when it is none. One below 0 would buy budget."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    if isinstance(count, str) and count.isdecimal() and len(count) <= len(str(_MOST_TOKENS)):
        count = int(count)
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    return count if isinstance(count, int) and 0 <= count <= _MOST_TOKENS else 0
