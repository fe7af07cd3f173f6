"""How the rows of a page lie in a transcription: which one is left out or moved, and what was added to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq
from rapidfuzz.fuzz import partial_ratio

_LARGE = 0.1
"""A row that holds this share of the page's letters must not be left out, however much of the page there is."""
_MOVED, _LEAST_MOVED = 0.04, 5
"""A column of fewer letters may stand elsewhere: titles, seals and fore-edges have no fixed place in the order."""
_IN_PLACE = 0.5
_ABSENT, _PRESENT = 65.0, 80.0
"""Likeness (of 100) of a row to the part of the text that is most like it. What lies between may be worn characters."""
_RUN = 4
"""Shorter runs of letters that only one side has are differences in reading."""
_LARGEST = 400_000_000
"""Letters of the page times letters of the text: beyond it the alignment would take too much memory."""


@dataclass(frozen=True, slots=True)
class PageMatch:
    """Number of the first row that is left out, and of the first that stands in another place; share of the text in
    runs that the page hasn't, and where the longest of them starts and stops.
    """

    left_out: int | None = None
    moved: int | None = None
    invented: float = 0.0
    longest: tuple[int, int] = (0, 0)


def match_rows(rows: Sequence[tuple[str, bool]], answer: str) -> PageMatch:
    """Compare a text with rows, each as its letters and whether it is a column, whose order is then fixed.

    Both are aligned by their longest common subsequence. Where the page has other letters in the place of a run, that
    is another reading of them; only what a run has beyond them is added. Nothing is found on pages that are too large.
    """
    there = "".join(letters for letters, _ in rows)
    if not there or not answer or len(there) * len(answer) > _LARGEST:
        return PageMatch()
    in_place = bytearray(len(there))
    runs: list[tuple[int, int, int]] = []
    # Neighbouring insertions and deletions are one place.
    only_page = only_text = 0
    for step in LCSseq.opcodes(there, answer):
        if step.tag != "equal":
            only_page += step.src_end - step.src_start
            only_text += step.dest_end - step.dest_start
            continue
        in_place[step.src_start : step.src_end] = b"\1" * (step.src_end - step.src_start)
        runs.append((step.dest_start - only_text, step.dest_start, only_text - only_page))
        only_page = only_text = 0
    runs.append((len(answer) - only_text, len(answer), only_text - only_page))
    added = [
        (more, start, stop)
        for start, stop, more in runs
        if more >= _RUN and partial_ratio(answer[start:stop], there) < _ABSENT
    ]
    left_out, moved = _displaced(rows, in_place, answer)
    longest = max(added, default=(0, 0, 0))[1:]
    return PageMatch(left_out, moved, sum(more for more, _, _ in added) / len(answer), longest)


def _displaced(rows: Sequence[tuple[str, bool]], in_place: bytearray, answer: str) -> tuple[int | None, int | None]:
    """The first row that isn't in the text, and the first column that is in it, in another place."""
    left_out: int | None = None
    moved: int | None = None
    start = 0
    for number, (letters, column) in enumerate(rows):
        size, stop = len(letters), start + len(letters)
        matched, start = in_place.count(1, start, stop), stop
        if size < 2 or matched >= _IN_PLACE * size:
            continue
        large = size >= _LARGE * len(in_place)
        movable = column and size >= max(_LEAST_MOVED, _MOVED * len(in_place))
        if not large and not movable:
            continue
        likeness = partial_ratio(letters, answer) if size <= len(answer) else 0.0
        if large and likeness < _ABSENT and left_out is None:
            left_out = number
        if movable and likeness >= _PRESENT and moved is None:
            moved = number
    return left_out, moved
