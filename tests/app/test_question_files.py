"""Question files in their three forms, and what is said about those that can't be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.questions import load_questions
from retrieval.errors import InputError


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.txt", "\ufeffHow many?\n\n何時？\n"),
        ("q.json", '["How many?", {"question": "何時？"}]'),
        ("q.jsonl", '{"question": "How many?"}\n"何時？"\n'),
    ],
)
def test_the_three_forms_hold_the_same_questions(tmp_path: Path, name: str, text: str) -> None:
    asked = load_questions(_file(tmp_path, name, text))
    assert [a.question for a in asked] == ["How many?", "何時？"]
    same = load_questions(_file(tmp_path, "other.txt", "何時？\nHow many?\n"))
    assert {a.id for a in same} == {a.id for a in asked}


def test_documents_beside_the_file_are_found_and_gold_fields_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").touch()
    text = '[{"question": "q", "question_id": 7, "doc": "a.pdf", "gold": 1}, {"question": "q", "paths": ["b.pdf"]}]'
    first, second = load_questions(_file(tmp_path, "q.json", text))
    assert (first.id, first.paths) == ("7", (str(tmp_path / "a.pdf"),))
    assert second.paths == ("b.pdf",)


@pytest.mark.parametrize("path", ["a" * 4000, "a\\u0000b.pdf"])
def test_a_path_that_can_be_no_file_is_left_to_its_question(tmp_path: Path, path: str) -> None:
    (asked,) = load_questions(_file(tmp_path, "q.jsonl", f'{{"question": "q", "paths": ["{path}"]}}'))
    assert asked.paths == (path.replace("\\u0000", "\0"),)


def test_questions_may_come_through_a_pipe_but_not_from_a_device(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"How many?\n")
    os.close(write)
    try:
        assert [a.question for a in load_questions(Path(f"/dev/fd/{read}"))] == ["How many?"]
    finally:
        os.close(read)
    for path in ("/dev/zero", tmp_path):
        with pytest.raises(InputError, match="no regular file"):
            load_questions(Path(path))


def test_the_same_question_twice_is_two_questions(tmp_path: Path) -> None:
    first, second = load_questions(_file(tmp_path, "q.txt", "How many?\nHow many?\n"))
    assert second.id == f"{first.id}-2"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.txt", "\n", "holds no question"),
        ("q.json", '{"question": "q"}', "holds a dict"),
        ("q.json", "[", "is no JSON"),
        ("q.jsonl", '{"question": "q"}\n{"query": "q"}\n', "line 2"),
        ("q.jsonl", "[1]\n", "line 1"),
        ("q.jsonl", '{"id": "a", "question": "q"}\n{"id": "a", "question": "r"}\n', "two questions with the id 'a'"),
    ],
)
def test_a_file_that_cant_be_used_is_explained(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_questions(_file(tmp_path, name, text))


def test_answers_of_other_settings_end_in_no_file_together(docsage, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("How many apple trees are there?\n", encoding="utf-8")
    batch = ("ask", "--questions", "q.txt", "--out", "a.jsonl", english_pdf)
    assert docsage(*batch).code == 0
    assert docsage(*batch).code == 0
    other = docsage(*batch, "--task", "translation")
    assert other.code == 2
    assert "a.jsonl holds answers with task null" in other.err
    assert "choose another --out" in other.err


def test_a_question_and_a_file_of_questions_are_not_both_asked(docsage, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("How many apple trees are there?\n", encoding="utf-8")
    result = docsage("ask", "Who is it?", english_pdf, "--questions", "q.txt", "--out", "a.jsonl")
    assert result.code == 2
    assert "not both" in result.err
