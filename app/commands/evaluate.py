"""`docsage eval`: run a benchmark. `docsage score`: check our scorer against a reference's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.options import JsonOption, PasswordOption, ProfileOption

benchmarks = typer.Typer(name="eval", help="Run a benchmark and score the trajectories.", no_args_is_help=True)


@benchmarks.callback()
def _benchmarks() -> None:
    """Run a benchmark and score the trajectories."""


@benchmarks.command("mmlongbench-doc")
def mmlongbench_doc(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder with samples.json and documents/.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first N questions only.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run, also with another --limit (the same command does, too).")
    ] = False,
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
    profile: ProfileOption = "embedded",
    password: PasswordOption = [],  # noqa: B006  # typer copies it
) -> None:
    """Ask MMLongBench-Doc's questions, each over its own document, and score them by the benchmark's rules."""
    from agent.settings import load_profile
    from app.display import print_json, stderr, stdout
    from app.session import opened
    from evaluation.mmlongbench.benchmark import measure, run_config
    from evaluation.mmlongbench.samples import load_samples
    from evaluation.report import mmlongbench_report
    from evaluation.run import Run

    samples = load_samples(data)
    # By how many processes documents are read doesn't change an answer, so a run may move between machines.
    settings = load_profile(profile).model_dump(mode="json", exclude={"retrieval": {"ingest": {"workers"}}})
    run = Run(out)
    with (
        run.opened(run_config(samples, settings, limit=limit), resume=resume),
        opened(collection or out / "collection", profile=profile, passwords=password) as session,
    ):
        summary = measure(
            run,
            data,
            samples[:limit],
            collection=session.collection,
            agent=None if retrieval_only else session.agent(),
            progress=session.progress,
        )
        if summary.failed:
            session.progress.note(
                f"failed: {summary.failed}, see {run.failures.path}; the same command tries them again"
            )
    (stderr() if as_json else stdout()).print(mmlongbench_report(summary))
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
