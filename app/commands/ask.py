"""`docsage ask`: one question, or a file of them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import (
    DEFAULT_COLLECTION,
    BaselineOption,
    CollectionOption,
    ConcurrencyOption,
    EvidenceOption,
    JsonOption,
    PasswordOption,
    PoolOption,
    ProfileOption,
    TaskOption,
    chosen_profile,
)

if TYPE_CHECKING:
    from agent.types import Task, Trajectory
    from app.session import AgentChoice, Session

EXIT_ABSTAINED = 3


def ask(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar='"QUESTION" [PATH]', help="The question, then the files or folders it is asked over."),
    ] = None,
    collection: CollectionOption = DEFAULT_COLLECTION,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
    boxes: Annotated[
        Path | None, typer.Option("--boxes", metavar="DIR", help="Write the cited pages as PNG, regions drawn.")
    ] = None,
    password: PasswordOption = [],  # noqa: B006  # typer copies it
    questions: Annotated[
        Path | None, typer.Option("--questions", metavar="FILE", help="Ask many: .txt, .json or .jsonl.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="With --questions: JSON lines, one trajectory each.")
    ] = None,
    task: TaskOption = None,
    pool: PoolOption = None,
    baseline: BaselineOption = None,
    evidence: EvidenceOption = None,
    concurrency: ConcurrencyOption = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="With --questions: say what the model would cost, and ask nothing.")
    ] = False,
) -> None:
    """Answer a question from the documents, or say that they don't hold the answer (exit code 3)."""
    from app.scope import check_collection
    from app.session import AgentChoice, opened

    begin = time.perf_counter()
    given = words or []
    _check_options(given, questions, out, for_one=as_json or boxes is not None, estimate=estimate)
    chosen = chosen_profile(profile, evidence=evidence, concurrency=concurrency)
    choice = AgentChoice(pool=pool, baseline=baseline)
    if questions is not None and out is not None:
        from app.commands.ask_many import Batch, ask_many, show_estimate

        batch = Batch(questions, out, [Path(p) for p in given], task, choice)
        if estimate:
            show_estimate(chosen, batch)
            return
        with opened(collection, profile=chosen, passwords=password) as session:
            ask_many(session, batch)
        return
    paths = [Path(p) for p in given[1:]]
    _check(given[0], boxes)
    check_collection(collection, paths)
    with opened(collection, profile=chosen, passwords=password) as session:
        trajectory = _ask_one(session, given[0], paths, task, choice)
        if boxes is not None:
            _write_boxes(session, trajectory, boxes)
        _show(session, trajectory, as_json=as_json, seconds=time.perf_counter() - begin)
    if trajectory.abstained:
        raise typer.Exit(EXIT_ABSTAINED)


def _check_options(
    given: Sequence[str], questions: Path | None, out: Path | None, *, for_one: bool, estimate: bool
) -> None:
    """InputError for options that don't go together."""
    from retrieval.errors import InputError

    if (questions is None) != (out is None):
        raise InputError("--questions and --out belong together", remedy="give both, or a question")
    if questions is None and not (given and given[0].strip()):
        raise InputError("no question was given", remedy='docsage ask "question" [PATH]..., or --questions FILE')
    if questions is not None and given and not os.path.exists(given[0]):
        raise InputError(
            f"there is no file or folder {given[0]!r}",
            remedy="give a question or --questions, not both; else only paths",
        )
    if questions is not None and for_one:
        raise InputError("--json and --boxes are for one question", remedy="--out holds the trajectories as JSON")
    if estimate and questions is None:
        raise InputError("--estimate is for many questions", remedy="give --questions FILE and --out FILE")


def _check(question: str, boxes: Path | None) -> None:
    """InputError for what would go wrong after minutes of reading."""
    from agent.question import check_question
    from retrieval.errors import InputError

    check_question(question)
    if os.path.exists(question):
        raise InputError(f"{question} is a file, not a question", remedy='docsage ask "question" [PATH]...')
    if boxes is not None:
        from app.boxes import prepare

        prepare(boxes)


def _ask_one(
    session: Session, question: str, paths: Sequence[Path], task: Task | None, choice: AgentChoice
) -> Trajectory:
    from agent.planner import Hints
    from app.scope import read_scope

    agent = session.agent(choice)
    scope = read_scope(session, paths)
    session.enrich(scope, question)
    return agent.ask(question, scope, hints=Hints(task=task))


def _show(session: Session, trajectory: Trajectory, *, as_json: bool, seconds: float) -> None:
    from app.display import print_json, show_trajectory, stdout

    if as_json:
        print_json(trajectory.model_dump_json(by_alias=True))
    else:
        show_trajectory(trajectory, stdout(), session.page_of, seconds=seconds)


def _write_boxes(session: Session, trajectory: Trajectory, folder: Path) -> None:
    from app.boxes import write_boxes

    for path in write_boxes(trajectory, session.collection, folder, progress=session.progress):
        session.progress.note(str(path))
