"""What a question's wording asks of found words: one of a list "respectively", a date in a form, a full name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from agent.acronyms import asked_acronym, expansion
from agent.matching import is_chinese, terms
from agent.question import Question
from agent.ranking import WANTED
from agent.values import Value, values

__all__ = ["aligned", "asked_acronym", "dated", "expansion"]

_RESPECTIVELY = re.compile(r"\brespectively\b|分别|分別|依次为|依次是", re.IGNORECASE)
_LINK = re.compile(
    r"\s?(?:[^\W\d_]{1,12}|[一-鿿]{1,3})?\s*(?:,|，|、|;|；|/)?\s*(?:\b(?:and|or)\b|[和与及或]|以及)?\s*"
    r"(?:(?:approximately|about|around|nearly|some|of|the|fiscal|years?|FY|约)\s*)*",
    re.IGNORECASE,
)
"""What may stand between the values of a list, the last two of which are joined by a word."""
_JOINED = re.compile(r"[,，、;；/]|\band\b|\bor\b|[和与及或]", re.IGNORECASE)
_PARTED = re.compile(r"\s*(?:,\s*(?:and|or)\b|,|\band\b|\bor\b|[，、]|以及|[和与及])\s*", re.IGNORECASE)
_OPENING = re.compile(
    r".*(?:\b(?:of|in|for|from|at|by|with|the|to|both|between|that|while|our|its|their|were|was|is|are)\b|[，,；;：:在])\s*",
    re.IGNORECASE | re.DOTALL,
)
_CLOSING = re.compile(
    r"\s*(?:\b(?:is|was|were|are|had|has|have|of|at|in|for|by|amounted|totall?ed|grew|rose|fell|increased|decreased"
    r"|declined|reached|respectively|achieved?|scored?|reported|recorded|generated|accounted)\b|的|分别|分別|依次|占|[为达，。]|[.;]).*",
    re.IGNORECASE | re.DOTALL,
)
_DATED = frozenset(("date", "year"))
_SCALE = re.compile(
    r"(?<=\d)\s?(?:thousand|million|billion|trillion|mn|bn|百万|千万|[万亿]|[KMBkmb]\b)[元]?", re.IGNORECASE
)
_EACH = re.compile(r"\b(?:average|per|each|price)\b|平均|每", re.IGNORECASE)
_NEAR = 40


def aligned(question: Question, sentence: str, answer: str) -> str:
    """The one value of a list "respectively" that stands at the place of the year or name which the question names.

    The list is that in which a value of the answer stands, else the only one of the wanted kind. The answer itself
    where there is no such list, and where the question names none of the years or names, or several.
    """
    if _RESPECTIVELY.search(sentence) is None:
        return answer
    lists = _lists(sentence)
    own = values(answer)
    found = [run for run in lists if run[0].kind not in _DATED and any(v.same(o) for v in run for o in own)]
    kinds = WANTED.get(question.answer_type)
    if not found and not own:
        found = [run for run in lists if run[0].kind not in _DATED and (kinds is None or run[-1].kind in kinds)]
        found = found if len(found) == 1 else []
    if question.answer_type == "money" and found and not any(_has_money(run) for run in found):
        # "How much did it spend on shares in 2020?" isn't answered by their number.
        found = [run for run in lists if _has_money(run)] or found
    placed = [(run, place) for run in found if (place := _place(question, sentence, run, lists)) is not None]
    if not placed:
        return answer
    run, place = max(placed, key=lambda item: _nearness(question, sentence, item[0]))
    return _member(sentence, run, place)


def _lists(sentence: str) -> list[list[Value]]:
    """The runs of two or more values of one kind with nothing but a comma, an "and" or a measure between them."""
    runs: list[list[Value]] = []
    for value in values(sentence):
        last = runs[-1][-1] if runs else None
        between = sentence[last.stop : value.start] if last is not None else ""
        near = len(between) <= _NEAR and _JOINED.search(between) is not None
        if last is not None and near and _alike(last, value) and _LINK.fullmatch(between):
            runs[-1].append(value)
        else:
            runs.append([value])
    return [run for run in runs if len(run) > 1]


def _alike(one: Value, other: Value) -> bool:
    """Whether two values may be of one list; the first of "5 and 3%" has no sign of its own."""
    if one.kind in _DATED or other.kind in _DATED:
        return one.kind in _DATED and other.kind in _DATED
    return one.kind == other.kind or one.kind == "number"


def _has_money(run: Sequence[Value]) -> bool:
    return any(value.kind == "money" for value in run)


def _place(question: Question, sentence: str, run: Sequence[Value], lists: Sequence[Sequence[Value]]) -> int | None:
    """The place of the question's only year in a list of as many years, else of its only name in one of names."""
    if question.years:
        for other in lists:
            named = [str(value.day[0]) for value in other]
            if other[0].kind in _DATED and len(other) == len(run):
                at = [place for place, year in enumerate(named) if year in question.years]
                return at[0] if len(at) == 1 else None
    return _named(question, sentence, run)


def _named(question: Question, sentence: str, run: Sequence[Value]) -> int | None:
    """The place of the name that the question says, in as many names right before the list or right after it."""
    said = set(terms(question.text))
    before, after = sentence[: run[0].start], sentence[run[-1].stop :]
    for text, windows in ((before, _last_windows), (after, _first_windows)):
        for names in windows(_PARTED.split(text), len(run)):
            own = [set(terms(name)) for name in _bare(names)]
            only = [
                place for place, name in enumerate(own) if (name - set().union(*own[:place], *own[place + 1 :])) & said
            ]
            if all(own) and len(only) == 1:
                return only[0]
    return None


def _last_windows(parts: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (parts[end - size : end] for end in range(len(parts), size - 1, -1))


def _first_windows(parts: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (parts[start : start + size] for start in range(len(parts) - size + 1))


def _bare(names: Sequence[str]) -> list[str]:
    """Names without what stands before the first one and after the last one."""
    first = _OPENING.sub("", names[0], count=1) or names[0]
    return [first, *names[1:-1], _CLOSING.sub("", names[-1], count=1)]


def _nearness(question: Question, sentence: str, run: Sequence[Value]) -> tuple[bool, int, int]:
    """How well a list meets a question: its kind, the question's terms right before and after it, an earlier place."""
    wanted, kinds = set(question.terms) - set(question.years), WANTED.get(question.answer_type)
    before = sentence[max(run[0].start - _NEAR, 0) : run[0].start]
    after = sentence[run[-1].stop : run[-1].stop + _NEAR // 2]
    near = 2 * len(wanted & set(terms(before))) + len(wanted & set(terms(after)))
    each = _EACH.search(before) is not None and _EACH.search(question.text) is None
    return not each and (kinds is None or run[-1].kind in kinds), near, -run[0].start


def _member(sentence: str, run: Sequence[Value], place: int) -> str:
    """One value of a list, with the sign, scale and measure that the last one has for all of them."""
    value, last = run[place], run[-1]
    text = value.text
    if value.scale == 1 and last.scale != 1 and (scale := _SCALE.search(last.text)) is not None:
        text += scale.group()
    if value.kind == "number" and last.kind == "percent":
        text += "%"
    measure = re.match(r"[人名个家次件台辆万亿元吨岁年天]{1,2}", sentence[value.stop :])
    return text + (measure.group() if measure is not None and is_chinese(sentence) else "")


_PART = r"(?:YYYY|YY|MMMM|MMM|MM|M|DD|D|Month|month|mon|yyyy|yy|mmmm|mmm|mm|m|dd|d)"
_FORM = re.compile(
    rf"(?<![A-Za-z])(?:{_PART}[-/.,\s年月]{{1,2}}){{1,2}}{_PART}日?(?![A-Za-z])|\b[Yy]{{4}}[Mm]{{2}}[Dd]{{2}}\b"
)
_ISO = re.compile(r"\bISO(?:[ -]?8601)?(?: date)? (?:format|form)\b|\bISO[ -]?8601\b", re.IGNORECASE)
_MONTHS = "January February March April May June July August September October November December".split()
_PARTS: dict[str, Callable[[date], str]] = {
    "yyyy": lambda day: f"{day.year:04}",
    "yy": lambda day: f"{day.year % 100:02}",
    "month": lambda day: _MONTHS[day.month - 1],
    "mmmm": lambda day: _MONTHS[day.month - 1],
    "mmm": lambda day: _MONTHS[day.month - 1][:3],
    "mon": lambda day: _MONTHS[day.month - 1][:3],
    "mm": lambda day: f"{day.month:02}",
    "m": lambda day: str(day.month),
    "dd": lambda day: f"{day.day:02}",
    "d": lambda day: str(day.day),
}


def dated(question_text: str, answer: str) -> str:
    """The answer with its dates in the form that the question names, such as YYYY-MM-DD; the one date alone.

    The answer itself where the question names no form, and where a date lacks a part of it.
    """
    form = (
        match.group() if (match := _FORM.search(question_text)) else "YYYY-MM-DD" if _ISO.search(question_text) else ""
    )
    if not re.search("yy|mm.*dd|dd.*mm|month", form, re.IGNORECASE):
        return answer
    found = [value for value in values(answer) if value.kind == "date" and value.weekday is None]
    shown = [_shown(form, value) for value in found]
    if not found or None in shown:
        return answer
    if len(found) == 1:
        return shown[0] or answer
    for value, text in reversed(list(zip(found, shown, strict=True))):
        answer = answer[: value.start] + (text or value.text) + answer[value.stop :]
    return answer


def _shown(form: str, value: Value) -> str | None:
    """A date in a form; None when it lacks a part that the form has, or there is no such day."""
    year, month, day = value.day
    asked = form.lower().replace("month", "mmmm")
    if ("y" in asked and year is None) or ("m" in asked and month is None) or ("d" in asked and day is None):
        return None
    try:
        found = date(year or 2000, month or 1, day or 1)
    except ValueError:
        return None
    pieces = re.compile("yyyy|yy|month|mmmm|mmm|mon|mm|m|dd|d", re.IGNORECASE)
    return pieces.sub(lambda part: _PARTS[part.group().lower()](found), form)
