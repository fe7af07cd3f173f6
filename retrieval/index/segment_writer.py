"""Writes one segment, page by page: nothing but a page is held in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix
from retrieval.errors import InputError
from retrieval.index.encodings import PageEncoder
from retrieval.index.manifest import SEGMENTS, FileRecord, Manifest, SegmentRecord, file_hash, sync_folder
from retrieval.index.nearest import Kind, built, chosen_kind, save
from retrieval.index.pooling import centres, join_alike
from retrieval.index.segments import (
    CENTRES,
    ENCODINGS,
    KEYS,
    OFFSETS,
    POOLED,
    SCALES,
    STRUCTURE,
    TOKENS,
    VECTORS,
    Segment,
)
from retrieval.index.token_codes import TokenCode, code_of

_HASHED = (KEYS, OFFSETS, STRUCTURE)


class SegmentWriter:
    """A segment in the making; use as a context manager. Nothing refers to it until a manifest names its record.

    `encoder` makes the encodings that candidates are found by; None where they are found by pooled vectors.
    """

    def __init__(self, folder: Path, name: str, manifest: Manifest, encoder: PageEncoder | None) -> None:
        self._folder = folder / SEGMENTS / name
        self._name, self._manifest, self._encoder = name, manifest, encoder
        self._code: TokenCode | None = None
        if manifest.storage != "fp32":
            self._code = code_of(manifest.storage, np.array(manifest.centre, np.float32))
        self._keys: list[str] = []
        self._offsets = [0]
        self._stack = ExitStack()
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        names = [VECTORS] if self._code is None else [TOKENS, ENCODINGS if self._encoder else POOLED]
        if self._code is not None and self._code.scaled:
            names.append(SCALES)
        self._files = {name: self._stack.enter_context((self._folder / name).open("wb")) for name in names}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def pages(self) -> int:
        """Pages written so far."""
        return len(self._keys)

    def add(self, key: str, vectors: Matrix) -> None:
        """Write a page. Raises `InputError` for vectors that no search could use, such as those of another size."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        self._refuse(key, vectors)
        if self._code is None:
            self._files[VECTORS].write(vectors.data)
        else:
            if self._manifest.pooling > 1:
                vectors = join_alike(vectors, self._manifest.pooling)
            codes, scales = self._code.encode(vectors)
            self._files[TOKENS].write(np.ascontiguousarray(codes).data)
            if scales is not None:
                self._files[SCALES].write(scales.data)
            self._derive(vectors)
        self._count(key, len(vectors))

    def copy(self, segment: Segment, rows: Iterable[int]) -> None:
        """Write pages of another segment as they are kept there: codes are not coded again."""
        name = ENCODINGS if self._encoder else POOLED
        for row in rows:
            key = segment.keys[row]
            if segment.tokens is None:
                if segment.vectors is not None:
                    self._files[VECTORS].write(np.ascontiguousarray(segment.vectors[row]).data)
                self._count(key, 1)
                continue
            table = segment.tokens
            span = slice(int(table.offsets[row]), int(table.offsets[row + 1]))
            self._files[TOKENS].write(np.ascontiguousarray(table.codes[span]).data)
            if table.scales is not None:
                self._files[SCALES].write(np.ascontiguousarray(table.scales[span]).data)
            kept = segment.derived_rows(name)
            if kept is None:
                self._derive(table.page(row))
            else:
                self._files[name].write(np.ascontiguousarray(kept[row]).data)
            self._count(key, span.stop - span.start)

    def finish(self, kind: Literal["auto", "flat", "hnsw", "ivf_pq"]) -> SegmentRecord:
        """Have everything on the disk, with the structure over it; returns what the manifest says about it."""
        for file in self._files.values():
            file.flush()
        self._write(KEYS, orjson.dumps(self._keys))
        if self._code is not None:
            self._write(OFFSETS, np.array(self._offsets, "<i8").tobytes())
        structure = self._structure(chosen_kind(kind, self.pages))
        records = {}
        for path in sorted(self._folder.iterdir()):
            _sync(path)
            digest = file_hash(path) if path.name in _HASHED else ""
            records[path.name] = FileRecord(size=path.stat().st_size, sha256=digest)
        sync_folder(self._folder)
        sync_folder(self._folder.parent)
        return SegmentRecord(
            name=self._name, pages=self.pages, vectors=self._offsets[-1], structure=structure, files=records
        )

    def _structure(self, kind: Kind) -> Kind:
        name = ENCODINGS if self._code is not None else VECTORS
        path = self._folder / name
        if kind == "flat" or not path.exists():
            return "flat"
        width = path.stat().st_size // (4 * self.pages)
        structure = built(kind, np.memmap(path, np.dtype("<f4"), "r", shape=(self.pages, width)))
        if structure is None:
            return "flat"
        save(structure, self._folder / STRUCTURE)
        return kind

    def _derive(self, vectors: Matrix) -> None:
        if self._encoder is None:
            self._files[POOLED].write(centres(vectors, CENTRES).data)
        else:
            self._files[ENCODINGS].write(self._encoder.page(vectors).data)

    def _count(self, key: str, vectors: int) -> None:
        self._keys.append(key)
        self._offsets.append(self._offsets[-1] + vectors)

    def _refuse(self, key: str, vectors: NDArray[np.float32]) -> None:
        card = self._manifest.card
        rows = "any number of" if card.multi else "1"
        many = vectors.ndim == 2 and (len(vectors) > 0 if card.multi else len(vectors) == 1)
        if not many or vectors.shape[1] != card.dimension:
            raise InputError(
                f"page {key} has vectors of shape {vectors.shape}, {card.model} gives {rows} x {card.dimension}",
                remedy="index it with the model that the index is of",
            )
        if not np.isfinite(vectors).all():
            raise InputError(
                f"{card.model} gave page {key} vectors that are not numbers",
                remedy="check its weights, and set dtype to float32 where a smaller one overflows",
            )

    def _write(self, name: str, content: bytes) -> None:
        (self._folder / name).write_bytes(content)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
