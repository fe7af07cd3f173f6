"""Questions over paragraphs, in SQuAD's JSON (v1 or v2; CMRC 2018 and DRCD use the same form)."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from agent.reader.tokens import language_of
from evaluation.metrics.reading import Rules
from retrieval.errors import InputError
from retrieval.types import Frozen

_SAMPLED = 100
"""So many questions tell in which language a set is."""
_FORM = 'it needs {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text"}]}]}]}]}'


class ReadingQuestion(Frozen):
    """A question, the paragraph (by its place in the file) that holds the answer, and the gold answers, if any.

    `id` is unique over all sets of a run: the set's name and the question's own id.
    """

    id: str
    text: str
    paragraph: int
    answers: tuple[str, ...]


class ReadingSet(Frozen):
    """The paragraphs and questions of one file, and the rules by which its answers are scored."""

    name: str
    rules: Rules
    paragraphs: tuple[str, ...]
    questions: tuple[ReadingQuestion, ...]


def load_reading_sets(data: Path) -> list[ReadingSet]:
    """The sets of a SQuAD-format file, or of all `*.json` in a folder, by name. A set without questions is an error."""
    if not os.path.exists(data):
        raise InputError(f"{data} does not exist", remedy="--data is a SQuAD-format file, or a folder of *.json files")
    files = sorted(data.glob("*.json")) if data.is_dir() else [data]
    if not files:
        raise InputError(f"{data} holds no *.json", remedy="--data is a SQuAD-format file, or a folder of them")
    return [_load(path) for path in files]


def limited(sets: Sequence[ReadingSet], limit: int | None) -> list[ReadingSet]:
    """The sets with the first `limit` questions each, and all of their paragraphs."""
    return [one.model_copy(update={"questions": one.questions[:limit]}) for one in sets]


def fingerprint(sets: Sequence[ReadingSet]) -> str:
    """A hash of every paragraph, question and gold answer."""
    digest = hashlib.sha256()
    for one in sets:
        digest.update(one.model_dump_json().encode())
    return digest.hexdigest()[:16]


def _load(path: Path) -> ReadingSet:
    if not path.is_file():
        # A device or a pipe may never end.
        raise InputError(f"{path} is no regular file", remedy="name a file on disk")
    try:
        content = orjson.loads(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror})", remedy="check the path") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON ({error})", remedy="fetch the set again") from error
    try:
        paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
        questions = [
            _question(path.stem, asked, number)
            for number, paragraph in enumerate(paragraphs)
            for asked in paragraph["qas"]
        ]
        contexts = tuple(_text(paragraph, "context") for paragraph in paragraphs)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not in SQuAD format ({type(error).__name__}: {error})", remedy=_FORM) from error
    if not questions:
        raise InputError(f"{path} holds no question", remedy=_FORM)
    if len({question.id for question in questions}) < len(questions):
        raise InputError(f"{path} has several questions of one id", remedy="give each its own")
    language = language_of(" ".join(question.text for question in questions[:_SAMPLED]))
    return ReadingSet(
        name=path.stem,
        rules="cmrc" if language == "chinese" else "squad",
        paragraphs=contexts,
        questions=tuple(questions),
    )


def _question(name: str, asked: dict[str, Any], paragraph: int) -> ReadingQuestion:
    if asked.get("is_impossible", False) not in (True, False):
        raise TypeError(f"is_impossible is {repr(asked['is_impossible'])[:40]}, not true or false")
    answers = [] if asked.get("is_impossible") else [_text(answer, "text") for answer in asked["answers"]]
    number = asked["id"] if isinstance(asked["id"], int) else _text(asked, "id")
    return ReadingQuestion(
        id=f"{name}/{number}", text=_text(asked, "question"), paragraph=paragraph, answers=tuple(answers)
    )


def _text(of: dict[str, Any], key: str) -> str:
    """A text by its key. What is no text is an error: "None" would be read, and asked, like any other word."""
    found = of[key]
    if not isinstance(found, str):
        raise TypeError(f"{key} is {repr(found)[:40]}, not text")
    return found
