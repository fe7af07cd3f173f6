"""Replies kept by request, in one SQLite file: a batch that is run again asks nothing twice."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

import orjson
from pydantic import ValidationError

from agent.models.texts import cleaned_line
from agent.models.types import Prompt, Reply, StructureMode

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, role TEXT NOT NULL, reply BLOB NOT NULL)"
_GET = "SELECT reply FROM replies WHERE key = ?"
_PUT = "INSERT OR IGNORE INTO replies (key, role, reply) VALUES (?, ?, ?)"
_CHECK = "SELECT key, role, reply FROM replies LIMIT 0"
_DROP = "DELETE FROM replies WHERE key = ?"
_PATIENCE = 10.0
"""Seconds to wait for a file that another process has locked."""
_IMPATIENCE = "PRAGMA busy_timeout = 100"
"""Milliseconds to wait once that was in vain."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_IN_THE_WAY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY}
"""A file that is locked or only to be read may still have something to say."""
_FAILURES = (sqlite3.Error, OSError)
_MOST = 10**9


def request_key(identity: str, prompt: Prompt, mode: StructureMode) -> str:
    """A hash of all that a reply depends on: the model, its decoding, the prompt with its pictures and schema."""
    pictures = [hashlib.sha256(picture.data).hexdigest() for picture in prompt.pictures]
    parts = [identity, mode, prompt.system, prompt.user, prompt.earlier, pictures, prompt.schema]
    try:
        data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half characters, or a number of more than 64 bits
        data = json.dumps(parts, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


class _OtherTable(sqlite3.DatabaseError):
    """The file has a table of this name with other columns: as good as damaged."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class ReplyCache:
    """Whole replies only: what failed is asked again. Processes may share the file.

    It never fails. A file that can't be read or written costs what is kept in it, and `problem` says so, once and for
    all; "" when there is none. A damaged file is set aside as `NAME.damaged`, and a new one begun.
    """

    def __init__(self, path: Path) -> None:
        self.problem = ""
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._renewed = False
        with self._lock:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = _connected(path)
            except _FAILURES as error:
                self._failed(error, "no replies are kept")

    def get(self, key: str) -> Reply | None:
        """The reply to a request that was made before; None also when it can't be read."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                row = self._connection.execute(_GET, (key,)).fetchone()
            except _FAILURES as error:
                self._failed(error, "kept replies can't be read")
                return None
            reply = None if row is None else _reply_in(row[0])
            if row is not None and reply is None:
                # Of another version, or damaged: it would stay in the way of the reply that will be made now.
                with suppress(*_FAILURES):
                    self._connection.execute(_DROP, (key,))
        return reply

    def put(self, key: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply if possible; the first one stays when two requests were made at the same time."""
        data = orjson.dumps(reply.model_dump(mode="json"))
        with self._lock:
            if self._connection is None:
                return
            try:
                self._connection.execute(_PUT, (key, prompt.role, data))
            except _FAILURES as error:
                self._failed(error, "replies can't be kept")

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
                self._connection = _connected(self._path)
                loss = f"it is now {cleaned_line(str(aside))}, and a new one was begun"
            except _FAILURES:
                loss = "no replies are kept"
        elif code == sqlite3.SQLITE_BUSY and self._connection is not None:
            with suppress(*_FAILURES):
                self._connection.execute(_IMPATIENCE)
        self.problem = self.problem or f"{cleaned_line(str(self._path))} can't be used ({error}): {loss}"

    def _release(self) -> None:
        if self._connection is not None:
            with suppress(*_FAILURES):
                self._connection.close()
        self._connection = None


def _connected(path: Path) -> sqlite3.Connection:
    """The file, ready to be read, and to be written where that is allowed; sqlite3.Error when it can't be used."""
    connection = sqlite3.connect(path, check_same_thread=False, timeout=_PATIENCE, isolation_level=None)
    try:
        hindered = False
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", _TABLE):
            try:
                connection.execute(statement)
            except sqlite3.OperationalError as error:
                if _code_of(error) not in _IN_THE_WAY:
                    raise
                hindered = True
        try:
            connection.execute(_CHECK)
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


def _reply_in(data: object) -> Reply | None:
    """The reply in a row; None for one that another version wrote, or nobody."""
    if not isinstance(data, bytes | str):
        return None
    try:
        reply = Reply.model_validate_json(data)
    except ValidationError:
        return None
    if not all(0 <= count <= _MOST for count in (reply.tokens_in, reply.tokens_out, reply.attempts)):
        return None
    return reply.model_copy(update={"cached": True})
