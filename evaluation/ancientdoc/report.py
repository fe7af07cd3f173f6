"""AncientDoc's scores as tables for a terminal. The numbers are those of `summary.json`."""

from __future__ import annotations

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evaluation.ancientdoc.scoring import AncientSummary
from evaluation.report import shown
from evaluation.types import Score

_COLUMNS = {"chrf++": "chrf++", "chrf++_sentence": "sentence", "bertscore_f1": "bertscore"}
"""The scores of the main table and their headings, short enough for 80 columns."""


def ancientdoc_report(summary: AncientSummary) -> RenderableType:
    """The tables of one run: the scores by task with their mean over the understanding tasks, and the error rates."""
    asked = f"{summary.questions} question{'' if summary.questions == 1 else 's'}"
    without = f", without {', '.join(summary.without)}" if summary.without else ""
    refused = f"; {len(summary.refused)} entries of the file can't be used" if summary.refused else ""
    parts: list[RenderableType] = [
        Text(
            f"{asked}{without}: {summary.answered} answered, {summary.abstained} abstained, "
            f"{summary.failed} failed{refused}"
        ),
        _scores(summary),
    ]
    if "ocr" in summary.tasks:
        rates = {name: score for name, score in summary.tasks["ocr"].scores.items() if name.startswith("cer")}
        parts.append(_rows("character error rate of ocr", rates))
    if summary.task_accuracy is not None:
        parts.append(_rows("task told from the question", {"accuracy": summary.task_accuracy}))
    parts.append(_rows("latency of an answer", summary.latency, unit="s"))
    reasons = {one.scores["bertscore_f1"].reason for one in summary.tasks.values()} - {""}
    parts += [Text(f"bertscore_f1: {reason}") for reason in sorted(reasons)]
    return Lines(*parts)


def _scores(summary: AncientSummary) -> Table:
    table = Table(title="answers (%); sentence: the mean of chrf++ over the answers", title_justify="left")
    for column in ("", "n", "abstained", "failed", *_COLUMNS.values()):
        table.add_column(column, justify="right" if column else "left")
    for task, one in summary.tasks.items():
        counts = (str(one.questions), str(one.abstained), str(one.failed))
        table.add_row(task, *counts, *(_value(one.scores[name]) for name in _COLUMNS))
    table.add_section()
    table.add_row("mean without ocr", "", "", "", *(_value(summary.understanding[name]) for name in _COLUMNS))
    return table


def _value(score: Score) -> str:
    """Per cent; a dash where there is no value: the reasons stand below the table."""
    return "-" if score.value is None else f"{100 * score.value:.2f}"


def _rows(title: str, scores: dict[str, Score], unit: str = "%") -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", "score", "n", "missing"):
        table.add_column(column, justify="right" if column else "left")
    for name, score in scores.items():
        table.add_row(name, shown(score, unit), str(score.n), str(score.missing))
    return table
