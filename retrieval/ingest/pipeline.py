"""placeholder: the ingest developer writes this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval.progress import Progress
from retrieval.settings import IngestSettings
from retrieval.store import Store
from retrieval.types import Document, Page, PageRef


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that could not be read: one line that names the file, the reason and the remedy."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a batch came to. `documents` are all readable ones among the paths, in path order, known ones included."""

    documents: tuple[Document, ...]
    refused: tuple[Refusal, ...]
    pages_read: int
    pages_ocred: int
    files_reused: int


class Ingestor:
    """Reads files into the store."""

    def __init__(self, store: Store, settings: IngestSettings, *, passwords: Sequence[str] = ()) -> None: ...

    def read(self, paths: Sequence[Path], *, progress: Progress) -> IngestReport: ...

    def read_figures(self, doc_id: str, *, progress: Progress, deadline: float | None) -> int: ...

    def lay_out(self, ref: PageRef) -> Page: ...
