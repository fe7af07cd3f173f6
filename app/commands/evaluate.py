"""`docsage eval`: run a benchmark. `docsage score`: check our scorer against a reference's scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.evaluate_ancientdoc import ancientdoc, behaviour
from app.commands.evaluate_chaystack import chaystack
from app.commands.options import (
    BaselineOption,
    ConcurrencyOption,
    EvidenceOption,
    JsonOption,
    PasswordOption,
    ProfileOption,
    ResumeOption,
    chosen_profile,
)

if TYPE_CHECKING:
    from evaluation.reading.scoring import Mode

benchmarks = typer.Typer(name="eval", help="Run a benchmark and score the trajectories.", no_args_is_help=True)
benchmarks.command("ancientdoc")(ancientdoc)
benchmarks.command("behaviour")(behaviour)
benchmarks.command("chaystack")(chaystack)


@benchmarks.callback()
def _benchmarks() -> None:
    """Run a benchmark and score the trajectories."""


@benchmarks.command("mmlongbench-doc")
def mmlongbench_doc(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder with samples.json and documents/.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first N questions only.")] = None,
    resume: ResumeOption = False,
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            "-c",
            envvar="DOCSAGE_COLLECTION",
            metavar="DIR",
            help="Where documents are kept, else in --out.",
        ),
    ] = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Search, but don't answer.")] = False,
    as_json: JsonOption = False,
    profile: ProfileOption = None,
    password: PasswordOption = [],  # noqa: B006  # typer copies it
    baseline: BaselineOption = None,
    evidence: EvidenceOption = None,
    concurrency: ConcurrencyOption = None,
) -> None:
    """Ask MMLongBench-Doc's questions, each over its own document, and score them by the benchmark's rules."""
    from app.display import print_json, stderr, stdout
    from app.session import AgentChoice, opened
    from evaluation.mmlongbench.benchmark import measure, run_config
    from evaluation.mmlongbench.samples import load_samples
    from evaluation.report import mmlongbench_report
    from evaluation.run import Run

    samples = load_samples(data)
    chosen, choice = chosen_profile(profile, evidence=evidence, concurrency=concurrency), AgentChoice(baseline=baseline)
    settings = {**chosen.recorded(), **choice.recorded()}
    run = Run(out)
    with (
        run.opened(run_config(samples, settings, limit=limit), resume=resume),
        opened(collection or out / "collection", profile=chosen, passwords=password) as session,
    ):
        summary = measure(
            run,
            data,
            samples[:limit],
            collection=session.collection,
            agent=None if retrieval_only else session.agent(choice),
            progress=session.progress,
            together=session.together,
            threshold=session.profile.agent.tasks.document_qa.tentative,
        )
        if summary.failed:
            session.progress.note(
                f"failed: {summary.failed}, see {run.failures.path}; the same command tries them again"
            )
    (stderr() if as_json else stdout()).print(mmlongbench_report(summary))
    if as_json:
        print_json(summary.model_dump_json(by_alias=True))


@benchmarks.command("reading")
def reading(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="SQuAD-format file, or a folder of *.json.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the run, else out/reading[-open].")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first N questions of each set only.")] = None,
    resume: ResumeOption = False,
    searching: Annotated[
        bool, typer.Option("--open", help="Search all paragraphs of a set instead of giving each question its own.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read the paragraphs of SQuAD, CMRC 2018, DRCD or sets like them, and score the answers by their rules."""
    from app.display import print_json, stderr, stdout
    from app.progress import TerminalProgress
    from evaluation.reading.benchmark import ReadingRun, measure, run_config
    from evaluation.reading.reader import TrainedReader
    from evaluation.reading.samples import limited, load_reading_sets
    from evaluation.report import reading_report

    sets = load_reading_sets(data)
    mode: Mode = "open" if searching else "given"
    run = ReadingRun(out or Path("out", "reading-open" if searching else "reading"))
    reader = TrainedReader()
    config = run_config(sets, reader, mode=mode, limit=limit)
    with run.opened(config, resume=resume), TerminalProgress() as progress:
        summary = measure(run, limited(sets, limit), reader, mode=mode, progress=progress)
        if failed := sum(one.failed for one in summary.sets.values()):
            progress.note(f"failed: {failed}, see {run.failures.path}; the same command tries them again")
    (stderr() if as_json else stdout()).print(reading_report(summary))
    if as_json:
        print_json(summary.model_dump_json(by_alias=True))


def score(
    benchmark: Annotated[str, typer.Argument(help="Whose scorer: mmlongbench-doc.")],
    golden: Annotated[
        Path, typer.Option("--golden", metavar="FILE", help="JSON lines: gold, pred, answer_format, score.")
    ],
) -> None:
    """Compare our scorer with scores that a benchmark's own scorer gave; exit code 1 when they differ."""
    from app.display import stdout
    from evaluation.mmlongbench.golden import compare
    from retrieval.errors import InputError

    if benchmark != "mmlongbench-doc":
        raise InputError(f"there is no scorer {benchmark!r}", remedy="name mmlongbench-doc")
    result = compare(golden)
    console = stdout()
    for line in result.lines():
        console.print(line)
    if not result.equal:
        raise typer.Exit(1)
