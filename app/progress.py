"""Progress of long work on stderr: a bar with rate and time left on a terminal, one line a stage elsewhere."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.text import Text

from app.display import counted, harmless, stderr

_UNITS = {
    **dict.fromkeys(("answering", "searching", "filtering", "planning"), "question"),
    **dict.fromkeys(("reading", "OCR", "figures", "vectors", "page images"), "page"),
}


class RateColumn(ProgressColumn):
    """Units a second since the stage began, or a minute or an hour where that reads better."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing before there is one."""
        rate = _rate(task)
        for seconds, unit in ((1, "s"), (60, "min"), (3600, "h")):
            if rate and rate * seconds >= 1:
                return Text(f"{rate * seconds:.1f}/{unit}", style="dim")
        return Text("")


class LeftColumn(ProgressColumn):
    """The time that is left by the mean rate of the stage.

    The rate over the last moments says nothing of questions that take minutes, or of which eight end at once.
    """

    def render(self, task: Task) -> Text:
        """Minutes and seconds, or dashes before there is a rate."""
        rate = _rate(task)
        if not rate or task.total is None:
            return Text("-:--:--", style="cyan")
        return Text(str(timedelta(seconds=round((task.total - task.completed) / rate))), style="cyan")


def _rate(task: Task) -> float | None:
    return task.completed / task.elapsed if task.completed and task.elapsed else None


class TerminalProgress:
    """Implements `retrieval.progress.Progress`. As a context manager it takes the bar away when the work ends."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or stderr()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            RateColumn(),
            LeftColumn(),
            console=self._console,
            transient=True,
            # What the commands print must not pass through the bar: stdout may be a file that a program reads.
            redirect_stdout=False,
        )
        self._task: TaskID | None = None
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def start(self, stage: str, total: int) -> None:
        """Replace the bar by one for `stage`; off a terminal, say the stage in one line. An empty stage isn't shown."""
        self._end()
        if total == 0:
            return
        if not self._console.is_terminal:
            unit = _UNITS.get(stage, "")
            self._line(f"{stage}: {counted(total, unit) if unit else total}")
            return
        self._task = self._bars.add_task(stage, total=total)
        self._bars.start()

    def advance(self, units: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, units)

    def note(self, message: str) -> None:
        """One line above the bar; the same line isn't said twice."""
        if message not in self._said:
            self._said.add(message)
            self._line(message, style="yellow")

    def _line(self, message: str, *, style: str = "dim") -> None:
        self._console.print(Text(" ".join(harmless(message).split()), style=style), soft_wrap=True)

    def _end(self) -> None:
        if self._task is not None:
            self._bars.stop()
            self._bars.remove_task(self._task)
            self._task = None
