"""Rows kept by key in one SQLite file that is only a cache: it never fails, and losing it costs only what it keeps."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

_PATIENCE = 10.0
"""Seconds to wait for a file that another process has locked."""
_IMPATIENCE = "PRAGMA busy_timeout = 100"
"""Milliseconds to wait once that was in vain."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_IN_THE_WAY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY}
"""A file that is locked or only to be read may still have something to say."""
_FAILURES = (sqlite3.Error, OSError)


class _OtherTable(sqlite3.DatabaseError):
    """The file has a table of this name with other columns: as good as damaged."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class RowCache:
    """Values by key, each with a label for people who look into the file. Threads and processes may share it.

    `table` is the plural of what is kept, `label` and `value` are its columns besides `key`. It never fails. A file
    that can't be read or written costs what is kept in it, and `problem` says so, once and for all; "" when there is
    none. A damaged file is set aside as `NAME.damaged`, and a new one begun.
    """

    def __init__(self, path: Path, *, table: str, label: str, value: str) -> None:
        self.problem = ""
        self._path = path
        self._table = table
        self._create = (
            f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, {label} TEXT NOT NULL, {value} BLOB NOT NULL)"
        )
        self._get = f"SELECT {value} FROM {table} WHERE key = ?"
        self._put = f"INSERT OR IGNORE INTO {table} (key, {label}, {value}) VALUES (?, ?, ?)"
        self._check = f"SELECT key, {label}, {value} FROM {table} LIMIT 0"
        self._drop = f"DELETE FROM {table} WHERE key = ?"
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._renewed = False
        with self._lock:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = self._connected()
            except _FAILURES as error:
                self._failed(error, f"no {table} are kept")

    def kept(self, key: str) -> object:
        """The value of a key; None also when it can't be read."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                row = self._connection.execute(self._get, (key,)).fetchone()
            except _FAILURES as error:
                self._failed(error, f"kept {self._table} can't be read")
                return None
        return None if row is None else row[0]

    def keep(self, key: str, label: str, value: bytes) -> None:
        """Keep a value if possible; the first one stays when two came at the same time."""
        with self._lock:
            if self._connection is None:
                return
            try:
                self._connection.execute(self._put, (key, label, value))
            except _FAILURES as error:
                self._failed(error, f"{self._table} can't be kept")

    def drop(self, key: str) -> None:
        """Forget a value that is of no use: it would stay in the way of the one that will be made now."""
        with self._lock:
            if self._connection is not None:
                with suppress(*_FAILURES):
                    self._connection.execute(self._drop, (key,))

    def close(self) -> None:
        """Release the file; nothing is found or kept from then on."""
        with self._lock:
            self._release()

    def _failed(self, error: sqlite3.Error | OSError, loss: str) -> None:
        """Take note of a failure; begin anew, once, when the file is damaged."""
        code = _code_of(error)
        if code in _DAMAGED and not self._renewed:
            self._renewed = True
            self._release()
            try:
                aside = _set_aside(self._path)
                self._connection = self._connected()
                loss = f"it is now {_shown(aside)}, and a new one was begun"
            except _FAILURES:
                loss = f"no {self._table} are kept"
        elif code == sqlite3.SQLITE_BUSY and self._connection is not None:
            with suppress(*_FAILURES):
                self._connection.execute(_IMPATIENCE)
        self.problem = self.problem or f"{_shown(self._path)} can't be used ({error}): {loss}"

    def _release(self) -> None:
        if self._connection is not None:
            with suppress(*_FAILURES):
                self._connection.close()
        self._connection = None

    def _connected(self) -> sqlite3.Connection:
        """The file, ready to be read, and to be written where that is allowed; sqlite3.Error when it can't be used."""
        connection = sqlite3.connect(self._path, check_same_thread=False, timeout=_PATIENCE, isolation_level=None)
        try:
            hindered = False
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", self._create):
                try:
                    connection.execute(statement)
                except sqlite3.OperationalError as error:
                    if _code_of(error) not in _IN_THE_WAY:
                        raise
                    hindered = True
            try:
                connection.execute(self._check)
            except sqlite3.OperationalError as error:
                if hindered or _code_of(error) != sqlite3.SQLITE_ERROR:
                    raise
                raise _OtherTable(str(error)) from error
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _code_of(error: Exception) -> int:
    """The kind of an error of SQLite; 0 for others, also those that its Python module raises itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _set_aside(path: Path) -> Path:
    """Rename a damaged file, with what SQLite keeps next to it; where it is now. OSError when that can't be done."""
    aside = path.with_name(f"{path.name}.damaged")
    os.replace(path, aside)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


def _shown(path: Path) -> str:
    """A path on one line, without anything that a terminal would obey."""
    return "".join(char for char in str(path) if char.isprintable())
