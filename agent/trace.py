"""Traces: one JSONL file a run, one event a line, append-only, readable while it is being written."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from agent.types import Trajectory
from retrieval.errors import InputError
from retrieval.types import Frozen, Scope

EventKind = Literal[
    "started",
    "resumed",
    "question",
    "plan",
    "tool_call",
    "model_call",
    "signals",
    "evidence",
    "facts",
    "claims",
    "decision",
    "budget",
    "interrupted",
    "final",
]
SCHEMA: Literal["docsage.trace/1"] = "docsage.trace/1"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Event(Frozen):
    """One line of a trace. `seq` counts from 0 without gaps; `node` is the part of the agent that wrote it."""

    schema_version: Literal["docsage.trace/1"] = SCHEMA
    run: str
    seq: int
    ts: str
    kind: EventKind
    node: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it. `stop_reason` is None while it runs, or when it was interrupted."""

    run: str
    started: str
    question: str
    answer: str | None
    stop_reason: str | None
    path: Path


def new_run_id() -> str:
    """An id that sorts by time and is unique."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def trace_path(root: Path, run: str) -> Path:
    """Where the trace of a run stands in a collection; InputError for an id that can't be a file name."""
    if not _RUN.fullmatch(run):
        raise InputError(f"{run!r} is no run id", remedy="use letters, digits, dots, dashes and underscores")
    return root / "traces" / f"{run}.jsonl"


class TraceWriter:
    """Appends events to the trace of one run; goes on counting where an interrupted run stopped."""

    def __init__(self, path: Path, run: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run = run
        self.path = path
        self._lock = threading.Lock()
        self._seq = 0
        if path.exists():
            _drop_torn_line(path)
            self._seq = sum(1 for _ in _lines(path))

    @property
    def resumed(self) -> bool:
        """Whether the trace already had events when it was opened or has some now."""
        return self._seq > 0

    def append(self, kind: EventKind, node: str, data: dict[str, Any]) -> None:
        """Write one event, whole, before returning; InputError when there is no room for it."""
        with self._lock:
            event = {
                "schema": SCHEMA,
                "run": self.run,
                "seq": self._seq,
                "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "kind": kind,
                "node": node,
                "data": data,
            }
            line = orjson.dumps(event, default=_plain, option=orjson.OPT_APPEND_NEWLINE)
            try:
                with self.path.open("ab") as file:
                    file.write(line)
            except OSError as error:
                raise InputError(
                    f"{self.path} can't be written ({error.strerror})",
                    remedy="make room or choose another --collection",
                ) from error
            self._seq += 1


def load(path: Path) -> list[Event]:
    """The events of a trace in order; a last line that is still being written is left out.

    InputError for a line that is no event: then the file is damaged or no trace.
    """
    events = []
    for number, line in enumerate(_lines(path), 1):
        try:
            events.append(_event(line))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"line {number} of {path} is no event of a trace", remedy="name another run, or remove that line"
            ) from error
    return events


def _event(line: bytes) -> Event:
    """ValueError or TypeError for anything else; times without their zone can't be compared and are none."""
    data = orjson.loads(line)
    if not isinstance(data, dict):
        raise TypeError(f"a {type(data).__name__} is no event")
    data["schema_version"] = data.pop("schema", None)
    event = Event.model_validate(data)
    if datetime.fromisoformat(event.ts).tzinfo is None:
        raise ValueError(f"{event.ts} has no time zone")
    return event


def find(root: Path, run: str) -> Path:
    """The trace of a run id or of "latest"; InputError names the newest runs when there is none."""
    try:
        newest = [path.stem for path in _newest(root)]
    except OSError as error:
        raise InputError(
            f"the runs of {root} can't be read ({error.strerror})", remedy="check the path and its permissions"
        ) from error
    if run == "latest":
        if not newest:
            raise InputError(f"there are no runs in {root}", remedy="ask a question first")
        return trace_path(root, newest[0])
    path = trace_path(root, run)
    if path.stem not in newest:
        known = f"the newest runs are {', '.join(newest[:5])}" if newest else "ask a question first"
        raise InputError(f"there is no run {run!r} in {root}", remedy=known)
    return path


def runs(root: Path, limit: int = 50) -> list[RunSummary]:
    """The newest runs of a collection, newest first."""
    return [summary for path in _newest(root)[:limit] if (summary := _summary(path)) is not None]


def trajectory_of(events: list[Event]) -> Trajectory | None:
    """The trajectory that a run ended in, None while it hasn't ended."""
    final = next((e for e in reversed(events) if e.kind == "final"), None)
    return None if final is None else Trajectory.model_validate(final.data["trajectory"])


def begun_with(path: Path, question: str, scope: Scope) -> bool:
    """Whether a run was started with a question over a scope; False when its trace doesn't say."""
    if not path.is_file():
        return False
    try:
        line = next(_lines(path))
        # Of many runs at the same time each one asks this of all others, and most ask something else.
        if orjson.dumps(question) not in line:
            return False
        data = _event(line).data
        return (data["question"], Scope(doc_ids=tuple(data["scope"]))) == (question, scope)
    except (StopIteration, ValueError, TypeError, KeyError):
        return False


def _newest(root: Path) -> list[Path]:
    return sorted(
        (root / "traces").glob("*.jsonl"), key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True
    )


def _summary(path: Path) -> RunSummary | None:
    events = load(path)
    if not events:
        return None
    final = trajectory_of(events)
    return RunSummary(
        run=events[0].run,
        started=events[0].ts,
        question=str(events[0].data.get("question", "")),
        answer=final.answer if final else None,
        stop_reason=final.stop_reason if final else None,
        path=path,
    )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and line.strip():
                    yield line
    except OSError as error:
        raise InputError(
            f"{path} can't be read ({error.strerror})", remedy="check the path and its permissions"
        ) from error


def _drop_torn_line(path: Path) -> None:
    """Cut off a last line without its end, so that what is appended starts on a line of its own."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)


def _plain(value: Any) -> Any:
    """What orjson can't write: contract values become their JSON form."""
    if isinstance(value, Frozen):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} can't stand in a trace")
