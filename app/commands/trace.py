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
    from app.display import print_json, stdout
    from app.trace_tree import trace_tree

    path = find(collection, run)
    events = load(path)
    if not as_json:
        stdout().print(trace_tree(events))
        return
    # The lines as they stand, which is what other programs read, once all of them are known to be events.
    lines = [line for line in path.read_text(encoding="utf-8").split("\n")[:-1] if line.strip()]
    print_json("\n".join(lines[: len(events)]))
