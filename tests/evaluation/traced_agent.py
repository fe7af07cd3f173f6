"""An agent whose runs are written down, with the traces that such runs leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripted_trajectory import trajectory

from agent.planner import Hints
from agent.trace import TraceWriter, trace_path
from agent.types import StopReason, Task, Trajectory, Usage
from retrieval.types import Scope


@dataclass(frozen=True)
class Round:
    """One way through the agent: the tools it calls, those the budget refuses, and the verdict.

    `support` is None when there was no claim; a round that isn't `verified` had no verification left.
    """

    tools: tuple[str, ...] = ("page_reader",)
    refused: tuple[str, ...] = ()
    support: float | None = 1.0
    confidence: float = 0.9
    verified: bool = True


@dataclass
class TracedAgent:
    """Answers from a dictionary, by question; what isn't in it is abstained on, an exception is raised.

    Every run takes the `rounds` of its question, by default one that ends in support.
    """

    root: Path
    answers: dict[str, str | Exception | None]
    rounds: dict[str, Sequence[Round]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    asked: list[tuple[str, Scope, Hints | None]] = field(default_factory=list)

    def ask(self, question: str, scope: Scope, *, hints: Hints | None = None) -> Trajectory:
        self.asked.append((question, scope, hints))
        answer = self.answers.get(question)
        if isinstance(answer, Exception):
            raise answer
        task = (hints.task if hints else None) or self.tasks.get(question, "document_qa")
        return traced(
            self.root, f"run{len(self.asked)}", question, answer, scope, task, self.rounds.get(question, (Round(),))
        )


def traced(
    root: Path,
    run: str,
    question: str,
    answer: str | None,
    scope: Scope,
    task: Task,
    rounds: Sequence[Round],
    *,
    ends: bool = True,
) -> Trajectory:
    """Write the trace of a run under `root`, and return what it came to."""
    writer = TraceWriter(trace_path(root, run), run)
    writer.append("started", "agent", {"question": question, "scope": list(scope.doc_ids)})
    checks = 0
    for number, one in enumerate(rounds):
        for tool in one.tools:
            writer.append("tool_call", "execute", {"tool": tool, "arguments": {}, "outcome": "ok", "ms": 1.0})
        for tool in one.refused:
            writer.append("tool_call", "execute", {"tool": tool, "arguments": {}, "outcome": "refused", "ms": 0.0})
        report = trajectory(question, answer).report.model_copy(
            update={"support_rate": one.support, "confidence": one.confidence}
        )
        writer.append("claims", "verify", {"claims": [], "report": report.model_dump(mode="json")})
        checks += one.verified
        spent: dict[str, Any] = Usage(verifications=checks).model_dump()
        writer.append("budget", "verify", {"spent": spent, "left": {}})
        last = number == len(rounds) - 1
        writer.append("decision", "decide", {"outcome": "finish" if last else "replan", "stop_reason": None})
    stop: StopReason = "abstained" if answer is None else "supported"
    ended = trajectory(question, answer, scope=scope).model_copy(
        update={
            "task": task,
            "trace_id": run,
            "stop_reason": stop,
            "usage": Usage(tool_calls=2, model_calls=3, replans=len(rounds) - 1, verifications=checks, seconds=0.5),
        }
    )
    if ends:
        writer.append("final", "agent", {"trajectory": ended.model_dump(mode="json", by_alias=True)})
    return ended
