"""Pages cut into passages: runs of consecutive lines, short enough that a match says where on the page it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.types import Page

PASSAGE_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `start` to `stop` (exclusive) of a page, as one text."""

    page: int
    start: int
    stop: int
    text: str


def passages(page: Page, *, characters: int = PASSAGE_CHARACTERS) -> list[Passage]:
    """Cut a page, in reading order, into passages of about `characters`; words broken at a line end are joined.

    Han text counts double, since a character there says as much as two letters do.
    """
    cut: list[Passage] = []
    start, size = 0, 0
    for index, line in enumerate(page.lines):
        size += _weight(line.text)
        if size >= characters:
            cut.append(_passage(page, start, index + 1))
            start, size = index + 1, 0
    if start < len(page.lines):
        cut.append(_passage(page, start, len(page.lines)))
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


def _passage(page: Page, start: int, stop: int) -> Passage:
    text = joined([line.text for line in page.lines[start:stop]])
    return Passage(page=page.ref.page, start=start, stop=stop, text=text)


def _weight(text: str) -> int:
    return len(text) + sum(1 for c in text if ord(c) > 0x2E7F)
