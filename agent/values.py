"""Numbers, percentages, amounts of money and dates in text, English and Chinese, as values that can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from retrieval.types import Frozen

ValueKind = Literal["number", "percent", "money", "date", "year"]
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_HAN_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2, "○": 0}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
_HAN_NUMBER = "〇零○一二三四五六七八九十百千两兩廿卅"
_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "million": 10**6,
    "mn": 10**6,
    "m": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "b": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
    "百万": 10**6,
    "千万": 10**7,
}
_CURRENCY = r"US\$|HK\$|NT\$|[$€£¥￥₹]|USD|EUR|GBP|RMB|CNY|SGD"
_NUMBER = re.compile(
    rf"(?P<cur>(?:{_CURRENCY})\s?)?"
    r"(?P<num>(?<![A-Za-z0-9.:])[-−–]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![A-Za-z0-9.:])[-−–]?\d+(?:\.\d+)?|(?<=[$€£¥￥₹])\.\d+)"
    r"(?![AC-JLN-Z])(?P<scale>\s?(?:hundred|thousand|million|billion|trillion|mn|bn|百万|千万|[万萬亿億])(?![a-z])|(?<=\d)[KMBkmb]\b)?"
    r"(?P<pct>\s?(?:%|％|percent\b|per\s?cent\b|percentage points?\b))?"
    r"(?P<post>\s?(?:dollars?|euros?|pounds?|美元|港元|人民币|元|USD|RMB)(?![a-z]))?",
    re.IGNORECASE,
)
_HAN_PERCENT = re.compile(rf"百分之([{_HAN_NUMBER}\d.点]+)")
_HAN_COUNTERS = "年月日人名個个條条種种次岁歲卷回元里尺寸斤石两兩匹户戶口篇首畝亩步丈餘余"
_HAN_RUN = re.compile(
    rf"[{_HAN_NUMBER}][{_HAN_NUMBER}万萬亿億]+|(?<![{_HAN_NUMBER}第])[{_HAN_NUMBER}](?=[{_HAN_COUNTERS}])"
)
_DATES = (
    re.compile(r"(?P<y>\d{4})\s?[-/.年]\s?(?P<m>\d{1,2})(?:\s?[-/.月]\s?(?P<d>\d{1,2})日?|月)"),
    re.compile(rf"\b(?P<mon>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}})", re.IGNORECASE),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<mon>{_MONTH}),?\s+(?P<y>\d{{4}})", re.IGNORECASE),
    re.compile(rf"\b(?P<mon>{_MONTH}),?\s+(?P<y>\d{{4}})\b", re.IGNORECASE),
    re.compile(r"\b(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})\b"),
    re.compile(rf"\b(?P<mon>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,?\s*\d{{3}})", re.IGNORECASE),
    re.compile(
        rf"(?P<hy>[〇零○一二三四五六七八九]{{4}})年(?:(?P<hm>[{_HAN_NUMBER}]{{1,3}})月)?(?:(?P<hd>[{_HAN_NUMBER}]{{1,3}})日)?"
    ),
    re.compile(r"(?P<m>\d{1,2})月(?P<d>\d{1,2})日"),
)
_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]", re.IGNORECASE
)
_YEAR = re.compile(
    r"(?<![\d.,$€£¥])(?:FY\s?|fiscal\s(?:year\s)?)?(?P<y>(?:1[5-9]|20)\d{2})(?![\d%,.]\d|\d|%)年?", re.IGNORECASE
)
_FY_SHORT = re.compile(r"\b(?:FY|Q[1-4]\s?)['’]?(?P<y>\d{2})\b", re.IGNORECASE)


class Value(Frozen):
    """A value in a text: `text[start:stop]`. `number` is without scale; `scale` is 1 where none is written.

    Dates have `day` = (year, month, day), None for a part that isn't there.
    """

    kind: ValueKind
    text: str
    start: int
    stop: int
    number: Decimal | None = None
    scale: int = 1
    currency: str = ""
    day: tuple[int | None, int | None, int | None] = (None, None, None)
    weekday: int | None = None

    def same(self, other: Value) -> bool:
        """Whether two values say the same: equal numbers (either as written or with scale), or dates that agree."""
        if self.weekday or other.weekday:
            return self.weekday == other.weekday
        if "date" in (self.kind, other.kind) or self.kind == other.kind == "year":
            pairs = [(a, b) for a, b in zip(self.day, other.day, strict=True) if a is not None and b is not None]
            return bool(pairs) and all(a == b for a, b in pairs)
        if self.number is None or other.number is None:
            return False
        if (self.kind == "percent") != (other.kind == "percent") and self.scale == other.scale == 1:
            return abs(self.number) == abs(other.number)
        mine, theirs = abs(self.number), abs(other.number)
        if mine == theirs:
            return not mine or self.scale == other.scale or 1 in (self.scale, other.scale)
        return self.scale != other.scale and mine * self.scale == theirs * other.scale


@lru_cache(maxsize=20_000)
def values(text: str) -> tuple[Value, ...]:
    """The values of a text in the order in which they stand, without overlaps; dates win over their numbers."""
    found = [*_dates(text), *_weekdays(text), *_percents(text)]
    taken = bytearray(len(text))
    _take(taken, found)
    for more in (_years, _numbers, _han_numbers):
        free = [value for value in more(text) if not _overlaps(value, taken)]
        _take(taken, free)
        found += free
    return tuple(sorted(found, key=lambda value: value.start))


@lru_cache(maxsize=20_000)
def figurative(value: Value) -> bool:
    """Whether a number in Chinese words may be a manner of speaking ("千万", "百里", "五五") in running text.

    Digits, dates, and numbers of a digit and a power ("三百二十") are meant as numbers.
    """
    if value.kind != "number" or any(char.isdigit() and char.isascii() for char in value.text):
        return False
    return not (re.search("[一二三四五六七八九]", value.text) and re.search("[十百千万萬亿億]", value.text))


def years(text: str) -> tuple[str, ...]:
    """The years that a text names, four digits each, without repeats ("FY21" is 2021)."""
    found = [str(value.day[0]) for value in values(text) if value.kind in ("date", "year") and value.day[0]]
    found += [str(2000 + int(match["y"])) for match in _FY_SHORT.finditer(text)]
    return tuple(dict.fromkeys(found))


def han_number(text: str) -> int | None:
    """A number in Chinese characters ("三百二十", "二〇二一", "两万"), None when it is none."""
    if not text or any(c not in _HAN_NUMBER and c not in _HAN_SCALES for c in text):
        return None
    text = text.replace("廿", "二十").replace("卅", "三十")
    if len(text) > 1 and all(c in _HAN_DIGITS for c in text):
        return int("".join(str(_HAN_DIGITS[c]) for c in text))
    total = section = digit = 0
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char in _HAN_UNITS:
            section, digit = section + (digit or 1) * _HAN_UNITS[char], 0
        else:
            total, section, digit = total + (section + digit or 1) * _HAN_SCALES[char], 0, 0
    return total + section + digit


def _take(taken: bytearray, found: Iterable[Value]) -> None:
    """Mark the characters of values, one byte each, so that looking for overlaps doesn't compare each with all."""
    for value in found:
        taken[value.start : value.stop] = b"\1" * (value.stop - value.start)


def _overlaps(value: Value, taken: bytearray) -> bool:
    return taken.find(1, value.start, value.stop) >= 0


def _dates(text: str) -> list[Value]:
    found: list[Value] = []
    taken = bytearray(len(text))
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            year = int(parts["y"]) if parts.get("y") else han_number(parts.get("hy") or "")
            if parts.get("mon"):
                month: int | None = next(
                    i for i, name in enumerate(_MONTHS, 1) if name.startswith(parts["mon"][:3].lower())
                )
            else:
                month = int(parts["m"]) if parts.get("m") else han_number(parts.get("hm") or "")
            day = int(parts["d"]) if parts.get("d") else han_number(parts.get("hd") or "")
            if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
                continue
            kind: ValueKind = "date" if month is not None else "year"
            value = Value(kind=kind, text=match.group(), start=match.start(), stop=match.end(), day=(year, month, day))
            if not _overlaps(value, taken):
                found.append(value)
                _take(taken, [value])
    return found


def _weekdays(text: str) -> list[Value]:
    return [
        Value(kind="date", text=m.group(), start=m.start(), stop=m.end(), weekday=_weekday(m.group()))
        for m in _WEEKDAY.finditer(text)
    ]


def _weekday(text: str) -> int:
    """1 for Monday to 7 for Sunday."""
    if text[0].isascii():
        return ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].index(text[:3].lower()) + 1
    return "一二三四五六日".index(text[-1].replace("天", "日")) + 1


def _years(text: str) -> list[Value]:
    return [
        Value(
            kind="year",
            text=m.group(),
            start=m.start(),
            stop=m.end(),
            number=Decimal(m["y"]),
            day=(int(m["y"]), None, None),
        )
        for m in _YEAR.finditer(text)
    ]


def _percents(text: str) -> list[Value]:
    found = []
    for match in _HAN_PERCENT.finditer(text):
        number = han_number(match.group(1))
        if number is not None:
            found.append(
                Value(kind="percent", text=match.group(), start=match.start(), stop=match.end(), number=Decimal(number))
            )
    return found


def _numbers(text: str) -> list[Value]:
    found = []
    for match in _NUMBER.finditer(text):
        number = Decimal(match["num"].replace(",", "").replace("−", "-").replace("–", "-"))
        written = match.group().strip()
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        if number < 0 and start and not text[start - 1].isspace() and text[start - 1] not in "([:":
            # A dash between two numbers ("10-12") joins them; only one that stands free is a sign.
            number, written, start = -number, written.lstrip("-−–"), start + 1
        kind: ValueKind = "percent" if match["pct"] else "money" if match["cur"] or match["post"] else "number"
        scale = _SCALES[match["scale"].strip().lower()] if match["scale"] else 1
        found.append(
            Value(
                kind=kind,
                text=written,
                start=start,
                stop=start + len(written),
                number=number,
                scale=scale,
                currency=(match["cur"] or match["post"] or "").strip(),
            )
        )
    return found


def _han_numbers(text: str) -> list[Value]:
    found = []
    for match in _HAN_RUN.finditer(text):
        number = han_number(match.group())
        if number is not None:
            found.append(
                Value(kind="number", text=match.group(), start=match.start(), stop=match.end(), number=Decimal(number))
            )
    return found
