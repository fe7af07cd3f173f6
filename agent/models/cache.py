"""Replies kept by request, in one SQLite file: a batch that is run again asks nothing twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from agent.models.types import Prompt, Reply, StructureMode
from retrieval.row_cache import RowCache

_MOST = 10**9


def request_key(identity: str, prompt: Prompt, mode: StructureMode) -> str:
    """A hash of all that a reply depends on: the model, its decoding, the prompt with its pictures and schema."""
    pictures = [hashlib.sha256(picture.data).hexdigest() for picture in prompt.pictures]
    parts: list[Any] = [identity, mode, prompt.system, prompt.user, prompt.earlier, pictures, prompt.schema]
    if prompt.brief is not None:
        parts.append(prompt.brief)
    try:
        data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half characters, or a number of more than 64 bits
        data = json.dumps(parts, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


class ReplyCache(RowCache):
    """Whole replies only: what failed is asked again. It never fails; `problem` says what is wrong with its file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, table="replies", label="role", value="reply")

    def get(self, key: str) -> Reply | None:
        """The reply to a request that was made before; None also when it can't be read."""
        row = self.kept(key)
        reply = None if row is None else _reply_in(row)
        if row is not None and reply is None:
            self.drop(key)  # of another version, or damaged
        return reply

    def put(self, key: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply if possible; the first one stays when two requests were made at the same time."""
        self.keep(key, prompt.role, orjson.dumps(reply.model_dump(mode="json")))


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
