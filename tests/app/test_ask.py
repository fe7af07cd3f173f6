"""`docsage ask` as a user meets it: what is printed where, and the exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agent.types import Trajectory
from app.boxes import BORDER
from app.session import Session

QUESTION = "How many apple trees does the orchard at Linden Hill hold?"


def test_the_answer_comes_with_its_place_and_what_was_checked(docsage, english_pdf: Path) -> None:
    result = docsage("ask", QUESTION, english_pdf)
    assert result.code == 0
    assert "312" in result.out.splitlines()[0]
    assert "orchard.pdf, page 1" in result.out
    assert "The orchard at Linden Hill holds 312 apple trees." in result.out
    assert "supported" in result.out
    assert "reading: 3 pages" in result.err


def test_json_is_exactly_one_trajectory_on_stdout(docsage, english_pdf: Path) -> None:
    result = docsage("ask", QUESTION, english_pdf, "--json")
    assert result.out.count("\n") == 1
    assert json.loads(result.out)["schema"] == "docsage.trajectory/1"
    trajectory = Trajectory.model_validate_json(result.out)
    assert [p.ref.page for p in trajectory.pages] == [1]


def test_the_second_ask_reads_nothing(docsage, english_pdf: Path) -> None:
    docsage("ask", QUESTION, english_pdf)
    again = docsage("ask", QUESTION, english_pdf)
    assert again.code == 0
    assert again.err == ""


def test_what_isnt_in_the_documents_is_said_with_code_3(docsage, english_pdf: Path) -> None:
    result = docsage("ask", "What is the annual salary of the orchard's captain?", english_pdf)
    assert result.code == 3
    assert result.out.startswith("Not found in the documents.")
    assert "Looked at: orchard.pdf" in result.out


def test_the_answer_comes_from_the_named_paths_only(docsage, make_pdf) -> None:
    pears = make_pdf("pears.pdf", ["The orchard at Linden Hill holds 77 pear trees."])
    apples = make_pdf("apples.pdf", ["The orchard at Linden Hill holds 312 apple trees."])
    docsage("index", pears, apples)
    trajectory = Trajectory.model_validate_json(
        docsage("ask", "How many trees does the orchard at Linden Hill hold?", pears, "--json").out
    )
    assert trajectory.answer is not None
    assert "77" in trajectory.answer
    assert {p.document for p in trajectory.pages} == {"pears.pdf"}


def test_a_refused_file_costs_one_line_and_the_rest_goes_on(docsage, english_pdf: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing else")
    result = docsage("ask", QUESTION, english_pdf, broken)
    assert result.code == 0
    assert sum("broken.pdf" in line for line in result.err.splitlines()) == 1
    assert "broken.pdf" not in result.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["ask"], "no question was given"),
        (["ask", " "], "no question was given"),
        (["ask", "What?", "missing.pdf"], "there is no missing.pdf: name PDFs"),
        (["ask", "What?"], "is empty"),
        (["ask", "What?", "a.pdf", "--profile", "gigantic"], "'gigantic'"),
        (["ask", "--questions", "q.txt"], "--questions and --out belong together"),
        (["ask", "--questions", "q.txt", "--out", "o.jsonl"], "q.txt can't be read"),
        (["ask", "What?", "--unknown"], "--unknown"),
        (["search", ""], "the query is empty"),
        (["index"], "no PATH was given"),
        (["trace", "latest"], "there are no runs"),
        (["eval", "mmlongbench-doc", "--data", "nowhere", "--out", "run"], "samples.json does not exist"),
        (["score", "other", "--golden", "g.jsonl"], "there is no scorer 'other'"),
    ],
)
def test_bad_input_ends_with_code_2_and_says_what_is_wrong(docsage, words: list[str], problem: str) -> None:
    result = docsage(*words)
    assert result.code == 2
    assert problem in result.err
    assert result.out == ""


def test_nothing_is_made_where_there_is_nothing_to_ask(docsage, tmp_path: Path) -> None:
    for command in ("ask", "search"):
        assert docsage(command, "Who?", "-c", "new").code == 2
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_question_is_recognised(docsage, english_pdf: Path) -> None:
    result = docsage("ask", english_pdf)
    assert result.code == 2
    assert "is a file, not a question" in result.err


def test_a_collection_that_is_none_is_bad_input(docsage, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "collection.sqlite").write_text("not a database, and long enough to be seen as none" * 40)
    for collection in ("file", "broken"):
        result = docsage("ask", QUESTION, english_pdf, "--collection", tmp_path / collection)
        assert result.code == 2
        assert "can't be opened" in result.err


def test_our_own_fault_is_code_1_with_the_traceback_in_a_file(
    docsage, english_pdf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Session, "agent", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = docsage("ask", QUESTION, english_pdf)
    assert (result.code, result.out) == (1, "")
    assert "Traceback" not in result.err
    (log,) = tmp_path.glob("docsage-*.log")
    assert str(log) in result.err
    assert "Traceback" in log.read_text()

    assert "Traceback" in docsage("ask", QUESTION, english_pdf, "--debug").err


def test_ctrl_c_is_code_130_and_says_that_work_is_kept(
    docsage, english_pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "agent", interrupt)
    result = docsage("ask", QUESTION, english_pdf)
    assert result.code == 130
    assert result.err.splitlines()[-1] == "Interrupted. The same command goes on where this one stopped."


def test_a_folder_that_cant_hold_pictures_is_said_before_anything_is_read(docsage, english_pdf: Path) -> None:
    result = docsage("ask", QUESTION, english_pdf, "--boxes", english_pdf)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert "can't be written" in result.err


def test_the_footer_has_the_time_of_the_run_and_of_the_whole_command(docsage, english_pdf: Path) -> None:
    footer = docsage("ask", QUESTION, english_pdf).out.splitlines()[-1]
    run, whole = re.findall(r"([\d.]+) s", footer)
    assert float(whole) >= float(run)


def test_boxes_are_drawn_around_the_cited_block(docsage, english_pdf: Path, tmp_path: Path) -> None:
    result = docsage("ask", QUESTION, english_pdf, "--json", "--boxes", tmp_path / "boxes")
    trajectory = Trajectory.model_validate_json(result.out)
    (path,) = (tmp_path / "boxes").glob("*.png")
    assert str(path) in result.err
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    height, width = pixels.shape[:2]
    region = trajectory.facts[0].region
    middle = round((region.block.y1 + region.block.y2) / 2 * height)
    right = round(region.block.x2 * width)
    edge = pixels[middle, right - 3 : min(right + 8, width)]
    assert (np.abs(edge - np.array(BORDER)).sum(axis=1) == 0).any()
    assert region.focus is not None
    inside = pixels[
        round(region.focus.y1 * height) : round(region.focus.y2 * height),
        round(region.focus.x1 * width) : round(region.focus.x2 * width),
    ]
    assert (inside[..., 2] < inside[..., 0]).any()  # the tint is yellow: less blue than red


def test_many_questions_are_resumed_and_failures_reported(docsage, english_pdf: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"id": "trees", "question": QUESTION, "doc": "orchard.pdf"},
        {"id": "lost", "question": QUESTION, "paths": ["lost.pdf"]},
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "answers.jsonl"
    first = docsage("ask", "--questions", questions, "--out", out)
    assert first.code == 2
    assert first.out == ""
    assert "1 answered, 0 abstained, 1 failed" in first.err
    assert [json.loads(line)["question_id"] for line in out.read_text().splitlines()] == ["trees"]

    (tmp_path / "lost.pdf").write_bytes(english_pdf.read_bytes())
    again = docsage("ask", "--questions", questions, "--out", out)
    assert again.code == 0
    answers = [Trajectory.model_validate_json(line) for line in out.read_text().splitlines()]
    assert [t.question_id for t in answers] == ["trees", "lost"]
    assert all(t.answer and "312" in t.answer for t in answers)
