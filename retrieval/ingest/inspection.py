"""A look at files before anything is read or written: which are known, which are new, which can't be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retrieval.errors import UnreadableDocument
from retrieval.ingest import image as frames
from retrieval.ingest import pdf
from retrieval.ingest.files import Refusal, content_id, find_files, look_up, shown, sniff
from retrieval.store import KnownFile, Store
from retrieval.types import Document, DocumentKind


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that can be read. `document` is None when all of it is in the store already.

    `before` is what the store holds under this name. `damaged` files had to be repaired to be opened.
    """

    path: Path
    file: KnownFile
    before: KnownFile | None
    document: Document | None = None
    damaged: bool = False


@dataclass(slots=True)
class Inspection:
    """All files of a batch. `replaced` are names whose content has become something that can't be read."""

    seen: list[Seen] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        """Whether nothing has to be read and no document forgotten."""
        same = all(s.document is None and (s.before is None or s.before.doc_id == s.file.doc_id) for s in self.seen)
        return same and not self.replaced


class Inspector:
    """Looks at files; never writes."""

    def __init__(self, store: Store, passwords: Sequence[str], reader: str) -> None:
        self._store = store
        self._reader = reader
        self._passwords = tuple(passwords)

    def inspect(self, paths: Sequence[Path]) -> Inspection:
        """What the files and folders in `paths` are. One that can't be used is refused, and the rest goes on."""
        found = find_files(paths)
        inspection = Inspection(refused=found.refused)
        for path in found.files:
            try:
                inspection.seen.append(self._look(path))
            except UnreadableDocument as error:
                inspection.refused.append(Refusal(path, str(error)))
                if self._is_replaced(path):
                    inspection.replaced.append(path)
        return inspection

    def _look(self, path: Path) -> Seen:
        stat = look_up(path)
        known = self._store.known_file(path)
        unchanged = known is not None and (known.size, known.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
        if unchanged and known is not None and self._is_read(known.doc_id):
            return Seen(path, known, known)
        form = sniff(path)
        try:
            file = KnownFile(content_id(path), stat.st_size, stat.st_mtime_ns)
        except OSError as error:
            raise UnreadableDocument(
                f"{shown(path)}: can't be read ({error.strerror})", remedy="check the disk, or get another copy"
            ) from error
        if self._is_read(file.doc_id):
            return Seen(path, file, known)
        document, damaged = self._opened(path, file.doc_id, "pdf" if form == "pdf" else "image")
        return Seen(path, file, known, document, damaged)

    def _is_read(self, doc_id: str) -> bool:
        """Whether all of a document is in the store, as this batch's OCR engine reads it."""
        return self._store.is_complete(doc_id) and not self._store.is_read_by_other(doc_id, self._reader)

    def _opened(self, path: Path, doc_id: str, kind: DocumentKind) -> tuple[Document, bool]:
        """The document in a file, and whether the file had to be repaired. Raises `UnreadableDocument`."""
        if kind == "image":
            return Document(doc_id=doc_id, kind=kind, pages=frames.frame_count(path)), False
        with pdf.LOCK, pdf.open_pdf(path, self._passwords) as opened:
            title = pdf.title(opened)
            return Document(doc_id=doc_id, kind=kind, pages=opened.page_count, title=title), bool(opened.is_repaired)

    def _is_replaced(self, path: Path) -> bool:
        """Whether a file that was refused held a document before: its content is another one now."""
        try:
            look_up(path)
            known = self._store.known_file(path)
            return known is not None and content_id(path) != known.doc_id
        except (UnreadableDocument, OSError):
            return False  # it may come back as it was
