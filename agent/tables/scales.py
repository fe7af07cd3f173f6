"""What a page says about the unit of its amounts: notes such as "(in millions)" or 单位：万元, and their powers."""

from __future__ import annotations

import re

UNIT_NOTE = re.compile(
    r"\(?[^()\n]{0,40}\b(?:in|expressed in) (?:US |U\.S\. )?(?:\$ ?|dollars |euros? |RMB |HK\$ ?)?"
    r"(?:thousands|millions|billions)\b[^()\n]{0,60}\)?"
    r"|\((?:[^()\n]{0,20} )?(?:US|HK|NT)?[$€£¥￥]? ?"
    r"(?:thousands?|millions?|billions?|[mb]n?|0{3}[’'`]?s?)\b[^()\n]{0,40}\)"
    r"|\(?(?:in )?(?:US|HK)?[$€£¥] ?[’'`]?000[’'`]?s?\)?"
    r"|[(（]?(?:金额)?单位[：:]?\s*(?:人民币|港币|美元)?\s*[百千十]?[万亿]?[元吨人股%]\S{0,4}[)）]?"
    r"|[(（](?:人民币|港币)?[百千十]?[万亿]元[)）]",
    re.IGNORECASE,
)
"""A note about the unit of a table's amounts."""
_POWERS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"billion|十亿|[$€£¥]\s?bn?\b", re.IGNORECASE), 9),
    (re.compile(r"亿"), 8),
    (re.compile(r"million|百万|[$€£¥]\s?mn?\b|\(mn?\)", re.IGNORECASE), 6),
    (re.compile(r"万"), 4),
    (re.compile(r"thousand|千元|000", re.IGNORECASE), 3),
)
_WORDS = {9: "billion", 6: "million", 3: "thousand", 8: "亿", 4: "万"}
_CURRENCY = re.compile(r"US\$|HK\$|NT\$|[$€£¥￥]|RMB|人民币")
_MEASURED = re.compile(r"\b(?:thousands|millions|billions) of ((?:US |U\.S\. )?[a-z]+)", re.IGNORECASE)


_EXCEPTION = re.compile(r"\bexcept\b|除外|另有", re.IGNORECASE)
_SHARES = re.compile(r"\bshares?\b|每股", re.IGNORECASE)


def excepts(note: str) -> bool:
    """Whether a note leaves something out, as "in millions, except per share amounts" does."""
    return _EXCEPTION.search(note) is not None


def of_shares(text: str) -> bool:
    """Whether a label or head speaks of shares, which notes about amounts leave out."""
    return _SHARES.search(text) is not None


def power_of(text: str) -> int:
    """The power of ten that a note or a column head gives its amounts; 0 where it says nothing."""
    return next((power for pattern, power in _POWERS if pattern.search(text)), 0)


def scale_word(text: str) -> str:
    """How the scale that a note names is written after an amount ("million"); "" where it names none."""
    return _WORDS.get(power_of(text), "")


def measured_in(text: str) -> str:
    """What a note counts in thousands or millions ("in thousands of pounds"), "" where it says nothing."""
    match = _MEASURED.search(text)
    return match.group(1) if match else ""


def currency_of(text: str) -> str:
    """The currency sign that a note names, "" where it names none."""
    match = _CURRENCY.search(text)
    return match.group() if match else ""
