"""Parts of a document that a question may name: pages, an appendix, a numbered or titled section, the main body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval.text.tokens import terms
from retrieval.types import Block, Line, Page

APPENDIX, BODY, REFERENCES = "appendix", "body", "references"
_HEADING = 100
_TOP = 3
"""Lines at the top of a page that may be its running head."""
_NUMBERED = re.compile(
    r"^\W{0,2}(?:(?:Section|Chapter|SECTION|CHAPTER)\s+)?(\d{1,2}(?:\.\d{1,2}){0,3})[.:、]?(?:\s+|$)(?=\D|$)"
)
_CHAPTER = re.compile(
    r"^\W{0,2}(?i:chapter)\s+(\d{1,2}|[IVX]{1,5})\b|^\W{0,2}第\s*(\d+|[一二三四五六七八九十]+)\s*[章部]"
)
_LETTERED = re.compile(r"^\W{0,2}(?:(?i:appendix|annex|附录|附錄)\s*)?([A-Z])(?:\.\d+)*[.:]?(?:\s+[A-Z0-9一-鿿(].*)?$")
_APPENDIX = re.compile(
    r"^\W{0,2}(?:[A-Z\d]{1,2}\.?\s+)?(?:Appendix|Appendices|APPENDIX|APPENDICES"
    r"|Supplementary (?:Material|Information)s?|附录|附錄)(?!\s+[a-z])"
)
_REFERENCES = re.compile(
    r"^\W{0,2}(?:[A-Z\d]{1,2}\.?\s+)?(?:references?(?: cited)?|bibliography|works cited|literature cited"
    r"|参考文献|參考文獻)\W*$",
    re.I,
)
_BACK = re.compile(r"^\W{0,2}(?:acknowledge?ments?|index|glossary|致谢|致謝|索引)\W*$", re.I)
_FIRST_LETTERED = re.compile(r"^A\.?\s+[A-Z][\w-]+(?:\s\S+){0,8}$")
_LEADER = re.compile(r"(?:\.\s?){4,}|…|·{3,}|\t")
_CONTENTS = re.compile(r"^\W*(?:table of )?(?:contents|list of (?:figures|tables)|目\s*[录錄次])\W*$", re.I)
_HAN = {c: n for n, c in enumerate("零一二三四五六七八九十")}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines `first` to `stop` (exclusive) of a page, in reading order."""

    page: Page
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: index of its page, its line, its text, its number ("3.2", "" where none) and its height."""

    at: int
    line: int
    text: str
    number: str
    height: float


def whole(pages: Sequence[Page]) -> list[Stretch]:
    """All lines of the pages."""
    return [Stretch(page, 0, len(page.lines)) for page in pages]


def numbered_pages(pages: Sequence[Page], numbers: Sequence[int]) -> list[Stretch]:
    """The pages of these physical numbers (negative: from the end), or of these printed ones where no page has that
    physical number."""
    wanted = [n if n > 0 else len(pages) + 1 + n for n in numbers]
    there = {page.ref.page: page for page in pages}
    if any(n in there for n in wanted):
        return whole([there[n] for n in wanted if n in there])
    printed = {page.label: page for page in pages}
    return whole([printed[str(n)] for n in wanted if str(n) in printed])


def named_part(pages: Sequence[Page], name: str) -> list[Stretch]:
    """The part of this name: "appendix", "body", "references", a number such as "3.2", or a title. Empty when there is
    none."""
    if name == BODY:
        ends = [place for part in (REFERENCES, APPENDIX) if (place := _start(pages, part)) is not None]
        return _between(pages, (0, 0), min(ends, default=(len(pages), 0)))
    if name in (APPENDIX, REFERENCES):
        start = _start(pages, name)
        return [] if start is None else _between(pages, start, _end(pages, name, start))
    found = headings(pages)
    return _numbered_part(pages, found, name) if _is_number(name) else _titled_part(pages, found, name)


def headings(pages: Sequence[Page]) -> list[Heading]:
    """The headings outside of contents pages, in order: heading blocks, and blocks of a short line with a number."""
    found: list[Heading] = []
    for at, page in enumerate(pages):
        if is_contents(page):
            continue
        for block, line in first_lines(page):
            number = heading_number(opening(page, block))
            single = len(block.lines) <= 2 and len(line.text) <= _HEADING
            if block.kind == "heading" or (number and single and block.kind in ("paragraph", "list_item")):
                text = page.block_text(block).replace("\n", " ")[: 2 * _HEADING]
                height = line.bbox.y2 - line.bbox.y1
                found.append(Heading(at, block.lines[0], text, number, height))
    return sorted(found, key=lambda heading: (heading.at, heading.line))


def first_lines(page: Page) -> Iterator[tuple[Block, Line]]:
    """The blocks that have text, each with its first line."""
    for block in page.blocks:
        if block.lines:
            yield block, page.lines[block.lines[0]]


def opening(page: Page, block: Block) -> str:
    """The first line of a block, with the second one where the first is only the number of a heading."""
    text = page.lines[block.lines[0]].text.strip()
    if len(block.lines) > 1 and re.fullmatch(r"(?:[A-Z]|\d{1,2})(?:\.\d{1,2}){0,3}\.?", text):
        return f"{text} {page.lines[block.lines[1]].text.strip()}"
    return text


def heading_number(text: str) -> str:
    """The number of a numbered heading ("3.2" of "3.2 Results", "4" of 第四章), "" when it has none."""
    if (chapter := _CHAPTER.match(text)) is not None:
        return _plain(chapter[1] or chapter[2])
    numbered = _NUMBERED.match(text)
    return numbered[1] if numbered else ""


def is_contents(page: Page) -> bool:
    """Whether a page is a table of contents or a list of figures."""
    leaders = sum(bool(_LEADER.search(line.text)) for line in page.lines)
    ends = sum(line.text.rstrip()[-1:].isdigit() for line in page.lines)
    titled = any(_CONTENTS.match(line.text) for line in page.lines[:12])
    return leaders >= 5 or (titled and ends >= 3)


def is_references_heading(text: str) -> bool:
    """Whether a line is the heading of a list of references."""
    return _REFERENCES.match(text) is not None


def _start(pages: Sequence[Page], name: str) -> tuple[int, int] | None:
    """(page index, line) of the heading of the appendix or of the references; None when there is none."""
    pattern = _REFERENCES if name == REFERENCES else _APPENDIX
    places = [place for place, text in _short_lines(pages) if pattern.match(text)]
    if name == REFERENCES:
        return _before_running_heads(places)
    # Papers letter the sections of an appendix and needn't say the word.
    after = _start(pages, REFERENCES)
    if after is not None:
        places += [place for place, text in _short_lines(pages) if place > after and _FIRST_LETTERED.match(text)]
    return min(places, default=None)


def _before_running_heads(places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The last of the places, or, where it is repeated on top of page after page, the first of these."""
    found: tuple[int, int] | None = None
    for place in reversed(places):
        if found is None or (found[1] < _TOP and found[0] - place[0] == 1):
            found = place
    return found


def _short_lines(pages: Sequence[Page]) -> Iterator[tuple[tuple[int, int], str]]:
    """((page index, line), text) of the lines that could be a heading: the first of a block, and short."""
    for at, page in enumerate(pages):
        if is_contents(page):
            continue
        for block, line in first_lines(page):
            if len(line.text) <= _HEADING and block.kind not in ("header", "footer", "table", "caption"):
                yield (at, block.lines[0]), opening(page, block)


def _end(pages: Sequence[Page], name: str, start: tuple[int, int]) -> tuple[int, int]:
    """Where the appendix or the references end: at the next part of the back matter, or with the document."""
    for place, text in _short_lines(pages):
        if place <= start:
            continue
        other = _APPENDIX.match(text) if name == REFERENCES else _REFERENCES.match(text)
        lettered = name == REFERENCES and _FIRST_LETTERED.match(text)
        if other or _BACK.match(text) or lettered:
            return place
    return (len(pages), 0)


def _between(pages: Sequence[Page], start: tuple[int, int], stop: tuple[int, int]) -> list[Stretch]:
    found = []
    for at in range(start[0], min(stop[0] + 1, len(pages))):
        first = start[1] if at == start[0] else 0
        last = stop[1] if at == stop[0] else len(pages[at].lines)
        if first < last or (not pages[at].lines and at < stop[0]):
            found.append(Stretch(pages[at], first, last))
    return found


def _is_number(name: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)*|[A-Z](?:\.\d+)*", name) is not None


def _numbered_part(pages: Sequence[Page], found: Sequence[Heading], name: str) -> list[Stretch]:
    if name[0].isalpha():
        return _lettered_part(pages, name)
    starts = [n for n, heading in enumerate(found) if heading.number == name]
    if not starts:
        return []
    chosen = starts[0]
    mine = [int(n) for n in name.split(".")]
    for heading in found[chosen + 1 :]:
        theirs = [int(n) for n in heading.number.split(".")] if heading.number else []
        beyond = theirs[: len(mine)] != mine and theirs > mine and theirs[0] <= mine[0] + 1
        if beyond or _REFERENCES.match(heading.text) or _APPENDIX.match(heading.text) or _BACK.match(heading.text):
            return _between(pages, (found[chosen].at, found[chosen].line), (heading.at, heading.line))
    return _between(pages, (found[chosen].at, found[chosen].line), (len(pages), 0))


def _lettered_part(pages: Sequence[Page], letter: str) -> list[Stretch]:
    """An appendix by its letter, to the next letter."""
    start: tuple[int, int] | None = None
    for place, text in _short_lines(pages):
        match = _LETTERED.match(text)
        if match is None:
            continue
        if start is None and match[1] == letter[0]:
            start = place
        elif start is not None and match[1] == chr(ord(letter[0]) + 1):
            return _between(pages, start, place)
    return [] if start is None else _between(pages, start, (len(pages), 0))


def _titled_part(pages: Sequence[Page], found: Sequence[Heading], title: str) -> list[Stretch]:
    """From the heading that says the title in the fewest other words to the next one of its rank with another title."""
    wanted = set(terms(title))
    matching = [heading for heading in found if wanted and wanted <= set(terms(heading.text))]
    if not matching:
        return []
    start = min(matching, key=lambda h: (len(set(terms(h.text)) - wanted), h.at, h.line))
    if start.number and "." in start.number:
        return _numbered_part(pages, found, start.number)
    after = [h for h in found if (h.at, h.line) > (start.at, start.line) and h.height >= 0.95 * start.height]
    stop = next((h for h in after if not wanted & set(terms(h.text))), None)
    return _between(pages, (start.at, start.line), (stop.at, stop.line) if stop else (len(pages), 0))


def _plain(number: str) -> str:
    if number.isdigit():
        return number
    if number[0] in _HAN:
        tens, ten, units = number.rpartition("十")
        return str((_in_order(tens, 1) * 10 if ten else 0) + _in_order(units, 0))
    values = {"I": 1, "V": 5, "X": 10}
    total = 0
    for this, following in zip(number, number[1:] + " ", strict=True):
        total += -values[this] if values.get(following, 0) > values[this] else values[this]
    return str(total)


def _in_order(han: str, without: int) -> int:
    """Han digits read one after the other, as on old pages (一二: 12); `without` any, that."""
    return int("".join(str(_HAN[c]) for c in han)) if han else without
