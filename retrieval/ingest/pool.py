"""Worker processes: tasks go out a few at a time, and a task that hangs or dies costs itself alone."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

Task = TypeVar("Task")
Result = TypeVar("Result")
_TASKS_PER_WORKER = 400
_SLOW, _CRASHED, _GREEDY = "took longer than", "crashed its reader", "needs too much memory"
GIVEN_UP = (_SLOW, _CRASHED, _GREEDY)
"""How the problem of a task begins that was given up, be its input good or bad."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Task, Result]):
    """What became of a task: its result, or why there is none."""

    task: Task
    result: Result | None = None
    problem: str = ""


class WorkerPool:
    """Processes that are started when the first task comes, each with one task in flight."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: Any = None
        self._cut_short = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is None and not self._cut_short:
            self._pool.close()
        else:
            self._pool.stop()
        self._pool.join()
        self._pool = None

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Iterable[Task],
        *,
        seconds: float,
        deadline: float | None = None,
    ) -> Iterator[Outcome[Task, Result]]:
        """Outcomes in the order in which they come; at most two tasks a worker are handed out ahead.

        A task that takes more than `seconds` is stopped. At `deadline` (of `time.monotonic`) all unfinished work is
        dropped without an outcome.
        """
        if self._pool is None:
            context = _context()
            self._pool = ProcessPool(max_workers=self._workers, max_tasks=_TASKS_PER_WORKER, context=context)
        waiting = deque(tasks)
        flying: dict[Future[Result], Task] = {}
        while waiting or flying:
            while waiting and len(flying) < 2 * self._workers:
                task = waiting.popleft()
                flying[self._pool.schedule(function, args=[task], timeout=seconds)] = task
            patience = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            done, _ = wait(flying, timeout=patience, return_when=FIRST_COMPLETED)
            if not done:
                self._cut_short = True
                return
            for future in done:
                yield _outcome(flying.pop(future), future, seconds)


def _outcome(task: Task, future: Future[Result], seconds: float) -> Outcome[Task, Result]:
    try:
        return Outcome(task, future.result())
    except concurrent.futures.TimeoutError:
        return Outcome(task, problem=f"{_SLOW} {seconds:g} s")
    except ProcessExpired:
        return Outcome(task, problem=_CRASHED)
    except MemoryError:
        return Outcome(task, problem=_GREEDY)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for the block. Processes that are started in it, and theirs, never see it.

    They are told to stop. A terminal sends Ctrl-C to all, and one that still imports would answer with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> Any:
    """A context whose workers share no state with this process, and its imports where the system can fork them."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "retrieval.ingest.reading"])
    resource_tracker.ensure_running()  # it is started with the fork server, and would let Ctrl-C through again
    with _uninterrupted():
        forkserver.ensure_running()
    # It serves who asks once it has imported, even if that one has left meanwhile: ask for nothing until it answers.
    first = context.Process()
    first.start()
    first.join()
    return context
