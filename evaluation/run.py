"""A run: questions in, trajectories out, one a line. Killed at any moment, the same command goes on where it was."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Protocol, TypeVar

from agent import loop
from agent.types import Trajectory
from evaluation.folder import RunFolder
from evaluation.records import JsonLines, Unwritable
from evaluation.types import Failure, Question, Ranked
from retrieval.errors import DocsageError
from retrieval.progress import Progress, Silent

_SHOWN = 120
_COLLECTIONS = (50_000, 20, 100)
"""Thresholds of the garbage collector while questions are asked at the same time."""
_POLL = 0.05
"""Seconds between two looks at what was cancelled."""
Ask = Callable[[Question], Trajectory]
Rank = Callable[[Question], Ranked]


class Identified(Protocol):
    """A question of any benchmark."""

    @property
    def id(self) -> str:
        """What tells it from the others of its run."""

    @property
    def text(self) -> str:
        """What is asked."""


Q = TypeVar("Q", bound=Identified)


class Run(RunFolder):
    """The files of one run in one folder: `run.json`, `trajectories.jsonl`, `ranked.jsonl`, `failures.jsonl`."""

    def __init__(self, out: Path) -> None:
        self.trajectories = JsonLines(out / "trajectories.jsonl", Trajectory)
        self.ranked = JsonLines(out / "ranked.jsonl", Ranked)
        super().__init__(out, (self.trajectories, self.ranked))

    def ask(
        self, questions: Sequence[Question], ask: Ask, *, progress: Progress | None = None, together: int = 1
    ) -> None:
        """Ask what has no trajectory yet; see `ask_each`."""
        ask_each(
            questions, ask, answers=self.trajectories, failures=self.failures, progress=progress, together=together
        )

    def rank(self, questions: Sequence[Question], rank: Rank, *, progress: Progress | None = None) -> None:
        """Record the ranking of every question that has none yet. Failures as in `ask_each`."""
        done = {r.id for r in self.ranked.read()}
        todo = [q for q in questions if q.id not in done]
        do_each(todo, "searching", lambda q: self.ranked.append(rank(q)), failures=self.failures, progress=progress)

    def open_failures(self, *, asked: bool = True) -> dict[str, Failure]:
        """The latest failure of each question that has no trajectory since; of a run that only searches, no ranking."""
        done = {t.question_id for t in self.trajectories.read()} if asked else {r.id for r in self.ranked.read()}
        return {f.id: f for f in self.failures.read() if f.id not in done}


def ask_each(
    questions: Sequence[Question],
    ask: Ask,
    *,
    answers: JsonLines[Trajectory],
    failures: JsonLines[Failure],
    progress: Progress | None = None,
    together: int = 1,
) -> None:
    """Ask what has no trajectory yet, in order, `together` at a time, and append each trajectory when it is there.

    What goes wrong with one question is appended to `failures`; it stays unanswered and is asked again next time.
    """
    done = {t.question_id for t in answers.read()}
    todo = [q for q in questions if q.id not in done]

    def answer(question: Question) -> None:
        answers.append(ask(question).model_copy(update={"question_id": question.id}))

    do_each(todo, "answering", answer, failures=failures, progress=progress, together=together)


def failure_of(question: Identified, error: Exception) -> Failure:
    """What went wrong with a question. Of our own bugs the traceback is kept."""
    ours = not isinstance(error, DocsageError)
    return Failure(
        id=question.id,
        question=question.text,
        error=str(error) or type(error).__name__,
        kind=type(error).__name__,
        traceback="".join(traceback.format_exception(error)) if ours else "",
    )


def do_each(
    todo: Sequence[Q],
    stage: str,
    do: Callable[[Q], None],
    *,
    failures: JsonLines[Failure],
    progress: Progress | None = None,
    together: int = 1,
) -> None:
    """Do something for each question in order. What goes wrong with one is recorded, and the others go on.

    With `together` above 1, as many are done at the same time, in threads: for work that waits for a server. An
    interrupt stops those that run and starts no others.
    """
    shown = progress or Silent()
    if todo:
        shown.start(stage, len(todo))
    if together <= 1:
        for question in todo:
            _do(question, do, failures, shown)
        return
    with (
        _few_collections(),
        ThreadPoolExecutor(max_workers=together, thread_name_prefix="docsage-question") as pool,
    ):
        asked = [pool.submit(_do, question, do, failures, shown) for question in todo]
        try:
            for done in as_completed(asked):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _stop(asked)
            raise


@contextmanager
def _few_collections() -> Iterator[None]:
    """Look for unreachable objects more seldom: what is loaded stays, and looking took a sixth of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _stop(asked: Sequence[Future[None]]) -> None:
    """Cancel what runs until nothing does: a thread may begin to wait for the loop after it was cleared once."""
    running = [one for one in asked if not one.done()]
    while running:
        loop.cancel_all()
        running = list(wait(running, timeout=_POLL).not_done)


def _do(question: Q, do: Callable[[Q], None], failures: JsonLines[Failure], shown: Progress) -> None:
    try:
        do(question)
    except (Unwritable, CancelledError):
        raise  # nothing of the question's own: it is asked again next time
    except Exception as error:
        # One broken question must not cost the other thousand: it is recorded, counts as wrong and is reported.
        failure = failure_of(question, error)
        failures.append(failure)
        kind = f"{failure.kind}: " if failure.traceback else ""  # only of our own faults is the kind of interest
        asked = shorten(question.text, _SHOWN, placeholder=" …")
        shown.note(f"failed: {question.id} {asked} ({kind}{failure.error})")
    shown.advance()
