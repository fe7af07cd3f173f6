"""CHaystack's questions as they lie on disk: `data/eval/{category}.jsonl`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, get_args

import orjson

from retrieval.errors import InputError
from retrieval.types import Frozen

Category = Literal["paper", "camera", "webpage", "advertise"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_SHOWN = 60
_LAYOUT = "--data is a folder with data/eval/{paper,camera,webpage,advertise}.jsonl and data/image/{category}/"
_FORM = '{"query": "...", "answer": "...", "image_id": "..."}'


class ChaystackSample(Frozen):
    """One question with its gold answer and the page image that holds it."""

    sample_id: str
    question: str
    gold_answer: str
    gold_image_id: str
    category: Category
    answer_type: str | None = None

    @property
    def id(self) -> str:
        """The id of the sample."""
        return self.sample_id

    @property
    def text(self) -> str:
        """What is asked."""
        return self.question

    @property
    def gold_key(self) -> str:
        """The key of the gold image."""
        return image_key(self.category, self.gold_image_id)


class ChaystackSet(Frozen):
    """The samples by category and line, and one line of text for each line that can't be used and is left out."""

    samples: tuple[ChaystackSample, ...]
    refused: tuple[str, ...] = ()

    def limited(self, limit: int | None) -> tuple[ChaystackSample, ...]:
        """The first `limit` samples of each category."""
        if limit is None:
            return self.samples
        return tuple(s for category in CATEGORIES for s in _of(self.samples, category)[:limit])


class _Unusable(ValueError):
    """A line is no sample: the message says what is wrong and what it should be."""


def image_key(category: str, image_id: str) -> str:
    """What tells an image from all others: ids are unique within their category only."""
    return f"{category}/{image_id}"


def data_root(data: Path) -> Path:
    """The folder that holds `eval` and `image`: `data/data` as the benchmark has it, else `data` itself."""
    for root in (data / "data", data):
        if (root / "eval").is_dir():
            return root
    raise InputError(f"{data} holds no folder data/eval", remedy=_LAYOUT)


def load_chaystack(data: Path, categories: Sequence[Category] = ()) -> ChaystackSet:
    """The samples of some categories, or of all that are there.

    Lines that can't be used are named in `refused`, and the others stand. InputError when a file can't be read, a
    category that was named has none, or nothing in them can be used.
    """
    root = data_root(data)
    samples: list[ChaystackSample] = []
    refused: list[str] = []
    known: dict[str, str] = {}
    for category in CATEGORIES:
        file = root / "eval" / f"{category}.jsonl"
        if (categories and category not in categories) or not (categories or file.exists()):
            continue
        for number, line in enumerate(_text(file).split("\n"), 1):
            where = f"line {number} of {file}"
            try:
                sample = _sample(line, category, known, where) if line.strip() else None
            except _Unusable as error:
                refused.append(f"{where} is left out: {error}")
                continue
            if sample is not None:
                known[sample.sample_id] = where
                samples.append(sample)
    if not samples:
        first = f", {refused[0]}" if refused else ""
        raise InputError(f"{root / 'eval'} holds no question{first}", remedy=f"one on each line: {_FORM}")
    return ChaystackSet(samples=tuple(samples), refused=tuple(refused))


def fingerprint(samples: Sequence[ChaystackSample]) -> str:
    """A hash of which question is asked under which id. Corrected gold answers don't change it."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(repr((sample.sample_id, sample.category, sample.question)).encode())
    return digest.hexdigest()[:16]


def _of(samples: Sequence[ChaystackSample], category: Category) -> list[ChaystackSample]:
    return [sample for sample in samples if sample.category == category]


def _text(file: Path) -> str:
    if not file.is_file():
        raise InputError(f"{file} is no file", remedy=_LAYOUT)
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} can't be read ({error})", remedy="it must hold JSON lines in UTF-8") from error


def _sample(line: str, category: Category, known: dict[str, str], where: str) -> ChaystackSample:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _Unusable(f"it is not JSON ({error}); write {_FORM}") from error
    if not isinstance(entry, dict):
        raise _Unusable(f"it is {_quoted(entry)}, no object; write {_FORM}")
    image_id = _string(entry, "image_id")
    kind = entry.get("answer_type")
    question, answer = _string(entry, "question", "query"), _string(entry, "answer", "gold_answer")
    return ChaystackSample(
        sample_id=_id(entry.get("sample_id"), f"{category}_{image_id}", known, where),
        question=question,
        gold_answer=answer,
        gold_image_id=image_id,
        category=category,
        answer_type=None if kind is None else str(kind),
    )


def _string(entry: dict[str, Any], *keys: str) -> str:
    """The first of some fields that isn't empty, as text; numbers are texts, too."""
    value = next((entry[key] for key in keys if entry.get(key) not in (None, "")), None)
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if text.strip():
        return text
    names = " or ".join(keys)
    problem = f"has no {names}" if value is None else f"has the {names} {_quoted(value)}"
    raise _Unusable(f"it {problem}; write {_FORM}")


def _id(value: Any, default: str, known: dict[str, str], where: str) -> str:
    """The sample's own id, which no other may have, else one that is made of its image and numbered if need be."""
    if value in (None, ""):
        return next(n for n in (default, *(f"{default}_{k}" for k in range(2, len(known) + 3))) if n not in known)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Unusable(f'it has the sample_id {_quoted(value)}; "sample_id" is a text')
    name = str(value)
    if name in known:
        raise _Unusable(f"its sample_id {name!r} is that of {known[name]}; give each its own, or none")
    return name


def _quoted(value: Any) -> str:
    return shorten(repr(value), _SHOWN, placeholder=" …")
