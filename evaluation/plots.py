"""Plots that lie next to a summary, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.metrics.risk import OperatingPoint, Risk
from evaluation.records import write_bytes

RISK_PLOT = "risk-coverage.svg"
COLOURS = ("#1f6f8b", "#c1440e", "#6a8f2f", "#7b4b94", "#b8860b", "#3b4a6b")
"""Of one curve or group of bars each; a seventh would have the colour of the first."""
_STEP = 10


def plain_style(colours: Sequence[str], **more: Any) -> Any:
    """The look of all plots: white, with light guides."""
    from pygal.style import Style

    return Style(
        background="white",
        plot_background="white",
        colors=colours,
        font_family="sans-serif",
        title_font_size=18,
        legend_font_size=14,
        label_font_size=13,
        major_label_font_size=13,
        guide_stroke_color="#dddddd",
        major_guide_stroke_color="#dddddd",
        guide_stroke_dasharray="none",
        major_guide_stroke_dasharray="none",
        **more,
    )


def plot_risk(path: Path, title: str, risks: Mapping[str, Risk]) -> bool:
    """Write the risk-coverage curves by name, each with the point at which its answers were given; False without any.

    A dashed line falls from each of these points: the questions to the right of it are those that were abstained on.
    """
    drawn = {name: risk for name, risk in risks.items() if risk.curve}
    if not drawn:
        return False
    chart = _chart(title, drawn)
    for name, risk in drawn.items():
        curve = [(100 * point.coverage, 100 * point.risk) for point in risk.curve]
        chart.add(_legend(name, risk.operating), curve, show_dots=False)
    for risk in drawn.values():  # without a name they aren't in the legend; last, they lie above the curves
        chart.add(None, _mark(risk.operating), dots_size=7, stroke_style={"dasharray": "6, 4"})
    write_bytes(path, chart.render())
    return True


def _chart(title: str, risks: Mapping[str, Risk]) -> Any:
    """An empty plot, its axes in per cent and long enough for all curves. Shown, it loads nothing from the network."""
    import pygal

    top = max(max(point.risk for point in risk.curve) for risk in risks.values())
    top = max(top, *(risk.operating.risk or 0.0 for risk in risks.values()), 0.1)
    ceiling = min(-int(-100 * top // _STEP) * _STEP, 100)
    style = plain_style(COLOURS[: len(risks)] * 2, stroke_width=2.5)
    chart = pygal.XY(
        style=style,
        js=[],
        width=900,
        height=520 + 22 * len(risks),
        title=title,
        x_title="coverage: questions answered, the surest first (%)",
        y_title="risk: wrong answers (%)",
        xrange=(0, 100),
        range=(0, ceiling),
        x_labels=list(range(0, 101, 20)),
        y_labels=list(range(0, ceiling + 1, _STEP)),
        show_x_guides=True,
        margin_bottom=0,
        legend_at_bottom=True,
        legend_at_bottom_columns=1,
        truncate_legend=-1,
    )
    chart.uuid = "risk"  # else a random one, and equal results would differ
    return chart


def _mark(point: OperatingPoint) -> list[dict[str, Any]]:
    """A dot where answers were given, and the foot of its line on the axis; nothing where none was given."""
    if point.risk is None:
        return []
    x, y = 100 * point.coverage, 100 * point.risk
    return [{"value": (x, y)}, {"value": (x, 0.0), "node": {"r": 0}}]


def _legend(name: str, point: OperatingPoint) -> str:
    if point.risk is None:
        return f"{name}: no answer given"
    threshold = "" if point.threshold is None else f" at confidence ≥ {point.threshold:.2f}"
    return (
        f"{name}: {100 * point.coverage:.0f} % answered{threshold} (dot), {100 * point.risk:.0f} % of them wrong, "
        f"{100 - 100 * point.coverage:.0f} % abstained"
    )
