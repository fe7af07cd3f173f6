"""What an answer's text is: one number with its currency, scale and unit, or the items of a list."""

from __future__ import annotations

import re

from agent.values import Value, values

_BEFORE = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|some|a total of|约|約|大约|共)?\s*[~≈]?\s*", re.I
)
_UNIT = re.compile(r"(?!(?:st|nd|rd|th)\b)[\s-]*(?:[^\W\d_]++[²³]?|[°/·])(?:[\s/·-]*+[^\W\d_]++[²³]?){0,3}\s*")
_SEPARATOR = re.compile(r"[;\n；]|,(?!\d{3}\b)|，|、|\band\b")
_KINDS = ("number", "money", "percent", "year")


def quantity(text: str) -> Value | None:
    """The number that a text is, with a currency, scale and a unit of at most four words; None for any other text.

    "43 metres", "$1.2 million", "about 3 people" and "三百棵" are; "10-12", "Pier 45", "5th" and "4:30" are not.
    """
    stripped = text.strip().rstrip(".。")
    found = values(stripped)
    if len(found) != 1 or found[0].kind not in _KINDS or found[0].number is None:
        return None
    before, after = stripped[: found[0].start], stripped[found[0].stop :]
    if not _BEFORE.fullmatch(before) or (after.strip() and not _UNIT.fullmatch(after)):
        return None
    return found[0]


def listed(text: str) -> list[str]:
    """The items of a list in one text, separated by semicolons, commas, line breaks or "and"."""
    items = [item.strip(" .") for item in _SEPARATOR.split(text)]
    return [item for item in items if item]
