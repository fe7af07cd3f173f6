"""Requests that arrive together, answered in batches by one thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition, Event
from typing import TypeVar

from agent.models.types import Prompt, Reply

T = TypeVar("T")
_LINGER = 0.01
"""Seconds that a batch with room waits for more: callers that start together don't arrive in the same instant."""


class Ticket:
    """A request on its way. `dropped` is set when nobody waits for its reply any more."""

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self.future: Future[Reply] = Future()
        self.dropped = Event()

    def settle(self, outcome: Reply | BaseException) -> None:
        """Give the reply or the error to whoever waits; only the first outcome counts."""
        if self.future.done():
            return
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Batches:
    """Collects tickets and hands up to `size` of them to `work`, in one thread, one batch after the other.

    `work` settles the tickets; what it raises goes to all that it left open. The thread belongs to no event loop, so
    callers may come from one loop today and from another tomorrow.
    """

    def __init__(self, work: Callable[[Sequence[Ticket]], None], size: int) -> None:
        self._work = work
        self._size = size
        self._waiting: deque[Ticket] = deque()
        self._arrived = Condition()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local-model")

    async def call(self, function: Callable[[], T]) -> T:
        """The result of other work, done in the same thread."""
        return await asyncio.wrap_future(self._thread.submit(function))

    async def reply(self, prompt: Prompt) -> Reply:
        """The reply to a prompt, or what went wrong with it. Cancelling takes it off the queue or out of its batch."""
        ticket = Ticket(prompt)
        with self._arrived:
            self._waiting.append(ticket)
            self._arrived.notify()
        # One turn a ticket: whichever turn comes first takes a whole batch, and those that find nothing left end.
        self._thread.submit(self._serve)
        try:
            return await asyncio.wrap_future(ticket.future)
        except asyncio.CancelledError:
            ticket.dropped.set()
            raise

    def _serve(self) -> None:
        batch = self._taken()
        if not batch:
            return
        try:
            self._work(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.settle(error)
        for ticket in batch:
            ticket.settle(RuntimeError("a request was left without an outcome"))

    def _taken(self) -> list[Ticket]:
        """The next batch, without the tickets that were cancelled while they waited."""
        with self._arrived:
            if not self._waiting:
                return []
            self._arrived.wait_for(lambda: len(self._waiting) >= self._size, timeout=_LINGER)
            taken = [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]
        return [ticket for ticket in taken if ticket.future.set_running_or_notify_cancel()]
