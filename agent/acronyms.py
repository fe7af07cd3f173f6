"""Acronyms and short names: which one a question asks for, and the full name that a text spells out for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from agent.matching import is_chinese

_SHORT = r"[\"“‘'「]?(?P<x>[A-Z][A-Za-z0-9&./-]*[A-Z0-9][A-Za-z0-9]{0,2}|[A-Z]{2,}s?)[\"”’'」]?"
_KINDS = "acronym|abbreviation|initialism|initials|letters"
_CALLED = rf"(?:the )?(?:{_KINDS}|term|short form)?\s*"
_WHOLE = r"(?:full|complete|expanded|long|unabbreviated) (?:name|form|term|meaning|version|title|spelling|expansion)"
_ASKED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:[Ww]hat|[Hh]ow) (?:does|do|did|is|are|was) {_CALLED}{_SHORT}\s+"
        r"(?:stands? for|short for|abbreviated from)",
        rf"\b[Ww]hat (?:does|do) (?:the )?(?:{_KINDS}) {_SHORT} (?:mean|represent|refer)",
        rf"\b{_WHOLE} (?:of|for) {_CALLED}{_SHORT}",
        rf"\b(?:expansion|meaning) of (?:the )?(?:{_KINDS}) {_SHORT}",
        rf"{_SHORT} (?:is |an? |the )*(?:acronym|abbreviation|short|initialism) (?:for|of)\b",
        rf"\b(?:acronym|abbreviation) {_SHORT} stand",
        rf"{_SHORT}\s*(?:一词|这个词|这一缩写)?是(?:什么|哪[个些一]\w{{0,4}})的(?:英文)?(?:缩写|简称|缩略语|縮寫)",
        rf"{_SHORT}\s*的(?:英文|中文)?(?:全称|全名|全稱|完整名称|全写)",
        rf"{_SHORT}\s*(?:代表|指的?是|是指|表示)(?:的是)?什么",
        r"[“\"「‘《]?(?P<x>[一-鿿]{2,8}?)[”\"」’》]?\s*(?:是什么的(?:简称|缩写)|的(?:全称|全名|全稱))",
    )
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SMALL = frozenset("of and the for in on to a an at by de la du with & from".split())
_SPELT = re.compile(
    r",?\s*(?:or|stands? for|short for|is short for|means|meaning|refers to|i\.e\.,?|即|是指|指|全称为?|代表)"
    r"\s*(?:the )?"
    r"|\s*[:：=–—-]\s*"
)
_GAP = re.compile(r"\s*(?:[(（\[“\"‘]+|,|\bor\b|:|–|—|\babbreviated(?: as| to)?\b|简称)[\s“\"]*(?:or |the )?$")
_BOUND = re.compile(r"[，。；：、（）()“”\"《》\s]|(?:称为|称作|就是|叫做|是)")
_MOST_HAN = 24
_REACH = 200


@lru_cache(maxsize=256)
def asked_acronym(question_text: str) -> str | None:
    """The acronym or short name whose full form a question asks for; None when it asks for none."""
    for pattern in _ASKED:
        if (match := pattern.search(question_text)) is not None:
            return match["x"].rstrip(".-/")
    return None


def expansion(question_text: str, text: str) -> str | None:
    """The full name of the acronym that a question asks for, as a text spells it out; None where it doesn't.

    Found are "Full Name (X)", "X (Full Name)" and "X, or Full Name", then any capitalised words with these initials,
    and in Chinese what stands in or before the brackets, or before "简称".
    """
    short = asked_acronym(question_text)
    if short is None:
        return None
    text = " ".join(text.split())
    if is_chinese(short):
        return _han_expansion(short, text)
    letters = _letters(short)
    spoken = re.escape(short) + ("" if short.endswith("s") else r"s?")
    if len(letters) < 2:
        return None
    for match in re.finditer(rf"(?<![\w-]){spoken}(?![\w-])", text):
        if (found := _beside(text, match, letters)) is not None:
            return found
    return _capitalised(text, letters) or _han_beside(text, spoken)


def _letters(short: str) -> str:
    """The letters that the words of a full name begin with: without the plural's s."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"(?<=[A-Z0-9])s$", "", short).lower())


def _beside(text: str, match: re.Match[str], letters: str) -> str | None:
    """The full name before an acronym (with a bracket, a comma or an "or" between) or after it."""
    before, after = text[max(match.start() - _REACH, 0) : match.start()], text[match.end() :]
    gap = _GAP.search(before)
    if gap is not None and (found := _ending(before[: gap.start()], letters)) is not None:
        return found
    inside = re.match(r"[”\"’]?\s*[(（\[]([^()（）\]]{3,120})", after)
    spelt = _SPELT.match(after)
    for rest in (inside.group(1) if inside else None, after[spelt.end() :] if spelt else None):
        if rest is not None and (found := _beginning(rest, letters)) is not None:
            return found
    return None


def _ending(text: str, letters: str) -> str | None:
    """The words at the end of a text whose initials are the letters; else the fewest that have them in order."""
    words = list(_WORD.finditer(text))[-2 * len(letters) - 4 :]
    end = len(text.rstrip(' ,”"’'))
    for holds in (_initials, _in_order):
        for start in reversed(words[-min(len(letters) + 5, 2 * len(letters)) - 2 :]):
            found = text[start.start() : end]
            if holds(found, letters):
                return found
    return None


def _beginning(text: str, letters: str) -> str | None:
    """The words at the beginning of a text whose initials are the letters; else those that have them in order."""
    words = list(_WORD.finditer(text))[: 2 * len(letters) + 2]
    if not words:
        return None
    for holds in (_initials, _in_order):
        for stop in words:
            if holds(found := text[words[0].start() : stop.end()], letters):
                return found
    return None


def _initials(text: str, letters: str) -> bool:
    """Whether the words of a text begin with these letters, small words aside, and the first of them too."""
    words = [word.lower() for word in _WORD.findall(text.replace("-", " "))]
    spoken = "".join(word[0] for word in words if word not in _SMALL)
    return bool(words) and words[0] not in _SMALL and letters in (spoken, "".join(word[0] for word in words))


def _in_order(text: str, letters: str) -> bool:
    """Whether the letters stand in the words of a text in order, the first at its beginning, each word taking part
    (the rule of Schwartz and Hearst, 2003, with words that take part).
    """
    words = [word.lower() for word in _WORD.findall(text.replace("-", " "))]
    if not words or words[0][0] != letters[0] or sum(map(len, words)) <= len(letters):
        return False
    at = 0
    for word in words:
        if at < len(letters) and word[0] == letters[at]:
            at += 1
        elif word not in _SMALL:
            return False
        for letter in word[1:]:
            rest = len(letters) - at
            if rest and letter == letters[at] and not _begins_later(words, word, letters[at:]):
                at += 1
    return at == len(letters)


def _begins_later(words: Sequence[str], word: str, letters: str) -> bool:
    """Whether the words after one begin with all of the letters, so that none is to be taken from inside it."""
    later = words[words.index(word) + 1 :]
    return "".join(other[0] for other in later if other not in _SMALL) == letters


def _capitalised(text: str, letters: str) -> str | None:
    """Capitalised words anywhere whose initials are three letters or more."""
    if len(letters) < 3:
        return None
    words = list(_WORD.finditer(text))
    for number, word in enumerate(words):
        if not word.group()[0].isupper():
            continue
        for stop in words[number + len(letters) - 1 : number + 2 * len(letters)]:
            found = text[word.start() : stop.end()]
            plain = re.fullmatch(r"[\w\s&’'-]+", found) is not None
            if (
                plain
                and _initials(found, letters)
                and all(part[0].isupper() or part in _SMALL for part in _WORD.findall(found))
            ):
                return found
    return None


def _han_beside(text: str, spoken: str) -> str | None:
    """The Chinese name in the brackets after an acronym, else before the brackets that it stands in."""
    inside = re.search(rf"{spoken}\s*[(（]([^()（）,，;；]*[一-鿿][^()（）,，;；]*)", text)
    if inside is not None:
        return inside.group(1).strip()
    before = re.search(rf"([一-鿿]{{2,{_MOST_HAN}}})\s*[(（](?:[^()（）]*[,，;；\s])?{spoken}[)）]", text)
    return _BOUND.split(before.group(1))[-1] or None if before is not None else None


def _han_expansion(short: str, text: str) -> str | None:
    """The name before "（以下简称X）" or "（X）" that has the characters of X in order, as short as it can be."""
    for match in re.finditer(
        rf"[(（]?(?:以下)?简称[：:为]?\s*[“\"‘「]?{re.escape(short)}|[(（]{re.escape(short)}[)）]", text
    ):
        before = _BOUND.split(text[: match.start()].rstrip(" ,，"))[-1][-_MOST_HAN:]
        for start in reversed(range(len(before))):
            rest = iter(before[start:])
            if before[start] == short[0] and all(char in rest for char in short):
                return before[start:]
    return None
