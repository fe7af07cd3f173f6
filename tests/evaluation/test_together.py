"""Questions asked at the same time: each is written once, one that fails costs no other, and an end is an end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_trajectory import trajectory

from agent import loop
from agent.types import Trajectory
from evaluation.records import JsonLines, Unwritable
from evaluation.run import ask_each
from evaluation.types import Failure, Question
from retrieval.errors import InputError
from retrieval.types import Scope

QUESTIONS = [Question(id=f"q{n}", text=f"question {n}", scope=Scope(doc_ids=("doc",))) for n in range(8)]
IDS = {question.id for question in QUESTIONS}


class Counted:
    """A progress that counts."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self.notes: list[str] = []
        self._lock = threading.Lock()

    def start(self, stage: str, total: int) -> None:
        self.total = total

    def advance(self, units: int = 1) -> None:
        with self._lock:
            self.done += units

    def note(self, message: str) -> None:
        self.notes.append(message)


class Files:
    """The files of a batch."""

    def __init__(self, folder: Path) -> None:
        self.answers = JsonLines(folder / "a.jsonl", Trajectory)
        self.failures = JsonLines(folder / "f.jsonl", Failure)
        self.progress = Counted()

    def ask(self, ask: Callable[[Question], Trajectory], together: int) -> None:
        ask_each(
            QUESTIONS,
            ask,
            answers=self.answers,
            failures=self.failures,
            progress=self.progress,
            together=together,
        )

    @property
    def ids(self) -> list[str | None]:
        return [t.question_id for t in self.answers.read()]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _for_ever() -> None:
    await asyncio.Event().wait()


def test_as_many_as_allowed_run_at_once_and_each_is_written_once(files: Files) -> None:
    all_here = threading.Barrier(4)

    def ask(question: Question) -> Trajectory:
        all_here.wait(30)  # nobody goes on before four are here
        return trajectory(question.text, "yes")

    files.ask(ask, 4)
    assert sorted(files.ids, key=str) == sorted(IDS)
    assert {t.question for t in files.answers.read()} == {question.text for question in QUESTIONS}
    assert (files.progress.total, files.progress.done) == (8, 8)

    def never(_: Question) -> Trajectory:
        raise AssertionError("asked twice")

    files.ask(never, 4)
    assert len(files.ids) == 8


def test_a_failure_is_recorded_and_the_others_go_on(files: Files) -> None:
    def ask(question: Question) -> Trajectory:
        if question.id == "q3":
            raise InputError("no such document")
        if question.id == "q5":
            raise ZeroDivisionError("a bug")
        return trajectory(question.text, "yes")

    files.ask(ask, 3)
    assert set(files.ids) == IDS - {"q3", "q5"}
    failures = {failure.id: failure for failure in files.failures.read()}
    assert failures.keys() == {"q3", "q5"}
    assert failures["q3"].traceback == ""
    assert "ZeroDivisionError" in failures["q5"].traceback
    assert files.progress.done == 8
    assert len(files.progress.notes) == 2


def test_an_interrupt_cancels_what_runs_and_counts_as_no_failure(files: Files) -> None:
    waiting = threading.Barrier(8)

    def ask(question: Question) -> Trajectory:
        waiting.wait(30)
        if question.id == "q1":
            raise KeyboardInterrupt
        loop.run(_for_ever())
        raise AssertionError("what was cancelled went on")

    with pytest.raises(KeyboardInterrupt):
        files.ask(ask, 8)
    assert files.ids == []
    assert files.failures.read() == []


def test_what_begins_to_wait_after_the_interrupt_is_cancelled_too(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_here, cleared = threading.Barrier(8), threading.Event()
    cancel_all = loop.cancel_all

    def cancel() -> None:
        cancel_all()
        cleared.set()

    monkeypatch.setattr(loop, "cancel_all", cancel)

    def ask(question: Question) -> Trajectory:
        all_here.wait(30)
        if question.id == "q0":
            raise KeyboardInterrupt
        cleared.wait(30)  # such as a question that was still reading documents
        loop.run(_for_ever())
        raise AssertionError("what was cancelled went on")

    with pytest.raises(KeyboardInterrupt):
        files.ask(ask, 8)
    assert files.ids == []
    assert files.failures.read() == []


def test_a_file_that_cant_be_written_ends_the_batch(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def full(_: Trajectory) -> None:
        raise Unwritable("the disk is full")

    monkeypatch.setattr(files.answers, "append", full)

    def ask(question: Question) -> Trajectory:
        asked.append(question.id)
        return trajectory(question.text, "yes")

    with pytest.raises(Unwritable):
        files.ask(ask, 1)
    assert asked == ["q0"]
    with pytest.raises(Unwritable):
        files.ask(ask, 2)
    assert files.failures.read() == []
