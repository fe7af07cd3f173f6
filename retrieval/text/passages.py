"""Pages cut into passages: runs of consecutive lines, short enough that a match says where on the page it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PASSAGE_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `start` to `stop` (exclusive) of a page, as one text."""

    start: int
    stop: int
    text: str


def passages(lines: Sequence[str], *, characters: int = PASSAGE_CHARACTERS) -> list[Passage]:
    """Cut the lines of a page into passages of about `characters`; words broken at a line end are joined.

    Han text counts double, since a character there says as much as two letters do.
    """
    cut: list[Passage] = []
    start, size = 0, 0
    for index, line in enumerate(lines):
        size += _weight(line)
        if size >= characters:
            cut.append(_passage(lines, start, index + 1))
            start, size = index + 1, 0
    if start < len(lines):
        cut.append(_passage(lines, start, len(lines)))
    return cut


def joined(texts: Sequence[str]) -> str:
    """Lines as running text: "inter-" + "national" is one word, Han lines meet without a space."""
    out = ""
    for text in texts:
        text = text.strip()
        if not text:
            continue
        if not out:
            out = text
        elif out[-1] == "-" and len(out) > 1 and out[-2].isalpha() and text[0].islower():
            out = out[:-1] + text
        elif ord(out[-1]) > 0x2E7F and ord(text[0]) > 0x2E7F:
            out += text
        else:
            out += " " + text
    return out


def _passage(lines: Sequence[str], start: int, stop: int) -> Passage:
    return Passage(start=start, stop=stop, text=joined(lines[start:stop]))


def _weight(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(1 for c in text if ord(c) > 0x2E7F)
