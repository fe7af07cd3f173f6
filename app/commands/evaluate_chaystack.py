"""`docsage eval chaystack`: run CHaystack as CDocRAG does, phase by phase."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.commands.options import (
    ConcurrencyOption,
    EvidenceOption,
    JsonOption,
    ProfileOption,
    ResumeOption,
    chosen_profile,
)

if TYPE_CHECKING:
    from agent.settings import Profile
    from evaluation.chaystack.records import Phase
    from evaluation.chaystack.samples import Category

EXIT_FAILED = 2
"""Questions that a phase could not finish, as in the other benchmarks."""


class CategoryName(StrEnum):
    """What `--category` can name; typer takes no list of literals."""

    PAPER = "paper"
    CAMERA = "camera"
    WEBPAGE = "webpage"
    ADVERTISE = "advertise"


def chaystack(
    data: Annotated[
        Path,
        typer.Option("--data", metavar="DIR", help="Folder with data/eval/*.jsonl and data/image/{category}/."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run.")] = Path("out", "chaystack"),
    phase: Annotated[
        Literal["retrieve", "filter", "generate", "all"],
        typer.Option("--phase", help="One phase, from the files of those before, or all."),
    ] = "all",
    category: Annotated[
        list[CategoryName], typer.Option("--category", help="These categories' questions only; may be given again.")
    ] = [],  # noqa: B006  # typer copies it
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first N questions of each category.")] = None,
    index: Annotated[
        Literal["category", "all", "both"] | None,
        typer.Option("--index", help="Search the gold image's category, all images, or both (default)."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", metavar="MODEL", help="Search by page images: a folder or hub name.")
    ] = None,
    fuse: Annotated[bool, typer.Option("--fuse", help="Search text and page images, fused by rank.")] = False,
    planned: Annotated[
        bool, typer.Option("--planned", help="Search by sub-queries of the question's anchors besides the question.")
    ] = False,
    candidates: Annotated[int, typer.Option("--candidates", min=1, help="Images retrieved for a question.")] = 15,
    no_filter: Annotated[bool, typer.Option("--no-filter", help="Keep all candidates.")] = False,
    keep: Annotated[int, typer.Option("--keep", min=1, help="Images kept at most for the answer.")] = 10,
    generator: Annotated[
        Literal["direct", "agent"] | None,
        typer.Option("--generator", help="One call of the model (default with one), or docsage's agent."),
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="New tokens of a direct answer.")] = 128,
    gold: Annotated[bool, typer.Option("--gold", help="Answer from the gold image alone, without searching.")] = False,
    resume: ResumeOption = False,
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            "-c",
            envvar="DOCSAGE_COLLECTION",
            metavar="DIR",
            help="Where text, vectors and judgments are kept, else in --out.",
        ),
    ] = None,
    as_json: JsonOption = False,
    profile: ProfileOption = None,
    evidence: EvidenceOption = None,
    concurrency: ConcurrencyOption = None,
) -> None:
    """Retrieve page images for CHaystack's questions, filter them, answer, and score every step."""
    from app.display import print_json, stderr, stdout
    from app.session import opened
    from evaluation.chaystack.benchmark import PHASES, Benchmark, RunOptions, failed_questions
    from evaluation.chaystack.folder import ChaystackRun, run_config
    from evaluation.chaystack.images import find_images
    from evaluation.chaystack.report import chaystack_report
    from evaluation.chaystack.samples import data_root, load_chaystack
    from evaluation.chaystack.workers import ProfileWorkers, phase_settings, worker_choice

    categories: tuple[Category, ...] = tuple(name.value for name in category)
    phases: tuple[Phase, ...] = PHASES if phase == "all" else (phase,)
    _check_gold(gold, phase, index, planned=planned, embedder=embedder)
    found = load_chaystack(data, categories)
    haystack = find_images(data_root(data))
    chosen = chosen_profile(profile, evidence=evidence, concurrency=concurrency)
    if evidence is None and generator != "agent":
        chosen = _shown_images(chosen)
    choice = worker_choice(chosen, embedder=embedder, fuse=fuse, generator=generator, tokens=max_tokens)
    options = RunOptions(
        phases=phases,
        index=index,
        gold=gold,
        filters=not no_filter,
        planned=planned,
        candidates=candidates,
        keep=keep,
        settings=phase_settings(chosen, choice, planned=planned),
    )
    run = ChaystackRun(out)
    config = run_config(found.samples, categories=sorted(categories), gold=gold, limit=limit)
    with (
        run.opened(config, resume=resume),
        opened(collection or out / "collection", profile=_text_search(chosen)) as session,
    ):
        opener = ProfileWorkers(session.collection, chosen, haystack, choice, session.progress)
        try:
            benchmark = Benchmark(
                run,
                found,
                haystack,
                options=options,
                workers=opener.workers,
                progress=session.progress,
                limit=limit,
            )
            summary = benchmark.measure()
        finally:
            opener.close()
        failed = failed_questions(summary)
        if failed:
            session.progress.note(f"failed: {failed}, see {run.failures.path}; the same command tries them again")
    (stderr() if as_json else stdout()).print(chaystack_report(summary))
    if as_json:
        print_json(summary.model_dump_json(by_alias=True))
    if failed or benchmark.problem:
        raise typer.Exit(EXIT_FAILED)


def _check_gold(gold: bool, phase: str, index: str | None, *, planned: bool, embedder: str | None) -> None:
    """InputError for options of a search that isn't made."""
    from retrieval.errors import InputError

    given = {
        f"--phase {phase}": phase in ("retrieve", "filter"),
        f"--index {index}": index is not None,
        "--planned": planned,
        "--embedder": embedder is not None,
    }
    if gold and (wrong := [option for option, is_given in given.items() if is_given]):
        raise InputError(
            f"--gold and {wrong[0]} don't go together", remedy="the gold image is given: leave one of them out"
        )


def _shown_images(profile: Profile) -> Profile:
    """The profile whose model sees page images alone, as CDocRAG's does, unless its settings want text alone."""
    if profile.model.evidence == "text":
        return profile
    return profile.model_copy(update={"model": profile.model.model_copy(update={"evidence": "image"})})


def _text_search(profile: Profile) -> Profile:
    """The profile whose collection searches text alone: page images have a retriever and a phase of their own here."""
    from retrieval.settings import ImageSettings

    retrieval = profile.retrieval.model_copy(update={"images": ImageSettings()})
    return profile.model_copy(update={"retrieval": retrieval})
