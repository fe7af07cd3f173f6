"""Checkpoints, where an interrupted run goes on: one SQLite file a run, which goes when nobody needs it any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.trace import begun_with
from retrieval.types import Scope

KEPT_SECONDS = 24 * 3600.0
"""How long an interrupted run can go on."""
_BESIDE = ("", "-wal", "-shm")


def checkpoint_path(root: Path, run: str) -> Path:
    """Where the checkpoint of a run stands in a collection."""
    return root / "checkpoints" / f"{run}.sqlite"


def remove(checkpoint: Path) -> None:
    """Remove a checkpoint with the files that SQLite puts beside it; nothing when there is none."""
    for path in _files(checkpoint):
        path.unlink(missing_ok=True)


def clear(root: Path, checkpoint: Path, question: str, scope: Scope) -> None:
    """Remove what nobody needs once a question is answered: the checkpoints of its runs, and stale ones."""
    remove(checkpoint)
    remove_answered(root, question, scope)
    remove_stale(root)


def remove_stale(root: Path) -> None:
    """Remove the checkpoints of runs that were interrupted more than a day ago."""
    for checkpoint in _all(root):
        if time.time() - _last_written(checkpoint) > KEPT_SECONDS:
            remove(checkpoint)


def remove_answered(root: Path, question: str, scope: Scope) -> None:
    """Remove what interrupted runs of a question left, once another run has answered it.

    A run of the same question that is still going on in another process ends all the same, but can't be interrupted.
    """
    for checkpoint in _all(root):
        if begun_with(root / "traces" / f"{checkpoint.stem}.jsonl", question, scope):
            remove(checkpoint)


def _all(root: Path) -> Iterator[Path]:
    yield from sorted((root / "checkpoints").glob("*.sqlite"))


def _last_written(checkpoint: Path) -> float:
    """Seconds since the epoch; now, for one that another process has just removed."""
    times = []
    for path in _files(checkpoint):
        with suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return max(times, default=time.time())


def _files(checkpoint: Path) -> list[Path]:
    return [checkpoint.with_name(checkpoint.name + end) for end in _BESIDE]
