"""What runs did, in numbers: tools by task, rounds, and the verifier's own figures before and after replanning.

Support rates and confidences are the verifier's, not a person's: they say how a system behaves, not how often it is
right (SAGE, §4.4 and Limitations).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from pydantic import Field

from agent.types import Task
from evaluation.behaviour.traces import TracedRun
from evaluation.types import Score
from retrieval.types import Frozen

_RUNS = "runs"
_REPLANNED = "runs that replanned and were verified again"


class Replanning(Frozen):
    """The first verification (before) and the last one (after), over the runs that replanned and were verified again.

    Both means of a figure are over the same runs: those that have it both times. `missing` are the others, such as
    those that had no claim to judge before they replanned. What was verified last need not be what was answered: a run
    falls back to the best candidate that it had.
    """

    runs: int
    support_before: Score
    support_after: Score
    confidence_before: Score
    confidence_after: Score


class TaskBehaviour(Frozen):
    """The runs of one task, or of all. `tools`: the share of the runs in which a tool was called at least once.

    `tool_calls`, `model_calls`, `replans` and `rounds` (verifications) are means over the runs; `support_rate` and
    `confidence` are means of the last verification.
    """

    runs: int
    tools: dict[str, Score]
    tool_calls: Score
    model_calls: Score
    replans: Score
    rounds: Score
    support_rate: Score
    confidence: Score
    replanning: Replanning
    abstained: Score
    stop_reasons: dict[str, int]


class Behaviour(Frozen):
    """A report over many traces. `unread` counts the traces that have gone, are damaged or haven't ended."""

    schema_version: Literal["docsage.behaviour/1"] = Field(default="docsage.behaviour/1", alias="schema")
    unread: int
    overall: TaskBehaviour
    tasks: dict[Task, TaskBehaviour]


def behaviour_of(runs: Iterable[TracedRun | None]) -> Behaviour:
    """The report over `runs`, in which None is a trace that tells none. A tool that no run called isn't listed."""
    items = list(runs)
    told = [run for run in items if run is not None]
    tools = sorted({tool for run in told for tool in run.tools})
    tasks: dict[Task, TaskBehaviour] = {
        task: _behaviour([run for run in told if run.task == task], tools)
        for task in get_args(Task)
        if any(run.task == task for run in told)
    }
    return Behaviour(unread=len(items) - len(told), overall=_behaviour(told, tools), tasks=tasks)


def _behaviour(runs: Sequence[TracedRun], tools: Sequence[str]) -> TaskBehaviour:
    last = [run.verdicts[-1] if run.verdicts else None for run in runs]
    reasons = [run.stop_reason for run in runs]
    return TaskBehaviour(
        runs=len(runs),
        tools={tool: Score.mean((float(tool in run.tools) for run in runs), of=_RUNS) for tool in tools},
        tool_calls=Score.mean((len(run.tools) for run in runs), of=_RUNS),
        model_calls=Score.mean((run.model_calls for run in runs), of=_RUNS),
        replans=Score.mean((run.replans for run in runs), of=_RUNS),
        rounds=Score.mean((len(run.verdicts) for run in runs), of=_RUNS),
        support_rate=_known([verdict.support_rate if verdict else None for verdict in last], of="runs with claims"),
        confidence=_known([verdict.confidence if verdict else None for verdict in last], of="verified runs"),
        replanning=_replanning(runs),
        abstained=Score.mean((float(run.abstained) for run in runs), of=_RUNS),
        stop_reasons={reason: reasons.count(reason) for reason in sorted(set(reasons))},
    )


def _known(values: Sequence[float | None], *, of: str) -> Score:
    """The mean of what is known; the rest is missing."""
    known = [value for value in values if value is not None]
    return Score.mean(known, of=of, missing=len(values) - len(known))


def _replanning(runs: Sequence[TracedRun]) -> Replanning:
    ends = [(run.verdicts[0], run.verdicts[-1]) for run in runs if run.replans and len(run.verdicts) > 1]
    support = [_pair(first.support_rate, last.support_rate) for first, last in ends]
    confidence = [_pair(first.confidence, last.confidence) for first, last in ends]
    return Replanning(
        runs=len(ends),
        support_before=_side(support, 0),
        support_after=_side(support, 1),
        confidence_before=_side(confidence, 0),
        confidence_after=_side(confidence, 1),
    )


def _pair(before: float | None, after: float | None) -> tuple[float, float] | None:
    return None if before is None or after is None else (before, after)


def _side(pairs: Sequence[tuple[float, float] | None], side: Literal[0, 1]) -> Score:
    known = [pair[side] for pair in pairs if pair is not None]
    return Score.mean(
        known, of=_REPLANNED if not pairs else f"{_REPLANNED}, with claims both times", missing=len(pairs) - len(known)
    )
