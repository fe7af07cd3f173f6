"""Many questions from a file, one trajectory a line; killed at any moment, the same command goes on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from agent.estimates import Estimate, estimate
from agent.planner import Hints
from agent.question import check_question
from agent.settings import Profile
from agent.types import Task, Trajectory
from app.questions import Asked, load_questions
from app.scope import read_scope
from app.session import AgentChoice, Session
from evaluation.folder import differences
from evaluation.records import JsonLines, write_bytes
from evaluation.run import ask_each
from evaluation.types import Failure, Question
from retrieval.errors import DocsageError, InputError
from retrieval.types import Scope


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What a batch came to, earlier calls included."""

    answered: int
    abstained: int
    failures: tuple[Failure, ...]
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The questions of a file, where answers and failures go, and what answers one."""

    asked: Sequence[Asked]
    answers: JsonLines[Trajectory]
    failures: JsonLines[Failure]
    ask: Callable[[str, Scope], Trajectory]


def estimated(
    profile: Profile, questions: Path, out: Path, *, task: Task | None = None, choice: AgentChoice | None = None
) -> Estimate | None:
    """What the questions without a trajectory in `out` will cost; None when the profile has no model.

    What answers in `out` have cost is taken for the others' cost if they were given in the same way.
    """
    baseline = choice.baseline if choice else None
    if profile.model.kind == "none":
        if baseline is not None:
            raise InputError(
                f"the baseline {baseline!r} needs a model, and profile {profile.name} has none",
                remedy="add --profile endpoint or --profile local",
            )
        return None
    asked = load_questions(questions)
    known = JsonLines(out, Trajectory).read() if os.path.exists(out) else []
    done = {t.question_id for t in known}
    alike = [t.usage for t in known if baseline in t.models or (baseline is None and "model" in t.models)]
    return estimate(profile, sum(item.id not in done for item in asked), alike, task=task, baseline=baseline)


def ask_file(
    session: Session,
    questions: Path,
    out: Path,
    *,
    paths: Sequence[Path],
    task: Task | None = None,
    choice: AgentChoice | None = None,
) -> BatchReport:
    """Ask every question of a file that has no trajectory in `out` yet; failures go to `<out>.failures.jsonl`.

    A question's own documents come before `paths`. `out` may hold answers to other questions; they are left alone.
    """
    asked = load_questions(questions)
    failed = out.with_name(out.name + ".failures.jsonl")
    for path in (out, failed):
        _check_output(path, questions)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out.with_name(out.name + ".lock"))
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process is writing {out}", remedy="wait for it, or choose another --out") from None
    except OSError as error:
        raise InputError(f"{out} can't be written ({error})", remedy="choose another --out") from error
    try:
        answers = JsonLines(out, Trajectory)
        failures = JsonLines(failed, Failure)
        answers.repair()
        failures.repair()
        profile = session.profile.recorded()
        profile["model"].pop("base_url")  # the same model may be served elsewhere tomorrow
        _check_settings(out, answers, {**profile, **(choice or AgentChoice()).recorded(), "task": task})
        done = {t.question_id for t in answers.read()}
        if any(item.id not in done for item in asked):  # else the model need not even be there
            agent, hints = session.agent(choice), Hints(task=task)
            batch = Batch(asked, answers, failures, lambda text, scope: agent.ask(text, scope, hints=hints))
            _ask(session, batch, paths)
        return _report(asked, answers, failures)
    finally:
        lock.release()


def _check_settings(out: Path, answers: JsonLines[Trajectory], settings: dict[str, Any]) -> None:
    """Note beside `out` how its questions are asked; InputError when it holds answers that were asked for otherwise."""
    note = out.with_name(out.name + ".settings.json")
    try:
        before = json.loads(note.read_text(encoding="utf-8")) if note.exists() else None
    except (OSError, ValueError) as error:
        raise InputError(f"{note} can't be read", remedy="remove it, or choose another --out") from error
    if before is not None and next(iter(answers.read()), None) is not None:
        changed = differences(before, settings)
        if changed:
            raise InputError(f"{out} holds answers with {'; '.join(changed)}", remedy="choose another --out")
    write_bytes(note, json.dumps(settings, ensure_ascii=False, indent=2).encode() + b"\n")


def _check_output(path: Path, questions: Path) -> None:
    """InputError for a file that answers can't go to: the questions themselves, a folder, a device, a pipe."""
    if not os.path.exists(path):
        return
    if path.samefile(questions):
        raise InputError(f"{path} holds the questions", remedy="choose another --out")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no regular file"
        raise InputError(f"{path} is {what}", remedy="--out is a new file, or one that an earlier call wrote")


def _ask(session: Session, batch: Batch, paths: Sequence[Path]) -> None:
    named = {item.id: tuple(Path(p) for p in item.paths) or tuple(paths) for item in batch.asked}
    done = {t.question_id for t in batch.answers.read()}
    scopes = _scopes(session, [named[item.id] for item in batch.asked if item.id not in done])
    enriching = threading.Lock()

    def ask(question: Question) -> Trajectory:
        check_question(question.text)
        scope = scopes[named[question.id]]
        if isinstance(scope, DocsageError):
            raise scope
        with enriching:
            session.enrich(scope, question.text, shown=False)
        return batch.ask(question.text, scope)

    todo = [Question(id=item.id, text=item.question, scope=Scope(doc_ids=())) for item in batch.asked]
    ask_each(
        todo,
        ask,
        answers=batch.answers,
        failures=batch.failures,
        progress=session.progress,
        together=session.together,
    )


def _report(asked: Sequence[Asked], answers: JsonLines[Trajectory], failures: JsonLines[Failure]) -> BatchReport:
    wanted = {item.id for item in asked}
    trajectories = [t for t in answers.read() if t.question_id in wanted]
    done = {t.question_id for t in trajectories}
    latest = {f.id: f for f in failures.read() if f.id in wanted - done}
    return BatchReport(
        answered=sum(not t.abstained for t in trajectories),
        abstained=sum(t.abstained for t in trajectories),
        failures=tuple(latest.values()),
        dollars=sum(t.usage.dollars for t in trajectories),
    )


def _scopes(session: Session, groups: Sequence[tuple[Path, ...]]) -> dict[tuple[Path, ...], Scope | DocsageError]:
    """The scope of each group of paths, or what is wrong with it: a bad path costs its own questions only."""
    scopes: dict[tuple[Path, ...], Scope | DocsageError] = {}
    for group in dict.fromkeys(groups):
        try:
            scopes[group] = read_scope(session, group)
        except DocsageError as error:
            scopes[group] = error
    return scopes
