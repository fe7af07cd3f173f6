"""`docsage trace`: what happened in a run, step by step."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.options import DEFAULT_COLLECTION, CollectionOption, JsonOption


def trace(
    run: Annotated[str, typer.Argument(metavar="RUN|latest", help="A run id, as `ask` prints it.")] = "latest",
    collection: CollectionOption = DEFAULT_COLLECTION,
    as_json: JsonOption = False,
) -> None:
    """Print a run as a tree: plan, tool calls, claims with verdicts, and why it stopped. --json prints its events."""
    from agent.trace import find, load
    from app.display import stdout
    from app.trace_tree import trace_tree

    path = find(collection, run)
    if not as_json:
        stdout().print(trace_tree(load(path)))
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # a line that is still being written is left out
                typer.echo(line, nl=False)
