"""Runs as their traces tell them, from a folder or from a list of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.trace import Event, load
from agent.types import StopReason, Task, Unit
from retrieval.errors import InputError
from retrieval.types import Frozen


class Verdict(Frozen):
    """What one verification came to; the support rate is None when there was no claim to judge."""

    support_rate: Unit | None
    confidence: Unit


class TracedRun(Frozen):
    """What one run did. `tools` are the calls that were made, in order, without those that the budget refused.

    `verdicts` are those of all verifications, in order. `task` is that of the plan unless the caller knows better.
    """

    task: Task
    tools: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    replans: int
    model_calls: int
    abstained: bool
    stop_reason: StopReason


def runs_at(traces: Iterable[tuple[Path, Task | None]]) -> Iterator[TracedRun | None]:
    """The run of each trace, of a task where that is known; None where it has gone, is damaged or hasn't ended."""
    for path, task in traces:
        try:
            yield traced_run(load(path), task) if path.is_file() else None
        except InputError:
            yield None


def runs_in(folder: Path) -> list[TracedRun | None]:
    """The runs of a folder of traces, of a collection, or of a benchmark's run, by name of file.

    InputError when none of them has ended.
    """
    inner = (folder / "traces", folder / "collection" / "traces")
    where = next((path for path in inner if path.is_dir()), folder)
    try:
        paths = sorted(where.glob("*.jsonl"))
    except OSError as error:
        raise InputError(f"{where} can't be read ({error.strerror})", remedy="check its permissions") from error
    if not paths:
        problem = f"there are no traces in {where}" if os.path.isdir(where) else f"{where} is no folder"
        raise InputError(problem, remedy="name a folder of traces, or a collection in which a question was asked")
    runs = list(runs_at((path, None) for path in paths))
    if not any(runs):
        raise InputError(
            f"none of the {len(paths)} files in {where} is the trace of a run that has ended",
            remedy="name a folder of traces, or a collection in which a question was asked",
        )
    return runs


def traced_run(events: Iterable[Event], task: Task | None = None) -> TracedRun | None:
    """The run that a trace tells; None when it hasn't ended, or when what it says is no run."""
    seen = _Seen()
    try:
        for event in events:
            seen.take(event)
        if seen.trajectory is None:
            return None
        end = seen.trajectory
        return TracedRun(
            task=task or end["task"],
            tools=tuple(seen.tools),
            verdicts=tuple(seen.verdicts),
            replans=seen.replans,
            model_calls=end["usage"]["model_calls"],
            abstained=end["abstained"],
            stop_reason=end["stop_reason"],
        )
    except (KeyError, TypeError, ValidationError):
        return None


class _Seen:
    """What the events of a trace told so far."""

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.verdicts: list[Verdict] = []
        self.replans = 0
        self.trajectory: dict[str, Any] | None = None
        self._charged = 0

    def take(self, event: Event) -> None:
        """Take one event in; KeyError, TypeError or ValidationError when it isn't what its kind says."""
        data = event.data
        if event.kind == "tool_call" and data["outcome"] != "refused":
            self.tools.append(data["tool"])
        elif event.kind == "claims":
            report = data["report"]
            self.verdicts.append(Verdict(support_rate=report["support_rate"], confidence=report["confidence"]))
        elif event.kind == "budget" and event.node == "verify":
            # Without a verification left, the report says so instead of judging, and nothing is charged.
            charged = data["spent"]["verifications"]
            if charged == self._charged and self.verdicts:
                self.verdicts.pop()
            self._charged = charged
        elif event.kind == "decision":
            self.replans += data["outcome"] == "replan"
        elif event.kind == "final":
            self.trajectory = data["trajectory"]
