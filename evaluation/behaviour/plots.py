"""How runs went, as bars: the tools by task, and the verifier's figures before and after replanning. SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.types import Task
from evaluation.behaviour.measures import Behaviour, Replanning
from evaluation.plots import COLOURS, plain_style
from evaluation.records import write_bytes
from evaluation.types import Score

TOOLS_PLOT = "tool-use.svg"
REPLANNING_PLOT = "replanning.svg"


def plot_behaviour(folder: Path, behaviour: Behaviour) -> list[Path]:
    """Write the plots that there is data for, and remove older ones that have none; the paths of those written."""
    written = []
    tools = list(behaviour.overall.tools)
    used = {task: [one.tools[tool] for tool in tools] for task, one in behaviour.tasks.items()}
    if tools:
        written.append(_write(folder / TOOLS_PLOT, "Runs that call a tool (%)", tools, used))
    if behaviour.overall.replanning.runs:
        # Tasks without replanning are among them, so that a task has one colour in both plots.
        changed = {task: _sides(one.replanning) for task, one in behaviour.tasks.items()}
        labels = ["support before", "support after", "confidence before", "confidence after"]
        title = "Verification before and after replanning (%)"
        written.append(_write(folder / REPLANNING_PLOT, title, labels, changed))
    for path in (folder / TOOLS_PLOT, folder / REPLANNING_PLOT):
        if path not in written:
            path.unlink(missing_ok=True)
    return written


def _sides(replanning: Replanning) -> list[Score]:
    return [
        replanning.support_before,
        replanning.support_after,
        replanning.confidence_before,
        replanning.confidence_after,
    ]


def _write(path: Path, title: str, labels: Sequence[str], bars: Mapping[Task, Sequence[Score]]) -> Path:
    """Bars in groups, one group a label and one colour a name; a bar without data is not drawn, which isn't 0."""
    chart = _chart(title, len(bars))
    chart.uuid = path.stem  # else a random one, and equal results would differ
    chart.x_labels = [label.replace("_", " ") for label in labels]
    for name, scores in bars.items():
        chart.add(name, [None if score.value is None else round(100 * score.value, 2) for score in scores])
    write_bytes(path, chart.render())
    return path


def _chart(title: str, series: int) -> Any:
    """An empty plot with an axis from 0 to 100. Shown, it loads nothing from the network."""
    import pygal

    style = plain_style(COLOURS[:series])
    return pygal.Bar(
        style=style,
        js=[],
        width=900,
        height=480,
        title=title,
        range=(0, 100),
        y_labels=list(range(0, 101, 20)),
        legend_at_bottom=True,
        truncate_legend=-1,
        truncate_label=-1,
        x_label_rotation=20,
    )
