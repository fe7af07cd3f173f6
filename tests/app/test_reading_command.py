"""`docsage eval reading` from the command line, with the reader that ships, over one small paragraph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PARAGRAPH = "The lighthouse of Alder Point was built in 1912 by the engineer Edith Marlow. It is 43 metres high."
QUESTIONS = ("When was the lighthouse built?", "Who built the lighthouse?")


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A folder with one set: two questions over one paragraph, and a paragraph that nothing is asked about."""
    qas = [
        {"id": str(number), "question": question, "answers": [{"text": answer, "answer_start": 0}]}
        for number, (question, answer) in enumerate(zip(QUESTIONS, ("1912", "Edith Marlow"), strict=True))
    ]
    paragraphs = [{"context": PARAGRAPH, "qas": qas}, {"context": "Bakers rise early. Bread wants time.", "qas": []}]
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "lights.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    return tmp_path / "sets"


def test_eval_reading_writes_its_files_and_prints_tables(docsage, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("eval", "reading", "--data", sets, "--out", out)
    result = docsage(*command, "--json")
    assert result.code == 0
    assert "answering: 2 questions" in result.err
    assert "exact" in result.err
    summary = json.loads(result.out)
    assert json.loads((out / "summary.json").read_text()) == summary
    assert summary["sets"]["lights"]["answers"]["f1"]["n"] == 2
    answers = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    assert [answer["question"] for answer in answers] == list(QUESTIONS)
    assert all(answer["text"] in PARAGRAPH and answer["text"] for answer in answers)
    assert (out / "risk-coverage.svg").read_text(encoding="utf-8").startswith("<?xml")

    again = docsage(*command)
    assert (again.code, "answering" in again.err) == (0, False)
    refused = docsage(*command, "--limit", "1")
    assert refused.code == 2
    assert "--resume" in refused.err


def test_eval_reading_open_searches_first(docsage, sets: Path, tmp_path: Path) -> None:
    result = docsage("eval", "reading", "--data", sets, "--limit", "1", "--open", "--json")
    assert result.code == 0
    (one,) = json.loads(result.out)["sets"].values()
    assert one["retrieval"]["recall@1"] == {"value": 1.0, "n": 1, "missing": 0, "reason": ""}
    assert (tmp_path / "out" / "reading-open" / "summary.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (None, "", "nowhere does not exist"),
        ("notes.txt", "{}", "holds no *.json"),
        ("broken.json", "{", "broken.json is not JSON"),
        ("other.json", '{"data": 7}', "other.json is not in SQuAD format"),
        ("empty.json", '{"data": []}', "empty.json holds no question"),
    ],
)
def test_what_is_no_reading_set_costs_one_line(
    docsage, tmp_path: Path, name: str | None, content: str, problem: str
) -> None:
    folder = tmp_path / "nowhere"
    if name is not None:
        folder.mkdir()
        (folder / name).write_text(content)
    result = docsage("eval", "reading", "--data", folder)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert problem in line
    assert not (tmp_path / "out").exists()
