"""Pieces that MuPDF gives apart and that are one line: characters of vertical writing, a marker and its text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieval.ingest.fragments import Fragment, union

_MAX_PIECE = 2
_MARKER = re.compile(
    r"(?:[•●○◦▪■□►▶◆◇‣⁃∙·✓✔➢➤❖\uf0b7\uf0a7\uf0d8\uf076–—*-]|\(?[0-9A-Za-z]{1,3}[.)]|\d{1,2}(?:\.\d{1,2}){0,3}\.?)"
)
_MARKER_GAP = 3.0


def join_columns(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Pieces of a character or two that stand one under another, in content order, joined to one vertical line."""
    if not any(len(f.text) <= _MAX_PIECE and (f.vertical or f.turn == 0) for f in fragments):
        return list(fragments)
    out = _joined(fragments, least=3)
    upright = sum(len(f.text) for f in out if f.vertical)
    # Two characters one under another may be anything, but on a vertical page they are a column.
    return _joined(fragments, least=2) if 2 * upright > sum(len(f.text) for f in out) else out


def _joined(fragments: Sequence[Fragment], *, least: int) -> list[Fragment]:
    out: list[Fragment] = []
    column: list[Fragment] = []
    for fragment in fragments:
        if column and _follows(column[-1], fragment):
            column.append(fragment)
            continue
        out.extend(_closed(column, least))
        column = [fragment] if _is_piece(fragment) else []
        if not column:
            out.append(fragment)
    out.extend(_closed(column, least))
    return out


def _is_piece(f: Fragment) -> bool:
    return f.vertical or (f.turn == 0 and len(f.text) <= _MAX_PIECE and not f.text.isascii())


def _follows(above: Fragment, below: Fragment) -> bool:
    if not _is_piece(below) or not 0.6 < below.size / above.size < 1.7:
        return False
    size = max(above.size, below.size)
    centre = (above.box[0] + above.box[2]) / 2 - (below.box[0] + below.box[2]) / 2
    gap = below.box[1] - above.box[3]
    return abs(centre) < 0.35 * size and -0.6 * size < gap < 0.8 * size and below.box[1] > above.box[1]


def _closed(column: list[Fragment], least: int) -> list[Fragment]:
    """A column of at least `least` pieces, or of two that are known to be vertical, as one line; less as it was."""
    if len(column) < 2 or (len(column) < least and not column[0].vertical):
        return column
    head = column[0]
    text = "".join(f.text for f in column)
    return [Fragment(text, union(f.box for f in column), head.size, 0, True, head.bold)]


def join_markers(fragments: Sequence[Fragment]) -> list[Fragment]:
    """A bullet or number and the text that follows it on its line, in content order, joined to one line."""
    out: list[Fragment] = []
    for f in fragments:
        if out and len(out[-1].text) <= 8 and f.turn == 0 and _belongs(out[-1], f):
            marker = out.pop()
            f = Fragment(f"{marker.text} {f.text}", union((marker.box, f.box)), f.size, 0, False, f.bold)
        out.append(f)
    return out


def _belongs(marker: Fragment, text: Fragment) -> bool:
    if marker.turn or marker.vertical or text.vertical or not (text.text[0].isalpha() or len(text.text) > 12):
        return False
    gap = text.box[0] - marker.box[2]
    if not -0.2 * text.size < gap < _MARKER_GAP * text.size:
        return False
    offset = (marker.box[1] + marker.box[3]) / 2 - (text.box[1] + text.box[3]) / 2
    return abs(offset) < 0.35 * text.size and _MARKER.fullmatch(marker.text) is not None
