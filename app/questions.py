"""A file of questions: JSON lines, a JSON list, or plain text with one question a line."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import orjson
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from retrieval.errors import InputError


class Asked(BaseModel):
    """One question of a file. `paths` are the documents that it is asked over; none means those of the command.

    Other fields (gold answers, pages) may stand beside them and are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    question: str = Field(min_length=1)
    id: str = Field(default="", validation_alias=AliasChoices("id", "question_id"))
    paths: tuple[str, ...] = ()


def load_questions(file: Path) -> list[Asked]:
    """The questions of a file, each with an id: its own, else a hash of the question and its documents.

    Paths that exist beside the file are taken from there. InputError names the line or item that can't be used.
    """
    # A pipe is what `--questions <(…)` hands in; a device may never end.
    if os.path.exists(file) and not (file.is_file() or file.is_fifo()):
        raise InputError(f"{file} is no regular file", remedy="--questions wants a UTF-8 file")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} can't be read ({error})", remedy="--questions wants a UTF-8 file") from error
    items = [_asked(value, where, file) for where, value in _values(text, file)]
    if not items:
        raise InputError(f"{file} holds no question", remedy="one question a line, or JSON")
    return _identified(items, file)


def _values(text: str, file: Path) -> list[tuple[str, Any]]:
    """What the file holds, with where it stands: "line 3" or "item 3"."""
    suffix = file.suffix.lower()
    if suffix == ".json":
        parsed = _parsed(text, str(file))
        if not isinstance(parsed, list):
            raise InputError(
                f"{file} holds a {type(parsed).__name__}", remedy="a JSON file must hold a list of questions"
            )
        return [(f"item {number}", value) for number, value in enumerate(parsed, 1)]
    lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if suffix in {".jsonl", ".ndjson"}:
        return [(where, _parsed(line, f"{where} of {file}")) for where, line in lines]
    return [(where, line.strip()) for where, line in lines]


def _parsed(text: str, where: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where} is no JSON ({error})", remedy='write {"question": "..."}') from error


def _asked(value: Any, where: str, file: Path) -> Asked:
    if isinstance(value, str):
        value = {"question": value}
    try:
        asked = Asked.model_validate(_with_paths(value))
    except (ValidationError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where} of {file} is no question", remedy='it needs "question", and may have "id" and "doc" or "paths"'
        ) from error
    beside = [file.parent / path for path in asked.paths]
    found = tuple(
        str(near) if os.path.exists(near) and not os.path.exists(path) else path
        for near, path in zip(beside, asked.paths, strict=True)
    )
    return asked.model_copy(update={"paths": found})


def _with_paths(value: dict[str, Any]) -> dict[str, Any]:
    """The same with "doc" (one) or "paths" (one or several) as `paths`."""
    given = value.get("paths") or value.get("doc") or ()
    return {**value, "paths": (given,) if isinstance(given, str) else tuple(given)}


def _identified(items: list[Asked], file: Path) -> list[Asked]:
    seen: dict[str, int] = {}
    result = []
    for item in items:
        own = item.id
        name = own or hashlib.sha256(repr((item.question, item.paths)).encode()).hexdigest()[:12]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1 and own:
            raise InputError(f"{file} has two questions with the id {own!r}", remedy="give each its own id, or none")
        result.append(item.model_copy(update={"id": name if seen[name] == 1 else f"{name}-{seen[name]}"}))
    return result
