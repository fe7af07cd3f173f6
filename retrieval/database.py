"""A SQLite file that several processes use: opened for reading only where it can't be written, faults told plainly."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from retrieval.errors import CollectionBusy, DocsageError, InputError

_PATIENCE = 30.0
_FULL = {sqlite3.SQLITE_FULL}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FORMAT}

_ELSEWHERE = "index the documents again into another --collection"
_WRITABLE = "make it writable, or choose another --collection"


class Database:
    """One SQLite file with a table `meta` of keys and values. Safe to share between threads of one process.

    `schema` is run where the file is new; `version` is what `meta` must say. Raises `InputError` for a file that is
    damaged, of another version, or that can't be opened.
    """

    def __init__(self, path: Path, *, schema: str, version: int) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self.read_only = path.exists() and not _is_writable(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connected_to_read(path) if self.read_only else _connected(path)
        except sqlite3.DatabaseError as error:
            raise self._plain(error) or self._unusable(error) from error
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._check(schema, version)
        except BaseException:
            self.close()
            raise

    def _check(self, schema: str, version: int) -> None:
        """Make the tables of a new file; refuse a file of another version."""
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            with self.writing() as db:
                for statement in schema.strip().split(";\n"):
                    db.execute(statement)
                db.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", (str(version),))
        try:
            found = [row[0] for row in self.rows("SELECT value FROM meta WHERE key = 'version'")]
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is not a collection of docsage ({error})", remedy=_ELSEWHERE) from error
        if found != [str(version)]:
            written = found[0] if found else "none"
            raise InputError(
                f"{self.path} was written in store format {written!s:.40}, this docsage reads {version}",
                remedy=_ELSEWHERE,
            )

    def close(self) -> None:
        """Close the file. It can't be used afterwards."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed at the end of the block, rolled back when it raises. Blocks don't nest."""
        if self.read_only:
            raise InputError(f"the collection {self.path.parent} can't be written", remedy=_WRITABLE)
        with self._lock, self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:  # SQLite has rolled back by itself where the disk is full
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of one query."""
        with self._lock, self._told():
            return self._db.execute(sql, parameters).fetchall()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say plainly what is the file's or the disk's fault; anything else passes."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            told = self._plain(error)
            if told is None:
                raise
            raise told from error

    def _unusable(self, error: Exception) -> InputError:
        return InputError(f"the collection {self.path.parent} can't be opened ({error})", remedy=_WRITABLE)

    def _plain(self, error: sqlite3.DatabaseError) -> DocsageError | None:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        folder = self.path.parent
        if code in _DAMAGED or "decode" in str(error):
            return damaged(self.path, str(error))
        if code in _BUSY:
            return CollectionBusy(f"another process is writing to {folder}", remedy="try again when it has finished")
        if code in _FULL:
            return InputError(f"the disk of {folder} is full", remedy="make room; the same command goes on")
        if code in _UNWRITABLE:
            return self._unusable(error)
        return None


def damaged(path: Path, why: str) -> InputError:
    """What to say about a file whose content is not what was written."""
    return InputError(
        f"the collection {path.parent} can't be opened: {path.name} is damaged ({why})", remedy=_ELSEWHERE
    )


def _is_writable(path: Path) -> bool:
    """Whether a file that exists can be written; SQLite also keeps a log beside it while it works."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(p, os.W_OK, effective_ids=effective) for p in (path, path.parent))


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def _connected_to_read(path: Path) -> sqlite3.Connection:
    """A connection for reading; one that trusts the file to stay as it is where no log can be kept beside it."""
    place = f"file:{quote(str(path.resolve()))}?mode=ro"
    db = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError:
        db.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise InputError(
                f"the collection {path.parent} can't be written and was not closed when it last was",
                remedy="open it once where it can be written",
            ) from None
        place += "&immutable=1"
        db = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    return db
