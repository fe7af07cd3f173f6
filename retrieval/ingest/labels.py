"""The page number printed on a page ("iv", "12"), read from running heads and feet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from retrieval.types import NO_LABEL

_ZONE = 0.1
_NUMERALS = "〇零一二三四五六七八九十百"
_ALONE = re.compile(
    rf"[-–—~·•\[(|\s]*(\d{{1,4}}|[ivxlcdm]{{1,8}}|[IVXLCDM]{{1,8}}|[A-Z]{{1,3}}-\d{{1,4}}|[{_NUMERALS}]{{1,6}})[-–—~·•\])|\s]*"
)
_NAMED = re.compile(
    rf"(?:\bpage|\bp\.|\bslide|\bseite)\s*(\d{{1,4}}|[ivxlc]{{1,8}})\b|第\s*(\d{{1,4}}|[{_NUMERALS}]{{1,6}})\s*[页頁]",
    re.IGNORECASE,
)
_OF = re.compile(r"[-–—\s]*(\d{1,4})\s*(?:/|of|von|de)\s*\d{1,4}[-–—\s]*", re.IGNORECASE)
_AT_END = re.compile(r"(?:^|[|•·–—\s])\s*(\d{1,4}|[ivxl]{1,6})\s*$")
_AT_START = re.compile(r"^\s*(\d{1,4}|[ivxl]{1,6})\s*(?:[|•·–—]|\s{1,}\S)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_HAN = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0}


@dataclass(frozen=True, slots=True)
class Candidates:
    """What could be a page's printed number: `alone` stands by itself or is named a page, `within` ends a line."""

    alone: tuple[str, ...] = ()
    within: tuple[str, ...] = ()


def candidates(lines: Iterable[tuple[str, float, float]]) -> Candidates:
    """Candidates among the lines (text, y1, y2 in [0, 1]) at the page's top and bottom edge."""
    alone: list[str] = []
    within: list[str] = []
    for text, y1, y2 in lines:
        if (y2 > _ZONE and y1 < 1 - _ZONE) or len(text) > 160:
            continue
        if found := _ALONE.fullmatch(text) or _OF.fullmatch(text):
            alone.append(found[1])
        elif found := _NAMED.search(text):
            alone.append(found[1] or found[2])
        else:
            within.extend(m[1] for m in (_AT_END.search(text), _AT_START.search(text)) if m)
    return Candidates(tuple(dict.fromkeys(alone)), tuple(dict.fromkeys(within)))


def number(label: str) -> tuple[str, int] | None:
    """(numbering, value) of a label: arabic, roman, Chinese, or a prefixed number such as "A-3"."""
    if label.isascii() and label.isdigit():
        return "arabic", int(label)
    lower = label.lower()
    if all(c in _ROMAN for c in lower):
        value = _roman(lower)
        return None if value is None else ("roman", value)
    if "-" in label:
        prefix, _, digits = label.rpartition("-")
        return (prefix, int(digits)) if digits.isdigit() else None
    value = _han(label)
    return None if value is None else ("han", value)


def _roman(text: str) -> int | None:
    total = 0
    for this, following in zip(text, text[1:] + " ", strict=True):
        value = _ROMAN[this]
        total += -value if _ROMAN.get(following, 0) > value else value
    return total if 0 < total < 400 else None


def _han(text: str) -> int | None:
    if not text or any(c not in _NUMERALS for c in text):
        return None
    if "十" not in text and "百" not in text:
        return int("".join(str(_HAN[c]) for c in text))
    hundreds, has_hundred, rest = text.rpartition("百")
    tens, has_ten, units = rest.rpartition("十")
    total = (_HAN.get(hundreds, 1) * 100) if has_hundred else 0
    if has_ten:
        total += _HAN.get(tens, 1) * 10
    else:
        units = rest
    return total + _HAN.get(units.lstrip("〇零"), 0)


def printed_labels(found: Mapping[int, Candidates], pages: int) -> dict[int, str]:
    """The label of each page (1-based), "none" where there is none.

    A printed number is believed when it advances with the pages: the same numbering at the same distance from the
    physical page number on a few pages. On a document of one page it is believed when it stands alone.
    """
    if pages == 1:
        alone = [text for text in found.get(1, Candidates()).alone if number(text)]
        return {1: alone[0] if len(alone) == 1 else NO_LABEL}
    votes: Counter[tuple[str, int]] = Counter()
    for page, texts in found.items():
        votes.update({key for text in (*texts.alone, *texts.within) if (key := _key(text, page))})
    least = 3 if pages > 6 else 2
    out: dict[int, str] = {}
    for page in range(1, pages + 1):
        texts = found.get(page, Candidates())
        best, weight = NO_LABEL, least - 1
        for text in (*texts.alone, *texts.within):
            key = _key(text, page)
            if key and votes[key] > weight:
                best, weight = text, votes[key]
        out[page] = best
    return out


def _key(text: str, page: int) -> tuple[str, int] | None:
    """(numbering, distance from the physical page): the same on every page of a run."""
    numbered = number(text)
    return (numbered[0], numbered[1] - page) if numbered else None


def is_plain_count(labels: Sequence[str]) -> bool:
    """Whether a file's own labels only count its pages, as many programs write without being asked."""
    return all(label == str(n) for n, label in enumerate(labels, 1))
