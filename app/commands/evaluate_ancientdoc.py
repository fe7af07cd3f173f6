"""`docsage eval ancientdoc`: run AncientDoc. `docsage eval behaviour`: what a folder of traces tells."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.commands.options import (
    BaselineOption,
    ConcurrencyOption,
    EvidenceOption,
    JsonOption,
    PoolOption,
    ProfileOption,
    ResumeOption,
    chosen_profile,
)

if TYPE_CHECKING:
    from evaluation.ancientdoc.scoring import Comparison


EXIT_FAILED = 2
"""Questions that could not be asked, as in `docsage ask --questions`."""


class Part(StrEnum):
    """What `--without` can leave out; typer takes no list of literals."""

    PLANNER = "planner"
    VERIFIER = "verifier"
    RETRIEVAL = "retrieval"


def ancientdoc(
    data: Annotated[
        Path, typer.Option("--data", metavar="FILE", help="JSON lines: image, task, question, reference, id.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run.")] = Path("out", "ancientdoc"),
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="Where image paths start, else beside the file.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first N questions only.")] = None,
    resume: ResumeOption = False,
    predict_task: Annotated[
        bool, typer.Option("--predict-task", help="Don't tell the agent which of the tasks a question is.")
    ] = False,
    without: Annotated[
        list[Part], typer.Option("--without", help="Leave a part of the agent out; may be given again.")
    ] = [],  # noqa: B006  # typer copies it
    bertscore_model: Annotated[
        Path | None, typer.Option("--bertscore-model", metavar="DIR", help="Encoder for BERTScore, on disk.")
    ] = None,
    bertscore_layers: Annotated[
        int | None, typer.Option("--bertscore-layers", min=1, help="Layer whose vectors BERTScore compares.")
    ] = None,
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            "-c",
            envvar="DOCSAGE_COLLECTION",
            metavar="DIR",
            help="Where pages and traces are kept, else in --out.",
        ),
    ] = None,
    as_json: JsonOption = False,
    profile: ProfileOption = None,
    pool: PoolOption = None,
    baseline: BaselineOption = None,
    evidence: EvidenceOption = None,
    concurrency: ConcurrencyOption = None,
) -> None:
    """Ask AncientDoc's questions, each over its own page images, score the answers and report the agent's behaviour."""
    from app.display import print_json, stderr, stdout
    from app.session import AgentChoice, opened
    from evaluation.ancientdoc.benchmark import measure, run_config, settings_of
    from evaluation.ancientdoc.report import ancientdoc_report
    from evaluation.ancientdoc.samples import load_ancient_set
    from evaluation.behaviour.report import behaviour_report
    from evaluation.run import Run

    left_out: frozenset[Literal["planner", "verifier", "retrieval"]] = frozenset(part.value for part in without)
    found = load_ancient_set(data, images=images)
    comparison = _comparison(bertscore_model, bertscore_layers)
    chosen = chosen_profile(profile, evidence=evidence, concurrency=concurrency)
    choice = AgentChoice(pool=pool, baseline=baseline, without=left_out)
    settings = settings_of(
        {**chosen.recorded(), **choice.recorded()}, without=sorted(left_out), predict_task=predict_task
    )
    run = Run(out)
    with (
        run.opened(run_config(found.samples, settings, limit=limit), resume=resume),
        opened(collection or out / "collection", profile=chosen) as session,
    ):
        measured = measure(
            run,
            found.model_copy(update={"samples": found.samples[:limit]}),
            collection=session.collection,
            agent=session.agent(choice),
            settings=settings,
            comparison=comparison,
            progress=session.progress,
            together=session.together,
        )
        if failed := measured.summary.failed:
            session.progress.note(f"failed: {failed}, see {run.failures.path}; the same command tries them again")
    console = stderr() if as_json else stdout()
    console.print(ancientdoc_report(measured.summary))
    console.print(behaviour_report(measured.behaviour))
    if as_json:
        print_json(measured.summary.model_dump_json(by_alias=True))
    if measured.summary.failed:
        raise typer.Exit(EXIT_FAILED)


def behaviour(
    traces: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of traces, or a collection.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write behaviour.json and its plots there.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say which tools runs called, and what their verifier thought before and after replanning, by their traces."""
    from app.display import print_json, stderr, stdout
    from evaluation.behaviour.measures import behaviour_of
    from evaluation.behaviour.plots import plot_behaviour
    from evaluation.behaviour.report import behaviour_report
    from evaluation.behaviour.traces import runs_in
    from evaluation.records import write_json
    from retrieval.errors import InputError

    found = behaviour_of(runs_in(traces))
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out} can't be a folder ({error.strerror})", remedy="choose another --out") from error
        write_json(out / "behaviour.json", found)
        plot_behaviour(out, found)
    (stderr() if as_json else stdout()).print(behaviour_report(found))
    if as_json:
        print_json(found.model_dump_json(by_alias=True))


def _comparison(folder: Path | None, layers: int | None) -> Comparison:
    """What BERTScore is computed with, or why it isn't."""
    from evaluation.ancientdoc.scoring import Comparison
    from evaluation.metrics.translation import BertScore, bertscore_missing

    encoder = None if folder is None else BertScore(folder, layers=layers)  # a wrong folder is refused in any case
    reason = bertscore_missing(folder)
    return Comparison(None if reason else encoder, reason)
