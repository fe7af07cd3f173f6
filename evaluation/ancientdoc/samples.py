"""AncientDoc's questions as they lie on disk: JSON lines, or a JSON list, and the page images that they name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import orjson

from evaluation.ancientdoc.tasks import TASKS, AncientTask, task_named
from retrieval.errors import InputError
from retrieval.types import Frozen

_SHOWN = 60
_FORM = '{"image": "page.png", "task": "translation", "question": "...", "reference": "..."}'


class AncientSample(Frozen):
    """One question over one or several page images, and the text that an answer is compared with.

    `images` are as the file names them; `paths` are where they are looked for.
    """

    id: str
    images: tuple[str, ...]
    paths: tuple[Path, ...]
    task: AncientTask
    question: str
    reference: str


class AncientSet(Frozen):
    """The samples of a file, in its order, and one line for each entry that can't be used and is left out."""

    samples: tuple[AncientSample, ...]
    refused: tuple[str, ...] = ()


class _Unusable(ValueError):
    """An entry of the file is no sample: the message says what is wrong and what it should be."""


def load_ancient_set(file: Path, *, images: Path | None = None) -> AncientSet:
    """The samples of a file; relative image paths start at `images`, else at the file's folder.

    Entries that can't be used are named in `refused`, and the others stand. InputError when the file can't be read,
    when nothing in it can be used, and when two entries have one id.
    """
    folder = file.parent if images is None else images
    if not os.path.isdir(folder):
        raise InputError(f"{folder} is no folder", remedy="--images is the folder that image paths start from")
    found: list[tuple[str, AncientSample]] = []
    refused = []
    for where, content in _entries(_text(file), file):
        try:
            found.append((where, _sample(content, folder)))
        except _Unusable as error:
            refused.append(f"{where} of {file} is left out: {error}")
    if not found:
        first = f", {refused[0]}" if refused else ""
        raise InputError(f"{file} holds no sample{first}", remedy=f"one on each line: {_FORM}")
    return AncientSet(samples=_identified(found, file), refused=tuple(refused))


def fingerprint(samples: Sequence[AncientSample]) -> str:
    """A hash of which question is asked under which id, as which task, over which images. References aren't in it."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(repr((sample.id, sample.images, sample.task, sample.question)).encode())
    return digest.hexdigest()[:16]


def _text(file: Path) -> str:
    # A pipe may be handed in by `<(…)`; a device may never end.
    if os.path.exists(file) and not (file.is_file() or file.is_fifo()):
        raise InputError(f"{file} is no regular file", remedy="--data is a file of JSON lines")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} can't be read ({error})", remedy="--data is a UTF-8 file of JSON lines") from error


def _entries(text: str, file: Path) -> Iterator[tuple[str, Any]]:
    """What the file holds, with where it stands; a line that is no JSON is handed on as its error."""
    if text.lstrip().startswith("["):
        try:
            items = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{file} is not JSON ({error})", remedy="write a JSON list, or JSON lines") from error
        yield from ((f"item {number}", item) for number, item in enumerate(items, 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield f"line {number}", error


def _sample(entry: Any, folder: Path) -> AncientSample:
    if isinstance(entry, orjson.JSONDecodeError):
        raise _Unusable(f"it is not JSON ({entry}); write {_FORM}")
    if not isinstance(entry, dict):
        raise _Unusable(f"it is {_quoted(entry)}, no object; write {_FORM}")
    images = _images(entry.get("image"))
    name = _string(entry, "task")
    paths = tuple(folder / image for image in images)
    # One that isn't there may come later; a device or a folder is never a page image.
    if wrong := [path for path in paths if os.path.exists(path) and not path.is_file()]:
        raise _Unusable(f"{wrong[0]} is no regular file; name a page image")
    task = task_named(name)
    if task is None:
        raise _Unusable(f"there is no task {_quoted(name)}; name one of {', '.join(TASKS)}")
    return AncientSample(
        id=_id(entry.get("id")),
        images=images,
        paths=paths,
        task=task,
        question=_string(entry, "question"),
        reference=_string(entry, "reference"),
    )


def _images(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(i, str) and i.strip() for i in listed):
        problem = "has no image" if value in (None, "", []) else f"has the image {_quoted(value)}"
        raise _Unusable(f'it {problem}; "image" is a path, or a list of paths')
    if any("\0" in image for image in listed):
        raise _Unusable(f"the image {_quoted(value)} can't be a path; name a file")
    return tuple(dict.fromkeys(listed))


def _string(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if isinstance(value, str) and value.strip():
        return value
    problem = f"has no {key}" if value is None or value == "" else f"has the {key} {_quoted(value)}"
    raise _Unusable(f'it {problem}; "{key}" is a text that is not empty')


def _id(value: Any) -> str:
    """The entry's own id; "" when it has none."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Unusable(f'it has the id {_quoted(value)}; "id" is a text or a number')
    return str(value)


def _quoted(value: Any) -> str:
    return shorten(repr(value), _SHOWN, placeholder=" …'")


def _identified(found: Sequence[tuple[str, AncientSample]], file: Path) -> tuple[AncientSample, ...]:
    """The samples with an id each: their own, else a hash of what is asked, numbered where the same is asked again."""
    places: dict[str, str] = {}
    for where, sample in found:
        if sample.id in places:
            raise InputError(
                f"{places[sample.id]} and {where} of {file} have the same id {sample.id!r}",
                remedy="give each its own id, or none",
            )
        if sample.id:
            places[sample.id] = where
    samples = []
    for where, sample in found:
        name = sample.id
        if not name:
            asked = repr((sample.images, sample.task, sample.question)).encode()
            base = hashlib.sha256(asked).hexdigest()[:12]
            name = next(n for n in (base, *(f"{base}-{k}" for k in range(2, len(found) + 2))) if n not in places)
            places[name] = where
        samples.append(sample.model_copy(update={"id": name}))
    return tuple(samples)
