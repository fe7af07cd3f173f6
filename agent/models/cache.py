"""Replies kept by request, in one SQLite file: a batch that is run again asks nothing twice."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from pathlib import Path

import orjson

from agent.models.types import Prompt, Reply, StructureMode

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, role TEXT NOT NULL, reply BLOB NOT NULL)"


def request_key(identity: str, prompt: Prompt, mode: StructureMode) -> str:
    """A hash of all that a reply depends on: the model, its decoding, the prompt with its pictures and schema."""
    pictures = [hashlib.sha256(picture.data).hexdigest() for picture in prompt.pictures]
    parts = [identity, mode, prompt.system, prompt.user, prompt.earlier, pictures, prompt.schema]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


class ReplyCache:
    """Whole replies only: what failed is asked again. Processes may share the file.

    A damaged file is an sqlite3.Error.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(_TABLE)

    def get(self, key: str) -> Reply | None:
        """The reply to a request that was made before."""
        with self._lock:
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else Reply.model_validate_json(row[0]).model_copy(update={"cached": True})

    def put(self, key: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply; the first one stays when two requests were made at the same time."""
        data = orjson.dumps(reply.model_dump(mode="json"))
        with self._lock:
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, prompt.role, data))

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._connection.close()
