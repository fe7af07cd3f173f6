"""`docsage pool`: build and freeze an evidence pool, and look things up in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console

    from retrieval.knowledge.building import BuildReport
    from retrieval.knowledge.types import Manifest, PoolHit

pools = typer.Typer(name="pool", help="Build an evidence pool, and look things up in it.", no_args_is_help=True)
_SHOWN = 20


@pools.callback()
def _pools() -> None:
    """Build an evidence pool, and look things up in it."""


@pools.command("build")
def build(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSONL, JSON, CSV, TSV or text files.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the pool, new or empty.")],
    exclude: Annotated[
        list[Path],
        typer.Option(
            "--exclude", metavar="FILE", help="Test questions that no snippet may repeat; may be given again."
        ),
    ] = [],  # noqa: B006  # typer copies it
    as_json: JsonOption = False,
) -> None:
    """Clean, merge and freeze keyed snippets. Records that can't be used are named, and the rest goes on."""
    from app.display import print_json, stdout
    from app.progress import TerminalProgress
    from retrieval.knowledge.building import build_pool

    with TerminalProgress() as progress:
        report = build_pool(files, out, exclude=exclude, progress=progress)
        for line in _some(report.refused, "refused"):
            progress.note(line)
    if as_json:
        print_json(report.manifest.model_dump_json(by_alias=True))
    else:
        _show_report(report, out, stdout())


@pools.command("show")
def show(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a pool.")],
    terms: Annotated[list[str] | None, typer.Argument(metavar="[TERM]...", help="Terms to look up.")] = None,
    question: Annotated[str, typer.Option("--question", "-q", help="A question to look up, alone or with terms.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Say what a pool holds, or what in it matches terms and a question."""
    from app.display import print_json, stderr, stdout
    from retrieval.knowledge.pool import Pool

    pool = Pool.open(root)
    if not terms and not question:
        if as_json:
            print_json(pool.manifest.model_dump_json(by_alias=True))
        else:
            _show_manifest(pool.manifest, stdout())
        return
    hits = pool.match(terms or (), question)
    for hit in hits:
        if as_json:
            print_json(hit.model_dump_json())
        else:
            _show_hit(hit, stdout())
    if not hits:
        stderr().print("nothing in the pool matches")


def _show_report(report: BuildReport, out: Path, console: Console) -> None:
    from app.display import harmless

    _show_manifest(report.manifest, console)
    lines = [f"{one.source} ({', '.join(one.keys)}): {one.reason}, {one.test}" for one in report.excluded]
    for line in _some(lines, "excluded"):
        console.print(harmless(line))
    console.print(f"{'it was there already' if report.unchanged else 'frozen'} in {out}")


def _show_manifest(manifest: Manifest, console: Console) -> None:
    from app.display import counted, harmless

    console.print(
        f"pool {manifest.sha256[:12]}: {counted(manifest.snippets, 'snippet')}, {counted(manifest.keys, 'key')}, "
        f"{counted(manifest.duplicates, 'duplicate')} merged"
    )
    for file in manifest.inputs:
        refused = f", {file.refused} refused" if file.refused else ""
        console.print(harmless(f"  from {file.name} ({file.sha256[:12]}): {counted(file.records, 'record')}{refused}"))
    for file in manifest.tests:
        console.print(
            harmless(f"  kept clear of {file.name} ({file.sha256[:12]}): {counted(file.records, 'question')}")
        )
    for reason, number in manifest.excluded.items():
        console.print(f"  excluded, {reason}: {number}")


def _show_hit(hit: PoolHit, console: Console) -> None:
    from app.display import harmless

    sources = "; ".join(str(source) for source in hit.snippet.sources)
    console.print(harmless(f"{hit.score:.2f}  {hit.basis}  [{', '.join(hit.snippet.keys)}]"), style="cyan")
    console.print(harmless(f"      {hit.snippet.text}"))
    console.print(harmless(f"      {sources}  {hit.snippet.id}"), style="dim")


def _some(lines: list[str] | tuple[str, ...], what: str) -> list[str]:
    """The first lines, each with what it is about, and how many more there are."""
    more = [f"… and {len(lines) - _SHOWN} more {what}"] if len(lines) > _SHOWN else []
    return [*(f"{what}: {line}" for line in lines[:_SHOWN]), *more]
