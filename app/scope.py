"""The documents that a question or a query is about, and what is said about those that can't be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from retrieval.errors import InputError
from retrieval.ingest.files import SUFFIXES
from retrieval.progress import Progress
from retrieval.types import Scope

if TYPE_CHECKING:
    from app.session import Session


class Refused(Protocol):
    """A file that could not be read, and the line that says why."""

    @property
    def path(self) -> Path:
        """The path as it was given, or found in a folder that was given."""

    @property
    def reason(self) -> str:
        """The file's name, what is wrong with it, and the remedy."""


def check_collection(collection: Path, paths: Sequence[Path]) -> None:
    """InputError when nothing is named and there is no collection: it would be made only to be found empty."""
    if not paths and not os.path.exists(collection / "collection.sqlite"):
        raise InputError(
            f"the collection {collection} is empty",
            remedy="name files to read, or add them with `docsage index PATH...`",
        )


def read_scope(session: Session, paths: Sequence[Path]) -> Scope:
    """The documents at `paths`, read first where they aren't yet; without paths, the whole collection.

    A file that is refused costs one line; several in a folder cost one together, for they are the same each time.
    When nothing readable is left, that line is the error; InputError.
    """
    if not paths:
        return session.scope(())
    held = _Held(session.progress, paths)
    report = session.collection.read(paths, progress=held)
    lines = refusal_lines(report.refused, paths)
    reasons = {refusal.reason for refusal in report.refused}
    lines += [message for message in held.messages if message not in reasons]
    if report.documents:
        for line in lines:
            session.progress.note(line)
        return Scope(doc_ids=tuple(dict.fromkeys(document.doc_id for document in report.documents)))
    lost = [str(refusal.path) for refusal in report.refused if not os.path.lexists(refusal.path)]
    if not lines or len(lost) == len(report.refused):
        problem = f"there is no {', no '.join(lost)}" if lost else f"nothing to read in {', '.join(map(str, paths))}"
        raise InputError(problem, remedy="name PDFs, images or folders, and quote the question")
    for line in lines[:-1]:
        session.progress.note(line)
    raise InputError(lines[-1])


def refusal_lines(refused: Sequence[Refused], paths: Iterable[Path]) -> list[str]:
    """What is said about files that can't be read: each one's reason, but several of a folder in one line."""
    lines: dict[str, None] = {}
    folders = [path for path in paths if os.path.isdir(path)]
    for refusal in refused:
        folder = next((f for f in folders if f in refusal.path.parents), None)
        beside = [other for other in refused if folder in other.path.parents] if folder else []
        if len(beside) > 1:
            lines[f"{len(beside)} files in {folder} can't be read; `docsage index {folder}` says why"] = None
        else:
            lines[_with_path(refusal)] = None
    return list(lines)


def _with_path(refusal: Refused) -> str:
    """The reason, beginning with the path as it was given: two files may have one name."""
    rest = refusal.reason.removeprefix(refusal.path.name)
    return f"{refusal.path}{rest}" if rest.startswith(":") else refusal.reason


class _Held:
    """A progress that keeps back what is said about single files until it is known how many there are."""

    def __init__(self, shown: Progress, paths: Sequence[Path]) -> None:
        self.messages: list[str] = []
        self._shown = shown
        self._given = {name for path in paths for name in (path.name, str(path))}

    def start(self, stage: str, total: int) -> None:
        """Pass it on."""
        self._shown.start(stage, total)

    def advance(self, units: int = 1) -> None:
        """Pass it on."""
        self._shown.advance(units)

    def note(self, message: str) -> None:
        """Keep a note that begins with the name of a file; pass others, such as that one has to wait."""
        name = message.partition(": ")[0]
        if name in self._given or Path(name).suffix.lower() in SUFFIXES:
            self.messages.append(message)
        else:
            self._shown.note(message)
