"""What a question asks for: the type of the answer, and the constraints that the evidence must meet."""

from __future__ import annotations

import re
from typing import Literal

from agent.cues import ANSWER_TYPES, COUNTED, FRAME, NEGATED, OPERATIONS, PERSON, WEEKDAY, WRITTEN_FORMS
from agent.matching import is_chinese, question_terms, terms
from agent.types import AnswerType
from agent.values import han_number, years
from retrieval.errors import InputError
from retrieval.text.queries import subject
from retrieval.types import Frozen
from tools.arithmetic import Operation
from tools.characters import normalize

LONGEST = 4000
"""Characters of the longest question; what is longer is a document, and takes minutes to look for."""
ReferenceKind = Literal["figure", "table", "page", "section", "slide"]


class Reference(Frozen):
    """A part of the document that the question names, such as Figure 3."""

    kind: ReferenceKind
    number: int


class Question(Frozen):
    """A question as analysed. `terms` are the content terms that evidence should cover.

    `compared` are the two subjects of a comparison by numbers; `counter` is what a Chinese question counts or measures
    in ("多少畝": 畝), `counted` the terms of what an English one counts; `names` are the terms of its proper names and
    years, which evidence must speak of; `weekday` says that a date is wanted as a day of the week, `person` that a name
    is wanted as that of a person.
    """

    text: str
    language: Literal["en", "zh"]
    answer_type: AnswerType
    terms: tuple[str, ...]
    years: tuple[str, ...] = ()
    unit: str | None = None
    decimals: int | None = None
    phrases: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    operation: Operation | None = None
    options: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    sub_questions: tuple[str, ...] = ()
    negated: bool = False
    weekday: bool = False
    person: bool = False
    counter: str = ""
    names: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


_REFERENCE = re.compile(r"\b(figure|fig\.?|table|page|section|slide)\s*(\d{1,4})\b", re.I)
_HAN_REFERENCE = re.compile(
    r"(?:第\s*([\d一二三四五六七八九十百]+)\s*([页頁节節章])|([图圖表])\s*([\d一二三四五六七八九十]+))"
)
_HAN_KINDS: dict[str, ReferenceKind] = {
    "页": "page",
    "頁": "page",
    "节": "section",
    "節": "section",
    "章": "section",
    "图": "figure",
    "圖": "figure",
    "表": "table",
}
_QUOTED = re.compile(r"[\"“‘「『《]([^\"”’」』》]{2,80})[\"”’」』》]")
_UNIT = re.compile(r"\bin (?:USD |US\$ |dollar )?(thousand|million|billion)s?\b|单位[：:]?\s*([万亿百]+)", re.I)
_DECIMALS = re.compile(r"\b(one|two|three|four|1|2|3|4) decimal", re.I)
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4}
_OPTIONS = re.compile(r"[,:]\s*(?:the\s+)?([^,:?]{2,60}?),?\s+or\s+(?:the\s+)?([^,?]{2,60})\?", re.I)
_HAN_OPTIONS = re.compile(r"([^，,。？?是]{1,20})还是([^，,。？?]{1,20})[？?]?")
_BETWEEN = re.compile(
    r"\bbetween (?:the )?([^,?]{2,50}?) and (?:the )?([^,?]{2,50}?)(?= (?:in|for|during|on|at|as|from)\b|[?,]|$)", re.I
)
_TWO = re.compile(r",?\s+and\s+(?=(?:what|which|who|when|where|how|why)\b)", re.I)
_CAPITALISED = re.compile(r"(?<=[a-z,;] )[A-Z][\w’'-]*[a-z]\w*|(?<=[a-z,;] )[A-Z]{3,}\b")
_COUNTER = re.compile(r"(?:多少|[几幾])([一-鿿])(?![一-鿿]*[名额经费])")


_ASK_BEFORE = re.compile(r"(?:^|,)?\s*\b(?:please )?answer the following question[^:?.]{0,60}:\s*", re.I)
_HOW_TO = re.compile(
    r"(?:(?<=[.?!])|^)\s*(?:please )?(?:base your|approach the (?:question|problem)|respond to the question"
    r"|give a response|address the question|state your|your (?:judgments?|answer) )[^.?!]*(?:[.?!]|$)",
    re.I,
)
"""Sentences on how to go about a question, which are no part of it."""


def check_question(text: str) -> None:
    """InputError for what can't be asked: nothing, too much, or bytes that are no text."""
    if not text.strip():
        raise InputError("the question is empty", remedy="ask something")
    if len(text) > LONGEST:
        raise InputError(
            f"the question has {len(text):,} characters", remedy=f"ask it in {LONGEST:,}, and name long texts as files"
        )
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError("the question is not UTF-8", remedy="set the terminal or the file to UTF-8")


def analyse(text: str) -> Question:
    """The analysis of one question. Chinese in either script is recognised by its simplified form."""
    text = " ".join(text.split())
    body = question_body(text)
    folded = normalize(body).text
    operation = next((name for name, pattern in OPERATIONS if pattern.search(folded)), None)
    unit = _UNIT.search(text)
    decimals = _DECIMALS.search(text)
    return Question(
        text=text,
        language="zh" if is_chinese(text) else "en",
        answer_type=_answer_type(normalize(text).text, folded),
        terms=question_terms(_without_form(body)),
        years=years(body),
        names=_names(body),
        unit=(unit.group(1) or unit.group(2)).lower() if unit else None,
        decimals=(_WORDS.get(decimals.group(1).lower()) or int(decimals.group(1))) if decimals else None,
        phrases=tuple(dict.fromkeys(match.group(1).strip() for match in _QUOTED.finditer(text))),
        references=_references(text),
        operation=operation,
        options=_options(body),
        compared=_compared(body),
        sub_questions=_sub_questions(body),
        person=PERSON.search(folded) is not None,
        weekday=WEEKDAY.search(folded) is not None,
        negated=NEGATED.search(folded) is not None,
        counted=terms(things.group(1)) if (things := COUNTED.search(body)) else (),
        counter=counted.group(1) if (counted := _COUNTER.search(folded)) else "",
    )


def question_body(text: str) -> str:
    """The question without framing ("According to the report") and format instructions ("Write the answer in ...")."""
    body = subject(_HOW_TO.sub("", _ASK_BEFORE.sub(", ", text))).strip() or subject(text).strip()
    body = FRAME.sub("", body).strip()
    return body or text


def _names(body: str) -> tuple[str, ...]:
    """The terms of capitalised words that don't begin a sentence, and of years."""
    words = [match.group() for match in _CAPITALISED.finditer(body)]
    return tuple(dict.fromkeys(term for word in (*words, *years(body)) for term in terms(word)))


def _without_form(body: str) -> str:
    """A question without the name of the written form that it asks for: the form itself shows that it was found."""
    for asked, _ in WRITTEN_FORMS:
        body = asked.sub(" ", body)
    return body


def _answer_type(text: str, body: str) -> AnswerType:
    if _OPTIONS.search(body) or _HAN_OPTIONS.search(body):
        return "name"
    for name, pattern in ANSWER_TYPES:
        if name == "list" and pattern.search(text):
            return "list"
        if pattern.search(body):
            return name
    return "number" if re.search(r"\b(?:int|integer|float) format\b|\binteger\b", text, re.I) else "text"


def _references(text: str) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for match in _REFERENCE.finditer(text):
        word = match.group(1).lower().rstrip(".")
        kind: ReferenceKind = "figure" if word == "fig" else word  # type: ignore[assignment]
        found.append(Reference(kind=kind, number=int(match.group(2))))
    for match in _HAN_REFERENCE.finditer(text):
        digits, sign = (match.group(1), match.group(2)) if match.group(1) else (match.group(4), match.group(3))
        number = int(digits) if digits.isdigit() else han_number(digits)
        if number is not None:
            found.append(Reference(kind=_HAN_KINDS[sign], number=number))
    return tuple(dict.fromkeys(found))


def _options(body: str) -> tuple[str, ...]:
    match = _OPTIONS.search(body) or _HAN_OPTIONS.search(body)
    return tuple(part.strip() for part in match.groups()) if match else ()


def _compared(body: str) -> tuple[str, ...]:
    """The two subjects of "between A and B"; empty when they are years."""
    match = _BETWEEN.search(body)
    parts = tuple(part.strip() for part in match.groups()) if match else ()
    return () if any(years(part) for part in parts) else parts


def _sub_questions(body: str) -> tuple[str, ...]:
    """The questions that a question is made of; empty when it is one."""
    if options := _options(body):
        stem = re.split(r"[,:，：]", body)[0]
        return tuple(f"{stem} {option}" for option in options)
    parts = [part.strip(" ,?？") for part in _TWO.split(body)]
    if len(parts) == 1:
        parts = [part.strip() for part in re.split(r"[？?]", body) if len(part.strip()) > 3]
    return tuple(f"{part}?" for part in parts) if len(parts) > 1 and all(len(part) > 5 for part in parts) else ()
