"""Which files to read, what they are and what they hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from retrieval.errors import UnreadableDocument

FileFormat = Literal["pdf", "png", "jpeg", "webp", "tiff"]
SUFFIXES: dict[str, FileFormat] = {
    ".pdf": "pdf",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".webp": "webp",
    ".tif": "tiff",
    ".tiff": "tiff",
}
_PDF_HEADER_WITHIN = 1024
_CHUNK = 1 << 20


def walk(path: Path) -> Iterator[Path]:
    """The files under `path` with a supported suffix, sorted, hidden ones left out; a file yields itself."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(folder) / name


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files named by `paths`, folders walked, each file once."""
    return list(dict.fromkeys(file for path in paths for file in walk(path)))


def sniff(path: Path) -> FileFormat:
    """What a file is by its content, whatever its name says. Raises `UnreadableDocument`."""
    try:
        with path.open("rb") as file:
            head = file.read(_PDF_HEADER_WITHIN)
    except OSError as error:
        raise UnreadableDocument(
            f"{path.name}: can't be opened ({error.strerror})", remedy="check the path and its permissions"
        ) from error
    if not head:
        raise UnreadableDocument(f"{path.name}: empty file", remedy="get a complete copy")
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:4] in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"):
        return "tiff"
    if b"%PDF-" in head or path.suffix.lower() == ".pdf":
        return "pdf"
    raise UnreadableDocument(
        f"{path.name}: neither a PDF nor an image", remedy="docsage reads PDF, PNG, JPEG, WebP and TIFF"
    )


def content_id(path: Path) -> str:
    """The document id: first 20 hex digits of the content's SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:20]
