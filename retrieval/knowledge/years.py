"""Years that a text names, whatever form it gives them: 贞观元年, 民國三十八年, 一六八一年, 公元前221年, 1681 CE.

Years are integers of the common era; those before it are negative (-140 is 140 BC), and there is no year 0.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import yaml

from retrieval.knowledge.characters import folded

STEMS, BRANCHES = "甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉戌亥"
_DIGITS = {c: str(n) for n, c in enumerate("零一二三四五六七八九")} | {"〇": "0", "○": "0", "两": "2"}
_NUMERAL = "[零〇○一二三四五六七八九十百廿卅\\d]{1,5}|元"
_WESTERN = re.compile(
    r"""(?P<bc>(?:公元|西元)前|(?<![目以之年战生从当])前|\bbce?\s?)(?:\d{1,4}|[零〇○一二三四五六七八九十百]{1,5})年?
    |(?P<ce>公元|西元|\b(?:ad|ce)\s?)(?:\d{1,4}|[零〇○一二三四五六七八九]{1,4})年?
    |(?<![\d.,])\d{1,4}\s?(?P<after>bce?|ce|ad)\b
    |(?<![\d.,零〇○一二三四五六七八九十百])(?:\d{3,4}|[一二三四五六七八九][零〇○一二三四五六七八九]{2,3})年(?!来|的?历史|多)
    |(?:\b(?:in|of|since|from|until|by|year|circa|before|after)\s|(?<=[(\-–—~至]))[12]\d{3}(?![\d%.,])
    |(?<![\d.,])[12]\d{3}(?=[)\-–—~])""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[零〇○一二三四五六七八九十百\d]+")
_CHINESE_YEAR = re.compile(rf"(?P<number>{_NUMERAL})(?=年)")
_LATEST = 2100


class _Era(NamedTuple):
    dynasty: str
    first: int
    last: int


def years_in(text: str) -> tuple[int, ...]:
    """All years that a text names, ascending; several for an era name that several dynasties used.

    A dynasty within the six characters before an era name decides between them.
    """
    plain = folded(text)
    found = {year for match in _WESTERN.finditer(plain) if (year := _western(match)) is not None}
    if "年" in plain or any(branch in plain for branch in BRANCHES):
        found |= _regnal(plain)
    return tuple(sorted(found))


def years_of_term(term: str) -> tuple[int, ...]:
    """The years that a key or a search term names; one that is a bare number of four digits is a year, too."""
    plain = folded(term)
    if re.fullmatch(r"[12]\d{3}", plain) and int(plain) <= _LATEST:
        return (int(plain),)
    return years_in(plain)


def arabic_years(text: str) -> str:
    """A folded text with the numerals before 年 in digits: 僖公二十三年 as 僖公23年, 元年 as 1年."""

    def digits(match: re.Match[str]) -> str:
        value = number(match["number"])
        return match.group() if value is None else str(value)

    return _CHINESE_YEAR.sub(digits, text) if "年" in text else text


def number(numeral: str) -> int | None:
    """The value of a numeral up to 9999: 元, 廿三, 二十三, 一百零二, 一六八一, 23; None for what is none."""
    if numeral == "元":
        return 1
    plain = "".join(_DIGITS.get(c, c) for c in numeral.replace("廿", "二十").replace("卅", "三十"))
    if plain.isdecimal():
        return int(plain) if len(plain) <= 4 else None
    match = re.fullmatch(r"(?:(\d?)百)?0?(?:(\d?)十)?(\d?)", plain)
    if match is None or not plain:
        return None
    hundreds = int(match[1] or 1) if "百" in plain else 0
    tens = int(match[2] or 1) if "十" in plain else 0
    return hundreds * 100 + tens * 10 + int(match[3] or 0)


def _western(match: re.Match[str]) -> int | None:
    digits = _NUMBER.search(match.group())
    value = number(digits.group()) if digits else None
    if not value or value > _LATEST:
        return None
    return -value if match["bc"] or (match["after"] or "").startswith("b") else value


def _regnal(plain: str) -> set[int]:
    found: set[int] = set()
    for match in _era_years().finditer(plain):
        eras = _of_dynasty(_eras()[match["era"]], plain[max(match.start() - 6, 0) : match.start()])
        for era in eras:
            found |= _in_cycle(era, match["cycle"]) if match["cycle"] else _in_reign(era, match["number"])
    return found


def _of_dynasty(eras: list[_Era], before: str) -> list[_Era]:
    """The eras of the dynasty that is named just before; all of them when none is."""
    named = [era for era in eras if era.dynasty in before]
    return named or [era for era in eras if era.dynasty[-1] in before] or eras


def _in_reign(era: _Era, numeral: str) -> set[int]:
    count = number(numeral)
    # A reign may run on for a year where the news of its end came late.
    if count is None or not 1 <= count <= _span(era) + 1:
        return set()
    return {_later(era.first, count - 1)}


def _in_cycle(era: _Era, cycle: str) -> set[int]:
    """The years of an era that have this name in the cycle of sixty (甲子 is the year 4)."""
    stem, branch = STEMS.index(cycle[0]), BRANCHES.index(cycle[1])
    years = (_later(era.first, n) for n in range(_span(era)))
    counted = ((year, year if year > 0 else year + 1) for year in years)
    return {year for year, count in counted if (count - 4) % 10 == stem and (count - 4) % 12 == branch}


def _span(era: _Era) -> int:
    crosses = era.first < 0 < era.last
    return era.last - era.first + (0 if crosses else 1)


def _later(year: int, by: int) -> int:
    later = year + by
    return later + 1 if year < 0 <= later else later


@lru_cache(maxsize=1)
def _eras() -> dict[str, list[_Era]]:
    text = resources.files("retrieval.knowledge").joinpath("eras.yaml").read_text(encoding="utf-8")
    table: dict[str, list[tuple[str, int, int]]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    eras: dict[str, list[_Era]] = {}
    for dynasty, rows in table.items():
        for name, first, last in rows:
            eras.setdefault(folded(name), []).append(_Era(folded(dynasty), first, last))
    return eras


@lru_cache(maxsize=1)
def _era_years() -> re.Pattern[str]:
    """An era name, and then a numbered year or a year of the cycle of sixty."""
    names = "|".join(sorted(_eras(), key=len, reverse=True))
    return re.compile(
        rf"(?P<era>{names})\s?(?:(?P<number>{_NUMERAL})年|(?P<cycle>[{STEMS}][{BRANCHES}])(?![{STEMS}{BRANCHES}日月]))"
    )
