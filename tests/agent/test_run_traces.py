"""A run's trace: complete, in order, readable while it is written and after a crash."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from book import SCOPE, Book, agent_over

from agent.trace import TraceWriter, find, load, runs, trace_path, trajectory_of
from retrieval.errors import InputError

QUESTION = "What was the ticket revenue in 2021?"


def test_a_trace_tells_the_whole_run(report: Book, tmp_path: Path) -> None:
    trajectory = agent_over(report, tmp_path).ask(QUESTION, SCOPE)
    events = load(find(tmp_path, "latest"))
    kinds = [event.kind for event in events]
    assert kinds[0] == "started"
    assert kinds[-1] == "final"
    assert {"question", "plan", "tool_call", "signals", "evidence", "facts", "claims", "decision", "budget"} <= set(
        kinds
    )
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.node for event in events if event.kind == "budget"] == [
        "plan",
        "execute",
        "synthesise",
        "verify",
        "decide",
    ]
    assert trajectory_of(events) == trajectory


def test_cited_lines_are_in_the_trace_with_their_page_sizes(report: Book, tmp_path: Path) -> None:
    agent_over(report, tmp_path).ask(QUESTION, SCOPE)
    (data,) = [event.data for event in load(find(tmp_path, "latest")) if event.kind == "evidence"]
    assert [line["text"] for line in data["lines"]] == ["Ticket revenue", "4,120", "5,356"]
    assert all(len(line["bbox"]) == 4 for line in data["lines"])
    assert (data["pages"][0]["width"], data["pages"][0]["height"]) == (612, 792)
    assert data["pages"][0]["document"] == "book.pdf"


def test_a_torn_last_line_is_left_out_and_then_replaced(tmp_path: Path) -> None:
    path = trace_path(tmp_path, "r")
    TraceWriter(path, "r").append("started", "agent", {"question": "?"})
    with path.open("ab") as file:
        file.write(b'{"schema":"docsage.trace/1","run":"r","se')
    assert [event.kind for event in load(path)] == ["started"]
    TraceWriter(path, "r").append("resumed", "agent", {})
    assert [(event.seq, event.kind) for event in load(path)] == [(0, "started"), (1, "resumed")]
    assert all(orjson.loads(line) for line in path.read_bytes().splitlines())


def test_a_trace_that_cant_be_written_is_named(tmp_path: Path) -> None:
    path = trace_path(tmp_path, "r")
    writer = TraceWriter(path, "r")
    path.symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"r\.jsonl can't be written \(No space left"):
        writer.append("started", "agent", {})


def test_runs_are_listed_newest_first_with_unfinished_ones(report: Book, tmp_path: Path) -> None:
    agent_over(report, tmp_path).ask(QUESTION, SCOPE, run_id="done")
    TraceWriter(trace_path(tmp_path, "open"), "open").append("started", "agent", {"question": "what?"})
    first, second = runs(tmp_path)
    assert (first.run, first.question, first.stop_reason) == ("open", "what?", None)
    assert (second.run, second.answer, second.stop_reason) == ("done", "5,356", "supported")


def test_an_unknown_run_is_refused_with_the_known_ones(report: Book, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ask a question first"):
        find(tmp_path, "latest")
    agent_over(report, tmp_path).ask(QUESTION, SCOPE, run_id="known")
    with pytest.raises(InputError, match="known"):
        find(tmp_path, "other")
    with pytest.raises(InputError, match="no run id"):
        find(tmp_path, "../etc")
