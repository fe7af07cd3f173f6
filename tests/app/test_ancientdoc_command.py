"""`docsage eval ancientdoc` and `docsage eval behaviour` from the command line, with the embedded agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

COLUMNS = ("文昌書院在縣治東二里", "秋堂成延鄉人沈端為山長", "端字伯直博通三禮")
QUESTIONS = [
    ("ocr", "请抄录本页全文。", "".join(COLUMNS)),
    ("Vernacular Translation", "请把这一页译成白话文。", "文昌书院在县衙东边二里。"),
    ("knowledge_qa", "誰是文昌書院的山長？", "沈端"),
]


@pytest.fixture
def questions(tmp_path: Path, make_pdf: Callable[..., Path]) -> Path:
    """Three questions over a digital page, and a line that is no question."""
    make_pdf("page.pdf", ["\n".join(COLUMNS)])
    return _write(tmp_path / "ancient.jsonl", "page.pdf")


def _write(path: Path, image: str) -> Path:
    rows = [
        {"image": image, "task": task, "question": question, "reference": reference}
        for task, question, reference in QUESTIONS
    ]
    path.write_text("\n".join(json.dumps(row) for row in [*rows, {"task": "poetry"}]), encoding="utf-8")
    return path


def _vertical_page(path: Path) -> Path:
    """A picture of columns from right to left, as a book of old has them."""
    page = pymupdf.open().new_page(width=300, height=420)
    for column, text in enumerate(COLUMNS):
        for row, character in enumerate(text):
            page.insert_text((230 - 60 * column, 50 + 32 * row), character, fontname="china-t", fontsize=28)
    page.get_pixmap(dpi=144).save(path)
    return path


def _asked(summary: dict[str, Any]) -> int:
    return summary["answered"] + summary["abstained"] + summary["failed"]


def test_eval_ancientdoc_writes_its_files_and_prints_tables(docsage, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("eval", "ancientdoc", "--data", questions, "--out", out)
    result = docsage(*command, "--json")
    assert result.code == 0
    assert f"line 4 of {questions} is left out" in result.err
    assert "answering: 3 questions" in result.err
    assert "bertscore_f1: no model: --bertscore-model DIR" in result.err
    summary = json.loads(result.out)
    assert json.loads((out / "summary.json").read_text()) == summary
    assert (summary["questions"], _asked(summary), summary["failed"]) == (3, 3, 0)
    assert list(summary["tasks"]) == ["ocr", "translation", "knowledge_qa"]
    assert summary["understanding"]["chrf++"]["n"] == 2
    assert json.loads((out / "run.json").read_text())["settings"]["without"] == []
    behaviour = json.loads((out / "behaviour.json").read_text())
    assert (behaviour["unread"], behaviour["overall"]["runs"]) == (0, 3)
    assert behaviour["overall"]["tools"]["page_reader"]["value"] == 1
    assert (out / "tool-use.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert len((out / "scores.jsonl").read_text().splitlines()) == 3

    again = docsage(*command)
    assert (again.code, "answering" in again.err) == (0, False)
    assert "mean without ocr" in again.out
    refused = docsage(*command, "--predict-task")
    assert refused.code == 2
    assert "settings.predict_task" in refused.err


def test_eval_behaviour_reads_any_folder_of_traces(docsage, english_pdf: Path, tmp_path: Path) -> None:
    docsage("ask", "How many apple trees does the orchard at Linden Hill hold?", english_pdf)
    result = docsage("eval", "behaviour", ".docsage/traces", "--out", "report", "--json")
    assert result.code == 0
    report = json.loads(result.out)
    assert report["overall"]["runs"] == 1
    assert report["tasks"]["document_qa"]["tools"]["page_retriever"]["value"] == 1
    assert json.loads((tmp_path / "report" / "behaviour.json").read_text()) == report
    assert (tmp_path / "report" / "tool-use.svg").exists()
    assert "page_retriever" in docsage("eval", "behaviour", ".docsage").out

    (line,) = docsage("eval", "behaviour", tmp_path / "report").err.splitlines()
    assert "there are no traces" in line


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--data", "nowhere.jsonl"), "nowhere.jsonl can't be read"),
        (("--bertscore-model", "nowhere"), "nowhere holds no model"),
        (("--images", "nowhere"), "nowhere is no folder"),
    ],
)
def test_what_cant_be_used_costs_one_line(
    docsage, questions: Path, tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    result = docsage("eval", "ancientdoc", "--data", questions, *words)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert problem in line
    assert not (tmp_path / "out").exists()


def test_only_parts_of_the_agent_can_be_left_out(docsage, questions: Path) -> None:
    result = docsage("eval", "ancientdoc", "--data", questions, "--without", "memory")
    assert result.code == 2
    assert "'planner', 'verifier', 'retrieval'" in result.err


@pytest.mark.slow
def test_a_page_image_in_columns_is_read_and_transcribed(docsage, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    _vertical_page(tmp_path / "scans" / "page.png")
    questions = _write(tmp_path / "ancient.jsonl", "page.png")
    result = docsage("eval", "ancientdoc", "--data", questions, "--images", "scans", "--json")
    assert result.code == 0
    scores = json.loads(result.out)["tasks"]["ocr"]["scores"]
    assert scores["cer"]["value"] < 0.2
