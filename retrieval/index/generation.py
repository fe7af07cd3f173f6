"""One generation of an index of page vectors, open for search."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.embedders.base import Matrix
from retrieval.index.encodings import PageEncoder
from retrieval.index.manifest import Manifest
from retrieval.index.maxsim import Rows, maxsim
from retrieval.index.nearest import Mask, best, chosen_kind
from retrieval.index.segments import Segment
from retrieval.settings import ImageIndexSettings

EXACT_WITHIN = 1_000
"""Pages among which all are compared, rather than candidates."""


@dataclass(frozen=True, slots=True)
class ImageMatch:
    """A page and its similarity to the query: a dot product, or MaxSim."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is kept: number of the segment, and row in it."""

    segment: int
    row: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one segment with scores."""

    segment: int
    rows: Rows
    scores: NDArray[np.float32]


class Generation:
    """The segments that a manifest names. Nothing in it changes, so that threads can share it."""

    def __init__(
        self, folder: Path, manifest: Manifest, settings: ImageIndexSettings, before: Generation | None = None
    ) -> None:
        """Open the segments; those that `before` has open are taken from it."""
        known = {} if before is None else {segment.record.name: segment for segment in before.segments}
        self.manifest = manifest
        self._settings = settings
        self.segments: list[Segment] = [
            known.get(record.name) or Segment(folder, record, manifest) for record in manifest.segments
        ]
        self.places: dict[str, Place] = {}
        self._live: list[Mask] = []
        for number, (record, segment) in enumerate(zip(manifest.segments, self.segments, strict=True)):
            live = np.ones(record.pages, np.bool_)
            live[list(record.removed)] = False
            self._live.append(live)
            self.places.update((segment.keys[row], Place(number, row)) for row in np.flatnonzero(live).tolist())

    @cached_property
    def keys(self) -> frozenset[str]:
        """The pages that can be found."""
        return frozenset(self.places)

    def live_rows(self, number: int) -> Iterator[int]:
        """The rows of a segment that weren't removed, in order."""
        yield from np.flatnonzero(self._live[number]).tolist()

    def encoder(self) -> PageEncoder | None:
        """What candidates are encoded by; None where they are found otherwise."""
        return encoder_of(self.manifest, self._settings)

    def search(self, query: Matrix, count: int, within: Collection[str] | None) -> list[ImageMatch]:
        """The pages most similar to a query, best first; ties in the order in which pages were added."""
        allowed = self._live if within is None else self._allowed(within)
        if self.manifest.card.multi:
            parts = self._by_maxsim(query, self._candidates(query, count, allowed))
        else:
            parts = self._by_product(query[0], count, allowed)
        if not parts:
            return []
        scores = np.concatenate([part.scores for part in parts])
        keys = [(part.segment, row) for part in parts for row in part.rows.tolist()]
        matches = []
        for at in best(scores, count).tolist():
            segment, row = keys[at]
            matches.append(ImageMatch(self.segments[segment].keys[row], float(scores[at])))
        return matches

    def _allowed(self, within: Collection[str]) -> list[Mask]:
        masks = [np.zeros(len(live), np.bool_) for live in self._live]
        for key in within:
            place = self.places.get(key)
            if place is not None:
                masks[place.segment][place.row] = True
        return masks

    def _by_product(self, query: NDArray[np.float32], count: int, allowed: list[Mask]) -> list[_Part]:
        parts = []
        for number, (segment, mask) in enumerate(zip(self.segments, allowed, strict=True)):
            kind = chosen_kind(self._settings.kind, segment.record.pages)
            found = segment.nearest(kind, None).search(query, count, mask)
            order = np.argsort(found.rows)
            parts.append(_Part(number, found.rows[order], found.scores[order]))
        return parts

    def _by_maxsim(self, query: Matrix, rows: list[Rows]) -> list[_Part]:
        parts = []
        for number, (segment, at) in enumerate(zip(self.segments, rows, strict=True)):
            if len(at) and segment.tokens is not None:
                parts.append(_Part(number, at, maxsim(query, segment.tokens, at)))
        return parts

    def _candidates(self, query: Matrix, count: int, allowed: list[Mask]) -> list[Rows]:
        """Rows by segment that are worth an exact comparison, in order; all of them where they are few."""
        wanted = max(self._settings.candidates, count)
        rows = [np.flatnonzero(mask) for mask in allowed]
        pages = sum(len(at) for at in rows)
        if self._settings.candidates == 0 or pages <= max(wanted, EXACT_WITHIN):
            return rows
        encoder = self.encoder()
        if encoder is None:
            parts = [
                _Part(number, at, maxsim(query, self.segments[number].pooled(), at))
                for number, at in enumerate(rows)
                if len(at)
            ]
        else:
            parts = self._by_encoding(encoder, encoder.query(query), wanted, allowed)
        chosen = best(np.concatenate([part.scores for part in parts]), wanted)
        candidates = [np.zeros(0, np.int64) for _ in self.segments]
        first = 0
        for part in parts:
            mine = chosen[(chosen >= first) & (chosen < first + len(part.rows))] - first
            candidates[part.segment] = np.sort(part.rows[mine])
            first += len(part.rows)
        return candidates

    def _by_encoding(
        self, encoder: PageEncoder, query: NDArray[np.float32], wanted: int, allowed: list[Mask]
    ) -> list[_Part]:
        parts = []
        for number, segment in enumerate(self.segments):
            kind = chosen_kind(self._settings.kind, segment.record.pages)
            found = segment.nearest(kind, encoder).search(query, wanted, allowed[number])
            parts.append(_Part(number, found.rows, found.scores))
        return parts


def encoder_of(manifest: Manifest, settings: ImageIndexSettings) -> PageEncoder | None:
    """The encoder of an index whose candidates are found by encodings, else None."""
    if not manifest.card.multi or settings.approximation != "encodings":
        return None
    return PageEncoder(manifest.card.dimension, np.array(manifest.centre, np.float32))
