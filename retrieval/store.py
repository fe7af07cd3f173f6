"""The one truth of a collection: documents, pages, postings and vectors in one SQLite file.

Everything is keyed by content hash, so a file that is known under another name is never read twice. One writer at a
time, many readers (WAL). Each `with store.writing():` block is one transaction: killed in the middle, it never was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import orjson

from retrieval.database import Database, damaged
from retrieval.types import (
    BBox,
    Block,
    Document,
    DocumentKind,
    LayoutSource,
    Line,
    Page,
    PageRef,
    WritingMode,
)

STORE_VERSION = 1
Work = Literal["none", "due", "done", "failed"]
"""State of a page's OCR or of its figures' OCR: not needed, still to do, done, tried and given up."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
  doc_no INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, pages INTEGER NOT NULL,
  title TEXT NOT NULL DEFAULT '', postings_of INTEGER NOT NULL DEFAULT -1);
CREATE TABLE IF NOT EXISTS files (
  path TEXT PRIMARY KEY, doc_id TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_doc ON files (doc_id);
CREATE TABLE IF NOT EXISTS pages (
  doc_id TEXT NOT NULL, page INTEGER NOT NULL, label TEXT NOT NULL, width REAL NOT NULL, height REAL NOT NULL,
  writing TEXT NOT NULL, layout TEXT NOT NULL, note TEXT NOT NULL, ocr TEXT NOT NULL, figures TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0, content BLOB NOT NULL, PRIMARY KEY (doc_id, page)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pages_state ON pages (doc_id, page, revision, ocr, figures);
CREATE TABLE IF NOT EXISTS passages (
  doc_no INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS postings (
  term TEXT NOT NULL, doc_no INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (term, doc_no)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS postings_by_doc ON postings (doc_no);
CREATE TABLE IF NOT EXISTS vectors (
  doc_id TEXT NOT NULL, page INTEGER NOT NULL, model TEXT NOT NULL, revision INTEGER NOT NULL,
  spans BLOB NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (doc_id, page, model)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_state ON vectors (model, doc_id, page, revision);
"""


IN_SCOPE = "(SELECT value FROM json_each(?))"
"""Part of a query that takes any number of document ids as one JSON parameter."""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page with the state of the work that it still needs."""

    page: Page
    ocr: Work = "none"
    figures: Work = "none"


class PageRow(NamedTuple):
    """A page as it is written: what a reader that has to be fast hands in instead of a `StoredPage`."""

    doc_id: str
    page: int
    label: str
    width: float
    height: float
    writing: WritingMode
    layout: LayoutSource
    note: str
    ocr: Work
    figures: Work
    content: bytes


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What was seen of a file when it was last read."""

    doc_id: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class ReadingState:
    """Pages that a scope has, pages that were read, and pages whose figures wait for OCR."""

    pages: int
    read: int
    figures_due: int


class Store(Database):
    """Reads and writes one collection's SQLite file. Safe to share between threads of one process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, schema=_SCHEMA, version=STORE_VERSION)
        # Kept by their whole content, so that what is kept can't be out of date.
        self._parsed = lru_cache(maxsize=_KEPT_PAGES)(lambda row: _page(row, self._decoded(row[-1])))

    def note_writer(self, pid: int) -> None:
        """Leave word of the process that holds the collection's lock; it is not taken back."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('writer', ?)", (str(pid),))

    def writer(self) -> int | None:
        """The process that held the collection's lock last."""
        found = self.rows("SELECT value FROM meta WHERE key = 'writer'")
        return int(found[0][0]) if found and found[0][0].isdecimal() else None

    # documents and files

    def add_document(self, document: Document) -> None:
        """Record a document before its pages are read; a known one is left as it is."""
        with self.writing() as db:
            added = db.execute(
                "INSERT OR IGNORE INTO documents (doc_id, kind, pages, title) VALUES (?, ?, ?, ?)",
                (document.doc_id, document.kind, document.pages, document.title),
            )
            if added.rowcount:
                db.execute("DELETE FROM meta WHERE key = ?", (_complete(document.doc_id),))

    def mark_complete(self, doc_id: str) -> None:
        """Say that every page of a document was read, OCR included, and that its labels are settled."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (_complete(doc_id),))

    def is_complete(self, doc_id: str) -> bool:
        """Whether a document was marked as complete and all of its pages are there."""
        found = self.rows(
            "SELECT d.pages, (SELECT count(*) FROM pages p WHERE p.doc_id = d.doc_id AND p.ocr <> 'due')"
            " FROM documents d JOIN meta m ON m.key = ? WHERE d.doc_id = ?",
            (_complete(doc_id), doc_id),
        )
        return bool(found) and found[0][0] == found[0][1]

    def document(self, doc_id: str) -> Document | None:
        """The document of this content hash, or None."""
        found = self.rows("SELECT doc_id, kind, pages, title FROM documents WHERE doc_id = ?", (doc_id,))
        return self._document(found[0]) if found else None

    def documents(self) -> list[Document]:
        """Every document, in the order in which they were added."""
        return [
            self._document(row) for row in self.rows("SELECT doc_id, kind, pages, title FROM documents ORDER BY doc_no")
        ]

    def _document(self, row: tuple[str, str, int, str]) -> Document:
        doc_id, kind, pages, title = row
        paths = [r[0] for r in self.rows("SELECT path FROM files WHERE doc_id = ? ORDER BY path", (doc_id,))]
        names = tuple(dict.fromkeys(Path(p).name for p in paths))
        return Document(doc_id=doc_id, kind=cast(DocumentKind, kind), pages=pages, title=title, names=names)

    def note_reader(self, doc_id: str, reader: str) -> None:
        """Say who does the OCR of a document's pages and figures."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_reader(doc_id), reader))

    def is_read_by_other(self, doc_id: str, reader: str) -> bool:
        """Whether OCR of a document was done by another reader. Before readers were noted there was RapidOCR only."""
        noted = self.rows("SELECT value FROM meta WHERE key = ?", (_reader(doc_id),))
        if (noted[0][0] if noted else "rapidocr") == reader:
            return False
        tried = "ocr IN ('done', 'failed') OR figures IN ('done', 'failed')"
        return bool(self.rows(f"SELECT 1 FROM pages WHERE doc_id = ? AND ({tried}) LIMIT 1", (doc_id,)))

    def remove_document(self, doc_id: str) -> None:
        """Forget a document with its pages, postings, vectors and file names, in one transaction."""
        with self.writing() as db:
            _forget_pages(db, doc_id)
            for table in ("files", "documents"):
                db.execute(f"DELETE FROM {table} WHERE doc_id = ?", (doc_id,))

    def forget_pages(self, doc_id: str) -> None:
        """Forget what was read of a document and derived from it, in one transaction; its file names stay."""
        with self.writing() as db:
            _forget_pages(db, doc_id)

    def record_file(self, path: Path, known: KnownFile) -> None:
        """Remember that `path` held this content. A name that held other content before is moved to this one."""
        with self.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
                (str(path.resolve()), known.doc_id, known.size, known.mtime_ns),
            )

    def forget_file(self, path: Path) -> None:
        """Forget what `path` held; the document stays."""
        with self.writing() as db:
            db.execute("DELETE FROM files WHERE path = ?", (str(path.resolve()),))

    def known_file(self, path: Path) -> KnownFile | None:
        """What `path` held when it was last read, or None."""
        found = self.rows("SELECT doc_id, size, mtime_ns FROM files WHERE path = ?", (str(path.resolve()),))
        return KnownFile(*found[0]) if found else None

    def paths_of(self, doc_id: str) -> list[Path]:
        """The paths a document was read from; they may have gone since."""
        return [Path(r[0]) for r in self.rows("SELECT path FROM files WHERE doc_id = ? ORDER BY path", (doc_id,))]

    # pages

    def put_pages(self, pages: Iterable[StoredPage]) -> None:
        """Write pages in one transaction; a page that is there already is replaced and its revision goes up."""
        self.put_rows([_page_row(stored) for stored in pages])

    def put_rows(self, rows: Iterable[PageRow]) -> None:
        """Write encoded pages in one transaction, as `put_pages` does."""
        with self.writing() as db:
            db.executemany(_PUT_PAGE, rows)

    def put_blocks(self, page: Page, revision: int) -> bool:
        """Write a page's blocks and layout alone; its revision stays, for its lines do.

        False, and nothing written, when the page was read anew since it had `revision`.
        """
        with self.writing() as db:
            done = db.execute(
                "UPDATE pages SET layout = ?, content = ? WHERE doc_id = ? AND page = ? AND revision = ?",
                (page.layout, _content(page), page.ref.doc_id, page.ref.page, revision),
            )
            return done.rowcount > 0

    def revision(self, ref: PageRef) -> int | None:
        """How often a page was read again; None when it was not read (yet)."""
        found = self.rows("SELECT revision FROM pages WHERE doc_id = ? AND page = ?", (ref.doc_id, ref.page))
        return int(found[0][0]) if found else None

    def page(self, ref: PageRef) -> Page | None:
        """One page, or None when it was not read (yet)."""
        found = self.rows(f"SELECT {_COLUMNS} FROM pages WHERE doc_id = ? AND page = ?", (ref.doc_id, ref.page))
        return self._parsed(found[0]) if found else None

    def pages(self, doc_id: str) -> Iterator[Page]:
        """The pages of a document that have been read, in page order."""
        for row in self.rows(f"SELECT {_COLUMNS} FROM pages WHERE doc_id = ? ORDER BY page", (doc_id,)):
            yield _page(row, self._decoded(row[-1]))

    def line_extents(self, doc_id: str) -> Iterator[tuple[int, list[tuple[str, float, float]]]]:
        """(page number, its lines as text, top and bottom), in page order; cheaper than whole pages."""
        for page, lines in self._stored_lines(doc_id):
            yield page, [(line[0], line[2], line[4]) for line in lines]

    def texts(self, doc_id: str) -> Iterator[tuple[int, list[str]]]:
        """(page number, its lines' texts in reading order) for the pages that have been read, in page order."""
        for page, lines in self._stored_lines(doc_id):
            yield page, [line[0] for line in lines]

    def _stored_lines(self, doc_id: str) -> Iterator[tuple[int, list[list[Any]]]]:
        for page, content in self.rows("SELECT page, content FROM pages WHERE doc_id = ? ORDER BY page", (doc_id,)):
            yield page, self._decoded(content)["lines"]

    def _decoded(self, content: bytes) -> dict[str, Any]:
        try:
            return cast(dict[str, Any], orjson.loads(content))
        except orjson.JSONDecodeError as error:
            raise damaged(self.path, f"a page: {error}") from error

    def reading_state(self, doc_ids: Sequence[str]) -> ReadingState:
        """How far the documents of a scope are read."""
        scope = orjson.dumps(list(doc_ids))
        pages = self.rows(f"SELECT coalesce(sum(pages), 0) FROM documents WHERE doc_id IN {IN_SCOPE}", (scope,))[0][0]
        row = self.rows(
            f"SELECT count(*), coalesce(sum(figures = 'due'), 0) FROM pages WHERE doc_id IN {IN_SCOPE}", (scope,)
        )[0]
        return ReadingState(pages, *row)

    def pages_read(self, doc_id: str) -> list[int]:
        """Numbers of the pages that have been read."""
        return [r[0] for r in self.rows("SELECT page FROM pages WHERE doc_id = ? ORDER BY page", (doc_id,))]

    def pages_due(self, doc_id: str, work: Literal["ocr", "figures"]) -> list[int]:
        """Numbers of the pages that wait for OCR, of the page or of its figures."""
        return [
            r[0]
            for r in self.rows(f"SELECT page FROM pages WHERE doc_id = ? AND {work} = 'due' ORDER BY page", (doc_id,))
        ]

    def content_state(self, doc_id: str) -> int:
        """A number that changes whenever a page of the document is read, or read again."""
        return int(self.rows("SELECT coalesce(sum(revision + 1), 0) FROM pages WHERE doc_id = ?", (doc_id,))[0][0])

    def page_work(self, ref: PageRef) -> tuple[Work, Work]:
        """State of (page OCR, figure OCR) for a page that has been read."""
        row = self.rows("SELECT ocr, figures FROM pages WHERE doc_id = ? AND page = ?", (ref.doc_id, ref.page))[0]
        return cast(Work, row[0]), cast(Work, row[1])


_PUT_PAGE = (
    "INSERT INTO pages (doc_id, page, label, width, height, writing, layout, note, ocr, figures, content)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (doc_id, page) DO UPDATE SET"
    " label = excluded.label, width = excluded.width, height = excluded.height, writing = excluded.writing,"
    " layout = excluded.layout, note = excluded.note, ocr = excluded.ocr, figures = excluded.figures,"
    " content = excluded.content, revision = revision + 1"
)
_KEPT_PAGES = 256
"""Pages that stay parsed: questions at the same time read the same ones."""
_COLUMNS = "doc_id, page, label, width, height, writing, layout, note, content"


def _complete(doc_id: str) -> str:
    """The key of the mark that a document is complete."""
    return f"complete:{doc_id}"


def _forget_pages(db: sqlite3.Connection, doc_id: str) -> None:
    db.execute("DELETE FROM meta WHERE key IN (?, ?)", (_complete(doc_id), _reader(doc_id)))
    for table in ("postings", "passages"):
        db.execute(f"DELETE FROM {table} WHERE doc_no IN (SELECT doc_no FROM documents WHERE doc_id = ?)", (doc_id,))
    db.execute("UPDATE documents SET postings_of = -1 WHERE doc_id = ?", (doc_id,))
    for table in ("pages", "vectors"):
        db.execute(f"DELETE FROM {table} WHERE doc_id = ?", (doc_id,))


def _reader(doc_id: str) -> str:
    """The key of the note who did the OCR of a document."""
    return f"reader:{doc_id}"


def encode_content(lines: Iterable[tuple[Any, ...]], blocks: Iterable[tuple[Any, ...]]) -> bytes:
    """A page's content on disk: lines as (text, x1, y1, x2, y2, source, confidence), blocks as (kind, box, lines)."""
    return orjson.dumps({"lines": list(lines), "blocks": list(blocks)})


def _content(page: Page) -> bytes:
    return encode_content(
        ((ln.text, *ln.bbox.as_list(), ln.source, ln.confidence) for ln in page.lines),
        ((b.kind, *b.bbox.as_list(), b.lines) for b in page.blocks),
    )


def _page_row(stored: StoredPage) -> PageRow:
    page = stored.page
    return PageRow(
        page.ref.doc_id,
        page.ref.page,
        page.label,
        page.width,
        page.height,
        page.writing,
        page.layout,
        page.note,
        stored.ocr,
        stored.figures,
        _content(page),
    )


def _box(values: Sequence[float]) -> BBox:
    return BBox.model_construct(x1=values[0], y1=values[1], x2=values[2], y2=values[3])


def _page(row: tuple[Any, ...], data: dict[str, Any]) -> Page:
    doc_id, page, label, width, height, writing, layout, note, _ = row
    return Page(
        ref=PageRef(doc_id=doc_id, page=page),
        label=label,
        width=width,
        height=height,
        writing=writing,
        layout=layout,
        note=note,
        lines=tuple(
            Line.model_construct(text=t[0], bbox=_box(t[1:5]), source=t[5], confidence=t[6]) for t in data["lines"]
        ),
        blocks=tuple(Block.model_construct(kind=b[0], bbox=_box(b[1:5]), lines=tuple(b[5])) for b in data["blocks"]),
    )
