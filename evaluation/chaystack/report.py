"""CHaystack's scores as tables for a terminal, beside those of the paper. The numbers are those of `summary.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evaluation.chaystack.records import Setting
from evaluation.chaystack.reference import FILTERED, GENERATION, RETRIEVAL, Row
from evaluation.chaystack.samples import CATEGORIES
from evaluation.chaystack.scoring import ChaystackSummary, FilterEffect, GroupSummary, SettingSummary
from evaluation.metrics.retrieval import CUTOFFS
from evaluation.report import shown
from evaluation.types import Score

ROWS: tuple[Row, ...] = ("all", *CATEGORIES)
TITLES: dict[Setting, str] = {
    "category": "index of the gold image's category",
    "all": "index of all images",
    "gold": "gold image",
}


def chaystack_report(summary: ChaystackSummary) -> RenderableType:
    """The tables of one run by setting, then its rows among the paper's."""
    images = ", ".join(f"{count} {category}" for category, count in summary.images.items() if count)
    parts: list[RenderableType] = [
        Text(
            f"{_counted(summary.questions)} over {images or 'no images'}; {summary.unreachable} gold images are missing"
        )
    ]
    if summary.refused:
        parts.append(Text(f"{len(summary.refused)} lines of the files can't be used"))
    for setting, one in summary.settings.items():
        parts += _setting(setting, one)
    if retrieval := _beside_retrieval(summary.settings):
        parts.append(retrieval)
    if answers := _beside_answers(summary.settings):
        parts.append(answers)
    return Lines(*parts)


def _setting(setting: Setting, one: SettingSummary) -> list[RenderableType]:
    groups = _groups(one)
    parts: list[RenderableType] = [Text(f"{TITLES[setting]}: {one.meaning}", style="bold")]
    if setting != "gold":
        parts.append(_recall(groups))
    reason = one.overall.answers["em"].reason
    parts.append(Text(f"answers: {reason}") if reason else _answers(groups))
    if one.filter is not None:
        parts.append(Text(_filter_line(one.filter)))
    elif one.filter_reason and setting != "gold":
        parts.append(Text(f"filter: {one.filter_reason}"))
    if failed := {phase: count for phase, count in one.failed.items() if count}:
        parts.append(Text("failed: " + ", ".join(f"{phase} {count}" for phase, count in failed.items())))
    times = [
        f"{phase} {shown(scores['p50'], 's')} ({shown(scores['p95'], 's')})" for phase, scores in one.latency.items()
    ]
    if times:
        parts.append(Text("seconds a question, p50 (p95): " + ", ".join(times)))
    return parts


def _recall(groups: Mapping[Row, GroupSummary]) -> Table:
    table = Table(title="recall (%), before → after the filter", title_justify="left")
    for column in ("", "n", *(f"@{k}" for k in CUTOFFS)):
        table.add_column(column, justify="right" if column else "left")
    for name, group in groups.items():
        cells = [
            f"{_short(group.recall[f'recall@{k}'])} → {_short(group.filtered_recall[f'recall@{k}'])}" for k in CUTOFFS
        ]
        table.add_row(name, str(group.questions), *cells)
    return table


def _answers(groups: Mapping[Row, GroupSummary]) -> Table:
    table = Table(title="answers (%)", title_justify="left")
    for column in ("", "n", "em", "f1", "uncertain", "missing"):
        table.add_column(column, justify="right" if column else "left")
    for name, group in groups.items():
        scores = (group.answers["em"], group.answers["f1"], group.uncertain)
        table.add_row(name, str(group.questions), *map(_value, scores), str(group.answers["em"].missing))
    return table


def _filter_line(effect: FilterEffect) -> str:
    gains = ", ".join(f"@{k} +{effect.into_top[k]} -{effect.out_of_top[k]}" for k in effect.into_top)
    return (
        f"filter, {_counted(effect.questions)}: gold moved up {effect.moved_up}, into and out of the top {gains}; "
        f"falsely rejected {effect.false_rejections} of {effect.gold_retrieved} retrieved; all rejected "
        f"{effect.fallbacks}; kept {shown(effect.kept)} %; not judged {effect.errors} pages of "
        f"{_counted(effect.failed)}"
    )


def _beside_retrieval(settings: Mapping[Setting, SettingSummary]) -> Table | None:
    """Recall@1 by category, ours among those of table 2; None when nothing was searched."""
    ours = {name: one for name, one in settings.items() if one.overall.recall["recall@1"].value is not None}
    if not ours:
        return None
    table = _comparison("recall@1 (%) beside the paper's (table 2, section 5.3: index of the category)")
    for model, rows in RETRIEVAL.items():
        table.add_row(model, *(f"{rows[row][0]:.2f}" for row in ROWS))
    for model, known in FILTERED.items():
        table.add_row(model, *(f"{known[row]:.2f}" if row in known else "" for row in ROWS))
    table.add_section()
    for name, one in ours.items():
        groups = _groups(one)
        table.add_row(f"ours, {name}", *(_of(groups, row, lambda g: g.recall["recall@1"]) for row in ROWS))
        if one.overall.filtered_recall["recall@1"].value is not None:
            cells = (_of(groups, row, lambda g: g.filtered_recall["recall@1"]) for row in ROWS)
            table.add_row(f"ours, {name}, filtered", *cells)
    return table


def _beside_answers(settings: Mapping[Setting, SettingSummary]) -> Table | None:
    """EM / F1 by category, ours among those of table 3; None when nothing was answered."""
    ours = {name: one for name, one in settings.items() if one.overall.answers["em"].value is not None}
    if not ours:
        return None
    table = _comparison("EM / F1 (%) beside the paper's (table 3: from the gold image)")
    for model, rows in GENERATION.items():
        table.add_row(model, *(f"{rows[row][0]:.1f} / {rows[row][1]:.1f}" for row in ROWS))
    table.add_section()
    for name, one in ours.items():
        groups = _groups(one)
        cells = (
            f"{_short(groups[row].answers['em'])} / {_short(groups[row].answers['f1'])}" if row in groups else ""
            for row in ROWS
        )
        table.add_row(f"ours, {name}", *cells)
    return table


def _groups(one: SettingSummary) -> dict[Row, GroupSummary]:
    found = {row: one.overall if row == "all" else one.by_category.get(row) for row in ROWS}
    return {row: group for row, group in found.items() if group is not None}


def _comparison(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", *ROWS):
        table.add_column(column, justify="right" if column else "left")
    return table


def _of(groups: Mapping[Row, GroupSummary], row: Row, score: Callable[[GroupSummary], Score]) -> str:
    return _value(score(groups[row])) if row in groups else ""


def _value(score: Score) -> str:
    """Per cent; a dash where there is no value."""
    return "-" if score.value is None else f"{100 * score.value:.2f}"


def _short(score: Score) -> str:
    """Per cent with one decimal, for tables with two values a cell."""
    return "-" if score.value is None else f"{100 * score.value:.1f}"


def _counted(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"
