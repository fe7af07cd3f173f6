"""The documents that a question or a query is about, and what is said about those that can't be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.session import Session, empty
from retrieval.collection import STORE_NAME
from retrieval.errors import InputError
from retrieval.ingest.files import Refusal, shown
from retrieval.types import Scope


def check_collection(collection: Path, paths: Sequence[Path]) -> None:
    """InputError when nothing is named and there is no collection: it would be made only to be found empty."""
    if not paths and not os.path.exists(collection / STORE_NAME):
        raise empty(collection)


def read_scope(session: Session, paths: Sequence[Path]) -> Scope:
    """The documents at `paths`, read first where they aren't yet; without paths, the whole collection.

    A file that is refused costs one line; several in a folder cost one together, for they are the same each time.
    When nothing readable is left, the last line is an InputError.
    """
    if not paths:
        return session.whole_collection()
    report = session.collection.read(paths, progress=session.progress)
    lines = refusal_lines(report.refused, paths)
    if report.documents:
        for line in lines:
            session.progress.note(line)
        return Scope(doc_ids=tuple(dict.fromkeys(document.doc_id for document in report.documents)))
    lost = [shown(refusal.path) for refusal in report.refused if not os.path.lexists(refusal.path)]
    if len(lost) == len(report.refused):
        problem = f"there is no {', no '.join(lost)}" if lost else f"nothing to read in {', '.join(map(shown, paths))}"
        raise InputError(problem, remedy="name PDFs, images or folders, and quote the question")
    for line in lines[:-1]:
        session.progress.note(line)
    raise InputError(lines[-1])


def refusal_lines(refused: Sequence[Refusal], paths: Iterable[Path]) -> list[str]:
    """What is said about files that can't be read: each one's reason, but several of a folder in one line."""
    lines: dict[str, None] = {}
    folders = [path for path in paths if os.path.isdir(path)]
    for refusal in refused:
        folder = next((f for f in folders if f in refusal.path.parents), None)
        beside = sum(folder in other.path.parents for other in refused) if folder else 0
        if folder and beside > 1:
            name = shown(folder)
            lines[f"{beside} files in {name} can't be read; `docsage index {name}` says why"] = None
        else:
            lines[refusal.reason] = None
    return list(lines)
