"""Indexing, searching, tracing and evaluating from the command line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from agent.trace import Event
from app.display import harmless
from app.session import opened
from app.trace_tree import trace_tree
from retrieval.ingest.files import content_id
from retrieval.types import Document


def test_index_lists_and_removes_documents(docsage, english_pdf: Path, chinese_pdf: Path) -> None:
    assert docsage("index", english_pdf, chinese_pdf).code == 0
    listed = docsage("index", "--list").out.splitlines()
    assert len(listed) == 2
    assert any("orchard.pdf" in line and "3 pages" in line for line in listed)

    assert docsage("index", "--remove", english_pdf).code == 0
    assert "orchard.pdf" not in docsage("index", "--list").out
    assert english_pdf.exists()


def test_removing_something_unknown_removes_nothing(docsage, english_pdf: Path) -> None:
    docsage("index", english_pdf)
    assert docsage("index", "--remove", english_pdf, "other.pdf").code == 2
    assert "orchard.pdf" in docsage("index", "--list").out


def test_a_document_removed_under_one_name_goes_with_all_and_comes_back_whole(docsage, english_pdf: Path) -> None:
    alias = english_pdf.with_name("same.pdf")
    alias.write_bytes(english_pdf.read_bytes())
    docsage("index", english_pdf, alias)
    assert docsage("index", "--remove", "same.pdf").out == "removed orchard.pdf, same.pdf\n"
    listed = docsage("index", "--list")
    assert listed.out == ""
    assert "is empty" in listed.err

    # Killed after the document was recorded and before its pages were: what is left must not pass for complete.
    with opened(Path(".docsage"), profile="quick.yaml") as session:
        doc_id = content_id(english_pdf)
        session.collection.store.add_document(Document(doc_id=doc_id, kind="pdf", pages=3))
    assert docsage("index", english_pdf).code == 0
    with opened(Path(".docsage"), profile="quick.yaml") as session:
        assert session.collection.store.pages_read(doc_id) == [1, 2, 3]


@pytest.mark.parametrize("words", [["--list"], ["--remove", "orchard.pdf"]])
def test_looking_into_a_collection_that_is_not_there_makes_none(docsage, tmp_path: Path, words: list[str]) -> None:
    result = docsage("index", *words, "--collection", "tpyo")
    assert result.code == 2
    assert "there is no collection in tpyo" in result.err
    assert not (tmp_path / "tpyo").exists()


def test_a_single_bad_file_costs_one_line(docsage, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.pdf").write_bytes(b"")
    result = docsage("index", "papers")
    assert (result.code, result.err) == (2, "papers/a.pdf: empty file: get a complete copy\n")


def test_several_bad_files_cost_a_line_each(docsage, english_pdf: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.pdf").write_bytes(b"")
    lines = [f"{folder}/a.pdf: empty file: get a complete copy" for folder in ("one", "two")]
    assert docsage("index", "one", "two").err.splitlines() == [
        *lines,
        "none of these 2 can be read: name PDFs, images or folders",
    ]
    kept = docsage("index", "one", "two", english_pdf)
    assert kept.code == 0
    assert [line for line in kept.err.splitlines() if "a.pdf" in line] == lines


def test_a_folder_without_documents_is_said_to_have_none(docsage, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = docsage("index", "empty")
    assert result.code == 2
    assert result.err == "there is no PDF and no image in empty: name files, or another folder\n"


def test_names_are_listed_on_one_line(docsage, english_pdf: Path) -> None:
    english_pdf.rename(english_pdf.with_name("two\nlines.pdf"))
    docsage("index", english_pdf.with_name("two\nlines.pdf"))
    (line,) = docsage("index", "--list").out.splitlines()
    assert line.endswith("two lines.pdf")


def test_search_shows_pages_for_people_and_json_for_programs(docsage, english_pdf: Path) -> None:
    shown = docsage("search", "wells metres", english_pdf)
    assert shown.code == 0
    assert shown.out.splitlines()[0].strip().startswith("1. orchard.pdf, page 3")

    found = json.loads(docsage("search", "wells metres", english_pdf, "-k", "1", "--json").out)
    assert [(hit["ref"]["page"], hit["document"]) for hit in found["hits"]] == [(3, "orchard.pdf")]


def test_trace_tells_what_happened(docsage, english_pdf: Path) -> None:
    docsage("ask", "How many apple trees does the orchard at Linden Hill hold?", english_pdf)
    tree = docsage("trace", "latest")
    assert tree.code == 0
    for word in (
        "plan",
        "page_retriever",
        "input: query=",
        "page_bm25 1",
        "claims",
        "supported",
        "decision",
        "stopped:",
        "312",
    ):
        assert word in tree.out, word

    events = [json.loads(line) for line in docsage("trace", "latest", "--json").out.splitlines()]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert docsage("trace", events[0]["run"]).out == tree.out


def test_a_trace_with_fields_of_a_later_version_is_still_shown() -> None:
    event = Event(
        run="r", seq=0, ts="2024-01-01T00:00:00+00:00", kind="interrupted", node="agent", data={"new": 1, "deep": [1]}
    )
    written = StringIO()
    Console(file=written, width=200).print(trace_tree([event]))
    assert "new 1" in written.getvalue()
    assert "deep: [1]" in written.getvalue()


def test_escape_sequences_in_documents_do_not_reach_the_terminal() -> None:
    assert harmless("a\x1b[2Jb\u202ec\nd") == "a[2Jbc\nd"


def test_eval_writes_its_files_and_prints_tables(docsage, english_pdf: Path, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "run"
    (data / "documents").mkdir(parents=True)
    english_pdf.rename(data / "documents" / "orchard.pdf")
    rows = [
        ("How many apple trees does the orchard at Linden Hill hold?", "312", "[1]", "Int"),
        ("What is the annual salary of the spaceship captain?", "Not answerable", "[]", "None"),
    ]
    samples = [
        {
            "doc_id": "orchard.pdf",
            "doc_type": "Brochure",
            "question": question,
            "answer": answer,
            "evidence_pages": pages,
            "evidence_sources": "['Pure-text (Plain-text)']" if pages != "[]" else "[]",
            "answer_format": form,
        }
        for question, answer, pages, form in rows
    ]
    (data / "samples.json").write_text(json.dumps(samples))
    command = ("eval", "mmlongbench-doc", "--data", data, "--out", out)

    result = docsage(*command, "--json")
    assert result.code == 0
    summary = json.loads(result.out)
    assert summary["retrieval"]["all_hit@1"]["value"] == 1.0
    assert summary["abstention"]["recall"]["value"] == 1.0
    assert "by evidence source" in result.err
    assert json.loads((out / "summary.json").read_text()) == summary
    lines = (out / "trajectories.jsonl").read_text()
    assert [json.loads(line)["question_id"] for line in lines.splitlines()] == ["0000", "0001"]

    assert docsage(*command).code == 0
    assert (out / "trajectories.jsonl").read_text() == lines

    refused = docsage(*command, "--limit", "1")
    assert refused.code == 2
    assert "--resume" in refused.err
    assert docsage(*command, "--limit", "1", "--resume").code == 0


def test_score_compares_with_a_reference(docsage, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text('{"gold": "7", "pred": "7", "answer_format": "Int", "score": 1.0}\n')
    assert docsage("score", "mmlongbench-doc", "--golden", golden).code == 0
    golden.write_text('{"gold": "7", "pred": "8", "answer_format": "Int", "score": 1.0}\n')
    wrong = docsage("score", "mmlongbench-doc", "--golden", golden)
    assert wrong.code == 1
    assert "row 1: ours 0.0, reference 1.0" in wrong.out
