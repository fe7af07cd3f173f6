"""AncientDoc's file: what is read, what is left out with a reason, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluation.ancientdoc.samples import fingerprint, load_ancient_set
from evaluation.ancientdoc.tasks import task_named
from retrieval.errors import InputError

ROW = {"image": "a.png", "task": "translation", "question": "翻译这一页。", "reference": "秋堂建成。"}


def _write(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("ocr", "ocr"),
        ("Page-level OCR", "ocr"),
        ("文字識別", "ocr"),
        ("Vernacular Translation", "translation"),
        ("白话翻译", "translation"),
        ("reasoning_qa", "reasoning_qa"),
        ("Reasoning-based QA", "reasoning_qa"),
        ("推理问答", "reasoning_qa"),
        ("Knowledge-based QA task", "knowledge_qa"),
        ("知識問答任務", "knowledge_qa"),
        ("Linguistic Variant QA", "linguistic_qa"),
        ("linguistic-variant QA", "linguistic_qa"),
        ("语言变体问答", "linguistic_qa"),
        ("document_qa", None),
        ("", None),
        ("qa", None),
    ],
)
def test_tasks_go_by_many_names(name: str, task: str | None) -> None:
    assert task_named(name) == task


def test_lines_become_samples_with_paths_beside_the_file(tmp_path: Path) -> None:
    file = _write(tmp_path / "set.jsonl", {**ROW, "id": 7, "dynasty": "清"}, "", {**ROW, "image": ["a.png", "b/c.png"]})
    first, second = load_ancient_set(file).samples
    assert (first.id, first.task, first.paths) == ("7", "translation", (tmp_path / "a.png",))
    assert second.paths == (tmp_path / "a.png", tmp_path / "b" / "c.png")
    assert len(second.id) == 12


def test_image_paths_may_start_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    (sample,) = load_ancient_set(_write(tmp_path / "set.jsonl", ROW), images=tmp_path / "scans").samples
    assert sample.paths == (tmp_path / "scans" / "a.png",)
    with pytest.raises(InputError, match="nowhere is no folder"):
        load_ancient_set(tmp_path / "set.jsonl", images=tmp_path / "nowhere")


def test_a_json_list_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([ROW, {**ROW, "task": "poetry"}], ensure_ascii=False), encoding="utf-8-sig")
    found = load_ancient_set(path)
    assert len(found.samples) == 1
    assert found.refused[0].startswith(f"item 2 of {path} is left out: there is no task 'poetry'")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "it is not JSON"),
        ("7", "it is 7, no object"),
        ({**ROW, "image": None}, 'it has no image; "image" is a path, or a list of paths'),
        ({**ROW, "image": []}, "it has no image"),
        ({**ROW, "image": ["a.png", 3]}, "it has the image ['a.png', 3]"),
        ({**ROW, "image": "a\0b"}, "can't be a path"),
        ({**ROW, "task": "poetry"}, "name one of ocr, translation, reasoning_qa, knowledge_qa, linguistic_qa"),
        ({**ROW, "task": 3}, "it has the task 3"),
        ({**ROW, "question": " "}, "it has the question ' '"),
        ({k: v for k, v in ROW.items() if k != "reference"}, 'it has no reference; "reference" is a text'),
        ({**ROW, "reference": ["x"]}, "it has the reference ['x']"),
        ({**ROW, "id": True}, "it has the id True"),
    ],
)
def test_an_entry_that_cant_be_used_costs_one_line(tmp_path: Path, row: Any, problem: str) -> None:
    file = _write(tmp_path / "set.jsonl", ROW, row)
    found = load_ancient_set(file)
    assert len(found.samples) == 1
    (line,) = found.refused
    assert line.startswith(f"line 2 of {file} is left out: ")
    assert problem in line
    assert "\n" not in line


def test_two_entries_of_one_id_are_refused(tmp_path: Path) -> None:
    file = _write(tmp_path / "set.jsonl", {**ROW, "id": "1"}, ROW, {**ROW, "id": 1})
    with pytest.raises(InputError, match=r"line 1 and line 3 of .* have the same id '1': give each its own"):
        load_ancient_set(file)


def test_the_same_question_twice_gets_two_ids(tmp_path: Path) -> None:
    one, two = load_ancient_set(_write(tmp_path / "set.jsonl", ROW, ROW)).samples
    assert two.id == f"{one.id}-2"


@pytest.mark.parametrize(
    ("content", "problem"), [("", "holds no sample"), ("[]", "holds no sample"), ("[", "not JSON")]
)
def test_a_file_without_samples_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "set.jsonl").write_text(content)
    with pytest.raises(InputError, match=problem):
        load_ancient_set(tmp_path / "set.jsonl")


def test_when_nothing_can_be_used_the_first_reason_is_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no sample, line 1 of .* there is no task 'poetry'"):
        load_ancient_set(_write(tmp_path / "set.jsonl", {**ROW, "task": "poetry"}))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can't be read .*--data is a UTF-8 file"):
        load_ancient_set(tmp_path / "none.jsonl")
    (tmp_path / "gbk.jsonl").write_bytes(json.dumps(ROW, ensure_ascii=False).encode("gbk"))
    with pytest.raises(InputError, match="can't be read"):
        load_ancient_set(tmp_path / "gbk.jsonl")
    with pytest.raises(InputError, match="no regular file"):
        load_ancient_set(Path(os.devnull))


def test_an_image_that_is_no_regular_file_is_left_out_as_such(tmp_path: Path) -> None:
    rows = ({**ROW, "image": os.devnull}, {**ROW, "image": "."}, {**ROW, "image": "to-come.png"})
    found = load_ancient_set(_write(tmp_path / "set.jsonl", *rows))
    assert [sample.images for sample in found.samples] == [("to-come.png",)]
    assert [os.devnull in found.refused[0], "no regular file; name a page image" in found.refused[0]] == [True, True]
    assert "no regular file" in found.refused[1]


def test_a_run_is_told_by_what_is_asked_not_by_its_references(tmp_path: Path) -> None:
    def mark(**changes: str) -> str:
        return fingerprint(load_ancient_set(_write(tmp_path / "set.jsonl", {**ROW, "id": "1", **changes})).samples)

    assert mark() == mark(reference="另一个")
    assert len({mark(), mark(question="?"), mark(image="b.png"), mark(task="ocr"), mark(id="2")}) == 5
