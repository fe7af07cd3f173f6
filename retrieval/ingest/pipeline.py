"""From files to the store: what is known is skipped, what is missing is read, what is bad costs one line."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from retrieval.errors import CollectionBusy, InputError, UnreadableDocument
from retrieval.ingest import pdf
from retrieval.ingest.damage import damage_of
from retrieval.ingest.files import Refusal, content_id, look_up
from retrieval.ingest.inspection import Inspection, Inspector, Seen
from retrieval.ingest.jobs import PageReader
from retrieval.ingest.layout import MOST_LINES, lay_out, model_boxes
from retrieval.ingest.numbering import number_pages
from retrieval.ingest.ocr import check_engine
from retrieval.ingest.reading import Source
from retrieval.progress import Progress, Silent
from retrieval.settings import IngestSettings
from retrieval.store import KnownFile, Store
from retrieval.types import Document, Page, PageRef

_LOCK_SECONDS = 600.0
"""How long a process waits for another one to finish writing."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a batch came to. `documents` are all readable ones among the paths, in path order, known ones included.

    `incomplete` are documents of this batch some of whose pages can't be read; they are among `documents` too.
    """

    documents: tuple[Document, ...]
    refused: tuple[Refusal, ...]
    pages_read: int
    pages_ocred: int
    files_reused: int
    incomplete: tuple[Refusal, ...] = ()


@dataclass(slots=True)
class _Batch:
    """The state of one call of `read`. `sources` has a readable file for each document that isn't complete."""

    doc_ids: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    incomplete: list[Refusal] = field(default_factory=list)
    reused: int = 0
    pages_read: int = 0
    pages_ocred: int = 0


class Ingestor:
    """Reads files into the store. One process reads at a time, others wait for it; what is known needs no turn."""

    def __init__(self, store: Store, settings: IngestSettings, *, passwords: Sequence[str] = ()) -> None:
        self._store = store
        self._settings = settings
        self._passwords = tuple(passwords)
        self._mutex = threading.RLock()
        self._lock = FileLock(store.path.with_suffix(".lock"), thread_local=False)

    def read(self, paths: Sequence[Path], *, progress: Progress) -> IngestReport:
        """Read the files and folders in `paths` that aren't read yet; pages land in the store as they finish.

        A document that lacks pages is noted. Files that are refused are in the report only: what is said about them
        is up to the caller, who knows whether anything is left.
        """
        inspection = Inspector(self._store, self._passwords, self._settings.ocr.reader).inspect(paths)
        if inspection.is_settled:
            batch = self._record(inspection)
        else:
            with self._alone(progress):
                batch = self._record(inspection)
                self._read(batch, progress)
        documents = (self._store.document(doc_id) for doc_id in batch.doc_ids)
        return IngestReport(
            tuple(d for d in documents if d is not None),
            tuple(batch.refused),
            batch.pages_read,
            batch.pages_ocred,
            batch.reused,
            tuple(batch.incomplete),
        )

    def _record(self, inspection: Inspection) -> _Batch:
        """Bring documents and names in the store up to what was seen, and find what is left to read."""
        batch = _Batch(refused=list(inspection.refused))
        if self._store.read_only and inspection.is_settled:
            batch.doc_ids = list(dict.fromkeys(seen.file.doc_id for seen in inspection.seen))
            batch.reused = len(inspection.seen)
            return batch
        for path in inspection.replaced:
            before = self._store.known_file(path)
            self._store.forget_file(path)
            self._drop_nameless(before)
        for seen in inspection.seen:
            doc_id = seen.file.doc_id
            other = self._store.is_read_by_other(doc_id, self._settings.ocr.reader)
            # Another process may have read it while this one waited for its turn.
            if seen.document is None or (self._store.is_complete(doc_id) and not other):
                batch.reused += 1
            elif doc_id not in batch.sources:
                if other:
                    check_engine(self._settings.ocr)  # before anything is lost
                    self._store.forget_pages(doc_id)
                self._store.add_document(seen.document)
                self._store.note_reader(doc_id, self._settings.ocr.reader)
                kind = seen.document.kind
                batch.sources[doc_id] = Source(
                    seen.path, kind, self._passwords, self._settings.ocr, damaged=seen.damaged
                )
            self._record_name(seen)
            if doc_id not in batch.doc_ids:
                batch.doc_ids.append(doc_id)
        return batch

    def _record_name(self, seen: Seen) -> None:
        """Know the document by the names that it has now: this one, and those of its others that are still there."""
        if seen.before != seen.file:
            self._store.record_file(seen.path, seen.file)
            if seen.before is not None and seen.before.doc_id != seen.file.doc_id:
                self._drop_nameless(seen.before)
        names = self._store.paths_of(seen.file.doc_id)
        for path in names if len(names) > 1 else ():
            if _is_gone(path):
                self._store.forget_file(path)

    def _drop_nameless(self, file: KnownFile | None) -> None:
        if file is not None and not self._store.paths_of(file.doc_id):
            self._store.remove_document(file.doc_id)

    def _read(self, batch: _Batch, progress: Progress) -> None:
        """Read the text of a batch, then its scans; what turns out to hold nothing is refused."""
        reader = PageReader(self._store, self._settings)
        batch.pages_read = reader.read_text(batch.sources, progress)
        self._drop_unreadable(batch)
        batch.pages_ocred = reader.read_scans(batch.sources, progress)
        self._drop_unreadable(batch)
        for doc_id, source in batch.sources.items():
            number_pages(self._store, doc_id, source)
            damage = damage_of(self._store, doc_id)
            if damage is not None:
                line = damage.line(source.path)
                batch.incomplete.append(Refusal(source.path, line))
                progress.note(line)

    def _drop_unreadable(self, batch: _Batch) -> None:
        for doc_id, source in list(batch.sources.items()):
            damage = damage_of(self._store, doc_id)
            if damage is not None and damage.is_total:
                batch.refused.append(Refusal(source.path, damage.line(source.path)))
                self._store.remove_document(doc_id)
                batch.doc_ids.remove(doc_id)
                del batch.sources[doc_id]

    def remove(self, doc_id: str, *, progress: Progress | None = None) -> None:
        """Forget a document with everything that was derived from it; its files are not touched."""
        with self._alone(progress or Silent()):
            self._store.remove_document(doc_id)

    def read_figures(
        self,
        doc_ids: Sequence[str],
        *,
        progress: Progress,
        deadline: float | None = None,
        first: Sequence[PageRef] = (),
    ) -> Counter[str]:
        """OCR of raster figures, until `deadline` (of `time.monotonic`); the number of pages done by document.

        The pages in `first` come first. A document whose file has gone or whose other figures another engine read is
        left out, and nothing is done while another process writes: it is an enrichment.
        """
        sources = {doc_id: source for doc_id in doc_ids if (source := self._figure_source(doc_id)) is not None}
        if not sources:
            return Counter()
        try:
            with self._alone(None):
                for doc_id in sources:
                    self._store.note_reader(doc_id, self._settings.ocr.reader)
                return PageReader(self._store, self._settings).read_figures(sources, first, progress, deadline)
        except CollectionBusy as error:
            progress.note(f"figures are left for later: {error.problem}")
            return Counter()

    def _figure_source(self, doc_id: str) -> Source | None:
        """Where the figures of a document can be read, None when there is nothing to read or nowhere."""
        document = self._store.document(doc_id)
        if document is None or document.kind == "image" or not self._store.pages_due(doc_id, "figures"):
            return None
        if self._store.is_read_by_other(doc_id, self._settings.ocr.reader):
            return None
        path = self._present(doc_id)
        return Source(path, document.kind, self._passwords, self._settings.ocr) if path is not None else None

    def lay_out(self, ref: PageRef) -> Page:
        """The page with blocks from the layout model, which is run once a page; its lines stay as they are.

        The fast blocks stay when the file has gone, is locked, or shows the model nothing. Safe to call from threads.
        """
        revision = self._store.revision(ref)
        page = self._store.page(ref)
        if page is None or revision is None:
            raise InputError(f"page {ref.page} of {ref.doc_id} was not read", remedy="index the document first")
        document = self._store.document(ref.doc_id)
        crowded = len(page.lines) > MOST_LINES
        if page.layout == "model" or crowded or document is None or document.kind == "image":
            return page
        path = self._present(ref.doc_id)
        if path is None:
            return page
        try:
            with pdf.LOCK, pdf.open_pdf(path, self._passwords) as opened:
                boxes = model_boxes(opened, ref.page)
        except pdf.READ_ERRORS:
            return page
        laid_out = lay_out(page, boxes)
        if not self._store.read_only:
            self._store.put_blocks(laid_out, revision)
        return laid_out

    def _present(self, doc_id: str) -> Path | None:
        """A path that still holds the document."""
        for path in self._store.paths_of(doc_id):
            known = self._store.known_file(path)
            try:
                stat = look_up(path)
                if known and (known.size, known.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
                    return path
                if content_id(path) == doc_id:
                    return path
            except (UnreadableDocument, OSError):
                continue
        return None

    @contextmanager
    def _alone(self, waiting: Progress | None) -> Iterator[None]:
        """Hold the collection while documents change.

        Another process that holds it is waited for, and `waiting` told so; without one it is `CollectionBusy` at once.
        """
        with self._mutex:
            try:
                self._acquire(0.0)
            except CollectionBusy:
                if waiting is None:
                    raise
                waiting.note(f"waiting for {self._holder()}, which is writing to {self._store.path.parent}")
                self._acquire(_LOCK_SECONDS)
            try:
                self._store.note_writer(os.getpid())
                yield
            finally:
                self._lock.release()

    def _acquire(self, seconds: float) -> None:
        folder = self._store.path.parent
        try:
            self._lock.acquire(timeout=seconds)
        except Timeout as error:
            raise CollectionBusy(
                f"{self._holder()} is writing to {folder}", remedy="wait until it has finished"
            ) from error
        except OSError as error:
            raise InputError(
                f"the collection {folder} can't be written ({error.strerror})", remedy="choose another --collection"
            ) from error

    def _holder(self) -> str:
        pid = self._store.writer()
        return "another docsage" if pid is None else f"another docsage (process {pid})"


def _is_gone(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
