"""How runs went, as tables for a terminal. The numbers are those of `behaviour.json`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evaluation.behaviour.measures import Behaviour, TaskBehaviour
from evaluation.types import Score

_COUNTS: tuple[str, ...] = ("tool_calls", "model_calls", "replans", "rounds")
_SHARES: tuple[str, ...] = ("support_rate", "confidence", "abstained")
_SIDES: tuple[str, ...] = ("support_before", "support_after", "confidence_before", "confidence_after")


def behaviour_report(behaviour: Behaviour) -> RenderableType:
    """Two tables with a column a task: how runs went, and what replanning changed; a dash is no data.

    They fit a terminal of 80 columns.
    """
    columns = {task.removesuffix("_qa"): one for task, one in behaviour.tasks.items()}
    columns["all"] = behaviour.overall
    parts: list[RenderableType] = []
    if behaviour.unread:
        parts.append(Text(f"traces that have gone, are damaged or haven't ended: {behaviour.unread}"))
    parts.append(_runs(columns))
    if behaviour.overall.replanning.runs:
        replanned = _table("before and after replanning, in %, by the verifier", columns)
        replanned.add_row("runs", *(str(one.replanning.runs) for one in columns.values()))
        for name in _SIDES:
            replanned.add_row(name, *(_share(getattr(one.replanning, name)) for one in columns.values()))
        parts.append(replanned)
    return Lines(*parts)


def _runs(columns: Mapping[str, TaskBehaviour]) -> Table:
    every = list(columns.values())
    table = _table("behaviour: tools in % of the runs, calls as means, the rest in %", columns)
    table.add_row("runs", *(str(one.runs) for one in every))
    for tool in columns["all"].tools:
        table.add_row(tool, *(_share(one.tools[tool]) for one in every))
    for name in _COUNTS:
        table.add_row(name, *(_mean(getattr(one, name)) for one in every))
    for name in _SHARES:
        table.add_row(name, *(_share(getattr(one, name)) for one in every))
    for reason in columns["all"].stop_reasons:
        table.add_row(f"stop: {reason}", *(str(one.stop_reasons.get(reason, 0)) for one in every))
    return table


def _table(title: str, columns: Mapping[str, TaskBehaviour]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _share(score: Score) -> str:
    return "-" if score.value is None else f"{100 * score.value:.1f}"


def _mean(score: Score) -> str:
    return "-" if score.value is None else f"{score.value:.2f}"
