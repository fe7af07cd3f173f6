"""One clear line for what can't be read or asked, with the right remedy, and code 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent.trace import SCHEMA

QUESTION = "How many apple trees does the orchard at Linden Hill hold?"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.7\nnothing else")
    return path


@pytest.mark.parametrize("command", ["ask", "search"])
def test_one_bad_file_is_one_line_without_another_remedy(docsage, broken: Path, command: str) -> None:
    result = docsage(command, QUESTION, broken)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert line.startswith(f"{broken}: ")
    assert "quote the question" not in line


def test_words_that_are_no_files_get_the_remedy_for_it(docsage, tmp_path: Path) -> None:
    result = docsage("ask", "How", "many", "trees?")
    (line,) = result.err.splitlines()
    assert "many" in line
    assert "quote the question" in line


def test_two_bad_files_of_one_name_can_be_told_apart(docsage, broken: Path, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = shutil.copy(broken, tmp_path / "other")
    result = docsage("ask", QUESTION, english_pdf, broken, other)
    assert result.code == 0
    for path in (broken, other):
        assert sum(line.startswith(f"{path}: ") for line in result.err.splitlines()) == 1


def test_bad_files_of_a_folder_are_one_line(docsage, broken: Path, english_pdf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    english_pdf.rename(folder / "orchard.pdf")
    for number in range(3):
        (folder / f"{number}.pdf").write_bytes(broken.read_bytes() + bytes([65 + number]))
    docsage("index", folder)
    result = docsage("ask", QUESTION, folder)
    assert result.code == 0
    assert result.err.splitlines() == [f"3 files in {folder} can't be read; `docsage index {folder}` says why"]
    (folder / "orchard.pdf").unlink()
    assert docsage("ask", QUESTION, folder).err == result.err


@pytest.mark.parametrize(
    ("question", "problem"),
    [("Why? " * 801, "4,005 characters"), ("caf\udce9?", "not UTF-8"), ("何" * 200 + "？", "is empty")],
)
@pytest.mark.parametrize("command", ["ask", "search"])
def test_what_cant_be_asked_is_said_at_once(docsage, question: str, problem: str, command: str) -> None:
    result = docsage(command, question)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert problem in line


def test_a_question_over_a_bad_file_is_one_line_of_a_batch(docsage, broken: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"{QUESTION}\n")
    result = docsage("ask", "--questions", "q.txt", "--out", "a.jsonl", broken)
    assert result.code == 2
    assert sum(str(broken) in line and QUESTION in line for line in result.err.splitlines()) == 1
    assert sum("broken" in line for line in result.err.splitlines()) == 1


def test_a_question_too_long_costs_a_batch_only_itself(docsage, english_pdf: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"{QUESTION}\n{'Why? ' * 1000}\n")
    result = docsage("ask", "--questions", "q.txt", "--out", "a.jsonl", english_pdf)
    assert result.code == 2
    assert "1 answered, 0 abstained, 1 failed" in result.err
    assert all(len(line) < 4000 for line in result.err.splitlines())


def _event(kind: str, data: str) -> bytes:
    place = f'"schema":"{SCHEMA}","run":"r","seq":0,"ts":"2024-01-01T00:00:00+00:00","node":"agent"'
    return f'{{{place},"kind":"{kind}","data":{data}}}\n'.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"garbage\n",
        b'{"a": 1}\n',
        b"[1]\n",
        b"null\n",
        b"\x00\xff\xfe\n",
        _event("started", "{}") + b"{}\n",
        _event("started", "{}").replace(b"2024", b"year"),
        _event("started", "{}").replace(b"+00:00", b""),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_file_that_is_no_trace_is_named_with_its_line(
    docsage, tmp_path: Path, content: bytes, options: list[str]
) -> None:
    path = tmp_path / "c" / "traces" / "r.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    result = docsage("trace", "r", "-c", "c", *options)
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert "traces/r.jsonl is no event" in line
    number = len(content.splitlines())
    assert f"line {number} of" in line


@pytest.mark.parametrize("collection", ["a" * 300, "file"])
def test_traces_that_cant_be_reached_are_one_line(docsage, tmp_path: Path, collection: str) -> None:
    (tmp_path / "file").touch()
    result = docsage("trace", "latest", "-c", collection)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "bug" not in result.err


def test_an_event_with_missing_fields_is_shown_as_it_is(docsage, tmp_path: Path) -> None:
    path = tmp_path / "c" / "traces" / "r.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(_event("facts", '{"facts":[{"text":"lonely"}],"answer":"42"}'))
    result = docsage("trace", "r", "-c", "c")
    assert result.code == 0
    assert "lonely" in result.out
    assert result.out.count("42") == 1


def test_escape_codes_in_a_trace_do_not_reach_the_terminal(docsage, tmp_path: Path) -> None:
    path = tmp_path / "c" / "traces" / "r.jsonl"
    path.parent.mkdir(parents=True)
    page = '{"doc_id":"d","page":1,"document":"lab\\u001b[31m.pdf"}'
    item = '{"region":{"page_ref":{"doc_id":"d","page":1}},"text":"quoted"}'
    path.write_bytes(
        _event("evidence", f'{{"pages":[{page}],"evidence":[{item}]}}')
        + _event("tool_call", '{"tool":"page\\u001b[31m","outcome":"o\\u001bk","arguments":{"q\\u001b":1}}')
        + _event("started", '{"na\\u001bme\\n":"x"}')
    )
    result = docsage("trace", "r", "-c", "c")
    assert "lab[31m.pdf page 1: quoted" in result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("text", ["name: 2026-99-99", "name: " + "[" * 3000, "name: *nobody"])
def test_a_profile_that_is_no_yaml_is_one_line(docsage, english_pdf: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    result = docsage("ask", QUESTION, english_pdf, "--profile", "p.yaml")
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert "p.yaml is no YAML" in line


@pytest.mark.parametrize("profile", ["a" * 300, "/dev/null", "file/p.yaml"])
def test_a_profile_that_cant_be_read_is_one_line(docsage, english_pdf: Path, tmp_path: Path, profile: str) -> None:
    (tmp_path / "file").touch()
    result = docsage("ask", QUESTION, english_pdf, "--profile", profile)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert profile in line


def test_a_damaged_collection_is_no_bug(docsage, english_pdf: Path, tmp_path: Path) -> None:
    docsage("index", english_pdf)
    database = tmp_path / ".docsage" / "collection.sqlite"
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    for command in (("ask", QUESTION), ("search", "orchard"), ("index", english_pdf)):
        result = docsage(*command)
        assert (result.code, result.out) == (2, "")
        assert "collection" in result.err.splitlines()[-1]
        assert "bug" not in result.err
