"""Judgments of pages kept in one SQLite file, so that no page is judged twice for the same question."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
from pydantic import ValidationError

from retrieval.row_cache import RowCache
from tools.judgments import Judgment

CACHE_NAME = "judgments.sqlite"


class JudgmentCache(RowCache):
    """Verdicts only: what failed or stayed undecided is asked again. Threads and processes may share the file.

    It never fails, and `problem` says what is wrong with its file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, table="judgments", label="judge", value="judgment")

    def get(self, question: str, content: str, identity: str) -> Judgment | None:
        """What this judge said of this content for this question; None when that isn't known."""
        key = _key(question, content, identity)
        row = self.kept(key)
        judgment = None if row is None else _judgment_in(row)
        if row is not None and judgment is None:
            self.drop(key)  # of another version, or damaged
        return judgment

    def put(self, question: str, content: str, identity: str, judgment: Judgment) -> None:
        """Keep a verdict if possible; nothing is kept of a judgment without one."""
        if judgment.verdict is not None:
            data = orjson.dumps(judgment.model_dump(mode="json"))
            self.keep(_key(question, content, identity), identity, data)


def _key(question: str, content: str, identity: str) -> str:
    parts = "\0".join((question, content, identity))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


def _judgment_in(row: object) -> Judgment | None:
    if not isinstance(row, bytes | str):
        return None
    try:
        judgment = Judgment.model_validate_json(row)
    except ValidationError:
        return None
    return judgment if judgment.verdict is not None else None
