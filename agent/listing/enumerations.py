"""Enumerations in running text: "A, B and C" after what announces them, (1) ... (2) ..., A、B和C."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.matching import is_chinese

_TRIGGER = re.compile(
    r"(?:\b(?:includ(?:e[sd]?|ing)|such as|namely|are|were|compris(?:e[sd]?|ing)(?: of)?|consist(?:s|ed|ing)? of|"
    r"composed of|made up of|contains?|(?:divided|grouped|split|categori[sz]ed|classified) into|between|both|"
    r"as follows|known as|focus(?:es)? on|covers?|offers?|supports?|e\.g\.,?|i\.e\.,?|like)\b|:)[\s:]*",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?:^|(?<=[\s:;,：；，。]))[(（]?(\d{1,2}|[a-h]|i{1,3}|iv|v)[)）.、]\s*|([一二三四五六七八九])是|第([一二三四五六七八九])[，,]"
)
_HAN_ORDER = "一二三四五六七八九"
_LETTERS = "abcdefgh"
_ROMAN = ("i", "ii", "iii", "iv", "v")
_JOIN = re.compile(r"\s*(?:\band\b|\bor\b|\bas well as\b|&)\s+", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\s(?:which|that|who|whose|so|because|while|when|where|since|although|but|has|have|is|are|was|were|will|can|must|may|should)\s|[.!?](?:\s|$)|\s[–—]\s"
)
_TAIL = re.compile(r"\s(?:in|for|to|from|by|with|on|at|as|during|through|under|within|over)\s", re.IGNORECASE)
_HELD = re.compile(
    r"\b(?:in|on|at|to|by|with|from|is|are|was|were|has|have|that|which)\b|^\w+(?:ly|ed)$", re.IGNORECASE
)
_NO_NOUN = re.compile(
    r"(?:to|in|on|at|by|with|from|for|of|as|than|not|then|also|often|is|are|was|were|be|has|have|it|they|he|she|we|this)\b|"
    r"[a-z]{3,}ed\s",
    re.IGNORECASE,
)
# The article of a name ("the Jordan Brand") is part of it.
_ARTICLE = re.compile(r"^(?:the(?=\s[a-z\d])|a|an|both|either|its|their|our|also)\s+")
_HAN_TRIGGER = re.compile(
    r".*(?:包括了?|包含了?|涵盖了?|分为|分成|分别[为是]|主要[有是为]|[有为是即如由含到]|[:：])", re.DOTALL
)
_PAUSE = re.compile("、")
_HAN_JOIN = re.compile(r"以及|[和及与或]")
_HAN_END = re.compile(
    r"等.*|(?:[一二两三四五六七八九十]|\d{1,2})(?:[个大种类项方点家位名所座]|方面).*|[组构]成.*|的.*", re.DOTALL
)
_MOST_WORDS = 10
_MOST_SIGNS = 24
_REACH = 600


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Items, and what stands before them in the sentence. `sure` is how firmly the form marks them, 0 to 1."""

    lead: str
    items: tuple[str, ...]
    sure: float


def enumerations(text: str) -> list[Enumeration]:
    """The enumerations of a text of at least two items, surest first."""
    found = list(_inline(text))
    found += _chinese(text) if is_chinese(text) else _english(text)
    return sorted(found, key=lambda item: (-item.sure, -len(item.items)))


def _inline(text: str) -> Iterator[Enumeration]:
    """(1) ..., (2) ...; 一是……；二是……: parts numbered in order."""
    marks: list[re.Match[str]] = []
    for match in _INLINE.finditer(text):
        if _order(match) == len(marks) + 1:
            marks.append(match)
    if len(marks) < 2:
        return
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    items = [text[mark.end() : end].strip(" ,;，；、。.") for mark, end in zip(marks, ends, strict=True)]
    items = [re.sub(r"[\s;,]+(?:and|or)$", "", item).strip(" ;,") for item in items]
    if all(0 < len(item) <= 200 for item in items):
        yield Enumeration(text[: marks[0].start()].strip(), tuple(items), 0.9)


def _order(match: re.Match[str]) -> int:
    if (han := match[2] or match[3]) is not None:
        return _HAN_ORDER.index(han) + 1
    mark = match[1]
    if mark.isdigit():
        return int(mark)
    return _ROMAN.index(mark) + 1 if mark in _ROMAN else _LETTERS.index(mark) + 1


def _english(text: str) -> Iterator[Enumeration]:
    for trigger in _TRIGGER.finditer(text):
        segment = text[trigger.end() : trigger.end() + _REACH]
        colon = ":" in trigger.group()
        items = _coordinated(segment, listed=colon)
        if len(items) >= 2:
            sure = 0.85 if colon else 0.75 if len(items) > 2 else 0.5
            yield Enumeration(text[: trigger.end()].strip(" :"), tuple(items), sure)
    # Without a word that announces them: the first item is cut to the length of the others.
    for comma in re.finditer(r"(?<=\w),\s", text):
        rest = _coordinated(text[comma.end() : comma.end() + _REACH], listed=False)
        if len(rest) >= 2 and all(len(item.split()) <= _MOST_WORDS // 2 for item in rest):
            before = _opening(text[: comma.start()], rest)
            if (first := _clean(before)) and not _HELD.search(first):
                yield Enumeration(text[: comma.start() - len(before)].strip(), (first, *rest), 0.4)
            return


def _opening(text: str, others: Sequence[str]) -> str:
    """The end of a text that is as long as the other items, without the preposition before it."""
    words = text.split()
    size = max(len(item.split()) for item in others)
    held = text.rsplit(maxsplit=size + 1)
    tail = " ".join(held[-(size + 1) :])
    found = re.match(r".*\b(?:in|on|at|to|for|by|of|with|from|between|into)\s+", tail)
    return tail[found.end() :] if found else " ".join(words[-size:])


def _coordinated(segment: str, *, listed: bool) -> list[str]:
    """The members of the coordination that a text starts with; none when it has no end that shows."""
    separator = ";" if _split(segment, ";")[1:] and listed else ","
    parts = _split(segment, separator)
    items: list[str] = []
    for number, part in enumerate(parts):
        joined = _JOIN.match(part)
        if joined:
            items.append(_last(part[joined.end() :], items))
            return _valid(items)
        halves = _JOIN.split(part, maxsplit=1)
        if len(halves) == 2 and separator == "," and len(halves[0].split()) <= _MOST_WORDS // 2:
            items.append(halves[0])
            items.append(_last(halves[1], items))
            return _valid(items)
        if number and _CLAUSE.search(part):
            break
        items.append(part)
    plain = listed and len(parts) >= 3 and len(segment) < _REACH and all(len(part.split()) <= 6 for part in parts)
    return _valid([*items[:-1], _last(items[-1], items[:-1])]) if plain and items else []


def _last(part: str, others: Sequence[str]) -> str:
    """The last item without the rest of the sentence."""
    end = _CLAUSE.search(part)
    part = part[: end.start()] if end else part
    longest = max((len(item.split()) for item in others), default=3)
    tail = _TAIL.search(part)
    return part[: tail.start()] if tail and len(part.split()) > longest + 1 else part


def _valid(items: Sequence[str]) -> list[str]:
    cleaned = [_clean(item) for item in items]
    fine = all(item and len(item.split()) <= _MOST_WORDS and not _NO_NOUN.match(item) for item in cleaned)
    return cleaned if fine and len(set(cleaned)) == len(cleaned) > 1 else []


def _clean(item: str) -> str:
    item = item.strip(" ,;:.•–—")
    if item.count("(") != item.count(")"):
        item = item.strip("()")
    return _ARTICLE.sub("", item).strip()


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside of parentheses and numbers."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        inside = sign == "," and text[at + 1 : at + 2].isdigit() and text[at - 1 : at].isdigit()
        if sign == separator and depth <= 0 and not inside:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _outside(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts of a Chinese text between separators that stand outside of brackets, titles and quotation marks."""
    parts, start = [], 0
    for match in separator.finditer(text):
        before = text[: match.start()]
        if all(before.count(left) <= before.count(right) for left, right in ("（）", "()", "《》", "「」", "“”")):
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _chinese(text: str) -> Iterator[Enumeration]:
    start = 0
    for clause in re.split(r"(?<=[，。；！？,;])", text):
        pieces = _outside(_PAUSE, clause.rstrip("，。；！？,;"))
        lead = text[:start]
        start += len(clause)
        if len(pieces) < 2:
            continue
        first = pieces[0]
        trigger = _HAN_TRIGGER.match(first)
        opening = first[trigger.end() :] if trigger else first
        last = _outside(_HAN_JOIN, pieces[-1])[:2]
        items = [opening, *pieces[1:-1], *(_HAN_END.sub("", part) or part for part in last)]
        items = [item.strip(" “”《》") if item.count("《") != 1 else item.strip() for item in items]
        if all(0 < len(item) <= _MOST_SIGNS for item in items) and len(set(items)) == len(items):
            sure = 0.8 if trigger else 0.5
            yield Enumeration(lead + first[: trigger.end() if trigger else 0], tuple(items), sure)
