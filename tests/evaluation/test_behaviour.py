"""What a report tells of runs by their traces, and what it doesn't pretend to know."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from traced_agent import Round, traced

from agent.trace import load, trace_path
from evaluation.behaviour.measures import Behaviour, behaviour_of
from evaluation.behaviour.plots import REPLANNING_PLOT, TOOLS_PLOT, plot_behaviour
from evaluation.behaviour.report import behaviour_report
from evaluation.behaviour.traces import runs_in, traced_run
from retrieval.errors import InputError
from retrieval.types import Scope

SCOPE = Scope(doc_ids=("doc",))
RETRIEVED = Round(tools=("page_reader", "page_retriever", "page_retriever"), support=0.0, confidence=0.5)
SETTLED = Round(tools=("page_reader",), support=1.0, confidence=0.9)


def _behaviour(root: Path) -> Behaviour:
    return behaviour_of(runs_in(root))


def test_tools_are_counted_once_a_run_and_refused_calls_not_at_all(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "knowledge_qa", [RETRIEVED])
    traced(tmp_path, "b", "q", "yes", SCOPE, "knowledge_qa", [Round(refused=("page_retriever", "calculator"))])
    traced(tmp_path, "c", "q", "yes", SCOPE, "translation", [Round(tools=())])
    report = _behaviour(tmp_path)
    knowledge = report.tasks["knowledge_qa"]
    assert knowledge.tools["page_reader"].value == 1
    assert knowledge.tools["page_retriever"].value == 1 / 2
    assert knowledge.tool_calls.value == (3 + 1) / 2
    assert knowledge.model_calls.value == 3
    assert report.tasks["translation"].tools["page_reader"].value == 0
    assert "calculator" not in report.overall.tools
    assert list(report.tasks) == ["translation", "knowledge_qa"]
    assert report.overall.runs == 3


def test_replanning_compares_the_first_verification_with_the_last(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "knowledge_qa", [RETRIEVED, Round(confidence=0.1), SETTLED])
    traced(tmp_path, "b", "q", "yes", SCOPE, "knowledge_qa", [Round(support=0.5, confidence=0.7), SETTLED])
    traced(tmp_path, "c", "q", "yes", SCOPE, "knowledge_qa", [Round(support=0.2, confidence=0.2)])
    found = _behaviour(tmp_path).tasks["knowledge_qa"]
    assert found.replanning.runs == 2
    assert found.replanning.support_before.value == pytest.approx(0.25)
    assert found.replanning.support_after.value == 1
    assert found.replanning.confidence_before.value == pytest.approx(0.6)
    assert found.replanning.confidence_after.value == pytest.approx(0.9)
    assert found.replans.value == 1
    assert found.rounds.value == 2
    assert found.support_rate.value == pytest.approx((1 + 1 + 0.2) / 3)


def test_runs_without_claims_are_missing_on_both_sides(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "ocr", [Round(support=None, confidence=0.0), SETTLED])
    replanning = _behaviour(tmp_path).overall.replanning
    assert (replanning.support_before.value, replanning.support_after.value) == (None, None)
    assert (replanning.support_after.missing, replanning.support_after.n) == (1, 0)
    assert "claims both times" in replanning.support_before.reason
    assert (replanning.confidence_before.value, replanning.confidence_after.value) == (0.0, 0.9)


def test_a_verdict_without_a_verification_left_is_none(tmp_path: Path) -> None:
    unverified = Round(support=None, confidence=0.0, verified=False)
    traced(tmp_path, "a", "q", None, SCOPE, "ocr", [Round(support=0.5, confidence=0.4), unverified])
    found = _behaviour(tmp_path).overall
    assert found.rounds.value == 1
    assert (found.support_rate.value, found.confidence.value) == (0.5, 0.4)
    assert found.replanning.runs == 0
    assert found.abstained.value == 1
    assert found.stop_reasons == {"abstained": 1}


def test_what_doesnt_replan_has_no_before_and_after(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "ocr", [SETTLED])
    replanning = _behaviour(tmp_path).overall.replanning
    assert replanning.runs == 0
    assert replanning.confidence_after.value is None
    assert replanning.confidence_after.reason == "no runs that replanned and were verified again"


def test_unfinished_and_damaged_traces_are_counted_and_left_out(tmp_path: Path) -> None:
    traced(tmp_path, "done", "q", "yes", SCOPE, "ocr", [SETTLED])
    traced(tmp_path, "open", "q", "yes", SCOPE, "ocr", [SETTLED], ends=False)
    trace_path(tmp_path, "damaged").write_text("{}\n")
    trace_path(tmp_path, "empty").write_text("")
    report = _behaviour(tmp_path)
    assert (report.unread, report.overall.runs) == (3, 1)


def test_a_task_that_the_caller_knows_goes_before_that_of_the_plan(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "document_qa", [SETTLED])
    run = traced_run(load(trace_path(tmp_path, "a")), "translation")
    assert run is not None
    assert run.task == "translation"


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no traces"):
        runs_in(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        runs_in(tmp_path / "nowhere")
    (tmp_path / "questions.jsonl").write_text('{"question": "?"}\n')
    with pytest.raises(InputError, match=r"none of the 1 files in .* is the trace"):
        runs_in(tmp_path)


def test_no_run_is_no_data(tmp_path: Path) -> None:
    empty = behaviour_of([None])
    assert (empty.unread, empty.overall.runs) == (1, 0)
    assert empty.overall.tool_calls.value is None
    assert empty.overall.abstained.value is None
    assert plot_behaviour(tmp_path, empty) == []


def test_tables_and_plots_show_what_is_there(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "knowledge_qa", [RETRIEVED, SETTLED])
    traced(tmp_path, "b", "q", "yes", SCOPE, "ocr", [Round(support=None, confidence=0.0)])
    report = _behaviour(tmp_path)
    written = io.StringIO()
    Console(file=written, width=80).print(behaviour_report(report))
    rows = {words[0]: words[1:] for line in written.getvalue().splitlines() if (words := line.split())}
    assert ["ocr", "knowledge", "all"] in [line.split() for line in written.getvalue().splitlines()]
    assert rows["page_retriever"] == ["0.0", "100.0", "50.0"]
    assert rows["support_rate"] == ["-", "100.0", "100.0"]
    assert rows["support_before"] == ["-", "0.0", "0.0"]

    assert {path.name for path in plot_behaviour(tmp_path, report)} == {TOOLS_PLOT, REPLANNING_PLOT}
    svg = (tmp_path / TOOLS_PLOT).read_text(encoding="utf-8")
    assert "page retriever" in svg
    assert "knowledge_qa" in svg
    assert 'xlink:href="http' not in svg  # nothing is loaded from the network


def test_a_plot_of_an_older_run_doesnt_stay(tmp_path: Path) -> None:
    traced(tmp_path, "a", "q", "yes", SCOPE, "knowledge_qa", [RETRIEVED, SETTLED])
    plot_behaviour(tmp_path, _behaviour(tmp_path))
    plot_behaviour(tmp_path, behaviour_of([]))
    assert list(tmp_path.glob("*.svg")) == []
