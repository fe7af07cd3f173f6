"""Many questions to a model at the same time: killed, failed and asked again, nothing is asked twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fake_server import Answer, Received
from model_server import ModelServer, profile_text

from agent.types import Trajectory
from evaluation.types import Failure

ROOT = Path(__file__).parents[2]
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


def question(word: str) -> str:
    return f"How many apple trees does row {word} of the orchard at Linden Hill hold?"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Eight questions, each with an id of its own."""
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"id": word, "question": question(word)}) + "\n" for word in NUMBERS))
    return path


@pytest.fixture
def command(questions: Path, english_pdf: Path) -> tuple[object, ...]:
    return ("ask", "--questions", questions, "--out", "a.jsonl", english_pdf, "--profile", "served.yaml")


def write_profile(folder: Path, base_url: str, **model: Any) -> None:
    (folder / "served.yaml").write_text(profile_text(base_url=base_url, **model))


def answered(folder: Path) -> list[Trajectory]:
    return [Trajectory.model_validate_json(line) for line in (folder / "a.jsonl").read_text().splitlines()]


def test_questions_are_asked_at_the_same_time_and_each_is_written_once(docsage, serve, command, tmp_path: Path) -> None:
    def wait_for_all(role: str, _: Received) -> Answer | None:
        steps = json.dumps({"steps": [{"tool": "page_retriever", "query": "apple trees"}]})
        return Answer(steps, together=8) if role == "plan" else None  # answered once eight have asked

    model = ModelServer(wait_for_all)
    server = serve(model)
    write_profile(tmp_path, server.base_url)
    result = docsage(*command)
    assert result.code == 0, result.err
    assert server.most_in_flight == 8
    assert sorted(t.question_id or "" for t in answered(tmp_path)) == sorted(NUMBERS)
    assert {t.question for t in answered(tmp_path)} == set(map(question, NUMBERS))
    assert {t.answer for t in answered(tmp_path)} == {"312"}
    assert model.asked["plan"] == 8
    assert "answering: 8 questions" in result.err
    assert "8 answered, 0 abstained, 0 failed" in result.err


def test_concurrency_limits_what_is_asked_at_the_same_time(docsage, serve, command, tmp_path: Path) -> None:
    server = serve(ModelServer())
    write_profile(tmp_path, server.base_url)
    assert docsage(*command, "--concurrency", 1).code == 0
    assert server.most_in_flight == 1
    assert [t.question_id for t in answered(tmp_path)] == list(NUMBERS)


def test_a_question_that_fails_costs_no_other(docsage, serve, command, tmp_path: Path) -> None:
    def refuse(role: str, request: Received) -> Answer | None:
        return Answer(status=400, error={"message": "no"}) if "row three" in request.user else None

    model = ModelServer(refuse)
    server = serve(model)
    write_profile(tmp_path, server.base_url)
    result = docsage(*command, "--baseline", "direct")
    assert result.code == 2
    assert "7 answered, 0 abstained, 1 failed" in result.err
    assert "failed: three" in result.err
    (failure,) = (tmp_path / "a.jsonl.failures.jsonl").read_text().splitlines()
    assert "the model gave no answer" in Failure.model_validate_json(failure).error
    assert model.asked["direct"] == 8
    (command_again,) = [ModelServer()]
    write_profile(tmp_path, serve(command_again).base_url)
    assert docsage(*command, "--baseline", "direct").code == 0
    assert dict(command_again.asked) == {"direct": 1}
    assert len(answered(tmp_path)) == 8


def test_a_batch_that_is_done_needs_no_server(docsage, serve, command, tmp_path: Path) -> None:
    write_profile(tmp_path, serve(ModelServer()).base_url)
    assert docsage(*command).code == 0
    before = (tmp_path / "a.jsonl").read_bytes()
    write_profile(tmp_path, "http://127.0.0.1:9/v1")
    again = docsage(*command)
    assert (again.code, "8 answered" in again.err) == (0, True)
    assert (tmp_path / "a.jsonl").read_bytes() == before


def _started(command: tuple[object, ...], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app.cli", *map(str, command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_batch_that_is_stopped_goes_on_and_asks_nothing_twice(
    docsage, serve, command, tmp_path: Path, blow: signal.Signals
) -> None:
    hung = {"two", "five", "seven"}
    stuck: set[str] = set()
    all_stuck = threading.Event()

    def hang(role: str, request: Received) -> Answer | None:
        """Three questions get no verdict, so that the run is stopped between the calls of a question."""
        stops = {word for word in hung if f"row {word} " in request.user} if role == "verify" else set()
        stuck.update(stops)
        if stuck == hung:
            all_stuck.set()
        return Answer(hang=True) if stops else None

    model = ModelServer(hang)
    server = serve(model)
    write_profile(tmp_path, server.base_url, concurrency=4)
    process = _started(command, tmp_path)
    assert all_stuck.wait(60)
    while len(_lines(tmp_path / "a.jsonl")) < 5:
        assert process.poll() is None, process.communicate()
    process.send_signal(blow)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL), said
    if blow == signal.SIGINT:
        assert said.splitlines()[-1] == "Interrupted. The same command goes on where this one stopped."
        assert not (tmp_path / "a.jsonl.failures.jsonl").exists()
    first = _lines(tmp_path / "a.jsonl")
    asked_before = dict(model.asked)

    model.asked.clear()
    model._before = lambda _role, _request: None
    again = docsage(*command)
    assert again.code == 0, again.err
    assert _lines(tmp_path / "a.jsonl")[: len(first)] == first
    assert sorted(t.question_id or "" for t in answered(tmp_path)) == sorted(NUMBERS)
    assert asked_before["plan"] == asked_before["answer"] == 8
    assert dict(model.asked) == {"verify": 3}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
