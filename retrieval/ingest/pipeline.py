"""From files to the store: what is known is skipped, what is missing is read, what is bad costs one line."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from retrieval.errors import CollectionBusy, InputError, UnreadableDocument
from retrieval.ingest import image as frames
from retrieval.ingest import pdf
from retrieval.ingest.files import content_id, find_files, sniff
from retrieval.ingest.jobs import PageReader
from retrieval.ingest.layout import lay_out, model_boxes
from retrieval.ingest.numbering import number_pages
from retrieval.ingest.reading import Source
from retrieval.progress import Progress
from retrieval.settings import IngestSettings
from retrieval.store import KnownFile, Store
from retrieval.types import Document, DocumentKind, Page, PageRef

_LOCK_SECONDS = 5.0


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


@dataclass(slots=True)
class _Batch:
    """The state of one call of `read`. `sources` has a readable file for each document that isn't complete."""

    doc_ids: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    reused: int = 0

    def refuse(self, path: Path, reason: str, progress: Progress) -> None:
        self.refused.append(Refusal(path, reason))
        progress.note(reason)


class Ingestor:
    """Reads files into the store. One process writes at a time; `CollectionBusy` when another one does."""

    def __init__(self, store: Store, settings: IngestSettings, *, passwords: Sequence[str] = ()) -> None:
        self._store = store
        self._settings = settings
        self._passwords = tuple(passwords)
        self._mutex = threading.RLock()
        self._lock = FileLock(store.path.with_suffix(".lock"), thread_local=False)

    def read(self, paths: Sequence[Path], *, progress: Progress) -> IngestReport:
        """Read the files and folders in `paths` that aren't read yet; pages land in the store as they finish."""
        with self._alone():
            batch = self._identify(paths, progress)
            reader = PageReader(self._store, self._settings)
            pages_read = reader.read_text(batch.sources, progress)
            for doc_id, reason in reader.unreadable_documents(batch.sources):
                batch.refuse(batch.sources[doc_id].path, reason, progress)
                self._store.remove_document(doc_id)
                batch.doc_ids.remove(doc_id)
                del batch.sources[doc_id]
            pages_ocred = reader.read_scans(batch.sources, progress)
            for doc_id, source in batch.sources.items():
                number_pages(self._store, doc_id, source)
        documents = (self._store.document(doc_id) for doc_id in batch.doc_ids)
        return IngestReport(
            tuple(d for d in documents if d is not None), tuple(batch.refused), pages_read, pages_ocred, batch.reused
        )

    def remove(self, doc_id: str) -> None:
        """Forget a document with everything that was derived from it; its files are not touched."""
        with self._alone():
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

        The pages in `first` come first. A document whose file has gone is left out, and nothing is done while another
        process writes: it is an enrichment.
        """
        sources = {doc_id: source for doc_id in doc_ids if (source := self._figure_source(doc_id)) is not None}
        if not sources:
            return Counter()
        try:
            with self._alone(0.0):
                return PageReader(self._store, self._settings).read_figures(sources, first, progress, deadline)
        except CollectionBusy as error:
            progress.note(str(error))
            return Counter()

    def _figure_source(self, doc_id: str) -> Source | None:
        """Where the figures of a document can be read, None when there is nothing to read or nowhere."""
        document = self._store.document(doc_id)
        if document is None or document.kind == "image" or not self._store.pages_due(doc_id, "figures"):
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
        if page.layout == "model" or document is None or document.kind == "image":
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
        self._store.put_blocks(laid_out, revision)
        return laid_out

    def _present(self, doc_id: str) -> Path | None:
        """A path that still holds the document."""
        for path in self._store.paths_of(doc_id):
            known = self._store.known_file(path)
            try:
                stat = path.stat()
            except OSError:
                continue
            if known and (known.size, known.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
                return path
            if content_id(path) == doc_id:
                return path
        return None

    @contextmanager
    def _alone(self, patience: float = _LOCK_SECONDS) -> Iterator[None]:
        with self._mutex:
            try:
                self._lock.acquire(timeout=patience)
            except Timeout as error:
                raise CollectionBusy(
                    f"another process is writing to {self._store.path.parent}", remedy="wait until it has finished"
                ) from error
            try:
                yield
            finally:
                self._lock.release()

    def _identify(self, paths: Sequence[Path], progress: Progress) -> _Batch:
        batch = _Batch()
        for path in find_files(paths):
            try:
                doc_id, reused = self._document_of(path, batch)
            except UnreadableDocument as error:
                batch.refuse(path, str(error), progress)
                continue
            batch.reused += reused
            if doc_id not in batch.doc_ids:
                batch.doc_ids.append(doc_id)
        return batch

    def _document_of(self, path: Path, batch: _Batch) -> tuple[str, bool]:
        """The document that `path` holds, and whether nothing of it had to be read."""
        try:
            stat = path.stat()
        except OSError as error:
            raise UnreadableDocument(f"{path}: no such file or folder", remedy="check the path") from error
        known = self._store.known_file(path)
        unchanged = known is not None and (known.size, known.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
        if unchanged and known is not None and self._store.is_complete(known.doc_id):
            return known.doc_id, True
        form = sniff(path)
        doc_id = content_id(path)
        reused = self._store.is_complete(doc_id)
        if not reused:
            kind: DocumentKind = "pdf" if form == "pdf" else "image"
            if doc_id not in batch.sources:
                damaged = self._open(path, doc_id, kind)
                batch.sources[doc_id] = Source(path, kind, self._passwords, self._settings.ocr, damaged=damaged)
        self._store.record_file(path, KnownFile(doc_id, stat.st_size, stat.st_mtime_ns))
        if known is not None and known.doc_id != doc_id and not self._store.paths_of(known.doc_id):
            self._store.remove_document(known.doc_id)
        return doc_id, reused

    def _open(self, path: Path, doc_id: str, kind: DocumentKind) -> bool:
        """Record a document that can be opened, and say whether it had to be repaired for that.

        Raises `UnreadableDocument` for one that can't be opened.
        """
        if kind == "image":
            self._store.add_document(Document(doc_id=doc_id, kind=kind, pages=frames.frame_count(path)))
            return False
        with pdf.LOCK, pdf.open_pdf(path, self._passwords) as opened:
            title = pdf.title(opened)
            self._store.add_document(Document(doc_id=doc_id, kind=kind, pages=opened.page_count, title=title))
            return bool(opened.is_repaired)
