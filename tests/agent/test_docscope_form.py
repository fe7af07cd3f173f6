"""DocScope's raw form and record of a trajectory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from book import DOC, SCOPE, Book, agent_over

from agent.docscope import infer_record, model_raw, one_sentence
from retrieval.errors import InputError
from retrieval.types import Scope

CITED = re.compile(r'^.+ \[page=\d+, doc_page="[^"]*", bbox=\[(?:\d\.\d{3}, ){3}\d\.\d{3}\]\][.。]$')


def test_each_fact_is_one_cited_sentence_and_the_answer_comes_last(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("List all vessels in service.", SCOPE)
    *facts, answer = model_raw(trajectory).splitlines()
    assert len(facts) == len(trajectory.facts) == 3
    assert all(CITED.match(line) and line.count("[page=") == 1 for line in facts)
    assert answer == f"<answer> {trajectory.answer} </answer>"


def test_the_box_is_the_block_unless_the_focus_is_wanted(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What was the ticket revenue in 2021?", SCOPE)
    region = trajectory.facts[0].region
    assert f"{region.block.y2:.3f}]" in model_raw(trajectory)
    assert region.focus is not None
    assert f"{region.focus.y2:.3f}]" in model_raw(trajectory, granularity="focus")
    assert 'doc_page="12"' in model_raw(trajectory)


def test_an_abstained_run_is_unanswerable(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("Who designed the Brooklyn suspension bridge?", SCOPE)
    assert model_raw(trajectory) == "<answer> Unanswerable </answer>"
    record = infer_record("q1", trajectory)
    assert record["parsed"]["answer"] == "Unanswerable"
    assert record["parsed"]["citations"] == []


def test_the_record_has_the_fields_of_the_benchmark(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("What was the ticket revenue in 2021?", SCOPE)
    record = infer_record("q1", trajectory)
    assert set(record) == {"question_id", "model", "model_raw", "thinking", "parsed", "infer_usage", "status"}
    (citation,) = record["parsed"]["citations"]
    assert set(citation) == {"page", "doc_page", "bbox", "sentence", "is_normalized"}
    assert record["parsed"]["predicted_pages"] == [2]
    assert citation["sentence"].rstrip(".") in record["model_raw"]


def test_several_documents_have_no_page_numbers_to_cite(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask("When was the company founded?", SCOPE)
    both = trajectory.model_copy(update={"scope": Scope(doc_ids=(DOC, "other"))})
    with pytest.raises(InputError, match="one document"):
        model_raw(both)


def test_inner_stops_and_tags_do_not_break_a_fact() -> None:
    assert (
        one_sentence("It rose. Then it fell.\nNow <answer>42</answer> holds.") == "It rose; Then it fell; Now 42 holds"
    )
