"""Segments of an index: pages that were added together, in files that are mapped and never change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix
from retrieval.errors import InputError
from retrieval.index.encodings import PageEncoder
from retrieval.index.manifest import SEGMENTS, FileRecord, Manifest, SegmentRecord, damaged, file_hash
from retrieval.index.maxsim import TokenTable, float_table
from retrieval.index.nearest import Kind, Nearest, built, load
from retrieval.index.pooling import centres
from retrieval.index.token_codes import code_of

KEYS, OFFSETS, TOKENS, SCALES, VECTORS = "keys.json", "offsets.bin", "tokens.bin", "scales.bin", "vectors.bin"
POOLED, ENCODINGS, STRUCTURE = "pooled.bin", "encodings.bin", "nearest.faiss"
CENTRES = 16
"""Vectors that stand for a page in the search for candidates."""
_VERIFIED = (KEYS, OFFSETS)
T = TypeVar("T")


class Segment:
    """The pages of one segment, for reading. Safe for several threads.

    Files are opened at once, so that a writer may delete them while the segment is in use. What is derived from the
    vectors (pooled vectors, encodings, structures) is made in memory where there is no file of it that can be used.
    Raises `InputError` for damage, `FileNotFoundError` where a file is missing.
    """

    def __init__(self, folder: Path, record: SegmentRecord, manifest: Manifest) -> None:
        self.folder = folder / SEGMENTS / record.name
        self.record = record
        self._dimension = manifest.card.dimension
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}
        for name, known in record.files.items():
            if name not in (STRUCTURE, POOLED, ENCODINGS):
                self._check(name, known)
        self.keys = self._keys()
        self.tokens: TokenTable | None = None
        self.vectors: Matrix | None = None
        if manifest.card.multi:
            self.tokens = self._tokens(manifest)
        else:
            self.vectors = self._mapped(VECTORS, np.dtype("<f4"), (record.pages, self._dimension))
        self._pooled = self._derived(POOLED, CENTRES * self._dimension)
        self._encodings = self._derived(ENCODINGS, None)

    def pooled(self) -> TokenTable:
        """The vectors that stand for each page."""
        rows = self._pooled
        if rows is None:
            rows = self._once(POOLED, lambda: self._each_page(lambda page: centres(page, CENTRES).ravel()))
        offsets = np.arange(self.record.pages + 1, dtype=np.int64) * CENTRES
        return float_table(rows.reshape(-1, self._dimension), offsets)

    def nearest(self, kind: Kind, encoder: PageEncoder | None) -> Nearest:
        """One vector a page to search in: the page's own, or its encoding."""
        return self._once(STRUCTURE, lambda: self._nearest(kind, encoder))

    def derived_rows(self, name: str) -> Matrix | None:
        """The mapped rows of a derived file, one a page; None where there is none."""
        return self._pooled if name == POOLED else self._encodings

    def _nearest(self, kind: Kind, encoder: PageEncoder | None) -> Nearest:
        matrix = self.vectors
        if matrix is None and encoder is not None:
            matrix = self._encodings if self._encodings is not None else self._each_page(encoder.page)
        if matrix is None:
            raise ValueError("pages with many vectors need an encoder")
        known = self.record.files.get(STRUCTURE)
        path = self.folder / STRUCTURE
        if known is not None and self.record.structure == kind and _is_whole(path, known):
            return Nearest(matrix, load(path))
        return Nearest(matrix, built(kind, matrix))

    def _each_page(self, make: Callable[[Matrix], NDArray[np.float32]]) -> Matrix:
        if self.tokens is None:
            raise ValueError("pages with one vector have no token vectors")
        tokens = self.tokens
        return np.stack([make(tokens.page(row)) for row in range(self.record.pages)])

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made

    def _keys(self) -> tuple[str, ...]:
        path = self.folder / KEYS
        try:
            keys = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise damaged(path, str(error)) from error
        if not isinstance(keys, list) or len(keys) != self.record.pages or not all(isinstance(k, str) for k in keys):
            raise damaged(path, f"not a list of {self.record.pages} keys")
        return tuple(keys)

    def _tokens(self, manifest: Manifest) -> TokenTable:
        if manifest.storage == "fp32":
            raise damaged(self.folder.parent.parent / "manifest.json", "token vectors are never kept as fp32")
        code = code_of(manifest.storage, np.array(manifest.centre, np.float32))
        vectors = self.record.vectors
        codes = self._mapped(TOKENS, code.dtype, (vectors, code.width(self._dimension)))
        scales = self._mapped(SCALES, np.dtype("<f2"), (vectors, 2)) if code.scaled else None
        offsets = np.array(self._mapped(OFFSETS, np.dtype("<i8"), (self.record.pages + 1,)))
        if offsets[0] != 0 or offsets[-1] != vectors or bool((np.diff(offsets) <= 0).any()):
            raise damaged(self.folder / OFFSETS, "pages overlap or are empty")
        return TokenTable(code, self._dimension, codes, scales, offsets)

    def _derived(self, name: str, width: int | None) -> Matrix | None:
        """A derived file's rows, one a page; None where there is none or it is not as it was written."""
        known = self.record.files.get(name)
        if known is None or known.size % (4 * self.record.pages):
            return None
        columns = known.size // (4 * self.record.pages)
        path = self.folder / name
        if (width is not None and columns != width) or not path.is_file() or path.stat().st_size != known.size:
            return None
        return np.memmap(path, np.dtype("<f4"), "r", shape=(self.record.pages, columns))

    def _mapped(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        known = self.record.files.get(name)
        wanted = dtype.itemsize * int(np.prod(shape))
        if known is None or known.size != wanted:
            raise damaged(self.folder / name, f"{wanted} bytes are wanted for {self.record.pages} pages")
        return np.memmap(self.folder / name, dtype, "r", shape=shape)

    def _check(self, name: str, known: FileRecord) -> None:
        path = self.folder / name
        try:
            size = path.stat().st_size
        except PermissionError as error:
            raise InputError(f"{path} can't be read ({error})", remedy="make it readable") from error
        if size != known.size:
            raise damaged(path, f"{size} bytes, not {known.size}")
        if name in _VERIFIED and file_hash(path) != known.sha256:
            raise damaged(path, "its content has changed")


def _is_whole(path: Path, known: FileRecord) -> bool:
    """Whether a file is the one that was written."""
    return path.is_file() and path.stat().st_size == known.size and file_hash(path) == known.sha256
