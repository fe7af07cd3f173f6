"""A loopback server that speaks the chat API of OpenAI and replies what it is told to.

`FakeServer(replies)` takes a list of answers in order, or a function from the request to an answer, which may be called
from another thread. An answer is a string or an `Answer`. It runs on an event loop in a thread of its own, so that many
requests can wait at the same time and callers may block. Only the standard library is imported: benchmarks use it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """One answer of the server.

    `status` other than 200 sends `error`; `body` replaces the whole answer. `hang` never answers; `close` ends the
    connection without an answer; `together` waits until that many chats are in flight. `message` adds fields to the
    message, such as reasoning, and `choice` to what holds it, such as logprobs.
    """

    text: str | None = ""
    status: int = 200
    finish: str | None = "stop"
    delay: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    error: Any = None
    body: str | None = None
    message: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, int] | None = field(default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7})
    hang: bool = False
    close: bool = False
    together: int = 0


@dataclass(frozen=True)
class Received:
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def user(self) -> str:
        """The text of the last message of the user."""
        content = next(m["content"] for m in reversed(self.body["messages"]) if m["role"] == "user")
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")


Replies = Callable[[Received], Answer | str] | Iterable[Answer | str]


class FakeServer:
    """The server, running between `with` and its end. Chats without a reply left are answered with status 500.

    `latency` is waited before each chat is answered. `pages` answers other paths ("/props", "/api/show") by an object
    or an `Answer`; `models` are the entries of /v1/models, None when there is no such list.
    """

    def __init__(
        self,
        replies: Replies = (),
        *,
        latency: float = 0.0,
        models: Sequence[dict[str, Any]] | None = ({"id": "fake", "object": "model"},),
        pages: dict[str, Any] | None = None,
    ) -> None:
        self._next: Callable[[Received], Answer | str]
        if callable(replies):
            self._next = replies
        else:
            left = iter(replies)
            spent = Answer(status=500, error={"message": "no reply is left"})
            self._next = lambda _: next(left, spent)
        self.latency = latency
        self.models = None if models is None else list(models)
        self.pages = pages or {}
        self.requests: list[Received] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.connections = 0
        self.base_url = ""
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def chats(self) -> list[Received]:
        """The requests for a chat completion."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, started: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._serve(started))
        finally:
            self._loop.close()

    async def _serve(self, started: threading.Event) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        started.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _received(reader)) is not None:
                self.requests.append(request)
                raw = await self._answered(request)
                if raw is None:
                    break
                writer.write(raw)
                await writer.drain()
        except (asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answered(self, request: Received) -> bytes | None:
        """The bytes of the answer; None closes the connection."""
        if request.path != "/v1/chat/completions":
            return self._page(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self._reply(request)
            if isinstance(answer, str):
                answer = Answer(answer)
            if answer.hang:
                await self._stop.wait()
            while self.most_in_flight < answer.together:
                await asyncio.sleep(0.001)
            if wait := self.latency if answer.delay is None else answer.delay:
                await asyncio.sleep(wait)
        finally:
            self.in_flight -= 1
        return None if answer.close or answer.hang else _chat(answer, request)

    def _reply(self, request: Received) -> Answer | str:
        try:
            return self._next(request)
        except Exception as error:
            # What goes wrong in a test's own function must be seen by whoever reads the client's failure.
            return Answer(status=500, error={"message": f"the reply function raised {error!r}"})

    def _page(self, request: Received) -> bytes:
        if request.path == "/v1/models" and self.models is not None:
            return _response(200, json.dumps({"object": "list", "data": self.models}))
        page = self.pages.get(request.path)
        if page is None:
            return _response(404, json.dumps({"error": {"message": "File Not Found", "code": 404}}))
        if isinstance(page, Answer):
            return _chat(page, request)
        return _response(200, json.dumps(page))


async def _received(reader: asyncio.StreamReader) -> Received | None:
    """The next request of a connection; None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, json.loads(raw) if raw else {})


def _chat(answer: Answer, request: Received) -> bytes:
    if answer.body is not None:
        return _response(answer.status, answer.body, answer.headers)
    if answer.status != 200:
        error = answer.error if answer.error is not None else {"message": f"status {answer.status}"}
        return _response(answer.status, json.dumps({"error": error}), answer.headers)
    message = {"role": "assistant", "content": answer.text, **answer.message}
    completion = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, **answer.choice}],
    }
    if answer.usage is not None:
        completion["usage"] = {**answer.usage, "total_tokens": sum(answer.usage.values())}
    return _response(200, json.dumps(completion, ensure_ascii=False), answer.headers)


def _response(status: int, body: str, headers: dict[str, str] | None = None) -> bytes:
    data = body.encode()
    fields = {"content-type": "application/json", "content-length": str(len(data))} | (headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + data
