"""Runs: what is done stays done, what failed is tried again, and different runs don't mix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock
from scripted_trajectory import trajectory

from agent.types import Trajectory
from evaluation.folder import RunConfig
from evaluation.run import Run
from evaluation.types import Question, Ranked
from retrieval.errors import InputError
from retrieval.types import PageRef, Scope

QUESTIONS = [Question(id=f"{n:04d}", text=f"question {n}", scope=Scope(doc_ids=("doc",))) for n in range(4)]


def _config(limit: int | None = None, **settings: str) -> RunConfig:
    return RunConfig(
        benchmark="test", questions="abc", settings={"profile": settings or {"name": "embedded"}}, limit=limit
    )


class Agent:
    """Answers every question; those in `broken` raise instead."""

    def __init__(self, *broken: str) -> None:
        self.asked: list[str] = []
        self.broken = broken

    def __call__(self, question: Question) -> Trajectory:
        self.asked.append(question.id)
        if question.id in self.broken:
            raise ZeroDivisionError("the agent has a bug")
        return trajectory(question.text, "yes")


def _ids(run: Run) -> list[str | None]:
    return [t.question_id for t in run.trajectories.read()]


def test_each_trajectory_is_one_line_that_carries_its_question(tmp_path: Path) -> None:
    run = Run(tmp_path / "out")
    with run.opened(_config()):
        run.ask(QUESTIONS, Agent())
    lines = (tmp_path / "out" / "trajectories.jsonl").read_text().splitlines()
    assert [json.loads(line)["question_id"] for line in lines] == ["0000", "0001", "0002", "0003"]
    assert json.loads(lines[0])["schema"] == "docsage.trajectory/1"


def test_the_same_run_again_asks_nothing_twice(tmp_path: Path) -> None:
    run, again = Run(tmp_path), Agent()
    with run.opened(_config()):
        run.ask(QUESTIONS[:3], Agent())
    with run.opened(_config()):
        run.ask(QUESTIONS, again)
    assert again.asked == ["0003"]
    assert _ids(run) == ["0000", "0001", "0002", "0003"]


def test_a_torn_last_line_is_dropped_and_its_question_asked_again(tmp_path: Path) -> None:
    run, again = Run(tmp_path), Agent()
    with run.opened(_config()):
        run.ask(QUESTIONS[:2], Agent())
    path = tmp_path / "trajectories.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    with run.opened(_config()):
        run.ask(QUESTIONS, again)
    assert again.asked == ["0001", "0002", "0003"]
    assert _ids(run) == ["0000", "0001", "0002", "0003"]


def test_a_damaged_line_in_the_middle_is_named_and_not_guessed_at(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with run.opened(_config()):
        run.ask(QUESTIONS[:2], Agent())
        path = tmp_path / "trajectories.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0][:30] + b"\n" + lines[1])
        with pytest.raises(InputError, match=r"line 1 of .*trajectories\.jsonl"):
            run.ask(QUESTIONS, Agent())


def test_a_failed_question_is_recorded_and_tried_again(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with run.opened(_config()):
        run.ask(QUESTIONS, Agent("0001"))
    failure = run.open_failures()["0001"]
    assert _ids(run) == ["0000", "0002", "0003"]
    assert (failure.kind, failure.error) == ("ZeroDivisionError", "the agent has a bug")
    assert "raise ZeroDivisionError" in failure.traceback

    again = Agent()
    with run.opened(_config()):
        run.ask(QUESTIONS, again)
    assert again.asked == ["0001"]
    assert run.open_failures() == {}


def test_bad_input_is_recorded_without_a_traceback(tmp_path: Path) -> None:
    def refuse(question: Question) -> Trajectory:
        raise InputError("the file is encrypted", remedy="give its --password")

    run = Run(tmp_path)
    with run.opened(_config()):
        run.ask(QUESTIONS[:1], refuse)
    failure = run.open_failures()["0000"]
    assert failure.error == "the file is encrypted: give its --password"
    assert failure.traceback == ""


def test_rankings_are_kept_beside_the_answers(tmp_path: Path) -> None:
    run, calls = Run(tmp_path), []

    def rank(question: Question) -> Ranked:
        calls.append(question.id)
        return Ranked(id=question.id, question=question.text, pages=(PageRef(doc_id="doc", page=1),), seconds=0.1)

    with run.opened(_config()):
        run.rank(QUESTIONS[:2], rank)
        run.rank(QUESTIONS, rank)
    assert calls == ["0000", "0001", "0002", "0003"]
    assert [r.id for r in run.ranked.read()] == calls


def test_another_configuration_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with run.opened(_config()):
        run.ask(QUESTIONS[:1], Agent())
    with (
        pytest.raises(InputError, match=r'settings\.profile\.name "embedded", not "local".*choose another --out'),
        run.opened(_config(name="local"), resume=True),
    ):
        pass


def test_another_limit_needs_resume(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with run.opened(_config(limit=2)):
        run.ask(QUESTIONS[:1], Agent())
    with pytest.raises(InputError, match=r"limit 2, not 4.*--resume"), run.opened(_config(limit=4)):
        pass
    with run.opened(_config(limit=4), resume=True):
        pass
    with run.opened(_config(limit=4)):
        pass


def test_a_run_that_asked_nothing_yet_may_be_begun_in_another_way(tmp_path: Path) -> None:
    """Such as one whose server was named wrongly."""
    with Run(tmp_path).opened(_config()):
        pass
    with Run(tmp_path).opened(_config(name="local")):
        pass


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not empty and holds no run"), Run(tmp_path).opened(_config()):
        pass
    assert [p.name for p in tmp_path.iterdir() if p.name != ".lock"] == ["thesis.txt"]


def test_two_processes_cannot_run_in_one_folder(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(InputError, match="another process is running"),
        Run(tmp_path).opened(_config()),
    ):
        pass


@pytest.mark.parametrize("content", [b"", b'{"schema": "docsage.run/1", "bench', b"\xff\x00", b"[]"])
def test_a_run_whose_description_is_damaged_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json can't be read"), Run(tmp_path).opened(_config()):
        pass
    assert (tmp_path / "run.json").read_bytes() == content


@pytest.mark.parametrize("name", ["file", "file/run", "a" * 300])
def test_a_path_that_can_be_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="can't be the folder of a run"), Run(tmp_path / name).opened(_config()):
        pass
    assert (tmp_path / "file").read_text() == "precious"
