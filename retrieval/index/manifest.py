"""What a folder of page vectors holds: one JSON file, replaced as a whole, that names the files of a generation."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from retrieval.embedders.base import EmbedderCard
from retrieval.errors import InputError
from retrieval.index.nearest import Kind
from retrieval.settings import ImageIndexSettings
from retrieval.types import Frozen

FORMAT: Literal[1] = 1
MANIFEST = "manifest.json"
SEGMENTS = "segments"
_REINDEX = "delete the folder and index the pages again"


class FileRecord(Frozen):
    """Size of a file in bytes, and its hash where it is checked when the file is opened."""

    size: int
    sha256: str = ""


class SegmentRecord(Frozen):
    """Files that never change: pages in the order they were added, and the rows of those removed since."""

    name: Annotated[str, Field(pattern=r"^[0-9]+-[0-9a-f]+$")]
    pages: int
    vectors: int
    structure: Kind
    files: dict[str, FileRecord]
    removed: tuple[int, ...] = ()


class Manifest(Frozen):
    """One generation of an index. `centre` is the mean vector of the first pages, around which vectors are coded."""

    format: Literal[1] = FORMAT
    generation: int
    card: EmbedderCard
    storage: Literal["fp32", "fp16", "int8", "binary"]
    pooling: int
    centre: tuple[float, ...] = ()
    segments: tuple[SegmentRecord, ...] = ()


def first_manifest(card: EmbedderCard, settings: ImageIndexSettings) -> Manifest:
    """The generation before anything is added. One vector a page is kept whole, whatever the settings say."""
    storage = settings.storage if card.multi else "fp32"
    return Manifest(generation=0, card=card, storage=storage, pooling=settings.pooling if card.multi else 1)


def read_manifest(folder: Path) -> Manifest | None:
    """The generation in a folder; None where nothing was written yet. Raises `InputError` for a damaged file."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path} can't be read ({error})", remedy="make it readable") from error
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if where == "format":
            raise InputError(
                f"{path} has format {first['input']!s:.40}, this docsage reads {FORMAT}", remedy=_REINDEX
            ) from error
        raise damaged(path, f"{where}: {first['msg']}" if where else first["msg"]) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make a generation the current one. Killed at any moment, it is or it is not."""
    fresh = folder / f"{MANIFEST}.new"
    with fresh.open("wb") as file:
        file.write(manifest.model_dump_json(indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, folder / MANIFEST)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk, where the system can do that."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_others(folder: Path, found: Manifest, wanted: Manifest) -> None:
    """Raise `InputError` when an index was made by another model, or keeps vectors otherwise."""
    model = _differences(
        {name: (getattr(found.card, name), getattr(wanted.card, name)) for name in EmbedderCard.model_fields}
    )
    if model:
        raise InputError(
            f"the vectors in {folder} were made by another model ({model})",
            remedy=f"name the model {found.card.model} (revision {found.card.revision}) with the same options,"
            f" or {_REINDEX}",
        )
    storage = _differences({name: (getattr(found, name), getattr(wanted, name)) for name in ("storage", "pooling")})
    if storage:
        raise InputError(
            f"the vectors in {folder} are kept otherwise ({storage})",
            remedy=f"set storage to {found.storage} and pooling to {found.pooling}, or {_REINDEX}",
        )


def damaged(path: Path, why: str) -> InputError:
    """What to say about a file whose content is not what was written."""
    return InputError(f"{path} is damaged ({why})", remedy=_REINDEX)


def _differences(values: dict[str, tuple[object, object]]) -> str:
    """ "model is a, not b; dimension is 128, not 320"."""
    return "; ".join(f"{name} is {found!r}, not {asked!r}" for name, (found, asked) in values.items() if found != asked)
