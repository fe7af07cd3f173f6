"""Scores as tables for a terminal. The numbers are those of `summary.json`; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evaluation.metrics.risk import Risk
from evaluation.mmlongbench.scoring import Group, Summary
from evaluation.reading.scoring import ReadingSummary, SetSummary
from evaluation.types import Score


def mmlongbench_report(summary: Summary) -> RenderableType:
    """The tables of one run: totals, retrieval, answers, pages, and the splits by source, document type and span."""
    parts: list[RenderableType] = [
        Text(
            f"{_questions(summary.questions)}: {summary.answered} answered, {summary.abstained} abstained, "
            f"{summary.failed} failed; {summary.unreachable} want pages that their document doesn't have"
        ),
        _retrieval(summary.retrieval),
    ]
    for title, scores, unit in (
        ("answers", summary.answers, "%"),
        ("cited pages", summary.pages, "%"),
        ("abstention", summary.abstention, "%"),
        ("regions of right answers", summary.grounding, "%"),
        ("confidence", summary.risk.scores if summary.risk else None, "%"),
        ("latency of an answer", summary.latency, "s"),
        ("latency of a search", summary.search_latency, "s"),
    ):
        if scores is not None:
            parts.append(_scores(title, scores, unit))
    if summary.risk is not None:
        parts.append(Text(_operating(summary.risk)))
    parts.append(_groups("by evidence source", summary.by_source))
    parts.append(_groups("by document type", summary.by_document_type))
    parts.append(_groups("by span", summary.by_span))
    return Lines(*parts)


def reading_report(summary: ReadingSummary) -> RenderableType:
    """The tables of a reading run, one of the answers and one of the confidence, a column a set."""
    asked = sum(one.questions for one in summary.sets.values())
    failed = sum(one.failed for one in summary.sets.values())
    parts: list[RenderableType] = [
        Text(f"{_questions(asked)}, {failed} failed"),
        _by_set(summary, "answers", lambda one: one.answers),
    ]
    if any(one.withholding for one in summary.sets.values()):
        parts.append(_by_set(summary, "withholding", lambda one: one.withholding or {}))
    if summary.mode == "open":
        parts.append(_by_set(summary, "searching", lambda one: one.retrieval or {}))
    parts.append(_by_set(summary, "confidence", lambda one: one.risk.scores))
    parts.append(_by_set(summary, "seconds a question", lambda one: one.latency, unit="s"))
    parts += [Text(f"{name}: {_operating(one.risk)}") for name, one in summary.sets.items()]
    return Lines(*parts)


def shown(score: Score, unit: str = "%") -> str:
    """A score as text: per cent with one decimal, or seconds; without a value, the reason."""
    if score.value is None:
        return f"- ({score.reason})"
    return f"{100 * score.value:.1f}" if unit == "%" else f"{score.value:.2f} s"


def _questions(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"


def _retrieval(scores: Mapping[str, Score]) -> Table:
    cutoffs = [name.removeprefix("recall@") for name in scores if name.startswith("recall@")]
    table = Table(title="retrieval", title_justify="left")
    table.add_column("")
    for cutoff in cutoffs:
        table.add_column(f"@{cutoff}", justify="right")
    for name in ("recall", "all_hit"):
        table.add_row(name, *(shown(scores[f"{name}@{cutoff}"]) for cutoff in cutoffs))
    return table


def _scores(title: str, scores: Mapping[str, Score], unit: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", "score", "n", "missing"):
        table.add_column(column, justify="left" if not column else "right")
    for name, score in scores.items():
        table.add_row(name, shown(score, unit), str(score.n), str(score.missing))
    return table


def _groups(title: str, groups: Mapping[str, Group]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", "questions", "accuracy", "all_hit@10"):
        table.add_column(column, justify="left" if not column else "right")
    for name, group in groups.items():
        table.add_row(name, str(group.questions), shown(group.accuracy), shown(group.all_hit_at_10))
    return table


def _by_set(
    summary: ReadingSummary, title: str, of: Callable[[SetSummary], Mapping[str, Score]], *, unit: str = "%"
) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    rows: dict[str, list[str]] = {}
    for place, (name, one) in enumerate(summary.sets.items()):
        table.add_column(name, justify="right")
        for score_name, score in of(one).items():
            rows.setdefault(score_name, ["-"] * len(summary.sets))[place] = shown(score, unit)
    for score_name, cells in rows.items():
        table.add_row(score_name, *cells)
    return table


def _operating(risk: Risk) -> str:
    """Where the answers that were given stand."""
    point = risk.operating
    wrong = "" if point.risk is None else f", {100 * point.risk:.1f} % of the answers wrong"
    threshold = "" if point.threshold is None else f" at confidence {point.threshold:.2f} and above"
    return f"{100 * point.coverage:.1f} % of the questions answered{threshold}{wrong}"
