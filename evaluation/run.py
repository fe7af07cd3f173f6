"""A run: questions in, trajectories out, one a line. Killed at any moment, the same command goes on where it was."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Protocol, TypeVar

from agent.types import Trajectory
from evaluation.folder import RunFolder
from evaluation.records import JsonLines, Unwritable
from evaluation.types import Failure, Question, Ranked
from retrieval.errors import DocsageError
from retrieval.progress import Progress, Silent

_SHOWN = 120
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

    def ask(self, questions: Sequence[Question], ask: Ask, *, progress: Progress | None = None) -> None:
        """Ask what has no trajectory yet; see `ask_each`."""
        ask_each(questions, ask, answers=self.trajectories, failures=self.failures, progress=progress)

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
) -> None:
    """Ask what has no trajectory yet, in order, and append each trajectory before the next question is asked.

    What goes wrong with one question is appended to `failures`; it stays unanswered and is asked again next time.
    """
    done = {t.question_id for t in answers.read()}
    todo = [q for q in questions if q.id not in done]

    def answer(question: Question) -> None:
        answers.append(ask(question).model_copy(update={"question_id": question.id}))

    do_each(todo, "answering", answer, failures=failures, progress=progress)


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
) -> None:
    """Do something for each question in order. What goes wrong with one is recorded, and the others go on."""
    shown = progress or Silent()
    if todo:
        shown.start(stage, len(todo))
    for question in todo:
        try:
            do(question)
        except Unwritable:
            raise
        except Exception as error:
            # One broken question must not cost the other thousand: it is recorded, counts as wrong and is reported.
            failure = failure_of(question, error)
            failures.append(failure)
            kind = f"{failure.kind}: " if failure.traceback else ""  # only of our own faults is the kind of interest
            asked = shorten(question.text, _SHOWN, placeholder=" …")
            shown.note(f"failed: {question.id} {asked} ({kind}{failure.error})")
        shown.advance()
