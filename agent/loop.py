"""One event loop for all synchronous callers, so that connections and limits outlive a single question."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
_PATIENCE = 5.0
"""Seconds that an interrupted question has to write its last event."""
_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, run on the shared loop. An interrupt of the caller cancels it and waits for it."""
    future: Future[T] = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        with suppress(CancelledError, TimeoutError):
            future.exception(timeout=_PATIENCE)
        raise


def cancel_all() -> None:
    """Cancel whatever runs on the shared loop; its callers get CancelledError."""
    with _lock:
        running = list(_loops)
    for loop in running:
        loop.call_soon_threadsafe(_cancel_tasks, loop)


def _cancel_tasks(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


def _loop() -> asyncio.AbstractEventLoop:
    """The loop, in a thread that ends with the process."""
    with _lock:
        if not _loops or _loops[0].is_closed():
            _loops[:] = [asyncio.new_event_loop()]
            threading.Thread(target=_loops[0].run_forever, name="docsage-loop", daemon=True).start()
        return _loops[0]
