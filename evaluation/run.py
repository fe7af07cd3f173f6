"""A run: questions in, trajectories out, one a line. Killed at any moment, the same command goes on where it was."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError

from agent.types import Trajectory
from evaluation.records import JsonLines, Unwritable, write_json
from evaluation.types import Failure, Question, Ranked
from retrieval.errors import DocsageError, InputError
from retrieval.progress import Progress, Silent
from retrieval.types import Frozen

_SHOWN = 120
Ask = Callable[[Question], Trajectory]
Rank = Callable[[Question], Ranked]


class RunConfig(Frozen):
    """What makes two runs the same: answers of different configurations must not end in one file.

    `limit` is kept apart, because a run may be continued with a higher one.
    """

    schema_version: Literal["docsage.run/1"] = Field(default="docsage.run/1", alias="schema")
    benchmark: str
    questions: str
    settings: dict[str, Any]
    limit: int | None = None


class Run:
    """The files of one run in one folder: `run.json`, `trajectories.jsonl`, `ranked.jsonl`, `failures.jsonl`."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.trajectories = JsonLines(out / "trajectories.jsonl", Trajectory)
        self.ranked = JsonLines(out / "ranked.jsonl", Ranked)
        self.failures = JsonLines(out / "failures.jsonl", Failure)

    @contextmanager
    def opened(self, config: RunConfig, *, resume: bool = False) -> Iterator[None]:
        """Hold the folder for this process; start the run, or go on with it when it was started by the same config.

        `resume` allows another `limit`. A folder that holds anything else is an InputError, and so is a folder that
        another process is running in.
        """
        lock = FileLock(self.out / ".lock")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"another process is running in {self.out}", remedy="wait for it, or stop it") from None
        except OSError as error:
            raise InputError(
                f"{self.out} can't be the folder of a run ({error.strerror})", remedy="choose another folder for --out"
            ) from error
        try:
            self._check(config, resume=resume)
            write_json(self.out / "run.json", config)
            for log in (self.trajectories, self.ranked, self.failures):
                log.repair()
            yield
        finally:
            lock.release()

    def ask(self, questions: Sequence[Question], ask: Ask, *, progress: Progress | None = None) -> None:
        """Ask what has no trajectory yet; see `ask_each`."""
        ask_each(questions, ask, answers=self.trajectories, failures=self.failures, progress=progress)

    def rank(self, questions: Sequence[Question], rank: Rank, *, progress: Progress | None = None) -> None:
        """Record the ranking of every question that has none yet. Failures as in `ask_each`."""
        done = {r.id for r in self.ranked.read()}
        todo = [q for q in questions if q.id not in done]
        _each(todo, "searching", lambda q: self.ranked.append(rank(q)), self.failures, progress or Silent())

    def open_failures(self, *, asked: bool = True) -> dict[str, Failure]:
        """The latest failure of each question that has no trajectory since; of a run that only searches, no ranking."""
        done = {t.question_id for t in self.trajectories.read()} if asked else {r.id for r in self.ranked.read()}
        return {f.id: f for f in self.failures.read() if f.id not in done}

    def _check(self, config: RunConfig, *, resume: bool) -> None:
        path = self.out / "run.json"
        if not path.exists():
            if any(p.name not in {".lock", "run.json.partial"} for p in self.out.iterdir()):
                raise InputError(f"{self.out} is not empty and holds no run", remedy="choose an empty folder for --out")
            return
        try:
            before = RunConfig.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError(
                f"{path} can't be read as the description of a run", remedy="choose another --out, or put it back"
            ) from error
        ignored = {"limit"} if resume else set()
        changed = differences(before.model_dump(exclude=ignored), config.model_dump(exclude=ignored))
        if changed:
            only_limit = all(line.startswith("limit") for line in changed)
            remedy = "add --resume to go on with another --limit" if only_limit else "choose another --out"
            raise InputError(f"{self.out} holds a run with {'; '.join(changed)}", remedy=remedy)


def differences(before: Any, now: Any, at: str = "") -> list[str]:
    """Where two JSON values differ, one line each: `settings.profile "embedded", not "local"`."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*before, *(key for key in now if key not in before)]
        lines = []
        for key in keys:
            lines += differences(before.get(key), now.get(key), f"{at}.{key}" if at else str(key))
        return lines
    return [] if before == now else [f"{at} {json.dumps(before)}, not {json.dumps(now)}"]


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

    _each(todo, "answering", answer, failures, progress or Silent())


def failure_of(question: Question, error: Exception) -> Failure:
    """What went wrong with a question. Of our own bugs the traceback is kept."""
    ours = not isinstance(error, DocsageError)
    return Failure(
        id=question.id,
        question=question.text,
        error=str(error) or type(error).__name__,
        kind=type(error).__name__,
        traceback="".join(traceback.format_exception(error)) if ours else "",
    )


def _each(
    todo: Sequence[Question],
    stage: str,
    do: Callable[[Question], None],
    failures: JsonLines[Failure],
    progress: Progress,
) -> None:
    if todo:
        progress.start(stage, len(todo))
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
            progress.note(f"failed: {question.id} {asked} ({kind}{failure.error})")
        progress.advance()
