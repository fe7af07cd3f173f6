"""The index of page-image vectors: a folder of segments, of which each write makes a new generation.

A write puts its segment beside the others, has it on the disk, and replaces the manifest: killed at any moment, the
generation before it or the one it made is whole. What a killed write leaves behind goes with the next write. There is
one writer at a time; readers keep the generation that they opened and take a newer one at their next search.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from retrieval.embedders.base import EmbedderCard, Matrix
from retrieval.errors import CollectionBusy, InputError
from retrieval.index.generation import Generation, ImageMatch, encoder_of
from retrieval.index.manifest import (
    MANIFEST,
    SEGMENTS,
    Manifest,
    SegmentRecord,
    damaged,
    first_manifest,
    read_manifest,
    refuse_others,
    write_manifest,
)
from retrieval.index.segment_writer import SegmentWriter
from retrieval.settings import ImageIndexSettings

_PATIENCE = 30.0
_MOST_SEGMENTS = 12
_CENTRE_PAGES = 64
"""Pages whose mean vector is taken for the centre of all."""
Stamp = tuple[int, int, int]


class ImageVectors:
    """Vectors of pages by key, kept in a folder. Safe to share between threads, and between processes.

    Raises `InputError` where the folder holds vectors of another model, or of other storage, or is damaged;
    `CollectionBusy` where another process keeps writing. The folder is made at the first write.
    """

    def __init__(self, folder: Path, card: EmbedderCard, settings: ImageIndexSettings) -> None:
        self.folder = folder
        self._settings = settings
        self._first = first_manifest(card, settings)
        self._lock = threading.Lock()
        self._opened: tuple[Stamp | None, Generation] | None = None
        self._closed = False
        self._current()

    def keys(self) -> frozenset[str]:
        """The pages that can be found."""
        return self._current().keys

    def search(self, query: Matrix, k: int, *, within: Collection[str] | None = None) -> list[ImageMatch]:
        """The `k` pages most similar to a query, best first; ties in the order in which pages were added.

        `query` has a row a vector, one where the model gives one vector a page. Of pages `within` a set of keys, those
        that aren't in the index aren't found; up to 1,000 are always compared exactly.
        """
        generation = self._current()
        card = self._first.card
        query = np.ascontiguousarray(query, np.float32)
        if query.ndim != 2 or query.shape[1] != card.dimension or len(query) < 1 or (len(query) > 1 and not card.multi):
            rows = "any number of" if card.multi else "1"
            raise ValueError(f"the query has shape {query.shape}, not {rows} x {card.dimension}")
        if not np.isfinite(query).all():
            raise InputError(
                f"{card.model} gave the question vectors that are not numbers",
                remedy="check its weights, and set dtype to float32 where a smaller one overflows",
            )
        return generation.search(query, k, within) if k > 0 else []

    def add(self, pages: Iterable[tuple[str, Matrix]]) -> None:
        """Add pages in one new generation, taking them as they come; known keys are replaced, and are new in order.

        A key that comes twice counts as it came last.
        """
        with self._writing() as before:
            stream = iter(pages)
            head = list(islice(stream, _CENTRE_PAGES))
            if not head:
                return
            manifest = before.manifest
            if manifest.card.multi and not manifest.centre:
                manifest = manifest.model_copy(update={"centre": _centre(head, manifest.card.dimension)})
            keys: list[str] = []

            def fill(writer: SegmentWriter) -> None:
                for key, vectors in chain(head, stream):
                    writer.add(key, vectors)
                    keys.append(key)

            record = self._written(manifest, fill)
            removed: dict[int, set[int]] = {}
            last: dict[str, int] = {}
            for row, key in enumerate(keys):
                if key in last:
                    removed.setdefault(len(manifest.segments), set()).add(last[key])
                elif (place := before.places.get(key)) is not None:
                    removed.setdefault(place.segment, set()).add(place.row)
                last[key] = row
            self._swap(before, manifest, _without((*manifest.segments, record), removed))

    def remove(self, keys: Iterable[str]) -> None:
        """Forget pages, in one new generation; keys that aren't there are passed over."""
        with self._writing() as before:
            removed: dict[int, set[int]] = {}
            for key in keys:
                if (place := before.places.get(key)) is not None:
                    removed.setdefault(place.segment, set()).add(place.row)
            if removed:
                self._swap(before, before.manifest, _without(before.manifest.segments, removed))

    def compact(self) -> None:
        """Write all pages into one segment, so that removed ones take no room and FAISS's structures span all."""
        with self._writing() as before:
            records = before.manifest.segments
            if len(records) > 1 or any(record.removed for record in records):
                self._merge(before, 0, len(records))

    def close(self) -> None:
        """Let go of the files. The index can't be used afterwards."""
        with self._lock:
            self._opened = None
            self._closed = True

    def _current(self) -> Generation:
        """The newest generation, opened if it isn't."""
        with self._lock:
            if self._closed:
                raise ValueError("the index was closed")
            stamp = self._stamp()
            if self._opened is None or self._opened[0] != stamp:
                self._opened = (stamp, self._open())
            return self._opened[1]

    def _open(self) -> Generation:
        """Open what the manifest names; a writer may delete a segment between the two, so that it is read again."""
        seen = -1
        while True:
            manifest = read_manifest(self.folder)
            if manifest is None:
                return Generation(self.folder, self._first, self._settings)
            refuse_others(self.folder, manifest, self._first)
            try:
                return Generation(self.folder, manifest, self._settings, self._opened[1] if self._opened else None)
            except FileNotFoundError as error:
                if manifest.generation == seen:
                    raise damaged(Path(error.filename), "it is missing") from error
                seen = manifest.generation

    def _stamp(self) -> Stamp | None:
        try:
            found = (self.folder / MANIFEST).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def _writing(self) -> Iterator[Generation]:
        """Hold the folder for writing, and clean what killed writes left; gives the generation to go on from."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "write.lock", timeout=_PATIENCE)
            with lock:
                generation = self._current()
                self._clean(generation.manifest)
                yield generation
        except Timeout as error:
            raise CollectionBusy(
                f"another process is writing to {self.folder}", remedy="try again when it has finished"
            ) from error
        except PermissionError as error:
            raise InputError(f"{self.folder} can't be written ({error})", remedy="make it writable") from error

    def _clean(self, manifest: Manifest) -> None:
        """Delete the segments that no manifest names. A file that a reader holds open may stay, on some systems."""
        (self.folder / f"{MANIFEST}.new").unlink(missing_ok=True)
        named = {record.name for record in manifest.segments}
        segments = self.folder / SEGMENTS
        for left in segments.iterdir() if segments.is_dir() else ():
            if left.name not in named:
                shutil.rmtree(left, ignore_errors=True)

    def _written(self, manifest: Manifest, fill: Callable[[SegmentWriter], None]) -> SegmentRecord:
        """A new segment, on the disk."""
        name = f"{manifest.generation + 1:06d}-{secrets.token_hex(4)}"
        with SegmentWriter(self.folder, name, manifest, encoder_of(manifest, self._settings)) as writer:
            fill(writer)
            return writer.finish(self._settings.kind)

    def _swap(self, before: Generation, manifest: Manifest, segments: tuple[SegmentRecord, ...]) -> None:
        """Make segments the current generation; then merge some where they have become many, or half empty."""
        kept = tuple(record for record in segments if len(record.removed) < record.pages)
        after = manifest.model_copy(update={"generation": before.manifest.generation + 1, "segments": kept})
        write_manifest(self.folder, after)
        self._clean(after)
        generation = self._current()
        span = _worth_merging(after.segments)
        if span is not None:
            self._merge(generation, *span)

    def _merge(self, before: Generation, first: int, last: int) -> None:
        """Replace neighbouring segments by one with their pages that weren't removed, in the same order."""

        def fill(writer: SegmentWriter) -> None:
            for number in range(first, last):
                writer.copy(before.segments[number], before.live_rows(number))

        records = before.manifest.segments
        merged = self._written(before.manifest, fill)
        self._swap(before, before.manifest, (*records[:first], merged, *records[last:]))


def _centre(pages: list[tuple[str, Matrix]], dimension: int) -> tuple[float, ...]:
    """The mean vector of pages; those of another size are left out, as they are refused later."""
    vectors = [v for _, v in pages if v.ndim == 2 and v.shape[1] == dimension and len(v)]
    return tuple(np.concatenate(vectors).mean(axis=0).tolist()) if vectors else ()


def _without(records: tuple[SegmentRecord, ...], removed: dict[int, set[int]]) -> tuple[SegmentRecord, ...]:
    """The records, with more rows removed from them."""
    return tuple(
        record.model_copy(update={"removed": tuple(sorted({*record.removed, *removed[number]}))})
        if number in removed
        else record
        for number, record in enumerate(records)
    )


def _worth_merging(records: tuple[SegmentRecord, ...]) -> tuple[int, int] | None:
    """The span of segments to merge, if any: one that is half empty, else the small ones at the end of too many.

    The span begins where a segment has no more pages than all that follow it, so that a page is written again only when
    the index around it has about doubled.
    """
    for number, record in enumerate(records):
        if 2 * len(record.removed) > record.pages:
            return number, number + 1
    if len(records) <= _MOST_SEGMENTS:
        return None
    following = sum(record.pages for record in records)
    for number, record in enumerate(records[:-1]):
        following -= record.pages
        if record.pages <= following:
            return number, len(records)
    return len(records) - 2, len(records)
