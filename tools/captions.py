"""Things of a document that have captions or numbers: figures, tables, exhibits, equations; and bare pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from retrieval.types import BBox, Block, Page
from tools.parts import Stretch, is_contents

Captioned = Literal["figure", "table", "chart", "photo", "exhibit", "algorithm", "box"]
_WORDS: dict[Captioned, str] = {
    "figure": r"figures?|figs?|图|圖|附图|附圖",
    "table": r"tables?|tab|表|附表|表格",
    "chart": r"charts?|graphs?|图表|圖表",
    "photo": r"photos?|photographs?|pictures?|images?|plates?|照片|图片|圖片",
    "exhibit": r"exhibits?|annex|annexes",
    "algorithm": r"algorithms?|listings?|算法",
    "box": r"box|boxes|panel|专栏|專欄",
}
_NUMBER = r"((?:[A-Z]{1,2}[-.]?)?\d{1,3}(?:[.\-–]\d{1,3}){0,2}|[IVX]{1,5}|[A-Z])"
_MENTION_VERB = re.compile(
    r"[和及与與或、所中为為是显顯给給可展描]|(?:上|下)(?:所|可)|\s?(?:所示|显示|顯示|给出|展示|描述|中)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that was found: where its text stands, what it says, and what tells it from the others."""

    page: Page
    lines: tuple[int, ...]
    text: str
    key: str


def captions(stretches: Sequence[Stretch], kind: Captioned) -> list[Found]:
    """The first caption of each number, in order. A mention at the start of a sentence is no caption."""
    found: dict[str, Found] = {}
    for stretch in stretches:
        if is_contents(stretch.page):
            continue
        for block in stretch.page.blocks:
            for place, i in enumerate(block.lines):
                if not stretch.first <= i < stretch.stop:
                    continue
                text = stretch.page.lines[i].text.strip()
                key = _caption_key(text, kind, opens=place == 0 or block.kind in ("caption", "figure"))
                if key and key not in found:
                    lines = tuple(block.lines[place : place + 3]) if block.kind == "caption" else (i,)
                    found[key] = Found(stretch.page, lines, text, key)
    return list(found.values())


def mentions_of(stretches: Sequence[Stretch], kind: Captioned) -> list[Found]:
    """The first mention of each number anywhere in the text, such as each exhibit that a letter speaks of."""
    pattern = re.compile(rf"\b(?i:{_WORDS[kind]})\.?\s*(?:(?i:nos?)\.?\s*)?{_NUMBER}(?![A-Za-z0-9]|[-.–]\d)")
    found: dict[str, Found] = {}
    for stretch in stretches:
        for i in range(stretch.first, stretch.stop):
            for match in pattern.finditer(stretch.page.lines[i].text):
                key = match[1].upper()
                if key not in found:
                    found[key] = Found(stretch.page, (i,), stretch.page.lines[i].text.strip(), key)
    return list(found.values())


def sureness(keys: Iterable[str]) -> float:
    """How likely captions with these numbers are all there are: 0.85 without a gap in the numbering, less with gaps."""
    series: dict[str, list[int]] = {}
    for key in keys:
        digits = re.search(r"\d+$", key)
        series.setdefault(key[: digits.start()] if digits else "", []).append(int(digits.group()) if digits else 0)
    missing = sum(max(numbers) - min(numbers) + 1 - len(set(numbers)) for numbers in series.values())
    total = sum(len(numbers) for numbers in series.values())
    # A lone "Figure 7" in a chapter is as good as a run, but a run that starts at 2 lost its first.
    late = sum(1 for prefix, numbers in series.items() if not prefix and min(numbers) == 2)
    return 0.85 * (total / (total + missing + late)) ** 3 if total else 0.0


def pictures(pages: Iterable[Page]) -> list[Found]:
    """The figure blocks of laid-out pages, with the text that stands on them or nearest to them."""
    found = []
    for page in pages:
        for number, block in enumerate(figure_blocks(page)):
            lines = block.lines or _nearest(page, block.bbox)
            if lines:
                text = " ".join(page.lines[i].text.strip() for i in lines[:6])
                found.append(Found(page, tuple(lines[:6]), text, f"{page.ref.page}.{number}"))
    return found


def figure_blocks(page: Page) -> list[Block]:
    """Figures that stand for themselves: those inside a larger one are part of it, and rules and icons are none."""
    blocks = sorted((b for b in page.blocks if b.kind == "figure"), key=lambda b: -b.bbox.area)
    kept: list[Block] = []
    for block in blocks:
        if block.bbox.area >= 0.004 and not any(block.bbox.coverage_by(other.bbox) > 0.7 for other in kept):
            kept.append(block)
    return sorted(kept, key=lambda block: (block.bbox.y1, block.bbox.x1))


def tables(pages: Iterable[Page]) -> list[Found]:
    """The table blocks of pages."""
    return [
        Found(page, block.lines[:3], page.block_text(block)[:200].replace("\n", " "), f"{page.ref.page}.{number}")
        for page in pages
        for number, block in enumerate(b for b in page.blocks if b.kind == "table" and b.lines)
    ]


def equations(stretches: Sequence[Stretch]) -> list[Found]:
    """Equations by the number in parentheses at the end of their line: the run 1, 2, 3 as far as it goes."""
    found: dict[int, Found] = {}
    for stretch in stretches:
        for i in range(stretch.first, stretch.stop):
            text = stretch.page.lines[i].text.strip()
            match = re.search(r"(?:^|[^\w(]\s*|\s)[(（](\d{1,3})[)）]$", text)
            if match and int(match[1]) == len(found) + 1:
                found[int(match[1])] = Found(stretch.page, (i,), text, match[1])
    return list(found.values())


def _caption_key(text: str, kind: Captioned, *, opens: bool) -> str:
    """The number of a caption of this kind, without the letter of a part ("3" of "Figure 3b"); "" for other lines."""
    match = re.match(
        rf"^\W{{0,3}}(?i:{_WORDS[kind]})(?:\.|\b)?\s*(?:(?i:no)\.?\s*)?{_NUMBER}([a-z]?)(?![A-Za-z0-9]|[-.–]\d)", text
    )
    if match is None or text[:1].islower():
        return ""
    rest = text[match.end() :]
    chinese = not match.group().strip()[:1].isascii()
    if chinese and _MENTION_VERB.match(rest):
        return ""
    follows = rest.lstrip()
    marked = rest[:1] in tuple(":：|—–") or (rest[:1] == "." and opens)
    titled = opens and (not follows or not follows[0].islower()) and rest[:1] not in tuple(",，;；)）")
    return match[1].upper().replace("–", "-") if marked or titled else ""


def _nearest(page: Page, box: BBox) -> tuple[int, ...]:
    """The line nearest to a box, from its caption if that is near; none on a page without text."""
    if not page.lines:
        return ()
    captions = [i for b in page.blocks if b.kind == "caption" for i in b.lines]
    lines = captions or list(range(len(page.lines)))
    return (min(lines, key=lambda i: _gap(page.lines[i].bbox, box)),)


def _gap(a: BBox, b: BBox) -> float:
    across = max(a.x1 - b.x2, b.x1 - a.x2, 0.0)
    down = max(a.y1 - b.y2, b.y1 - a.y2, 0.0)
    return across + down
