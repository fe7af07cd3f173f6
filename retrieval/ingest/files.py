"""Which files to read, what they are and what they hold."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
_SHOWN_START, _SHOWN_END = 160, 60


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file or folder that could not be read: one line that names it, the reason and the remedy."""

    path: Path
    reason: str


@dataclass(slots=True)
class Findings:
    """The files that some paths stand for, each once, and the folders that could not be walked."""

    files: list[Path] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def shown(path: Path) -> str:
    """A path as it was given, fit for a message: on one line, no broken characters, a long one without its middle."""
    text = " ".join(str(path).encode("utf-8", "replace").decode().split())
    if len(text) <= _SHOWN_START + _SHOWN_END:
        return text
    return f"{text[:_SHOWN_START]}…{text[-_SHOWN_END:]}"


def find_files(paths: Sequence[Path]) -> Findings:
    """The files named by `paths`; folders are walked for files with a supported suffix, sorted, hidden ones left out.

    A folder that can't be walked is refused and the rest goes on. What is no folder stands for itself, whatever it is.
    """
    found = Findings()
    for path in paths:
        found.files.extend(_walk(path, found.refused) if _is_folder(path) else [path])
    found.files = list(dict.fromkeys(found.files))
    return found


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # what is wrong with it is said when it is looked at as a file


def _walk(path: Path, refused: list[Refusal]) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        where = Path(error.filename)
        reason = f"{shown(where)}: the folder can't be read ({error.strerror}): check its permissions"
        refused.append(Refusal(where, reason))

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        try:
            os.stat(os.path.join(folder, "."))  # may be listed, yet not entered
            _named(Path(folder))
        except OSError as error:
            error.filename = folder
            refuse(error)
            folders.clear()
            continue
        except UnreadableDocument as error:
            refused.append(Refusal(Path(folder), str(error)))
            folders.clear()
            continue
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(folder) / name


def _named(path: Path) -> None:
    """Raise `UnreadableDocument` for a path whose name can't be kept: paths are text everywhere."""
    try:
        str(path.resolve()).encode()
    except UnicodeEncodeError as error:
        raise UnreadableDocument(f"{shown(path)}: its name is not valid UTF-8", remedy="rename it") from error


def look_up(path: Path) -> os.stat_result:
    """Size and time of a file. Raises `UnreadableDocument` unless it is a regular file that can be reached."""
    try:
        _named(path)
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableDocument(f"{shown(path)}: no such file or folder", remedy="check the path") from error
    except OSError as error:
        raise UnreadableDocument(
            f"{shown(path)}: can't be reached ({error.strerror})", remedy="check the path and its permissions"
        ) from error
    except (ValueError, RuntimeError) as error:  # a null byte; links in a circle
        raise UnreadableDocument(f"{shown(path)}: not a path ({error})", remedy="check the path") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
        raise UnreadableDocument(f"{shown(path)}: not a file but {what}", remedy="name PDFs, images or folders")
    return found


def sniff(path: Path) -> FileFormat:
    """What a file is by its content, whatever its name says. Raises `UnreadableDocument`."""
    try:
        with path.open("rb") as file:
            head = file.read(_PDF_HEADER_WITHIN)
    except OSError as error:
        raise UnreadableDocument(
            f"{shown(path)}: can't be opened ({error.strerror})", remedy="check the path and its permissions"
        ) from error
    if not head:
        raise UnreadableDocument(f"{shown(path)}: empty file", remedy="get a complete copy")
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
        f"{shown(path)}: neither a PDF nor an image", remedy="docsage reads PDF, PNG, JPEG, WebP and TIFF"
    )


def content_id(path: Path) -> str:
    """The document id: first 20 hex digits of the content's SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:20]
