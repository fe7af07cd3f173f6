"""Where answers are written: a file of the user's is never damaged, and what can't take answers is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "How many apple trees does the orchard at Linden Hill hold?"}')
    return path


@pytest.mark.parametrize(
    "content",
    ["notes line one\nlast line no newline", "one line of notes", '{"schema": "my own"}', '{"question": "?"}\n'],
)
@pytest.mark.parametrize("ending", ["", ".failures.jsonl"])
def test_a_file_that_holds_something_else_stays_as_it_is(
    docsage, english_pdf: Path, questions: Path, tmp_path: Path, content: str, ending: str
) -> None:
    precious = tmp_path / f"notes.txt{ending}"
    precious.write_text(content)
    result = docsage("ask", "--questions", questions, "--out", tmp_path / "notes.txt", english_pdf)
    assert (result.code, result.out) == (2, "")
    assert str(precious) in result.err.splitlines()[-1]
    assert precious.read_text() == content


def test_the_questions_are_not_overwritten_with_answers(docsage, english_pdf: Path, questions: Path) -> None:
    before = questions.read_bytes()
    result = docsage("ask", "--questions", questions, "--out", questions, english_pdf)
    assert result.code == 2
    assert "holds the questions" in result.err
    assert questions.read_bytes() == before


@pytest.mark.parametrize("what", ["folder", "pipe", "/dev/full", "/dev/null", "file/answers.jsonl"])
def test_only_a_regular_file_takes_answers(
    docsage, english_pdf: Path, questions: Path, tmp_path: Path, what: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    result = docsage("ask", "--questions", questions, "--out", what, english_pdf)
    assert result.code == 2
    assert what.partition("/answers")[0] in result.err.splitlines()[-1]
    assert not Path(f"{what}.lock").exists()


def test_a_torn_answer_is_dropped_and_asked_again(docsage, english_pdf: Path, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    docsage("ask", "--questions", questions, "--out", out, english_pdf)
    whole = out.read_bytes()
    for kept in (5, 100):
        out.write_bytes(whole[:kept])
        assert docsage("ask", "--questions", questions, "--out", out, english_pdf).code == 0
        assert out.read_bytes().count(b"\n") == 1


def test_a_full_disk_ends_the_batch_at_once_and_in_one_line(
    docsage, english_pdf: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions.write_text('"How many apple trees?"\n"How many wells?"\n')

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evaluation.records.os.fsync", full)
    result = docsage("ask", "--questions", questions, "--out", tmp_path / "answers.jsonl", english_pdf)
    assert result.code == 2
    assert "No space left on device" in result.err.splitlines()[-1]
    assert "This is a bug" not in result.err
    assert not (tmp_path / "answers.jsonl.failures.jsonl").exists()
