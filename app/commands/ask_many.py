"""`docsage ask --questions`: a file of questions, and what it would cost to ask them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agent.settings import Profile
    from agent.types import Task
    from app.session import AgentChoice, Session


@dataclass(frozen=True, slots=True)
class Batch:
    """A file of questions, where their answers go, and how they are asked."""

    questions: Path
    out: Path
    paths: Sequence[Path]
    task: Task | None
    choice: AgentChoice


def ask_many(session: Session, batch: Batch) -> None:
    """Ask every question that `out` doesn't answer yet; exit 2 or 1 when some failed."""
    from app.batch import ask_file

    report = ask_file(session, batch.questions, batch.out, paths=batch.paths, task=batch.task, choice=batch.choice)
    cost = f", ${report.dollars:,.4f}" if report.dollars else ""
    session.progress.note(
        f"{report.answered} answered, {report.abstained} abstained, {len(report.failures)} failed{cost}; {batch.out}"
    )
    if report.failures:
        raise typer.Exit(1 if any(failure.traceback for failure in report.failures) else 2)


def show_estimate(profile: Profile, batch: Batch) -> None:
    """Print what the questions that `out` doesn't answer yet would cost; nothing is asked."""
    from app.batch import estimated
    from app.display import counted, stdout

    found = estimated(profile, batch.questions, batch.out, task=batch.task, choice=batch.choice)
    if found is None:
        stdout().print(f"profile {profile.name} has no model: its answers cost nothing but time")
        return
    if not found.questions:
        stdout().print(f"every question has its answer in {batch.out}: nothing is left to ask")
        return
    money = "no price table (model.prices) to say what they cost"
    if found.dollars_low is not None and found.dollars_high is not None:
        money = _range(f"${found.dollars_low:,.4f}", f"${found.dollars_high:,.4f}")
    stdout().print(
        f"{counted(found.questions, 'question')}: "
        f"{_range(f'{found.calls_low:,}', f'{found.calls_high:,}')} model calls, "
        f"{_range(f'{found.tokens_in_low:,}', f'{found.tokens_in_high:,}')} tokens in, "
        f"{_range(f'{found.tokens_out_low:,}', f'{found.tokens_out_high:,}')} out, {money} (from {found.basis})"
    )


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
